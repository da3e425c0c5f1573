"""Why something is in the output or not, as values and in sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from builder.analysis.indexed_tree import IndexedTree
from builder.emit.ledger import Reason
from builder.graph.names import locate, module_of
from builder.graph.reach import Step, why
from builder.graph.resolve import Index
from builder.manifest.model import BASE, Manifest, Rule
from builder.pipeline.cut import Cut
from builder.pipeline.outcome import Outcome
from builder.pipeline.starts import edges_of

_MAX_PATHS = 10
_STATES = {
    "kept": "is kept as upstream has it",
    "edited": "is kept and edited",
    "added": "is added",
    "removed": "is removed",
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in a file: whether it is in the output, and why not."""

    name: str
    state: str  # kept, removed, added
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything known about one path, and about one name in it."""

    path: str
    state: str  # kept, edited, added, removed
    reasons: tuple[Reason, ...]
    symbol: Symbol | None = None
    why: str | None = None  # the reason of the batch that removes it
    back: str | None = None  # how to bring it back
    also: tuple[str, ...] = ()  # what the same rule removes besides
    way: tuple[Step, ...] | None = (
        None  # from where reach starts; None: nothing reaches it, or it is no module
    )
    start: str = "a root"  # what the way starts from
    module: bool = False


def explain(outcome: Outcome, manifest: Manifest, what: str) -> Explanation | None:
    """The reason for a path, `path:symbol` or qualified name; None when nothing has this name."""
    cut = outcome.cut
    path, _, name = what.partition(":")
    if not _there(cut, path):
        path, name = _located(cut, manifest, what)
    if not path:
        return None
    symbol = _symbol(cut, outcome.after, manifest, path, name) if name else None
    if name and symbol is None:
        return None
    return _path(outcome, manifest, path, symbol)


def near(cut: Cut, manifest: Manifest, what: str) -> list[str]:
    """The names closest to one that nothing has, at most three."""
    path, _, name = what.partition(":")
    inside = [p for p in cut.upstream.tree if p.startswith(path.rstrip("/") + "/")]
    if inside:  # a folder
        return inside[:3]
    if not _there(cut, path):
        path, name = _located(cut, manifest, what)
    if path:
        summary = cut.before.summaries.get(path)
        close = difflib.get_close_matches(
            name, sorted({*summary.names, *summary.members} if summary else ()), 3
        )
        if close:
            return [f"{path}:{one}" for one in close]
    modules = [m for p in cut.upstream.tree if (m := module_of(p, manifest.packages))]
    return difflib.get_close_matches(what.partition(":")[0], [*cut.upstream.tree, *modules], 3)


def sentences(explanation: Explanation) -> list[str]:
    """The explanation for a person."""
    lines = [_named(explanation.symbol)] if explanation.symbol else []
    lines.append(f"{explanation.path} {_STATES[explanation.state]}.")
    for reason in explanation.reasons:
        lines.append(f"  {reason.batch:<10} {reason.rule}" + (f"  ({reason.mark})" if reason.mark else ""))
    if explanation.why is not None:
        lines.append(f"  {'why':<10} {explanation.why}")
        lines += _listed(f"  the same rule removes {len(explanation.also):,} more:", explanation.also)
    if explanation.back is not None:
        lines.append(f"  to bring it back: {explanation.back}")
    if explanation.state != "removed" and explanation.module:
        lines += (
            ["  no root reaches it"] if explanation.way is None else _way(explanation.way, explanation.start)
        )
    return lines


def record(explanation: Explanation) -> dict[str, Any]:
    """The explanation as JSON data."""
    return {
        "path": explanation.path,
        "state": explanation.state,
        "symbol": explanation.symbol
        and {
            "name": explanation.symbol.name,
            "state": explanation.symbol.state,
            "reason": explanation.symbol.reason,
        },
        "reasons": [
            {"batch": r.batch, "rule": r.rule, "mark": str(r.mark) if r.mark else None}
            for r in explanation.reasons
        ],
        "why": explanation.why,
        "also": list(explanation.also),
        "way": None
        if explanation.way is None
        else [
            {
                "from": step.edge.source,
                "to": step.edge.target,
                "kind": step.edge.kind,
                "path": step.path,
                "line": step.edge.line,
            }
            for step in explanation.way
        ],
    }


def _there(cut: Cut, path: str) -> bool:
    return path in cut.upstream.tree or path in cut.output.tree


def _located(cut: Cut, manifest: Manifest, name: str) -> tuple[str, str]:
    """The file and symbol of a qualified name: its longest prefix that is a module."""
    if not all(name.split(".")):
        return "", ""
    path, _, rest = locate(name, manifest.packages, {*cut.upstream.tree, *cut.output.tree}) or ("", "", "")
    return path, rest


def _path(outcome: Outcome, manifest: Manifest, path: str, symbol: Symbol | None) -> Explanation:
    cut, stated = outcome.cut, outcome.figures.reasons(path)
    module = module_of(path, manifest.packages)
    if path not in cut.output.tree:
        rule = cut.decided.removed.get(path)
        if rule is None and module in cut.specialized.lost:  # no rule took it: nothing was left in it
            symbol = symbol or Symbol(module, "removed", cut.specialized.lost[module])
        batch = next((b for b in manifest.batches if rule and b.id == rule.batch), None)
        also = tuple(p for p, r in cut.decided.removed.items() if rule and r == rule and p != path)
        back = _back(cut, manifest, path, rule) if rule else None
        return Explanation(path, "removed", stated, symbol, batch.why if batch else None, back, also)
    state = "kept"
    if path not in cut.upstream.tree:
        state = "added"
    elif cut.upstream.tree[path] != cut.output.tree[path]:
        state = "edited"
    if module is None:
        return Explanation(path, state, stated, symbol)
    way, start = _reached(cut, outcome.after.index, manifest, module)
    return Explanation(path, state, stated, symbol, way=way, start=start, module=True)


def _back(cut: Cut, manifest: Manifest, path: str, rule: Rule) -> str:
    """What to write, or how to build, so that a removed path is in the output."""
    module = module_of(path, manifest.packages)
    package = f"{manifest.roots.model_package}."
    if module and module.startswith(package) and rule.mark == manifest.mark("roots", "models", "keep"):
        return f"add `{module.removeprefix(package)}` to roots.models.keep"
    if rule.batch == BASE:
        named = f"name `{module}` in roots.modules, or the path in `keep`"
        return named if module else "name the path in `keep`"
    exception = f"an exception under its `{'except' if rule.word else 'keep'}`"
    if module and rule.verdict == "remove" and module not in cut.decided.starts.reach(
        edges_of(cut.before.index, manifest)
    ):  # fmt: skip
        return f"{exception}; without batch {rule.batch} no root would reach it"
    return f"`dist --without {rule.batch}`, or {exception}"


def _reached(cut: Cut, index: Index, manifest: Manifest, module: str) -> tuple[tuple[Step, ...] | None, str]:
    """The shortest path of imports to a module, and what it starts from."""
    for start, reached in cut.decided.starts.ways(edges_of(index, manifest)):
        steps = why(reached, module, index)
        if steps is not None:
            return steps, start
    return None, "a root"


def _symbol(cut: Cut, after: IndexedTree, manifest: Manifest, path: str, symbol: str) -> Symbol | None:
    """What became of a name in a file; None when neither side has it."""
    module = module_of(path, manifest.packages)
    name = f"{module}.{symbol}"
    origin = after.index.locate(name) if path in cut.output.tree else None
    in_output = origin is not None and bool(origin.qualname)
    origin = cut.before.index.locate(name)
    in_upstream = origin is not None and bool(origin.qualname)
    if in_output:
        return Symbol(name, "kept" if in_upstream else "added")
    if not in_upstream:
        return None
    removal = cut.removals.symbol(name) or cut.removals.path(path)
    return Symbol(name, "removed", str(removal) if removal else None)


def _named(symbol: Symbol) -> str:
    return f"{symbol.name} is {symbol.state}" + (f": {symbol.reason}." if symbol.reason else ".")


def _way(way: Iterable[Step], start: str) -> list[str]:
    steps = [
        f"    {step.edge.source} -> {step.edge.target}  ({step.edge.kind}, {step.path}:{step.edge.line})"
        for step in way
    ]
    return [f"  the shortest way from {start}:", *steps] if steps else [f"  it is {start}"]


def _listed(heading: str, paths: Iterable[str]) -> list[str]:
    paths = list(paths)
    if not paths:
        return []
    more = [f"    ... and {len(paths) - _MAX_PATHS:,} more"] if len(paths) > _MAX_PATHS else []
    return [heading, *(f"    {p}" for p in paths[:_MAX_PATHS]), *more]
