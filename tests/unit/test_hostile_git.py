"""Repositories that try to run something, to hide something, or that lack something."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small_files import FILES
from small_world import World, codes, folder_bytes
from upstream_repo import Repo, git


@pytest.fixture
def world(shared: World, tmp_path: Path) -> World:
    """A copy with a repository of its own to spoil."""
    shutil.copytree(shared.home, tmp_path / "home", symlinks=True)
    copy = shutil.copytree(shared.repository.path, tmp_path / "upstream.git", symlinks=True)
    return World(Repo(copy), shared.commit, tmp_path / "home")


def builds_the_same(world: World, shared: World, **more: str | None) -> None:
    world.good("dist", "--out", "../again", **more)
    assert folder_bytes(world.home.parent / "again") == folder_bytes(shared.home / "dist")


def _witness(world: World) -> tuple[Path, Path]:
    """A program that leaves a trace, and the trace."""
    trace, program = world.home.parent / "ran", world.home.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch '{trace}'\ncat\n")
    program.chmod(0o755)
    return program, trace


SETTINGS = (
    "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy",
    "diff.external", "diff.x.textconv", "filter.x.smudge", "filter.x.clean", "filter.x.process",
    "uploadpack.packObjectsHook", "credential.helper", "alias.cat-file", "alias.ls-tree",
    "core.alternateRefsCommand", "gpg.program", "pager.ls-tree", "extensions.worktreeConfig",
)  # fmt: skip


def test_no_setting_of_the_repository_runs_a_program(world: World, shared: World) -> None:
    program, trace = _witness(world)
    for name in SETTINGS:
        value = "false" if name.startswith("extensions.") else f"{'!' * name.startswith('alias.')}{program}"
        world.repository.git("config", name, value)
    (world.repository.path / "info").mkdir(exist_ok=True)
    (world.repository.path / "info/attributes").write_text("* filter=x diff=x text eol=crlf ident\n")
    builds_the_same(world, shared)
    assert not trace.exists()


def test_no_hook_of_the_repository_runs(world: World, shared: World) -> None:
    program, trace = _witness(world)
    hooks = world.repository.path / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc", "update", "fsmonitor-watchman"):
        shutil.copy(program, hooks / name)
    builds_the_same(world, shared)
    assert not trace.exists()


def test_a_cloned_repository_with_hooks_runs_none_either(world: World, shared: World) -> None:
    """Through the remote: git upload-pack of the other side has settings of its own."""
    program, trace = _witness(world)
    world.repository.git("config", "uploadpack.packObjectsHook", str(program))
    world.change("file:///nowhere/acme.git", f"file://{world.repository.path}")
    world.good("dist", "--out", "../again", SGLANG_MIRROR=None)
    assert not trace.exists()


def test_replace_refs_and_grafts_change_nothing(world: World, shared: World) -> None:
    other = world.repository.commit({**FILES, "README.md": b"another\n"})
    world.repository.git("update-ref", f"refs/replace/{world.commit}", other)
    (world.repository.path / "info").mkdir(exist_ok=True)
    (world.repository.path / "info/grafts").write_text(f"{world.commit} {other}\n")
    builds_the_same(world, shared)


ENVIRONMENT = {
    "GIT_DIR": "/nonexistent",
    "GIT_WORK_TREE": "/",
    "GIT_INDEX_FILE": "/nonexistent",
    "GIT_OBJECT_DIRECTORY": "/nonexistent",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent",
    "GIT_NAMESPACE": "other",
    "GIT_REPLACE_REF_BASE": "refs/heads/",
    "GIT_SHALLOW_FILE": "/nonexistent",
    "GIT_EXTERNAL_DIFF": "false",
    "GIT_SSH": "false",
    "GIT_PROXY_COMMAND": "false",
    "GIT_TRACE": "1",
    "GIT_TRACE2_EVENT": "2",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_ATTR_SOURCE": "HEAD",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.autocrlf",
    "GIT_CONFIG_VALUE_0": "true",
}


def test_no_variable_of_the_caller_has_a_say(world: World, shared: World) -> None:
    builds_the_same(world, shared, **ENVIRONMENT)


def test_objects_from_alternates_count_and_their_absence_is_told(world: World, shared: World) -> None:
    objects, away = world.repository.path / "objects", world.home.parent / "away"
    shutil.copytree(objects, away, dirs_exist_ok=True)
    for path in objects.iterdir():
        if path.name not in ("info", "pack"):
            shutil.rmtree(path)
    (objects / "info").mkdir(exist_ok=True)
    (objects / "info/alternates").write_text(f"{away}\n")
    builds_the_same(world, shared)
    shutil.rmtree(away)
    done = world.run("dist", "--out", "../third")
    assert (done.returncode, codes(done.stderr)) == (6, ["U001"]), done.stderr
    assert not (world.home.parent / "third").exists()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: (path.chmod(0o644), path.write_bytes(b"")),
    "flipped": lambda path: (path.chmod(0o644), path.write_bytes(path.read_bytes()[:-3] + b"\0\0\0")),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_every_damaged_object_is_told_or_not_needed(
    world: World, shared: World, damage: Callable[[Path], object],
    record_property: Callable[[str, object], None],
) -> None:  # fmt: skip
    """A seeded few of the objects: commit, trees and blobs are among them by their number."""
    loose = sorted(path for path in (world.repository.path / "objects").glob("??/*") if path.is_file())
    chosen = loose[:: max(1, len(loose) // 5)]
    record_property("cases", len(chosen))
    refused = 0
    for path in chosen:
        kept = path.read_bytes()
        damage(path)
        done = world.run("dist", "--out", "../again", BUILDER_CACHE=str(world.home.parent / "none"))
        if done.returncode == 0:
            assert folder_bytes(world.home.parent / "again") == folder_bytes(shared.home / "dist")
            shutil.rmtree(world.home.parent / "again")
        else:
            refused += 1
            assert codes(done.stderr) == ["U001"], done.stderr
            assert not (world.home.parent / "again").exists()
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(kept)
    assert refused


def test_a_shallow_clone_with_the_commit_is_enough(world: World, shared: World) -> None:
    shallow = world.home.parent / "shallow.git"
    world.repository.commit({**FILES, "later": b""}, "refs/heads/main", parent=world.commit)
    url = f"file://{world.repository.path}"
    git("clone", "-q", "--bare", "--depth=1", "--branch=v1.2.3", url, str(shallow))
    builds_the_same(world, shared, SGLANG_MIRROR=str(shallow))


def test_a_partial_clone_is_told_and_its_remote_is_not_asked(world: World) -> None:
    partial = world.home.parent / "partial.git"
    world.repository.git("config", "uploadpack.allowFilter", "true")
    git("clone", "-q", "--bare", "--filter=blob:none", f"file://{world.repository.path}", str(partial))
    done = world.run("dist", "--out", "../again", SGLANG_MIRROR=str(partial))
    assert (done.returncode, codes(done.stderr)) == (6, ["U001"]), done.stderr


def test_a_loop_of_links_for_a_repository_is_told(world: World) -> None:
    loop = world.home.parent / "loop"
    os.symlink("loop", loop)
    done = world.run("dist", "--out", "../again", SGLANG_MIRROR=str(loop))
    assert done.returncode in (2, 6) and codes(done.stderr), done.stderr
