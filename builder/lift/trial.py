"""A trial: cuts and verifies an upstream, continuing after problems, so that one run lists all of them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.analysis.indexed_tree import IndexedTree
from builder.errors import BuildError, Problem, by_cause
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule, WholeFile
from builder.overlay.files import place
from builder.pipeline.cut import Cut
from builder.pipeline.given_back import cut_to_fit
from builder.pipeline.prune import chosen, partial_paths
from builder.pipeline.ranges import UNKNOWN, About, excused
from builder.pipeline.run import Recalled
from builder.pipeline.verify import output_world, problems
from builder.select.families import with_paths
from builder.select.rules import Selection, holds_path
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial. `cut` and `after` are None if a stage could not continue."""

    selection: Selection
    problems: tuple[Problem, ...]
    cut: Cut | None
    after: IndexedTree | None


#: Gates that find undefined names, lost imports and attributes: what a use of something gone leaves, too.
_AGAIN = frozenset(["G002", "G003", "G004"])


def trial(
    upstream: Snapshot, manifest: Manifest, recall: Recalled | None = None, about: About = UNKNOWN
) -> Trial:
    """Cut and verify, keeping what no rule decides, and collect the problems of all stages.

    A later problem may follow from an earlier one: an edit that finds nothing leaves what it was to take.
    """
    within = partial_paths(upstream, manifest.upstream.project.folder, about.kind)
    asked = excused(manifest, about, within)
    selection = chosen(upstream, with_paths(asked, upstream.tree), within)
    open_paths = [path for group in selection.unclassified for path in group.paths]
    relaxed = _replacing(_keeping(asked, open_paths), upstream)
    collected: list[Problem] = [p for p in selection.problems if p.code == "R003"]
    collected += _replaced(asked, upstream, within)
    done: Cut | None = None
    after: IndexedTree | None = None
    try:
        done = cut_to_fit(upstream, relaxed, collected.extend, recall, about)
        gc.collect()
        after = output_world(done, relaxed)
        collected += problems(done, after)
    except BuildError as error:
        collected += error.problems
    return Trial(selection, tuple(by_cause(_causes(dict.fromkeys(collected)))), done, after)


def _causes(problems: Iterable[Problem]) -> list[Problem]:
    """The problems without those that follow from an R008 in the same file."""
    problems = list(problems)
    open_in = {p.upstream.file for p in problems if p.code == "R008" and p.upstream is not None}
    return [
        p for p in problems if p.code not in _AGAIN or p.upstream is None or p.upstream.file not in open_in
    ]


def matched(selection: Selection) -> Mapping[Rule, tuple[str, ...]]:
    """The paths that each rule matches, in the order of the rules."""
    matches: dict[int, list[str]] = {number: [] for number in range(len(selection.rules))}
    for path, numbers in selection.matched.items():
        for number in numbers:
            matches[number].append(path)
    return {rule: tuple(matches[number]) for number, rule in enumerate(selection.rules)}


def _keeping(manifest: Manifest, paths: Iterable[str]) -> Manifest:
    """The manifest with these paths kept, so that later stages see what would come with them."""
    rules = tuple(Rule(_literal(path), "keep", BASE, mark=manifest.mark("keep")) for path in paths)
    if not rules:
        return manifest
    base, *others = manifest.batches
    return replace(manifest, batches=(replace(base, rules=(*base.rules, *rules)), *others))


def _replacing(manifest: Manifest, upstream: Snapshot) -> Manifest:
    """The manifest with its whole files in place whatever they replace: what upstream made of a file that
    is not in the output says nothing about the output. Where an overlay is optional, upstream's own file
    may be in the output."""

    def admitted(file: WholeFile) -> WholeFile:
        entry = upstream.tree.get(file.path)
        if entry is None or not file.replaces or file.optional:
            return file
        return replace(file, preimage=(*file.preimage, entry.blob), definitions={})

    batches = (replace(b, files=tuple(admitted(f) for f in b.files)) for b in manifest.batches)
    return replace(manifest, batches=tuple(batches))


def _replaced(manifest: Manifest, upstream: Snapshot, within: Sequence[str]) -> tuple[Problem, ...]:
    """R006 for each whole file that replaces another blob than the manifest states."""
    items = [f for b in manifest.batches for f in b.files]
    items = [f for f in items if not within or holds_path(f.path, within)]
    contents = {f.path: upstream[f.path] for f in items if f.path in upstream}
    problems = place(items, manifest.overlays, upstream.tree, contents).problems
    return tuple(p for p in problems if p.code == "R006" and p.upstream is not None)


def _literal(path: str) -> str:
    """A pattern that matches this path alone."""
    escaped = "".join(f"[{c}]" if c in "*?[" else c for c in path)
    return f"/{escaped}"
