"""The cut: upstream's tree and the manifest give the output tree, with the reason for every change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from builder.errors import BuildError, Problem
from builder.gates.surface import Surfaces
from builder.gates.world import World, world
from builder.graph.modules import summary_key
from builder.manifest.model import Manifest
from builder.native import lockstep
from builder.overlay.record import Record
from builder.pipeline import open_uses
from builder.pipeline.accountable import unmentioned
from builder.pipeline.architectures import facts_of
from builder.pipeline.decide import Decided, decide, partial_paths, python_modules
from builder.pipeline.overlaid import overlay
from builder.pipeline.surfaces import surfaces, with_tables
from builder.select.patterns import PatternSet
from builder.specialize.fixpoint import Specialized, specialize
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class Cut:
    """The output of one build before it is verified and written."""

    upstream: Snapshot
    before: World
    decided: Decided
    output: Snapshot
    specialized: Specialized
    records: tuple[Record, ...]
    consequences: tuple[lockstep.Consequence, ...]
    ours: frozenset[str]
    surfaces: Surfaces


def cut(upstream: Snapshot, manifest: Manifest) -> Cut:
    """Select, prune, overlay, specialize and keep native code in step.

    Raises BuildError with all problems of the first stage that has any.
    """
    before = upstream_world(upstream, manifest)
    decided = decide(upstream, manifest, before.index)
    _stop([*decided.selection.problems, *unmentioned(upstream, manifest)])
    before = with_scripts(before, upstream, decided, manifest)

    overlaid = overlay(upstream, decided.kept, decided.removed, manifest, partial_paths(upstream))
    _stop(overlaid.problems)
    laid = upstream.restrict(decided.kept).replace(overlaid.contents, overlaid.modes)

    ours = frozenset(overlaid.ours)
    specialized, followed = _specialize(laid, upstream, decided, manifest, ours)
    _stop(open_uses.problems(specialized, decided, manifest, laid, upstream))
    _stop(followed.problems)
    output = laid.replace({**specialized.files, **followed.files})
    found = surfaces(upstream, before, output, decided, specialized.lost, manifest)
    return Cut(
        upstream=upstream,
        before=before,
        decided=decided,
        output=with_tables(output, found, manifest),
        specialized=specialized,
        records=tuple(overlaid.records),
        consequences=followed.consequences,
        ours=ours,
        surfaces=found,
    )


def again(done: Cut, manifest: Manifest) -> Snapshot:
    """The output, specialized and kept in step once more; whatever it can still change is a defect.

    The hand-made edits are not repeated: what they name is gone.
    """
    specialized, followed = _specialize(done.output, done.upstream, done.decided, manifest, done.ours)
    return done.output.replace({**specialized.files, **followed.files})


def _specialize(
    files: Snapshot, upstream: Snapshot, decided: Decided, manifest: Manifest, ours: frozenset[str]
) -> tuple[Specialized, lockstep.Followed]:
    """What follows from the facts and from what is gone: in Python, then in native code."""
    modules = python_modules(upstream, manifest.packages)
    specialized = specialize(
        files={p: files[p] for p in python_modules(files, manifest.packages)},
        upstream={p: upstream[p] for p in modules if not _is_test(p)},
        names=python_modules({*modules, *files}, manifest.packages),
        removed={modules[p]: str(r.mark) for p, r in decided.removed.items() if p in modules},
        facts=facts_of(manifest, upstream, decided),
        may_prune=PatternSet(manifest.symbols_pruned).any,
        extra=[files[p] for p in files if p.endswith("pyproject.toml")],
        frozen=ours,
    )
    special = files.replace(specialized.files)
    removed = {p: r.batch for p, r in decided.removed.items()}
    return specialized, lockstep.follow(special, upstream, removed)


def upstream_world(upstream: Snapshot, manifest: Manifest) -> World:
    """Upstream's Python files that lie in a package, indexed."""
    return world(upstream.restrict(python_modules(upstream, manifest.packages)), manifest.packages)


def with_scripts(before: World, upstream: Snapshot, decided: Decided, manifest: Manifest) -> World:
    """The same with the kept Python files that lie in no package: gates compare them too."""
    paths = {*before.summaries, *(p for p in decided.kept if p.endswith(".py"))}
    known = {summary_key(p, upstream.tree[p].blob): s for p, s in before.summaries.items()}
    return world(upstream.restrict(sorted(paths)), manifest.packages, known=known)


def _is_test(path: str) -> bool:
    """Tests name symbols without needing them: they neither keep a definition alive nor make it dead."""
    return "/test/" in path or "/tests/" in path


def _stop(problems: Iterable[Problem]) -> None:
    found = tuple(problems)
    if found:
        raise BuildError(found)
