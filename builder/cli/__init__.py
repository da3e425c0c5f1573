"""The command line: one module a verb, imported when it is asked for."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from builder import __version__
from builder.cli.signals import Ended, ignore_signals, listen
from builder.errors import CODES, ENVIRONMENT, INTERNAL, INTERRUPTED, USAGE, BuildError, Problem

#: What a shell reports for a program whose output nobody reads any more.
READER_GONE = 141

#: What a system says that has no room, or no right to give.
_EXHAUSTED = {
    getattr(errno, name)
    for name in (
        "ENOSPC",
        "EDQUOT",
        "EMFILE",
        "ENFILE",
        "EIO",
        "EROFS",
        "ENOMEM",
        "EACCES",
        "EPERM",
        "EAGAIN",
    )
    if hasattr(errno, name)
}

VERBS = {
    "dist": "Build the distribution.",
    "kernel-wheel": "Repack the published kernel wheel, without compiling.",
    "plan": "Show what dist would change, writing nothing.",
    "lift": "Say what another upstream breaks and brings, and propose what to do.",
    "sweep": "Try the manifest on many commits: how far it survives.",
    "why": "Say why a path or symbol is in the output, or is not.",
    "rules": "List the rules with what each takes.",
    "scope": "Print what is in the distribution, with the evidence.",
    "schema": "Print the manifest's JSON schema, or its reference.",
    "doctor": "Check the tools, the manifest and the upstreams.",
    "explain": "Explain an error code.",
    "lock": "Prove pins and record their digests in manifest.lock.",
    "verify": "Compare the behaviour of an output with upstream's.",
}


class _ReaderGone(Exception):
    """Nobody reads stdout any more."""


@contextlib.contextmanager
def _readers() -> Iterator[None]:
    """Tell of a reader that went away; click itself would end with status 1, that of a failed gate."""
    try:
        yield
    except BrokenPipeError:
        raise _ReaderGone from None


class _Verbs(click.Group):
    """Finds a verb's module by name, so that `--help` imports none of them."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _readers():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _readers():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        found: click.Command = importlib.import_module(f"builder.cli.{cmd_name.replace('-', '_')}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, 1)
            if near:
                raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from error
            raise


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sglang-deepseek")
def cli() -> None:
    """Build a DeepSeek-only, CUDA-only SGLang from a pinned upstream commit.

    Exit status: 0 ok, 1 a gate failed, 2 usage, 3 changes pending (plan), 4 manifest invalid,
    5 a rule broken by upstream, 6 upstream unavailable, 7 output or cache, 70 internal, 130 interrupted,
    141 nobody reads the output.
    """


def main() -> None:
    """Run the command line; nothing but an exit status and rendered problems leaves it."""
    _prepare()
    try:
        _run()
    except KeyboardInterrupt as stop:
        _leave(stop)


def _run() -> None:
    from builder.cli.output import show

    try:
        cli.main(standalone_mode=False)
        _flush()
        # all is done: a late interruption must not kill Python while it shuts down
        ignore_signals()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        _usage(error)
        sys.exit(USAGE)
    except click.Abort as stop:
        _leave(stop)
    except (_ReaderGone, BrokenPipeError):
        _silence()
        sys.exit(READER_GONE)
    except BuildError as error:
        show(error.problems)
        sys.exit(error.exit_status)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _EXHAUSTED:
            _silence()
            where = f" ({error.filename})" if error.filename else ""
            show([Problem("E002", f"The system cannot go on: {error.strerror}{where}.")])
            sys.exit(ENVIRONMENT)
        show([_internal(error)])
        sys.exit(INTERNAL)


def _prepare() -> None:
    """Text that a locale cannot show is written out, and a request to end is an interruption."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    listen()


def _leave(stop: BaseException) -> None:
    """Say that it was interrupted, once; what was to be cleaned has been."""
    ignore_signals()
    click.echo("\ninterrupted: an output folder holds the old output or the new one, whole", err=True)
    _silence()
    # click raises its own in the place of what interrupted
    ended = next((e for e in (stop, stop.__cause__) if isinstance(e, Ended)), None)
    sys.exit(128 + ended.args[0] if ended else INTERRUPTED)


def _flush() -> None:
    """Find out while it can still be told that nobody reads."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _silence() -> None:
    """Nothing more for a stdout that nobody reads, at exit either."""
    if sys.stdout is not None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def _usage(error: click.ClickException) -> None:
    """A command line that is not understood: as click says it, or in the form that was asked for."""
    from builder.cli import output

    given = " ".join(sys.argv[1:]).replace("=", " ").split()
    form = given[given.index("--format") + 1 :][:1] if "--format" in given else []
    if form and form[0] in output.FORMATS[1:]:
        output.choose(form[0])
        output.show([Problem("C001", error.format_message())])
    else:
        error.show()


def _internal(error: Exception) -> Problem:
    """An error that nobody foresaw, in one line that can be reported."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "builder" in f.filename] or frames
    last = ours[-1]
    where = f"{last.filename.rpartition('builder/')[2]}:{last.lineno} in {last.name}"
    return Problem(
        "E070",
        f"{CODES['E070'][1]} {type(error).__name__}: {error} ({where})",
        hint="please report this line with the manifest and the upstream; the output is as it was",
    )
