"""Exact patches apply as git applies them, anything else is refused whole."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from builder.errors import Mark
from builder.manifest.statements import Patch
from builder.overlay.patch import apply
from builder.overlay.record import Placed
from builder.tree import EXECUTABLE, FILE, SYMLINK, Entry, blob_id

PATCH = Patch("overlays/b/x.patch", "because", "b", mark=Mark("manifest.yaml", 4, 5))
OLD = b"".join(b"line %d\n" % n for n in range(1, 21))
LINE = st.sampled_from(
    [b"a", b"b", b"c", b"", b"-- d", b"@@ e", b"\t f\r", "g\u00e4".encode(), b"\xff\xfe", b"\\ x"]
)
LINES = st.lists(LINE, max_size=12)


def run(source: bytes, files: dict[str, bytes] | None = None, modes: dict[str, str] | None = None) -> Placed:
    files = {"f.txt": OLD} if files is None else files
    entries = {p: Entry((modes or {}).get(p, FILE), blob_id(d)) for p, d in files.items()}
    return apply(PATCH, source, files, entries)


def refused(source: bytes, files: dict[str, bytes] | None = None, modes: dict[str, str] | None = None) -> str:
    result = run(source, files, modes)
    assert result.files == {} and result.records == ()
    assert {p.code for p in result.problems} == {"R007"}
    [problem] = result.problems
    assert problem.mark is not None and problem.mark.file == PATCH.overlay and problem.mark.line > 0
    return problem.message


def text(lines: list[bytes], closed: bool) -> bytes:
    joined = b"".join(line + b"\n" for line in lines)
    return joined if closed else joined[:-1]


def unified(old: bytes, new: bytes, context: int) -> bytes:
    """What `diff -u` writes, from difflib, with the marker for a missing newline."""
    left, right = old.split(b"\n"), new.split(b"\n")
    lefts = [line + b"\n" for line in left[:-1]] + ([left[-1]] if left[-1] else [])
    rights = [line + b"\n" for line in right[:-1]] + ([right[-1]] if right[-1] else [])
    names = (b"a/f.txt", b"b/f.txt")
    out = []
    for line in difflib.diff_bytes(difflib.unified_diff, lefts, rights, *names, b"", b"", context, b"\n"):
        out.append(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n")
    return b"".join(out)


@given(LINES, LINES, st.booleans(), st.booleans(), st.integers(0, 3))
def test_what_difflib_writes_gives_the_target(
    old: list[bytes], new: list[bytes], old_closed: bool, new_closed: bool, context: int
) -> None:
    before, after = text(old, old_closed), text(new, new_closed)
    assume(before != after)
    source = unified(before, after, context)
    result = run(source, {"f.txt": before})
    assert [p.message for p in result.problems] == []
    assert result.files == {"f.txt": after}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES, st.booleans(), st.booleans(), st.integers(0, 3))
def test_what_git_writes_gives_the_target(
    tmp_path: Path, old: list[bytes], new: list[bytes], old_closed: bool, new_closed: bool, context: int
) -> None:
    before, after = text(old, old_closed), text(new, new_closed)
    assume(before != after)
    for side, data in (("a", before), ("b", after)):
        (tmp_path / side).mkdir(exist_ok=True)
        (tmp_path / side / "f.txt").write_bytes(data)
    command = ["git", "diff", "--no-index", "--no-prefix", "--text", f"-U{context}", "a/f.txt", "b/f.txt"]
    source = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout
    result = run(source, {"f.txt": before})
    assert [p.message for p in result.problems] == []
    assert result.files == {"f.txt": after}


@given(LINES, LINES, st.data())
def test_any_change_of_a_line_that_a_patch_reads_makes_it_fail(
    old: list[bytes], new: list[bytes], data: st.DataObject
) -> None:
    before, after = text(old, True), text(new, True)
    assume(before != after)
    source = unified(before, after, 3)
    read, at = [], 0
    for line in source.split(b"\n")[2:]:
        if line.startswith(b"@@ -") and line.endswith(b" @@"):
            at = int(line[4:].split(b" ")[0].split(b",")[0]) - 1
        elif line[:1] in (b" ", b"-"):
            read.append(at)
            at += 1
    assume(read)
    lines = (
        before.splitlines(keepends=True)
        if b"\r" not in before
        else [x + b"\n" for x in before.split(b"\n")[:-1]]
    )
    index = data.draw(st.sampled_from(read))
    lines[index] = b"changed " + lines[index]
    result = run(source, {"f.txt": b"".join(lines)})
    assert result.files == {} and result.problems[0].code == "R007"


def hunk(body: str, header: str = "@@ -3,3 +3,3 @@", path: str = "f.txt") -> bytes:
    return f"--- a/{path}\n+++ b/{path}\n{header}\n{body}".encode()


GOOD = " line 3\n-line 4\n+LINE 4\n line 5\n"


def test_a_good_patch_applies_and_is_recorded() -> None:
    result = run(hunk(GOOD))
    assert result.files == {"f.txt": OLD.replace(b"line 4", b"LINE 4")}
    assert result.records[0].before != result.records[0].after and result.records[0].line == 3


def test_an_offset_is_refused_and_the_true_place_is_named() -> None:
    result = run(hunk(GOOD, "@@ -4,3 +4,3 @@"))
    [problem] = result.problems
    assert "f.txt: hunk 1 is not where its header says" in problem.message
    assert problem.hint == "The text of the hunk is at line 3; offsets are not accepted."
    assert problem.upstream == Mark("f.txt", 3) and problem.mark == Mark(PATCH.overlay, 1)


def test_the_line_that_differs_is_shown() -> None:
    [problem] = run(hunk(GOOD), {"f.txt": OLD.replace(b"line 4\n", b"some line 4x\n")}).problems
    assert "f.txt:4 is `some line 4x`, and the patch expects `line 4`" in problem.message
    assert problem.upstream == Mark("f.txt", 4) and problem.mark == Mark(PATCH.overlay, 3)
    assert "     4  some line 4x" in (problem.excerpt or "")


def test_a_hunk_needs_no_context() -> None:
    assert run(hunk("-line 3\n", "@@ -3 +2,0 @@")).files == {"f.txt": OLD.replace(b"line 3\n", b"")}
    assert run(hunk("-line 3\n+LINE 3\n", "@@ -3 +3 @@")).files == {
        "f.txt": OLD.replace(b"line 3", b"LINE 3")
    }
    refused(hunk("-line 3\n", "@@ -4 +3,0 @@"))


def test_duplicated_context_does_not_move_a_hunk() -> None:
    same = b"x\n" * 10
    source = hunk(" x\n-x\n+y\n x\n", "@@ -5,3 +5,3 @@")
    assert run(source, {"f.txt": same}).files == {"f.txt": b"x\n" * 5 + b"y\n" + b"x\n" * 4}


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (" line 3\n-line 4\n+LINE 4\n", "@@ -3,3 +3,3 @@"),
        (GOOD + "+line 6\n", "@@ -3,3 +3,3 @@"),
        (GOOD + "-line 6\n", "@@ -3,3 +3,3 @@"),
        (GOOD, "@@ -3,4 +3,4 @@"),
        (GOOD, "@@ -3,3 +3,2 @@"),
        (GOOD, "@@ -3,3 +4,3 @@"),
        (GOOD, "@@ -3 +3 @@"),
        (GOOD, "@@ 3,3 3,3 @@"),
        (" line 3\n", "@@ -3 +3 @@"),
        (GOOD[:-1], "@@ -3,3 +3,3 @@"),
        ("", "@@ -3,3 +3,3 @@"),
        (" line 3\n-line 4\n+LINE 4\nline 5\n", "@@ -3,3 +3,3 @@"),
        (" line 3\n-line 4\n+LINE 4\n\n", "@@ -3,3 +3,3 @@"),
    ],
)
def test_counts_that_do_not_agree_are_refused(body: str, header: str) -> None:
    refused(hunk(body, header))


def test_applied_already_and_reversed_patches_are_refused() -> None:
    done = OLD.replace(b"line 4", b"LINE 4")
    assert "LINE 4" in refused(hunk(GOOD), {"f.txt": done})


@pytest.mark.parametrize(
    "path",
    ["../f.txt", "/etc/f", "a/../../f", "C:/f", "a//f", "./f", ".git/config", "a/.GIT/x", "git~1/x", "a\\b"],
)
def test_paths_that_leave_the_tree_are_refused(path: str) -> None:
    refused(hunk(GOOD, path=path), {path: OLD})


def test_paths_through_a_symlink_are_refused() -> None:
    message = refused(
        hunk(GOOD, path="link/f.txt"), {"link": b"elsewhere", "link/f.txt": OLD}, {"link": SYMLINK}
    )
    assert "which is a symlink" in message
    refused(hunk(GOOD), {"f.txt": OLD}, {"f.txt": SYMLINK})


GIT = "diff --git a/{0} b/{1}\n"


@pytest.mark.parametrize(
    ("source", "word"),
    [
        (
            GIT.format("f.txt", "g.txt") + "similarity index 100%\nrename from f.txt\nrename to g.txt\n",
            "rename",
        ),
        (GIT.format("f.txt", "f.txt") + "similarity index 90%\n", "renames and copies"),
        (GIT.format("f.txt", "f.txt") + "copy from f.txt\ncopy to g.txt\n", "renames and copies"),
        (GIT.format("f.txt", "f.txt") + "index 1..2 100644\nGIT binary patch\nliteral 3\n", "binary"),
        (GIT.format("f.txt", "f.txt") + "Binary files a/f.txt and b/f.txt differ\n", "no unified diff"),
        (
            GIT.format("l", "l") + "new file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n",
            "plain files",
        ),
        ("--- a/f.txt\n+++ b/g.txt\n@@ -3 +3 @@\n-line 3\n+x\n", "No such file"),
        ("3,4c\nx\n.\n", "no unified diff"),
        ("3d2\n< line 3\n", "no unified diff"),
        ("@@ -3 +3 @@\n-line 3\n+x\n", "without header"),
        ("--- /dev/null\n+++ /dev/null\n@@ -3 +3 @@\n-line 3\n+x\n", "dev/null"),
        ("--- a/f.txt\n+++ b/f.txt\n", "no unified diff"),
        (GIT.format("f.txt", "f.txt") + "index 1..2 100644\n", "only garbage"),
        ("", "no unified diff"),
        ("just prose\n", "no unified diff"),
    ],
)
def test_what_is_not_a_plain_unified_diff_is_refused(source: str, word: str) -> None:
    assert word in refused(source.encode())


def test_prose_around_the_files_may_say_anything() -> None:
    source = b"rename from a\nBinary files differ\n" + hunk(GOOD) + b"-- \n2.39.5\ncopy to b\n"
    assert run(source).files == run(hunk(GOOD)).files != {}


def test_one_file_may_be_patched_twice() -> None:
    again = GOOD.replace("LINE", "Line").replace("-line", "-LINE")
    assert run(hunk(GOOD) + hunk(again)).files == {"f.txt": OLD.replace(b"line 4", b"Line 4")}
    refused(hunk(GOOD) + hunk(GOOD))


def test_files_are_made_and_deleted() -> None:
    head = b"diff --git a/n.sh b/n.sh\nnew file mode 100755\nindex 0..1\n"
    made = head + b"--- /dev/null\n+++ b/n.sh\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    result = run(made)
    assert (result.files, result.modes) == ({"n.sh": b"a\nb\n"}, {"n.sh": EXECUTABLE})
    assert "exists" in refused(made, {"n.sh": b""})
    gone = b"--- a/f.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert run(gone, {"f.txt": b"a\nb\n"}).files == {"f.txt": None}
    assert "leaves file contents" in refused(gone, {"f.txt": b"a\nb\nc\n"})
    assert "No such file" in refused(hunk(GOOD), {"g.txt": OLD})
    empty = b"diff --git a/e b/e\nnew file mode 100644\nindex 0..0\n"
    assert run(empty).files == {"e": b""}


def test_modes_change_and_are_checked() -> None:
    source = b"diff --git a/f.txt b/f.txt\nold mode 100644\nnew mode 100755\n"
    assert run(source).modes == {"f.txt": EXECUTABLE}
    assert "has type 100755, expected 100644" in refused(source, modes={"f.txt": EXECUTABLE})


def test_line_ends_are_bytes() -> None:
    crlf = OLD.replace(b"\n", b"\r\n")
    [problem] = run(hunk(GOOD), {"f.txt": crlf}).problems
    assert problem.hint == "Only the end of the line differs."
    body = GOOD.replace("\n", "\r\n")
    assert run(hunk(body), {"f.txt": crlf}).files == {"f.txt": crlf.replace(b"line 4", b"LINE 4")}


def test_a_line_without_an_end_may_only_be_the_last() -> None:
    source = hunk(" line 3\n-line 4\n+LINE 4\n\\ No newline at end of file\n line 5\n")
    assert "lines follow" in refused(source)


def test_all_files_of_a_patch_apply_or_none() -> None:
    source = hunk(GOOD) + hunk(GOOD, path="g.txt") + hunk(GOOD, path="h.txt")
    result = run(source, {"f.txt": OLD, "g.txt": b"", "h.txt": b""})
    assert result.files == {} and len(result.problems) == 2
