"""Whose attributes an expression may stand for: a module's, a class's, or those of something unknown."""

from __future__ import annotations

import ast
import sys

from builder.specialize.dead_code.class_statements import is_protocol, keeps_class, makes_own
from builder.specialize.dead_code.origins import definition_around, is_self
from builder.specialize.dead_code.spelled_names import scope_around
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import text
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: Modules of the standard library with classes of which an object need not inherit.
_ABSTRACT = frozenset(
    ["abc", "collections.abc", "contextlib", "email.policy", "enum", "importlib.abc",
     "importlib.resources.abc",
     "io", "numbers", "os", "selectors", "types", "typing"]
)  # fmt: skip
_LOADS = frozenset(["import_module", "__import__", "find_spec", "spec_from_file_location"])
#: Methods whose first parameter is the class, with no decorator that says so.
_OF_CLASS = frozenset(["__new__", "__init_subclass__", "__class_getitem__"])


class Owners:
    """Answers about the expressions of one file.

    An owner is a kind and a name, as `Site` in look_ups has them. Some have more: how the name of a module
    begins, and the class outside of the program that an annotation gives.
    """

    def __init__(self, world: SpecializerWorld, unit: Unit) -> None:
        self._world = world
        self._unit = unit
        self._evaluator = Evaluator(world, unit)

    def callers(self, node: ast.AST) -> str:
        """The function or class from whose callers an object of unknown origin may come."""
        definition = definition_around(self._unit, node)
        return f"{self._unit.name}.{definition.name}" if definition is not None else ""

    def of(self, node: ast.expr, scope: Scope, depth: int) -> tuple[str, ...]:
        """The owner that an expression stands for. `depth`: how many others lead to it."""
        if depth > 5:
            return "any", ""
        if isinstance(node, ast.Call):
            return self._made(node, scope, depth)
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            return self.of(node.value, scope, depth + 1)
        if isinstance(node, ast.Subscript):
            return self._loaded(node, scope)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of = self.of(node.value, scope, depth + 1)
            if of[0] == "class" and self._evaluator.qualified(node, scope) is None:
                # without an option's type, whoever makes the object may have put anything there
                return self._option(of[1], node, scope, depth) or ("any", of[1])
        name = self._evaluator.qualified(node, scope)
        if isinstance(name, str):
            return self._known(name, node, scope, depth)
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            if owner is not None and len(bindings) == 1:
                return self._bound(node.id, bindings[0], owner, depth)
        return "any", ""

    def _option(self, cls: str, node: ast.Attribute, scope: Scope, depth: int) -> tuple[str, ...] | None:
        """What a field of the class around says of its value, where it is an option:
        `x: Annotated[Config, "..."]`."""
        at: Scope | None = scope
        while at is not None and not (at.kind == "class" and f"{self._unit.name}.{at.qualname}" == cls):
            at = at.parent
        for stmt in getattr(at.node, "body", ()) if at is not None else ():
            if isinstance(stmt, ast.AnnAssign) and getattr(stmt.target, "id", "") == node.attr:
                kind = _option_type(stmt.annotation)
                return self._annotated(kind, self._unit.scopes.root, depth) if kind is not None else None
        return None

    def _known(self, name: str, node: ast.expr, scope: Scope, depth: int) -> tuple[str, ...]:
        if self._world.is_module(name):
            return "module", name
        module = name
        while module and not self._world.is_module(module):
            module = module.rpartition(".")[0]
        if not module:
            local = isinstance(node, ast.Name) and scope.find(node.id) is None
            return ("any", "") if local else ("none", name)  # a builtin, or something of another package
        if isinstance(node, ast.Name):
            bindings = self._unit.scopes.root.names.get(node.id, [])
            if len(bindings) == 1 and bindings[0].kind == "class":
                return self._class(name)
            if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
                if self._world.ask("rebound", name):
                    return "any", ""
                return self.of(bindings[0].value, self._unit.scopes.root, depth + 1)
        path = self._world.paths.get(module)
        rest = name.removeprefix(f"{module}.")
        if path is not None and "." not in rest:
            bindings = self._world.unit(path).scopes.root.names.get(rest, [])
            if bindings and all(b.kind == "class" for b in bindings):
                return self._class(name)
        return "any", ""

    def _class(self, name: str) -> tuple[str, ...]:
        """The owner that the name of a class stands for, unless a decorator may give it something else."""
        return ("class" if keeps_class(self._world, name) else "any"), name

    def _made(self, node: ast.Call, scope: Scope, depth: int) -> tuple[str, ...]:
        """The owner that a call gives."""
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if last in ("type", "super", "iter") and isinstance(node.func, ast.Name):
            if node.args:
                return self.of(node.args[-1], scope, depth + 1)
            cls = self.class_around(node)
            return ("class", cls) if cls else ("any", "")
        if last in _LOADS and node.args:
            return self.module(node.args[0])
        if last == "module_from_spec" and node.args:
            of = self.of(node.args[0], scope, depth + 1)
            return of if of[0] in ("module", "loaded") else ("loaded", self.callers(node))
        if last == "getmodule":
            return "around", self.callers(node)
        if self._evaluator.qualified(node.func, scope) == "sys.modules.get" and node.args:
            return self.module(node.args[0])
        if last == "getattr" and len(node.args) > 1:
            of = self.of(node.args[0], scope, depth + 1)
            if of[0] == "module":
                return self._submodule(of[1], node.args[1])
            return of if of[0] == "none" else ("any", "")
        made = self.of(node.func, scope, depth + 1)
        if made[0] != "class":
            return self._returned(node.func, scope, depth)
        # what is called may be an object of the class, and a class may make what it likes
        plain = self._is_class(node.func, made[1], scope) and makes_own(self._world, made[1])
        return made if plain else ("any", made[1])

    def _is_class(self, func: ast.expr, cls: str, scope: Scope) -> bool:
        """Is a class called, and not an object of it: by name, `cls`, `type(self)`, `self.__class__`?"""
        if self._evaluator.qualified(func, scope) == cls:
            return True
        of = func.value if isinstance(func, ast.Attribute) and func.attr == "__class__" else func
        if isinstance(func, ast.Call) and getattr(func.func, "id", "") == "type" and len(func.args) == 1:
            of = func.args[0]
        owner = scope.find(of.id) if isinstance(of, ast.Name) else None
        if not isinstance(of, ast.Name) or owner is None or not is_self(of.id, owner):
            return False
        decorators = {getattr(each, "id", "") for each in getattr(owner.node, "decorator_list", ())}
        of_class = "classmethod" in decorators or getattr(owner.node, "name", "") in _OF_CLASS
        return of_class == (of is func)

    def _submodule(self, package: str, name: ast.expr) -> tuple[str, ...]:
        """The owner that an attribute of a module is, which may be any module in it or any object."""
        said = text(name)
        if said is None:
            return "any", "", f"{package}."
        return ("module", f"{package}.{said}") if self._world.is_module(f"{package}.{said}") else ("any", "")

    def _returned(self, func: ast.expr, scope: Scope, depth: int) -> tuple[str, ...]:
        """What the annotation of a function says of the owner that it returns."""
        called = self._evaluator.qualified(func, scope)
        module, _, name = called.rpartition(".") if isinstance(called, str) else ("", "", "")
        path = self._world.paths.get(module)
        if path is None:
            return "any", ""
        unit = self._world.unit(path)
        bindings = unit.scopes.root.names.get(name, [])
        node = bindings[0].node if len(bindings) == 1 else None
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            return "any", ""
        there = Owners(self._world, unit)
        found = there._annotated(node.returns, unit.scopes.root, depth)
        return found if found is not None and found[0] == "class" else ("any", "")

    def _loaded(self, node: ast.Subscript, scope: Scope) -> tuple[str, ...]:
        if (
            isinstance(node.value, ast.Attribute)
            and self._evaluator.qualified(node.value, scope) == "sys.modules"
        ):
            return self.module(node.slice)
        return "any", ""

    def module(self, node: ast.expr) -> tuple[str, ...]:
        """The owner that a module of this name is."""
        if isinstance(node, ast.Attribute) and node.attr == "__module__":
            return "around", self.callers(node)
        if isinstance(node, ast.Name) and node.id == "__name__":
            return "module", self._unit.name
        name = text(node)
        if name is not None:
            return ("module", name) if self._world.is_module(name) else ("none", name)
        at: Scope | None = scope_around(self._unit, node)
        while at is not None and at.kind not in ("function", "class"):
            at = at.parent
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        first = first.left if isinstance(first, ast.BinOp) else first
        start = text(first) or ""
        start = start if "." in start or ":" in start else ""
        return "loaded", f"{self._unit.name}.{at.qualname}" if at is not None else "", start

    def _bound(self, name: str, binding: Binding, owner: Scope, depth: int) -> tuple[str, ...]:
        """The owner that a local stands for."""
        if binding.kind == "assign" and binding.value is not None:
            return self.of(binding.value, owner, depth + 1)
        if binding.kind != "parameter" or not isinstance(owner.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return "any", ""
        args = [*owner.node.args.posonlyargs, *owner.node.args.args]
        method = owner.parent is not None and owner.parent.kind == "class"
        static = any(getattr(d, "id", "") == "staticmethod" for d in owner.node.decorator_list)
        if method and not static and args and args[0].arg == name and owner.parent is not None:
            cls = f"{self._unit.name}.{owner.parent.qualname}"
            # a method that another class borrows gets objects of that class
            return "any" if self._world.ask("lends_methods", cls.rpartition(".")[2]) else "class", cls
        called = f"{self._unit.name}.{owner.qualname}"
        if method and owner.parent is not None:
            called = f"{self._unit.name}.{owner.parent.qualname}"
        elif owner.parent is not None and owner.parent.kind == "function":
            called = ""
        annotation = next((a.annotation for a in (*args, *owner.node.args.kwonlyargs) if a.arg == name), None)
        return self._annotated(annotation, owner.parent or owner, depth) or ("any", called)

    def _annotated(self, node: ast.expr | None, scope: Scope, depth: int) -> tuple[str, ...] | None:
        """What an annotation says of the owner, if it says anything."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        name = self._evaluator.qualified(node, scope)
        if not isinstance(name, str) or name in ("object", "typing.Any", "type"):
            return None
        known = self._known(name, node, scope, depth)
        if known[0] == "none" and self._is_only_inherited(name):
            return "any", "", "", name
        return known if known[0] == "class" and not is_protocol(self._world, name) else None

    def _is_only_inherited(self, name: str) -> bool:
        """Is a class outside of the program one whose objects inherit from it?"""
        module = name.rpartition(".")[0]
        standard = module.partition(".")[0] in sys.stdlib_module_names and module not in _ABSTRACT
        return name in self._world.facts.bases or standard

    def class_around(self, node: ast.AST) -> str:
        """The qualified name of the class around a node; "" if there is none."""
        at: Scope | None = scope_around(self._unit, node)
        while at is not None and at.kind != "class":
            at = at.parent
        return f"{self._unit.name}.{at.qualname}" if at is not None else ""


def _option_type(annotation: ast.expr) -> ast.expr | None:
    """`X` of `Annotated[X, ...]`, `Annotated[Optional[X], ...]` or `Annotated[X | None, ...]`."""
    if _subscripted(annotation) not in ("A", "Annotated") or not isinstance(annotation, ast.Subscript):
        return None
    kind = annotation.slice.elts[0] if isinstance(annotation.slice, ast.Tuple) else None
    if isinstance(kind, ast.Subscript):
        return kind.slice if _subscripted(kind) == "Optional" else None
    if isinstance(kind, ast.BinOp) and getattr(kind.right, "value", ...) is None:
        return kind.left
    return kind


def _subscripted(node: ast.expr) -> str:
    """The last name of `name[...]`."""
    base = node.value if isinstance(node, ast.Subscript) else None
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
