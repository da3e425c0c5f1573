"""What a manifest could decide about a tree: what its conditions ask, a feature, its registries, and the
imports that no statement shows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import externals, projects
from builder.gates import packaging
from builder.graph.modules import Summary, python_paths
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.scaffold.project import NO_PACKAGE
from builder.select.families import words_of
from builder.source.fields import dotted_name, last_name, operands
from builder.source.parse import parse_leniently
from builder.surface.extract import surface

#: So many conditions must ask the same, and a registry must have so many entries, to be worth a decision.
MIN_CONDITIONS, MIN_ENTRIES = 2, 4
MAX_LISTED = 12
#: A feature of more files, or that more conditions ask for, is no first decision.
MAX_FILES, MAX_CONDITIONS = 12, 5

#: A function that is asked before something is done.
_QUESTION = re.compile(r"_*(?:is|has|have|use|uses|on|supports?|enable[ds]?|should|can)_\w+")
#: A function that is asked whether the program can have or use something.
_OPTIONAL = re.compile(
    r"_*(?:is|has|use)_(?!available|installed|supported)([a-z0-9]+)(?:_(?:available|installed|supported))?"
)


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
    first. `dynamic`: each module that imports by value, with its calls. `feature`: the word of a feature with
    few files. `parser`: the module of the packages with the most flags. Either is empty if there is none."""

    questions: tuple[Question, ...]
    registries: tuple[tuple[str, int], ...]
    dynamic: tuple[tuple[str, str], ...]
    feature: str
    parser: str
    flags: int


def survey(
    tree: IndexedTree, packages: Mapping[str, str], entries: Container[str] = (), extras: Iterable[str] = ()
) -> Survey:
    """What the Python of a tree offers to decide. A file that does not parse has nothing to say.

    `entries`: the modules that entry points name. `extras`: the names of optional dependencies.
    """
    snapshot, known, index = tree.snapshot, tree.summaries, tree.index
    counts: Counter[tuple[str, str]] = Counter()
    for path in python_paths(snapshot):
        summary = known.get(path)
        if summary is not None and summary.module:
            conditions = _Conditions(summary, index)
            conditions.visit(parse_leniently(snapshot[path], path).tree)
            counts.update(conditions.counts)
    ranked = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    questions = [Question(kind, name, n) for (kind, name), n in ranked if n >= MIN_CONDITIONS]
    items = surface(snapshot, packages)
    sizes = Counter(
        key.group
        for key, item in items.items()
        if key.kind == "registry" and "member" not in item.details and index.internal(key.group)
    )
    long = [row for row in sizes.items() if row[1] >= MIN_ENTRIES]
    registries = sorted(long, key=lambda row: (-row[1], row[0]))
    programs = {module for module, one in index.modules.items() if one.program and module not in entries}
    parsers = (k.group for k in items if k.kind == "flag" and index.internal(k.group))
    flags = Counter(module for module in parsers if module not in programs)
    parser = min(flags, key=lambda name: (-flags[name], name), default="")
    return Survey(
        tuple(questions[:MAX_LISTED]),
        tuple(registries[:MAX_LISTED]),
        tuple(_dynamic(index)),
        _feature(counts, extras, snapshot, packages),
        parser,
        flags[parser],
    )


def unimported(tree: IndexedTree, manifest: Manifest) -> list[str]:
    """The requirements of the projects that nothing imports, which a manifest must account for."""
    return sorted(
        {
            row.name
            for project in projects(tree.snapshot, manifest.packages)
            for row in packaging.unused(project, externals(tree, project), manifest)
        }
    )


def _dynamic(index: Index) -> Iterator[tuple[str, str]]:
    for module, summary in sorted(index.modules.items()):
        calls = [c for c in summary.dynamic if c.argument is None]
        if calls:
            lines = ", ".join(str(c.line) for c in calls)
            yield module, f"{calls[0].call}() in line{'s' if len(calls) > 1 else ''} {lines}"


def _feature(
    counts: Mapping[tuple[str, str], int],
    extras: Iterable[str],
    paths: Iterable[str],
    packages: Mapping[str, str],
) -> str:
    """The word of an optional feature, the one that is asked for least: it names an extra or what a function
    asks for, and a module or folder of the packages. Empty if there is none."""
    folders = tuple(f"{folder}/" for folder in packages.values())
    inside = [path.removesuffix(".py").split("/") for path in paths if path.startswith(folders)]
    called = {name for parts in inside for name in parts}.difference(*(f.split("/") for f in folders))
    asked = Counter({extra.lower(): 0 for extra in extras})
    for (kind, name), number in counts.items():
        match = _OPTIONAL.fullmatch(name.rpartition(".")[2])
        if match and kind == "predicate" and not name.startswith("*."):
            asked[match[1]] += number
    rows = [
        (number, files, word)
        for word, number in asked.items()
        if word in called
        and words_of(word) == (word,)
        and not NO_PACKAGE.fullmatch(word)
        and number <= MAX_CONDITIONS
        and (files := sum(any(word in words_of(name) for name in parts) for parts in inside)) <= MAX_FILES
    ]
    return min(rows, default=(0, 0, ""))[2]


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
        values = (name for operand in _deciding(test) if (name := self._external(operand)))
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


def _deciding(test: ast.expr) -> Iterator[ast.expr]:
    """What alone decides a condition or a part of it: an operand, or what is compared with constants."""
    for part in operands(test):
        if not isinstance(part, ast.Compare):
            yield part
        elif all(isinstance(one, ast.Constant) for one in part.comparators):
            yield part.left
