"""Each version of Python gives the same bytes.

An interpreter counts if the builder's dependencies are installed for it: those on PATH, and the paths in
BUILDER_PYTHONS, separated as in PATH. `make setup PYTHON=python3.13 VENV=/tmp/v3.13` makes one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_world import ROOT, World, folder_bytes

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_KNOWN = (".sglang-deepseek", ".sglang-deepseek.index", "build.json", "provenance.intoto.json", "SHA256SUMS")
_PROBE = (
    "import builder.cli.dist, builder.manifest.load, jsonschema, sys; print('%d.%d' % sys.version_info[:2])"
)


def interpreters() -> dict[str, str]:
    """version -> an interpreter with the builder's dependencies."""
    stated = os.environ.get("BUILDER_PYTHONS", "").split(os.pathsep)
    candidates = [*filter(None, stated), *filter(None, (shutil.which(f"python{v}") for v in VERSIONS))]
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    for path in candidates:
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run([path, "-c", _PROBE], capture_output=True, text=True, env=env)
        if done.returncode == 0:
            found.setdefault(done.stdout.strip(), path)
    return found


FOUND = interpreters()


@pytest.mark.parametrize("version", VERSIONS)
def test_each_python_gives_the_same_tree_and_wheel(shared: World, tmp_path: Path, version: str) -> None:
    if version not in FOUND:
        pytest.skip(f"no Python {version} with the builder's dependencies")
    done = subprocess.run(
        [FOUND[version], "-m", "builder", "dist", "--out", str(tmp_path / "out")], cwd=shared.home,
        env=shared.environment(BUILDER_CACHE=str(tmp_path / "cache")), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # build.json and what is made of it name the version of Python
    one, other = folder_bytes(tmp_path / "out", _KNOWN), folder_bytes(shared.home / "dist", _KNOWN)
    assert one == other
