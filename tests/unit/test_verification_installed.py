"""Wheels in environments of their own."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from verification.real import installed, run
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Both wheels of both trees; ours requires one package more, which does not exist."""
    folder = tmp_path / "pack"
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


def test_an_environment_has_the_wheels_and_what_is_given_and_nothing_of_the_harness(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "a_requirement.py").touch()
    (given / "sglang.py").write_text("role = 'of another'\n")
    monkeypatch.setenv("PYTHONPATH", str(given))
    place = installed.place(pack, "ours", tmp_path / "work")
    command = "import sglang, sgl_kernel, a_requirement, sys; print(sglang.role, sgl_kernel.role, *sys.path)"
    told = subprocess.run(
        [place.python, "-c", command], env=place.environment(), capture_output=True, text=True, check=True
    ).stdout.split()
    assert told[:2] == ["ours", "ours"]
    assert str(Path(installed.__file__).parent / "site") not in told
    assert "VERIFICATION_ABSENT" not in place.environment()
    assert place.command("sglang.launch_server")[0] == place.python


def test_what_ours_lacks_and_upstream_does_not_is_named(pack: Path, tmp_path: Path) -> None:
    theirs, mine = (
        installed.unmet(installed.place(pack, role, tmp_path / "work")) for role in ("upstream", "ours")
    )
    assert theirs == ["sglang requires a-missing, which is not installed."]
    assert [line for line in mine if line not in theirs] == [
        "sglang requires b-missing, which is not installed."
    ]
    assert installed.requirements(theirs, mine).verdict == FAILED
    assert installed.requirements(mine, theirs).verdict == PASSED


def test_a_pack_without_wheels_is_said(pack: Path, tmp_path: Path) -> None:
    (pack / "wheel-upstream.whl").unlink()
    check = run._installed(pack, tmp_path / "work")
    assert [(case.name, case.verdict) for case in check.cases] == [("installed", NOT_RUN)]
    assert "wheel-upstream.whl" in check.cases[0].lines[0]


@pytest.mark.parametrize(("role", "verdict"), [("ours", FAILED), ("upstream", NOT_RUN)])
def test_a_server_that_does_not_start_fails_where_it_is_ours(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, verdict: str
) -> None:
    def replies(places: Sequence[object], work: Path, logs: str) -> list[object]:
        raise RuntimeError(f"the server of {role} does not answer")

    monkeypatch.setattr(run, "_replies", replies)
    monkeypatch.setattr(installed, "place", lambda pack, role, work: Place(role, work, None, work))
    monkeypatch.setattr(installed, "unmet", lambda place: [])
    check = run._installed(pack, tmp_path / "work")
    assert [(case.name, case.verdict) for case in check.cases] == [
        ("installed, requirements", PASSED), ("installed, server", verdict),
    ]  # fmt: skip
