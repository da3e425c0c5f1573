"""The text of each edited file at the end: in the formatter's layout where we edited it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from builder.memo import recall_each
from builder.source.agreement import agrees
from builder.source.fields import nodes
from builder.source.parse import parse
from builder.specialize.format_edits import format_edits, format_files
from builder.specialize.text_index.content import Content

#: What makes a logger: a module's own is nothing that others take.
_LOGGER = "logging.getLogger"


def laid_out(texts: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Each second text in the formatter's layout where it differs from the first."""
    return recall_each("layout", texts, lambda some: _laid_out([texts[number] for number in some]))


def _laid_out(texts: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    formatted = format_files({str(number): data for number, (_, data) in enumerate(texts)})
    better = [
        format_edits(original, data, formatted.get(str(number), data))
        for number, (original, data) in enumerate(texts)
    ]
    return [new if _agree(data, new) else data for (_, data), new in zip(texts, better, strict=True)]


def _agree(data: bytes, better: bytes) -> bool:
    """Return whether a text is the same program in another layout."""
    try:
        return data == better or agrees(parse(data, ""), [], parse(better, ""))
    except SyntaxError:
        return False


def is_empty(content: Content) -> bool:
    """Return whether nothing that anybody could use is left in a file."""
    return content.get(("empty",), lambda: is_empty_module(parse(content.data, "").tree))


def is_empty_module(tree: ast.Module) -> bool:
    """Return whether nothing is left but a docstring, a logger, an empty `__all__`, and what these read.

    An import that nothing here reads counts as something: other modules may take it from here.
    """
    own = [stmt for stmt in tree.body if not isinstance(stmt, (ast.Import, ast.ImportFrom))]
    if not all(map(_nothing, own)):
        return False
    read = {node.id for stmt in own for node in nodes(stmt) if isinstance(node, ast.Name)}
    return all(
        bound in read
        for stmt in tree.body
        if isinstance(stmt, (ast.Import, ast.ImportFrom))
        if not (isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__")
        for bound in (alias.asname or alias.name for alias in stmt.names)
    )


def _nothing(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.Pass):
        return True
    if isinstance(stmt, ast.Expr):
        return isinstance(stmt.value, ast.Constant)
    if isinstance(stmt, ast.If):
        typing = isinstance(stmt.test, ast.Name) and stmt.test.id == "TYPE_CHECKING"
        return typing and all(map(_nothing, (*stmt.body, *stmt.orelse)))
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return False
    target, value = stmt.targets[0], stmt.value
    if not isinstance(target, ast.Name):
        return False
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) == _LOGGER
    return target.id == "__all__" and isinstance(value, (ast.List, ast.Tuple)) and not value.elts
