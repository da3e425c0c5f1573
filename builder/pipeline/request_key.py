"""A digest of a build request, computed without parsing the manifest or resolving upstream.

If upstream is named by something that never moves, equal digests mean equal output.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from builder import memo
from builder.manifest.documents import SCHEMA, SCOPE

if TYPE_CHECKING:
    from builder.manifest.model import Manifest

#: the largest file that is read here (bytes); the loader refuses larger ones
_MAX_BYTES = 16_000_000


def digest(
    manifest: Path,
    spec: str,
    without: Sequence[str],
    with_needs: bool = False,
    scope: str = "default",
    switched_on: Sequence[str] = (),
) -> str:
    """Return sha256 over the builder, its tools, the manifest, everything beside it that it may read, and the
    request; "" if one of these cannot be read."""
    manifest = manifest.absolute()
    root = manifest.parent
    try:
        paths = manifest, *_beside(root, manifest.resolve().parent)
        files = [(str(path.relative_to(root)), _content(path)) for path in paths]
    except (OSError, ValueError):  # ValueError: the manifest's lock lies elsewhere
        return ""
    request = spec, sorted(set(without)), with_needs, scope, sorted(set(switched_on))
    return memo.digest(own_digest(), versions(), request, manifest.name, files).hex()


def _content(path: Path) -> bytes:
    """Return the bytes of a regular file. A link may lead to what changes, and a pipe may be endless.

    Raises OSError for anything else, and for a file that is too large for a manifest.
    """
    stated = path.lstat()
    if not stat.S_ISREG(stated.st_mode) or stated.st_size > _MAX_BYTES:
        raise OSError(f"{path} is not a regular file of a manifest")
    return path.read_bytes()


def settled(spec: str, manifest: Manifest) -> bool:
    """Return whether a spec always means the same upstream: a pin, a release, or a whole commit."""
    digits = len(spec) == 40 and not set(spec.lower()) - set("0123456789abcdef")
    return digits or spec in manifest.upstream.pins or spec.startswith("pypi:")


def _beside(root: Path, home: Path) -> Iterator[Path]:
    """The lock, the schema, the scope, and every file below overlays/."""
    lock = home / "manifest.lock"
    yield from [lock] if lock.exists() else []
    yield root / SCHEMA
    scope = root / SCOPE
    yield from [scope] if scope.is_symlink() or scope.is_file() else []
    below = sorted((root / "overlays").rglob("*"))
    yield from (path for path in below if path.is_symlink() or not path.is_dir())


@lru_cache(maxsize=1)
def own_digest() -> str:
    """Return sha256 over the builder's own files: a changed builder is another builder."""
    import builder

    root = Path(builder.__file__).parent
    sha = hashlib.sha256()
    files = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for path in sorted(files):
        sha.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


def versions() -> dict[str, str]:
    """Return tool -> version, of the tools that can decide a byte of the output.

    Raises what `ruff.installed_version` raises.
    """
    import platform
    import zlib

    from builder import ruff

    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "ruff": ruff.installed_version(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }
