"""Everything the manifest adds or edits by hand, done on the kept files; the evidence is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from builder.errors import Mark, Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import AnchoredEdit, Edit, Rule, TomlEdit
from builder.overlay import added, anchored, files, patch, structural, toml
from builder.overlay.locate import Target
from builder.overlay.recalled_edits import Edited, edit_or_recall
from builder.overlay.record import Record
from builder.select.rules import holds_path
from builder.source.parse import parse
from builder.source.splice import splice
from builder.tree import Snapshot

Anchored = TypeVar("Anchored", TomlEdit, AnchoredEdit)


@dataclass(slots=True)
class Overlaid:
    """The kept files after the overlays, and what was done to which."""

    contents: dict[str, bytes | None] = field(default_factory=dict)  # changed files; None: removed
    modes: dict[str, str] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)  # whole files of ours
    records: list[Record] = field(default_factory=list)
    waiting: list[TomlEdit] = field(default_factory=list)  # for the output, to know what it uses
    problems: list[Problem] = field(default_factory=list)


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
    done = Overlaid()
    current = {path: upstream[path] for path in kept}

    def there(path: str) -> bool:
        return not within or holds_path(path, within)

    def put(path: str, data: bytes | None) -> None:
        done.contents[path] = data
        if data is None:
            current.pop(path, None)
        else:
            current[path] = data

    whole = [f for b in manifest.batches for f in b.files if there(f.path)]
    placed = files.place(
        whole,
        manifest.overlays,
        upstream.tree,
        {f.path: upstream[f.path] for f in whole if f.path in upstream},
    )
    done.problems += placed.problems
    done.records += placed.records
    for path, data in placed.files.items():
        put(path, data)
        done.ours.add(path)
    # patches see what upstream has, so that no batch that is switched off shifts their lines
    for item in (p for b in manifest.batches for p in b.patches):
        patched = patch.apply(item, manifest.overlays[item.overlay], current, upstream.tree)
        if patched.problems and item.optional:
            continue
        done.problems += patched.problems
        done.records += patched.records
        done.modes |= patched.modes
        for path, after in patched.files.items():
            put(path, after)
    edits = [e for b in manifest.batches for e in b.edits if there(_folder(e, manifest))]
    _structural(edits, manifest, current, removed, done, put)
    tables = [t for b in manifest.batches for t in b.toml if there(t.file)]
    done.waiting = [t for t in tables if t.unused]
    _texts([t for t in tables if not t.unused], toml.edit, current, removed, done, put)
    _texts(
        [a for b in manifest.batches for a in b.anchored if there(a.file)],
        anchored.edit, current, removed, done, put,
    )  # fmt: skip
    return done


def _folder(edit: Edit, manifest: Manifest) -> str:
    return manifest.packages.get(edit.target.partition(".")[0], "")


def _structural(
    edits: Sequence[Edit],
    manifest: Manifest,
    current: Mapping[str, bytes],
    removed: Mapping[str, Rule],
    done: Overlaid,
    put: Callable[[str, bytes | None], None],
) -> None:
    found = structural.sort(edits, manifest.packages, current, {p: r.batch for p, r in removed.items()})
    done.problems += found.problems
    for path, wanted in found.files.items():
        targets = [target for _, target in wanted]
        bodies = {e.by: manifest.overlays.get(e.by) for e, _ in wanted if e.kind == "body" and e.by}
        data, problems, records = edit_or_recall(
            "structural",
            (path, current[path], targets, bodies),
            [edit for edit, _ in wanted],
            partial(_edit_python, path, current[path], targets, manifest.overlays),
        )
        done.problems += problems
        done.records += records
        if data != current[path]:
            put(path, data)


def _edit_python(
    path: str,
    data: bytes,
    targets: Sequence[Target],
    overlays: Mapping[str, bytes],
    edits: Sequence[Edit],
) -> Edited:
    """Carry out structural edits of one file, each of its target."""
    wanted = list(zip(edits, targets, strict=True))
    try:
        module = parse(data, path)
    except (SyntaxError, ValueError, RecursionError) as error:
        problems = [
            Problem(
                "R005", f"`{edit.target}` is edited, and {path} does not parse: {error}.",
                edit.mark, Mark(path, getattr(error, "lineno", None) or 0),
            )
            for edit in edits
        ]  # fmt: skip
        return data, problems, []
    imports = [(e, t) for e, t in wanted if e.kind == "add-import"]
    planned = structural.plan(module, [w for w in wanted if w not in imports], overlays)
    changed = splice(module, planned.ops) if planned.ops else data
    changed, problems, records = added.add_imports(module, changed, imports)
    return changed, [*planned.problems, *problems], [*planned.records, *records]


def _texts(
    edits: Sequence[Anchored],
    edit: Callable[[str, bytes, Sequence[Anchored]], Edited],
    current: Mapping[str, bytes],
    removed: Mapping[str, Rule],
    done: Overlaid,
    put: Callable[[str, bytes | None], None],
) -> None:
    by_file: dict[str, list[Anchored]] = {}
    for item in edits:
        by_file.setdefault(item.file, []).append(item)
    for path, wanted in sorted(by_file.items()):
        if path not in current:
            done.problems += [
                Problem(
                    "R005", f"`{path}` is edited, and it is not in the output.", e.mark,
                    hint=f"Batch `{removed[path].batch}` removes it." if path in removed else None,
                    nothing=True,
                )
                for e in wanted if not e.optional
            ]  # fmt: skip
            continue
        data, problems, records = edit_or_recall(
            edit.__module__, (path, current[path]), wanted, partial(edit, path, current[path])
        )
        done.problems += problems
        done.records += records
        if data != current[path]:
            put(path, data)
