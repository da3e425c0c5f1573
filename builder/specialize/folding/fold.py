"""Folds the statements of one file: from facts to operations on its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from builder.source.ops import Decide, DropGuard, DropItem, Remove, Unwrap, irrefutable
from builder.specialize.attributes import attribute_stored
from builder.specialize.dead_code.definition_effects import TRANSPARENT, Effects
from builder.specialize.evaluating.constant_functions import KEEP_RESULT, is_alone, remaining, returned
from builder.specialize.evaluating.enumerations import Enumeration, makes_values
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone, KnownValue
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.assignments import Assignments
from builder.specialize.folding.binding_guard import BindingGuard, captures_read, never_binds
from builder.specialize.folding.expressions import Expressions
from builder.specialize.folding.flow import exits
from builder.specialize.folding.imports import Imports, leaves_at_end, suppressed
from builder.specialize.folding.single_dispatch import dispatched_on, dispatches
from builder.specialize.rebinding import annotations_inspected, cache_inspected, named_elsewhere
from builder.specialize.results import Folded
from builder.specialize.text_index.text_search import RelevantLines, import_hits
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: Conditions that hold a literal True or False: edits put them there.
_LITERAL = re.compile(
    rb"\b(?:if|elif|not|and|or|assert)[\s(]+(?:True|False)\b|\bwhile[ \t(]+False\b"
    rb"|\b(?:True|False)[ \t)]*\s(?:and|or)\b|\b(?:True|False)[ \t)]+if\b"
)
#: A class that something is compared with by identity, and a constant in which something is searched.
_NAMED = re.compile(rb"\b(?:is\s+(?:not\s+)?(?:\w+\.)*[A-Z]\w*[a-z]|in\s+(?:\w+\.)*_?[A-Z][A-Z_0-9]+\b)")


def fold(unit: Unit, world: SpecializerWorld, needles: Iterable[str], upstream: bytes = b"") -> Folded:
    """The operations that the facts and what is gone ask of one file.

    `needles`: the identifiers and strings without which a statement has nothing to fold; `upstream`: the
    file as upstream has it, whose own literal conditions are none of our business.
    """
    local = {name for _, name in world.local(unit.path)}
    data = world.files[unit.path]
    offsets = import_hits(unit.content, unit.package, lambda m: world.module_gone(m) is not None)
    offsets += _new_literals(data, upstream)
    offsets += [match.start() for match in _NAMED.finditer(data)]
    folder = _Folder(unit, world, RelevantLines(unit, {*needles, *local}, offsets))
    folder.suite(unit.module.tree.body, unit.scopes.root)
    folder.out.hindrances = frozenset(folder.evaluator.hindrances)
    folder.out.uncertain.extend(folder.expressions.doubts)
    for stuck in folder.imports.stuck:
        folder.doubt(stuck, "an import of what is gone stays: its `try` cannot be taken apart")
    return folder.out


def _new_literals(data: bytes, upstream: bytes) -> list[int]:
    """Where a condition holds a literal on a line that upstream does not have."""
    found = []
    for match in _LITERAL.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        end = data.find(b"\n", match.end())
        if data[start : end if end >= 0 else len(data)].strip() not in upstream:
            found.append(match.start())
    return found


class _Folder:
    def __init__(self, unit: Unit, world: SpecializerWorld, hits: RelevantLines) -> None:
        self.unit = unit
        self.hits = hits
        self.world = world
        self.evaluator = Evaluator(world, unit)
        self.out = Folded(unit.path)
        self.expressions = Expressions(self.evaluator, self.out.ops)
        self.assignments = Assignments(self.evaluator, self.expressions, self.out)
        self.guard = BindingGuard()
        self.imports = Imports(self.evaluator, self.out.ops, self.out.local, self.guard)
        self.taken: dict[ast.stmt, Sequence[ast.stmt]] = {}
        self.removed: set[ast.AST] = set()
        self.dropped: set[ast.expr] = set()  # decorators

    def remove(self, stmt: ast.stmt) -> bool:
        self.out.ops.append(Remove(stmt))
        self.removed.add(stmt)
        self.guard.lose([stmt])
        return False

    def unwrap(self, stmt: ast.stmt, suite: Sequence[ast.stmt], scope: Scope) -> bool:
        self.out.ops.append(Unwrap(stmt, tuple(suite)))
        return self.take(stmt, suite, scope)

    def take(self, stmt: ast.stmt, suite: Sequence[ast.stmt], scope: Scope) -> bool:
        """Fold the suite that takes a statement's place; a mere `pass` leaves."""
        self.taken[stmt] = suite
        self.guard.take(stmt, suite)
        if not self.suite(suite, scope):
            return False
        left = [s for s in suite if s not in self.removed]
        if not all(isinstance(s, ast.Pass) for s in left):
            return True
        for nothing in left:
            self.remove(nothing)
        return False

    def doubt(self, node: ast.stmt, sentence: str) -> None:
        self.out.uncertain.append((node.lineno, sentence))

    def known(self, node: ast.expr, scope: Scope) -> bool | None:
        """The truth of a condition that may be left out."""
        truth = self.evaluator.truth(node, scope)
        return truth if truth is not None and self.evaluator.pure(node, scope) else None

    # -- suites -------------------------------------------------------------------------------

    def suite(self, stmts: Sequence[ast.stmt], scope: Scope) -> bool:
        """Fold a suite; False when all of it leaves."""
        left = False
        for index, stmt in enumerate(stmts):
            stays = self.statement(stmt, scope)
            left = left or stays
            tail = stmts[index + 1 :]
            # upstream's own dead code after an exit is none of our business
            ours = stays and not exits(stmt) and self.leaves(stmt)
            if ours and tail and not self.guard.needed(scope, tail):
                for dead in tail:
                    self.remove(dead)
                break
        return left

    def leaves(self, stmt: ast.stmt) -> bool:
        """Return whether control never passes this statement, once it is folded."""
        if stmt in self.taken:
            return any(self.leaves(s) for s in self.taken[stmt] if s not in self.removed)
        if isinstance(stmt, ast.If):
            arms = (stmt.body, stmt.orelse)
            return all(any(self.leaves(s) for s in arm if s not in self.removed) for arm in arms)
        return exits(stmt)

    # -- statements ---------------------------------------------------------------------------

    def statement(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Fold one statement; False when it leaves."""
        if not self.hits.touch(stmt):
            return True
        method = getattr(self, f"_{type(stmt).__name__}", None)
        if method is not None:
            return bool(method(stmt, scope))
        self.expressions.fold_children(stmt, scope)
        return True

    def _If(self, stmt: ast.If, scope: Scope) -> bool:
        truth = self.known(stmt.test, scope)
        if truth is None and never_binds(self.evaluator, stmt.test, scope):
            truth = False
        if truth is not None:
            chosen, lost = (stmt.body, stmt.orelse) if truth else (stmt.orelse, stmt.body)
            if not self.guard.needed(scope, lost):
                self.out.ops.append(Decide(stmt, truth))
                self.out.decided += 1
                return self.take(stmt, chosen, scope)
            self.doubt(stmt, "a dead branch stays: it makes the function a generator or its names local")
        self.expressions.fold(stmt.test, scope, test=True)
        body = self.suite(stmt.body, scope)
        orelse = self.suite(stmt.orelse, scope)
        if not body and not orelse and self.evaluator.pure(stmt.test, scope):
            return self.remove(stmt)
        return True

    def _While(self, stmt: ast.While, scope: Scope) -> bool:
        if self.known(stmt.test, scope) is False and not self.guard.needed(scope, stmt.body):
            return self.unwrap(stmt, stmt.orelse, scope) if stmt.orelse else self.remove(stmt)
        self.expressions.fold(stmt.test, scope, test=True)
        self.suite(stmt.body, scope)
        self.suite(stmt.orelse, scope)
        return True

    def _Assert(self, stmt: ast.Assert, scope: Scope) -> bool:
        if self.known(stmt.test, scope) is True and not self.guard.needed(scope, [stmt]):
            return self.remove(stmt)
        self.expressions.fold(stmt.test, scope, test=True)
        if stmt.msg is not None:
            self.expressions.fold(stmt.msg, scope)
        return True

    def _For(self, stmt: ast.For | ast.AsyncFor, scope: Scope) -> bool:
        self.expressions.fold(stmt.iter, scope)
        self.suite(stmt.body, scope)
        self.suite(stmt.orelse, scope)
        return True

    _AsyncFor = _For

    def _With(self, stmt: ast.With | ast.AsyncWith, scope: Scope) -> bool:
        for item in stmt.items:
            self.expressions.fold(item.context_expr, scope)
        with self.imports.inside(suppressed(self.evaluator, stmt, scope)):
            self.suite(stmt.body, scope)
        return True

    _AsyncWith = _With

    def _Try(self, stmt: ast.Try, scope: Scope) -> bool:
        jump = self.imports.jump(stmt, scope)
        if jump is not None:
            silent = all(isinstance(s, ast.Pass) for s in jump.handler.body)
            if not stmt.finalbody and (jump.at == 0 or self.imports.redundant(stmt, jump)):
                return self.unwrap(stmt, jump.handler.body, scope)
            if silent:
                for dead in (*stmt.body[jump.at :], *stmt.orelse):
                    self.remove(dead)
                return True
        caught = [*stmt.handlers, ast.ExceptHandler(None, None, [])] if leaves_at_end(stmt) else stmt.handlers
        with self.imports.inside(caught):
            body = self.suite(stmt.body, scope)
        body = self.suite(stmt.orelse, scope) or body
        body = self.suite(stmt.finalbody, scope) or body
        if not body and not self.guard.needed(scope, stmt.handlers):
            return self.remove(stmt)
        return self.handlers(stmt, scope)

    def handlers(self, stmt: ast.Try, scope: Scope) -> bool:
        """Fold the handlers; one of an exception that is gone leaves."""
        gone = set()
        for index, handler in enumerate(stmt.handlers):
            never = handler.type is not None and isinstance(self.evaluator.value(handler.type, scope), Gone)
            if never and not self.guard.needed(scope, [handler]):
                self.guard.lose([handler])
                gone.add(index)
        if len(gone) == len(stmt.handlers) and not stmt.finalbody and gone and not stmt.orelse:
            self.out.ops.append(Unwrap(stmt, tuple(stmt.body)))
            self.taken[stmt] = stmt.body
            self.guard.take(stmt, stmt.body)
            return any(True for _ in remaining(stmt.body, self.removed, self.taken))
        if len(gone) == len(stmt.handlers) and (stmt.orelse or not stmt.finalbody):
            gone = set()  # a `try` with an `else` has a handler
        self.out.ops.extend(DropItem(stmt, "handlers", index) for index in sorted(gone))
        for index, handler in enumerate(stmt.handlers):
            if index not in gone:
                if handler.type is not None:
                    self.expressions.classes(handler.type, scope)
                self.suite(handler.body, scope)
        return True

    def _Match(self, stmt: ast.Match, scope: Scope) -> bool:
        self.expressions.fold(stmt.subject, scope)
        gone = []
        for index, case in enumerate(stmt.cases):
            if self.never(case, stmt.subject, scope):
                self.guard.lose([case])
                gone.append(index)
        if len(gone) == len(stmt.cases):
            return self.remove(stmt) if self.evaluator.pure(stmt.subject, scope) else True
        self.out.ops.extend(DropItem(stmt, "cases", i) for i in gone)
        for index, case in enumerate(stmt.cases):
            if index not in gone:
                self.case_guard(stmt, index, scope)
                self.suite(case.body, scope)
        return True

    def case_guard(self, stmt: ast.Match, index: int, scope: Scope) -> None:
        """Fold the guard of a case; one that is true leaves, unless cases after it would be unreachable."""
        case = stmt.cases[index]
        if case.guard is None:
            return
        last = index == len(stmt.cases) - 1
        if self.known(case.guard, scope) is True and (last or not irrefutable(case.pattern)):
            self.out.ops.append(DropGuard(case))
        else:
            self.expressions.fold(case.guard, scope, test=True)

    def never(self, case: ast.match_case, subject: ast.expr, scope: Scope) -> bool:
        """Return whether a case of `match` may leave, since it is never taken. A false guard binds names
        before."""
        if self.guard.needed(scope, [case]):
            return False
        if self.evaluator.comparisons.pattern_gone(case.pattern, subject, scope):
            return True
        if case.guard is None or self.known(case.guard, scope) is not False:
            return False
        return scope.kind == "function" and not captures_read(scope.node, case)

    def _Import(self, stmt: ast.Import | ast.ImportFrom, scope: Scope) -> bool:
        return self.imports.statement(stmt, scope)

    _ImportFrom = _Import

    # -- definitions --------------------------------------------------------------------------

    def _FunctionDef(self, stmt: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> bool:
        name = f"{scope.qualname}.{stmt.name}" if scope.qualname else stmt.name
        if self.assignments.gone(name):
            return self.remove(stmt)
        if self.registers_absent(stmt, scope):
            return self.remove(stmt)
        if self.registers_for_gone(stmt, scope):
            return self.remove(stmt)
        for decorator in self.decorators(stmt):
            if isinstance(self.evaluator.value(decorator, scope), Gone):
                self.doubt(stmt, f"a decorator of {name} is gone")
            self.expressions.fold(decorator, scope)
        inner = self.unit.scopes.of(stmt)
        self.signature(stmt, scope)
        with self.imports.function():
            self.suite(stmt.body, inner)
        if isinstance(stmt, ast.FunctionDef):
            self.predicate(stmt, scope, f"{self.unit.name}.{name}")
        return True

    _AsyncFunctionDef = _FunctionDef

    def signature(self, stmt: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        args = stmt.args
        annotations = self.expressions.annotations

        def inspected() -> bool:
            return bool(stmt.decorator_list) or self.evaluator.hinders(annotations_inspected, stmt.name)

        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if arg is not None and arg.annotation is not None:
                annotations.fold(arg, arg.annotation, scope, inspected)
        if stmt.returns is not None:
            annotations.fold(stmt, stmt.returns, scope, inspected)
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self.expressions.fold(default, scope)

    def predicate(self, stmt: ast.FunctionDef, scope: Scope, name: str) -> None:
        """Remember a function that returns a known value."""
        named = name in (self.evaluator.facts.named.get(stmt.name) or ())
        branched = stmt not in scope.node.body  # type: ignore[attr-defined]  # it may not be there
        if branched or not is_alone(stmt, scope, named):
            return
        decorators = [self.evaluator.qualified(_applied(d), scope) for d in stmt.decorator_list]
        if not KEEP_RESULT.issuperset(decorators):
            return
        inner = self.unit.scopes.of(stmt)

        def value(node: ast.expr) -> KnownValue | None:
            known = self.evaluator.value(node, inner)
            return known if isinstance(known, KnownValue) and self.evaluator.pure(node, inner) else None

        def pure(node: ast.expr) -> bool:
            return self.evaluator.pure(node, inner)

        known = returned(stmt, self.removed, self.taken, value, pure, named)
        inspected = bool(decorators) and self.evaluator.hinders(cache_inspected, name)
        if known is None or inspected:
            return
        if scope.kind == "class":
            rebound = self.evaluator.hinders(attribute_stored, stmt.name)
        else:
            rebound = self.evaluator.rebound(stmt.name)
        if not rebound:
            self.out.functions[name] = known

    def _ClassDef(self, stmt: ast.ClassDef, scope: Scope) -> bool:
        name = f"{scope.qualname}.{stmt.name}" if scope.qualname else stmt.name
        if self.assignments.gone(name):
            return self.remove(stmt)
        if self.registers_absent(stmt, scope):
            return self.remove(stmt)
        if any(isinstance(self.evaluator.value(base, scope), Gone) for base in stmt.bases):
            return self.remove(stmt)  # a class whose base does not exist cannot exist
        for decorator in self.decorators(stmt):
            self.expressions.fold(decorator, scope)
        for keyword in stmt.keywords:
            self.expressions.fold(keyword.value, scope)
        self.suite(stmt.body, self.unit.scopes.of(stmt))
        self.numbers(stmt, scope, name)
        return True

    def numbers(self, stmt: ast.ClassDef, scope: Scope, name: str) -> None:
        """Members of an enumeration keep their values; where the class makes them itself, none may leave."""
        enumeration = Enumeration(stmt, lambda node: self.evaluator.qualified(node, scope))
        bases = [self.evaluator.qualified(base, scope) for base in stmt.bases if enumeration.is_one]
        itself = enumeration.counts_itself() or any(
            isinstance(base, str) and self.evaluator.hinders(makes_values, base) for base in bases
        )
        counts = itself and not self.removed.isdisjoint(stmt.body)
        if counts or enumeration.loses_count(self.removed) or enumeration.renames(self.removed):
            self.doubt(
                stmt, f"the members of {name} may change: the class makes their values, or two share one"
            )
            self.out.broken.append(
                (stmt.lineno, stmt.col_offset + 1, name, f"a member of {self.unit.name}.{name}")
            )
        self.out.ops.extend(enumeration.kept_numbers(self.removed))

    def decorators(self, stmt: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.expr]:
        """The decorators that stay."""
        return [decorator for decorator in stmt.decorator_list if decorator not in self.dropped]

    def registers_for_gone(self, stmt: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> bool:
        """Return whether this is registered with a single dispatch alone, for a class that is gone.

        Where nobody knows whether that is so, the definition is told as a use of the class.
        """
        annotation = dispatched_on(stmt)
        if annotation is None or not stmt.decorator_list:
            return False
        found = [dispatches(self.evaluator, decorator, scope) for decorator in stmt.decorator_list]
        if not any(each is not False for each in found):
            return False
        if not self.expressions.annotations.gone(annotation, scope):
            return False
        others = [d for d, each in zip(stmt.decorator_list, found, strict=True) if each is False]
        plain = all(self.evaluator.qualified(decorator, scope) in TRANSPARENT for decorator in others)
        if plain and None not in found and self.only_defines(stmt, scope):
            return True
        what = self.evaluator.value(annotation, scope)
        written = ast.unparse(annotation)
        said = what.name if isinstance(what, Gone) else written
        self.out.broken.append((annotation.lineno, annotation.col_offset + 1, written, said))
        return False

    def only_defines(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Return whether a registered definition has no effect besides its registration."""
        return Effects(self.world, self.evaluator, registered=True).defines(stmt, scope)

    def registers_absent(
        self, stmt: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: Scope
    ) -> bool:
        """Return whether all decorators register for something absent. If only some do, these leave."""
        absent = {
            index
            for index, decorator in enumerate(stmt.decorator_list)
            if isinstance(decorator, ast.Call)
            and self.expressions.registers_absent(decorator, scope)
            and not self.expressions.registers_another(decorator)
        }
        if absent and not self.only_defines(stmt, scope):
            self.doubt(stmt, f"{stmt.name} is registered for something absent, and defining it does more")
            return False
        if absent and len(absent) == len(stmt.decorator_list):
            if not self.evaluator.hinders(named_elsewhere, stmt.name):
                return True
            self.doubt(stmt, f"{stmt.name} is registered for something absent, and something else names it")
        self.out.ops.extend(DropItem(stmt, "decorator_list", index) for index in sorted(absent))
        self.dropped.update(stmt.decorator_list[index] for index in absent)
        return False

    # -- simple statements --------------------------------------------------------------------

    def _Assign(self, stmt: ast.Assign, scope: Scope) -> bool:
        return self.assignments.plain(stmt, scope) or self.remove(stmt)

    def _AnnAssign(self, stmt: ast.AnnAssign, scope: Scope) -> bool:
        return self.assignments.annotated(stmt, scope) or self.remove(stmt)

    def _AugAssign(self, stmt: ast.AugAssign, scope: Scope) -> bool:
        self.assignments.augmented(stmt, scope)
        return True

    def _Expr(self, stmt: ast.Expr, scope: Scope) -> bool:
        call = stmt.value.value if isinstance(stmt.value, ast.Await) else stmt.value
        if isinstance(call, ast.Call) and self.expressions.calls_removed(call, scope):
            return self.remove(stmt)
        if isinstance(stmt.value, ast.Call):
            if self.expressions.adds_gone(stmt.value, scope):
                return self.remove(stmt)
            known = isinstance(self.evaluator.value(stmt.value, scope), KnownValue)
            if known and self.evaluator.pure(stmt.value, scope):
                return self.remove(stmt)
            if self.expressions.registers_absent(stmt.value, scope):
                return self.remove(stmt)
            if self.changes_exports(stmt.value, scope):
                stays = self.exports(stmt.value)
                return stays or self.remove(stmt)
        self.expressions.fold(stmt.value, scope)
        return True

    @staticmethod
    def changes_exports(call: ast.Call, scope: Scope) -> bool:
        """Return whether this is `__all__.append(...)` or `__all__.extend(...)`."""
        func = call.func
        if (
            not isinstance(func, ast.Attribute)
            or func.attr not in ("append", "extend")
            or len(call.args) != 1
        ):
            return False
        return scope.kind == "module" and isinstance(func.value, ast.Name) and func.value.id == "__all__"

    def exports(self, call: ast.Call) -> bool:
        """Fold a change of `__all__`; False when nothing is left of it."""
        if call.func.attr == "append":  # type: ignore[attr-defined]
            return not self.assignments.exports_gone(call.args[0])
        self.assignments.exports(call.args[0])
        return True


def _applied(decorator: ast.expr) -> ast.expr:
    """What makes the decorator: `cache` of `@cache(...)`."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator
