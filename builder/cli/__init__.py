"""The command line: one module per verb, imported when the verb is used."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import platform
import sys
import traceback
import warnings
from pathlib import Path

import click

from builder import __version__, progress
from builder.adapter import PROGRAM
from builder.cli import output
from builder.cli.signals import Ended, ignore_signals, listen, request_behind
from builder.errors import ENVIRONMENT, INTERNAL, INTERRUPTED, USAGE, BuildError, Problem
from builder.upstream.cache import default_cache

#: What a shell reports for a program that wrote to a closed pipe: 128 + SIGPIPE.
READER_GONE = 141
#: The traceback of the last internal error; the next one overwrites it.
LOG = "internal-error.log"

#: Errors of the system that are the environment's fault, not the builder's.
_EXHAUSTED = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO),
    *(errno.EROFS, errno.ENOMEM, errno.EACCES, errno.EPERM, errno.EAGAIN),
}

VERBS = {
    "init": "Write a first manifest for a project, and build it once.",
    "dist": "Build the distribution.",
    "kernel-wheel": "Repack the published kernel wheel, without compiling.",
    "plan": "Show what dist would change, without writing anything.",
    "report": "Write report.html of a build, without the distribution.",
    "lift": "Report what another upstream breaks and adds, and propose changes.",
    "sweep": "Try the manifest on many upstream commits.",
    "why": "Explain why something is in the output, or is not, and how to change that.",
    "rules": "List the path rules with what each matches.",
    "scope": "Print the scope of the distribution, with evidence.",
    "check": "Check the manifest and its overlays without a build.",
    "schema": "Print the manifest's JSON schema, or its reference.",
    "doctor": "Check the tools, the manifest and the upstreams.",
    "explain": "Explain an error code.",
    "lock": "Prove pins and record their digests in manifest.lock.",
    "verify": "Compare the behaviour of an output with upstream's.",
}


def _display_options() -> list[click.Option]:
    """The options that every verb takes, before the verb and after it."""

    def volume(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            output.settings.volume = "quiet" if parameter.name == "quiet" else "verbose"

    def colour(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            output.settings.colour = value

    return [
        click.Option(
            ["-q", "--quiet"], is_flag=True, expose_value=False, callback=volume,
            help="Print problems and data only.",
        ),
        click.Option(
            ["-v", "--verbose"], is_flag=True, expose_value=False, callback=volume,
            help="Also print the steps of each stage.",
        ),
        click.Option(
            ["--color"], type=click.Choice(output.COLOURS), expose_value=False, callback=colour,
            help="Use colours (default: auto, on a terminal; NO_COLOR and FORCE_COLOR decide, too).",
        ),
    ]  # fmt: skip


class _Verbs(click.Group):
    """Imports a verb's module by its name: `--help` imports none, a verb only its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"builder.cli.{cmd_name.replace('-', '_')}").command
        names = {parameter.name for parameter in command.params}
        command.params += [option for option in _display_options() if option.name not in names]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM)
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def cli(debug: bool) -> None:
    """Build a distribution with a part of a Python project, from a pinned upstream and a manifest.

    Exit status: 0 ok, 1 a gate failed, 2 usage, 3 changes pending (plan), 4 manifest invalid,
    5 a rule broken by upstream, 6 upstream unavailable, 7 output or cache, 70 internal, 130 interrupted,
    141 stdout is closed.
    """
    output.settings.debug = debug


cli.params += _display_options()
cli.commands = {verb: click.Command(verb) for verb in VERBS}  # for suggestions only: see `get_command`


def main() -> None:
    """Run the command line. Every error becomes an exit status and rendered problems."""
    _prepare()
    try:
        _run()
    except KeyboardInterrupt as stop:
        output.clear()
        _leave(stop)
    finally:
        output.clear()


def _run() -> None:
    stdout = sys.stdout
    try:
        with progress.listening(output):
            cli.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # so that a broken pipe is reported
        # the work is done: a late interruption must not kill Python while it shuts down
        ignore_signals()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        _usage(error)
        sys.exit(USAGE)
    except click.Abort as stop:
        output.clear()
        _leave(stop)
    except (SystemExit, BrokenPipeError) as stop:
        # for a broken pipe click itself replaces stdout, and exits with 1, the status of a failed gate
        if isinstance(stop, SystemExit) and sys.stdout is stdout:
            raise
        _silence()
        sys.exit(READER_GONE)
    except Exception as error:
        if (request := request_behind(error)) is not None:
            raise request from None
        if isinstance(error, BuildError):
            output.show(error.problems)
            sys.exit(error.exit_status)
        if isinstance(error, OSError) and error.errno in _EXHAUSTED:
            _silence()
            where = f" ({error.filename})" if error.filename else ""
            output.show([Problem("E002", f"The operating system refuses: {error.strerror}{where}.")])
            sys.exit(ENVIRONMENT)
        output.show([_internal(error)])
        sys.exit(INTERNAL)


def _internal(error: Exception) -> Problem:
    """E070 for an exception, with its type, its message and the line that raised it; writes the log."""
    text = "".join(traceback.format_exception(error))
    if output.settings.debug:
        click.echo(text, err=True, nl=False)
    log = _write_log(text)
    traced = "run it again with `--debug` before the verb for the traceback"
    traced = f"the traceback is in {log}" if log else traced
    # the innermost frame inside of the builder: a library that raised says little
    frames = traceback.extract_tb(error.__traceback__)
    frame = ([f for f in frames if "builder" in f.filename] or frames)[-1]
    origin = f"{frame.filename.rpartition('builder/')[2]}:{frame.lineno} in {frame.name}"
    message = f"Internal error: {type(error).__name__}: {error} ({origin})."
    hint = f"{traced}; please report it with the manifest and the upstream; the output is unchanged"
    return Problem("E070", message, hint=hint)


def _write_log(text: str) -> Path | None:
    head = f"{PROGRAM} {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    path = (output.settings.cache or default_cache()).absolute() / LOG
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{sys.argv}\n\n{text}", "utf-8", "backslashreplace")
        return path
    return None


def _prepare() -> None:
    """Escape text that the locale cannot encode, and turn signals to end into interruptions.

    A verb ends long before a collection of cyclic garbage would pay off.
    """
    gc.disable()
    warnings.filterwarnings("ignore", category=SyntaxWarning)  # upstream's own texts have some
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    listen()


def _leave(stop: BaseException) -> None:
    """Report an interruption and exit; everything has been cleaned up by now."""
    ignore_signals()
    click.echo("\ninterrupted: an output folder holds the old output or the new one, whole", err=True)
    _silence()
    # click replaces a KeyboardInterrupt by its own Abort
    ended = next((e for e in (stop, stop.__cause__) if isinstance(e, Ended)), None)
    sys.exit(128 + ended.args[0] if ended else INTERRUPTED)


def _silence() -> None:
    """Discard everything that is still to be written to stdout, also what Python flushes at exit."""
    if sys.stdout is not None:
        sys.stdout = io.StringIO()  # not a file: it may be file handles that ran out


def _usage(error: click.ClickException) -> None:
    """Show a usage error: as click does, or as data when the command line has such a --format."""
    words = " ".join(sys.argv[1:]).replace("=", " ").split()
    form = words[words.index("--format") + 1 :][:1] if "--format" in words else []
    if form and form[0] in output.FORMATS[1:]:
        output.settings.form = form[0]
        output.show([Problem("C001", error.format_message())])
    else:
        error.show()
