"""What is damaged in a cache is named by `doctor` and removed by `doctor --repair`; what is sound stays."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from small_world import World, small_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world with a cache that holds a clone, releases, a kernel wheel and a file put there by hand."""
    made = small_world(tmp_path)
    made.change("file:///nowhere/acme.git", f"file://{made.repository.path}")
    made.good("dist", SGLANG_MIRROR=None)
    cache = tmp_path / "cache"
    digest = hashlib.sha256(b"data").hexdigest()
    for name in (
        f"sdist/sglang-1.0-{digest}.tar.gz",
        "sdist/sglang-1.0.tar.gz",
        f"kernel/{digest}/k-1-x.whl",
        f"wheel/3.12/{digest}/sglang-1.0-py3-none-any.whl",
    ):
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(b"data")
    return made


def files(world: World) -> set[str]:
    cache = world.home.parent / "cache"
    return {str(p.relative_to(cache)) for p in cache.rglob("*") if p.is_file() and "recalled" not in p.name}


def test_a_sound_cache_stays_as_it_is(world: World) -> None:
    before = files(world)
    done = world.good("doctor", "--repair", "seed")
    assert "damaged" not in done.stdout and files(world) == before


@pytest.mark.parametrize("part", ["sdist", "kernel", "wheel", "upstream.git"])
def test_a_damaged_part_is_named_removed_and_fetched_again(world: World, part: str) -> None:
    cache = world.home.parent / "cache"
    hurt = {
        "sdist": next((cache / "sdist").glob("*-1.0-*")),
        "kernel": next((cache / "kernel").rglob("*.whl")),
        "wheel": next((cache / "wheel").rglob("*.whl")),
        "upstream.git": sorted((cache / "upstream.git/objects").rglob("*.pack"))[0]
        if list((cache / "upstream.git/objects").rglob("*.pack"))
        else sorted(p for p in (cache / "upstream.git/objects").glob("??/*"))[0],
    }[part]
    hurt.chmod(0o644)
    hurt.write_bytes(hurt.read_bytes()[:-2] + b"\0\1")
    told = world.run("doctor", "seed")
    assert told.returncode == 7 and part in told.stdout and "--repair" in told.stdout, told.stdout
    assert hurt.exists()
    done = world.good("doctor", "--repair", "seed")
    assert "is removed" in done.stdout and not hurt.exists()
    assert (cache / "sdist/sglang-1.0.tar.gz").exists()
    world.good("doctor", "seed")
    world.good("dist", "--out", "again", SGLANG_MIRROR=None)
