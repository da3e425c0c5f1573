"""Edits the text: operations on nodes become byte spans, applied in one pass.

Outside what an operation removes, every byte stays as it is; lines that move to another depth change
their indentation only, and never inside a string.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from builder.source.expressions import annotation_spans, guard_spans, operand_spans, replace_spans
from builder.source.fields import inner_nodes
from builder.source.items import drop_items
from builder.source.layout import (
    Clause,
    blank_lines,
    clauses,
    comments_above,
    first_line,
    is_blank,
    is_comment,
    margin,
    starts_line,
    statement_end,
    text_at,
)
from builder.source.ops import (
    Body,
    Decide,
    Documented,
    DropAnnotation,
    DropGuard,
    DropItem,
    ImportModule,
    Op,
    Operands,
    Remove,
    Replace,
    Unwrap,
    by_itself,
    line_of,
)
from builder.source.parse import BOM, Module, documentation
from builder.source.spans import DEDENT, Span, apply_spans


def splice(module: Module, ops: Iterable[Op]) -> bytes:
    """The file's bytes after the operations. Raises ValueError for an operation that cannot be done."""
    return (BOM if module.bom else b"") + _Splicer(module, ops).run()


class _Splicer:
    def __init__(self, module: Module, ops: Iterable[Op]) -> None:
        self.module = module
        self.removed: set[ast.AST] = set()
        self.decided: dict[ast.AST, bool] = {}
        self.unwrapped: dict[ast.AST, list[ast.stmt]] = {}
        self.bodies: dict[ast.AST, str] = {}
        self.dropped: defaultdict[tuple[ast.AST, str], set[int]] = defaultdict(set)
        self.small: list[Operands | ImportModule | DropAnnotation | DropGuard] = []
        self.replaced: dict[ast.expr, ast.expr | str] = {}
        self.spans: list[Span] = []
        for op in ops:
            if isinstance(op, Remove):
                self.removed.add(op.node)
            elif isinstance(op, Decide):
                self.decided[op.node] = op.value
            elif isinstance(op, Unwrap):
                self.unwrapped[op.node] = list(op.suite)
            elif isinstance(op, Body):
                self.bodies[op.node] = op.source
            elif isinstance(op, DropItem):
                self.dropped[op.node, op.field].add(op.index)
            elif isinstance(op, Replace):
                self.replaced[op.node] = op.by
            else:
                self.small.append(op)

    def run(self) -> bytes:
        module = self.module
        self.lines = sorted({line_of(node) for node in self.touched_nodes()})
        self.lose_new_docstrings(module.tree)
        self.suite(module.tree.body, None)
        for (node, field), indices in self.dropped.items():
            if field in ("handlers", "cases"):
                self.drop_clauses(node, field, indices)
        self.replace()
        for op in self.small:
            if isinstance(op, Operands):
                self.spans.extend(operand_spans(module, op))
            elif isinstance(op, ImportModule):
                new = b"import " + op.module.encode()
                self.spans.append((module.start(op.node), module.end(op.node), new))
            elif isinstance(op, DropGuard):
                self.spans.extend(guard_spans(module, op))
            else:
                self.spans.extend(annotation_spans(module, op))
        self.spans.extend(drop_items(module, self.dropped))
        return apply_spans(module.data, self.spans)

    # -- statements ---------------------------------------------------------------------------

    def touched_nodes(self) -> Iterator[ast.AST]:
        """Every node that an operation names."""
        yield from chain(self.removed, self.decided, self.unwrapped, self.bodies, self.replaced)
        yield from (node for node, _ in self.dropped)

    def lose_new_docstrings(self, owner: ast.AST) -> None:
        """Remove the strings that would become docstrings, here and in what is defined within."""
        if isinstance(owner, Documented) and owner not in self.bodies:
            for stmt in self.left(owner.body):
                if stmt is owner.body[0] and documentation(stmt) is not None:
                    break
                if not self.is_text(stmt):
                    break
                self.removed.add(stmt)
        for child in inner_nodes(owner):
            if not isinstance(child, ast.expr) and self.spans_operation(child):
                self.lose_new_docstrings(child)

    def spans_operation(self, node: ast.AST) -> bool:
        low, high = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if low is None or high is None:  # a case of `match` has no place
            return True
        at = bisect_left(self.lines, first_line(node) + 1)
        return at < len(self.lines) and self.lines[at] <= high

    def left(self, stmts: list[ast.stmt]) -> Iterator[ast.stmt]:
        """The statements that a suite will consist of, in order."""
        for stmt in stmts:
            if stmt in self.removed:
                continue
            if stmt in self.unwrapped:
                yield from self.left(self.unwrapped[stmt])
            elif isinstance(stmt, ast.If):
                chosen = self.choose(clauses(self.module, stmt))
                if chosen and self.is_else(chosen[0]):
                    yield from self.left(chosen[0].suite)
                elif chosen:
                    yield stmt
            elif isinstance(stmt, ast.Try) and self.stands_alone(stmt):
                yield from self.left(stmt.body)
            else:
                yield stmt

    def is_text(self, stmt: ast.stmt) -> bool:
        """Return whether a statement will be nothing but a string."""
        if not isinstance(stmt, ast.Expr):
            return False
        value: ast.expr | str = stmt.value
        while not isinstance(value, str) and value in self.replaced:
            value = self.replaced[value]
        found = by_itself(value) if isinstance(value, str) else value
        return isinstance(found, ast.Constant) and isinstance(found.value, str)

    def suite(self, stmts: list[ast.stmt], owner: ast.AST | None) -> bool:
        """Edit a suite; False when nothing of it is left."""
        left = False
        gone: list[int] = []
        for index, stmt in enumerate(stmts):
            if self.statement(stmt):
                left = True
            else:
                gone.append(index)
        if left or owner is None:
            self.remove_statements(stmts, gone)
        return left

    def survives(self, stmts: list[ast.stmt]) -> bool:
        """Return whether anything of this suite would be left; no edits are made."""
        return next(self.left(stmts), None) is not None

    def statement(self, stmt: ast.stmt) -> bool:
        """Edit one statement; False when it leaves with nothing in its place (not yet deleted)."""
        if stmt in self.removed:
            return False
        if stmt in self.bodies:
            self.new_body(stmt, self.bodies[stmt])
            return True
        if stmt in self.unwrapped:
            return self.unwrap(stmt, self.unwrapped[stmt])
        if isinstance(stmt, ast.If):
            return self.chain(stmt)
        if isinstance(stmt, ast.Try) and self.stands_alone(stmt):
            return self.unwrap(stmt, stmt.body)
        for field in ("body", "orelse", "finalbody"):
            suite = getattr(stmt, field, None)
            if isinstance(suite, list) and suite and isinstance(suite[0], ast.stmt):
                self.clause_suite(stmt, suite, field)
        for field in ("handlers", "cases"):
            for index, item in enumerate(getattr(stmt, field, ())):
                if index not in self.dropped.get((stmt, field), ()):
                    self.clause_suite(stmt, item.body, "body")
        return True

    def stands_alone(self, stmt: ast.Try) -> bool:
        """Return whether the body is all that is left of a `try`."""
        handlers = len(stmt.handlers) - len(self.dropped.get((stmt, "handlers"), ()))
        return not handlers and not self.survives(stmt.finalbody)

    def clause_suite(self, owner: ast.stmt, suite: list[ast.stmt], field: str) -> None:
        if not any(map(self.spans_operation, suite)):
            return
        if self.survives(suite):
            self.suite(suite, owner)
            return
        clause = next(c for c in clauses(self.module, owner) if c.suite is suite)
        if field in ("orelse", "finalbody"):
            self.delete_lines(clause.lead, clause.end)
        else:
            self.pass_clause(clause)

    def pass_clause(self, clause: Clause) -> None:
        module, suite = self.module, clause.suite
        if clause.inline:
            self.spans.append((module.start(suite[0]), module.end(suite[-1]), b"pass"))
            return
        first = module.line(first_line(suite[0]))
        indent = margin(first)
        newline = module.newline(first_line(suite[0]))
        self.replace_lines(clause.body, clause.end, indent + b"pass" + newline)

    def remove_statements(self, stmts: list[ast.stmt], gone: list[int]) -> None:
        """Delete statements of a suite of which something else is left."""
        module = self.module
        lost = set(gone)
        for index in gone:
            stmt = stmts[index]
            high = stmt.end_lineno or stmt.lineno
            start = module.start_with_decorators(stmt)
            shared_before = not starts_line(module, stmt)
            after = module.data[module.end(stmt) : module.starts[high]].lstrip(b" \t")
            shared_after = (
                after.startswith(b";") and index + 1 < len(stmts) and stmts[index + 1].lineno == high
            )
            if shared_after:
                self.spans.append((start, module.start(stmts[index + 1]), b""))
            elif shared_before and index:
                self.spans.append((module.end(stmts[index - 1]), module.end(stmt), b""))
            else:
                low, high = self.glued(stmts, index, lost), statement_end(module, stmt)
                first = all(earlier in lost for earlier in range(index))
                self.delete_lines(low, high + blank_lines(module, low, high, first))

    def glued(self, stmts: list[ast.stmt], index: int, gone: set[int]) -> int:
        """The first line to delete: comments directly above leave when all they head leaves.

        They head a compound statement alone, but a whole paragraph of simple ones.
        """
        stmt = stmts[index]
        line = first_line(stmt)
        at = index
        while at + 1 < len(stmts) and not hasattr(stmt, "body"):
            following = stmts[at + 1]
            end = stmts[at].end_lineno or stmts[at].lineno
            if first_line(following) != end:
                break
            if at + 1 not in gone:
                return line
            at += 1
        return comments_above(self.module, stmt)

    # -- compound statements ------------------------------------------------------------------

    def choose(self, parts: list[Clause]) -> list[Clause]:
        """The clauses that are left; a decided-true one is last and acts as else."""
        kept: list[Clause] = []
        for clause in parts:
            if clause.node in self.removed:
                break  # an elif that leaves takes what follows it along
            if clause.node is None or clause.node not in self.decided:
                kept.append(clause)
                if clause.node is None:
                    break
            elif self.decided[clause.node]:
                kept.append(clause)
                break
        return kept

    def is_else(self, clause: Clause) -> bool:
        return clause.node is None or self.decided.get(clause.node) is True

    def chain(self, stmt: ast.If) -> bool:
        parts = clauses(self.module, stmt)
        kept = self.choose(parts)
        while kept and len(kept) > 1 and self.is_else(kept[-1]) and not self.survives(kept[-1].suite):
            kept.pop()
        if not kept:
            return False
        if self.is_else(kept[0]):
            if not self.survives(kept[0].suite):
                return False
            self.headings(stmt, kept[0], parts)
            self.lift(stmt, kept[0], parts)
            self.suite(kept[0].suite, stmt)
            return True
        self.headings(stmt, kept[0], parts)
        for clause in parts:
            if not any(clause is k for k in kept):
                self.delete_lines(clause.lead if clause is not parts[0] else clause.line, clause.end)
        for clause in kept:
            start = self.module.starts[clause.line] + text_at(self.module.line(clause.line))
            if self.is_else(clause) and clause.node is not None:
                self.spans.append((start, self.colon(clause) + 1, b"else:"))
            elif clause is kept[0] and clause is not parts[0]:  # an `elif` becomes the `if`
                self.delete_lines(parts[0].line, self.comments_of(clause))
                self.spans.append((start, start + 4, b"if"))
            if self.survives(clause.suite):
                self.suite(clause.suite, stmt)
            else:
                self.pass_clause(clause)
        return True

    def headings(self, stmt: ast.If, kept: Clause, parts: list[Clause]) -> None:
        """The comment above an `if` leaves when a clause with a comment of its own takes its place."""
        own = self.comments_of(kept) < kept.line or is_comment(self.module.line(kept.body))
        if kept is not parts[0] and own:
            self.delete_lines(comments_above(self.module, stmt), first_line(stmt))

    def comments_of(self, clause: Clause) -> int:
        """The first line of the comments glued above a clause, or its own line."""
        line = clause.lead
        while line < clause.line and is_blank(self.module.line(line)):
            line += 1
        return line

    def lift(self, stmt: ast.stmt, clause: Clause, parts: list[Clause]) -> None:
        """A suite takes the place of its statement: the lines around it go, its own are dedented."""
        module = self.module
        top = first_line(stmt)
        bottom = parts[-1].end
        if clause.inline:
            start = module.starts[top] + text_at(module.line(top))
            self.spans.append((start, module.start(clause.suite[0]), b""))
            self.delete_lines(clause.end, bottom)
            return
        self.delete_lines(top, max(top, self.comments_of(clause)))
        self.delete_lines(clause.line, clause.body)
        self.delete_lines(clause.end, bottom)
        self.dedent(clause, margin(module.line(stmt.lineno - 1)))

    def dedent(self, clause: Clause, outer: bytes) -> None:
        """The lines of a suite move out to another indentation."""
        module = self.module
        inner = margin(module.line(first_line(clause.suite[0])))
        if not (inner.endswith(outer) or inner.startswith(outer)):
            raise ValueError(f"line {clause.line + 1}: tabs and spaces are mixed in the suite that is left")
        depth = len(inner) - len(outer)
        behind = 0 if inner.endswith(outer) else len(outer)  # tabs within spaces: the outer ones stay first
        for line in range(clause.body, clause.end):
            if line in module.string_lines and line not in module.docstring_lines:
                continue
            text = module.line(line)
            indent = len(margin(text))
            amount = min(depth, indent - behind)
            if amount > 0 and not is_blank(text):
                offset = module.starts[line] + text_at(text) - indent + behind
                self.spans.append((offset, offset + amount, DEDENT))

    def unwrap(self, stmt: ast.stmt, suite: list[ast.stmt]) -> bool:
        parts = clauses(self.module, stmt)
        if not suite or not self.survives(suite):
            return False
        clause = next((c for c in parts if c.suite and c.suite[0] is suite[0]), None)
        if clause is None:
            raise ValueError(f"{self.module.path}:{stmt.lineno}: not a suite of the statement")
        self.lift(stmt, clause, parts)
        self.suite(clause.suite, stmt)
        return True

    def drop_clauses(self, node: ast.AST, field: str, indices: set[int]) -> None:
        assert isinstance(node, ast.stmt)
        items = getattr(node, field)
        for clause in clauses(self.module, node):
            if any(clause.node is items[i] for i in indices):
                self.delete_lines(clause.lead, clause.end)

    def new_body(self, stmt: ast.stmt, source: str) -> None:
        clause = clauses(self.module, stmt)[0]
        module = self.module
        newline = module.newline(clause.line)
        if clause.inline:
            start = module.skip_back(module.start(clause.suite[0]), 0)
            body = newline.join(_indented(source, margin(module.line(stmt.lineno - 1)) + b"    "))
            self.spans.append((start, module.end(clause.suite[-1]), newline + body))
            return
        first = module.line(first_line(clause.suite[0]))
        body = newline.join(_indented(source, margin(first)))
        self.replace_lines(clause.body, clause.end, body + newline)

    def colon(self, clause: Clause) -> int:
        assert isinstance(clause.node, ast.If)
        module = self.module
        at = module.end(clause.node.test)
        while True:
            at = module.skip_forward(at)
            if module.data[at : at + 1] == b":":
                return at
            at += 1

    # -- expressions --------------------------------------------------------------------------

    def replace(self) -> None:
        """The replacements; one that is replaced in its turn is not written first."""
        parts = {by for by in self.replaced.values() if not isinstance(by, str)}
        for node in self.replaced:
            if node not in parts and not self.leaves_with_another(node):
                self.spans.extend(replace_spans(self.module, Replace(node, self.replacement(node))))

    def replacement(self, node: ast.expr) -> ast.expr | str:
        """What is left of a replaced expression, its part replaced in its turn."""
        by = self.replaced[node]
        while not isinstance(by, str) and by in self.replaced:
            by = self.replaced[by]
        return by

    def leaves_with_another(self, node: ast.expr) -> bool:
        """Return whether this is within a replaced expression, and in no part that is left of it."""
        chain: set[ast.AST] = {node}
        at = self.module.parents.get(node)
        while isinstance(at, _IN_EXPRESSIONS):
            if at in self.replaced and self.replacement(at) not in chain:
                return True
            chain.add(at)
            at = self.module.parents.get(at)
        return False

    # -- spans --------------------------------------------------------------------------------

    def delete_lines(self, low: int, high: int) -> None:
        if low < high:
            self.replace_lines(low, high, b"")

    def replace_lines(self, low: int, high: int, text: bytes) -> None:
        starts = self.module.starts
        self.spans.append((starts[low], starts[high], text))


#: What can stand between an expression and one around it.
_IN_EXPRESSIONS = (ast.expr, ast.comprehension, ast.keyword, ast.arguments, ast.arg)


def _indented(source: str, indent: bytes) -> list[bytes]:
    """The lines of a suite at its depth; what stands inside a string keeps its place."""
    body = Module("", source.encode())
    lines = (body.line(index).rstrip(b"\r\n") for index in range(len(body.starts) - 1))
    return [
        line if index in body.string_lines or is_blank(line) else indent + line
        for index, line in enumerate(lines)
    ]
