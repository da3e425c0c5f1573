"""A builder with a signal to itself at one place of its work, and what it leaves."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from small_world import World, folder_bytes, small_world

#: runs the command line with a signal to itself at one place; the exchange of folders can be forbidden
DRIVER = """
import functools, importlib, os, sys
import builder.emit.write as writing
place, number, plain = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "plain"
sys.argv = ["builder", *sys.argv[4:]]

def stop():
    os.kill(os.getpid(), number)

original = writing.write

def write(out, output, **more):
    if plain:
        more["swap"] = lambda one, other: False
    return original(out, output, checkpoint=lambda stage: stop() if stage == place else None, **more)

writing.write = write
if place == "fork":
    # here Python prints what is raised and goes on
    os.register_at_fork(before=stop)
if ":" in place:
    module, _, name = place.partition(":")
    holder = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        holder = getattr(holder, part)
    name = name.rpartition(".")[2]
    called = getattr(holder, name)

    @functools.wraps(called)
    def stopping(*args, **more):
        stop()
        return called(*args, **more)

    setattr(holder, name, stopping)
from builder.cli import main
main()
"""


@dataclass(frozen=True, slots=True)
class Outputs:
    """A world with an old output, and the contents of that one and of the next."""

    world: World
    old: object
    new: object

    @classmethod
    def below(cls, folder: Path) -> Outputs:
        """The old output is that of the manifest without a batch."""
        world = small_world(folder)
        world.good("dist", "--without", "awk")
        world.good("dist", "--out", "../new")
        return cls(world, folder_bytes(world.home / "dist"), folder_bytes(folder / "new"))

    def copied(self, folder: Path) -> World:
        """The same world, to be written to."""
        shutil.copytree(self.world.home, folder / "home", symlinks=True)
        return World(self.world.repository, self.world.commit, folder / "home")


def beside(world: World) -> list[str]:
    """What a run left in the manifest's folder that was not there before it."""
    return sorted(p.name for p in world.home.iterdir() if p.name not in ("manifest.yaml", "overlays", "dist"))


def stopped(
    world: World, place: str, number: signal.Signals, swap: str = "swap"
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, place, str(int(number)), swap, "dist"],
        cwd=world.home, env=world.environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done
