"""The manifest as it is asked of one upstream: a statement for each name that a word or pattern means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from builder.errors import Mark, Problem
from builder.graph.modules import Summary
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Batch
from builder.pipeline.data_files import unused_paths
from builder.pipeline.expand_configurations import expand_configurations
from builder.pipeline.expand_families import FamilyMatches, expand_families
from builder.pipeline.model_scope import Scoped
from builder.pipeline.prune import Pruned
from builder.pipeline.ranges import beyond, holds, matches_nothing, mistakes
from builder.pipeline.run import Run
from builder.pipeline.unused_statements import (
    misplaced_names,
    names_nowhere,
    unused_facts,
    unused_roots,
    with_models,
    with_spelling,
)

_WILD = {"**": ".*", "*": "[^.]*"}


def expand(
    run: Run, asked: Manifest, scoped: Scoped, pruned: Pruned, staying: Mapping[str, Summary], index: Index
) -> tuple[Manifest, Mapping[str, FamilyMatches], frozenset[Mark]]:
    """Return the manifest with what words and patterns stand for, what the words of each batch matched, and
    the marks of the statements that upstream bears out.

    `asked`: the manifest before models withdrew any of it; `staying`, `index`: of the Python that no rule
    removes. Stops with the problems of the selection and with statements that match nothing (R001, R009) or
    match outside of their versions (R011).
    """
    kept = run.upstream.restrict(path for path in pruned.kept if path in staying)
    kept_index = Index({path: staying[path] for path in kept}, asked.packages)
    manifest, families, unused_words = expand_families(scoped.manifest, run.upstream, kept, kept_index)
    manifest, unmatched = expand_patterns(manifest, index)
    manifest = expand_configurations(manifest, run.upstream, kept)
    nowhere = names_nowhere(run.upstream, manifest)
    unknown = unused_facts(manifest, nowhere)
    misplaced = misplaced_names(run.upstream, manifest, nowhere)
    roots = unused_roots(run.upstream, asked, pruned.removed, run.within)
    files = unused_paths(run.upstream, asked)
    unused = [*scoped.problems, *unused_words, *unmatched, *unknown, *misplaced, *roots, *files]
    selection = pruned.selection
    matched = holds(asked, scoped.manifest, unused, selection.matches())
    mistaken = with_spelling(mistakes(unused, asked), manifest, run.upstream)
    models = with_models(selection.problems, asked, run.upstream)
    run.stop([*models, *mistaken, *beyond(asked, matched)])
    return manifest, families, matched


def expand_patterns(manifest: Manifest, index: Index) -> tuple[Manifest, list[Problem]]:
    """Return the manifest with one absent symbol for each definition that a pattern matches.

    `*` stands for any part of one name, `**` also for dots. `index`: the modules that no rule removes. R009
    for a pattern that matches nothing.
    """
    if not any("*" in a.name for b in manifest.batches for a in b.absent):
        return manifest, []
    names = sorted(
        f"{module}.{name}" for module, summary in index.modules.items() for name in summary.definitions
    )
    problems: list[Problem] = []
    batches = tuple(_expanded(batch, names, problems) for batch in manifest.batches)
    return replace(manifest, batches=batches), problems


def _expanded(batch: Batch, names: list[str], problems: list[Problem]) -> Batch:
    symbols: dict[str, Absent] = {}
    for absent in batch.absent:
        if "*" not in absent.name:
            symbols[absent.name] = absent
            continue
        parts = (_WILD.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", absent.name))
        pattern = re.compile("".join(parts))
        matched = [name for name in names if pattern.fullmatch(name)]
        if not matched:
            message = f"The absent symbol `{absent.name}` matches no definition of a file that stays."
            problems.append(matches_nothing(message, absent.mark))
        for name in matched:
            symbols.setdefault(name, replace(absent, name=name))
    return replace(batch, absent=tuple(symbols.values()))
