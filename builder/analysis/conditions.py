"""Whether a condition of upstream's code can hold on the target, by the facts and nothing else.

This is not the evaluator that cuts: it decides conditions a second time, more simply, so that what
the cut took away is explained by a fact and not by the cut.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from builder.analysis.removals import Removals
from builder.errors import Mark
from builder.manifest.model import Manifest
from builder.manifest.statements import Fact, Option
from builder.specialize.evaluating.facts import Facts
from builder.surface.model import Condition, Place
from builder.surface.values import Reader, Sources, own_statements

_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """What accounts for a difference: a batch, how, and where the manifest says so."""

    batch: str
    text: str
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The truth of a condition, and the fact that decides it."""

    truth: bool
    cause: Cause


class Conditions:
    """Decides conditions in one tree under the facts of one manifest."""

    def __init__(self, manifest: Manifest, sources: Sources, removals: Removals) -> None:
        self.sources = sources
        self.removals = removals
        self.facts = Facts.of(manifest)
        self._stated = {(f.kind, f.name): f for b in manifest.batches for f in b.facts}

    def impossible(self, place: Place) -> Cause | None:
        """The fact because of which a place is never reached."""
        file = self.sources.parsed(place.path)
        if file is None:
            return None
        reader = Reader(self.sources, place.path, place.module, file, _function(file.tree, place.scope))
        for condition in place.conditions:
            verdict = self._condition(condition, reader)
            if verdict is not None and verdict.truth is not condition.holds:
                return verdict.cause
        return None

    def arm(self, place: Place, text: str) -> tuple[object, Cause] | None:
        """What `a if condition else b` gives where the facts decide: a literal or its source."""
        file = self.sources.parsed(place.path)
        try:
            node = ast.parse(f"({text}\n)", mode="eval").body
        except SyntaxError:
            return None
        if file is None or not isinstance(node, ast.IfExp):
            return None
        reader = Reader(self.sources, place.path, place.module, file, _function(file.tree, place.scope))
        decided = self.truth(node.test, reader, 0)
        if decided is None:
            return None
        taken = node.body if decided.truth else node.orelse
        value = taken.value if isinstance(taken, ast.Constant) else ast.unparse(taken)
        return value, decided.cause

    def variable(self, name: str) -> Cause | None:
        """The fact that states the value of an environment variable."""
        return self._cause("environment", name)

    def option(self, names: tuple[str, ...], value: object) -> Cause | None:
        """The statement that an option never has this value."""
        option = self.facts.option_absent(names, value) if isinstance(value, str) else None
        return option_cause(option, value) if option is not None else None

    def _condition(self, condition: Condition, reader: Reader) -> Verdict | None:
        try:
            test = ast.parse(f"({condition.test}\n)", mode="eval").body
        except SyntaxError:
            return None
        return self.truth(test, reader, 0)

    def truth(self, node: ast.expr, reader: Reader, depth: int) -> Verdict | None:
        """The truth of a condition, if the facts decide it."""
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.truth(node.operand, reader, depth)
            return Verdict(not found.truth, found.cause) if found else None
        if isinstance(node, ast.BoolOp):
            return self._several(node, reader, depth)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node, reader)
        if isinstance(node, ast.Call):
            return self._called(node, reader, depth)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(node, reader, depth)
        return None

    def _several(self, node: ast.BoolOp, reader: Reader, depth: int) -> Verdict | None:
        decisive = isinstance(node.op, ast.Or)
        found = [self.truth(value, reader, depth) for value in node.values]
        for one in found:
            if one is not None and one.truth is decisive:
                return one
        return found[0] if all(one is not None for one in found) else None

    def _compared(self, node: ast.Compare, reader: Reader) -> Verdict | None:
        left, right = node.left, node.comparators[0]
        names = tuple(n for n in (_last(left),) if n)
        if isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and isinstance(right, ast.Constant):
            cause = self.option(names, right.value)
            return Verdict(isinstance(node.ops[0], ast.NotEq), cause) if cause else None
        if isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)) and isinstance(
            right, ast.Attribute
        ):
            absent = self.removals.own(reader.qualified(right) or "", "absent")
            if absent is None:
                return None
            cause = Cause(absent.batch, absent.note, absent.mark)
            return Verdict(isinstance(node.ops[0], (ast.NotEq, ast.IsNot)), cause)
        if isinstance(node.ops[0], ast.In) and isinstance(right, (ast.List, ast.Tuple, ast.Set)):
            causes = [
                self.option(names, e.value) if isinstance(e, ast.Constant) else None for e in right.elts
            ]
            return Verdict(False, causes[0]) if causes and causes[0] and all(causes) else None
        return None

    def _called(self, node: ast.Call, reader: Reader, depth: int) -> Verdict | None:
        if node.args and isinstance(node.args[0], ast.Constant) and _last(node.func) == "get_bool_env_var":
            return self._fact("environment", str(node.args[0].value))
        if _last(node.func) == "bool" and len(node.args) == 1:
            return self.truth(node.args[0], reader, depth + 1)
        name = reader.qualified(node.func)
        verdict = self._fact("predicate", name) if name else None
        imported = _imported(reader.file.tree, node.func) if verdict is None else None
        return self._fact("predicate", imported) if imported else verdict

    def _named(self, node: ast.Name | ast.Attribute, reader: Reader, depth: int) -> Verdict | None:
        if isinstance(node, ast.Attribute) and (verdict := self._fact("value", f"*.{node.attr}")):
            return verdict
        bound = reader.find(node)
        if bound is None or not isinstance(bound[1], ast.expr):
            return None
        return self.truth(bound[1], bound[0], depth + 1)

    def _fact(self, kind: str, name: str) -> Verdict | None:
        fact = self._stated.get((kind, name))  # type: ignore[arg-type]
        cause = self._cause(kind, name)
        return Verdict(bool(fact.value), cause) if fact is not None and cause is not None else None

    def _cause(self, kind: str, name: str) -> Cause | None:
        fact: Fact | None = self._stated.get((kind, name))  # type: ignore[arg-type]
        if fact is None:
            return None
        call = "()" if kind == "predicate" else ""
        return Cause(fact.batch, f"on the target {name}{call} is {fact.value}", fact.mark)


def _imported(tree: ast.Module, node: ast.expr) -> str | None:
    """The qualified name of what a file imports from a package outside the tree."""
    if not isinstance(node, ast.Name):
        return None
    for stmt in tree.body:
        if isinstance(stmt, ast.ImportFrom) and not stmt.level:
            for alias in stmt.names:
                if (alias.asname or alias.name) == node.id:
                    return f"{stmt.module}.{alias.name}"
    return None


def _function(tree: ast.Module, scope: str) -> ast.AST | None:
    """The innermost function of a scope, for the names that are assigned in it."""
    body: list[ast.stmt] = tree.body
    function: ast.AST | None = None
    for name in filter(None, scope.split(".")):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        inner = next((s for s in own_statements(body) if isinstance(s, kinds) and s.name == name), None)
        if inner is None:
            return function
        body = inner.body
        function = None if isinstance(inner, ast.ClassDef) else inner
    return function


def option_cause(option: Option, value: object) -> Cause:
    return Cause(option.batch, f"the value {value!r} does not occur", option.mark)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
