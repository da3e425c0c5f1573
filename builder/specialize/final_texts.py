"""The text of each edited file at the end: in the formatter's layout where we edited it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from builder.memo import recall, recall_each
from builder.source.agreement import agrees
from builder.source.fields import nodes
from builder.source.parse import parse
from builder.specialize.checked_edits import CheckedEdits
from builder.specialize.format_edits import format_edits, format_files
from builder.specialize.text_index.content import Contents
from builder.specialize.unit import Unit

#: What makes a logger: a module's own is nothing that others take.
_LOGGER = "logging.getLogger"


@dataclass(frozen=True, slots=True)
class FinalText:
    """`empty`: nothing that anybody could use is left in the file."""

    data: bytes
    empty: bool


@dataclass(frozen=True, slots=True)
class FinalTexts:
    """`original`: the layout to keep outside of the edits; `unit`: a file as it is now; `units`: takes the
    parsed final texts."""

    files: Mapping[str, bytes]
    original: Callable[[str], bytes]
    names: Mapping[str, str]
    unit: Callable[[str], Unit]
    units: MutableMapping[str, Unit]
    edits: CheckedEdits
    contents: Contents

    def of(self, paths: Sequence[str]) -> list[FinalText]:
        """The final text of each file, in order."""
        given = [(self.original(path), self.files[path]) for path in paths]
        better = recall_each("layout", given, lambda some: _laid_out([given[number] for number in some]))
        return [self._final(path, text) for path, text in zip(paths, better, strict=True)]

    def _final(self, path: str, better: bytes) -> FinalText:
        data = self._text(path, self.files[path], better)
        empty = self.contents.of(data).get(
            ("empty",), lambda: _parses(path, data) and is_empty_module(parse(data, path).tree)
        )
        return FinalText(data, empty)

    def _text(self, path: str, data: bytes, better: bytes) -> bytes:
        """The file in the better layout, if that is the same program."""
        last = self.edits.take(path)
        if last is None and better == data:
            return data
        if last is None and recall("layout of one program", (data, better), lambda: _agree(data, better)):
            self.units[path] = Unit(path, self.names[path], self.contents.of(better))
            return better
        unit, ops = last or (self.unit(path), [])
        for text in (better, data) if better != data else (data,):
            if not _parses(path, text):
                continue
            module = parse(text, path)
            if text is data:
                self.edits.compare(unit, ops, module)
            elif not agrees(unit.module, ops, module):
                continue
            self.units[path] = Unit(path, self.names[path], self.contents.of(text))
            return text
        self.edits.report(path, "the edits do not give Python")
        return data


def _laid_out(texts: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Each second text in the formatter's layout where it differs from the first."""
    formatted = format_files({str(number): data for number, (_, data) in enumerate(texts)})
    return [
        format_edits(original, data, formatted.get(str(number), data))
        for number, (original, data) in enumerate(texts)
    ]


def _agree(data: bytes, better: bytes) -> bool:
    """Return whether a text is the same program in another layout."""
    return _parses("", better) and agrees(parse(data, ""), [], parse(better, ""))


def _parses(path: str, data: bytes) -> bool:
    try:
        parse(data, path)
    except SyntaxError:
        return False
    return True


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
