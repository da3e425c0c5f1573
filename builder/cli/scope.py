"""scope: print docs/scope.md."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("scope")
@click.option(
    "--manifest", "manifest_path", default="manifest.yaml", type=click.Path(path_type=Path), metavar="FILE"
)
def command(manifest_path: Path) -> None:
    """Generate docs/scope.md from the manifest and its lock; no upstream is needed."""
    from builder.emit.scope_page import scope_page
    from builder.manifest.load import load
    from builder.pipeline.lockfile import every_scope

    click.echo(scope_page(load(manifest_path), every_scope(manifest_path.resolve().parent)), nl=False)
