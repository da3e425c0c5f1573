"""The edits that a message about a use proposes, as a person adds them to a batch."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from builder.errors import Mark
from builder.graph.names import module_of
from builder.overlay import matching
from builder.select.families import Families
from builder.source.fields import operands
from builder.source.parse import parse
from builder.specialize.leftovers import Leftover
from builder.surface.values import Sources

#: The longest statement that a hint writes out.
_LONGEST = 200
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


def quoted(source: str) -> str:
    """Return source as a scalar of YAML."""
    doubled = source.replace("'", "''")
    return source if source.replace(".", "_").isidentifier() else f"'{doubled}'"


def written(edits: Counter[str], places: int) -> str:
    """Return the edits of uses as part of a hint; an edit that several uses share states their number."""
    if not edits:
        return ""
    which = "this one" if sum(edits.values()) == 1 else f"{sum(edits.values())} of these {places}"
    return f" To drop {which}: {', '.join(counted(edits))}."


def counted(edits: Counter[str]) -> Iterator[str]:
    for edit, n in edits.items():
        yield edit if n == 1 else f"{edit[:-1]}, count: {n}}}"


def fitting(found: Iterable[tuple[str, int]]) -> Counter[str]:
    """Return the edits and how often each is found, of those that match nothing else in their scopes."""
    found = list(found)
    edits = Counter(edit for edit, _ in found if edit)
    matches = dict(found)
    return Counter({edit: n for edit, n in edits.items() if matches[edit] == n})


def drop_of(use: Leftover, where: Mark, sources: Sources) -> tuple[str, int]:
    """Return the edit that drops a use, as it is to be written, and how many places of its scope it matches.

    Empty if the use is neither a statement nor an entry of a list, a tuple or a set on one line. Of a list of
    tuples the whole tuple leaves. Of assignments only `app.state.x = ...` is one to drop: a gate tells who
    reads it.
    """
    module, source = module_of(use.path, sources.packages), sources.parsed(use.path)
    if module is None or source is None:
        return "", 0
    collections = [n for n in ast.walk(source.tree) if isinstance(n, (ast.List, ast.Tuple, ast.Set))]
    rows = {part for n in collections for part in n.elts if isinstance(part, ast.Tuple)}
    for node in ast.walk(source.tree):
        if _is_held(node) and node.lineno == where.line:
            stored = f"{ast.unparse(node.targets[0])} = ..."
            same = [matching.same(one, ast.parse(stored).body[0]) for one in _inside(source.tree, use.scope)]
            return f"{{drop_statement: {quoted(stored)}, in: {_scope(use, module)}}}", sum(same)
        # dropping a `return` or another assignment would change what the code after it does
        parts: list[ast.expr] | list[ast.Expr] = [node] if isinstance(node, ast.Expr) else []
        kind = "drop_statement"
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and node.lineno < where.line:
            parts, kind = node.elts, "drop_entry"
        for part in parts:
            written, line = source.text(part), source.line(where.line - 1).decode().strip(" \r\n,")
            if isinstance(part, ast.Expr) and part.end_lineno != part.lineno:
                written = ast.unparse(part)  # on one line
                line = written if written.startswith(line) and len(written) <= _LONGEST else line
            if part.lineno == where.line and line == written:
                written = ast.unparse(node) if node in rows else written
                edit = f"{{{kind}: {quoted(written)}, in: {_scope(use, module)}}}"
                wanted = matching.entry(written) if kind == "drop_entry" else [node]
                return edit, sum(
                    len(list(matching.drops(one, wanted)))
                    if kind == "drop_entry"
                    else matching.same(one, node)
                    for one in _inside(source.tree, use.scope)
                )
    return "", 0


def _is_held(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Return whether this stores one attribute of an attribute."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return (
        len(targets) == 1
        and isinstance(targets[0], ast.Attribute)
        and isinstance(targets[0].value, ast.Attribute)
    )


def false_condition(use: Leftover, where: Mark, sources: Sources) -> tuple[str, int]:
    """Return the edit that makes false the part of a condition that has a use, if it is on one line, and how
    many places of its scope it matches."""
    module, source = module_of(use.path, sources.packages), sources.parsed(use.path)
    if module is None or source is None:
        return "", 0
    for node in _inside(source.tree, use.scope):
        for part in operands(node.test) if isinstance(node, (ast.If, ast.IfExp, ast.While)) else ():
            if part.lineno == part.end_lineno == where.line and _has(part, use.name):
                edit = f"{{replace: {quoted(source.text(part))}, by: 'False', in: {_scope(use, module)}}}"
                return edit, sum(matching.same(one, part) for one in _inside(source.tree, use.scope))
    return "", 0


def false_around(
    use: Leftover, data: bytes, words: Families, sources: Sources
) -> tuple[tuple[str, int], tuple[str, int] | None]:
    """Return the place of the nearest `if` around a use that asks for a word of the batch, the edit that
    makes its condition false, and how many places of its scope that matches."""
    module, source = module_of(use.path, sources.packages), sources.parsed(use.path)
    around = [
        node
        for node in (_inside(parse(data, use.path).tree, use.scope) if words and module and source else ())
        if isinstance(node, ast.If)
        and node.body[0].lineno <= use.line <= (node.body[-1].end_lineno or 0)
        and any(isinstance(one, ast.Name) and words.member(one.id) for one in ast.walk(node.test))
    ]
    if not around or source is None or module is None:
        return (use.path, 0), None
    node = max(around, key=lambda one: one.lineno)
    asked = quoted(f"if {ast.unparse(node.test)}: ...")
    edit = f"{{replace: {asked}, by: 'if False: ...', in: {_scope(use, module)}}}"
    same = (
        isinstance(one, ast.If) and matching.same(one.test, node.test)
        for one in _inside(source.tree, use.scope)
    )
    return (use.path, node.lineno), (edit, sum(same))


def named_so(use: Leftover, words: Families, sources: Sources) -> tuple[str, str] | None:
    """Return the function of a use and the outermost definition around it that a word of the batch names."""
    module = module_of(use.path, sources.packages)
    source = sources.parsed(use.path)
    top = next(_inside(source.tree, use.scope), None) if use.scope and source else None
    parts = use.scope.split(".") if isinstance(top, _FUNCTIONS) and words else []
    for number, part in enumerate(parts, 1):
        if words.member(part):
            return f"{module}.{use.scope}", f"{module}.{'.'.join(parts[:number])}"
    return None


def _has(node: ast.expr, name: str) -> bool:
    """Return whether an expression has a name, or the first part of a dotted one."""
    first = name.partition(".")[0]
    return any(isinstance(one, ast.Name) and one.id == first for one in ast.walk(node))


def _scope(use: Leftover, module: str) -> str:
    return f"{module}.{use.scope}" if use.scope else module


def _inside(tree: ast.AST, scope: str) -> Iterator[ast.AST]:
    """Yield the nodes of the definitions with this qualified name; of the whole tree if there is no name."""
    tops = [tree]
    for name in filter(None, scope.split(".")):
        tops = [
            node
            for top in tops
            for node in ast.walk(top)
            if isinstance(node, _DEFINITIONS) and node.name == name and node is not top
        ]
    for top in tops:
        yield from ast.walk(top)
