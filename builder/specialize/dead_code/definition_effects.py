"""What executing a definition does besides binding its name.

Decorators, defaults, annotations, bases and the body of a class are evaluated there and then; one that may
have an effect keeps the definition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from builder.specialize.dead_code.hierarchy import HARMLESS_CLASS_DECORATORS
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.effects import repeatable
from builder.specialize.world import SpecializerWorld, question

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Decorators that only change how a function runs: they remember no function, and call none.
TRANSPARENT = frozenset([
    "abc.abstractmethod", "abc.abstractproperty", "classmethod", "contextlib.asynccontextmanager",
    "contextlib.contextmanager", "functools.cache", "functools.cached_property", "functools.lru_cache",
    "functools.singledispatch", "functools.wraps", "property", "staticmethod", "tilelang.jit",
    "torch.compile", "torch.inference_mode", "torch.jit.ignore", "torch.jit.unused", "torch.no_grad",
    "torch.compiler.disable", "triton.autotune", "triton.heuristics", "triton.jit", "typing.final",
    "typing.no_type_check", "typing.overload", "typing.override", "typing_extensions.final",
    "typing_extensions.overload", "typing_extensions.override",
])  # fmt: skip
#: Calls that only make a value, as bodies of classes and decorators use them.
MAKERS = frozenset([
    "classmethod", "collections.OrderedDict", "collections.defaultdict", "collections.namedtuple",
    "dataclasses.field", "dict", "enum.auto", "frozenset", "functools.partial", "list",
    "operator.attrgetter", "operator.itemgetter", "property", "set", "staticmethod", "torch.tensor",
    "triton.Config", "tuple", "typing.NewType", "typing.ParamSpec", "typing.TypeVar",
    "typing_extensions.ParamSpec", "typing_extensions.TypeVar",
])  # fmt: skip
#: Expressions that make an object.
_NEW = (ast.Constant, ast.JoinedStr, ast.Lambda, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp,
        ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Compare, ast.BinOp, ast.UnaryOp)  # fmt: skip
_PROPERTY_PARTS = ("setter", "getter", "deleter")


@question
def tells_names(world: SpecializerWorld) -> bool:
    """Return whether the program tells an object by which name a class holds it."""
    return bool(world.words.holders(b"__set_name__"))


class Effects:
    """Asks what the definitions of one file do."""

    def __init__(self, world: SpecializerWorld, evaluator: Evaluator, registered: bool = False) -> None:
        """`registered`: for something absent, so that an expression with what is gone is not evaluated."""
        self._registered = registered
        self._world = world
        self._evaluator = evaluator
        self._postponed = any(
            isinstance(stmt, ast.ImportFrom)
            and stmt.module == "__future__"
            and any(alias.name == "annotations" for alias in stmt.names)
            for stmt in evaluator.unit.module.tree.body
        )

    def pure(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Return whether a statement does nothing but bind names."""
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self._function(stmt, scope)
        if isinstance(stmt, ast.ClassDef):
            return self._class(stmt, scope)
        if isinstance(stmt, ast.Assign):
            return self._value(stmt.value, scope) and all(
                _only_binds(self._evaluator, target, stmt.value, scope) for target in stmt.targets
            )
        if isinstance(stmt, ast.AnnAssign):
            simple = isinstance(stmt.target, ast.Name) and self._annotation(stmt.annotation, scope)
            return simple and (stmt.value is None or self._value(stmt.value, scope))
        if isinstance(stmt, ast.Expr):
            return isinstance(stmt.value, ast.Constant)
        if isinstance(stmt, ast.If):
            return self._value(stmt.test, scope) and all(
                self.pure(s, scope) for s in (*stmt.body, *stmt.orelse)
            )
        return isinstance(stmt, ast.Pass)

    def defines(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Return whether the signature of a function, or the bases and the body of a class, have no effect.

        What its decorators do is not asked.
        """
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self._signature(stmt, scope)
        return isinstance(stmt, ast.ClassDef) and self._body(stmt, scope)

    def _value(self, node: ast.expr | None, scope: Scope) -> bool:
        if node is None or self._evaluator.pure(node, scope):
            return True
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return all(self._value(item, scope) for item in node.elts)
        if isinstance(node, ast.Dict):
            return all(self._value(item, scope) for item in (*node.keys, *node.values))
        if isinstance(node, ast.Starred):
            return isinstance(node.value, (ast.List, ast.Tuple)) and self._value(node.value, scope)
        if isinstance(node, ast.Call) and self._evaluator.qualified(node.func, scope) in MAKERS:
            if any(keyword.arg == "device" for keyword in node.keywords):
                return False  # the first use of a device starts it
            return self._values((*node.args, *(keyword.value for keyword in node.keywords)), scope)
        return self._registered and self._evaluator.holds_gone(node, scope)

    def _values(self, nodes: Iterable[ast.expr | None], scope: Scope) -> bool:
        return all(self._value(node, scope) for node in nodes)

    def _annotation(self, node: ast.expr | None, scope: Scope) -> bool:
        return self._postponed or self._value(node, scope)

    def _function(self, node: Function, scope: Scope) -> bool:
        plain = all(self._decorator(decorator, node, scope) for decorator in node.decorator_list)
        return plain and self._signature(node, scope)

    def _signature(self, node: Function, scope: Scope) -> bool:
        args = node.args
        every = [
            *args.posonlyargs,
            *args.args,
            *args.kwonlyargs,
            *(a for a in (args.vararg, args.kwarg) if a),
        ]
        notes = (node.returns, *(a.annotation for a in every))
        return self._values((*args.defaults, *args.kw_defaults), scope) and all(
            self._annotation(note, scope) for note in notes
        )

    def _decorator(self, decorator: ast.expr, node: Function, scope: Scope) -> bool:
        if isinstance(decorator, ast.Call):
            arguments = (*decorator.args, *(keyword.value for keyword in decorator.keywords))
            if not self._values(arguments, scope):
                return False
            decorator = decorator.func
        if isinstance(decorator, ast.Attribute) and decorator.attr in _PROPERTY_PARTS:
            name = decorator.value.id if isinstance(decorator.value, ast.Name) else ""
            bindings = scope.names.get(name, []) if scope.kind == "class" else []
            return bool(bindings) and all(binding.kind == "def" for binding in bindings)
        return all(name in TRANSPARENT or self._declared(name) for name in self._named(decorator, scope))

    def _declared(self, name: object) -> bool:
        """Return whether the manifest says that a call of this function has no effect."""
        pure = self._evaluator.facts.pure
        return isinstance(name, str) and (name in pure or name.rpartition(".")[2] in pure)

    def _named(self, node: ast.expr, scope: Scope) -> set[str]:
        """The qualified names that an expression may stand for, but for `None` in place of an import."""
        found = self._evaluator.qualified(node, scope)
        if not isinstance(found, str):
            return {""}
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        if isinstance(first, ast.Name):
            bindings = self._evaluator.unit.scopes.root.names.get(first.id, [])
            if len(bindings) > 1 and found.startswith(f"{self._evaluator.unit.name}.{first.id}"):
                imports = [b for b in bindings if b.kind == "import"]
                others = [b for b in bindings if b.kind != "import"]
                if imports and all(
                    isinstance(b.value, ast.Constant) and b.value.value is None for b in others
                ):
                    tail = found.removeprefix(f"{self._evaluator.unit.name}.{first.id}")
                    return {f"{self._world.imported(self._evaluator.unit, b)}{tail}" for b in imports}
        return {found}

    def _class(self, node: ast.ClassDef, scope: Scope) -> bool:
        for decorator in node.decorator_list:
            func = decorator.func if isinstance(decorator, ast.Call) else decorator
            arguments = (
                (*decorator.args, *(k.value for k in decorator.keywords))
                if isinstance(decorator, ast.Call)
                else ()
            )
            known = self._evaluator.qualified(func, scope)
            if known not in HARMLESS_CLASS_DECORATORS and not self._declared(known):
                return False
            if not self._values(arguments, scope):
                return False
        return self._body(node, scope)

    def _body(self, node: ast.ClassDef, scope: Scope) -> bool:
        parts = (*node.bases, *(keyword.value for keyword in node.keywords))
        inner = self._evaluator.unit.scopes.of(node)
        if self._evaluator.hinders(tells_names) and any(self._hands_over(s, inner) for s in node.body):
            return False
        return self._values(parts, scope) and all(self.pure(stmt, inner) for stmt in node.body)

    def _hands_over(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Return whether a statement in a class body tells an object from elsewhere the name that it gets
        there."""
        if isinstance(stmt, ast.If):
            return any(self._hands_over(inner, scope) for inner in (*stmt.body, *stmt.orelse))
        if isinstance(stmt, ast.Assign):
            return any(self._may_share(stmt.value, scope, target) for target in stmt.targets)
        if isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
            return self._may_share(stmt.value, scope, stmt.target)
        return False

    def _may_share(self, value: ast.expr, scope: Scope, target: ast.expr) -> bool:
        """Return whether a target may get an object that was there before."""
        if isinstance(value, ast.IfExp):
            return any(self._may_share(each, scope, target) for each in (value.body, value.orelse))
        if isinstance(value, ast.BoolOp):
            return any(self._may_share(each, scope, target) for each in value.values)
        if isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != len(target.elts):
                return True
            pairs = zip(value.elts, target.elts, strict=True)
            return any(self._may_share(each, scope, one) for each, one in pairs)
        if isinstance(value, ast.Call):  # the field of a dataclass tells its default
            made = self._evaluator.qualified(value.func, scope) in MAKERS
            defaults = (keyword.value for keyword in value.keywords if keyword.arg in ("default", None))
            return not made or any(self._may_share(each, scope, target) for each in defaults)
        return not isinstance(value, _NEW)


def _only_binds(evaluator: Evaluator, target: ast.expr, value: ast.expr, scope: Scope) -> bool:
    """Return whether storing a value in a target binds names and does nothing else."""
    if isinstance(target, ast.Starred):
        target = target.value
    if not isinstance(target, (ast.Tuple, ast.List)):
        return isinstance(target, ast.Name)
    inner = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    if len(inner) != len(target.elts):
        inner = [value] * len(target.elts)
        if not repeatable(evaluator, value, scope):
            return False  # unpacking uses up an iterator
    return all(_only_binds(evaluator, one, each, scope) for one, each in zip(target.elts, inner, strict=True))
