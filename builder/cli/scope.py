"""scope: print docs/scope.md."""

from __future__ import annotations

from pathlib import Path

import click

from builder.cli import options


@click.command("scope")
@options.MANIFEST
def command(manifest_path: Path) -> None:
    """Generate docs/scope.md from the manifest, its lock and docs/scope.json.xz; no upstream is needed."""
    from builder.emit.lock import every_scope
    from builder.emit.scope_page import FIGURES, read_figures, scope_page
    from builder.manifest.load import load

    manifest, root = load(manifest_path), manifest_path.resolve().parent
    figures = root / FIGURES
    measured = read_figures(figures.read_bytes() if figures.is_file() else b"")
    click.echo(scope_page(manifest, every_scope(root), measured), nl=False)
