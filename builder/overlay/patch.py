"""Applies unified diffs in memory, exactly or not at all: no fuzz, no offset, no renames."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from builder.errors import Mark, Problem
from builder.manifest.paths import path_fault
from builder.manifest.statements import Patch
from builder.overlay.record import Placed, Record, record
from builder.spelling import nearest
from builder.tree import EXECUTABLE, FILE, SYMLINK, Entry

_NEAR = 3  # lines of context shown around the nearest text


def apply(
    patch: Patch, source: bytes, files: Mapping[str, bytes], entries: Mapping[str, Entry] | None = None
) -> Placed:
    """Apply one patch to `files`; with `entries`, modes are checked and symlinks are refused.

    All or nothing: with a problem, `files` and `modes` are empty.
    """
    out: dict[str, bytes | None] = {}
    modes: dict[str, str] = {}
    problems: list[Problem] = []
    records: list[Record] = []
    try:
        parts = read(source)
    except Broken as broken:
        return Placed({}, {}, (problem(patch.overlay, patch.mark, broken),))
    for part in parts:
        path = part.path
        try:
            _admit(part, files, entries or {})
            text = _hunks(part, files.get(path, b""))
            if part.deleted and text:
                raise Broken("the patch deletes the file, but its hunks leave lines of it", part.line)
        except Broken as broken:
            problems.append(problem(patch.overlay, patch.mark, broken, path))
            continue
        out[path] = None if part.deleted else text
        if mode := part.modes.get("new mode") or part.modes.get("new file mode"):
            modes[path] = mode
        line = part.hunks[0].start if part.hunks else 0
        records.append(record(patch, "patch", path, line, files.get(path), out[path]))
    if problems:
        return Placed({}, {}, tuple(problems))
    return Placed(out, modes, (), tuple(records))


def problem(overlay: str, mark: Mark | None, broken: Broken, path: str | None = None) -> Problem:
    """R007 for a patch that does not apply, or cannot be read; `path`: the file that it is about."""
    verb = "does not apply" if path else "cannot be read"
    where = f"{path}: " if path and not str(broken).startswith(path) else ""
    return Problem(
        "R007",
        f"{overlay} {verb}: {where}{broken}.",
        Mark(overlay, broken.line),
        Mark(path, broken.upstream) if path else None,
        broken.excerpt,
        broken.hint or f"The manifest names the patch at {mark}.",
    )


def _admit(part: FilePatch, files: Mapping[str, bytes], tree: Mapping[str, Entry]) -> None:
    """Refuse a path that runs through, or names, a symlink or a gitlink, a file that is there or is not
    there against what the patch says, and another mode than the patch says."""
    path, folders = part.path, part.path.split("/")
    for outer in ("/".join(folders[:count]) for count in range(1, len(folders))):
        if entry := tree.get(outer):
            kind = "a symlink" if entry.mode == SYMLINK else "a file"
            raise Broken(f"the path runs through {outer}, which is {kind}", part.line)
    mode = tree[path].mode if path in tree else None
    if mode not in (None, FILE, EXECUTABLE):
        raise Broken("the path is a symlink or a submodule; only plain files can be patched", part.line)
    if part.new and (path in files or any(other.startswith(path + "/") for other in files)):
        raise Broken("the patch creates the file, but it exists", part.line)
    if not part.new and path not in files:
        raise Broken("the file does not exist, or was removed", part.line, hint=nearest(path, files))
    expected = part.modes.get("old mode") or part.modes.get("deleted file mode")
    if mode and expected not in (None, mode):
        raise Broken(f"the file has mode {mode}, but the patch expects {expected}", part.line)


def _hunks(part: FilePatch, data: bytes) -> bytes:
    """The file after the hunks. Every old line must stand exactly where its header says."""
    lines = split(data)
    out: list[bytes] = []
    at = 0  # lines of the old file already passed
    for hunk in part.hunks:
        start = hunk.start - 1 if hunk.old else hunk.start
        if not at <= start <= len(lines):
            message = f"hunk at line {hunk.start} is out of order or beyond the file's {len(lines)} lines"
            raise Broken(message, hunk.line)
        out += lines[at:start]
        for index, (text, _) in enumerate(hunk.old):
            if lines[start + index : start + index + 1] != [text]:
                raise _mismatch(part, hunk, lines, start + index, index)
        written = len(out) + bool(hunk.new)
        if hunk.written != written:
            raise Broken(f"the header says new line {hunk.written}, and it is {written}", hunk.line)
        out += hunk.new
        at = start + len(hunk.old)
    out += lines[at:]
    for index, line in enumerate(out[:-1]):
        if not line.endswith(b"\n"):
            raise Broken(f"new line {index + 1} has no end of line, and lines follow it", part.line)
    return b"".join(out)


def _mismatch(part: FilePatch, hunk: Hunk, lines: Sequence[bytes], at: int, index: int) -> Broken:
    want, line = hunk.old[index]
    have = _shown(lines[at]) if at < len(lines) else "the end of the file"
    block = [text for text, _ in hunk.old]
    places = [n + 1 for n in range(len(lines) - len(block) + 1) if list(lines[n : n + len(block)]) == block]
    texts = [text.decode("utf-8", "replace").strip() for text in lines]
    if places:
        hint = f"The text of the hunk is at line {', '.join(map(str, places[:4]))}; offsets are not accepted."
    elif at < len(lines) and lines[at].rstrip(b"\r\n") == want.rstrip(b"\r\n"):
        hint = "Only the end of the line differs."
    else:
        near = difflib.get_close_matches(want.decode("utf-8", "replace").strip(), texts, n=1, cutoff=0.6)
        hint = f"The nearest line is {texts.index(near[0]) + 1}: {near[0]}" if near else ""
    first = max(0, at - _NEAR)
    numbered = enumerate(lines[first : at + _NEAR + 1], first + 1)
    excerpt = "".join(f"{n:>6}  {text.decode('utf-8', 'replace').rstrip()}\n" for n, text in numbered)
    message = f"{part.path}:{at + 1} is {have}, and the patch expects {_shown(want)}"
    return Broken(message, line, upstream=at + 1, hint=hint or None, excerpt=excerpt or None)


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    ending = "" if text.endswith("\n") else " (no end of line)"
    return f"`{text.rstrip(chr(10))}`".replace("\r", "\\r") + ending


# -- reading


_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: .*)?\r?\Z")
_MODE = re.compile(rb"(old mode|new mode|new file mode|deleted file mode) (.*)", re.DOTALL)
#: The beginning of a line below a header of git -> why the patch is refused.
_REFUSED_OF_GIT = {
    rb"(?:rename|copy|similarity|dissimilarity) ": "renames and copies are not supported; "
    "write the patch with --no-renames",
    rb"GIT binary patch|Binary files ": "binary patches are not supported; use a whole-file overlay",
}
#: The same for any line that is no part of a hunk.
_REFUSED = {
    rb"\+\+\+ |@@": "a hunk without the name of its file",
    rb"\d+(?:,\d+)?[acd]\d*\Z": "it is an ed script or a normal diff; only unified diffs are applied",
}


class Broken(Exception):
    """A patch that cannot be applied; `line` is its line, `upstream` that of the patched file."""

    def __init__(
        self, message: str, line: int, upstream: int = 0, hint: str | None = None, excerpt: str | None = None
    ) -> None:
        super().__init__(message)
        self.line, self.upstream, self.hint, self.excerpt = line, upstream, hint, excerpt


@dataclass(frozen=True, slots=True)
class Hunk:
    """The old lines of a file, each with the line of the patch that shows it, and the new ones."""

    line: int  # of its header in the patch
    start: int  # first old line, 1-based; for no old lines, the line before
    written: int  # the same for the new file
    old: tuple[tuple[bytes, int], ...]
    new: tuple[bytes, ...]


@dataclass(slots=True)
class FilePatch:
    """The part of a patch for one file."""

    path: str
    line: int
    hunks: list[Hunk] = field(default_factory=list)
    modes: dict[str, str] = field(default_factory=dict)  # by the words of git
    new: bool = False
    deleted: bool = False
    headed: bool = False  # `---` and `+++` were read


def read(source: bytes) -> list[FilePatch]:
    """The files of a patch, in order. Raises Broken."""
    parts: dict[str, FilePatch] = {}
    part: FilePatch | None = None
    lines = split(source)
    at = 0
    while at < len(lines):
        line = lines[at].rstrip(b"\n")
        at += 1
        if line.startswith(b"diff --git "):
            part = _started(parts, _named_by_git(line, at), at)
        elif line.startswith(b"--- ") and (after := lines[at : at + 1]) and after[0].startswith(b"+++ "):
            old, new = _name(line, b"a/", at), _name(after[0].rstrip(b"\n"), b"b/", at + 1)
            path = new or old
            if path is None:
                raise Broken("both sides are /dev/null", at)
            if old not in (None, path):
                raise Broken(f"{old} becomes {new}; renames are not supported", at)
            if part is None or part.headed:
                part = _started(parts, path, at)
            elif part.path != path:
                raise Broken(f"its header names {part.path}, its body {path}", at)
            if ("new file mode" in part.modes and old) or ("deleted file mode" in part.modes and new):
                raise Broken(f"it contradicts itself on whether {path} exists", at)
            part.headed, part.new, part.deleted = True, old is None, new is None
            at += 1
            if not lines[at : at + 1] or not lines[at].startswith(b"@@"):
                raise Broken("no hunk follows", at + 1)
        elif line.startswith(b"@@") and part and part.headed:
            hunk, at = _hunk(lines, at)
            part.hunks.append(hunk)
        elif part and not part.headed and (mode := _MODE.match(line)):
            if mode[2] not in (b"100644", b"100755"):
                raise Broken("only plain files (100644, 100755) are patched", at)
            part.modes[mode[1].decode()] = mode[2].decode()
            part.new, part.deleted = "new file mode" in part.modes, "deleted file mode" in part.modes
        else:  # another header of git, or prose
            below_header = part is not None and not part.headed
            for pattern, why in (_REFUSED | _REFUSED_OF_GIT if below_header else _REFUSED).items():
                if re.match(pattern, line):
                    raise Broken(why, at)
    if not parts:
        raise Broken("it holds no file", 1)
    for one in parts.values():
        if not one.headed and not one.modes:
            raise Broken(f"it has no changes for {one.path}", one.line)
        if one.new and one.deleted:
            raise Broken(f"it contradicts itself on whether {one.path} exists", one.line)
    return list(parts.values())


def split(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", data)


def _started(parts: dict[str, FilePatch], path: str, line: int) -> FilePatch:
    if path in parts:
        raise Broken(f"{path} occurs twice (first at line {parts[path].line})", line)
    parts[path] = FilePatch(path, line)
    return parts[path]


def _named_by_git(line: bytes, at: int) -> str:
    names = line.removeprefix(b"diff --git ")
    old, new = names[: len(names) // 2], names[len(names) // 2 + 1 :]
    if names.startswith(b'"'):
        raise Broken("quoted paths are not supported", at)
    if old[:2] != b"a/" or new[:2] != b"b/" or old[2:] != new[2:]:
        raise Broken("the header names two different files; renames are not supported", at)
    return _path(old[2:], at)


def _name(line: bytes, side: bytes, at: int) -> str | None:
    """The path of a `---` or `+++` line; None for /dev/null."""
    name = line[4:].rstrip(b"\r").split(b"\t")[0]
    if name == b"/dev/null":
        return None
    if name.startswith(b'"'):
        raise Broken("quoted paths are not supported", at)
    if not name.startswith(side):
        raise Broken(f"the path does not begin with {side.decode()}", at)
    return _path(name[len(side) :], at)


def _path(raw: bytes, line: int) -> str:
    """A plain path inside the tree. Raises Broken for any other."""
    path = raw.decode("utf-8", "backslashreplace")
    if fault := path_fault(path):
        raise Broken(f"the path `{path}` {fault}", line)
    return path


def _hunk(lines: Sequence[bytes], at: int) -> tuple[Hunk, int]:
    """The hunk whose header is line `at` (1-based) of a patch, and the line that ends it."""
    begin, header = at, _HEADER.match(lines[at - 1].rstrip(b"\n"))
    if header is None:
        raise Broken("the header of the hunk is not `@@ -a,b +c,d @@`", begin)
    sides: dict[bytes, list[tuple[bytes, int]]] = {b"-": [], b"+": []}
    counts = {b"-": int(header[2] or 1), b"+": int(header[4] or 1)}
    while any(len(sides[sign]) < counts[sign] for sign in sides):
        if at >= len(lines):
            raise Broken("the patch ends inside a hunk", at)
        raw = lines[at]
        at += 1
        if raw[:1] not in (b" ", b"-", b"+"):
            raise Broken("the hunk has fewer lines than its header says", at)
        if not raw.endswith(b"\n"):
            raise Broken("the patch ends inside a line", at)
        torn = at < len(lines) and lines[at].startswith(b"\\ ")  # No newline at end of file
        for sign, side in sides.items():
            if raw[:1] in (b" ", sign):
                side.append((raw[1:-1] if torn else raw[1:], at))
        at += torn
    after = lines[at] if at < len(lines) else b""
    more = after.startswith((b" ", b"+", b"-", b"\\")) and not after.startswith((b"+++ ", b"--- ", b"-- "))
    if more or any(len(sides[sign]) > counts[sign] for sign in sides):
        raise Broken("the hunk has more lines than its header says", at + more)
    new = tuple(text for text, _ in sides[b"+"])
    if [text for text, _ in sides[b"-"]] == list(new):
        raise Broken("the hunk changes nothing", begin)
    return Hunk(begin, int(header[1]), int(header[3]), tuple(sides[b"-"]), new), at
