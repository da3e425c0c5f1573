"""Every static gate on a cut, before anything is written; the files of the cut that only a gate can reject.

Such a file is what a batch that is off gives back outside the packages: a program of its own (a benchmark, an
example, a test). Nothing that is delivered imports it, and no edit keeps it in step. One about something that
another batch removes cannot run, and leaves again.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace

from builder.analysis.indexed_tree import IndexedTree
from builder.errors import BuildError, Problem
from builder.gates.registry import Evidence, check
from builder.graph.modules import Summary, known_of, summaries
from builder.graph.reach import undeclared, unmatched
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.pipeline.cut import Cut, again, cut
from builder.pipeline.places import true_places
from builder.pipeline.ranges import UNKNOWN, About, kept_to
from builder.pipeline.run import Recalled, Stop
from builder.pipeline.starts import edges_of
from builder.tree import Snapshot

BROKEN = "it uses what is gone"


def output_world(done: Cut, manifest: Manifest) -> IndexedTree:
    """The output's Python, indexed; files as upstream has them are not parsed again."""

    def made() -> Mapping[str, Summary]:
        known = ChainMap(dict(known_of(done.upstream, done.before.summaries)), done.summaries)  # type: ignore[arg-type]
        return summaries(done.output, manifest.packages, known)

    return IndexedTree(done.output, manifest.packages, made)


def problems(done: Cut, after: IndexedTree, twice: bool = False) -> list[Problem]:
    """What the static gates find in the output and not upstream.

    `twice`: specialize the output once more and compare (G009); it costs about a third of the cut, so
    it is asked for where a pin is proven, not at every build.
    """
    manifest = done.manifest
    evidence = Evidence(
        before=done.before,
        after=after,
        manifest=manifest,
        removals=done.removals,
        surfaces=done.surfaces,
        native_findings=done.findings,
        second_run=(lambda: again(done, manifest).tree) if twice else None,
    )
    found = kept_to([*check(evidence), *_dynamic_imports(done, after, manifest)], manifest)
    return true_places(found, done.upstream, done.output, manifest, done.records)


def _dynamic_imports(done: Cut, after: IndexedTree, manifest: Manifest) -> list[Problem]:
    """R010 for every import by value that the manifest does not declare, in reached modules, and R009 for
    every declaration that matches nothing.

    One for the models that stay is looked for in upstream: in the output none of its modules may be left.
    """
    declared = manifest.roots.dynamic
    reached = done.decided.starts.reach(edges_of(after.index, manifest), rules=False)
    return [
        *undeclared(after.index, declared, reached),
        *unmatched(after.index, [edge for edge in declared if not edge.of_kept_models]),
        *unmatched(done.before.index, [edge for edge in declared if edge.of_kept_models]),
    ]


def cut_without_broken_files(
    upstream: Snapshot,
    manifest: Manifest,
    stop: Stop | None = None,
    recall: Recalled | None = None,
    about: About = UNKNOWN,
) -> Cut:
    """Cut upstream, and again without the files given back in which a gate finds something, until none is.

    Raises BuildError as `cut` does.
    """
    leaving: dict[str, Rule] = {}
    while True:
        done = cut(upstream, manifest, stop, recall, about, leaving)
        more = _broken(done)
        if not more:
            return done
        leaving |= more


def _broken(done: Cut) -> Mapping[str, Rule]:
    """The files given back outside the packages in which a gate finds something, each with the rule by
    which it leaves."""
    back = {rule.mark: rule for rule in done.manifest.given_back}
    folders = tuple(f"{folder.rstrip('/')}/" for folder in done.manifest.packages.values())
    given = {
        path: back[decision.rule.mark]
        for path, decision in done.decided.selection.decisions.items()
        if decision.rule.mark in back and path in done.output and not path.startswith(folders)
    }
    leaving: dict[str, Rule] = {}
    found = problems(done, output_world(done, done.manifest)) if given else []
    for problem in (p for one in found for p in (one, *one.also)):
        path = problem.upstream.file if problem.upstream else ""
        if path in given and path not in leaving:
            reason = f"{BROKEN} ({problem.code} {problem.message})"
            leaving[path] = replace(given[path], pattern=reason, verdict="follow", batch=BASE)
    return leaving


def verify(done: Cut, manifest: Manifest, twice: bool = False) -> IndexedTree:
    """The indexed output. Raises BuildError with every finding of every gate."""
    after = output_world(done, manifest)
    found = problems(done, after, twice)
    if found:
        raise BuildError(found)
    return after
