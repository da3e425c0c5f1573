"""The verb that repacks the published kernel wheel: with a file, with a download, under a scope."""

from __future__ import annotations

import hashlib
import json
import zipfile

import pytest
from small_files import FILES
from small_kernel_wheel import FILES_OF_SMALL_WORLD, NAME, wheel
from small_world import World, codes, small_world
from test_lift import with_requirement


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    found = small_world(tmp_path_factory.mktemp("world"), with_requirement(FILES, "sgl-kernel==1.2.3"))
    (found.home / NAME).write_bytes(wheel(FILES_OF_SMALL_WORLD))
    return found


def test_the_verb_repacks_the_wheel_that_the_output_requires(world: World) -> None:
    done = world.good("kernel-wheel", "seed", "--wheel", NAME, "--architecture", "sm90", "--format", "json")
    said = json.loads(done.stdout)
    path = world.home / "dist-kernel" / said["wheel"]["name"]
    assert said["wheel"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert said["wheel"]["bytes"] == path.stat().st_size
    assert said["from"]["sha256"] == hashlib.sha256((world.home / NAME).read_bytes()).hexdigest()
    assert said["changed"] == ["sgl_kernel/__init__.py"]
    with zipfile.ZipFile(path) as new:
        assert b"fancy" not in new.read("sgl_kernel/__init__.py")
        assert "sgl_kernel/fancy_ops.abi3.so" not in new.namelist()
    assert path.name.startswith(f"sgl_kernel-1.2.3+small.g{world.commit[:9]}.sm90-")


def test_a_batch_that_is_off_leaves_its_members(world: World) -> None:
    done = world.good(
        "kernel-wheel", "seed", "--wheel", NAME, "--without", "fancy", "--out", "off", "--format", "json"
    )
    said = json.loads(done.stdout)
    assert [row["path"] for row in said["removed"]] == ["lib/mscclpp.so"] and said["changed"] == []
    assert f"+small.without.fancy.spare.g{world.commit[:9]}-" in said["wheel"]["name"]


def test_a_downloaded_wheel_is_kept_and_used_offline(world: World) -> None:
    data = (world.home / NAME).read_bytes()
    folder = world.home.parent / "cache/kernel" / hashlib.sha256(data).hexdigest()
    assert codes(world.run("kernel-wheel", "seed", "--download", "--offline").stderr) == ["K001"]
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(data)
    world.good("kernel-wheel", "seed", "--download", "--offline", "--out", "cached")
    (folder / NAME).write_bytes(data + b"x")
    assert codes(world.run("kernel-wheel", "seed", "--download", "--offline").stderr) == ["K001"]


def test_the_verb_asks_for_one_wheel_and_for_a_folder_of_its_own(world: World) -> None:
    assert world.run("kernel-wheel", "seed").returncode == 2
    assert world.run("kernel-wheel", "seed", "--wheel", NAME, "--download").returncode == 2
    world.good("dist", "seed")
    done = world.run("kernel-wheel", "seed", "--wheel", NAME, "--out", "dist")
    assert codes(done.stderr) == ["E001"]


def test_a_scope_decides_on_members_and_architectures(world: World) -> None:
    text = world.manifest.read_text("utf-8")
    scopes = (
        "scopes:\n  both: {why: an example, without: [fancy], pins: [seed]}\n"
        "  less: {why: an example, architectures: [sm90], pins: [seed]}\n\nkernel:\n"
    )
    world.change("kernel:\n", scopes)
    for scope, removed, ends in (
        ("both", {"lib/mscclpp.so"}, f"+small.both.g{world.commit[:9]}"),
        ("less", None, f"+small.g{world.commit[:9]}.sm90"),
    ):
        done = world.good(
            "kernel-wheel", "seed", "--wheel", NAME, "--scope", scope, "--out", scope, "--format", "json"
        )
        said = json.loads(done.stdout)
        paths = {row["path"] for row in said["removed"]}
        assert paths == removed if removed else any("sm100" in path for path in paths)
        assert said["wheel"]["name"].startswith(f"sgl_kernel-1.2.3{ends}-")
    world.manifest.write_text(text, "utf-8")
