"""Applies unified diffs in memory, exactly or not at all: no fuzz, no offset, no renames."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from builder.errors import Mark, Problem
from builder.manifest.statements import Patch
from builder.overlay.patchfile import Broken, FilePatch, Hunk, read, split
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
