"""Our files and bodies whose upstream original has changed: the change, and a three-way merge."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.adapter import PROGRAM
from builder.emit.diff import upstream_diff
from builder.errors import fail
from builder.lift.history import Commit
from builder.lift.insert import Proposal
from builder.lift.statements import parse_leniently
from builder.lift.trial import Sides
from builder.manifest.model import Manifest
from builder.manifest.statements import Edit, WholeFile
from builder.overlay.files import differs
from builder.overlay.locate import find, resolve
from builder.pipeline.ranges import in_force
from builder.tree import Snapshot, Tree
from builder.upstream import git


@dataclass(frozen=True, slots=True)
class Changed:
    """Our code in place of upstream code that has changed.

    `conflicts`: how many places of a three-way merge cannot be joined (None: nothing was merged).
    `merged`: what the merge gives, for a whole file without conflicts.
    """

    what: str
    path: str
    overlay: str
    commits: tuple[Commit, ...]
    diff: str
    conflicts: int | None
    merged: bytes | None = None
    shown: str = ""  # the merge with its conflicts, if any
    proposals: tuple[Proposal, ...] = ()


def changed(sides: Sides) -> Iterator[Changed]:
    """Yield every whole file and body of ours whose original differs at the new upstream."""
    for batch in in_force(sides.manifest, sides.about_old, sides.about_new).batches:
        for file in batch.files:
            if file.path in sides.old and file.path in sides.new and differs(file, sides.new[file.path]):
                yield _file(file, sides)
        for edit in batch.edits:
            before, path = _function(edit, sides.old, sides.manifest)
            after, now = _function(edit, sides.new, sides.manifest)
            if edit.by is not None and before is not None and after is not None and before != after:
                commits = sides.history.touching([path, now])
                diff = file_diff({now: before}, {now: after}).decode("utf-8", "replace")
                yield Changed(f"{edit.by} is the body of {edit.target}", now, edit.by, commits, diff, None)


def _file(file: WholeFile, sides: Sides) -> Changed:
    base, theirs = sides.old[file.path], sides.new[file.path]
    ours = sides.manifest.overlays[file.overlay]
    merged, conflicts = merge(ours, base, theirs)
    admitted = Proposal("preimage", file.batch, file.mark, text=sides.new.tree[file.path].blob)
    return Changed(
        f"{file.overlay} replaces {file.path}",
        file.path,
        file.overlay,
        sides.history.touching([file.path]),
        file_diff({file.path: base}, {file.path: theirs}).decode("utf-8", "replace"),
        conflicts,
        merged if merged != ours and not conflicts else None,
        merged.decode("utf-8", "replace"),
        (admitted,) if file.preimage and not conflicts else (),
    )


def _function(edit: Edit, snapshot: Snapshot, manifest: Manifest) -> tuple[bytes | None, str]:
    """The source of the function whose body an edit replaces in an upstream, and its file."""
    target = resolve(edit.target, manifest.packages, snapshot) if edit.kind == "body" else None
    if target is None:
        return None, ""
    module = parse_leniently(snapshot[target.file], target.file)
    definitions, _ = find(module.tree, target.path)
    if not definitions or not isinstance(definitions[0].statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None, target.file
    text = module.text(definitions[0].statement)
    return text.encode("utf-8", "surrogateescape") + b"\n", target.file


def merge(ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, int]:
    """Merge three texts by `git merge-file`; return the text with the conflicts marked, and their number."""
    with tempfile.TemporaryDirectory(prefix=f"{PROGRAM}-") as folder:
        texts = {"the overlay": ours, "upstream before": base, "upstream now": theirs}
        for label, data in texts.items():
            (Path(folder) / label).write_bytes(data)
        done = git.in_folder(folder, "merge-file", "-p", "--diff3", *texts)
    if done.returncode > 127:
        raise fail("E003", f"git merge-file failed: {git.GitError(done.stderr.decode()).reason}.")
    return done.stdout, done.returncode


def file_diff(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> bytes:
    """The unified diff between files, by their paths."""
    nothing = Snapshot(Tree({}), {})
    return upstream_diff(nothing.replace(before), nothing.replace(after))
