"""Ways to break the emitted tree, mutations.yaml, and a tree that is broken so."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.subjects import RUNS, Subject

_UNDER = "python/sglang/srt"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One edit of one file."""

    name: str
    path: str
    find: str
    replace: str
    after: str = ""
    survives: str = ""

    def apply(self, text: str) -> str:
        """The broken text. Raises ValueError when there is nothing to break."""
        start = text.find(self.after)
        place = text.find(self.find, start + len(self.after)) if start >= 0 else -1
        if place < 0 or self.find == self.replace:
            raise ValueError(f"{self.name} fits nothing in {self.path}")
        return text[:place] + self.replace + text[place + len(self.find) :]


def parse(text: str) -> tuple[Mutation, ...]:
    """Read mutations. Raises TypeError for one with other keys."""
    import yaml

    said: list[dict[str, Any]] = yaml.safe_load(text)
    return tuple(Mutation(**each) for each in said)


def read() -> tuple[Mutation, ...]:
    """The mutations of this repository."""
    return parse((Path(__file__).parent / "mutations.yaml").read_text())


class Copy:
    """A copy of a tree by links. One file at a time is broken; its path stays, for compiled files."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self._original = subject.folder
        shutil.rmtree(folder, ignore_errors=True)
        for part in RUNS:
            if (subject.folder / part).is_dir():
                shutil.copytree(subject.folder / part, folder / part, copy_function=_link, symlinks=True)
        self.subject = Subject("ours", folder.resolve(), f"{subject.tree} broken")
        self._made = 0

    def break_(self, mutation: Mutation) -> None:
        """Break it. Raises ValueError when the mutation fits nothing."""
        source = self._original / _UNDER / mutation.path
        if not source.exists():
            raise ValueError(f"{mutation.name}: there is no {mutation.path}")
        text = mutation.apply(source.read_text())
        self._write(mutation, text)

    def mend(self, mutation: Mutation) -> None:
        """Undo it."""
        self._write(mutation, (self._original / _UNDER / mutation.path).read_text())

    def _write(self, mutation: Mutation, text: str) -> None:
        target = self.subject.folder / _UNDER / mutation.path
        partial = target.with_suffix(".partial")
        partial.write_text(text)
        # Python takes compiled files for current by time and size: no two texts share a time
        self._made += 1
        os.utime(partial, (self._made, self._made))
        partial.replace(target)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
