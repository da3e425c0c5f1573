"""Folds the statements of one file: from facts to operations on its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from builder.source.ops import Decide, DropItem, Op, Remove, Replace, Unwrap
from builder.specialize.evaluate import Evaluator
from builder.specialize.expressions import Expressions
from builder.specialize.facts import Gone, Known
from builder.specialize.guard import loses_yield, unbinds
from builder.specialize.hits import Hits, import_hits
from builder.specialize.imports import Imports
from builder.specialize.scopes import Scope
from builder.specialize.world import Unit, World

_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Loss:
    """A definition, or a name that an import bound, that leaves a file, and why."""

    name: str  # qualified
    why: str


@dataclass(slots=True)
class Folded:
    """What folding one file gave."""

    path: str
    ops: list[Op] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    local: dict[tuple[str, str], str] = field(default_factory=dict)  # (scope, name) -> gone
    constants: dict[str, Known] = field(default_factory=dict)
    functions: dict[str, Known] = field(default_factory=dict)
    methods: dict[str, Known | None] = field(default_factory=dict)  # None: some class differs
    uncertain: list[tuple[int, str]] = field(default_factory=list)  # line, sentence
    decided: int = 0


def fold(unit: Unit, world: World, needles: Iterable[str]) -> Folded:
    """The operations that the facts and what is gone ask of one file.

    `needles`: the identifiers and strings without which a statement has nothing to fold.
    """
    local = {name for _, name in world.memory.local.get(unit.path, ())}
    offsets = import_hits(world.files[unit.path], unit.package, lambda m: world.module_gone(m) is not None)
    folder = _Folder(unit, world, Hits(unit, {*needles, *local}, offsets))
    folder.suite(unit.module.tree.body, unit.scopes.root)
    return folder.out


class _Folder:
    def __init__(self, unit: Unit, world: World, hits: Hits) -> None:
        self.unit = unit
        self.hits = hits
        self.world = world
        self.evaluator = Evaluator(world, unit)
        self.out = Folded(unit.path)
        self.expressions = Expressions(self.evaluator, self.out.ops)
        self.imports = Imports(unit, world, self.out.ops, self.out.local)
        self.decisions: dict[ast.AST, bool] = {}
        self.removed: set[ast.AST] = set()

    def remove(self, stmt: ast.stmt) -> bool:
        self.out.ops.append(Remove(stmt))
        self.removed.add(stmt)
        return False

    # -- suites -------------------------------------------------------------------------------

    def suite(self, stmts: Sequence[ast.stmt], scope: Scope) -> bool:
        """Fold a suite; False when all of it leaves."""
        left = False
        for index, stmt in enumerate(stmts):
            stays = self.statement(stmt, scope)
            left = left or stays
            if stays and self.leaves(stmt, scope) and index + 1 < len(stmts):
                tail = list(stmts[index + 1 :])
                if self.changed(stmt) and not loses_yield(scope, tail) and not unbinds(scope, tail):
                    for dead in tail:
                        self.remove(dead)
                    break
        return left

    def changed(self, stmt: ast.stmt) -> bool:
        """Is it we who made this statement an unconditional exit?"""
        return not isinstance(stmt, _EXITS)

    def leaves(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Does control never pass this statement, once it is folded?"""
        if isinstance(stmt, _EXITS):
            return True
        if isinstance(stmt, ast.If):
            chosen = self.decisions.get(stmt)
            if chosen is None:
                return False
            suite = stmt.body if chosen else stmt.orelse
            return any(self.leaves(s, scope) for s in suite if s not in self.removed)
        return False

    # -- statements ---------------------------------------------------------------------------

    def statement(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Fold one statement; False when it leaves."""
        if not self.hits.touch(stmt):
            return True
        method = getattr(self, f"_{type(stmt).__name__}", None)
        if method is not None:
            return bool(method(stmt, scope))
        for child in ast.iter_child_nodes(stmt):
            if isinstance(child, ast.expr):
                self.expressions.fold(child, scope)
            elif isinstance(child, ast.withitem):
                self.expressions.fold(child.context_expr, scope)
        return True

    def _If(self, stmt: ast.If, scope: Scope) -> bool:
        truth = self.evaluator.truth(stmt.test, scope)
        if truth is not None and self.evaluator.pure(stmt.test, scope):
            lost = stmt.orelse if truth else stmt.body
            if not loses_yield(scope, lost) and not unbinds(scope, lost):
                self.out.ops.append(Decide(stmt, truth))
                self.decisions[stmt] = truth
                self.out.decided += 1
                return self.suite(stmt.body if truth else stmt.orelse, scope)
            self.doubt(stmt, "a dead branch stays: it makes the function a generator or its names local")
        self.expressions.fold(stmt.test, scope, test=True)
        body = self.suite(stmt.body, scope)
        orelse = self.suite(stmt.orelse, scope) if stmt.orelse else False
        if not body and not orelse and self.evaluator.pure(stmt.test, scope):
            return self.remove(stmt)
        return True

    def _While(self, stmt: ast.While, scope: Scope) -> bool:
        truth = self.evaluator.truth(stmt.test, scope)
        if truth is False and self.evaluator.pure(stmt.test, scope) and not loses_yield(scope, stmt.body):
            if stmt.orelse:
                self.out.ops.append(Unwrap(stmt, tuple(stmt.orelse)))
                return self.suite(stmt.orelse, scope)
            return self.remove(stmt)
        self.expressions.fold(stmt.test, scope, test=True)
        self.suite(stmt.body, scope)
        if stmt.orelse:
            self.suite(stmt.orelse, scope)
        return True

    def _Assert(self, stmt: ast.Assert, scope: Scope) -> bool:
        truth = self.evaluator.truth(stmt.test, scope)
        if truth is True and self.evaluator.pure(stmt.test, scope):
            return self.remove(stmt)
        self.expressions.fold(stmt.test, scope, test=True)
        if stmt.msg is not None:
            self.expressions.fold(stmt.msg, scope)
        return True

    def _For(self, stmt: ast.For, scope: Scope) -> bool:
        self.expressions.fold(stmt.iter, scope)
        body = self.suite(stmt.body, scope)
        orelse = self.suite(stmt.orelse, scope) if stmt.orelse else False
        return body or orelse or True

    _AsyncFor = _For

    def _With(self, stmt: ast.With, scope: Scope) -> bool:
        for item in stmt.items:
            self.expressions.fold(item.context_expr, scope)
        self.suite(stmt.body, scope)
        return True

    _AsyncWith = _With

    def _Try(self, stmt: ast.Try, scope: Scope) -> bool:
        taken = self.imports.failing(stmt, scope)
        if taken is not None:
            suite = tuple(taken.body)
            if all(isinstance(s, ast.Pass) for s in suite):
                return self.remove(stmt)
            self.out.ops.append(Unwrap(stmt, suite))
            return self.suite(suite, scope)
        body = self.suite(stmt.body, scope)
        for handler in stmt.handlers:
            self.suite(handler.body, scope)
        if stmt.orelse:
            body = self.suite(stmt.orelse, scope) or body
        if stmt.finalbody:
            body = self.suite(stmt.finalbody, scope) or body
        if not body:
            return self.remove(stmt)
        return True

    def _Match(self, stmt: ast.Match, scope: Scope) -> bool:
        self.expressions.fold(stmt.subject, scope)
        left = 0
        gone = []
        for index, case in enumerate(stmt.cases):
            if self.expressions.pattern_gone(case.pattern, stmt.subject, scope) or (
                case.guard is not None
                and self.evaluator.truth(case.guard, scope) is False
                and self.evaluator.pure(case.guard, scope)
            ):
                gone.append(index)
                continue
            left += 1
            if case.guard is not None:
                self.expressions.fold(case.guard, scope, test=True)
            self.suite(case.body, scope)
        if not left:
            return self.remove(stmt) if self.evaluator.pure(stmt.subject, scope) else True
        self.out.ops.extend(DropItem(stmt, "cases", i) for i in gone)
        return True

    def _Import(self, stmt: ast.Import, scope: Scope) -> bool:
        return self.imports.plain(stmt, scope)

    def _ImportFrom(self, stmt: ast.ImportFrom, scope: Scope) -> bool:
        return self.imports.names(stmt, scope)

    # -- definitions --------------------------------------------------------------------------

    def _FunctionDef(self, stmt: ast.FunctionDef, scope: Scope) -> bool:
        name = f"{scope.qualname}.{stmt.name}" if scope.qualname else stmt.name
        if self.declared_gone(name) or self.registers_absent(stmt.decorator_list, scope):
            return self.remove(stmt)
        for index, decorator in enumerate(stmt.decorator_list):
            if isinstance(self.evaluator.value(decorator, scope), Gone):
                self.doubt(stmt, f"a decorator of {name} is gone")
            self.expressions.fold(decorator, scope)
        inner = self.unit.scopes.of(stmt)
        self.signature(stmt, scope)
        self.suite(stmt.body, inner)
        self.constant_function(stmt, scope, name)
        return True

    _AsyncFunctionDef = _FunctionDef

    def signature(self, stmt: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        args = stmt.args
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if arg is not None and arg.annotation is not None:
                self.expressions.annotation(arg, arg.annotation, scope)
        if stmt.returns is not None:
            self.expressions.annotation(stmt, stmt.returns, scope)
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self.expressions.fold(default, scope)

    def constant_function(self, stmt: ast.FunctionDef, scope: Scope, name: str) -> None:
        """A function that we leave with nothing but `return <known>` is a predicate from now on."""
        body = [s for s in stmt.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        body = [s for s in body if s not in self.removed]
        if isinstance(stmt, ast.AsyncFunctionDef) or len(body) != 1:
            return
        inner = self.unit.scopes.of(stmt)
        value: Known | None = None
        if isinstance(body[0], ast.Return) and body[0].value is not None:
            found = self.evaluator.value(body[0].value, inner)
            if isinstance(found, Known) and self.evaluator.pure(body[0].value, inner):
                value = found
        decorators = {getattr(d, "id", getattr(d, "attr", "?")) for d in stmt.decorator_list}
        if value is not None and scope.kind == "module" and not (decorators - {"cache", "lru_cache"}):
            self.out.functions[f"{self.unit.name}.{name}"] = value
        if value is not None and scope.kind == "class" and not (decorators - {"staticmethod", "classmethod"}):
            self.out.methods[stmt.name] = value

    def _ClassDef(self, stmt: ast.ClassDef, scope: Scope) -> bool:
        name = f"{scope.qualname}.{stmt.name}" if scope.qualname else stmt.name
        if self.declared_gone(name) or self.registers_absent(stmt.decorator_list, scope):
            return self.remove(stmt)
        for base in stmt.bases:
            if isinstance(self.evaluator.value(base, scope), Gone):
                return self.remove(stmt)  # a class whose base does not exist cannot exist
        for decorator in stmt.decorator_list:
            self.expressions.fold(decorator, scope)
        for keyword in stmt.keywords:
            self.expressions.fold(keyword.value, scope)
        self.suite(stmt.body, self.unit.scopes.of(stmt))
        return True

    def declared_gone(self, name: str) -> bool:
        full = f"{self.unit.name}.{name}"
        return full in self.world.facts.symbols or full in self.world.memory.gone

    def registers_absent(self, decorators: Sequence[ast.expr], scope: Scope) -> bool:
        return any(
            isinstance(d, ast.Call) and self.expressions.registers_absent(d, scope) for d in decorators
        )

    # -- simple statements --------------------------------------------------------------------

    def _Assign(self, stmt: ast.Assign, scope: Scope) -> bool:
        names = [t.id for t in stmt.targets if isinstance(t, ast.Name)]
        if len(stmt.targets) == 1 and names:
            full = f"{scope.qualname}.{names[0]}" if scope.qualname else names[0]
            if scope.kind in ("module", "class") and self.declared_gone(full):
                return self.remove(stmt)
            if scope.kind == "module":
                known = self.evaluator.constant(scope.names.get(names[0], []), scope)
                if known is not None:
                    self.out.constants[f"{self.unit.name}.{full}"] = known
            if scope.kind in ("module", "class") and isinstance(
                self.evaluator.value(stmt.value, scope), Gone
            ):
                return self.remove(stmt)  # an alias of what is gone is gone
        if names == ["__all__"] and isinstance(stmt.value, (ast.List, ast.Tuple)):
            self.exports(stmt.value)
        for target in stmt.targets:
            self.expressions.fold_children(target, scope)
        self.expressions.fold(
            stmt.value, scope, names=[n for t in stmt.targets for n in self.target_names(t)]
        )
        return True

    def target_names(self, target: ast.expr) -> list[str]:
        from builder.specialize.evaluate import names_of

        return list(names_of(target))

    def exports(self, value: ast.List | ast.Tuple) -> None:
        for index, item in enumerate(value.elts):
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                found = self.world.canonical(self.unit.name, item.value)
                if isinstance(found, Gone):
                    self.out.ops.append(DropItem(value, "elts", index))

    def _AnnAssign(self, stmt: ast.AnnAssign, scope: Scope) -> bool:
        if isinstance(stmt.target, ast.Name):
            full = f"{scope.qualname}.{stmt.target.id}" if scope.qualname else stmt.target.id
            if scope.kind in ("module", "class") and self.declared_gone(full):
                return self.remove(stmt)
        self.expressions.annotation(stmt, stmt.annotation, scope)
        if stmt.value is not None:
            self.expressions.fold(stmt.value, scope, names=self.target_names(stmt.target))
        return True

    def _Expr(self, stmt: ast.Expr, scope: Scope) -> bool:
        if isinstance(stmt.value, ast.Call) and self.expressions.registers_absent(stmt.value, scope):
            return self.remove(stmt)
        if isinstance(stmt.value, ast.Call) and self.method_of_gone(stmt.value.func, scope):
            return self.remove(stmt)
        self.expressions.fold(stmt.value, scope)
        return True

    def method_of_gone(self, func: ast.expr, scope: Scope) -> bool:
        return False

    def doubt(self, node: ast.stmt, sentence: str) -> None:
        self.out.uncertain.append((node.lineno, sentence))


__all__ = ["Folded", "Loss", "Replace", "fold"]
