"""Reads unified diffs strictly, as git and diff -u write them; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: .*)?\Z")
_MODE = re.compile(rb"(old mode|new mode|new file mode|deleted file mode) (.*)", re.DOTALL)
_RENAME = re.compile(rb"(rename|copy|similarity|dissimilarity) ")
_PREAMBLE = (b"diff --git ", b"--- ", b"+++ ", b"@@ ")
_BODY = (b" ", b"+", b"-", b"\\")


class Broken(Exception):
    """A patch that cannot be applied; `line` is its line, `upstream` that of the patched file."""

    def __init__(
        self, message: str, line: int, upstream: int = 0, hint: str | None = None, excerpt: str | None = None
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
    parts = list(_Reader(source).parts())
    if not parts:
        raise Broken("it holds no file", 1)
    lines: dict[str, int] = {}
    for part in parts:
        if part.path in lines:
            raise Broken(f"{part.path} occurs twice (first at line {lines[part.path]})", part.line)
        lines[part.path] = part.line
    return parts


def split(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", data)


class _Reader:
    def __init__(self, source: bytes) -> None:
        self.lines = split(source)
        self.at = 0

    def peek(self, ahead: int = 0) -> bytes:
        """A line without its end; empty behind the last."""
        rest = self.lines[self.at + ahead : self.at + ahead + 1]
        return rest[0].rstrip(b"\n") if rest else b""

    def parts(self) -> Iterator[FilePatch]:
        while self.at < len(self.lines):
            line = self.peek()
            if line.startswith(b"diff --git ") or (
                line.startswith(b"--- ") and self.peek(1).startswith(b"+++ ")
            ):
                yield self._part()
            elif line.startswith((b"@@ ", b"+++ ")):
                raise Broken("a hunk without the name of its file", self.at + 1)
            elif re.match(rb"\d+(?:,\d+)?[acd]\d*\Z", line):
                raise Broken(
                    "it is an ed script or a normal diff; only unified diffs are applied", self.at + 1
                )
            else:
                self.at += 1  # prose before the first file

    def _part(self) -> FilePatch:
        begin = self.at + 1
        named, modes = self._git() if self.peek().startswith(b"diff --git ") else (None, {})
        old = new = None
        hunks: list[Hunk] = []
        if headed := self.peek().startswith(b"--- "):
            old, new = self._name(b"--- ", b"a/"), self._name(b"+++ ", b"b/")
            if old is None and new is None:
                raise Broken("both sides are /dev/null", begin)
            if old and new and old != new:
                raise Broken(f"{old} becomes {new}; renames are not supported", begin)
            while self.peek().startswith(b"@@"):
                hunks.append(self._hunk())
            if not hunks:
                raise Broken("no hunk follows", self.at + 1)
        elif not modes:
            raise Broken(f"it has no changes for {named}", begin)
        path = new or old or named or ""
        created, deleted = modes.get("new file mode"), modes.get("deleted file mode")
        if (created and (deleted or old)) or (deleted and new):
            raise Broken(f"it contradicts itself on whether {path} exists", begin)
        if named and path != named:
            raise Broken(f"its header names {named}, its body {path}", begin)
        return FilePatch(
            path,
            begin,
            tuple(hunks),
            new=bool(created) or (headed and old is None),
            deleted=bool(deleted) or (headed and new is None),
            old_mode=modes.get("old mode") or deleted,
            new_mode=modes.get("new mode") or created,
        )

    def _git(self) -> tuple[str, dict[str, str]]:
        """The path that a header of git names, and the modes that follow it, by their words."""
        names = self.peek()[len(b"diff --git ") :]
        if names.startswith(b'"'):
            raise Broken("quoted paths are not supported", self.at + 1)
        old, new = names[: len(names) // 2], names[len(names) // 2 + 1 :]
        if old[:2] != b"a/" or new[:2] != b"b/" or old[2:] != new[2:]:
            raise Broken("the header names two different files; renames are not supported", self.at + 1)
        named = _path(old[2:], self.at + 1)
        self.at += 1
        modes: dict[str, str] = {}
        while (line := self.peek()).strip() and not line.startswith((*_PREAMBLE, b"-- ")):
            if mode := _MODE.match(line):
                if mode[2] not in (b"100644", b"100755"):
                    raise Broken("only plain files (100644, 100755) are patched", self.at + 1)
                modes[mode[1].decode()] = mode[2].decode()
            elif rename := _RENAME.match(line):
                what = rename[1].decode()
                raise Broken(f"`{what}` is not supported; write the patch with --no-renames", self.at + 1)
            elif line.startswith((b"GIT binary patch", b"Binary files ")):
                raise Broken("binary patches are not supported; use a whole-file overlay", self.at + 1)
            self.at += 1
        return named, modes

    def _name(self, prefix: bytes, side: bytes) -> str | None:
        line = self.peek()
        self.at += 1
        if not line.startswith(prefix):
            raise Broken(f"`{prefix.decode().strip()}` is missing", self.at)
        name = line[len(prefix) :].rstrip(b"\r").split(b"\t")[0]
        if name == b"/dev/null":
            return None
        if name.startswith(b'"'):
            raise Broken("quoted paths are not supported", self.at)
        if not name.startswith(side):
            raise Broken(f"the path does not begin with {side.decode()}", self.at)
        return _path(name[len(side) :], self.at)

    def _hunk(self) -> Hunk:
        begin = self.at + 1
        header = _HEADER.match(self.peek().rstrip(b"\r"))
        if header is None:
            raise Broken("the header of the hunk is not `@@ -a,b +c,d @@`", begin)
        old: list[Line] = []
        new: list[Line] = []
        missing = {b"-": int(header[2] or 1), b"+": int(header[4] or 1)}
        self.at += 1
        while any(missing.values()):
            if self.at >= len(self.lines):
                raise Broken("the patch ends inside a hunk", self.at)
            raw = self.lines[self.at]
            self.at += 1
            if raw[:1] not in (b" ", b"-", b"+"):
                raise Broken("the hunk has fewer lines than its header says", self.at)
            if not raw.endswith(b"\n"):
                raise Broken("the patch ends inside a line", self.at)
            torn = self.peek().startswith(b"\\ ")  # No newline at end of file
            line = Line(raw[1:-1] if torn else raw[1:], self.at)
            self.at += torn
            for sign, side in ((b"-", old), (b"+", new)):
                if raw[:1] in (b" ", sign):
                    if not missing[sign]:
                        raise Broken("the hunk has more lines than its header says", line.line)
                    missing[sign] -= 1
                    side.append(line)
        following = self.peek()
        if following[:1] in _BODY and not following.startswith((b"+++ ", b"--- ", b"-- ")):
            raise Broken("the hunk has more lines than its header says", self.at + 1)
        if [line.text for line in old] == [line.text for line in new]:
            raise Broken("the hunk changes nothing", begin)
        return Hunk(begin, int(header[1]), int(header[3]), tuple(old), tuple(new))


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
