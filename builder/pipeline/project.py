"""Whether an upstream is the project at all."""

from __future__ import annotations

from collections.abc import Iterable

from builder.adapter import MIRROR
from builder.errors import fail
from builder.manifest.model import Manifest


def require_project(paths: Iterable[str], manifest: Manifest) -> None:
    """Raise BuildError (R001) for an upstream that has no folder of any package of the manifest.

    Every rule, fact and edit would match nothing there; that is one mistake, and not hundreds.
    """
    folders = tuple(f"{folder.rstrip('/')}/" for folder in manifest.packages.values())
    if not any(path.startswith(folders) for path in paths):
        names = ", ".join(f"`{folder}`" for folder in folders)
        raise fail(
            "R001",
            f"This is not the project of the manifest: none of its packages ({names}) is in upstream's tree.",
            manifest.mark("packages"),
            hint=f"look at UPSTREAM, at --mirror (or {MIRROR}) and at upstream.repository",
        )
