"""Applies unified diffs with git, exactly or not at all: no fuzz, no offset, no renames."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from builder.errors import Mark, Problem
from builder.manifest.paths import path_fault
from builder.manifest.statements import Patch
from builder.overlay.record import Placed, record
from builder.spelling import nearest
from builder.tree import EXECUTABLE, FILE, SYMLINK, Entry
from builder.upstream import git

_NEAR = 3  # lines of context shown around a line that differs
#: What git lists of a patch -> why it is refused.
_REFUSED = {
    rb"^-\t-\t": "binary patches are not supported; use a whole-file overlay",
    rb"^ (?:rename|copy|rewrite) ": "renames and copies are not supported; write the patch with --no-renames",
    rb"\bmode (?:\d+ => )?1[26]0000 ": "only plain files (100644, 100755) are patched",
}
#: Lines that git passes over without a word -> what is wrong with them.
_PASSED_OVER = {
    rb"^@@(?! -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)": "the header of the hunk is not `@@ -a,b +c,d @@`",
    rb"^\\ .*\n ": "a line has no end, and lines follow it",
}
#: The header of a hunk that only removes lines, without context: git looks one line too early for them.
_ONLY_REMOVES = re.compile(rb"^(@@ -\S+ \+)([1-9]\d*)(?=,0 @@)", re.MULTILINE)
_FAULT = re.compile(rb"^(?:error|warning|fatal): (.*)", re.MULTILINE)
_SEARCHED = re.compile(rb"while searching for:\n(.*?)\n?error: patch failed: .*?:(\d+)\n", re.DOTALL)
_OFFSET = re.compile(rb"Hunk #(\d+) succeeded at (\d+) \(offset")


class Broken(Exception):
    """A patch that cannot be applied; `line` is its line, `upstream` that of the patched file."""

    def __init__(
        self, message: str, line: int, upstream: int = 0, hint: str | None = None, excerpt: str | None = None
    ) -> None:
        super().__init__(message)
        self.line, self.upstream, self.hint, self.excerpt = line, upstream, hint, excerpt


def apply(
    patch: Patch, source: bytes, files: Mapping[str, bytes], entries: Mapping[str, Entry] | None = None
) -> Placed:
    """Apply one patch to `files`; with `entries`, modes are checked and symlinks are refused.

    All or nothing: with a problem, `files` and `modes` are empty.
    """
    modes = {path: entry.mode for path, entry in (entries or {}).items()}
    try:
        paths = read(source)
    except Broken as broken:
        return Placed({}, {}, (problem(patch.overlay, patch.mark, broken),))
    problems: list[Problem] = []
    with tempfile.TemporaryDirectory() as folder:
        places = {path: Path(folder, path) for path in paths}
        for path in files.keys() & places.keys():
            places[path].parent.mkdir(parents=True, exist_ok=True)
            places[path].write_bytes(files[path])
            places[path].chmod(0o755 if modes.get(path) == EXECUTABLE else 0o644)
        done = _git(source, folder, "--verbose").stderr.split(b"Checking patch ")
        # before it looks at a file, git says what is about all of them
        for path, said in zip(paths, done[1:] or done, strict=False):
            try:
                _check(path, source, files, modes, said)
            except Broken as broken:
                problems.append(problem(patch.overlay, patch.mark, broken, path))
        if problems:
            return Placed({}, {}, tuple(problems))
        out = {path: place.read_bytes() if place.exists() else None for path, place in places.items()}
        new = {
            path: EXECUTABLE if os.access(place, os.X_OK) else FILE
            for path, place in places.items()
            if place.exists()
        }
    hunks = {path: re.search(rb"\n@@ -(\d+)", source[_part(source, path) :]) for path in paths}
    records = (
        record(patch, "patch", path, int(hunk[1]) if hunk else 0, files.get(path), out[path])
        for path, hunk in hunks.items()
    )
    return Placed(out, {p: mode for p, mode in new.items() if mode != modes.get(p)}, (), tuple(records))


def read(source: bytes) -> list[str]:
    """The paths of the files that a patch changes, in order. Raises Broken for one that is not plain."""
    for pattern, why in _PASSED_OVER.items():
        if passed := re.search(pattern, source, re.MULTILINE):
            raise Broken(why, _line(source, passed.start()))
    done = _git(source, tempfile.gettempdir(), "--numstat", "--summary", "-z")
    if fault := _FAULT.search(done.stderr):
        said = fault[1].decode("utf-8", "replace")
        at = re.search(r" at line (\d+)", said)
        said = "it holds no unified diff of text" if said.startswith("No valid patches") else said
        raise Broken(said, int(at[1]) if at else 1)
    *rows, summary = done.stdout.split(b"\0")
    for pattern, why in _REFUSED.items():
        if any(re.search(pattern, listed, re.MULTILINE) for listed in (*rows, summary)):
            raise Broken(why, 1)
    counts = [row.split(b"\t", 2) for row in rows]
    paths = [path.decode("utf-8", "backslashreplace") for _, _, path in counts]
    for path in paths:
        if fault_of_path := path_fault(path):
            raise Broken(f"the path `{path}` {fault_of_path}", _line(source, _part(source, path)))
    # git passes over what follows the lines that the header of a hunk counts
    begin = re.search(rb"^(?:--- |diff --git )", source, re.MULTILINE)
    body = source[begin.start() if begin else 0 :]
    heads = len(re.findall(rb"^--- .*\n\+\+\+ ", body, re.MULTILINE))
    signed = len(re.findall(rb"^-- $", body, re.MULTILINE))
    counted = sum(int(added) + int(removed) for added, removed, _ in counts)
    if len(re.findall(rb"^[-+]", body, re.MULTILINE)) > counted + 2 * heads + signed:
        raise Broken("a hunk has more lines than its header says", _line(source, _part(source, paths[0])))
    return paths


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


def _check(
    path: str, source: bytes, files: Mapping[str, bytes], modes: Mapping[str, str], said: bytes
) -> None:
    """Raise Broken for a path that is, or runs through, a symlink, and for what git says of the file."""
    line = _line(source, _part(source, path))
    for outer in (path[:at] for at, char in enumerate(path) if char == "/" and path[:at] in modes):
        kind = "a symlink" if modes[outer] == SYMLINK else "a file"
        raise Broken(f"the path runs through {outer}, which is {kind}", line)
    if modes.get(path, FILE) not in (FILE, EXECUTABLE):
        raise Broken("the path is a symlink or a submodule; only plain files can be patched", line)
    if searched := _SEARCHED.search(said):
        wanted = searched[1].removesuffix(b"\n").split(b"\n")
        raise _mismatch(path, source, files[path].split(b"\n"), wanted, int(searched[2]))
    if moved := _OFFSET.search(said):
        hint = f"The text of the hunk is at line {int(moved[2])}; offsets are not accepted."
        raise Broken(f"hunk {int(moved[1])} is not where its header says", line, int(moved[2]), hint)
    if fault := _FAULT.search(said):
        message = fault[1].decode("utf-8", "replace")
        raise Broken(message, line, hint=None if path in files else nearest(path, files))


def _mismatch(
    path: str, source: bytes, lines: Sequence[bytes], wanted: Sequence[bytes], start: int
) -> Broken:
    """The first of the wanted lines that the file does not have from a line on."""
    line = _line(source, source.find(b"\n@@ -%d" % start, _part(source, path)) + 1)
    pairs = enumerate(zip_longest(lines[start - 1 :], wanted), start)
    at, (have, want) = next(((at, pair) for at, pair in pairs if pair[0] != pair[1]), (0, (None, None)))
    if want is None:
        return Broken("the file ends otherwise than the hunk", line, start)
    shown = "the end of the file" if have is None else f"`{_text(have)}`"
    ends = have is not None and have.rstrip(b"\r") == want.rstrip(b"\r")
    first = max(1, at - _NEAR)
    near = enumerate(lines[first - 1 : at + _NEAR], first)
    excerpt = "".join(f"{number:>6}  {_text(line).rstrip()}\n" for number, line in near)
    message = f"{path}:{at} is {shown}, and the patch expects `{_text(want)}`"
    hint = "Only the end of the line differs." if ends else None
    return Broken(message, line, at, hint, excerpt)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").replace("\r", "\\r")


def _part(source: bytes, path: str) -> int:
    """Where the part of a patch for a file begins."""
    head = re.compile(rb"^(?:diff --git a/|--- a/|\+\+\+ b/)%s\s" % re.escape(path.encode()), re.MULTILINE)
    begin = head.search(source)
    return begin.start() if begin else 0


def _line(source: bytes, at: int) -> int:
    """The line of an offset."""
    return source.count(b"\n", 0, at) + 1


def _git(source: bytes, folder: str, *options: str) -> subprocess.CompletedProcess[bytes]:
    source = _ONLY_REMOVES.sub(lambda header: b"%s%d" % (header[1], int(header[2]) + 1), source)
    words = ("apply", "--unidiff-zero", "--whitespace=nowarn", *options, "-")
    return git.in_folder(folder, *words, stdin=source)
