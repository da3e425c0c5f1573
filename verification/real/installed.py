"""The wheels as a user installs them: no tree on the path, and no stand-in for a package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path

from verification.real.place import Place
from verification.results import FAILED, PASSED, Case

_KINDS = ("wheel", "kernel")
#: The projects of these wheels, and their versions, at the start of a line of `pip check`.
_OF = re.compile(r"(sglang|sglang-kernel|sgl-kernel) \S+ ")


def place(pack: Path, role: str, work: Path) -> Place:
    """Install both wheels of a role, without an index, in an environment of their own.

    What they require comes from the Python that runs this and from its PYTHONPATH. Raises KeyError or
    OSError when the pack has no such wheels, CalledProcessError when pip refuses them.
    """
    said = json.loads((pack / "subjects.json").read_text())["packs"]
    folder = work / "environments" / role
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder / "python", system_site_packages=True, symlinks=True)
    python = folder / "python" / "bin" / "python"
    found = sysconfig.get_paths(vars={"base": str(folder / "python"), "platbase": str(folder / "python")})
    given = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    ours = sysconfig.get_paths()
    lines = [*(str(Path(part).resolve()) for part in given), ours["purelib"], ours["platlib"]]
    (Path(found["purelib"]) / "required.pth").write_text("".join(f"{line}\n" for line in lines))
    wheels = []
    for kind in _KINDS:
        name = f"{kind}-{role}"
        wheels.append(folder / said[name])  # pip reads the name
        shutil.copyfile(pack / f"{name}.whl", wheels[-1])
    installed = Place(role, Path(found["purelib"]), None, work, python=str(python), alone=True)
    _pip(installed, "install", "--no-index", "--no-deps", "--no-compile", *map(str, wheels))
    return installed


def unmet(installed: Place) -> list[str]:
    """The requirements of the installed wheels that are not met, as `pip check` says it."""
    told = _pip(installed, "check", may_fail=True).splitlines()
    return sorted(_OF.sub(r"\1 ", line) for line in told if _OF.match(line))


def requirements(theirs: Sequence[str], mine: Sequence[str]) -> Case:
    """Ours may lack only what upstream's lacks on the same machine."""
    more = tuple(line for line in mine if line not in theirs)
    figures = {"upstream lacks": list(theirs), "ours lacks": list(mine)}
    return Case("installed, requirements", FAILED if more else PASSED, more, figures)


def _pip(installed: Place, *words: str, may_fail: bool = False) -> str:
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        installed.python,
        "--disable-pip-version-check",
        *words,
    ]
    done = subprocess.run(command, env=installed.environment(), capture_output=True, text=True)
    if done.returncode and not may_fail:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout
