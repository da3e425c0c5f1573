"""Specialize, keep native code in step, drop what no root reaches any more; again, until nothing leaves."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from builder.errors import Problem
from builder.graph.modules import Summary, SummaryCache, known_of, python_paths
from builder.graph.names import is_test
from builder.manifest.model import Manifest
from builder.native import lockstep
from builder.pipeline import request_key, unresolved_uses
from builder.pipeline.prune import Pruned, python_modules
from builder.pipeline.run import Run
from builder.pipeline.specialization_memo import digest_of, recall_or_run
from builder.pipeline.unneeded_modules import empty_modules, narrowed, output_summaries
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
    output, total = files, Specialized({})
    consequences: tuple[lockstep.Consequence, ...] = ()
    known: dict[tuple[str, str, int], Summary] = known_of(setting.upstream, staying)
    earlier = run.recalled.summaries if run.recalled else {}
    reported: set[tuple[str, str, str]] = set()
    session = Session() if run.recalled is not None else None  # a proof begins again each time
    for number in range(1, _MAX_PASSES + 1):
        specialized, followed = specialize_once(output, pruned, setting, run, session)
        run.stop(_unresolved(specialized, reported, pruned, setting, output))
        run.stop(followed.problems)
        total = total.then(specialized) if number > 1 else specialized
        consequences += followed.consequences
        output = output.replace({**specialized.files, **followed.files})
        empty = empty_modules(output, specialized.emptied, total.files, staying, setting.manifest)
        total.lost.update(dict.fromkeys(empty.values(), "nothing is left in it"))
        output = output.replace(dict.fromkeys(empty))
        summarized = output_summaries(output, setting.manifest, ChainMap(known, earlier))
        known |= known_of(output, summarized)
        if run.recalled:
            run.recalled.remember(known_of(output, summarized))
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
    files: Snapshot,
    pruned: Pruned,
    setting: Setting,
    run: Run | None = None,
    session: Session | None = None,
) -> tuple[Specialized, lockstep.Followed]:
    """What follows from the facts and from what is gone: in Python, then in native code.

    `run`: the run whose memory may be used.
    """

    def specialized_now() -> Specialized:
        return _specialize(files, setting, run.memo if run else NO_MEMO, session)

    if run is None or run.recalled is None:
        specialized = specialized_now()
    else:
        key = _digest(files, setting)
        specialized = recall_or_run(key, run.recalled.specializations, specialized_now)
    batches = {p: r.batch for p, r in pruned.removed.items()}
    return specialized, lockstep.follow(files.replace(specialized.files), setting.upstream, batches)


def _specialize(files: Snapshot, setting: Setting, memo: Memo, session: Session | None = None) -> Specialized:
    upstream, manifest, opaque = setting.upstream, setting.manifest, setting.opaque
    readable = [p for p in python_paths(files) if p not in opaque]
    before = [p for p in python_paths(upstream) if not is_test(p) and p not in opaque]
    program = Program(
        files={p: files[p] for p in python_modules(readable, manifest.packages)},
        upstream={p: upstream[p] for p in python_modules(before, manifest.packages)},
        names=python_modules({*readable, *before}, manifest.packages),
        removed=_removed_modules(files, setting),
        extra=[files[p] for p in _other_texts(files, setting)],
    )
    policy = Policy(
        facts=setting.facts,
        may_prune=PatternSet([rule.pattern for rule in manifest.prune_symbols]).any,
        frozen=setting.ours,
        stays=_stubs(manifest),
    )
    return specialize(program, policy, memo, session)


def _digest(files: Snapshot, setting: Setting) -> str:
    """A digest of all that `_specialize` reads, and of the formatter that lays its result out."""
    manifest = setting.manifest
    python = python_modules(python_paths(files), manifest.packages)
    return digest_of(
        request_key.versions(),
        setting.upstream.tree.id,
        [(path, files.tree[path].blob) for path in sorted({*python, *_other_texts(files, setting)})],
        manifest.packages,
        [rule.pattern for rule in manifest.prune_symbols],
        _removed_modules(files, setting),
        _stubs(manifest),
        setting.facts,
        setting.ours,
        setting.opaque,
    )


def _removed_modules(files: Snapshot, setting: Setting) -> frozenset[str]:
    modules = python_modules(setting.upstream, setting.manifest.packages)
    return frozenset(modules[path] for path in modules if path not in files)


def _other_texts(files: Snapshot, setting: Setting) -> list[str]:
    """Files that may name symbols and are not specialized."""
    return [path for path in files if path.endswith("pyproject.toml") or path in setting.opaque]


def _stubs(manifest: Manifest) -> frozenset[str]:
    return frozenset(e.target for b in manifest.batches for e in b.edits if e.kind == "stub")
