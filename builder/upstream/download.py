"""pip as the only network client for releases.

pip prepares the metadata of an sdist that it downloads. The documented command downloads every build
requirement for that (some have no wheel for a new Python) and runs the release's setup.py. We need the file
alone, so pip uses the installed packages, and the only "setuptools" that it finds is the one below, which
returns the PKG-INFO of the sdist: 1.8 s instead of 6.1 s, and no code of the release runs. A release with
another build backend falls back to the documented command.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from builder.errors import fail

_BACKEND = """\
import email.parser, os, shutil

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    with open("PKG-INFO", "rb") as file:
        head = email.parser.BytesParser().parse(file, headersonly=True)
    name = "%s-%s.dist-info" % (head["Name"].replace("-", "_"), head["Version"].replace("-", "_"))
    os.makedirs(os.path.join(metadata_directory, name))
    shutil.copyfile("PKG-INFO", os.path.join(metadata_directory, name, "METADATA"))
    return name
"""

_NETWORK = re.compile(r"(?:Failed to establish a new connection|Name or service not known|timed out)[^'\")]*")
#: Seconds; pip itself gives up earlier on a network that does not answer.
TIMEOUT = 900.0
#: Seconds for hundreds of MB.
WHEEL_TIMEOUT = 3600.0


class PipError(Exception):
    """pip got no file.

    `releases` lists what the index has, empty when it did not say; `reached`: whether the index answered.
    """

    def __init__(self, reason: str, releases: tuple[str, ...] = (), reached: bool = False) -> None:
        self.reason = reason
        self.releases = releases
        self.reached = reached or bool(releases)
        super().__init__(reason)


#: machine -> the platform tags that wheels for it carry
PLATFORMS = {
    machine: tuple(
        f"{tag}_{machine}" for tag in ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")
    )
    for machine in ("x86_64", "aarch64")
}
#: The versions of Python for which a wheel is looked for, newest first.
PYTHONS = tuple(f"3.{minor}" for minor in range(15, 9, -1))


def sdist(project: str, version: str, folder: Path) -> Path:
    """The file of a release's sdist; pip works in `folder` (empty). Raises PipError, BuildError E003."""
    backend = folder / "backend" / "setuptools"
    backend.mkdir(parents=True)
    (backend / "__init__.py").write_text("")
    (backend / "build_meta.py").write_text(_BACKEND)
    flags = ["--no-binary", project, "--ignore-requires-python"]
    own = {"PYTHONPATH": str(backend.parent)}
    output = _download(project, version, folder, [*flags, "--no-build-isolation"], own)
    if not list((folder / "out").glob("*")) and "Preparing metadata" in output:
        output = _download(project, version, folder, flags)
    files = sorted((folder / "out").glob("*"))
    if len(files) == 1 and files[0].name.endswith(".tar.gz"):
        return files[0]
    raise _failure(output, project)


def wheel(project: str, version: str, folder: Path, platforms: Sequence[str], python: str = "3.12") -> Path:
    """The file of a release's wheel, downloaded by pip into `folder` (empty); nothing of it is run.

    `platforms` are tags of the machine that it is for, in any order. Raises PipError, BuildError E003.
    """
    output = _download(project, version, folder, _wheels_for(python, platforms), timeout=WHEEL_TIMEOUT)
    files = sorted((folder / "out").glob("*.whl"))
    if len(files) == 1:
        return files[0]
    raise _failure(output, project, "a wheel for this platform")


def newest_wheel(
    project: str, version: str, folder: Path, python: str | None, rather: str | None = None
) -> Path:
    """The file of a release's wheel for Linux x86_64 and `python` (None: `rather`, or else the newest that
    has one).

    Raises PipError with the releases that the index has for any of these, BuildError E003 without pip.
    """
    releases: dict[str, None] = {}
    newest = dict.fromkeys([*([rather] if rather else []), *PYTHONS])
    for wanted in (python,) if python else newest:
        try:
            return wheel(project, version, folder, PLATFORMS["x86_64"], wanted)
        except PipError as error:
            if not error.reached:
                raise
            releases |= dict.fromkeys(error.releases)
    raise PipError("the index does not have this release as a wheel", tuple(releases), reached=True)


def wheel_pythons(project: str, version: str) -> list[str]:
    """The versions of Python for which the index has a wheel of a release, oldest first."""
    return [python for python in reversed(PYTHONS) if version in _listed(project, _wheels_for(python))]


def releases(project: str) -> list[str]:
    """All releases that the index has, as an sdist or as a wheel for Linux x86_64, in no order."""
    kinds = [["--no-binary=:all:"], *map(_wheels_for, PYTHONS)]
    return list(dict.fromkeys(version for flags in kinds for version in _listed(project, flags)))


def _wheels_for(python: str, platforms: Sequence[str] = PLATFORMS["x86_64"]) -> list[str]:
    flags = ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    flags += [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    return flags + [f"--platform={platform}" for platform in platforms]


def _listed(project: str, flags: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as empty:
        output = _pip(["index", "versions", project, "--pre", *flags], Path(empty), {}, TIMEOUT)
    listed = re.search(r"^Available versions: (.*)$", output, re.M)
    return [name.strip() for name in listed.group(1).split(",")] if listed else []


def _download(
    project: str,
    version: str,
    folder: Path,
    flags: Sequence[str],
    env: Mapping[str, str] = MappingProxyType({}),
    timeout: float = TIMEOUT,
) -> str:
    """What `pip download` says; its files are in `folder`/out. `timeout` is in seconds."""
    (folder / "temp").mkdir(exist_ok=True)
    # a pip that is killed leaves its temporary folders: here they go with ours
    own = {"TMPDIR": str(folder / "temp"), **env}
    what = ["--no-deps", *flags, "--progress-bar=off", f"{project}=={version}", "--dest", str(folder / "out")]
    return _pip(["download", *what], folder, own, timeout)


def _pip(arguments: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float) -> str:
    """What pip says. `folder`: where it runs, never a folder with a pip.py of somebody else."""
    quiet = ["--no-input", "--no-color", "--disable-pip-version-check", "--retries=2"]
    own = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PIP_DRY_RUN", "PIP_REQUIRE_HASHES", "PIP_QUIET"}
    clean = {key: value for key, value in os.environ.items() if key not in own}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", *arguments, *quiet],
            capture_output=True,
            env={**clean, "LC_ALL": "C.UTF-8", **env},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PipError(f"pip did not finish within {timeout:.0f} seconds") from None
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    if "No module named pip" in output:
        raise fail("E003", f"{sys.executable} has no pip.", hint="run `python -m ensurepip`")
    return output


def _failure(output: str, project: str, wanted: str = "an sdist") -> PipError:
    # pip may miss what building needs, too: that says nothing about the release
    known = re.search(rf"requirement {re.escape(project)}\b\S* \(from versions: ([^)]*)\)", output)
    releases = tuple(v.strip() for v in known.group(1).split(",")) if known else ()
    if releases not in ((), ("none",)):
        return PipError(f"the index does not have this release as {wanted}", releases)
    reached = releases == ("none",) and "connection broken" not in output
    # the index that could not be reached is reported before "no matching distribution"
    # a warning may be about anything, such as a folder of links that is missing: an error is the cause
    causes = (r"connection broken by '(?:\w+\()?(.*)", r"^ERROR: (.*)", r"^WARNING: (.*)", r"^(.*\S)\s*$")
    for pattern in causes:
        if match := re.search(pattern, output, re.M):
            network = _NETWORK.search(match[1])
            reason = network[0] if network else match[1]
            return PipError("pip says: " + reason[:200].rstrip(" ."), (), reached)
    return PipError("pip downloaded nothing and said nothing")
