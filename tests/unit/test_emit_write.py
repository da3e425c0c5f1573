"""The output folder: replaced whole or not at all, and never anything that is not ours."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from gate_worlds import snapshot

from builder.emit.marker import INDEX, MARKER, Index, Marker
from builder.emit.place import exchange
from builder.emit.provenance import SUMS as NAME
from builder.emit.provenance import sha256sums
from builder.emit.write import STAGES, Output, check, unchanged, write
from builder.errors import BuildError
from builder.tree import EXECUTABLE, FILE, GITLINK, SYMLINK, Entry

ROOT = Path(__file__).parents[2]


def output(name: str, extra: dict[str, bytes | tuple[str, bytes]] | None = None) -> Output:
    """Two outputs with different names differ in some files and share others."""
    tree = snapshot(
        {
            "same.py": b"same = 1\n",
            "deep/er/same.py": b"same = 2\n",
            "differs.py": f"name = {name!r}\n".encode(),
            f"only_{name}/file.py": b"x\n",
            "run.sh": (EXECUTABLE, b"#!/bin/sh\n"),
            "link": (SYMLINK, b"same.py"),
            **(extra or {}),
        }
    )
    files = {"ledger.jsonl": f"{name}\n".encode(), "build.json": b"{}\n"}
    return Output(tree, {**files, NAME: sha256sums(files)}, key=name)


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """path -> mode and bytes, of everything but the index (which holds inodes and times)."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == INDEX or (path.is_dir() and not path.is_symlink()):
            continue
        data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        found[name] = (stat.S_IMODE(path.lstat().st_mode) if not path.is_symlink() else 0, data)
    return found


def expected(name: str, tmp_path: Path) -> dict[str, tuple[int, bytes]]:
    folder = tmp_path / f"reference {name}"
    folder.mkdir()
    write(folder / "out", output(name))
    found = contents(folder / "out")
    shutil.rmtree(folder)
    return found


def refused(out: Path, code: str, build: Output | None = None, **options: object) -> BuildError:
    with pytest.raises(BuildError) as caught:
        write(out, build or output("new"), **options)  # type: ignore[arg-type]
    assert {p.code for p in caught.value.problems} == {code}
    return caught.value


def beside(out: Path) -> list[str]:
    return sorted(p.name for p in out.parent.iterdir() if p.name != out.name)


def no_swap(one: bytes, other: bytes) -> bool:
    """A file system that cannot exchange two folders."""
    return False


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def written(out: Path) -> Path:
    write(out, output("one"))
    return out


def test_everything_is_there_with_its_mode(out: Path) -> None:
    assert write(out, output("one"))
    found = contents(out)
    assert found["tree/same.py"] == (0o644, b"same = 1\n")
    assert found["tree/run.sh"] == (0o755, b"#!/bin/sh\n")
    assert found["tree/link"] == (0, b"same.py")
    assert found["ledger.jsonl"] == (0o644, b"one\n")
    assert MARKER in found and (out / INDEX).exists()
    assert beside(out) == []


@pytest.mark.parametrize("swap", [exchange, no_swap])
def test_a_second_output_replaces_the_first_whole(written: Path, tmp_path: Path, swap: object) -> None:
    assert write(written, output("two"), swap=swap)  # type: ignore[arg-type]
    assert contents(written) == expected("two", tmp_path)
    assert beside(written) == []


def test_an_unchanged_output_is_not_written(written: Path) -> None:
    before = {p: p.lstat() for p in written.rglob("*")}
    stages: list[str] = []
    assert unchanged(written, "one")
    assert not write(written, output("one"), checkpoint=stages.append)
    assert stages == []
    assert {p: p.lstat() for p in written.rglob("*")} == before


def test_another_key_is_a_change(out: Path) -> None:
    assert not unchanged(out, "one")
    write(out, output("one"))
    assert not unchanged(out, "two")


def test_files_that_stay_keep_their_inodes_and_are_not_shared(written: Path) -> None:
    same, differs = (written / "tree/same.py").stat().st_ino, (written / "tree/differs.py").stat().st_ino
    write(written, output("two"))
    assert (written / "tree/same.py").stat().st_ino == same
    assert (written / "tree/differs.py").stat().st_ino != differs
    assert all(p.lstat().st_nlink == 1 for p in written.rglob("*") if not p.is_dir())
    assert unchanged(written, "two")


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.chmod(0o600)], ids=["file", "permissions"])
def test_what_a_file_lost_is_written_again(
    written: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(written / "tree/same.py")
    assert not unchanged(written, "one")
    assert write(written, output("one"))
    assert contents(written) == expected("one", tmp_path)


def test_a_touched_copy_of_the_folder_is_still_ours(tmp_path: Path) -> None:
    out, copy = tmp_path / "out", tmp_path / "copy"
    write(out, output("one"))
    shutil.copytree(out, copy, symlinks=True)
    for path in copy.rglob("*.py"):
        os.utime(path, (1, 1))
    assert unchanged(copy, "one")
    (copy / INDEX).write_bytes(b"[]")
    assert unchanged(copy, "one")
    assert write(copy, output("two"))
    assert contents(copy) == expected("two", tmp_path)


def test_caches_of_python_are_no_foreign_files(written: Path, tmp_path: Path) -> None:
    (written / "tree/__pycache__").mkdir()
    (written / "tree/__pycache__/same.cpython-311.pyc").write_bytes(b"x")
    assert unchanged(written, "one")
    assert write(written, output("two"))
    assert contents(written) == expected("two", tmp_path)


# --- what is not ours


def test_every_foreign_and_edited_file_is_listed(written: Path) -> None:
    (written / "tree/mine.py").write_text("mine")
    (written / "notes").mkdir()
    (written / "notes/todo").write_text("todo")
    (written / "tree/differs.py").write_text("edited by hand")
    (written / "tree/link").unlink()
    (written / "tree/link").symlink_to("elsewhere")
    before = contents(written)
    messages = [p.message for p in refused(written, "E001").problems]
    assert [m.split("'")[1] for m in messages] == [
        "notes/todo",
        "tree/differs.py",
        "tree/link",
        "tree/mine.py",
    ]
    assert ["was edited after" in m for m in messages] == [False, True, True, False]
    assert contents(written) == before


def test_a_long_list_of_foreign_files_is_cut_and_says_so(written: Path) -> None:
    for number in range(50):
        (written / f"f{number:02}").write_text("x")
    problems = refused(written, "E001").problems
    assert len(problems) == 21
    assert any("30 more" in p.message for p in problems)


def test_a_file_replaced_by_a_folder_or_a_fifo_is_seen(written: Path) -> None:
    (written / "tree/same.py").unlink()
    os.mkfifo(written / "tree/same.py")
    assert "tree/same.py" in refused(written, "E001").problems[0].message


BROKEN = [b"", b"{}", b"[1]", b'{"format": 99}', b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("text", [*BROKEN, b'{"format":1,"key":"k","files":{"a":1}}'])
def test_a_marker_that_is_not_understood_protects_the_folder(written: Path, text: bytes) -> None:
    (written / MARKER).write_bytes(text)
    assert not unchanged(written, "one")
    assert MARKER in refused(written, "E001").problems[0].message
    assert (written / "tree/same.py").exists()


def test_the_marker_is_the_same_wherever_it_is_written(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "out", output("one"))
    assert (tmp_path / "a/out" / MARKER).read_bytes() == (tmp_path / "b/out" / MARKER).read_bytes()


def test_marker_and_index_read_what_they_write() -> None:
    marker = Marker("k", {"b": Entry(FILE, "1" * 40), "\udcff": Entry(SYMLINK, "2" * 40)})
    assert Marker.from_bytes(marker.to_bytes()) == marker
    index = Index({"a": (1, 2, 3, 4)}, "asked")
    assert Index.from_bytes(index.to_bytes()) == index
    assert Index.from_bytes(b'{"asked": "x", "stats": {"a": [1]}}') == Index()
    assert Index.from_bytes(b'{"a": [1, 2, 3, 4]}') == Index()


def test_an_output_answers_what_it_was_made_for_and_nothing_else(out: Path, tmp_path: Path) -> None:
    write(out, output("one"), asked="this")
    assert unchanged(out, asked="this")
    assert not unchanged(out, asked="that")
    assert not unchanged(tmp_path / "none", asked="this")
    next(p for p in (out / "tree").rglob("*") if p.is_file()).write_bytes(b"by hand")
    assert not unchanged(out, asked="this")


def test_an_output_made_for_what_may_move_answers_nothing(written: Path) -> None:
    assert not unchanged(written, asked="this")


# --- places


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert write(tmp_path / "out", output("one"))


def test_a_symlink_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    out = tmp_path / "out"
    out.symlink_to("real")
    for name in ("one", "two"):
        write(out, output(name))
        assert out.is_symlink()
        assert contents(tmp_path / "real") == expected(name, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "real"]


def test_a_relative_place_is_one_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("out"), output("one"))
    assert (tmp_path / "out/tree/same.py").exists()


def test_the_command_that_makes_a_missing_parent_works_for_any_name(tmp_path: Path) -> None:
    out = tmp_path / "it's a; b/out"
    hint = refused(out, "E002").problems[0].hint
    assert hint is not None
    subprocess.run(hint, shell=True, check=True, cwd=tmp_path)
    assert out.parent.is_dir()


@pytest.mark.parametrize(
    "path", ["../escape", "a/../b", "a//b", "./a", ".git/config", "x/.GIT/hooks/pre-commit", "a\0b"]
)
def test_a_path_that_is_not_plain_is_refused_and_nothing_is_left(
    written: Path, tmp_path: Path, path: str
) -> None:
    refused(written, "E002", output("two", {path: b"x"}))
    assert contents(written) == expected("one", tmp_path)
    assert beside(written) == []
    assert not (tmp_path / "escape").exists()


def test_names_that_are_not_utf_8_are_written_as_they_are(out: Path) -> None:
    write(out, output("one", {"\udcff\udc80.py": b"x\n", "ü": b"y\n"}))
    assert b"\xff\x80.py" in os.listdir(os.fsencode(out / "tree"))
    assert unchanged(out, "one")


def test_a_gitlink_is_an_empty_folder(tmp_path: Path) -> None:
    tree = snapshot({"module": (GITLINK, b"1" * 40), "a": b"x"})
    for key in ("one", "two"):
        write(tmp_path / "out", Output(tree, {}, key))
        assert list((tmp_path / "out/tree/module").iterdir()) == []


def test_a_name_of_ours_is_not_given_to_another_file(tmp_path: Path) -> None:
    for name in (MARKER, INDEX, "tree", "tree/x"):
        with pytest.raises(ValueError, match="not a name"):
            write(tmp_path / "out", Output(snapshot({}), {name: b""}, "k"))
    assert beside(tmp_path / "out") == []


# --- what the system may do


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT, errno.EMFILE])
@pytest.mark.parametrize("at", [0, 3, 11])
def test_a_write_that_fails_leaves_the_old_output(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, at: int
) -> None:
    calls, real = iter(range(1000)), os.write

    def failing(handle: int, data: bytes) -> int:
        if next(calls) >= at:
            raise OSError(number, os.strerror(number))
        return real(handle, data)

    want = expected("one", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("builder.emit.write.os.write", failing)
        many = {f"n{n}.py": b"%d\n" % n for n in range(20)}
        assert os.strerror(number) in str(refused(written, "E002", output("two", many)))  # type: ignore[arg-type]
    assert contents(written) == want
    assert beside(written) == []


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    want = expected("one", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("builder.emit.write.os.write", lambda handle, data: real(handle, bytes(data[:3])))
        write(tmp_path / "out", output("one"))
    assert contents(tmp_path / "out") == want


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EBUSY])
def test_a_rename_that_fails_leaves_the_old_output(written: Path, tmp_path: Path, number: int) -> None:
    def failing(one: bytes, other: bytes) -> bool:
        raise OSError(number, os.strerror(number))

    error = refused(written, "E002", output("two"), swap=failing)
    assert "mount point" in str(error.problems[0].hint)
    assert contents(written) == expected("one", tmp_path)
    assert beside(written) == []


def test_a_second_rename_that_fails_puts_the_old_output_back(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, real = iter(range(100)), os.rename

    def failing(one: bytes, other: bytes) -> None:
        if next(calls) == 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(one, other)

    with monkeypatch.context() as patch:
        patch.setattr("builder.emit.write.os.rename", failing)
        refused(written, "E002", output("two"), swap=no_swap)
    assert contents(written) == expected("one", tmp_path)
    assert beside(written) == []


def test_without_hard_links_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    write(tmp_path / "out", output("one"))
    with monkeypatch.context() as patch:
        patch.setattr("builder.emit.write.os.link", failing)
        write(tmp_path / "out", output("two"))
    assert contents(tmp_path / "out") == expected("two", tmp_path)
    assert unchanged(tmp_path / "out", "two")


def test_a_read_only_parent_is_an_error_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(path: bytes, mode: int = 0o777) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fsdecode(path))

    with monkeypatch.context() as patch:
        patch.setattr("builder.emit.place.os.mkdir", refusing)  # root may write anywhere
        with pytest.raises(BuildError, match=r"E002 .*Read-only file system"):
            check(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_check_waits_for_nobody_and_leaves_nothing(tmp_path: Path) -> None:
    lock = tmp_path / ".out.sglang-deepseek.lock"
    with FileLock(lock):
        check(tmp_path / "out")
    lock.unlink()
    check(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be_made_is_not_told_as_another_builder() -> None:
    for action in (check, lambda out: write(out, output("one"), wait_s=0)):
        with pytest.raises(BuildError, match=r"E002 .*No such file or directory"):
            action(Path("/proc/out"))


def test_check_says_what_write_would_say(tmp_path: Path) -> None:
    check(tmp_path / "out")
    write(tmp_path / "out", output("one"))
    check(tmp_path / "out")
    (tmp_path / "out/foreign").write_text("x")
    with pytest.raises(BuildError, match="E001"):
        check(tmp_path / "out")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_the_umask_has_no_say(tmp_path: Path, umask: int) -> None:
    want = expected("one", tmp_path)
    old = os.umask(umask)
    try:
        write(tmp_path / "out", output("one"))
    finally:
        os.umask(old)
    assert contents(tmp_path / "out") == want
    folders = [p for p in [tmp_path / "out", *(tmp_path / "out").rglob("*")] if p.is_dir()]
    assert {stat.S_IMODE(p.stat().st_mode) for p in folders} == {0o755}


# --- other builders, and death


def test_another_builder_is_waited_for_and_then_named(out: Path, tmp_path: Path) -> None:
    with FileLock(str(tmp_path / ".out.sglang-deepseek.lock")):
        start = time.monotonic()
        error = refused(out, "E004", wait_s=0.3)
        assert time.monotonic() - start >= 0.3
    assert "0.3 s" in str(error)
    assert write(out, output("one"))
    assert beside(out) == []


SCRIPT = """
import os, signal, sys
sys.path[:0] = [{tests!r}, {root!r}]
from pathlib import Path
from builder.emit.write import write
from builder.emit.place import exchange
from test_emit_write import no_swap, output
stage, signal_number, can_swap, build, out = sys.argv[1:]
def die(name):
    if name == stage:
        os.kill(os.getpid(), int(signal_number))
write(Path(out), output(build), checkpoint=die, swap=exchange if can_swap == "1" else no_swap)
"""


def run(out: Path, stage: str, number: int, can_swap: bool = True, build: str = "two") -> int:
    script = SCRIPT.format(tests=str(Path(__file__).parent), root=str(ROOT))
    arguments = [stage, str(number), str(int(can_swap)), build, str(out)]
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True).returncode


@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("first", ["one", None])
@pytest.mark.parametrize("stage", STAGES)
def test_a_kill_leaves_the_old_output_or_the_new_one(
    out: Path, tmp_path: Path, stage: str, first: str | None, can_swap: bool
) -> None:
    if first:
        write(out, output(first))
    reached = stage != "between" or (bool(first) and not can_swap)
    assert run(out, stage, signal.SIGKILL, can_swap) == (-signal.SIGKILL if reached else 0)
    old = expected("one", tmp_path) if first else None
    new = expected("two", tmp_path)
    found = contents(out) if out.exists() else None
    if stage == "between" and reached:
        assert found is None  # two renames: the one moment without an output, which the next run ends
    else:
        assert found == (new if stage in ("swapped", "cleaned", "between") else old)
    # the next run needs no help, and nothing is left beside
    write(out, output("two"))
    assert contents(out) == new
    assert beside(out) == []


def test_after_a_kill_between_two_renames_a_run_that_fails_brings_the_old_output_back(
    written: Path, tmp_path: Path
) -> None:
    assert run(written, "between", signal.SIGKILL, can_swap=False) == -signal.SIGKILL
    check(written)
    refused(written, "E002", output("three", {"../x": b""}))
    assert contents(written) == expected("one", tmp_path)
    assert beside(written) == []


def test_an_interrupt_cleans_up_at_once(written: Path, tmp_path: Path) -> None:
    assert run(written, "half", signal.SIGINT) not in (0, -signal.SIGKILL)
    assert contents(written) == expected("one", tmp_path)
    assert beside(written) == []


def test_an_unchanged_build_cleans_up_after_a_killed_one(written: Path) -> None:
    run(written, "half", signal.SIGKILL)
    assert beside(written) != []
    assert not unchanged(written, "one")
    assert not write(written, output("one"))
    assert beside(written) == []
    assert unchanged(written, "one")


def test_many_builders_at_once_leave_one_whole_output(out: Path, tmp_path: Path) -> None:
    script = SCRIPT.format(tests=str(Path(__file__).parent), root=str(ROOT))
    builds = ["one", "two"] * 4
    started = [
        subprocess.Popen([sys.executable, "-c", script, "never", "9", "1", build, str(out)])
        for build in builds
    ]
    assert [process.wait() for process in started] == [0] * len(builds)
    assert contents(out) in (expected("one", tmp_path), expected("two", tmp_path))
    assert beside(out) == []


def test_sha256sum_accepts_the_sums(tmp_path: Path) -> None:
    write(tmp_path / "out", output("one"))
    done = subprocess.run(["sha256sum", "-c", NAME], cwd=tmp_path / "out", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "build.json: OK\nledger.jsonl: OK\n")
    assert sha256sums({"a": b""}) == f"{hashlib.sha256(b'').hexdigest()}  a\n".encode()
