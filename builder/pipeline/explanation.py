"""Why something is in the output or is not, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from builder.gates.world import explain as explained
from builder.gates.world import world
from builder.graph.modules import module_of, path_of
from builder.graph.reach import expand, graph, reach, why
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.pipeline.cut import Cut
from builder.pipeline.reasons import reasons

_MOST = 10


def explain(cut: Cut, manifest: Manifest, what: str) -> list[str]:
    """The reason for a path, `path:symbol` or qualified name; empty when nothing has this name."""
    path, _, symbol = what.partition(":")
    if path not in cut.upstream.tree and path not in cut.output.tree:
        path, symbol = _located(cut, manifest, what)
    if not path:
        return []
    lines = _path(cut, manifest, path)
    if symbol:
        lines = [*_symbol(cut, manifest, path, symbol), *lines]
    return lines


def _located(cut: Cut, manifest: Manifest, name: str) -> tuple[str, str]:
    """The file and symbol of a qualified name: its longest prefix that is a module."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        for path in path_of(".".join(parts[:count]), manifest.packages) or ():
            if path in cut.upstream.tree or path in cut.output.tree:
                return path, ".".join(parts[count:])
    return "", ""


def _path(cut: Cut, manifest: Manifest, path: str) -> list[str]:
    why_so = reasons(cut).get(path, ())
    if path not in cut.output.tree:
        rule = cut.decided.removed.get(path)
        batch = next((b for b in manifest.batches if rule and b.id == rule.batch), None)
        lines = [f"{path} is removed."]
        if rule and batch:
            lines.append(f"  rule    {rule.pattern}  ({rule.mark}, batch {batch.id})")
            lines.append(f"  reason  {batch.why}")
            others = [p for p, r in cut.decided.removed.items() if r == rule and p != path]
            lines += _listed(f"  the rule also removes {len(others):,} paths:", others)
            lines.append(f"  to bring it back: dist --without {batch.id}, or an exception under its `keep`")
        return lines
    state = "kept as upstream has it"
    if path not in cut.upstream.tree:
        state = "added"
    elif cut.upstream.tree[path] != cut.output.tree[path]:
        state = "kept and edited"
    lines = [f"{path} is {state}."]
    for reason in dict.fromkeys(why_so):
        lines.append(f"  {reason.batch:<10} {reason.rule}" + (f"  ({reason.mark})" if reason.mark else ""))
    return lines + _reached(cut, manifest, path)


def _reached(cut: Cut, manifest: Manifest, path: str) -> list[str]:
    module = module_of(path, manifest.packages)
    if module is None:
        return []
    after = world(cut.output.restrict([p for p in cut.output if p.endswith(".py")]), manifest.packages)
    index: Index = after.index
    found = reach(graph(index, manifest.roots.dynamic), _roots(index, manifest))
    steps = why(found, module, index)
    if steps is None:
        return ["  no root reaches it"]
    return ["  reached from a root:", *(f"    {step}" for step in steps)]


def _roots(index: Index, manifest: Manifest) -> list[str]:
    package = manifest.roots.model_package
    named = [*manifest.roots.modules, *(f"{package}.{name}" for name in manifest.roots.models)]
    return [module for modules in expand(index, named).values() for module in modules]


def _symbol(cut: Cut, manifest: Manifest, path: str, symbol: str) -> list[str]:
    module = module_of(path, manifest.packages)
    name = f"{module}.{symbol}"
    reason = explained(manifest, cut.decided.removed, cut.specialized.lost).symbol(name)
    if reason is not None:
        return [f"{name} is removed: {reason}."]
    before = cut.before.index.locate(name)
    if before is None:
        return [f"{name} is not defined there."]
    return [f"{name} is kept."]


def _listed(heading: str, paths: Iterable[str]) -> list[str]:
    paths = list(paths)
    if not paths:
        return []
    more = [f"    ... and {len(paths) - _MOST:,} more"] if len(paths) > _MOST else []
    return [heading, *(f"    {p}" for p in paths[:_MOST]), *more]
