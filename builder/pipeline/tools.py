"""The tools whose version can decide a byte of the output."""

from __future__ import annotations


def versions() -> dict[str, str]:
    """Tool -> version. Raises what `ruff.installed_version` raises."""
    import platform
    import zlib

    from builder import ruff

    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "ruff": ruff.installed_version(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }
