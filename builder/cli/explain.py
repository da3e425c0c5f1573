"""explain: what an error code means."""

from __future__ import annotations

import click

from builder.errors import CODES


@click.command("explain", short_help="Explain an error code.")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Say what CODE means and which exit status it gives; without CODE, list all."""
    wanted = CODES if code is None else {k: v for k, v in CODES.items() if k == code.upper()}
    if not wanted:
        import difflib

        near = difflib.get_close_matches((code or "").upper(), CODES, 1)
        more = f" Did you mean {near[0]}?" if near else ""
        raise click.UsageError(f"no error code '{code}'.{more}")
    for name, (status, meaning) in wanted.items():
        click.echo(f"{name}  exit {status:<3} {meaning}")
