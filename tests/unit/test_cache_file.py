"""What builds find out is kept between runs, and losing it costs only time."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.cli import cache_file
from builder.cli.cache_file import NAME, CacheFile, recalled
from builder.errors import fail

BUILDER = b"this builder"


def keep(path: Path, builder: bytes = BUILDER, **entries: bytes) -> None:
    file = CacheFile(path, builder)
    for key, data in entries.items():
        file.put("kind", key.encode(), data)
    file.save()


def read(path: Path, *keys: str, builder: bytes = BUILDER, kind: str = "kind") -> list[bytes | None]:
    file = CacheFile(path, builder)
    return [file.get(kind, key.encode()) for key in keys]


def test_what_was_found_out_is_there_the_next_time(tmp_path: Path) -> None:
    with recalled(tmp_path) as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
    with recalled(tmp_path) as known:
        assert known.folds["a"] == "found"  # type: ignore[comparison-overlap]
        assert "a" not in known.outcomes


def test_nothing_is_written_when_nothing_was_found_out(tmp_path: Path) -> None:
    with recalled(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_build_with_problems_keeps_what_it_found_out_and_a_broken_builder_does_not(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"), recalled(tmp_path) as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
        raise ValueError("no")
    assert os.listdir(tmp_path) == []
    with pytest.raises(Exception, match="R001"), recalled(tmp_path) as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
        raise fail("R001", "A pattern matches nothing.")
    with recalled(tmp_path) as known:
        assert "a" in known.folds


def test_results_belong_to_the_builder_and_to_the_kind_that_made_them(tmp_path: Path) -> None:
    path = tmp_path / NAME
    keep(path, a=b"1")
    keep(path, b"another builder", a=b"2")
    assert read(path, "a") == [b"1"]
    assert read(path, "a", builder=b"another builder") == [b"2"]
    assert read(path, "a", builder=b"a third") == read(path, "a", kind="another") == [None]


@settings(max_examples=max(30, settings().max_examples // 10))
@given(st.integers(0, 2**32), st.sampled_from(["cut", "flip", "zero", "empty", "other"]))
def test_a_damaged_file_gives_no_false_result_and_the_next_save_heals_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, damage: str
) -> None:
    path = tmp_path_factory.mktemp("cache") / NAME
    entries = {f"key{number}": bytes([number]) * 3000 for number in range(9)}
    keep(path, **entries)
    data, chance = bytearray(path.read_bytes()), random.Random(seed)
    at = chance.randrange(len(data))
    if damage == "cut":
        del data[at:]
    elif damage == "flip":
        data[at] ^= 1 << chance.randrange(8)
    elif damage == "zero":
        data[at : at + 512] = bytes(len(data[at : at + 512]))
    else:
        data[:] = b"" if damage == "empty" else b"no database at all" * 99
    path.write_bytes(data)
    for found, real in zip(read(path, *entries), entries.values(), strict=True):
        assert found in (None, real)
    keep(path, new=b"1")  # no error, whether it can be written or not


def test_a_file_that_is_no_database_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"no database at all" * 99)
    assert read(path, "a") == [None]
    keep(path, a=b"1")
    assert read(path, "a") == [b"1"]


def test_what_was_not_used_for_longest_leaves_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME
    monkeypatch.setattr(cache_file, "MAX_BYTES", 25)
    keep(path, a=b"x" * 10)
    keep(path, b=b"x" * 10)
    file = CacheFile(path, BUILDER)
    assert file.get("kind", b"a")
    file.put("kind", b"c", b"x" * 10)
    file.save()
    assert [one is not None for one in read(path, "a", "b", "c")] == [True, False, True]


def test_what_whole_builds_came_to_is_never_pushed_out_by_their_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / NAME
    monkeypatch.setattr(cache_file, "MAX_BYTES", 25)
    for kind, key in ((cache_file.LASTING, "build"), *(("part", f"part {number}") for number in range(9))):
        file = CacheFile(path, BUILDER)
        file.put(kind, key.encode(), b"x" * 10)
        file.save()
    assert read(path, "build", kind=cache_file.LASTING) == [b"x" * 10]
    assert read(path, "part 0", "part 8", kind="part") == [None, b"x" * 10]


@pytest.mark.parametrize("obstacle", ["file as folder", "folder as file", "read-only"])
def test_a_cache_that_cannot_be_written_harms_nothing(tmp_path: Path, obstacle: str) -> None:
    path = tmp_path / NAME
    if obstacle == "file as folder":
        (tmp_path / "file").write_text("")
        path = tmp_path / "file" / NAME
    elif obstacle == "folder as file":
        path.mkdir()
    else:
        keep(path, old=b"0")
        path.chmod(0o400)
        tmp_path.chmod(0o500)
    try:
        keep(path, a=b"1")
        if obstacle == "read-only":
            assert read(path, "old") == [b"0"]
        elif obstacle == "folder as file":
            assert read(path, "a") == [None]
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME
    keep(path, a=b"1")

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(cache_file, "_shrink", full)
        keep(path, b=b"2")
    assert read(path, "a", "b") == [b"1", None]


_SAVES = """
import sys
from pathlib import Path
from builder.cli.cache_file import CacheFile
for number in range(20):
    file = CacheFile(Path(sys.argv[1]), b"this builder")
    assert number == 0 or file.get("kind", f"{sys.argv[2]} {number - 1}".encode()) == b"x" * 5000
    file.put("kind", f"{sys.argv[2]} {number}".encode(), b"x" * 5000)
    file.save()
"""


def test_builders_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / NAME
    command = [sys.executable, "-c", _SAVES, str(path)]
    running = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [one.wait() for one in running] == [0, 0, 0]
    keys = [f"{name} {number}" for name in ("a", "b", "c") for number in range(20)]
    assert None not in read(path, *keys)


def test_a_builder_that_is_killed_while_it_saves_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / NAME
    keep(path, **{f"a{number}": b"x" * 5000 for number in range(50)})
    child = os.fork()
    if child == 0:
        real: Callable[..., None] = cache_file._shrink
        monkeypatch.setattr(cache_file, "_shrink", lambda writer: (real(writer), os._exit(9)))
        keep(path, **{f"a{number}": b"y" * 5000 for number in range(50)})
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert read(path, "a0", "a49") == [b"x" * 5000, b"x" * 5000]
    keep(path, b=b"1")
    assert read(path, "a0", "b") == [b"x" * 5000, b"1"]
