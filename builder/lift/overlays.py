"""Our files and bodies whose upstream original has changed: the change, and a three-way merge."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.adapter import PROGRAM
from builder.emit.diff import upstream_diff
from builder.errors import Mark, fail
from builder.lift.finding import Finding, ask
from builder.lift.history import Commit
from builder.lift.insert import Proposal
from builder.lift.trial import Sides
from builder.manifest.model import Manifest
from builder.manifest.statements import Edit, WholeFile
from builder.overlay.files import differs
from builder.overlay.locate import find, resolve
from builder.pipeline.answers.answer import plural
from builder.pipeline.ranges import in_force
from builder.source.parse import parse_leniently
from builder.tree import Snapshot, Tree
from builder.upstream import git

_TITLE = "Overlays over changed code"


@dataclass(frozen=True, slots=True)
class Changed(Finding):
    """Our code in place of upstream code that has changed.

    `shown`: a three-way merge that has conflicts; `merged`: one without, where it changes our file.
    """

    shown: str = ""
    merged: bytes | None = None


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
                what = f"{edit.by} is the body of {edit.target}"
                by = ", ".join(f"`{commit}`" for commit in commits[-3:])
                text = f"{what}, and upstream changed what it replaces{by and f' ({by})'}."
                remedy, at, mark = "carry the change over", Mark(now), Mark(edit.by)
                question = ask("L004", f"body:{edit.by}:{now}", text, remedy, at, mark)
                data = _data(what, edit.by, now, (before, after), commits)
                yield Changed("overlays", _TITLE, _text(data), data, question)


def _file(file: WholeFile, sides: Sides) -> Changed:
    base, theirs = sides.old[file.path], sides.new[file.path]
    ours = sides.manifest.overlays[file.overlay]
    merged, conflicts = merge(ours, base, theirs)
    is_clean, has_changed = not conflicts, not conflicts and merged != ours
    what, commits = f"{file.overlay} replaces {file.path}", sides.history.touching([file.path])
    data = _data(what, file.overlay, file.path, (base, theirs), commits)
    data |= {"conflicts": conflicts, "merged": has_changed}
    text = f"{_text(data)} A three-way merge has {plural(conflicts, 'conflict')}, shown below."
    if is_clean:
        effect = "changes the overlay" if has_changed else "changes nothing"
        text = f"{_text(data)} A three-way merge is clean and {effect}: proposed."
    admitted = Proposal("preimage", file.batch, file.mark, text=sides.new.tree[file.path].blob)
    return Changed(
        "overlays", _TITLE, text, data, proposals=(admitted,) if file.preimage and is_clean else (),
        shown="" if is_clean else merged.decode("utf-8", "replace"), merged=merged if has_changed else None,
    )  # fmt: skip


def _data(
    what: str, overlay: str, path: str, texts: tuple[bytes, bytes], commits: Sequence[Commit]
) -> dict[str, Any]:
    """What report.json has of a change; without a merge it has no number of conflicts."""
    before, after = ({path: text} for text in texts)
    diff = file_diff(before, after).decode("utf-8", "replace")
    data = {"what": what, "path": path, "overlay": overlay, "commits": commits, "diff": diff}
    return data | {"conflicts": None, "merged": False}


def _text(data: Mapping[str, Any]) -> str:
    commits = data["commits"]
    by = (
        f" ({plural(len(commits), 'commit')}: {', '.join(f'`{c}`' for c in commits[-4:])})" if commits else ""
    )
    return f"{data['what']}, and upstream changed it{by}."


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
