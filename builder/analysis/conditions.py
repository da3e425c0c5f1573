"""Decides whether a condition of upstream's code can hold on the target, by the facts and nothing else.

This is not the evaluator that cuts: it decides conditions a second time, more simply, so that a fact explains
what the cut removed, and not the cut itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from builder.analysis.removals import Removals
from builder.manifest.model import Manifest
from builder.manifest.statements import Batch, Fact, Option, Reason
from builder.overlay.locate import imported
from builder.source.fields import last_name
from builder.specialize.evaluating.facts import Facts
from builder.surface.model import Place
from builder.surface.values import Reader, Sources

_MAX_DEPTH = 8


class Verdict(NamedTuple):
    """The truth of a condition, and the fact that decides it."""

    truth: bool
    cause: Reason


class Conditions:
    """Decides conditions in one tree under the facts of one manifest."""

    def __init__(self, manifest: Manifest, sources: Sources, removals: Removals) -> None:
        self.sources = sources
        self.removals = removals
        self.facts = Facts.of(manifest)
        self._stated: dict[tuple[str, str], Fact] = {
            (f.kind, f.name): f for b in manifest.batches for f in b.facts
        }

    def impossible(self, place: Place) -> Reason | None:
        """Return the fact by which a place is never reached."""
        for condition in place.conditions:
            verdict = self._at(place, _parsed(condition.test))
            if verdict is not None and verdict.truth is not condition.holds:
                return verdict.cause
        return None

    def arm(self, place: Place, text: str) -> tuple[object, Reason] | None:
        """Return the value of a condition, or of `a if condition else b`, if the facts decide it: a literal
        or its source."""
        node = _parsed(text)
        verdict = self._at(place, node.test if isinstance(node, ast.IfExp) else node)
        if verdict is None or not isinstance(node, ast.IfExp):
            return verdict
        taken = node.body if verdict.truth else node.orelse
        return taken.value if isinstance(taken, ast.Constant) else ast.unparse(taken), verdict.cause

    def _at(self, place: Place, test: ast.expr | None) -> Verdict | None:
        reader = self.sources.reader(place.path, place.module, place.scope) if test is not None else None
        return self.truth(test, reader) if test is not None and reader is not None else None

    def variable(self, name: str) -> Reason | None:
        """The fact that states the value of an environment variable."""
        verdict = self._fact("environment", name)
        return verdict.cause if verdict else None

    def option(self, names: tuple[str, ...], value: object) -> Reason | None:
        """The statement that an option never has this value."""
        option = self.facts.option_absent(names, value) if isinstance(value, str) else None
        return _never(option, value) if option is not None else None

    def truth(self, node: ast.expr, reader: Reader, depth: int = 0) -> Verdict | None:
        """The truth of a condition, if the facts decide it."""
        if depth > _MAX_DEPTH:
            return None
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                verdict = self.truth(inner, reader, depth)
                return Verdict(not verdict.truth, verdict.cause) if verdict else None
            case ast.BoolOp(op=operator, values=values):
                verdicts = [self.truth(value, reader, depth) for value in values]
                decisive = isinstance(operator, ast.Or)
                first = next((one for one in verdicts if one is not None and one.truth is decisive), None)
                return first or (verdicts[0] if all(verdicts) else None)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return self._compared(left, operator, right, reader)
            case ast.Call():
                return self._called(node, reader, depth)
            case ast.Name() | ast.Attribute():
                return self._named(node, reader, depth)
        return None

    def _compared(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr, reader: Reader
    ) -> Verdict | None:
        names = tuple(filter(None, [last_name(left)]))
        match operator, right:
            case ast.Eq() | ast.NotEq(), ast.Constant(value=value):
                cause = self.option(names, value)
                return Verdict(isinstance(operator, ast.NotEq), cause) if cause else None
            case ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot(), ast.Attribute():
                absent = self.removals.own(reader.qualified(right) or "", "absent")
                if absent is None:
                    return None
                cause = Reason(absent.batch, absent.note, absent.mark)
                return Verdict(isinstance(operator, (ast.NotEq, ast.IsNot)), cause)
            case ast.In(), ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                values = [getattr(item, "value", None) for item in items]
                causes = [self.option(names, value) for value in values]
                return Verdict(False, causes[0]) if causes and causes[0] and all(causes) else None
        return None

    def _called(self, node: ast.Call, reader: Reader, depth: int) -> Verdict | None:
        match last_name(node.func), node.args:
            case "get_bool_env_var", [ast.Constant(value=variable), *_]:
                return self._fact("environment", str(variable))
            case "bool", [argument]:
                return self.truth(argument, reader, depth + 1)
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
        fact = self._stated.get((kind, name))
        if fact is None:
            return None
        return Verdict(bool(fact.value), Reason(fact.batch, on_the_target(fact), fact.mark))


def _imported(tree: ast.Module, node: ast.expr) -> str | None:
    """The qualified name of what a file imports from a package outside the tree."""
    name = node.id if isinstance(node, ast.Name) else ""
    froms = (stmt for stmt in tree.body if isinstance(stmt, ast.ImportFrom) and not stmt.level)
    return next((one for stmt in froms for one in imported(stmt, name)), None)


def _parsed(text: str) -> ast.expr | None:
    """An expression by its text, which may be a part of one that goes over several lines."""
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except SyntaxError:
        return None


def on_the_target(fact: Fact) -> str:
    """Return what a fact states, as a clause."""
    if fact.kind == "attribute":
        return f"on the target there is no {fact.name}"
    return f"on the target {fact.name}{'()' if fact.kind == 'predicate' else ''} is {fact.value}"


def fact_words(batch: Batch) -> Iterator[tuple[str, Reason]]:
    """Yield the words by which code asks for a fact of a batch, names and texts, these with a `"` before."""
    for fact in batch.facts:
        if fact.kind in ("predicate", "value", "environment", "attribute"):
            last = fact.name.rpartition(":")[2].rpartition(".")[2]
            why = Reason(batch.id, on_the_target(fact), fact.mark)
            yield from ((last, why), (f'"{last}', why))


def option_words(facts: Facts) -> Iterator[tuple[str, Reason]]:
    """Yield the values that options never have, as texts with a `"` before them."""
    for option in facts.options:
        yield from ((f'"{value}', _never(option, value)) for value in option.values)


def _never(option: Option, value: object) -> Reason:
    return Reason(option.batch, f"the value {value!r} does not occur", option.mark)
