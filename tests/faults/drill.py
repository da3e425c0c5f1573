"""A world to break builders in: the fork server's client, and what must be true after any fault."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from small_world import folder_bytes, small_world

SERVER = Path(__file__).with_name("fork_server.py")
_OURS = ("manifest.yaml", "overlays", "dist")


@dataclass(frozen=True, slots=True)
class Scene:
    """A way to build: whether an old output is there, folders can be exchanged, the upstream is fetched."""

    name: str
    old: bool = True
    swap: bool = True
    remote: bool = False


SCENES = (
    Scene("replace"),
    Scene("replace without exchange", swap=False),
    Scene("first build", old=False),
    Scene("first build, fetched", old=False, remote=True),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    calls: int
    stdout: str
    stderr: str


class Drill:
    """A small world with a builder that can be started often; `close` ends it."""

    def __init__(self, folder: Path) -> None:
        self.world = small_world(folder)
        self.world.change("file:///nowhere/acme.git", f"file://{self.world.repository.path}")
        self.world.good("dist", "--without", "awk")
        self.old, self.new = folder / "old", folder / "new"
        shutil.copytree(self.out, self.old, symlinks=True)
        self.world.good("dist")
        shutil.copytree(self.out, self.new, symlinks=True)
        self._whole = {name: folder_bytes(path) for name, path in (("old", self.old), ("new", self.new))}
        self._server = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(SERVER), str(folder)], text=True,
            env=self.world.environment(SGLANG_MIRROR=None), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    @property
    def out(self) -> Path:
        return self.world.home / "dist"

    @property
    def cache(self) -> Path:
        return self.world.home.parent / "cache"

    def close(self) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait(60)

    def reset(self, scene: Scene) -> None:
        """The state before a run of the scene."""
        for path in (self.out, self.cache):
            shutil.rmtree(path, ignore_errors=True)
        if scene.old:
            shutil.copytree(self.old, self.out, symlinks=True)

    def run(self, scene: Scene, at: int = -1, fault: str = "SIGKILL") -> Outcome:
        """One `dist`, with a fault at its call number `at`, if it makes so many."""
        words = ["dist"] if scene.remote else ["dist", "--mirror", str(self.world.repository.path)]
        case = {"words": words, "folder": str(self.world.home), "at": at, "fault": fault, "swap": scene.swap}
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(case) + "\n")
        self._server.stdin.flush()
        outcome = Outcome(**json.loads(self._server.stdout.readline()))
        said = outcome.stdout + outcome.stderr
        assert "Traceback" not in said and "E070" not in said, said
        return outcome

    def state(self) -> str:
        """`old`, `new` or `none`: what OUT holds. Fails on anything else, as on a mix."""
        if not self.out.exists():
            return "none"
        here = folder_bytes(self.out)
        for name, whole in self._whole.items():
            if here == whole:
                return name
        raise AssertionError(f"a mix: {sorted(here)}")

    def left(self) -> list[str]:
        """What is beside the output and in the cache that no finished run leaves."""
        beside = [p.name for p in self.world.home.iterdir() if p.name not in _OURS]
        scratch = self.cache / "tmp"
        return sorted(beside) + (sorted(p.name for p in scratch.iterdir()) if scratch.is_dir() else [])
