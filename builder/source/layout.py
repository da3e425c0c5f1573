"""Where the clauses, suites and comments of a statement lie, in lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from builder.source.parse import Module

_COMMENT = re.compile(rb"[ \t\f]*#")


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a compound statement; lines are 0-based, ends exclusive.

    `lead` is where the comments glued above its keyword begin; `body` where its suite begins (the
    line after the colon, or the keyword's own line for a one-line suite); `end` after its last line.
    """

    line: int
    lead: int
    body: int
    end: int
    suite: list[ast.stmt]
    inline: bool
    node: ast.AST | None = None  # the If of an if/elif clause, the handler, the match case


def first_line(node: ast.AST) -> int:
    """0-based first line of a statement, decorators included."""
    lines: list[int] = [node.lineno]  # type: ignore[attr-defined]
    lines += [d.lineno for d in getattr(node, "decorator_list", ())]
    return min(lines) - 1


def text_at(line: bytes) -> int:
    """Where the text of a line begins."""
    return len(line) - len(line.lstrip(b" \t\f"))


def margin(line: bytes) -> bytes:
    """The indentation of a line: what stands before a form feed does not count, as in Python."""
    return line[: text_at(line)].rpartition(b"\f")[2]


def is_blank(line: bytes) -> bool:
    return not line.strip()


def is_comment(line: bytes) -> bool:
    return bool(_COMMENT.match(line))


def suite_end(module: Module, suite: list[ast.stmt], column: int) -> int:
    """The line after a suite and the deeper-indented comments that trail it."""
    end = suite[-1].end_lineno or suite[-1].lineno
    at = end
    while at < len(module.starts) - 1:
        line = module.line(at)
        if is_blank(line):
            at += 1
        elif is_comment(line) and len(margin(line)) > column:
            at += 1
            end = at
        else:
            break
    return end


def statement_end(module: Module, stmt: ast.stmt) -> int:
    """The line after a statement and the comments that trail its last suite."""
    below = list(suites(stmt))
    if not below:
        return stmt.end_lineno or stmt.lineno
    return suite_end(module, below[-1], _column(module, stmt))


def comments_above(module: Module, stmt: ast.stmt) -> int:
    """The first line of the comments directly above a statement, or its own first line."""
    top = line = first_line(stmt)
    while top > 0 and top - 1 not in module.string_lines:
        above = module.line(top - 1)
        if not is_comment(above) or text_at(above) != stmt.col_offset:
            break
        top -= 1
    return line if top < line and module.line(top).startswith(b"#!") else top


def blank_lines(module: Module, low: int, high: int, first: bool) -> int:
    """How many blank lines leave with lines: what is left has as many as the longer run had.

    `first`: nothing stands before in the suite, so none are left.
    """
    before, after = 0, 0
    while low - before > 0 and is_blank(module.line(low - before - 1)):
        before += 1
    while high + after < len(module.starts) - 1 and is_blank(module.line(high + after)):
        after += 1
    return after if first and not before else min(before, after)


def _column(module: Module, stmt: ast.stmt) -> int:
    return len(margin(module.line(stmt.lineno - 1)))


def flatten(module: Module, node: ast.If) -> list[tuple[ast.If | None, list[ast.stmt]]]:
    """The clauses of an if chain as written: (If of if/elif, or None for else; suite)."""
    found: list[tuple[ast.If | None, list[ast.stmt]]] = [(node, node.body)]
    rest = node.orelse
    while rest and isinstance(rest[0], ast.If) and module.data.startswith(b"elif", module.start(rest[0])):
        found.append((rest[0], rest[0].body))
        rest = rest[0].orelse
    if rest:
        found.append((None, rest))
    return found


def clauses(module: Module, node: ast.stmt) -> list[Clause]:
    """The clauses of a compound statement, in order of the text."""
    column = _column(module, node)
    # where a clause begins: at a line, or at the word of `else` and `finally`, which no node stands for
    parts: list[tuple[int | str, list[ast.stmt], ast.AST | None]] = []
    if isinstance(node, ast.If):
        for item, suite in flatten(module, node):
            parts.append(("else" if item is None else item.lineno - 1, suite, item))
    elif isinstance(node, ast.Match):
        for case in node.cases:
            line = _keyword_line(module, "case", node.lineno, case.pattern.lineno - 1, None)
            parts.append((line, case.body, case))
    else:
        parts.append((first_line(node), node.body, None))  # type: ignore[attr-defined]
        parts += [(handler.lineno - 1, handler.body, handler) for handler in getattr(node, "handlers", ())]
        for word, field in (("else", "orelse"), ("finally", "finalbody")):
            if last := getattr(node, field, None):
                parts.append((word, last, None))
    found: list[Clause] = []
    previous_end: int | None = None
    for at, suite, clause in parts:
        if isinstance(at, str):
            assert previous_end is not None
            at = _keyword_line(module, at, previous_end - 1, first_line(suite[0]), column)
        lead = at if previous_end is None else _lead(module, at, previous_end)
        inline = not starts_line(module, suite[0])
        case_column = len(margin(module.line(at))) if isinstance(node, ast.Match) else column
        end = suite_end(module, suite, case_column)
        body = first_line(suite[0]) if inline else _body_line(module, suite, at)
        found.append(Clause(at, lead, body, end, suite, inline, clause))
        previous_end = end
    return found


def starts_line(module: Module, stmt: ast.stmt) -> bool:
    """Return whether a statement is the first on its line."""
    before = module.data[module.starts[first_line(stmt)] : module.start_with_decorators(stmt)]
    return not before.strip(b" \t\f@(" if getattr(stmt, "decorator_list", ()) else b" \t\f")


def _body_line(module: Module, suite: list[ast.stmt], keyword_line: int) -> int:
    """The first line of a suite, with the comments between the colon and its first statement."""
    line = first_line(suite[0])
    while line - 1 > keyword_line:
        above = module.line(line - 1)
        if line - 1 in module.string_lines or not (is_blank(above) or is_comment(above)):
            break
        line -= 1
    return line


def _lead(module: Module, line: int, floor: int) -> int:
    while line > floor and (is_comment(module.line(line - 1)) or is_blank(module.line(line - 1))):
        line -= 1
    return line


def _keyword_line(module: Module, word: str, low: int, high: int, column: int | None) -> int:
    pattern = re.compile(rb"[ \t\f]*" + word.encode() + rb"\b")
    for line in range(high, low - 1, -1):
        text = module.line(line)
        if pattern.match(text) and (column is None or len(margin(text)) == column):
            return line
    raise ValueError(f"{module.path}: no '{word}' between lines {low + 1} and {high + 1}")


def suites(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The suites directly below a statement or a module, in source order."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        value = getattr(node, field, None)
        if not isinstance(value, list):  # the body of a lambda or of `a if b else c` is an expression
            continue
        if field in ("handlers", "cases"):
            yield from (clause.body for clause in value)
        elif value:
            yield value
