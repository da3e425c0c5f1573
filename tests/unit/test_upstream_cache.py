"""The cache folder: whole files or none, one writer at a time, and no lock that outlives its owner."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builder.errors import BuildError
from builder.upstream import cache

HOLD = (
    "import sys, time; from pathlib import Path; from builder.upstream.cache import scratch, writing\n"
    "with writing(Path(sys.argv[1])) as folder, scratch(folder) as work:\n"
    "    (work / 'half').write_text('x'); print('held', flush=True); time.sleep(60)\n"
)


def keep(folder: Path, name: str, data: bytes) -> Path:
    with cache.scratch(folder) as temporary:
        (temporary / "part").write_bytes(data)
        return cache.keep(temporary / "part", folder / name)


def test_a_file_is_kept_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    with cache.writing(tmp_path / "c") as folder:
        path = keep(folder, "a/b.bin", b"data")
        assert keep(folder, "a/b.bin", b"data again") == path
    assert path.read_bytes() == b"data again"
    assert [p for p in (tmp_path / "c").rglob("*") if p.is_file() and p.name != "lock"] == [path]


def test_the_lock_of_a_killed_builder_is_free_and_its_leftovers_go(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "held\n"
        assert list(tmp_path.glob("tmp/*/half"))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with cache.writing(tmp_path) as folder:
        assert not list(folder.glob("tmp/*"))


def test_a_second_builder_waits_and_then_says_why_it_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LOCK_TIMEOUT", 0.2)
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BuildError) as error, cache.writing(tmp_path):
            pass
        assert list(tmp_path.glob("tmp/*/half"))  # what the other one is writing is left alone
        process.kill()
        process.wait()
    assert error.value.problems[0].code == "E002"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_full_or_failing_disk_is_a_coded_error_and_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with cache.writing(tmp_path) as folder:
        keep(folder, "f", b"old")

    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("builder.upstream.cache.os.replace", full)
    with pytest.raises(BuildError) as error, cache.writing(tmp_path) as folder:
        keep(folder, "f", b"new")
    assert error.value.problems[0].code == "E002"
    assert os.strerror(number) in error.value.problems[0].message
    monkeypatch.undo()
    assert (tmp_path / "f").read_bytes() == b"old"
    with cache.writing(tmp_path):  # the lock is free
        assert not list(tmp_path.glob("tmp/*"))


def test_the_default_cache_is_the_users_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BUILDER_CACHE", "/some/where")
    assert cache.default_cache() == Path("/some/where")
    monkeypatch.delenv("BUILDER_CACHE")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.default_cache().is_absolute()
    assert cache.default_cache().name == "sglang-deepseek"
