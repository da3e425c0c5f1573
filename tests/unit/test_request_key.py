"""What was asked for has one digest, and everything that may change the answer changes it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gate_worlds import manifest

from builder.errors import Mark
from builder.manifest.model import Pin
from builder.pipeline import request_key
from builder.pipeline.request_key import digest, settled


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for path, text in {
        "manifest.yaml": "name: x\n", "manifest.lock": "{}", "schema/manifest.schema.json": "{}",
        "overlays/a/one.py": "x = 1\n", "overlays/b.patch": "", "docs/scope.yaml": "kept: []\n",
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def asked(
    home: Path,
    spec: str = "seed",
    without: tuple[str, ...] = (),
    scope: str = "default",
    with_needs: bool = False,
) -> str:
    return digest(home / "manifest.yaml", spec, without, with_needs, scope)


def test_the_same_question_has_the_same_digest_wherever_it_is_asked(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other") / "place"
    shutil.copytree(home, other)
    assert asked(home) == asked(other) != ""
    monkeypatch.chdir(home)
    assert digest(Path("manifest.yaml"), "seed", ()) == asked(home)


CHANGES: dict[str, Callable[[Path], object]] = {
    "manifest": lambda home: (home / "manifest.yaml").write_text("name: y\n"),
    "lock": lambda home: (home / "manifest.lock").write_text("{ }"),
    "no lock": lambda home: (home / "manifest.lock").unlink(),
    "schema": lambda home: (home / "schema/manifest.schema.json").write_text("{ }"),
    "overlay": lambda home: (home / "overlays/a/one.py").write_text("x = 2\n"),
    "overlay's name": lambda home: (home / "overlays/a/one.py").rename(home / "overlays/a/two.py"),
    "another overlay": lambda home: (home / "overlays/c").write_text(""),
    "scope": lambda home: (home / "docs/scope.yaml").write_text("kept: [ ]\n"),
    "no scope": lambda home: (home / "docs/scope.yaml").unlink(),
    "fewer overlays": lambda home: (home / "overlays/b.patch").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_the_build_reads_counts(home: Path, change: Callable[[Path], object]) -> None:
    before = asked(home)
    change(home)
    assert asked(home) not in ("", before)


def test_what_is_asked_for_counts(home: Path) -> None:
    found = {asked(home), asked(home, ""), asked(home, "seed", ("a",)), asked(home, "seed", ("a", "b"))}
    found.add(asked(home, scope="large"))
    found.add(asked(home, with_needs=True))
    assert len(found) == 6
    assert asked(home, "seed", ("b", "a", "a")) == asked(home, "seed", ("a", "b"))


def test_the_builder_itself_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = asked(home)
    monkeypatch.setattr(request_key, "own_digest", lambda: "another builder")
    assert asked(home) != before


def test_what_cannot_be_read_has_no_digest(home: Path) -> None:
    (home / "schema/manifest.schema.json").unlink()
    assert asked(home) == ""
    assert digest(home / "none.yaml", "seed", (), "default") == ""


NO_FILES: dict[str, Callable[[Path], object]] = {
    "a link": lambda home: (home / "overlays/link").symlink_to("nowhere"),
    "a pipe": lambda home: os.mkfifo(home / "overlays/pipe"),
    "a linked manifest": lambda home: (
        (home / "manifest.yaml").rename(home / "real.yaml")
        and (home / "manifest.yaml").symlink_to("real.yaml")
    ),
    "a device": lambda home: (
        (home / "manifest.yaml").unlink() or (home / "manifest.yaml").symlink_to("/dev/zero")
    ),
}


@pytest.mark.parametrize("change", NO_FILES.values(), ids=NO_FILES.keys())
def test_what_may_change_unseen_or_has_no_end_has_no_digest(
    home: Path, change: Callable[[Path], object]
) -> None:
    change(home)
    assert asked(home) == ""


@pytest.mark.parametrize(
    ("spec", "answer"),
    [("a" * 40, True), ("seed", True), ("pypi:0.5.8", True), ("main", False), ("a" * 39, False)],
)
def test_only_what_never_moves_is_settled(spec: str, answer: bool) -> None:
    found = manifest()
    pins = {"seed": Pin("seed", Mark("manifest.yaml", 1), commit="a" * 40)}
    assert settled(spec, replace(found, upstream=replace(found.upstream, pins=pins))) is answer
