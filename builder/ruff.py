"""Finds and runs the pinned ruff: the single entry point; every failure raises."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from builder.errors import BuildError, fail

_HINT = "install the builder with its requirements again: ruff is one of them"
#: What `ruff format` says of a file that is not Python or not UTF-8; anything else is a failure of its own.
_BAD_FILE = re.compile(r"error: Failed to (?:parse|read) ")
_COLORS = ("FORCE_COLOR", "CLICOLOR_FORCE")


def find() -> str:
    """The ruff of this Python; one on the PATH may be of any version. Raises BuildError E003 without one."""
    try:
        from ruff import find_ruff_bin  # type: ignore[import-untyped]

        return str(find_ruff_bin())
    except (ImportError, FileNotFoundError):
        raise fail("E003", "ruff is not installed beside this Python.", hint=_HINT) from None


def installed_version() -> str:
    """The version that the metadata of this Python's ruff states; no process is started.

    Raises BuildError E003 when there is none, and OSError when its folder cannot be read.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ruff")
    except PackageNotFoundError:
        # `version` takes a folder that it cannot read for an empty one
        os.listdir(sysconfig.get_path("purelib"))
        raise fail("E003", "ruff is not installed beside this Python.", hint=_HINT) from None


def run(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run ruff in a folder, without the settings of the environment. Raises BuildError E003."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RUFF_") and k not in _COLORS}
    try:
        done = subprocess.run([find(), *arguments], cwd=folder, env=kept, capture_output=True, check=False)
    except OSError as error:
        raise fail("E003", f"ruff cannot be run: {error}", hint=_HINT) from None
    if done.returncode < 0:
        raise failed(arguments[0], done)
    return done


def format_folder(folder: Path) -> None:
    """Format every Python file of a folder in ruff's default style; one that does not parse stays as it is.

    Raises BuildError E003 when ruff fails for any other reason.
    """
    arguments = ["format", "--isolated", "--no-cache", "--target-version=py310", "."]
    done = run(arguments, folder)
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    only_bad_files = bool(lines) and all(_BAD_FILE.match(line) for line in lines)
    if done.returncode and not (done.returncode == 2 and only_bad_files):
        raise failed("format", done)


def failed(verb: str, done: subprocess.CompletedProcess[bytes]) -> BuildError:
    """E003 for a run that went wrong, with the first line of ruff's own message that says why."""
    lines = [
        line for line in done.stderr.decode("utf-8", "replace").splitlines() if not _BAD_FILE.match(line)
    ]
    reason = next((line for line in lines if line.strip()), "it gave no reason")
    return fail("E003", f"`ruff {verb}` failed with status {done.returncode}: {reason.strip()}", hint=_HINT)


def version() -> str:
    """What ruff says its version is. Raises BuildError E003."""
    done = run(["--version"], Path.cwd())
    if done.returncode:
        raise failed("--version", done)
    return done.stdout.decode("utf-8", "replace").strip()
