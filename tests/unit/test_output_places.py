"""Places where no output can be: refused before the work, with the true cause, and nothing written.

Mounting needs a namespace of its own, which root has and others may not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_world import World, codes, folder_bytes, small_world

from builder.emit.place import is_mount_point


def _may_mount() -> bool:
    return (
        shutil.which("unshare") is not None
        and not subprocess.run(
            ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True
        ).returncode
    )


mounting = pytest.mark.skipif(not _may_mount(), reason="mounting is not allowed here")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world that stays as it is: every test here is refused."""
    made = small_world(tmp_path_factory.mktemp("world"))
    made.good("dist")
    (made.home.parent / "loop").symlink_to("loop")
    before = folder_bytes(made.home)
    yield made
    assert folder_bytes(made.home) == before


def mounted(world: World, options: str, out: str, then: str = "true") -> subprocess.CompletedProcess[str]:
    """`dist` into a place in or at `/mnt`, where something is mounted that only it sees."""
    script = f'mount {options} && "$@"; status=$?; {then} && exit $status'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *world.command("dist", "--out", out)],
        cwd=world.home, env=world.environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


EMPTY = 'test -z "$(ls -A /mnt)"'


@mounting
@pytest.mark.parametrize(
    ("options", "out", "cause", "then"),
    [
        ("-t tmpfs none /mnt", "/mnt", "Device or resource busy", EMPTY),
        ("--bind overlays /mnt", "/mnt", "not empty", "true"),
        ("-t tmpfs -o ro none /mnt", "/mnt/out", "Read-only file system", EMPTY),
        ("-t tmpfs -o nr_inodes=1 none /mnt", "/mnt/out", "No space left on device", EMPTY),
        ("-t tmpfs -o size=4k none /mnt && echo > /mnt/a", "/mnt/out", "No space", "rm /mnt/a && " + EMPTY),
        ("-t tmpfs -o size=32k none /mnt", "/mnt/out", "No space left on device", EMPTY),
    ],
    ids=["mount point", "bind", "read-only", "no inodes", "full", "small"],
)  # fmt: skip
def test_a_file_system_that_takes_no_output_is_told_with_its_cause(
    world: World, options: str, out: str, cause: str, then: str
) -> None:
    done = mounted(world, options, out, then)
    assert done.returncode == 7 and cause in done.stderr, done.stderr
    assert codes(done.stderr) in (["E001"], ["E002"]) and "Traceback" not in done.stderr


@mounting
def test_a_folder_bound_to_itself_is_a_mount_point(tmp_path: Path) -> None:
    """Such a mount has the device of the folder above it, and only the table of mounts tells."""
    folder = tmp_path / "with a space"
    folder.mkdir()
    assert not is_mount_point(os.fsencode(folder))
    script = (
        'mount --bind "$1" "$1" && python3 -c "import sys; from builder.emit.place import is_mount_point; '
        'sys.exit(not is_mount_point(sys.argv[1].encode()))" "$1"'
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["."])}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("out", "cause"),
    [
        ("manifest.yaml", "is a file"),
        ("../loop", "is a dangling symlink"),
        ("manifest.yaml/out", "'{home}/manifest.yaml' is a file"),
        ("manifest.yaml/deep/out", "'{home}/manifest.yaml' is a file"),
        ("absent/out", "'{home}/absent' does not exist"),
        ("overlays", "is not empty"),
        ("x" * 300, "File name too long"),
        ("/proc/out", "No such file"),
        ("/dev/null", "is a file"),
        ("/", "root of the file system"),
    ],
)
def test_a_place_that_cannot_be_is_told_before_the_cut(world: World, out: str, cause: str) -> None:
    done = world.run("dist", "--out", out)
    assert done.returncode == 7 and cause.format(home=world.home) in done.stderr, done.stderr
    assert ("mkdir -p" in done.stderr) is (out == "absent/out")


def test_a_place_is_refused_before_the_rules_are_looked_at(tmp_path: Path) -> None:
    other = small_world(tmp_path)
    other.change("python/acme/test/", "python/acme/absent/")  # R001, which only a cut would tell
    done = other.run("dist", "--out", "manifest.yaml")
    assert codes(done.stderr) == ["E001"], done.stderr


def test_a_lock_of_pins_that_cannot_be_read_is_told_before_the_cut(tmp_path: Path) -> None:
    other = small_world(tmp_path)
    (other.home / "manifest.lock").write_text('{"schema_version": 2, "pins": [')
    other.change("python/acme/test/", "python/acme/absent/")  # R001, which only a cut would tell
    done = other.run("dist")
    assert (done.returncode, codes(done.stderr)) == (4, ["M008"]), done.stderr
