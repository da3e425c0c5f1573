"""The harness's own virtual environments, made once for each set of pins and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from builder.errors import fail

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
_OTHERS = "requirements-transformers-{major}.txt"
_TRANSFORMERS = re.compile(r"[\"']transformers\s*==\s*(\d+)")
OLDEST = (3, 11)  # the oldest Python that has wheels of every pin


def requirements(tree: Path) -> Path:
    """The pins in which a tree runs, by the major version of transformers that it requires.

    The models' configurations are built on classes of transformers, which version 5 of it renamed.
    """
    try:
        asked = _TRANSFORMERS.search((tree / "python/pyproject.toml").read_text("utf-8"))
    except OSError:
        asked = None
    other = REQUIREMENTS.with_name(_OTHERS.format(major=asked[1])) if asked else REQUIREMENTS
    return other if other.exists() else REQUIREMENTS


def prepare(cache: Path, pins: Path = REQUIREMENTS, python: str = sys.executable) -> Path:
    """The Python of the environment of a file of pins, which is made when it is not there.

    Raises BuildError E003 when Python is too old or the pins cannot be installed.
    """
    from filelock import FileLock

    version = _version(python)
    if version < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise fail("E003", f"The verification needs Python {wanted} or newer.", hint="give --python")
    text = f"{version}\n{pins.read_text()}"
    folder = cache / "environments" / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / "complete").exists():
            _make(folder, pins, python)
    return folder / "bin" / "python"


def _version(python: str) -> tuple[int, ...]:
    show = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([python, "-c", show], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise fail("E003", f"{python} is no Python that runs.", hint="give --python") from None
    return tuple(map(int, answer.stdout.split()))


def _make(folder: Path, pins: Path, python: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted attempt left
    commands = (
        [python, "-m", "venv", str(folder)],
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--requirement", str(pins)],
    )  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, env=_clean())
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
            raise fail("E003", f"The environment of the verification cannot be made: {last}")
    (folder / "complete").touch()


def _clean() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
