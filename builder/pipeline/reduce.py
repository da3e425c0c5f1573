"""Specialize, keep native code in step, drop what no root reaches any more; again, until nothing leaves."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from builder import memo
from builder.errors import Problem
from builder.graph.modules import Summary, SummaryCache, known_of, python_paths, summaries
from builder.graph.names import is_test
from builder.manifest.model import Manifest
from builder.native import lockstep
from builder.pipeline import request_key, unresolved_uses
from builder.pipeline.prune import Pruned, python_modules
from builder.pipeline.run import Run, digest_of
from builder.pipeline.unneeded_modules import empty_modules, narrowed
from builder.select.patterns import PatternSet
from builder.specialize.evaluating.facts import Facts
from builder.specialize.fixpoint import Session, specialize
from builder.specialize.leftovers import Leftover
from builder.specialize.program import NO_MEMO, Memo, Policy, Program
from builder.specialize.results import Specialized
from builder.tree import Snapshot

#: How often an output is specialized again without what no root reached in it. Two or three times are usual;
#: what would leave later stays.
_MAX_PASSES = 8


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same in every pass.

    `ours`: whole files of ours; `opaque`: Python files that do not parse.
    """

    upstream: Snapshot
    manifest: Manifest
    facts: Facts
    ours: frozenset[str]
    opaque: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reduced:
    """An output in which a root reaches everything that reach decides about, and how it came to be."""

    output: Snapshot
    pruned: Pruned
    specialized: Specialized
    consequences: tuple[lockstep.Consequence, ...]
    summaries: SummaryCache


def reduce(
    run: Run, files: Snapshot, pruned: Pruned, setting: Setting, staying: Mapping[str, Summary]
) -> Reduced:
    """Reduce the kept `files`, overlays applied. `staying`: the summaries of upstream's kept Python.

    Stops with uses of removed code that cannot be removed, in Python or in native code (R008), and with edits
    that the oracle does not confirm (G010).
    """
    folders = tuple(folder.rstrip("/") + "/" for folder in setting.manifest.packages.values())
    output, total = files, Specialized({})
    consequences: tuple[lockstep.Consequence, ...] = ()
    known: dict[tuple[str, str, int], Summary] = known_of(setting.upstream, staying)
    reported: set[tuple[str, str, str]] = set()  # the uses that an earlier pass left open
    session = Session() if run.recalled is not None else None  # a proof begins again each time
    for number in range(1, _MAX_PASSES + 1):
        specialized, followed = specialize_once(output, pruned, setting, run.memo, session)
        run.stop(_unresolved(specialized, reported, pruned, setting, output))
        run.stop(followed.problems)
        total = total.then(specialized) if number > 1 else specialized
        consequences += followed.consequences
        output = output.replace({**specialized.files, **followed.files})
        empty = empty_modules(output, specialized.emptied, total.files, staying, setting.manifest)
        total.lost.update(dict.fromkeys(empty.values(), "nothing is left in it"))
        output = output.replace(dict.fromkeys(empty))
        inside = output.restrict([path for path in output if path.startswith(folders)])
        summarized = summaries(inside, setting.manifest.packages, ChainMap(known, run.summaries))
        known |= known_of(output, summarized)
        run.remember(output, summarized)
        if number == _MAX_PASSES:
            break
        fewer = narrowed(output, summarized, pruned, setting.manifest, setting.upstream)
        unreached = [path for path in fewer.removed if path not in pruned.removed]
        pruned = fewer
        if not unreached and not empty:
            break
        output = output.replace(dict.fromkeys(path for path in unreached if path in output))
        total = replace(total, files={p: data for p, data in total.files.items() if p not in unreached})
    return Reduced(output, pruned, total, consequences, known)


def _unresolved(
    specialized: Specialized,
    reported: set[tuple[str, str, str]],
    pruned: Pruned,
    setting: Setting,
    files: Snapshot,
) -> Iterable[Problem]:
    """The problems of one pass; what an earlier pass left open is open still, and reported already."""
    specialized.leftovers = [use for use in specialized.leftovers if _place(use) not in reported]
    reported |= set(map(_place, specialized.leftovers))
    return unresolved_uses.problems(specialized, pruned, setting.manifest, files, setting.upstream)


def _place(use: Leftover) -> tuple[str, str, str]:
    return use.path, use.scope, use.name


def specialize_once(
    files: Snapshot, pruned: Pruned, setting: Setting, known: Memo = NO_MEMO, session: Session | None = None
) -> tuple[Specialized, lockstep.Followed]:
    """What follows from the facts and from what is gone: in Python, then in native code.

    `known`: what earlier runs found. The result is remembered whole: a path rule or a guarantee that changes
    none of the kept Python is no part of what it depends on.
    """
    upstream, manifest, opaque = setting.upstream, setting.manifest, setting.opaque
    packages, prunable = manifest.packages, [rule.pattern for rule in manifest.prune_symbols]
    python = python_modules(python_paths(files), packages)
    modules = python_modules(upstream, packages)
    removed = frozenset(module for path, module in modules.items() if path not in files)
    stubs = frozenset(e.target for b in manifest.batches for e in b.edits if e.kind == "stub")
    # these may name symbols, and are not specialized
    others = [path for path in files if path.endswith("pyproject.toml") or path in opaque]

    def specialized_now() -> Specialized:
        inside = {path: module for path, module in python.items() if path not in opaque}
        before = [p for p in python_paths(upstream) if p in modules and not is_test(p) and p not in opaque]
        program = Program(
            files={path: files[path] for path in inside},
            upstream={path: upstream[path] for path in before},
            names={**inside, **{path: modules[path] for path in before}},
            removed=removed,
            extra=[files[path] for path in others],
        )
        policy = Policy(setting.facts, PatternSet(prunable).any, setting.ours, stubs)
        return specialize(program, policy, known, session)

    read = [(path, files.tree[path].blob) for path in sorted({*python, *others})]
    formatter = request_key.versions()
    key = digest_of(
        formatter, upstream.tree.id, read, packages, prunable, removed, stubs, setting.facts, setting.ours,
        opaque,
    )  # fmt: skip
    specialized = memo.recall("specialization", (key,), specialized_now)
    batches = {p: r.batch for p, r in pruned.removed.items()}
    return specialized, lockstep.follow(files.replace(specialized.files), upstream, batches)
