"""upstream.diff, applied by real git."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import zlib
from pathlib import Path

import pytest
from gate_worlds import snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.emit.diff import quoted, stored_zlib, upstream_diff
from builder.source.textdiff import hunks, runs, split
from builder.tree import EXECUTABLE, GITLINK, SYMLINK, Snapshot

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "LC_ALL": "C",
}


def git(folder: Path, *args: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["git", *args], cwd=folder, input=data, capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def check_out(folder: Path, snap: Snapshot) -> None:
    for path, entry in snap.tree.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == SYMLINK:
            os.symlink(snap[path], os.fsencode(target))
        else:
            target.write_bytes(snap[path])
            target.chmod(0o755 if entry.mode == EXECUTABLE else 0o644)


def apply(folder: Path, before: Snapshot, patch: bytes) -> str:
    """The tree id after plain `git apply` on a checkout of `before`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", ".")
    check_out(folder, before)
    if patch:
        git(folder, "apply", "--whitespace=nowarn", "-", data=patch)
    git(folder, "-c", "core.autocrlf=false", "add", "-A", "-f", ".")
    return git(folder, "write-tree").decode().strip()


def assert_proves(folder: Path, before: Snapshot, after: Snapshot) -> bytes:
    patch = upstream_diff(before, after)
    assert apply(folder, before, patch) == after.tree.id
    return patch


BINARY = bytes(range(256)) * 300  # longer than one stored block

CASES: dict[str, tuple[dict, dict]] = {
    "nothing at all": ({"a": b"x\n"}, {"a": b"x\n"}),
    "a file that leaves": ({"a": b"x\ny\n", "b": b"1\n"}, {"b": b"1\n"}),
    "a file that comes": ({"b": b"1\n"}, {"a": b"x\ny\n", "b": b"1\n"}),
    "an empty file that leaves": ({"a": b"", "b": b"1\n"}, {"b": b"1\n"}),
    "an empty file that comes": ({"b": b"1\n"}, {"a": b"", "b": b"1\n"}),
    "a file that becomes empty": ({"a": b"x\ny\n"}, {"a": b""}),
    "a file that was empty": ({"a": b""}, {"a": b"x\n"}),
    "no newline before": ({"a": b"x\ny"}, {"a": b"x\ny\n"}),
    "no newline after": ({"a": b"x\ny\n"}, {"a": b"x\ny"}),
    "no newline on either side": ({"a": b"x\ny"}, {"a": b"x\nz"}),
    "no newline in what leaves": ({"a": b"x\ny", "b": b""}, {"b": b""}),
    "no newline in what comes": ({"b": b""}, {"a": b"x\ny", "b": b""}),
    "one line only": ({"a": b"x"}, {"b": b"x"}),
    "CRLF": ({"a": b"x\r\ny\r\nz\r\n"}, {"a": b"x\r\nz\r\n"}),
    "a lone carriage return": ({"a": b"x\ry\nz\n"}, {"a": b"x\ry\nq\r\n"}),
    "form feeds and odd separators": ({"a": b"x\x0cy\n\x85\nz\n"}, {"a": b"x\x0cy\nz\n"}),
    "lines that look like a patch": ({"a": b"--- a\n+++ b\n@@ -1 +1 @@\n"}, {"a": b"-- \n@@ -1 +1 @@\n"}),
    "mode only": ({"a": b"x\n"}, {"a": (EXECUTABLE, b"x\n")}),
    "mode and content": ({"a": (EXECUTABLE, b"x\ny\n")}, {"a": b"x\n"}),
    "an executable that leaves": ({"a": (EXECUTABLE, b"x\n"), "b": b""}, {"b": b""}),
    "a symlink that leaves": ({"a": (SYMLINK, b"b"), "b": b"1\n"}, {"b": b"1\n"}),
    "a symlink that moves": ({"a": (SYMLINK, b"b"), "b": b""}, {"a": (SYMLINK, b"../c/d"), "b": b""}),
    "a symlink that becomes a file": ({"a": (SYMLINK, b"b"), "b": b""}, {"a": b"b", "b": b""}),
    "a file that becomes a symlink": ({"a": b"b\n", "b": b""}, {"a": (SYMLINK, b"b"), "b": b""}),
    "a file that becomes a folder": ({"a": b"x\n"}, {"a/b": b"x\n"}),
    "a folder that becomes a file": ({"a/b": b"x\n", "a/c": b"y\n"}, {"a": b"x\n"}),
    "a binary that leaves": ({"a": BINARY, "b": b""}, {"b": b""}),
    "a binary that comes": ({"b": b""}, {"a": BINARY, "b": b""}),
    "a binary that changes": ({"a": BINARY}, {"a": BINARY[::-1]}),
    "a binary that becomes text": ({"a": BINARY}, {"a": b"text\n"}),
    "a binary that becomes empty": ({"a": BINARY}, {"a": b""}),
    "a NUL far behind the start": ({"a": b"x\n" * 9000 + b"\0"}, {"a": b"x\n" * 9000}),
    "names that need quotes": ({'q"uo\\te': b"1\n", "tab\tin": b"2\n", "new\nline": b"3\n"}, {"é": b"1\n"}),
    "names with spaces": ({"a b/c d": b"1\n2\n", "e f ": b""}, {"a b/c d": b"1\n", " g": b"x\n"}),
    "a name that is not UTF-8": ({"\udcff\udc80": b"1\n2\n"}, {"\udcff\udc80": b"1\n", "\udcfe": b"n\n"}),
    "text that is not UTF-8": ({"a": b"\xff\xfe\n\x80\n"}, {"a": b"\xff\xfe\n"}),
}


@pytest.mark.parametrize("case", CASES)
def test_git_turns_upstream_into_the_output(case: str, tmp_path: Path) -> None:
    before, after = (snapshot(side) for side in CASES[case])
    assert_proves(tmp_path / "w", before, after)


def test_a_gitlink_is_named_by_its_commit() -> None:
    patch = upstream_diff(snapshot({"m": (GITLINK, b"1" * 40)}), snapshot({}))
    assert b"deleted file mode 160000\n" in patch
    assert b"-Subproject commit " + b"1" * 40 + b"\n" in patch


def test_a_pre_image_that_differs_by_a_byte_is_refused(tmp_path: Path) -> None:
    patch = upstream_diff(snapshot({"a": BINARY, "b": b"x\n"}), snapshot({"b": b"x\n"}))
    git_folder = tmp_path / "w"
    git_folder.mkdir()
    git(git_folder, "init", "-q", ".")
    check_out(git_folder, snapshot({"a": BINARY + b"!", "b": b"x\n"}))
    done = subprocess.run(
        ["git", "apply", "-"], cwd=git_folder, input=patch, capture_output=True, env=ENVIRONMENT
    )
    assert done.returncode != 0


def test_a_hunk_names_the_function_above_it() -> None:
    before = b"def f():\n" + b"".join(b"    line%d\n" % n for n in range(20))
    assert b"@@ -9,7 +9,6 @@ def f():\n" in hunks(before, before.replace(b"    line10\n", b""))


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"}\n", b"\n", b"def f():\n", b"x\r\n"]), max_size=40)
TEXT = st.builds(lambda lines, end: b"".join(lines) + end, LINES, st.sampled_from([b"", b"", b"end"]))
PATHS = st.sampled_from(["a", "d/a", "d/b", "e/f/g", "h i", "ü"])
VALUES = st.one_of(
    TEXT, TEXT.map(lambda t: (EXECUTABLE, t)), st.binary(max_size=200), st.just((SYMLINK, b"somewhere"))
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.dictionaries(PATHS, VALUES, min_size=1), after=st.dictionaries(PATHS, VALUES, min_size=1))
def test_any_two_trees_are_joined_by_their_diff(before: dict, after: dict, tmp_path: Path) -> None:
    assert_proves(Path(tempfile.mkdtemp(dir=tmp_path)), snapshot(before), snapshot(after))


@settings(max_examples=400, deadline=None)
@given(LINES, LINES)
def test_runs_are_equal_lines_in_order(a: list[bytes], b: list[bytes]) -> None:
    i = j = 0
    for run in runs(a, b):
        assert run.left >= i and run.right >= j
        assert a[run.left : run.left + run.length] == b[run.right : run.right + run.length]
        i, j = run.left + run.length, run.right + run.length
    assert (i, j) == (len(a), len(b))


def test_deleted_lines_alone_give_a_diff_without_additions() -> None:
    rng = random.Random(7)
    lines = [rng.choice([b"    x = 1\n", b"\n", b"line %d\n" % n]) for n in range(3000)]
    kept = [line for n, line in enumerate(lines) if not 1000 <= n < 1400 and n % 97]
    body = split(hunks(b"".join(lines), b"".join(kept)))
    changed = [line for line in body if line[:1] in b"+-"]
    assert len([line for line in changed if line.startswith(b"+")]) <= 12
    assert len(changed) <= len(lines) - len(kept) + 24


def test_texts_without_a_common_line_are_replaced_as_one_block() -> None:
    before, after = b"".join(b"a%d\n" % n for n in range(2000)), b"".join(b"b%d\n" % n for n in range(2000))
    assert hunks(before, after).count(b"@@ ") == 1


def test_a_name_is_quoted_as_git_quotes_it() -> None:
    assert quoted(b"a b") == b"a b"
    assert quoted('a"\\\t\n\x01é'.encode()) == b'"a\\"\\\\\\t\\n\\001\\303\\251"'


def test_a_stored_stream_is_what_zlib_reads_back() -> None:
    for data in (b"", b"x", BINARY, b"y" * 0xFFFF, b"y" * 0x10000):
        assert zlib.decompress(stored_zlib(data)) == data


def test_only_edited_files_are_compared_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {f"p/f{n}.py": b"# %d\nx = 1\n" % n for n in range(9)}
    after = {path: data.replace(b"1\n", b"2\n") for path, data in list(before.items())[:3]}
    compared: list[bytes] = []

    def counted(left: bytes, right: bytes) -> bytes:
        compared.append(left)
        return hunks(left, right)

    monkeypatch.setattr("builder.emit.diff.hunks", counted)
    after["p/new.py"] = b"y = 1\n"
    upstream_diff(snapshot(before), snapshot(after))
    assert compared == [before[path] for path in sorted(before)[:3]]
