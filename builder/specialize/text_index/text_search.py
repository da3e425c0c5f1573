"""Finds uses of one name in a file by going only where the text holds it, and what the facts may concern.

A walk of a whole tree costs more than parsing it; a name is on a few lines, so only the nodes that
span one of these lines are looked at.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from builder.graph.names import absolute
from builder.source.fields import INNER_FIELDS, bound_name, inner_nodes, nodes
from builder.source.layout import suites
from builder.source.words import file_counts
from builder.specialize.text_index.content import Content
from builder.specialize.unit import Unit, told

Lines = Sequence[int]  # 1-based, sorted

_IDENTIFIER = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*\Z")
_LISTED = re.compile(r"\s*[A-Za-z_]\w*([\s,./:;|]+[A-Za-z_]\w*)*\s*\Z")
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")
#: What `format` reads: `{worker.name}`, `{0[a key].name}`. A name in it stands beside no space.
_FIELD = re.compile(r"\{((?:[^\s{}\[]|\[[^\]]*\])*)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_IDENTIFIERS = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
#: A module and a name of it, as in a table of what may be unpickled.
_PAIR = re.compile(rb"\(\s*[\"']((?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*)[\"'],\s*[\"'][A-Za-z_]\w*[\"'],?\s*\)")
_INNER_WORD = re.compile(rb"(?<=[^A-Za-z_0-9])[A-Za-z_][A-Za-z_0-9]*(?=[^A-Za-z_0-9])")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: a list shorter than this is gone through one by one
_MIN_SUITE = 6
#: a string longer than this is prose, not a reference
_MAX_REFERENCE_LENGTH = 200
_MAX_DATA_LENGTH = 2000
_MAX_ANNOTATION_LENGTH = 300


def lines_with(unit: Unit, words: Iterable[bytes], within: ast.AST | None = None) -> set[int]:
    """The lines that hold one of these words, with no letter, digit or underscore around it.

    Lines of statements that leave at the end of the round hold nothing. `within`: only lines of this node.
    """
    data = unit.text  # nothing is parsed for it
    found: set[int] = set()
    starts: list[int] = unit.starts if within is not None else []
    begin = starts[first_line(within) - 1] if within is not None else 0
    stop = starts[within.end_lineno] if within is not None else len(data)  # type: ignore[attr-defined]
    for word in words:
        at = data.find(word, begin, stop) if word else -1
        while at >= 0:
            end = at + len(word)
            if (at == 0 or data[at - 1] not in _IDENTIFIER) and data[end : end + 1] not in _TAIL:
                starts = starts or unit.starts
                found.add(bisect_right(starts, at))
            at = data.find(word, at + 1, stop)
    for low, high in unit.hidden if found else ():
        found = {line for line in found if not low <= line <= high}
    return found


_TAIL = frozenset(bytes([c]) for c in _IDENTIFIER)


def first_line(node: ast.AST) -> int:
    """The 1-based line where a node begins, its decorators included."""
    low: int = node.lineno  # type: ignore[attr-defined]
    for decorator in getattr(node, "decorator_list", ()):
        low = min(low, decorator.lineno)
    return low


def spans(lines: Lines, low: int, high: int) -> bool:
    """Return whether one of the sorted lines is in [low, high]."""
    at = bisect_left(lines, low)
    return at < len(lines) and lines[at] <= high


def _last_line(stmt: ast.stmt) -> int:
    return stmt.end_lineno or stmt.lineno


def touches(lines: Lines, node: ast.AST) -> bool:
    """Return whether a node spans one of the lines. True for nodes without a place of their own."""
    if getattr(node, "lineno", None) is None:
        return True
    return spans(lines, first_line(node), node.end_lineno or node.lineno)  # type: ignore[attr-defined]


def _on_one_line(node: ast.AST) -> bool:
    low: int | None = getattr(node, "lineno", None)
    return low is not None and low == node.end_lineno and not getattr(node, "decorator_list", None)  # type: ignore[attr-defined]


def children(node: ast.AST, lines: Lines) -> Iterator[ast.AST]:
    """The direct children that span one of the lines, of a node that does."""
    if isinstance(node, ast.JoinedStr):  # places inside f-strings are wrong before Python 3.12
        for inner in nodes(node):
            if inner is not node:
                yield inner
        return
    if _on_one_line(node):  # it spans one of them, so all that stands in it does
        yield from inner_nodes(node)
        return
    for name in INNER_FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if isinstance(value, list):
            if len(value) > _MIN_SUITE and isinstance(value[0], ast.stmt):
                yield from statements(value, lines)
                continue
            for item in value:
                if isinstance(item, ast.AST) and touches(lines, item):
                    yield item
        elif isinstance(value, ast.AST) and touches(lines, value):
            yield value


def statements(suite: Sequence[ast.stmt], lines: Lines) -> Iterator[ast.stmt]:
    """The statements of a suite that span one of the lines."""
    if len(suite) <= _MIN_SUITE or len(lines) > len(suite):
        yield from (stmt for stmt in suite if touches(lines, stmt))
        return
    at = 0
    for line in lines:
        at = bisect_left(suite, line, lo=at, key=_last_line)
        while at < len(suite) and first_line(suite[at]) <= line:  # several can be on one line
            yield suite[at]
            at += 1
        if at == len(suite):
            return


def string_names(value: str) -> Sequence[str]:
    """The names that a string constant may refer to: a dotted name, a quoted annotation, a table."""
    if len(value) >= _MAX_REFERENCE_LENGTH:
        return ()
    if _DOTTED.match(value):
        return value.split(".")
    if "[" in value or "|" in value or ":" in value:
        return _WORD.findall(value)
    return ()


def fields_of(value: object) -> list[str]:
    """The names in what `format` reads of the objects that it gets, if the value is a text."""
    fields = _FIELD.findall(value) if isinstance(value, str) else ()
    return [word for field in fields for word in _WORD.findall(field)]


def possible_names(value: str) -> Sequence[str]:
    """The names that a string may stand for in whatever way: besides, one of a list, in data, in code, and
    what `format` reads of the objects that it gets."""
    data = "{" in value and ('"' in value or "'" in value)
    fields = fields_of(value)
    if len(value) >= (_MAX_DATA_LENGTH if data else _MAX_REFERENCE_LENGTH):
        return fields
    if data or "import " in value or _LISTED.match(value):
        return _WORD.findall(value)
    return [*string_names(value), *_CALLED.findall(value), *fields]


def no_names(value: str) -> Sequence[str]:
    """The names that a string stands for where nothing is looked up by a string."""
    return ()


@told
def refers(
    unit: Unit,
    name: str,
    names: Callable[[str], Sequence[str]] = possible_names,
    imports: bool = True,
    inside: bool = False,
) -> bool:
    """Return whether the file refers to a name from outside the definition of that name.

    Reads, attributes (in patterns, too), imports, `global`, and strings that may be `names` count; a
    definition does not. Without `imports` one that binds the name as it is does not either. `inside`: what
    stands in a definition of that name counts, too.
    """
    return _refers(unit, name, names, imports, inside)


def refers_within(unit: Unit, node: ast.AST, name: str) -> bool:
    """Return whether a definition of a name refers to that name, in itself or in what stands in it."""
    return _refers(unit, name, possible_names, True, True, node)


def _refers(
    unit: Unit,
    name: str,
    names: Callable[[str], Sequence[str]],
    imports: bool,
    inside: bool,
    within: ast.AST | None = None,
) -> bool:
    lines = sorted(lines_with(unit, [name.encode()], within))
    stack: list[ast.AST] = [within or unit.module.tree] if lines else []
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if node.id == name and not isinstance(node.ctx, ast.Store):
                return True
            continue
        if isinstance(node, ast.Constant):
            value = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
            if isinstance(value, str) and name in names(value):
                return True
            continue
        if isinstance(node, ast.Attribute):
            if node.attr == name:
                return True
        elif isinstance(node, ast.alias):
            named = node.asname == name or name in node.name.split(".")
            if named and node not in unit.leaving and (imports or node.asname or node.name != name):
                return True
            continue
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            if name in node.names:
                return True
        elif isinstance(node, ast.MatchClass):  # `case Worker(name=...)` reads the attribute
            if name in node.kwd_attrs:
                return True
        elif isinstance(node, DEFINITIONS) and node.name == name and not inside:
            stack.extend(node.decorator_list)
            continue
        stack.extend(children(node, lines))
    return False


@told
def loads(unit: Unit, name: str) -> bool:
    """Return whether a name is read in the file. Words of short strings count."""
    return loads_within(unit, name)


def loads_within(unit: Unit, name: str, within: ast.AST | None = None) -> bool:
    """Return whether a name is read in one of the nodes of a file, or somewhere in it."""
    lines = sorted(lines_with(unit, [name.encode()], within), reverse=True)
    return any(_loads(within or unit.module.tree, name, [line]) for line in lines)


def _loads(node: ast.AST, name: str, lines: Lines) -> bool:
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if node.id == name and not isinstance(node.ctx, ast.Store):
                return True
        elif isinstance(node, ast.Constant):
            value = node.value
            if (
                isinstance(value, str)
                and len(value) < _MAX_ANNOTATION_LENGTH
                and name in _WORD.findall(value)
            ):
                return True
        else:
            stack.extend(children(node, lines))
    return False


def nodes_on(unit: Unit, name: str) -> Iterator[ast.AST]:
    """Every node that spans a line on which the file holds the name."""
    lines = sorted(lines_with(unit, [name.encode()]))
    return _nodes(unit.module.tree, lines) if lines else iter(())


def nodes_like(unit: Unit, name: str, what: str, test: Callable[[ast.AST], object]) -> Iterator[ast.AST]:
    """Those of the nodes of `nodes_on` that pass a test, which looks at a node and what is below it alone.

    A file in which there is none is not parsed. `what`: names the test; the same name is the same test.
    """
    if unit.told((what, name), lambda: any(map(test, nodes_on(unit, name)))):
        yield from filter(test, nodes_on(unit, name))


def classes_called(unit: Unit, name: str) -> Iterator[ast.ClassDef]:
    """The class statements of a file that bind a name, at any depth."""

    def binds(node: ast.AST) -> bool:
        return isinstance(node, ast.ClassDef) and node.name == name

    yield from nodes_like(unit, name, "class called", binds)  # type: ignore[misc]


def _nodes(tree: ast.Module, lines: Lines) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node, lines))


def import_hits(content: Content, package: str, gone: Callable[[str], bool]) -> list[int]:
    """Offsets of the imports, and of the pairs of texts, that name a module for which `gone` holds."""
    found: list[int] = []
    for offset, written, names in content.statements:
        module = absolute(written, package)
        if gone(module) or any(gone(f"{module}.{name}") for name in names):
            found.append(offset)
    return found + [pair.start() for pair in _PAIR.finditer(content.data) if gone(pair[1].decode())]


class RelevantLines:
    """The 1-based lines that hold a needle, or a name that a statement with a needle binds."""

    def __init__(self, unit: Unit, needles: Iterable[str], offsets: Iterable[int]) -> None:
        starts = unit.starts
        shift = len(unit.content.data) - len(unit.text)
        lines = {bisect_right(starts, max(0, o - shift)) for o in offsets}
        wanted = {n.encode() for n in needles}
        fresh = lines | lines_with(unit, _present(unit, wanted))
        lines |= fresh
        while fresh:
            names = {n.encode() for n in bound(unit.module.tree.body, sorted(fresh))} - wanted
            wanted |= names
            fresh = lines_with(unit, names) - lines
            lines |= fresh
        self.lines = sorted(lines)

    def touch(self, node: ast.AST) -> bool:
        return touches(self.lines, node)


def _present(unit: Unit, needles: Iterable[bytes]) -> list[bytes]:
    """Those of the needles that the file holds: identifiers by its set of words, others by search."""
    words = file_counts(unit.text).keys()
    data, wanted = unit.text, frozenset(needles)
    texts = (n for n in wanted - words if not _is_word(n) and words >= _inner_words(n))
    return [*(wanted & words), *(n for n in texts if n in data)]


@cache
def _is_word(needle: bytes) -> bool:
    return needle.isalnum() or _IDENTIFIERS.fullmatch(needle) is not None


@cache
def _inner_words(needle: bytes) -> frozenset[bytes]:
    """The words that every text with a needle has: those to which no letter outside of it can be joined."""
    return frozenset(_INNER_WORD.findall(needle))


def bound(suite: Sequence[ast.stmt], lines: Lines) -> Iterator[str]:
    """The names that assignments and imports which span one of the lines bind, in whatever scope."""
    for stmt in statements(suite, lines):
        if isinstance(stmt, ast.Assign):
            yield from (t.id for t in stmt.targets if isinstance(t, ast.Name))
        elif isinstance(stmt, ast.AnnAssign):
            if stmt.value is not None and isinstance(stmt.target, ast.Name):
                yield stmt.target.id
        elif isinstance(stmt, (ast.Import, ast.ImportFrom)):
            yield from (bound_name(stmt, alias) for alias in stmt.names if alias.name != "*")
        else:
            for inner in suites(stmt):
                yield from bound(inner, lines)
