"""The output is a function of its inputs: nothing of the machine, the moment or the order gets into it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_world import World, folder_bytes

INDEX = [".sglang-deepseek.index"]
#: The end of a program that builds with a changed Python.
RUN = "sys.argv = ['builder', 'dist', *sys.argv[1:]]\nfrom builder.cli import main\nmain()\n"


def built(shared: World, folder: Path, umask: int = 0o022, words: Sequence[str] = (), **more: str) -> Path:
    """An output below `folder`, from a copy of the manifest there."""
    home = folder / "home"
    shutil.copytree(shared.home, home, ignore=shutil.ignore_patterns("dist"))
    done = subprocess.run(
        [*(words or shared.command("dist")), "--out", "out"], cwd=home, env=shared.environment(**more),
        capture_output=True, text=True, umask=umask, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return home / "out"


def described(out: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((out / "build.json").read_bytes())
    return loaded


MATRIX = [
    {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"},
    {"TZ": "America/St_Johns", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "4294967295"},
    {"TZ": "", "LANG": "tr_TR.UTF-8", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},
    {"SOURCE_DATE_EPOCH": "1", "PYTHONHASHSEED": "random", "PYTHONDONTWRITEBYTECODE": "1"},
    {"PYTHONOPTIMIZE": "1", "PYTHONHASHSEED": "7", "TMPDIR": "."},
]


@pytest.mark.parametrize(("number", "more"), list(enumerate(MATRIX)))
def test_other_places_umasks_zones_locales_and_hash_seeds_give_the_same_bytes(
    shared: World, tmp_path: Path, number: int, more: dict[str, str]
) -> None:
    umask = (0o000, 0o077, 0o027)[number % 3]
    folder = tmp_path / "another place, with spaces and ünïcode"
    folder.mkdir()
    out = built(shared, folder, umask, **more)
    assert folder_bytes(out, INDEX) == folder_bytes(shared.home / "dist", INDEX)


def test_the_clock_has_no_say(shared: World, tmp_path: Path) -> None:
    first = folder_bytes(built(shared, tmp_path / "now"), INDEX)
    time.sleep(2.1)  # zip dates have two seconds
    assert folder_bytes(built(shared, tmp_path / "later"), INDEX) == first


def test_the_number_of_processes_has_no_say(shared: World, tmp_path: Path) -> None:
    driver = (
        "import os, sys, builder.parallel as parallel\n"
        "parallel.FORK_FROM = parallel.MIN_WEIGHT = 1\n{first}\n" + RUN
    )
    for name, first in (("one", "del os.fork"), ("many", ""), ("killed", KILLED)):
        words = [sys.executable, "-c", driver.format(first=first)]
        # a cache of its own: the outcome would be recalled
        out = built(shared, tmp_path / name, words=words, BUILDER_CACHE=str(tmp_path / f"cache-{name}"))
        assert folder_bytes(out, INDEX) == folder_bytes(shared.home / "dist", INDEX)


#: Every second process dies before it has done anything.
KILLED = "fork = os.fork\ndef dying():\n    return fork() or os._exit(9)\nos.fork = dying"


def test_the_order_in_which_a_folder_lists_its_files_has_no_say(shared: World, tmp_path: Path) -> None:
    driver = (
        "import os, sys\n"
        "listed, scanned = os.listdir, os.scandir\n"
        "os.listdir = lambda *a: sorted(listed(*a), reverse=True)\n"
        "class Scan:\n"
        "    def __init__(self, found): self.found = iter(found)\n"
        "    __next__ = lambda self: next(self.found)\n"
        "    __enter__ = __iter__ = lambda self: self\n"
        "    __exit__ = lambda self, *a: None\n"
        "    close = lambda self: None\n"
        "os.scandir = lambda *a: Scan(sorted(scanned(*a), key=lambda e: e.name, reverse=True))\n" + RUN
    )
    out = built(shared, tmp_path / "x", words=[sys.executable, "-c", driver])
    assert folder_bytes(out, INDEX) == folder_bytes(shared.home / "dist", INDEX)


def test_the_order_of_edits_and_absences_in_a_batch_changes_nothing_in_the_tree(
    shared: World, tmp_path: Path
) -> None:
    turned = World(shared.repository, shared.commit, tmp_path / "home")
    shutil.copytree(shared.home, turned.home, ignore=shutil.ignore_patterns("dist"))
    text = turned.manifest.read_text("utf-8")
    lines = text.splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if "{set: acme.server" in line)
    last = next(n for n, line in enumerate(lines) if "{body: acme.server" in line)
    lines[first : last + 1] = reversed(lines[first : last + 1])
    first = next(n for n, line in enumerate(lines) if "block: WITH_ALIEN" in line)
    last = next(n for n, line in enumerate(lines) if "replace: version = 1" in line)
    lines[first : last + 1] = reversed(lines[first : last + 1])
    assert "".join(lines) != text
    turned.manifest.write_text("".join(lines), "utf-8")
    turned.good("dist")
    one, other = described(shared.home / "dist"), described(turned.home / "dist")
    assert one["output"] == other["output"] and one["wheel"] == other["wheel"]
    assert one["manifest"]["digest"] != other["manifest"]["digest"]


def test_a_build_over_an_old_output_gives_the_bytes_of_a_fresh_one(shared: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for batch in ("fancy", "models", "furniture"):
        shared.good("dist", "--without", batch, "--out", str(out))
    os.chmod(out / "tree/README.md", 0o600)
    (out / "tree/LICENSE").unlink()
    shared.good("dist", "--out", str(out))
    assert folder_bytes(out, INDEX) == folder_bytes(shared.home / "dist", INDEX)
