"""Path patterns in gitignore syntax, matched many at a time.

pathspec says what a pattern means. Patterns are indexed by what is literal in them, so that a path meets
only the few that could match: exact names and folders by dictionary, the rest by regular expression below
their literal folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

_WILD = frozenset("*?[")
_Wild = tuple[int, str, Callable[[str], "re.Match[str] | None"]]


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


@dataclass(slots=True)
class PatternSet:
    """Patterns that are matched together."""

    patterns: Sequence[str]
    _below: dict[str, list[int]] = field(default_factory=dict)  # folder -> patterns of all below it
    _at: dict[str, list[int]] = field(default_factory=dict)  # path -> patterns of it and all below it
    _names: dict[str, list[int]] = field(default_factory=dict)  # name anywhere -> patterns of it and below
    _folders: dict[str, list[int]] = field(default_factory=dict)  # name anywhere -> patterns of all below
    _wild: dict[str, list[_Wild]] = field(default_factory=dict)  # folder -> patterns below it

    def __post_init__(self) -> None:
        for index, pattern in enumerate(self.patterns):
            self._add(index, pattern)

    def _add(self, index: int, pattern: str) -> None:
        folder, literal = literal_folder(pattern), _WILD.isdisjoint(pattern)
        if not pattern:
            return
        name = pattern.strip("/")
        if literal and pattern.endswith("/"):
            (self._folders if folder is None else self._below).setdefault(name, []).append(index)
        elif literal:
            (self._names if folder is None else self._at).setdefault(name, []).append(index)
        else:
            search = _expression(pattern).search
            self._wild.setdefault(folder or "", []).append((index, _fragment(pattern, folder), search))

    def matching(self, path: str) -> list[int]:
        """Return the indices of the patterns that match, ascending."""
        names = path.split("/")
        indices: list[int] = []
        for name in dict.fromkeys(names):
            indices += self._names.get(name, ())
        for name in dict.fromkeys(names[:-1]):
            indices += self._folders.get(name, ())
        end = 0
        while end <= len(path):
            folder = path[:end]
            indices += self._at.get(folder, ())
            if end < len(path):
                indices += self._below.get(folder, ())
            for index, fragment, search in self._wild.get(folder, ()):
                # most paths lack the fragment, and looking for it costs less than matching
                if fragment in path and search(path):
                    indices.append(index)
            end = len(path) + 1 if end == len(path) else _next_slash(path, end)
        return sorted(indices)

    def any(self, path: str) -> bool:
        """Return whether one of them matches."""
        return bool(self.matching(path))


def _fragment(pattern: str, folder: str | None) -> str:
    """Return the longest text that every matching path must contain."""
    rest = pattern.strip("/").removeprefix(folder or "")
    return max(re.split(r"[*?/]+", rest.partition("[")[0]), key=len)


def _next_slash(path: str, after: int) -> int:
    slash = path.find("/", after + 1)
    return len(path) if slash < 0 else slash
