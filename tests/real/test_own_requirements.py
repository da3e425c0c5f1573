"""The wheel with its own requirements alone: it starts, and no module lacks what upstream's wheel brings.

An installation is ten gigabytes, so that only HYPOTHESIS_PROFILE=long makes it. No GPU is needed: a module
that cannot be imported for another reason than a missing package is passed over.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pins import ROOT, builder, upstream

from builder.analysis.projects import provided_by, requirement_name
from builder.emit.members import read_pyproject
from builder.manifest.load import load_default
from builder.upstream.model import snapshot

MANIFEST = load_default(ROOT / "manifest.yaml")
INSTALL_S, IMPORT_S = 3600, 1800
#: One line a module before it is imported, and one if it lacks another package: a crash shows what it was at.
IMPORTS = """
import importlib, json, sys
for module in json.load(sys.stdin):
    print(json.dumps([module, None]), flush=True)
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        print(json.dumps([module, error.name]), flush=True)
    except BaseException:
        pass
"""

pytestmark = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != "long",
    reason="an installation of ten gigabytes: the long profile",
)


@pytest.mark.parametrize("pin", dict.fromkeys(["release", MANIFEST.upstream.default]))
def test_the_wheel_needs_nothing_but_its_own_requirements(pin: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    builder(ROOT, "dist", pin, "--out", str(out))
    (wheel,) = out.glob("*.whl")
    python = installed(wheel, tmp_path / "environment")

    checked = ran(python, "-m", "pip", "check", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    helped = ran(python, "-m", "sglang.launch_server", "--help", cwd=tmp_path)
    assert helped.returncode == 0 and "--model-path" in helped.stdout, helped.stderr[-3000:]

    brings = brought(python, requirements_of(pin), tmp_path)
    stopped = missing(python, modules(wheel), tmp_path)
    lacks = {module: name for module, name in stopped.items() if not brings.isdisjoint(provided_by(name))}
    assert lacks == {}


def interpreter(wheel: Path) -> str:
    """A Python that the wheel is for; skips where there is none."""
    tag = re.search(r"-cp3(\d+)-", wheel.name)
    if tag is None or int(tag[1]) == sys.version_info.minor:
        return sys.executable
    found = shutil.which(f"python3.{tag[1]}")
    if found is None or subprocess.run([found, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no Python 3.{tag[1]}, for which the wheel is")
    return found


def installed(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment with the wheel and what it requires."""
    subprocess.run([interpreter(wheel), "-m", "venv", str(folder)], check=True)
    python = folder / "bin/python"
    done = ran(python, "-m", "pip", "install", "--quiet", str(wheel), cwd=folder, limit=INSTALL_S)
    assert done.returncode == 0, done.stderr[-3000:]
    return python


def brought(python: Path, requirements: list[str], folder: Path) -> set[str]:
    """The packages that upstream's requirements would bring into this environment beside what is there."""
    wanted, report = folder / "requirements.txt", folder / "report.json"
    wanted.write_text("".join(f"{text}\n" for text in requirements))
    words = ["install", "--quiet", "--dry-run", "--report", str(report), "--requirement", str(wanted)]
    done = ran(python, "-m", "pip", *words, cwd=folder, limit=INSTALL_S)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(report.read_bytes())["install"]
    return {requirement_name(one["metadata"]["name"]) for one in found}


def requirements_of(pin: str) -> list[str]:
    """What upstream's own project requires."""
    project = MANIFEST.upstream.project
    files = snapshot(upstream(pin, MANIFEST), [project.pyproject])
    found: list[str] = read_pyproject(files, project)["project"]["dependencies"]
    return found


def modules(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        paths = (name for name in archive.namelist() if name.startswith("sglang/") and name.endswith(".py"))
        return sorted({path[:-3].replace("/", ".").removesuffix(".__init__") for path in paths})


def missing(python: Path, todo: list[str], folder: Path) -> dict[str, str]:
    """module of the distribution -> the package outside that it stops at."""
    found: dict[str, str] = {}
    while todo:
        done = subprocess.run(
            [str(python), "-W", "ignore", "-c", IMPORTS], input=json.dumps(todo), capture_output=True,
            text=True, cwd=folder, env=environment(), timeout=IMPORT_S,
        )  # fmt: skip
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["sglang')]
        assert lines, done.stderr[-3000:]
        found |= {module: name for module, name in lines if name and not name.startswith("sglang")}
        todo = todo[todo.index(lines[-1][0]) + 1 :]  # the rest, where a module ended the process
    return found


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}


def ran(python: Path, *words: str, cwd: Path, limit: int = IMPORT_S) -> subprocess.CompletedProcess[str]:
    command = [str(python), *words]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=limit)
