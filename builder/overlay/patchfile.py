"""Reads unified diffs strictly, as git and diff -u write them; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: .*)?\Z")
_MODES = {b"100644": "100644", b"100755": "100755"}
_NO_NEWLINE = b"\\ "
_PREAMBLE = (b"diff --git ", b"--- ", b"+++ ", b"@@ ")


class Broken(Exception):
    """A patch that cannot be applied; `line` is its line, `upstream` that of the patched file."""

    def __init__(
        self,
        message: str,
        line: int,
        upstream: int = 0,
        hint: str | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(message)
        self.line, self.upstream, self.hint, self.excerpt = line, upstream, hint, excerpt


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file with its end, and the line of the patch that shows it."""

    text: bytes
    line: int


@dataclass(frozen=True, slots=True)
class Hunk:
    line: int  # of its header in the patch
    start: int  # first old line, 1-based; for no old lines, the line before
    written: int  # the same for the new file
    old: tuple[Line, ...]
    new: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The part of a patch for one file."""

    path: str
    line: int
    hunks: tuple[Hunk, ...]
    new: bool = False
    deleted: bool = False
    old_mode: str | None = None
    new_mode: str | None = None


def read(source: bytes) -> list[FilePatch]:
    """The files of a patch, in order. Raises Broken."""
    reader = _Reader(source)
    parts = list(reader.parts())
    if not parts:
        raise Broken("it holds no file", 1)
    lines: dict[str, int] = {}
    for part in parts:
        if part.path in lines:
            raise Broken(f"{part.path} occurs twice (first at line {lines[part.path]})", part.line)
        lines[part.path] = part.line
    return parts


class _Reader:
    def __init__(self, source: bytes) -> None:
        self.lines = re.findall(rb"[^\n]*\n|[^\n]+\Z", source)
        self.at = 0

    def peek(self) -> bytes | None:
        return self.lines[self.at].rstrip(b"\n") if self.at < len(self.lines) else None

    def parts(self) -> Iterator[FilePatch]:
        while (line := self.peek()) is not None:
            if line.startswith(b"diff --git "):
                yield self._git()
            elif line.startswith(b"--- ") and self._follows(b"+++ "):
                yield self._file({}, self.at + 1)
            elif line.startswith((b"@@ ", b"+++ ")):
                raise Broken("a hunk without the name of its file", self.at + 1)
            elif re.match(rb"\d+(?:,\d+)?[acd]\d*\Z", line):
                raise Broken(
                    "it is an ed script or a normal diff; only unified diffs are applied", self.at + 1
                )
            else:
                self.at += 1  # prose before the first file

    def _follows(self, prefix: bytes) -> bool:
        return self.at + 1 < len(self.lines) and self.lines[self.at + 1].startswith(prefix)

    def _git(self) -> FilePatch:
        begin = self.at + 1
        named = self._git_paths((self.peek() or b"")[len(b"diff --git ") :], begin)
        self.at += 1
        extended: dict[str, str] = {}
        while (line := self.peek()) is not None and not line.startswith(_PREAMBLE):
            for key in (b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode "):
                if line.startswith(key):
                    mode = _MODES.get(line[len(key) :])
                    if mode is None:
                        raise Broken("only plain files (100644, 100755) are patched", self.at + 1)
                    extended[key.decode().strip()] = mode
            for key in (b"rename ", b"copy ", b"similarity index ", b"dissimilarity index "):
                if line.startswith(key):
                    what = key.split()[0].decode()
                    raise Broken(f"`{what}` is not supported; write the patch with --no-renames", self.at + 1)
            if line.startswith((b"GIT binary patch", b"Binary files ")):
                raise Broken("binary patches are not supported; use a whole-file overlay", self.at + 1)
            if not line.strip() or line.startswith(b"-- "):
                break
            self.at += 1
        line = self.peek()
        if line is not None and line.startswith(b"--- "):
            part = self._file(extended, begin)
            if part.path != named:
                raise Broken(f"its header names {named}, its body {part.path}", begin)
            return part
        if not extended:
            raise Broken(f"it has no changes for {named}", begin)
        return _facts(named, begin, (), extended, None, None)

    def _git_paths(self, rest: bytes, line: int) -> str:
        if rest.startswith(b'"'):
            raise Broken("quoted paths are not supported", line)
        half = len(rest) // 2
        left, right = rest[:half], rest[half + 1 :]
        if left[:2] != b"a/" or right[:2] != b"b/" or left[2:] != right[2:]:
            raise Broken("the header names two different files; renames are not supported", line)
        return _path(left[2:], line)

    def _file(self, extended: dict[str, str], begin: int) -> FilePatch:
        old = self._name(b"--- ", b"a/")
        new = self._name(b"+++ ", b"b/")
        if old is None and new is None:
            raise Broken("both sides are /dev/null", begin)
        if old is not None and new is not None and old != new:
            raise Broken(f"{old} becomes {new}; renames are not supported", begin)
        hunks = []
        while (line := self.peek()) is not None and line.startswith(b"@@"):
            hunks.append(self._hunk())
        if not hunks:
            raise Broken("no hunk follows", self.at + 1)
        return _facts(new or old or "", begin, tuple(hunks), extended, old, new, headed=True)

    def _name(self, prefix: bytes, side: bytes) -> str | None:
        line = self.peek()
        if line is None or not line.startswith(prefix):
            raise Broken(f"`{prefix.decode().strip()}` is missing", self.at + 1)
        name = line[len(prefix) :].rstrip(b"\r").split(b"\t")[0]
        self.at += 1
        if name == b"/dev/null":
            return None
        if name.startswith(b'"'):
            raise Broken("quoted paths are not supported", self.at)
        if not name.startswith(side):
            raise Broken(f"the path does not begin with {side.decode()}", self.at)
        return _path(name[len(side) :], self.at)

    def _hunk(self) -> Hunk:
        begin = self.at + 1
        header = _HEADER.match((self.peek() or b"").rstrip(b"\r"))
        if header is None:
            raise Broken("the header of the hunk is not `@@ -a,b +c,d @@`", begin)
        start, written = int(header[1]), int(header[3])
        remaining = [1 if header[2] is None else int(header[2]), 1 if header[4] is None else int(header[4])]
        self.at += 1
        old: list[Line] = []
        new: list[Line] = []
        while remaining[0] or remaining[1]:
            if self.at >= len(self.lines):
                raise Broken("the patch ends inside a hunk", self.at)
            raw = self.lines[self.at]
            mark, text = raw[:1], raw[1:]
            if mark not in (b" ", b"-", b"+"):
                raise Broken("the hunk has fewer lines than its header says", self.at + 1)
            if not raw.endswith(b"\n"):
                raise Broken("the patch ends inside a line", self.at + 1)
            self.at += 1
            torn = self.at < len(self.lines) and self.lines[self.at].startswith(_NO_NEWLINE)
            line = Line(text[:-1] if torn else text, self.at)
            self.at += torn
            for index, (sign, side) in enumerate(((b"-", old), (b"+", new))):
                if mark in (b" ", sign):
                    if not remaining[index]:
                        raise Broken("the hunk has more lines than its header says", line.line)
                    remaining[index] -= 1
                    side.append(line)
        following = self.peek()
        if (
            following is not None
            and following[:1] in (b" ", b"+", b"\\")
            and not following.startswith(b"+++ ")
        ):
            raise Broken("the hunk has more lines than its header says", self.at + 1)
        if following is not None and following[:1] == b"-" and not following.startswith((b"--- ", b"-- ")):
            raise Broken("the hunk has more lines than its header says", self.at + 1)
        if [line.text for line in old] == [line.text for line in new]:
            raise Broken("the hunk changes nothing", begin)
        return Hunk(begin, start, written, tuple(old), tuple(new))


def _facts(
    path: str,
    line: int,
    hunks: tuple[Hunk, ...],
    extended: dict[str, str],
    old: str | None,
    new: str | None,
    headed: bool = False,
) -> FilePatch:
    created, deleted = extended.get("new file mode"), extended.get("deleted file mode")
    if (created and deleted) or (headed and ((created and old) or (deleted and new))):
        raise Broken(f"it contradicts itself on whether {path} exists", line)
    return FilePatch(
        path,
        line,
        hunks,
        new=bool(created) or (headed and old is None),
        deleted=bool(deleted) or (headed and new is None),
        old_mode=extended.get("old mode") or deleted,
        new_mode=extended.get("new mode") or created,
    )


def _path(raw: bytes, line: int) -> str:
    """A plain path inside the tree. Raises Broken for any other."""
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Broken("a path is not UTF-8", line) from None
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "\0" in path or re.match(r"[A-Za-z]:", path):
        raise Broken(f"`{path}` is not a path inside the tree", line)
    if any(part in ("", ".", "..") or part.lower() in (".git", "git~1") for part in parts):
        raise Broken(f"`{path}` is not a plain path inside the tree", line)
    return path
