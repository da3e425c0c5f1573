"""Path patterns in gitignore syntax; pathspec says what a pattern means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_WILD = frozenset("*?[")


@lru_cache(maxsize=4096)
def _expression(pattern: str) -> re.Pattern[str]:
    from pathspec.patterns.gitignore.basic import GitIgnoreBasicPattern

    regex = GitIgnoreBasicPattern.pattern_to_regex(pattern)[0] or "(?!)"  # an empty pattern matches nothing
    # `$` would also stand before a line break at the end of a path
    return re.compile(re.sub(r"\$(?=\)?\Z)", r"\\Z", regex), re.DOTALL)


def literal_folder(pattern: str) -> str | None:
    """Return the folder that contains or is every match, "" for the root; None if matches lie anywhere."""
    body = pattern.removeprefix("/").removesuffix("/")
    if "/" not in body and not pattern.startswith("/"):
        return None
    names = body.split("/")
    wild = next((i for i, name in enumerate(names) if not _WILD.isdisjoint(name)), len(names))
    return "/".join(names[:wild])


def matches(pattern: str, path: str) -> bool:
    """Return whether one pattern matches one path."""
    return _expression(pattern).search(path) is not None


class PatternSet:
    """Patterns that are matched together."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [(index, pattern, _fragment(pattern)) for index, pattern in enumerate(patterns)]

    def matching(self, path: str) -> list[int]:
        """Return the indices of the patterns that match, ascending."""
        # most paths lack the fragment, and looking for it costs less than matching
        return [
            index
            for index, pattern, fragment in self._patterns
            if fragment in path and matches(pattern, path)
        ]

    def any(self, path: str) -> bool:
        """Return whether one of them matches."""
        return bool(self.matching(path))


def _fragment(pattern: str) -> str:
    """Return the longest text that every matching path must contain."""
    pieces = re.split(r"[*?\\]+", pattern.partition("[")[0])
    return max((piece.strip("/") for piece in pieces), key=len)
