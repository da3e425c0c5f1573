"""Wheels in environments of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_verification_installed import packed

from verification.real import installed


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return packed(tmp_path / "pack")


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
