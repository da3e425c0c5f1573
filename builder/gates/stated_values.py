"""G014: what the facts say attributes hold fits the code that is left.

Every reading of an attribute that a fact states becomes the value. The fact is wrong if a class of the output
gives the attribute another value, if None stands where it raises an error (`0 < None`, `None[0]`), or if
another literal does not have the attribute that it is asked for (`"null".value`). A field that is declared
absent must not be read by a method of its class: it exists only once something stored it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Problem
from builder.graph.names import module_of
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Fact
from builder.memo import remembered
from builder.source.fields import nodes
from builder.source.parse import parse
from builder.source.words import class_constants, file_counts

_CLASS_HINT = "state the value that the class gives, declare the attribute absent, or except its name"
_FIELD_HINT = (
    'state under facts.values what it is without the option (`"*.{name}": ...`), and each reading leaves'
)
_NONE_HINT = "except the name from the batch's words, state its true value, or remove this code by an edit"
_LITERAL_HINT = (
    "state what the attribute gives as a fact, too (`*.owner.{}`), or replace the reading by an edit"
)
#: Expressions that raise an error if one of their parts is None, or another literal.
_MAY_RAISE = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Starred, ast.Attribute, ast.Call)
#: Builtins that raise an error for None.
_NEED_A_VALUE = frozenset(["enumerate", "float", "int", "iter", "len", "list", "range", "sum", "zip"])
#: What a literal may be asked for.
_ASKED = re.compile(rb"(?:[\"']|\bTrue|\bFalse)\.[A-Za-z_]|\bNone\b")


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """Problems for defaults of classes that contradict a fact, and for None where upstream has none."""
    stated = {
        fact.name.removeprefix("*."): fact
        for batch in manifest.batches
        for fact in batch.facts
        if fact.kind == "value" and fact.name.startswith("*.") and fact.name.count(".") == 1
    }
    absent = {one.name: one for batch in manifest.batches for one in batch.absent if one.kind == "symbol"}
    names = {name.encode() for name in stated}
    problems: list[Problem] = []
    for path, summary in after.summaries.items():
        snapshot = after.snapshot
        if summary.error is not None or snapshot.tree[path] == before.snapshot.tree.get(path):
            continue
        data = snapshot[path]
        if not names.isdisjoint(file_counts(data)):
            problems += _defaults(after, path, stated)
        problems += _fields(after, path, f"{module_of(path, manifest.packages)}.", absent)
        ours = misuses(data) if _ASKED.search(data) else ()
        old = before.summaries.get(path) if ours else None
        readable = old is not None and old.error is None
        theirs = Counter(text for _, text in (misuses(before.snapshot[path]) if readable else ()))
        for line, text in ours:
            if theirs[text]:
                theirs[text] -= 1
                continue
            message = f"{path}:{line}: `{text[:80]}` raises an error"
            hint = _NONE_HINT if "None" in text else _LITERAL_HINT.format(text.rpartition(".")[2])
            problems.append(after.problem("G014", path, line, message, hint=hint))
    return problems


def _defaults(after: IndexedTree, path: str, stated: Mapping[str, Fact]) -> Iterator[Problem]:
    """Problems for constants in the bodies of classes that differ from what a fact states."""
    for line, cls, name, value in class_constants(after.snapshot[path]):
        fact = stated.get(name)
        if fact is not None and not _fits(fact, value):
            message = f"`{fact.name}` is {fact.value!r} (batch {fact.batch}), and {cls} sets it to {value!r}"
            yield after.problem("G014", path, line, message, fact.mark, _CLASS_HINT)


def _fields(after: IndexedTree, path: str, module: str, absent: Mapping[str, Absent]) -> Iterator[Problem]:
    """Problems for absent fields that a method of their class reads from `self`."""
    if not any(name.startswith(module) for name in absent):
        return
    for cls in parse(after.snapshot[path], path).tree.body:
        owner = f"{module}{cls.name}." if isinstance(cls, ast.ClassDef) else ""
        if not owner or not any(name.startswith(owner) for name in absent):
            continue
        for node in nodes(cls):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Load(), attr=name, lineno=line):
                    if one := absent.get(f"{owner}{name}"):
                        message = (
                            f"{path}:{line}: self.{name} is read, and batch {one.batch} removes the field"
                        )
                        yield after.problem(
                            "G014", path, line, message, one.mark, _FIELD_HINT.format(name=name)
                        )


def _fits(fact: Fact, value: object) -> bool:
    if not fact.exact:
        return bool(value) is bool(fact.value)
    return type(value) is type(fact.value) and value == fact.value


@remembered
def misuses(data: bytes) -> tuple[tuple[int, str], ...]:
    """(line, source) of each expression that raises an error because one of its parts is a literal."""
    return tuple(
        (node.lineno, ast.unparse(node))
        for node in nodes(parse(data, "").tree)
        if isinstance(node, _MAY_RAISE) and _raises(node)
    )


def _raises(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(said)), right=right) if _none(right):
            return not _formats_none(said)
        case ast.BinOp(op=operator):
            return not isinstance(operator, ast.BitOr) and (_none(node.left) or _none(node.right))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert()):
            return _none(node.operand)
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return any(
                (isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and (_none(one) or _none(two)))
                or (isinstance(operator, (ast.In, ast.NotIn)) and _none(two))
                for operator, one, two in zip(node.ops, sides, sides[1:], strict=False)
            )
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return _none(value)
        case ast.Attribute(value=value, attr=name):
            dunder = name.startswith("__")
            return isinstance(value, ast.Constant) and not dunder and not hasattr(value.value, name)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]):
            return name in _NEED_A_VALUE and _none(first)
        case ast.Call(func=called):
            return _none(called)
        case _:
            return False


def _formats_none(said: str) -> bool:
    """Return whether a text puts None into itself: `"%s" % None`."""
    try:
        return bool(said % None)
    except (TypeError, ValueError):
        return False


def _none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
