"""Imports of what is gone: they leave, and what they bound is remembered as gone.

Inside a `try` such an import is a jump to the handler. Where that jump cannot be written without the
`try`, the import stays and the use is left for a person to see.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from builder.source.fields import bound_name, nodes
from builder.source.ops import DropItem, Op, Remove
from builder.specialize.dead_code.import_effects import import_noticed, modules_run
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.folding.binding_guard import BindingGuard, own, reads
from builder.specialize.folding.flow import binds, catches
from builder.specialize.rebinding import is_alias
from builder.specialize.world import SpecializerWorld, question

#: Functions that tell of the exception that is being handled.
_ASKS_FOR_EXCEPTION = frozenset(["exc_info", "exception", "format_exc", "print_exc"])
_MAKES_MANAGERS = frozenset(["contextlib.contextmanager", "contextlib.asynccontextmanager"])
#: What `with` calls and what lets every exception pass.
_LETS_PASS = frozenset([
    "contextlib.closing", "contextlib.nullcontext", "contextlib.redirect_stderr",
    "contextlib.redirect_stdout", "open", "torch.device", "torch.inference_mode", "torch.no_grad",
    "warnings.catch_warnings",
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Jump:
    """A `try` whose body always fails at the statement of this index, and the handler that runs then."""

    at: int
    handler: ast.ExceptHandler


class Imports:
    """Folds the import statements of one file."""

    def __init__(
        self, evaluator: Evaluator, ops: list[Op], local: dict[tuple[str, str], str], guard: BindingGuard
    ) -> None:
        self.evaluator = evaluator
        self.unit = evaluator.unit
        self.world = evaluator.world
        self.ops = ops
        self.local = local
        self.guard = guard
        self.stuck: list[ast.stmt] = []  # imports of what is gone that had to stay
        self._handlers: list[Sequence[ast.ExceptHandler]] = []

    @contextmanager
    def inside(self, handlers: Sequence[ast.ExceptHandler]) -> Iterator[None]:
        """While the body of a `try` with these handlers is folded."""
        self._handlers.append(handlers)
        yield
        self._handlers.pop()

    @contextmanager
    def function(self) -> Iterator[None]:
        """While the body of a function is folded: it runs outside the `try` around it."""
        outer, self._handlers = self._handlers, []
        yield
        self._handlers = outer

    def statement(self, stmt: ast.Import | ast.ImportFrom, scope: Scope) -> bool:
        """Fold `import a, b` or `from a import b, c`; False when it leaves."""
        gone = self._gone(stmt)
        if not gone:
            return True
        if any(catches(h, self._missing(stmt)) is not False for hs in self._handlers for h in hs):
            self.stuck.append(stmt)
            return True
        self._forget(stmt, scope, gone)
        if len(gone) == len(stmt.names):
            self.ops.append(Remove(stmt))
            return False
        self.ops.extend(DropItem(stmt, "names", index) for index in gone)
        return True

    def _gone(self, stmt: ast.Import | ast.ImportFrom) -> dict[int, str]:
        """The imported names that do not exist, by index, with what is gone."""
        found: dict[int, str] = {}
        for index, alias in enumerate(stmt.names):
            if isinstance(stmt, ast.Import):
                why = self.world.module_gone(alias.name)
            elif alias.name == "*":
                why = self.world.module_gone(self.unit.absolute(stmt))
            else:
                target = self.world.imported(self.unit, Binding("import", stmt, alias=alias))
                # a fact may state the value of a name whose home is gone: the import leaves all the same
                home = self.world.module_gone(self.unit.absolute(stmt))
                said = target if isinstance(target, str) and self.world.is_gone(target) else None
                why = target.name if isinstance(target, Gone) else home or said
                if target is None and home is not None and is_alias(self.world, home, alias.name):
                    why = None  # another name for what exists: nobody can tell what becomes of its uses
            if why is not None and not self._is_anothers(stmt, index):
                found[index] = why
        return found

    def _is_anothers(self, stmt: ast.Import | ast.ImportFrom, index: int) -> bool:
        """Return whether a function beside this one has its name, and means something else by what the
        import binds: what is gone is remembered by both names."""
        scope, name = self.unit.scope_of(stmt), bound_name(stmt, stmt.names[index])
        return scope.kind != "module" and any(
            other is not scope
            and other.qualname == scope.qualname
            and name not in other.names
            and (reads(other.node, name) or name in other.outer)
            for other in self.unit.scopes.every()
        )

    def _forget(self, stmt: ast.Import | ast.ImportFrom, scope: Scope, gone: dict[int, str]) -> None:
        """Remember the names that only this import bound as gone."""
        for index, why in gone.items():
            alias, name = stmt.names[index], bound_name(stmt, stmt.names[index])
            if name in scope.outer or self._brought_later(name, scope, stmt):
                continue  # another scope's name, or one that a star import binds after it
            if isinstance(stmt, ast.Import) and not alias.asname and self.world.module_gone(name) is None:
                continue  # `import a.b` binds `a`, which is there
            if all(b.alias is alias for b in scope.names.get(name, ())):
                self.local[scope.qualname, name] = why

    def _brought_later(self, name: str, scope: Scope, stmt: ast.stmt) -> bool:
        """Return whether a star import after a statement binds a name."""
        modules = (self.unit.absolute(star) for star in scope.star if star.lineno > stmt.lineno)
        return any(self.world.defines(module, name) for module in modules)

    # -- guarded imports ----------------------------------------------------------------------

    def jump(self, stmt: ast.Try, scope: Scope) -> Jump | None:
        """Where a `try` always fails, if its body is imports up to there and the handler can stand alone."""
        at, failing = self._failing(stmt.body)
        handler = _first(stmt.handlers, self._missing(failing)) if failing is not None else None
        if handler is None or failing is None or self._uses_exception(handler, scope):
            return None
        others = [h for h in stmt.handlers if h is not handler]
        gone = self._gone(failing)
        if min(gone) > 0:
            return None  # the names before are bound, and their modules run, before it fails
        bound = {bound_name(failing, failing.names[index]) for index in gone}
        if self.guard.needed(scope, [*stmt.body[at:], *stmt.orelse, *others], bound):
            return None
        self._forget(failing, scope, gone)
        return Jump(at, handler)

    def _uses_exception(self, handler: ast.ExceptHandler, scope: Scope) -> bool:
        """Return whether a handler names the exception, raises it again, or asks which one is being handled.

        Its name is deleted in the end, which shows where something else binds it, too, or where it is read
        without being bound.
        """
        bindings = scope.names.get(handler.name or "", ())
        if self.guard.needed(scope, [handler], kept=handler.body):
            return True
        if _asks(handler.body) or any(not isinstance(b.node, ast.ExceptHandler) for b in bindings):
            return True
        called = [self.evaluator.qualified(call.func, scope) for call in _calls(handler.body)]
        if any(isinstance(name, str) and name.rpartition(".")[2] in _ASKS_FOR_EXCEPTION for name in called):
            return True
        if any(isinstance(name, str) and self.evaluator.hinders(asks_for_exception, name) for name in called):
            return True
        names = (n.id for s in handler.body for n in nodes(s) if isinstance(n, ast.Name))
        return handler.name is not None and handler.name in names

    def _failing(self, body: Sequence[ast.stmt]) -> tuple[int, ast.Import | ast.ImportFrom | None]:
        """The first import of what is gone among the imports that a suite begins with."""
        for at, inner in enumerate(body):
            if not isinstance(inner, (ast.Import, ast.ImportFrom)):
                break
            if self._gone(inner):
                return at, inner
        return 0, None

    def redundant(self, stmt: ast.Try, jump: Jump) -> bool:
        """Return whether the imports before the failing one may leave too, because the handler binds all
        their names."""
        before = [s for s in stmt.body[: jump.at] if isinstance(s, (ast.Import, ast.ImportFrom))]
        names = [bound_name(s, alias) for s in before for alias in s.names]
        if any(self._is_noticed(s) for s in before):
            return False
        return all(any(binds(s, name) for s in jump.handler.body) for name in names)

    def _is_noticed(self, stmt: ast.Import | ast.ImportFrom) -> bool:
        """Return whether somebody may notice that an import runs modules, or that a module makes what is
        taken from it."""
        modules = modules_run(self.world, self.unit, stmt)
        return modules is None or any(
            self.evaluator.hinders(import_noticed, module, self.unit.name) for module in modules
        )

    def _missing(self, stmt: ast.Import | ast.ImportFrom) -> type[BaseException]:
        """The exception that the import raises: a name that a module lacks is not a missing module."""
        if isinstance(stmt, ast.Import) or self.world.module_gone(self.unit.absolute(stmt)) is not None:
            return ModuleNotFoundError
        return ImportError


def _first(handlers: Iterable[ast.ExceptHandler], missing: type[BaseException]) -> ast.ExceptHandler | None:
    """The handler that catches the exception; None when none does or one of them may."""
    for handler in handlers:
        certain = catches(handler, missing)
        if certain is not False:
            return handler if certain else None
    return None


def suppressed(evaluator: Evaluator, stmt: ast.With | ast.AsyncWith, scope: Scope) -> list[ast.ExceptHandler]:
    """What the managers of a `with` may catch, as the handlers of a `try`.

    `suppress(...)` catches its arguments, and any other that is not known to let exceptions pass may catch
    all.
    """
    kinds: list[ast.expr] = []
    for item in stmt.items:
        manager = item.context_expr
        called = evaluator.qualified(manager.func, scope) if isinstance(manager, ast.Call) else None
        if isinstance(manager, ast.Call) and called == "contextlib.suppress":
            kinds.append(ast.Tuple(list(manager.args), ast.Load()))
        elif called not in _LETS_PASS and (
            not isinstance(called, str) or evaluator.hinders(may_suppress, called)
        ):
            kinds.append(manager)
    return [ast.ExceptHandler(kind, None, []) for kind in kinds]


@question
def may_suppress(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether what a call of this name gives may suppress an exception in a `with`.

    A generator of the program without a handler lets it pass, and so does a class whose `__exit__` returns
    nothing.
    """
    unit, bindings = world.home(qualified)
    if unit is None:
        return True
    evaluator, root = Evaluator(world, unit), unit.scopes.root
    node = bindings[0].node if len(bindings) == 1 else None
    if isinstance(node, ast.ClassDef):
        exits = [s for s in node.body if getattr(s, "name", "") in ("__exit__", "__aexit__")]
        plain = not (node.bases or node.keywords or node.decorator_list)
        return not (plain and exits and all(map(_returns_nothing, exits)))
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return True
    made_by = [evaluator.qualified(decorator, root) for decorator in node.decorator_list]
    if len(made_by) != 1 or made_by[0] not in _MAKES_MANAGERS:
        return True
    return any(isinstance(n, (ast.With, ast.AsyncWith)) or _may_catch(n) for n in own(node.body))


def _returns_nothing(stmt: ast.stmt) -> bool:
    returns = (node for node in own(getattr(stmt, "body", ())) if isinstance(node, ast.Return))
    plain = isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)) and not stmt.decorator_list
    return plain and all(node.value is None for node in returns)


def _may_catch(node: ast.AST) -> bool:
    """Return whether a `try` has handlers, or leaves by its `finally` whatever was raised."""
    return bool(getattr(node, "handlers", ())) or leaves_at_end(node)


def leaves_at_end(node: ast.AST) -> bool:
    """Return whether a `finally` may end what is raised in its `try`, by going elsewhere."""
    last = own(getattr(node, "finalbody", ()))
    return any(isinstance(each, (ast.Return, ast.Break, ast.Continue)) for each in last)


@question
def asks_for_exception(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a function of the program, or one that it calls, asks for the exception that is being
    handled."""
    unit, bindings = world.home(qualified)
    if unit is None:
        return False
    evaluator = Evaluator(world, unit)
    for binding in bindings:
        if not isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if _asks(binding.node.body):
            return True
        scope = unit.scopes.of(binding.node)
        called = (evaluator.qualified(call.func, scope) for call in _calls(binding.node.body))
        if any(isinstance(each, str) and asks_for_exception(world, each) for each in called):
            return True
    return False


def _calls(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    return (node for node in own(body) if isinstance(node, ast.Call))


def _asks(body: Sequence[ast.stmt]) -> bool:
    for node in own(body):
        if isinstance(node, ast.Raise) and node.exc is None:
            return True
        if isinstance(node, ast.Call) and not _ASKS_FOR_EXCEPTION.isdisjoint(names_of(node.func)[:1]):
            return True
        if isinstance(node, ast.keyword) and node.arg == "exc_info":
            return True
    return False
