"""The command line: one module a verb, imported when it is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from builder import __version__
from builder.errors import CODES, INTERNAL, INTERRUPTED, BuildError, Problem

VERBS = {
    "dist": "Build the distribution.",
    "plan": "Show what dist would change, writing nothing.",
    "why": "Say why a path or symbol is in the output, or is not.",
    "rules": "List the rules with what each takes.",
    "schema": "Print the manifest's JSON schema, or its reference.",
    "doctor": "Check the tools, the manifest and the upstreams.",
    "explain": "Explain an error code.",
    "lock": "Prove pins and record their digests in manifest.lock.",
}


class _Verbs(click.Group):
    """Finds a verb's module by name, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        found: click.Command = importlib.import_module(f"builder.cli.{cmd_name}").command
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
    5 a rule broken by upstream, 6 upstream unavailable, 7 output or cache, 70 internal, 130 interrupted.
    """


def main() -> None:
    """Run the command line; nothing but an exit status and rendered problems leaves it."""
    from builder.cli.output import show

    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted: the output is as it was", err=True)
        sys.exit(INTERRUPTED)
    except BuildError as error:
        show(error.problems)
        sys.exit(error.exit_status)
    except Exception as error:
        show([_internal(error)])
        sys.exit(INTERNAL)


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
