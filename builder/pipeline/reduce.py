"""Specializes, keeps native code in step and removes modules that nothing needs, until nothing changes."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from builder import memo
from builder.graph.modules import Summary, SummaryCache, known_of, python_paths, summaries
from builder.graph.names import is_test, module_of
from builder.graph.reach import graph
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.native import lockstep
from builder.pipeline import request_key, unresolved_uses
from builder.pipeline.prune import UNREACHED, Pruned, python_modules, unreached_rule, with_followers
from builder.pipeline.run import Run, digest_of
from builder.pipeline.starts import edges_of, roots
from builder.select.patterns import PatternSet
from builder.source.words import identifier_counts
from builder.specialize.evaluating.facts import Facts
from builder.specialize.fixpoint import Session, specialize
from builder.specialize.leftovers import Leftover
from builder.specialize.program import Memo, Policy, Program
from builder.specialize.results import Specialized
from builder.tree import Snapshot

#: The most times that an output is specialized. Two or three are usual; what a later pass would remove stays.
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
    """An output in which a root reaches everything that reach decides about, and the way to it."""

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
    folders = tuple(f"{folder}/" for folder in setting.manifest.packages.values())
    output, total = files, Specialized({})
    consequences: tuple[lockstep.Consequence, ...] = ()
    known: dict[tuple[str, str], Summary] = known_of(setting.upstream, staying)
    cache = ChainMap(known, run.summaries)
    reported: set[tuple[str, str, str]] = set()  # the places of uses that earlier passes left open
    session = Session() if run.recalled is not None else None  # a proof begins again each time
    for number in range(1, _MAX_PASSES + 1):
        specialized, followed = specialize_once(output, pruned, setting, run.recalled, session)
        specialized.leftovers = [use for use in specialized.leftovers if _place(use) not in reported]
        reported |= set(map(_place, specialized.leftovers))
        open_uses = unresolved_uses.problems(
            specialized, pruned, setting.manifest, setting.facts, output, setting.upstream
        )
        run.stop(open_uses)
        run.stop(followed.problems)
        total = total.then(specialized) if number > 1 else specialized
        consequences += followed.consequences
        output = output.replace({**specialized.files, **followed.files})
        inside = output.restrict([path for path in output if path.startswith(folders)])
        summarized = summaries(inside, setting.manifest.packages, cache)
        known |= known_of(output, summarized)
        run.remember(output, summarized)
        empty = empty_modules(output, specialized.emptied, summarized, setting.manifest)
        total.lost.update(dict.fromkeys(empty.values(), "nothing is left in it"))
        output = output.replace(dict.fromkeys(empty))
        summarized = {path: summary for path, summary in summarized.items() if path not in empty}
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


def _place(use: Leftover) -> tuple[str, str, str]:
    return use.path, use.scope, use.name


def specialize_once(
    files: Snapshot,
    pruned: Pruned,
    setting: Setting,
    known: Memo | None = None,
    session: Session | None = None,
) -> tuple[Specialized, lockstep.Followed]:
    """Specialize Python under the facts and without what is removed, then follow in native code.

    `known`: the results of earlier runs. The result is remembered whole: a path rule or a guarantee that
    changes none of the kept Python is no part of what it depends on.
    """
    upstream, manifest, opaque = setting.upstream, setting.manifest, setting.opaque
    packages, prunable = manifest.packages, [rule.pattern for rule in manifest.prune_symbols]
    python = python_modules(python_paths(files), packages)
    modules = python_modules(upstream, packages)
    removed = frozenset(module for path, module in modules.items() if path not in files)
    stubs = frozenset(e.target for b in manifest.batches for e in b.edits if e.kind == "stub")
    # files that are not specialized but may name symbols
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


def empty_modules(
    output: Snapshot, hollow: Iterable[str], known: Mapping[str, Summary], manifest: Manifest
) -> dict[str, str]:
    """Return path -> module of those among `hollow` that nothing in the output names, unless to run them.

    They are removed where the manifest lets dead definitions be removed; a package's `__init__.py` stays.
    `known`: the summaries of the output.
    """
    may_leave = PatternSet([rule.pattern for rule in manifest.prune_symbols])
    empty = {
        path: module
        for path in hollow
        if may_leave.any(path) and not path.endswith("/__init__.py")
        if (module := module_of(path, manifest.packages))
    }
    if not empty:
        return {}
    index = Index(known, manifest.packages)
    needed = set(roots(index, manifest))
    for source, edges in graph(index, manifest.roots.dynamic).items():
        summary = index.modules.get(source)
        for edge in edges:
            runs = edge.kind == "eager" and summary is not None and _only_runs(output, summary, edge.target)
            if edge.kind != "parent" and not runs:
                needed.add(edge.target)
    return {path: module for path, module in sorted(empty.items()) if module not in needed}


def _only_runs(output: Snapshot, source: Summary, module: str) -> bool:
    """Return whether a file names a module in one import that takes nothing from it, and nowhere else."""
    if source.path not in output or any(each.name and each.target == module for each in source.imports):
        return False
    return identifier_counts(output[source.path])[module.rpartition(".")[2].encode()] == 1


def narrowed(
    output: Snapshot, known: Mapping[str, Summary], decided: Pruned, manifest: Manifest, upstream: Snapshot
) -> Pruned:
    """Return the decisions without the modules that reach decides about and that no root reaches in the
    output, and without the data files that followed them. `known`: the summaries of the output."""
    reached = decided.starts.reach(edges_of(Index(known, manifest.packages), manifest))
    open_ = set(decided.selection.with_verdict("reach"))
    unreached = {path for path, s in known.items() if path in open_ and s.module not in reached}
    left = decided.without(dict.fromkeys(sorted(unreached), unreached_rule(manifest)))
    staying = [s for path, s in known.items() if path not in unreached]
    return with_followers(left, manifest, upstream, staying, output)


def blamed(decided: Pruned, index: Index, manifest: Manifest) -> Pruned:
    """Attribute each module that no root reaches to the batch that removed all that reached it, if that is
    one batch. `index`: over all of upstream."""
    unreached = {path for path, rule in decided.removed.items() if rule.verdict == "reach"}
    if not unreached:
        return decided
    users: dict[str, list[str]] = {}
    for source, edges in graph(index).items():
        for edge in edges:
            users.setdefault(edge.target, []).append(source)

    def blame(module: str) -> Rule:
        """Return the rule for one module that no root reaches: what used it last, and why that ended."""
        removers: dict[str, tuple[str, Rule]] = {}
        staying = ""
        seen, todo = {module}, [module]
        while todo:
            for source in users.get(todo.pop(0), ()):
                summary = index.modules.get(source)
                if source in seen or summary is None or is_test(summary.path):
                    continue
                seen.add(source)
                rule = decided.removed.get(summary.path)
                if summary.path in unreached:
                    todo.append(source)
                elif rule is not None:
                    removers.setdefault(rule.batch, (summary.path, rule))
                else:
                    staying = staying or summary.path
        base = unreached_rule(manifest)
        if removers:
            path, rule = next(iter(removers.values()))
            base = replace(
                base, pattern=f"{UNREACHED} (last over {path}, which leaves with batch {rule.batch})"
            )
            alone = len(removers) == 1 and not staying and rule.batch != BASE
            return replace(base, batch=rule.batch, mark=rule.mark) if alone else base
        if staying:
            return replace(base, pattern=f"{UNREACHED} (last over {staying}, which lost its use for it)")
        return base

    modules = {summary.path: module for module, summary in index.modules.items()}
    rules = {path: blame(modules[path]) for path in unreached if path in modules}
    return replace(decided, removed={path: rules.get(path, rule) for path, rule in decided.removed.items()})
