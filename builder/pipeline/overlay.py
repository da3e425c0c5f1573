"""Applies everything that the manifest adds or edits by hand to the kept files, and keeps the evidence.

Requirements that are removed wait until it is known what the output imports (`pipeline.requirements`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from builder.errors import Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import AnchoredEdit, Rule, TomlEdit
from builder.memo import recall
from builder.overlay import anchored, files, patch, structural, toml
from builder.overlay.record import Edited, Placed, Record, is_void, of_removed
from builder.select.rules import holds_path
from builder.tree import Snapshot

Anchored = TypeVar("Anchored", TomlEdit, AnchoredEdit)


@dataclass(slots=True)
class Overlaid:
    """The kept files after the overlays, and the changes that were made."""

    current: dict[str, bytes]
    contents: dict[str, bytes | None] = field(default_factory=dict)  # changed files; None: removed
    modes: dict[str, str] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)  # whole files of ours
    records: list[Record] = field(default_factory=list)
    waiting: list[TomlEdit] = field(default_factory=list)  # for the output, to know what it uses
    problems: list[Problem] = field(default_factory=list)

    def put(self, path: str, data: bytes | None) -> None:
        """Write a file, or remove it."""
        self.contents[path] = data
        if data is None:
            self.current.pop(path, None)
        else:
            self.current[path] = data

    def place(self, placed: Placed) -> None:
        """Write the files of an overlay."""
        self.records += placed.records
        self.modes |= placed.modes
        for path, data in placed.files.items():
            self.put(path, data)

    def edited(self, path: str, result: Edited) -> None:
        """Note the result of the edits of a file."""
        data, problems, records = result
        self.problems += problems
        self.records += records
        if data != self.current[path]:
            self.put(path, data)


def overlay(
    upstream: Snapshot,
    kept: Iterable[str],
    removed: Mapping[str, Rule],
    manifest: Manifest,
    within: Sequence[str] = (),
) -> Overlaid:
    """Apply whole files, patches, structural edits, TOML and anchored edits, in this order.

    `within`: the only folders that this upstream has; edits elsewhere have nothing to do.
    """
    done = Overlaid({path: upstream[path] for path in kept})

    def holds(path: str) -> bool:
        return not within or holds_path(path, within)

    whole = [f for b in manifest.batches for f in b.files if holds(f.path)]
    placed = files.place(whole, manifest.overlays, upstream)
    done.problems += placed.problems
    done.place(placed)
    done.ours.update(placed.files)
    # patches see upstream's text, so that switching off a batch does not shift their lines
    for item in (p for b in manifest.batches for p in b.patches):
        patched = patch.apply(item, manifest.overlays[item.overlay], done.current, upstream.tree)
        if patched.problems and item.optional:
            continue
        for problem in patched.problems:
            rule = removed.get(problem.upstream.file) if problem.upstream else None
            done.problems.append(replace(problem, hint=of_removed(item, rule)) if rule else problem)
        done.place(patched)
    folders = manifest.packages
    edits = [
        e for b in manifest.batches for e in b.edits if holds(folders.get(e.target.partition(".")[0], ""))
    ]
    off = manifest.off_by_default
    by_file, problems = structural.sort(edits, folders, done.current, removed, off)
    done.problems += problems
    for path, wanted in by_file.items():
        sources = (edit.by for edit, _ in wanted if edit.by)
        bodies = {by: manifest.overlays[by] for by in sources if by in manifest.overlays}
        given = (path, done.current[path], wanted, bodies)
        done.edited(path, recall("structural", given, partial(structural.edit, *given)))
    tables = [t for b in manifest.batches for t in b.toml if holds(t.file)]
    done.waiting = [t for t in tables if t.requirement is not None and t.file in done.current]
    native = [a for b in manifest.batches for a in b.anchored if holds(a.file)]
    _texts([t for t in tables if t not in done.waiting], toml.edit, removed, done, off)
    _texts(native, anchored.edit, removed, done, off)
    return done


def _texts(
    edits: Sequence[Anchored],
    edit: Callable[[str, bytes, Sequence[Anchored]], Edited],
    removed: Mapping[str, Rule],
    done: Overlaid,
    off: Collection[str],
) -> None:
    by_file: dict[str, list[Anchored]] = {}
    for item in edits:
        rule = removed.get(item.file)
        if rule is None or not is_void(item, rule, off):
            by_file.setdefault(item.file, []).append(item)
    for path, wanted in sorted(by_file.items()):
        if path in done.current:
            given = (path, done.current[path], wanted)
            done.edited(path, recall(edit.__module__, given, partial(edit, *given)))
            continue
        message, rule = f"`{path}` is edited, and it is not in the output.", removed.get(path)
        done.problems += [
            Problem("R005", message, e.mark, hint=of_removed(e, rule) if rule else None, nothing=True)
            for e in wanted
            if not e.optional
        ]
