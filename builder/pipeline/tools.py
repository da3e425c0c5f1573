"""The tools whose version can decide a byte of the output."""

from __future__ import annotations


def versions() -> dict[str, str]:
    """Tool -> version."""
    import platform
    import zlib
    from importlib.metadata import version

    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "ruff": version("ruff"),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }
