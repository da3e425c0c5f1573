"""What builds find out is kept between runs, and losing it costs only time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builder.cli import cache_file
from builder.cli.cache_file import recalled


def kept(cache: Path) -> list[Path]:
    return sorted(cache.glob("recalled-*"))


def test_what_was_found_out_is_there_the_next_time(tmp_path: Path) -> None:
    with recalled(tmp_path) as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
    with recalled(tmp_path) as known:
        assert known.folds == {"a": "found"}


def test_nothing_is_written_when_nothing_was_found_out(tmp_path: Path) -> None:
    with recalled(tmp_path):
        pass
    assert kept(tmp_path) == []


def test_a_build_that_fails_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"), recalled(tmp_path) as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
        raise ValueError("no")
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    "damage", [lambda d: b"", lambda d: d[:-1], lambda d: d[:32], lambda d: b"x" + d[1:]]
)
def test_what_is_damaged_is_not_read(tmp_path: Path, damage: object) -> None:
    with recalled(tmp_path) as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
    (path,) = kept(tmp_path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with recalled(tmp_path) as known:
        assert known.folds == {}


def test_another_version_of_the_builder_reads_nothing_and_clears_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recalled(tmp_path) as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
    monkeypatch.setattr(cache_file, "_version", lambda: "other")
    with recalled(tmp_path) as known:
        assert known.folds == {}
        known.folds["b"] = "found"  # type: ignore[assignment]
    assert [p.name for p in kept(tmp_path)] == ["recalled-other"]


def test_only_the_latest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cache_file.MAX_ENTRIES, "folds", 2)
    with recalled(tmp_path) as known:
        known.folds.update({"a": 1, "b": 2, "c": 3})  # type: ignore[dict-item]
    with recalled(tmp_path) as known:
        assert list(known.folds) == ["b", "c"]


def test_a_cache_that_cannot_be_written_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with recalled(tmp_path / "file") as known:
        known.folds["a"] = "found"  # type: ignore[assignment]
    assert os.listdir(tmp_path) == ["file"]
