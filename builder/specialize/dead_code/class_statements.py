"""What the class statements of the program say: their bases, and whether calls make objects of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.text_search import nodes_like
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld, question

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Class decorators that call no method and remember no class.
HARMLESS_CLASS_DECORATORS = frozenset(
    [
        "dataclasses.dataclass",
        "enum.unique",
        "functools.total_ordering",
        "typing.final",
        "typing.runtime_checkable",
        "typing_extensions.final",
        "typing_extensions.runtime_checkable",
    ]
)
_PROTOCOLS = frozenset(["typing.Protocol", "typing_extensions.Protocol"])
#: So many bases one above the other are looked at.
MAX_DEPTH = 30


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class statement of a kept file."""

    unit: Unit
    node: ast.ClassDef
    scope: Scope  # around it

    @property
    def place(self) -> tuple[str, int, int]:
        """Where it stands: the file, the line and the column. It is the same in every syntax tree."""
        return self.unit.path, self.node.lineno, self.node.col_offset

    @property
    def qualified(self) -> str:
        return ".".join(part for part in (self.unit.name, self.scope.qualname, self.node.name) if part)


def is_protocol(world: SpecializerWorld, name: str) -> bool:
    """Is this a class of the tree that an annotation may name for objects that do not inherit from it?

    So it is with one that inherits from `Protocol` itself, which a base that is not known may be, and with an
    abstract one with which the program registers others.
    """
    for base, qualified in class_bases(world, name):
        if qualified is None or qualified in _PROTOCOLS or _last(base) == "Protocol":
            return True
    return _is_abstract(world, name, 0) and world.ask("registers_with", name)


@question
def registers_with(world: SpecializerWorld, name: str) -> bool:
    """May the program call `register` of an abstract class, or of what inherits from it?"""
    last = name.rpartition(".")[2].encode()
    for path in sorted(world.words.holding([b"register"])):
        unit = world.unit(path)
        evaluator = Evaluator(world, unit)
        for node in nodes_like(unit, "register", "attribute", _takes_register):
            if isinstance(node, ast.Attribute):
                owner = evaluator.qualified(node.value, unit.scope_of(node))
                if owner is None and last in world.words.of(path):
                    return True
                if isinstance(owner, str) and _inherits(world, owner, name, 0):
                    return True
    return False


def _takes_register(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "register"


def _inherits(world: SpecializerWorld, name: str, ancestor: str, depth: int) -> bool:
    """Is a class of the tree another one, or does it inherit from it?"""
    bases = class_bases(world, name) if depth < MAX_DEPTH else ()
    return name == ancestor or any(
        isinstance(base, str) and _inherits(world, base, ancestor, depth + 1) for _, base in bases
    )


def _is_abstract(world: SpecializerWorld, name: str, depth: int) -> bool:
    """May the metaclass of a class be `ABCMeta`: does it inherit from a class outside of the tree?"""
    if depth >= MAX_DEPTH:
        return True
    for base, qualified in class_bases(world, name):
        if not isinstance(qualified, str) or (not _is_ours(world, qualified) and qualified != "object"):
            return True
        if isinstance(base, ast.keyword) or _is_abstract(world, qualified, depth + 1):
            return True
    return False


def _is_ours(world: SpecializerWorld, name: str) -> bool:
    return name.rpartition(".")[0] in world.paths


def keeps_class(world: SpecializerWorld, name: str) -> bool:
    """Do the decorators of a class at the top of a module leave it what it is?"""
    for unit, node in class_statements(world, name):
        evaluator = Evaluator(world, unit)
        for decorator in node.decorator_list:
            func = decorator.func if isinstance(decorator, ast.Call) else decorator
            if evaluator.qualified(func, unit.scopes.root) not in HARMLESS_CLASS_DECORATORS:
                return False
    return True


def makes_own(world: SpecializerWorld, name: str, depth: int = 0) -> bool:
    """Does a call of a class give an object of it, as far as the classes of the tree decide?

    `__new__` may give another one, and so may `__call__` of a metaclass.
    """
    if depth >= MAX_DEPTH:
        return False
    if any(defines_method(node, "__new__") for _, node in class_statements(world, name)):
        return False
    for base, qualified in class_bases(world, name):
        if isinstance(base, ast.keyword) and base.arg == "metaclass" and qualified != "abc.ABCMeta":
            return False
        if isinstance(qualified, str) and not makes_own(world, qualified, depth + 1):
            return False
    return True


def class_bases(
    world: SpecializerWorld, name: str
) -> Iterator[tuple[ast.expr | ast.keyword, str | Gone | None]]:
    """The bases and keywords of a class at the top of a module of the tree, and what they mean."""
    for unit, node in class_statements(world, name):
        evaluator, root = Evaluator(world, unit), unit.scopes.root
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            yield plain, evaluator.qualified(plain, root)
        for keyword in node.keywords:
            yield keyword, evaluator.qualified(keyword.value, root) or ""


def class_statements(world: SpecializerWorld, name: str) -> Iterator[tuple[Unit, ast.ClassDef]]:
    """The statements of a class at the top of a module of the tree."""
    module, _, last = name.rpartition(".")
    path = world.paths.get(module)
    if path is not None:
        unit = world.unit(path)
        for binding in unit.scopes.root.names.get(last, []):
            if isinstance(binding.node, ast.ClassDef):
                yield unit, binding.node


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def defines_method(node: ast.ClassDef, name: str) -> bool:
    """Does the body of a class bind a name, at whatever depth of conditions?"""
    for inner in statements_of(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name == name:
            return True
        if isinstance(inner, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in inner.targets
        ):
            return True
    return False


def statements_of(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """The statements of the body of a class, at whatever depth of conditions."""
    todo: list[ast.stmt] = list(node.body)
    while todo:
        stmt = todo.pop()
        yield stmt
        if isinstance(stmt, (ast.If, ast.Try, ast.With)):
            todo += [inner for inner in ast.iter_child_nodes(stmt) if isinstance(inner, ast.stmt)]
            for handler in getattr(stmt, "handlers", ()):
                todo += handler.body


def is_in_program(world: SpecializerWorld, name: str) -> bool:
    """Is this the name of a module of the program, or of something in one?"""
    while name:
        if world.is_module(name):
            return True
        name = name.rpartition(".")[0]
    return False
