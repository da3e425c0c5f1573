"""Checks the syntax of paths and path patterns of the manifest."""

from __future__ import annotations

import re

#: More `*` in one name, or more `**` in a pattern, make matching slow on a long path.
MAX_STARS = 3
MAX_DEEP = 2
MAX_NAME_BYTES = 255
_DRIVE = re.compile(r"[A-Za-z]:")
_GIT = re.compile(r"\.git|git~[0-9]+", re.IGNORECASE)
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # as HFS+ reads names
_EVERYTHING = re.compile(r"(\*\*?/)*\*\*?/?")


def path_fault(path: str) -> str | None:
    """Return the fault of a path inside the tree as the predicate of a sentence; None for a valid path."""
    if path.endswith("/"):
        return "ends with a slash"
    return _fault(path)


def pattern_fault(pattern: str) -> str | None:
    """Return the fault of a path pattern as the predicate of a sentence; None for a valid pattern.

    A leading slash is allowed before a single name, where it is the only way to say "at the root".
    """
    if pattern[:1] in ("!", "#"):
        return f"starts with `{pattern[0]}`, which means something else in gitignore files"
    body = pattern.removesuffix("/")
    if body.startswith("/") and "/" not in body[1:]:
        body = body[1:]
    if pattern and not body:
        return "matches everything"
    if fault := _fault(body):
        return fault
    names = body.split("/")
    if names.count("**") > MAX_DEEP:
        return f"has more than {MAX_DEEP} `**`"
    for name in names:
        stars = len(re.findall(r"\*+", name))
        if stars > MAX_STARS:
            return f"has {stars} wildcards in one name; at most {MAX_STARS} are allowed"
        if "**" in name and name != "**":
            return "has `**` inside a name; it stands alone between slashes"
    return _class_fault(pattern) if "[" in pattern else None


def matches_everything(pattern: str) -> bool:
    """Whether a pattern matches every path of every tree, which makes it useless as a rule."""
    return _EVERYTHING.fullmatch(pattern.removeprefix("/")) is not None


def reserved_by_git(name: str) -> bool:
    """Whether a file system reads this name as `.git`: by case, ignored characters, or a short form."""
    plain = _IGNORED.sub("", name).partition(":")[0]  # what follows a colon is a stream on NTFS
    return _GIT.fullmatch(plain.rstrip(". ")) is not None


def _fault(path: str) -> str | None:
    if not path:
        return "is empty"
    if path.startswith("/") or _DRIVE.match(path):
        return "is absolute"
    if "\\" in path:
        return "has a backslash"
    for character in path:
        if ord(character) < 32 or ord(character) == 127:
            return f"has the control character U+{ord(character):04X}"
    for name in path.split("/"):
        if fault := _name_fault(name):
            return fault
    return None


def _name_fault(name: str) -> str | None:
    if not name:
        return "has an empty name between two slashes"
    if name in (".", ".."):
        return f"has a `{name}` in it"
    if reserved_by_git(name):
        return f"names `{name}`, which git reserves"
    if name != name.strip():
        return "has a name that begins or ends with a space"
    if name.endswith("."):
        return "has a name that ends with a dot"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"has a name of more than {MAX_NAME_BYTES} bytes"
    return None


def _class_fault(pattern: str) -> str | None:
    """Return the fault of the bracket expressions of a pattern; None if all are valid."""
    for match in re.finditer(r"\[[!^]?(\]?[^\]]*)\]", pattern):
        if re.search(r"[\[&|~:=]|--|/", match[1]):
            return f"has the bracket expression `{match[0]}`, which is not plain"
        try:
            re.compile(f"[{re.escape(match[1]).replace(chr(92) + '-', '-')}]")
        except re.error:
            return f"has the bracket expression `{match[0]}`, which is not a range"
    return None
