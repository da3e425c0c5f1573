"""One real upstream, the release 0.5.8 of the package index, cut as a user cuts it.

tests/real builds the other pins, and asks more of their outputs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from builder.errors import BuildError
from builder.manifest.load import load_default
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources
from builder.upstream.resolve import resolve

ROOT = Path(__file__).parents[2]
PIN = "release"


def cut(out: Path, cache: Path, *more: str, **environment: str) -> None:
    """Cut the release into a folder; the record of the proven cut would be applied otherwise."""
    dist(out, cache, "--recut", *more, **environment)


def dist(out: Path, cache: Path, *more: str, **environment: str) -> str:
    """Build the release in a process of its own that remembers in this cache alone; what it says."""
    command = [sys.executable, "-m", "builder", "dist", PIN, "--out", str(out), *more]
    command += ["--cache", str(cache), "--manifest", str(ROOT / "manifest.yaml")]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    out.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, env=env, cwd=out.parent, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="session")
def archive() -> Path:
    """The release, from the cache or the package index."""
    sources = Sources.of(load_default(ROOT / "manifest.yaml"), None, default_cache(), False)
    try:
        resolve(PIN, sources)
    except BuildError as error:
        if error.problems[0].code != "U001":
            raise
        pytest.skip(f"the release cannot be had here: {error}")
    (found,) = default_cache().glob(f"sdist/*{sources.pins[PIN].sha256}*")
    return found


def empty_cache(folder: Path, archive: Path) -> Path:
    """A cache that holds the release and no results."""
    (folder / "sdist").mkdir(parents=True)
    shutil.copy(archive, folder / "sdist")
    return folder


@dataclass(frozen=True, slots=True)
class Built:
    out: Path
    cache: Path


@pytest.fixture(scope="session")
def built(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("release")
    cache = empty_cache(folder / "cache", archive)
    cut(folder / "dist", cache, PYTHONHASHSEED="1")
    return Built(folder / "dist", cache)


def test_the_tree_on_disk_is_the_one_that_the_lock_has_proven(built: Built, tmp_path: Path) -> None:
    env = {**os.environ, "GIT_DIR": str(tmp_path / "git"), "GIT_WORK_TREE": str(built.out / "tree")}
    for words in (["init", "--quiet"], ["add", "--all", "--force", "."]):
        subprocess.run(["git", "-c", "core.autocrlf=false", *words], env=env, check=True, capture_output=True)
    told = subprocess.run(["git", "write-tree"], env=env, check=True, capture_output=True, text=True)
    proof = json.loads((ROOT / "manifest.lock").read_bytes())["pins"][PIN]
    assert told.stdout.strip() == proof["output_tree"]
    record = json.loads((built.out / "build.json").read_bytes())
    assert record["wheel"]["content_sha256"] == proof["wheel_content_sha256"]


def test_the_record_of_the_release_gives_every_byte_of_the_cut(
    built: Built, archive: Path, tmp_path: Path
) -> None:
    said = dist(tmp_path / "dist", empty_cache(tmp_path / "cache", archive))
    assert "this cut was proven on" in said and "cutting" not in said
    assert contents(tmp_path / "dist") == contents(built.out)


def test_a_warm_build_gives_every_byte_of_a_cold_one_with_another_hash_seed(
    built: Built, archive: Path, tmp_path: Path
) -> None:
    """Both have a batch less than the build whose results the warm one uses."""
    off = ("--without", "gguf")
    cut(tmp_path / "warm/dist", built.cache, *off, PYTHONHASHSEED="1")
    cold = empty_cache(tmp_path / "cache", archive)
    cut(tmp_path / "an other/dist", cold, *off, PYTHONHASHSEED="7", TZ="Asia/Kathmandu", LC_ALL="C")
    one, other = (contents(tmp_path / name) for name in ("warm/dist", "an other/dist"))
    assert one == other
    assert one["build.json"] != (built.out / "build.json").read_bytes()


def contents(folder: Path) -> dict[str, bytes]:
    """path -> bytes of every file of an output but its index, which has times of files."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".sglang-deepseek.index")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}
