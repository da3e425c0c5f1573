"""What a manifest could decide about a tree: the questions that its conditions ask, its registries, and the
imports that no statement shows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import externals, projects
from builder.gates import dependencies
from builder.graph.modules import Summary, python_paths
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.source.fields import dotted_name, last_name
from builder.source.parse import parse
from builder.surface.extract import surface

#: So many conditions must ask the same, and a registry must have so many entries, to be worth a decision.
MIN_CONDITIONS, MIN_ENTRIES = 2, 4
MAX_LISTED = 12

#: A function that is asked before something is done.
_QUESTION = re.compile(r"_*(?:is|has|have|use|uses|on|supports?|enable[ds]?|should|can)_\w+")


@dataclass(frozen=True, slots=True)
class Question:
    """What conditions ask. kind `predicate`: a call without arguments; `value`: an attribute of an external
    module. `name` is qualified, or `*.name` for a method of an object that is not known."""

    kind: str
    name: str
    conditions: int


@dataclass(frozen=True, slots=True)
class Survey:
    """`questions`: the most frequent first. `registries`: qualified name and number of entries, the longest
    first. `dynamic`: each module that imports by value, with its calls. `parser`: the module of the packages
    with the most flags, empty if there are none."""

    questions: tuple[Question, ...]
    registries: tuple[tuple[str, int], ...]
    dynamic: tuple[tuple[str, str], ...]
    parser: str
    flags: int


def survey(tree: IndexedTree, packages: Mapping[str, str]) -> Survey:
    """What the Python of a tree offers to decide. A file that does not parse has nothing to say."""
    snapshot, known, index = tree.snapshot, tree.summaries, tree.index
    counts: Counter[tuple[str, str]] = Counter()
    for path in python_paths(snapshot):
        summary = known.get(path)
        if summary is not None and summary.module:
            counts.update(_questions(snapshot[path], summary, index))
    ranked = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    questions = [Question(kind, name, n) for (kind, name), n in ranked if n >= MIN_CONDITIONS]
    items = surface(snapshot, packages)
    entries = Counter(
        key.group
        for key, item in items.items()
        if key.kind == "registry" and "member" not in item.details and index.internal(key.group)
    )
    long = [row for row in entries.items() if row[1] >= MIN_ENTRIES]
    registries = sorted(long, key=lambda row: (-row[1], row[0]))
    flags = Counter(k.group for k in items if k.kind == "flag" and index.internal(k.group))
    parser = min(flags, key=lambda name: (-flags[name], name), default="")
    return Survey(
        tuple(questions[:MAX_LISTED]),
        tuple(registries[:MAX_LISTED]),
        tuple(_dynamic(index)),
        parser,
        flags[parser],
    )


def unimported(tree: IndexedTree, manifest: Manifest) -> list[str]:
    """The requirements of the projects that nothing imports, which a manifest must account for."""
    return sorted(
        {
            row.name
            for project in projects(tree.snapshot, manifest.packages)
            for row in dependencies.unused(project, externals(tree, project, manifest), manifest)
        }
    )


def _dynamic(index: Index) -> Iterator[tuple[str, str]]:
    for module, summary in sorted(index.modules.items()):
        calls = [c for c in summary.dynamic if c.argument is None]
        if calls:
            lines = ", ".join(str(c.line) for c in calls)
            yield module, f"{calls[0].call}() in line{'s' if len(calls) > 1 else ''} {lines}"


class _Conditions(ast.NodeVisitor):
    """Collects the questions of one file, once for each condition that asks them."""

    def __init__(self, summary: Summary, index: Index) -> None:
        self._summary = summary
        self._index = index
        self._imports = {item.bound: item for item in summary.imports if item.kind != "typing"}
        self._asked: set[tuple[str, str]] | None = None  # by the condition that is being read
        self.counts: Counter[tuple[str, str]] = Counter()

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        self._condition(node.test)
        for child in ast.iter_child_nodes(node):
            if child is not node.test:
                self.visit(child)

    visit_IfExp = visit_While = visit_If

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit(node.iter)
        for test in node.ifs:
            self._condition(test)

    def _condition(self, test: ast.expr) -> None:
        outer, self._asked = self._asked, set()
        values = (name for operand in _operands(test) if (name := self._external(operand)))
        self._asked.update(("value", name) for name in values if not name.endswith("TYPE_CHECKING"))
        self.visit(test)
        self.counts.update(self._asked)
        self._asked = outer

    def visit_Call(self, node: ast.Call) -> None:
        last = last_name(node.func)
        if self._asked is not None and not (node.args or node.keywords) and _QUESTION.fullmatch(last):
            if name := self._predicate(node.func, last):
                self._asked.add(("predicate", name))
            return
        self.generic_visit(node)

    def _predicate(self, function: ast.expr, last: str) -> str | None:
        """The qualified name of what is called, `*.name` for a method; None for one of the same object."""
        if isinstance(function, ast.Name):
            origin = self._index.origin(self._summary.module, last)
            return str(origin) if origin is not None and origin.qualname else None
        owner = dotted_name(function).partition(".")[0]
        if owner in ("self", "cls"):
            return None
        return self._external(function) or f"*.{last}"

    def _external(self, node: ast.expr) -> str | None:
        """The qualified name of an attribute of a module outside the packages."""
        first, _, rest = dotted_name(node).partition(".")
        item = self._imports.get(first)
        if item is None or not rest or item.name is not None or self._index.internal(item.target):
            return None
        return f"{item.target if item.asname else first}.{rest}"


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """What alone decides a condition or a part of it: an operand, or what is compared with constants."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    elif isinstance(test, ast.Compare):
        if all(isinstance(one, ast.Constant) for one in test.comparators):
            yield test.left
    else:
        yield test


def _questions(data: bytes, summary: Summary, index: Index) -> Counter[tuple[str, str]]:
    """(kind, name) -> how many conditions of a file ask it; nothing for one that does not parse."""
    try:
        tree = parse(data, summary.path).tree
    except SyntaxError:
        return Counter()
    conditions = _Conditions(summary, index)
    conditions.visit(tree)
    return conditions.counts
