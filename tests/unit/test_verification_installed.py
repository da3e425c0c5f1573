"""Wheels to install; tests/long/test_verification_environments.py installs them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from verification.real import installed, run, server
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED


def packed(folder: Path) -> Path:
    """Both wheels of both trees; ours requires one package more, which does not exist."""
    folder.mkdir()
    said: dict[str, str] = {}
    for role, requires in (("upstream", ["a-missing"]), ("ours", ["a-missing", "b-missing"])):
        for kind, project in (("wheel", "sglang"), ("kernel", "sgl-kernel")):
            name = project.replace("-", "_")
            said[f"{kind}-{role}"] = f"{name}-1.0-py3-none-any.whl"
            wheel(folder / f"{kind}-{role}.whl", name, role, requires if kind == "wheel" else ())
    (folder / "subjects.json").write_text(json.dumps({"packs": said}))
    return folder


def wheel(path: Path, name: str, role: str, requires: Sequence[str]) -> None:
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(f"{name}/__init__.py", f"role = {role!r}\n")
        info = f"{name}-1.0.dist-info"
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
        lines += [f"Requires-Dist: {each}" for each in requires]
        out.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        out.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        out.writestr(f"{info}/RECORD", "")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return packed(tmp_path / "pack")


def test_what_ours_requires_and_upstream_does_not_fails() -> None:
    theirs, mine = ["a requires x."], ["a requires x.", "a requires y."]
    assert installed.requirements(theirs, mine).verdict == FAILED
    assert installed.requirements(mine, theirs).verdict == PASSED


def test_a_pack_without_wheels_is_said(pack: Path, tmp_path: Path) -> None:
    (pack / "wheel-upstream.whl").unlink()
    check = run._installed(pack, tmp_path / "work")
    assert [(case.name, case.verdict) for case in check.cases] == [("installed", NOT_RUN)]
    assert "wheel-upstream.whl" in check.cases[0].lines[0]


@pytest.mark.parametrize(
    ("role", "declines", "verdict"),
    [
        ("ours", False, FAILED),
        ("ours", True, FAILED),
        ("upstream", False, FAILED),
        ("upstream", True, NOT_RUN),
    ],
)
def test_a_server_that_does_not_start_fails_unless_upstream_declines(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, declines: bool, verdict: str
) -> None:
    def replies(places: Sequence[object], work: Path, logs: str, at_once: bool) -> list[object]:
        raise server.NoServer(f"the server of {role} does not answer", declines)

    monkeypatch.setattr(run, "_replies", replies)
    monkeypatch.setattr(installed, "place", lambda pack, role, work: Place(role, work, None, work))
    monkeypatch.setattr(installed, "unmet", lambda place: [])
    check = run._installed(pack, tmp_path / "work")
    assert [(case.name, case.verdict) for case in check.cases] == [
        ("installed, requirements", PASSED), ("installed, server", verdict),
    ]  # fmt: skip
