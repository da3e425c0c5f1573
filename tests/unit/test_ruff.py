"""Finding and running ruff: what it cannot do is told, never passed over."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from builder import ruff
from builder.errors import BuildError
from builder.specialize.final_texts import format_files


def stand_in(folder: Path, script: str) -> str:
    """A program that is run in ruff's place."""
    program = folder / "ruff"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_a_file_that_is_no_python_is_left_as_it_is_beside_others() -> None:
    files = {"a.py": b"x  = 1\n", "b.py": b"x = = 1\n", "c.py": b"x  = '\xff'\n"}
    assert format_files(files) == {**files, "a.py": b"x = 1\n"}


def test_nothing_to_format_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruff, "find", lambda: "/nowhere/ruff")
    assert format_files({}) == {}


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", "`ruff format` failed with status 1: it gave no reason"),
        ("exit 2", "`ruff format` failed with status 2: it gave no reason"),
        ("echo 'error: no disk' >&2; exit 2", "failed with status 2: error: no disk"),
        ("echo 'error: Failed to parse f0.py:1:1: x' >&2; echo 'error: no disk' >&2; exit 2", "no disk"),
        ("kill -9 $$", "`ruff format` failed with status -9"),
    ],
)
def test_a_formatter_that_fails_stops_the_build(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(tmp_path, script)
    monkeypatch.setattr(ruff, "find", lambda: program)
    with pytest.raises(BuildError) as caught:
        format_files({"a.py": b"x  = 1\n"})
    assert caught.value.problems[0].code == "E003"
    assert message in caught.value.problems[0].message


def test_settings_of_the_environment_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUFF_OUTPUT_FORMAT", "nonsense")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert format_files({"a.py": b"x  = 1\n", "b.py": b"x = = 1\n"})["a.py"] == b"x = 1\n"


def test_only_the_ruff_of_this_python_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert Path(ruff.find()).parent != tmp_path
    assert ruff.version().startswith("ruff ")


def test_no_ruff_beside_this_python_is_an_error_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setitem(sys.modules, "ruff", None)
    importlib.invalidate_caches()
    with pytest.raises(BuildError, match="ruff is not installed beside this Python") as caught:
        ruff.find()
    assert caught.value.problems[0].code == "E003"


def _no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)


def test_a_ruff_without_metadata_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_metadata(monkeypatch)
    with pytest.raises(BuildError, match="ruff is not installed beside this Python"):
        ruff.installed_version()


def test_why_the_metadata_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str) -> list[str]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    _no_metadata(monkeypatch)
    monkeypatch.setattr(os, "listdir", full)
    with pytest.raises(OSError, match="Too many open files"):
        ruff.installed_version()
