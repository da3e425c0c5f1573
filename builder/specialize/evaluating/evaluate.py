"""What an expression is under the facts: a known value, something gone, or not decided.

Only values that follow from a fact are known here: upstream's own constants stay variables. What an
evaluation may leave out is decided in `effects`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from builder.manifest.statements import Scalar
from builder.source.fields import nodes
from builder.specialize.evaluating import environment
from builder.specialize.evaluating.comparisons import Comparisons
from builder.specialize.evaluating.facts import Gone, KnownValue
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.folding import effects
from builder.specialize.folding.flow import bound_before
from builder.specialize.rebinding import given_otherwise, import_rebound, inherited, rebound
from builder.specialize.unit import Unit, told
from builder.specialize.world import Asked, SpecializerWorld

Value = KnownValue | Gone | None
_BUILTINS = frozenset(["any", "hasattr", "getattr", "isinstance", "issubclass", "bool", "int"])
#: Decorators that do not call what they decorate.
_PLAIN_DECORATORS = frozenset([
    "cache", "cached_property", "classmethod", "contextmanager", "dataclass", "jit", "lru_cache",
    "property", "staticmethod", "wraps",
])  # fmt: skip
_NAME_ERROR = re.compile(rb"\b(?:NameError|UnboundLocalError)\b")
#: Builtins that answer True or False, and nothing else.
_ANSWERS = frozenset(["all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"])
_ANSWERING = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Evaluator:
    """Evaluates expressions of one file in one world."""

    def __init__(self, world: SpecializerWorld, unit: Unit) -> None:
        self.world = world
        self.unit = unit
        self.facts = world.facts
        self._local = world.local(unit.path)
        self._busy: set[ast.AST] = set()
        self._values: dict[tuple[ast.expr, Scope], Value] = {}
        #: questions about the whole program whose answer stood in the way; they are asked again later
        self.hindrances: set[Asked] = set()

    def hinders(self, question: Callable[..., bool], *about: str) -> bool:
        """Return whether the rest of the program stands in the way. Remembered, since what leaves may
        change it."""
        if not question(self.world, *about):
            return False
        self.hindrances.add(Asked(question, about))
        return True

    @property
    def comparisons(self) -> Comparisons:
        """The evaluator of comparisons; it is not kept, for it holds this one."""
        return Comparisons(self)

    # -- names --------------------------------------------------------------------------------

    def qualified(self, node: ast.expr, scope: Scope) -> str | Gone | None:
        """The qualified name that a name or attribute chain refers to, Gone, or None for a variable."""
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Attribute):
            base = self.qualified(node.value, scope)
            if base is None or isinstance(base, Gone):
                return base
            full = f"{base}.{node.attr}"
            if self.world.is_module(base):
                return self._unless_rebound(self.world.canonical(base, node.attr), full)
            gone = self.world.module_gone(full)
            if gone is not None:
                return Gone(gone)
            if self.world.is_gone(full) and not self.hinders(inherited, base, node.attr):
                return Gone(full)
            return full
        return None

    def _name(self, name: str, scope: Scope) -> str | Gone | None:
        owner = scope.find(name)
        at: Scope | None = scope
        while at is not None and at is not owner:  # imports that an earlier round took away
            visible = at is scope or at.kind != "class"  # a class hides nothing from its methods
            if visible and (at.qualname, name) in self._local and name not in at.names:
                return Gone(self._local[at.qualname, name])
            at = at.parent
        if (owner is None or owner.kind == "module") and _is_private_to_class(name, scope):
            return None  # in the class it is another name
        if owner is None:
            if self.unit.scopes.root.star and self.world.defines(self.unit.name, name):
                return self.world.canonical(self.unit.name, name)
            full = f"{self.unit.name}.{name}"
            gone = self.world.is_gone(full) and not self.hinders(given_otherwise, self.unit.name, name)
            return Gone(full) if gone else name
        if owner.kind == "module":
            meant = self.world.canonical(self.unit.name, name)
            return self._unless_rebound(meant, f"{self.unit.name}.{name}")
        bindings = owner.names[name]
        if all(b.kind == "import" for b in bindings):
            found = {self.world.imported(self.unit, b) for b in bindings}
            return found.pop() if len(found) == 1 else None
        return None

    def _unless_rebound(self, meant: str | Gone | None, named: str) -> str | Gone | None:
        """What a name of a module means, unless the program binds anew what the module has imported."""
        taken = isinstance(meant, str) and meant != named and self._is_known(meant)
        return named if taken and self.hinders(import_rebound, named) else meant

    def _is_known(self, name: str) -> bool:
        """Return whether the facts, or an earlier round, say what this function or constant gives."""
        stated = name in self.facts.predicates or name in self.facts.values
        return stated or self.world.function(name) is not None or self.world.constant(name) is not None

    # -- values -------------------------------------------------------------------------------

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """The value that the facts give an expression. Says nothing about effects: see `pure`.

        A fold asks for that of a condition as a whole, and again for each of its parts.
        """
        method = getattr(self, f"_value_{type(node).__name__}", None)
        if method is None:
            return None
        if self._busy:  # what a name in question decides may be another value once it is answered
            return method(node, scope)  # type: ignore[no-any-return]
        if (node, scope) not in self._values:
            self._values[node, scope] = method(node, scope)
        return self._values[node, scope]

    def truth(self, node: ast.expr, scope: Scope) -> bool | None:
        """The truth of a condition; a literal True or False in its place is what an edit put there."""
        found = self._condition(node, scope)
        return found.truth if isinstance(found, KnownValue) else None

    def _condition(self, node: ast.expr, scope: Scope) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return KnownValue(node.value)
        return self.value(node, scope)

    def _value_Name(self, node: ast.Name, scope: Scope) -> Value:
        owner = scope.find(node.id)
        if owner is not None and owner.kind != "module":
            local = self.constant(owner.names[node.id], owner)
            if local is not None and bound_before(self.unit.module, node, node.id, owner):
                return local
        return self._reference(node, scope)

    def _value_Attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        anywhere = self.facts.attribute_value(node)
        return anywhere if anywhere is not None else self._reference(node, scope)

    def _reference(self, node: ast.expr, scope: Scope) -> Value:
        name = self.qualified(node, scope)
        if isinstance(name, Gone):
            return name
        if name is None:
            return None
        found = self.facts.values.get(name)
        if found is not None:
            return found
        module, _, last = name.rpartition(".")
        if self.world.paths.get(module) != self.unit.path:
            return self.world.constant(name) or self.world.elsewhere(name)
        known = self.world.constant(name) or self.global_constant(last)
        if known is None or not _NAME_ERROR.search(self.unit.module.data):
            return known
        # the program asks whether a name is bound
        return known if bound_before(self.unit.module, node, last, self.unit.scopes.root) else None

    def global_constant(self, name: str) -> KnownValue | None:
        """The derived value of a constant of this module, if nothing can bind the name to another one."""
        root = self.unit.scopes.root
        bindings = root.names.get(name)
        if not bindings:
            return None
        found = self.constant(bindings, root)
        return found if found is not None and not self.rebound(name) else None

    def rebound(self, name: str) -> bool:
        """Return whether a name of this module that its own statements bind may get another value from
        elsewhere."""
        return self.hinders(rebound, f"{self.unit.name}.{name}")

    def constant(self, bindings: list[Binding], scope: Scope) -> KnownValue | None:
        """The one derived value of all bindings of a name, if there is one.

        A binding may be a literal too, as long as another one is derived from a fact.
        """
        values: dict[tuple[type, object], KnownValue] = {}
        derived = False
        for binding in bindings:
            if binding.kind == "declare":
                continue
            if binding.kind != "assign" or binding.value is None or binding.node in self._busy:
                return None
            self._busy.add(binding.node)
            try:
                found = self.value(binding.value, scope)
            finally:
                self._busy.discard(binding.node)
            if isinstance(found, KnownValue):
                derived = True
            elif isinstance(binding.value, ast.Constant) and isinstance(binding.value.value, bool):
                found = KnownValue(binding.value.value)
            else:
                return None
            values[type(found.value), (found.value, found.exact)] = found
        if not derived:
            return None
        first = next(iter(values.values()))
        if len(values) == 1:
            return first
        same = len({v.truth for v in values.values()}) == 1
        return KnownValue(first.truth, exact=False) if same else None

    def _value_Call(self, node: ast.Call, scope: Scope) -> Value:
        name = self.qualified(node.func, scope)
        if isinstance(name, str):
            known = self.facts.predicates.get(name) or self.world.function(name)
            if known is not None:
                return known
            if name in ("all", "any") and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
                found = self._condition(node.args[0].elt, self.unit.scopes.of(node.args[0]))
                if isinstance(found, KnownValue) and found.truth is (name == "all"):
                    return KnownValue(name == "all")
            if name in _BUILTINS and not node.keywords:
                return self._builtin(name, node, scope)
            read = environment.read(self.facts, node, name)
            if read is not None:
                return read
        return self._method(node, node.func, scope) if isinstance(node.func, ast.Attribute) else None

    def _builtin(self, name: str, node: ast.Call, scope: Scope) -> Value:
        """A call of a builtin that can tell."""
        count = len(node.args)
        if name == "hasattr" and count == 2:
            return KnownValue(False) if self.lacks(node, scope) else None
        if name == "getattr" and f"*.{text(node.args[1]) if count > 1 else None}" in self.facts.values:
            return self.facts.values[f"*.{text(node.args[1])}"]
        if name == "getattr" and count == 3 and self.lacks(node, scope):
            return self._condition(node.args[2], scope) or environment.literal(node.args[2])
        if name in ("isinstance", "issubclass") and count == 2:
            return self._isinstance(node.args[1], scope)
        if name == "bool" and count == 1:
            found = self._condition(node.args[0], scope)
            return KnownValue(found.truth) if isinstance(found, KnownValue) else None
        if name == "any" and count == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self.comparisons.any_of(node.args[0], scope)
        if name == "int" and count == 1:
            found = self.value(node.args[0], scope)
            exact = isinstance(found, KnownValue) and found.exact
            return _integer(found.value) if exact and isinstance(found, KnownValue) else None
        return None

    def _method(self, node: ast.Call, func: ast.Attribute, scope: Scope) -> Value:
        anywhere = self.facts.method_value(func)
        if anywhere is not None:
            return anywhere
        if node.args or node.keywords:
            return None
        if func.attr == "get" and isinstance(func.value, ast.Attribute):
            described = isinstance(self.qualified(func.value, scope), str)
            return environment.described(self.facts, func.value.attr) if described else None
        if func.attr in ("lower", "upper", "strip"):
            owner = self.value(func.value, scope)
            if isinstance(owner, KnownValue) and owner.exact and isinstance(owner.value, str):
                return KnownValue(getattr(owner.value, func.attr)())
        return None

    def lacks(self, node: ast.Call, scope: Scope) -> bool:
        """Return whether `hasattr(owner, "name")` or `getattr(owner, "name", default)` asks for what does
        not exist."""
        name, asked = text(node.args[1]), node.args[0]
        if f"*.{name}" in self.facts.attributes:
            return True
        called = names_of(asked)[:1] if isinstance(asked, (ast.Attribute, ast.Name)) else ()
        if called and f"*.{called[0]}.{name}" in self.facts.attributes:
            return True
        owner = self.qualified(asked, scope)
        return isinstance(owner, str) and f"{owner}.{name}" in self.facts.attributes

    def _isinstance(self, classes: ast.expr, scope: Scope) -> Value:
        members = _alternatives(classes)
        if members and all(isinstance(self.value(m, scope), Gone) for m in members):
            return KnownValue(False)
        return None

    def _value_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Value:
        if not isinstance(node.op, ast.Not):
            return None
        found = self._condition(node.operand, scope)
        return KnownValue(not found.truth) if isinstance(found, KnownValue) else None

    def _value_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Value:
        stop = isinstance(node.op, ast.Or)
        last: KnownValue | None = None
        before_known = before_answers = True
        for operand in node.values:
            found = self._condition(operand, scope)
            if isinstance(found, KnownValue) and found.truth is stop:
                # an undecided operand before this one may be the value, but not another truth
                if before_known or (before_answers and found.exact and found.value is stop):
                    return found
                return KnownValue(found.truth, exact=False)
            if not isinstance(found, KnownValue):
                before_known = False
                before_answers = before_answers and self.answers(operand, scope)
            last = found if isinstance(found, KnownValue) else None
        return last if before_known else None

    def answers(self, node: ast.expr, scope: Scope) -> bool:
        """Whether this is certainly True or False, and nothing else that counts as one of them."""
        if isinstance(node, ast.BoolOp):
            return all(self.answers(value, scope) for value in node.values)
        if isinstance(node, ast.Compare):
            return all(isinstance(op, _ANSWERING) for op in node.ops)
        if isinstance(node, ast.Call):
            return self.qualified(node.func, scope) in _ANSWERS
        return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)

    def neutral(self, node: ast.expr, before: ast.expr, stop: bool, scope: Scope) -> bool:
        """Whether the last operand of `and` or `or` may leave: the one before it is the value in any case."""
        found = self._condition(node, scope)
        same = isinstance(found, KnownValue) and found.exact and found.value is (not stop)
        return same and self.answers(before, scope)

    def _value_IfExp(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self.truth(node.test, scope)
        if test is None:
            return None
        chosen = node.body if test else node.orelse
        if isinstance(chosen, ast.Constant) and chosen.value is None:
            return KnownValue(None)
        return self._condition(chosen, scope)

    def _value_Compare(self, node: ast.Compare, scope: Scope) -> Value:
        return self.comparisons.value(node, scope)

    def pure(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether the evaluation may be left out without anybody noticing."""
        return effects.pure(self, node, scope)

    def holds_gone(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether something in an expression is gone, so that it cannot be evaluated."""
        parts = (n for n in nodes(node) if isinstance(n, (ast.Name, ast.Attribute)))
        return any(isinstance(self.qualified(part, scope), Gone) for part in parts)


def _is_private_to_class(name: str, scope: Scope) -> bool:
    """Return whether Python puts the name of the class around it before a name."""
    at: Scope | None = scope
    while name.startswith("__") and not name.endswith("__") and at is not None:
        if at.kind == "class":
            return True
        at = at.parent
    return False


def _integer(value: Scalar) -> KnownValue | None:
    try:
        return KnownValue(int(value)) if value is not None else None
    except ValueError:
        return None


def _alternatives(classes: ast.expr) -> list[ast.expr]:
    """The members of `(A, B)` and `A | B`, else the class itself."""
    if isinstance(classes, ast.Tuple):
        return classes.elts
    if isinstance(classes, ast.BinOp) and isinstance(classes.op, ast.BitOr):
        return [*_alternatives(classes.left), *_alternatives(classes.right)]
    return [classes]


def constant_of(world: SpecializerWorld, qualified: str) -> KnownValue | None:
    """The derived value of a module-level constant, read in the file that assigns it."""
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    if path is None or not world.content(path).assigns(name):
        return None
    unit = world.unit(path)
    return Evaluator(world, unit).global_constant(name) if _may_be_derived(unit, name) else None


@told
def _may_be_derived(unit: Unit, name: str) -> bool:
    """Return whether a name of the module is bound to values alone, and not to literals alone."""
    bindings = [one for one in unit.scopes.root.names.get(name, ()) if one.kind != "declare"]
    assigned = all(one.kind == "assign" and one.value is not None for one in bindings)
    return assigned and not all(isinstance(one.value, ast.Constant) for one in bindings)
