"""The manifest as it is asked of one upstream: a statement for each name that a word or pattern means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.graph.modules import Summary
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.pipeline.expand_configurations import expand_configurations
from builder.pipeline.expand_families import FamilyMatches, expand_families
from builder.pipeline.expand_patterns import expand_patterns
from builder.pipeline.misplaced_names import misplaced_names
from builder.pipeline.model_scope import Scoped
from builder.pipeline.named_files import unused_paths
from builder.pipeline.prune import Pruned
from builder.pipeline.ranges import beyond, holds, mistakes
from builder.pipeline.run import Run
from builder.pipeline.unused_facts import unused_facts, with_spelling
from builder.pipeline.unused_roots import unused_roots


@dataclass(frozen=True, slots=True)
class Expanded:
    """`families`: batch -> what its words matched."""

    manifest: Manifest
    families: Mapping[str, FamilyMatches]


def expand(
    run: Run, asked: Manifest, scoped: Scoped, pruned: Pruned, staying: Mapping[str, Summary], index: Index
) -> Expanded:
    """State what words and patterns stand for.

    `asked`: the manifest before models withdrew any of it; `staying`, `index`: of the Python that no rule
    removes. Stops with what the selection found and with statements that match nothing (R001, R009) or match
    outside of their versions (R011).
    """
    kept = run.upstream.restrict(path for path in pruned.kept if path in staying)
    kept_index = Index({path: staying[path] for path in kept}, asked.packages)
    manifest, families, unused_words = expand_families(scoped.manifest, run.upstream, kept, kept_index)
    manifest, unmatched = expand_patterns(manifest, index)
    manifest = expand_configurations(manifest, run.upstream, kept)
    nowhere = unused_facts(run.upstream, manifest)
    told = {problem.mark for problem in nowhere}
    misplaced = misplaced_names(run.upstream, manifest, run.about.pin is not None)
    elsewhere = [problem for problem in misplaced if problem.mark not in told]
    roots = unused_roots(run.upstream, asked, pruned.removed, run.within)
    files = unused_paths(run.upstream, asked)
    unused = [*scoped.problems, *unused_words, *unmatched, *nowhere, *elsewhere, *roots, *files]
    selection = pruned.selection
    matched = holds(asked, scoped.manifest, unused, selection.matches())
    mistaken = with_spelling(mistakes(unused, asked), manifest, run.upstream)
    run.stop([*selection.problems, *mistaken, *beyond(asked, matched)])
    return Expanded(manifest, families)
