"""Path patterns in gitignore syntax, matched many at a time.

The semantics are those of pathspec's `gitignore` pattern with its `simple` backend; the tests hold
this module to it. Patterns are indexed by what is literal in them, so that a path meets only the
few that could match: exact names and folders by dictionary, the rest by regular expression below
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
def translate(pattern: str) -> str:
    """The regular expression of a pattern, for `re.match` on a path without a leading slash."""
    if pattern.removeprefix("/") == "":
        return ""
    names = pattern.split("/")
    below = not names[-1]
    if not names[0]:
        del names[0]
    elif len(names) == 1 or (len(names) == 2 and below):
        names.insert(0, "**")
    if below:
        names[-1] = "**"
    names = [n for i, n in enumerate(names) if not (n == "**" and i and names[i - 1] == "**")]
    if names == ["**"]:
        # `**/` is everything below a folder, `**` is everything
        return "[^/]*/" if below and pattern != "/" else ""
    return _join(names)


def literal_folder(pattern: str) -> str | None:
    """The folder that every match lies in or is (`a/b`), "" for the root; None when matches lie anywhere."""
    body = pattern.removeprefix("/").removesuffix("/")
    if "/" not in body and not pattern.startswith("/"):
        return None
    names = body.split("/")
    wild = next((i for i, name in enumerate(names) if not _WILD.isdisjoint(name)), len(names))
    return "/".join(names[:wild])


def matches(pattern: str, path: str) -> bool:
    """Whether one pattern matches one path."""
    return re.match(translate(pattern), path, re.DOTALL) is not None


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
            compiled = re.compile(translate(pattern), re.DOTALL)
            self._wild.setdefault(folder or "", []).append(
                (index, _fragment(pattern, folder), compiled.match)
            )

    def matching(self, path: str) -> list[int]:
        """The indices of the patterns that match, ascending."""
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
            for index, fragment, match in self._wild.get(folder, ()):
                # most paths lack the fragment, and looking for it costs less than matching
                if fragment in path and match(path):
                    indices.append(index)
            end = len(path) + 1 if end == len(path) else _next_slash(path, end)
        return sorted(indices)

    def any(self, path: str) -> bool:
        """Whether one of them matches."""
        return bool(self.matching(path))


def _fragment(pattern: str, folder: str | None) -> str:
    """The longest text that every matching path must contain."""
    rest = pattern.strip("/").removeprefix(folder or "")
    return max(re.split(r"[*?/]+", rest.partition("[")[0]), key=len)


def _next_slash(path: str, after: int) -> int:
    slash = path.find("/", after + 1)
    return len(path) if slash < 0 else slash


def _join(names: list[str]) -> str:
    """Names with `**` as any number of folders; the last name matches itself and all below it."""
    parts: list[str] = []
    slash = False
    last = len(names) - 1
    for i, name in enumerate(names):
        if name == "**":
            if i == 0:
                parts.append("(?:.+/)?")
                continue
            parts.append("/" if i == last else "(?:/.+)?")
        else:
            parts.append(("/" if slash else "") + ("[^/]+" if name == "*" else _name(name)))
            if i == last:
                # pathspec: a final `*` matches a name and not what is below it
                parts.append(r"\Z" if name == "*" else r"(?:/|\Z)")
        slash = True
    return "".join(parts)


def _name(glob: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        end = glob.find("]", at + 2 + (glob[at + 1 : at + 2] in ("!", "^"))) if char == "[" else -1
        if char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif end > 0:
            negated = glob[at + 1] in "!^"
            inner = glob[at + 1 + negated : end]
            parts.append(f"[{'^' if negated else ''}{_members(inner)}]")
            at = end
        else:
            parts.append(re.escape(char))
        at += 1
    return "".join(parts)


def _members(inner: str) -> str:
    return re.sub(r"[^\w-]", lambda match: "\\" + match[0], inner)
