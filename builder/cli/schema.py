"""schema: print the manifest's JSON schema, or the reference page generated from it."""

from __future__ import annotations

from pathlib import Path

import click

from builder.cli import options


@click.command("schema")
@click.option("--reference", is_flag=True, help="Print the reference as Markdown instead.")
@options.MANIFEST
def command(reference: bool, manifest_path: Path) -> None:
    """Print the JSON schema that editors use to check manifest.yaml."""
    import json

    from builder.manifest.load import read_schema
    from builder.manifest.reference import markdown

    schema = read_schema(manifest_path.resolve().parent)
    click.echo(
        markdown(schema) if reference else json.dumps(schema, indent=2, ensure_ascii=False), nl=not reference
    )
