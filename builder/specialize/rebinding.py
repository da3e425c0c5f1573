"""Decides whether a name may be written from elsewhere: by module object, `globals()`, `setattr`, `exec`.

What a module binds once at its top level is a constant only where nothing else binds it. The search goes
over the whole program, but parses only files whose text can write such a name.
"""

from __future__ import annotations

import ast
import builtins
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from builder.graph.names import imported_module
from builder.source.fields import nodes
from builder.specialize.attributes import attribute_stores
from builder.specialize.dead_code.dynamic_names import formed_in
from builder.specialize.evaluating.names import longest_word, names_in_class, names_of
from builder.specialize.namespaces import holds_itself, lists_own_names, modules_held
from builder.specialize.text_index.content import Content
from builder.specialize.text_index.text_search import nodes_on, refers
from builder.specialize.unit import Unit, once, told
from builder.specialize.world import SpecializerWorld, question

if TYPE_CHECKING:
    from builder.specialize.evaluating.evaluate import Evaluator

_STORES = (ast.Store, ast.Del)
#: What writes names that are texts.
_REFLECTION = frozenset([
    b"setattr", b"delattr", b"__setattr__", b"patch", b"globals", b"locals", b"vars", b"__dict__", b"exec",
    b"eval",
])  # fmt: skip
#: What may write names of its own module that no text shows.
_WRITES_OWN = re.compile(
    rb"(?:\b(?:globals|locals|vars)\(\)|modules\[[^\]]*\]\.__dict__)"
    rb"\s*(?:\[(?!\s*[\"'][^\"'\n]*[\"']\s*\])|\.\s*(?:update|setdefault|__setitem__|pop|clear)\b)"
)
#: What gives its own module names that no statement binds.
_MAKES_OWN = re.compile(
    rb"(?<![\w.])exec\s*\(|setattr\(\s*(?:sys\.)?modules\[|\bglobals\(\)\s*\[[^\]\n]*\]\s*=(?!=)"
)
#: Bases and decorators that give a class no attribute that a program asks for.
_GIVE_NOTHING = frozenset(["ABC", "Generic", "Protocol", "dataclass", "object"])
#: What tells the annotations of a function, class or module.
_ASKS_FOR_ANNOTATIONS = frozenset([
    b"__annotations__", b"__signature__", b"get_annotations", b"get_type_hints", b"getfullargspec",
    b"signature", b"Signature",
])  # fmt: skip
#: What names of modules that tests use to write names.
_OF_TESTS = frozenset([b"mock", b"monkeypatch"])


@question
def rebound(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a module-level name may be written by anything but the statements of its own module."""
    module, _, name = qualified.rpartition(".")
    if module_exposed(world, module) or _is_spelled(world, qualified) or _is_reflected(world, qualified):
        return True
    if world.words.holding(names_in_class(name)):
        return True
    if module in world.paths and name in world.module_bindings(world.paths[module]).covered:
        return True
    return any(
        _may_be_module(world, unit, node.value, module)
        for unit, node in attribute_stores(world, name)
        if not _is_self(node.value)
    )


def _is_reflected(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a file may write a name by a text, or its module may write any of its own names.

    A file that names a function which writes by names does so if it has the name of the module as a text, or
    if it has the name as a text and names the module. One that names what tests use does if a text ends in
    the name, or if the name is a keyword.
    """
    module, _, name = qualified.encode().rpartition(b".")
    own, last = world.paths.get(module.decode()), module.rpartition(b".")[2]
    if own is not None and (_writes_own(world.content(own)) or lists_own_names(world.unit(own))):
        return True
    writing = world.words.holding(_REFLECTION)
    naming_module = writing & world.words.holding([last])
    if _is_written_by_text(world, module, naming_module):
        return True
    naming_it = writing & world.words.holding([name])
    if any(name in world.content(path).quoted for path in naming_it if path == own or path in naming_module):
        return True
    if any(
        name.decode() in formed_in(world.content(path)).names
        for path in naming_it & world.words.holding([b"exec", b"eval"])
        if path == own or path in naming_module
    ):
        return True
    patched = re.compile(rb"\.%b[\"']|[(,]\s*%b=" % (name, name))
    return any(patched.search(world.files[path]) for path in naming_it & world.words.holding(_OF_TESTS))


def _writes_own(content: Content) -> bool:
    return content.get(("writes own names",), lambda: _WRITES_OWN.search(content.data) is not None)


def _is_written_by_text(world: SpecializerWorld, module: bytes, naming_module: set[str]) -> bool:
    """Return whether a file that names a function which writes by names has the name of a module as a
    text."""
    key = ("written by text", module.decode())
    if key not in world.derived:
        texts = [world.files[path] for path in naming_module]
        world.derived[key] = any(quoted in text for text in texts for quoted in _quoted(module))
    return bool(world.derived[key])


def _is_spelled(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a name is a text of the program, as in `patch("module.NAME", ...)`."""
    module, _, name = qualified.encode().rpartition(b".")
    holders = world.words.holding([name]) & world.words.holding([module.rpartition(b".")[2]])
    return any(text in world.files[path] for path in holders for text in _quoted(qualified.encode()))


def _quoted(name: bytes) -> tuple[bytes, bytes]:
    return b'"%b"' % name, b"'%b'" % name


@question
def module_exposed(world: SpecializerWorld, module: str) -> bool:
    """Return whether a file has a module as a value, so that any function may get it."""
    own = world.paths.get(module)
    if own is not None and holds_itself(world.unit(own)):
        return True
    idle: set[str] = world.derived.setdefault(("files that hold no module",), set())
    for path in sorted(world.words.holding([module.rpartition(".")[2].encode()]) - idle):
        held = modules_held(world, path)
        if module in held:
            return True
        if not held:
            idle.add(path)
    return False


@question
def import_rebound(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether the program binds a name that a module imports again, as an attribute of this very
    module."""
    module, _, name = qualified.rpartition(".")
    own, encoded = world.paths.get(module), name.encode()
    naming = world.words.holding(_REFLECTION) & world.words.holding([encoded])
    naming = {
        path for path in naming if path == own or module.rpartition(".")[2].encode() in world.words.of(path)
    }
    if world.words.holding(names_in_class(name)) or any(
        _writes_name(world.unit(path), name) for path in naming
    ):
        return True
    return _is_spelled(world, qualified) or any(
        _evaluator(world, unit).qualified(node.value, unit.scope_of(node.value)) == module
        or _spells_module(unit, node.value, module)
        for unit, node in attribute_stores(world, name)
        if not _is_self(node.value)
    )


def _spells_module(unit: Unit, owner: ast.expr, module: str) -> bool:
    """Return whether an expression, or what a name is bound to, has the name of a module as a text."""
    scope = unit.scope_of(owner).find(owner.id) if isinstance(owner, ast.Name) else None
    values = [b.value for b in scope.names[owner.id]] if scope is not None else [owner]  # type: ignore[attr-defined]
    parts = (part for value in values if value is not None for part in nodes(value))
    return any(
        (isinstance(part, ast.Constant) and part.value == module)
        or (isinstance(part, ast.Name) and part.id == "__name__" and unit.name == module)
        for part in parts
    )


@told
def _writes_name(unit: Unit, name: str) -> bool:
    """Return whether a file sets a name by its text, or as a keyword of `update`."""

    def writes(node: ast.AST) -> bool:
        if isinstance(node, ast.keyword):
            return (
                node.arg == name
                and getattr(getattr(unit.module.parents.get(node), "func", None), "attr", "") == "update"
            )
        if not isinstance(node, ast.Constant) or node.value != name:
            return False
        parent = unit.module.parents.get(node)
        if isinstance(parent, ast.Subscript):
            return isinstance(parent.ctx, _STORES)
        called = names_of(parent.func)[:1] if isinstance(parent, ast.Call) else ()
        return bool(called) and called[0] in ("setattr", "delattr", "__setitem__", "pop", "setdefault")

    return any(map(writes, nodes_on(unit, name)))


@question
def is_class(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether this is a class of the program that nothing replaces: no decorator, no other binding."""
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    return path is not None and _is_plain_class(world.unit(path), name) and not rebound(world, qualified)


@told
def _is_plain_class(unit: Unit, name: str) -> bool:
    nodes = [binding.node for binding in unit.scopes.root.names.get(name, ())]
    return len(nodes) == 1 and isinstance(nodes[0], ast.ClassDef) and not nodes[0].decorator_list


@question
def cache_inspected(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a file may ask how often a cached function was called."""
    name = qualified.rpartition(".")[2].encode()
    inspecting = world.words.holding([b"cache_info", b"cache_clear", b"cache_parameters"])
    return any(name in world.words.of(path) for path in inspecting)


@question
def defined_elsewhere(world: SpecializerWorld, name: str, *known: str) -> bool:
    """Return whether the program defines a function of this name beside the known ones."""
    defines = re.compile(rb"\bdef\s+%b\b" % re.escape(name.encode()))
    found = sum(len(defines.findall(world.files[path])) for path in world.words.holders(name.encode()))
    return found > len(known)


def _says(world: SpecializerWorld, text: bytes, value: str, any_case: bool, names: tuple[str, ...]) -> bool:
    """Return whether the program has a text that matches the pattern `text`, and that the option `names` may
    have. `value`: a part of each such text."""
    quoted = re.compile(rb"[\"'](" + text + rb")[\"']")
    word = longest_word(value).encode()
    holders = world.words.holding(world.words.containing(word, any_case)) if word else world.files
    found = {said for path in holders for said in quoted.findall(world.files[path])}
    return not all(world.facts.never_has(names, said.decode("utf-8", "replace")) for said in found)


@question
def part_of_value(world: SpecializerWorld, value: str, any_case: str, *names: str) -> bool:
    """Return whether a longer text of the program holds this one and is one that the option `names` may have.

    `any_case`: not empty if small and capital letters are the same.
    """
    part = re.escape(value.encode())
    part = rb"(?i:" + part + rb")" if any_case else part
    return _says(world, rb"[^\"'\s]*" + part + rb"[^\"'\s]*", value, bool(any_case), names)


@question
def written_otherwise(world: SpecializerWorld, value: str, *names: str) -> bool:
    """Return whether the program says a text of the option `names` in other letters, or between spaces."""
    space = rb"(?:\s|\\[nrtfv])*"
    return _says(world, space + rb"(?i:" + re.escape(value.encode()) + rb")" + space, value, True, names)


@question
def named_elsewhere(world: SpecializerWorld, name: str) -> bool:
    """Return whether something in the program names what has this name, but for the definitions
    themselves."""
    if world.words.holding(names_in_class(name)):
        return True
    return any(refers(world.unit(path), name) for path in world.words.holders(name.encode()))


@question
def module_removed(world: SpecializerWorld, module: str) -> bool:
    """Return whether a module of the program left."""
    return world.is_removed(module)


@question
def given_otherwise(world: SpecializerWorld, module: str, name: str) -> bool:
    """Return whether a module may have a name whose statements left: by a star import, as a module below it,
    made on demand, or written by its text."""
    path, full = world.paths.get(module), f"{module}.{name}"
    if path is None or full in world.facts.symbols:
        return False
    bound = world.module_bindings(path)
    return (
        world.is_module(full)
        or "__getattr__" in bound.names
        or _writes_own(world.content(path))
        or _MAKES_OWN.search(world.files[path]) is not None
        or any(world.defines(star, name) for star in bound.stars)
    )


@question
def inherited(world: SpecializerWorld, owner: str, name: str) -> bool:
    """Return whether a class may have an attribute whose statement left from a base, or by a decorator."""
    if f"{owner}.{name}" in world.facts.symbols:
        return False
    classes = (each.node for each in world.home(owner)[1] if isinstance(each.node, ast.ClassDef))
    return any(gives_attributes(each) for node in classes for each in (*node.bases, *node.decorator_list))


def gives_attributes(base: ast.expr) -> bool:
    """Return whether a base or a decorator may give a class attributes, beside those that every class has."""
    name = (names_of(base.value if isinstance(base, ast.Subscript) else base) or ("",))[0]
    return name not in _GIVE_NOTHING and not name.endswith(("Enum", "Flag"))


@question
def is_alias(world: SpecializerWorld, module: str, name: str) -> bool:
    """Return whether a name of a removed module is only another name for something that exists all the
    same."""
    unit = _removed(world, module)
    for binding in unit.scopes.root.names.get(name, ()) if unit is not None else ():
        node, value = binding.node, binding.value
        if unit is None or node not in unit.module.tree.body:
            continue
        if isinstance(node, ast.ImportFrom) and binding.alias is not None:
            package = module if world.is_folder(module) else module.rpartition(".")[0]
            home, original = imported_module(node, package), binding.alias.name
            if world.module_gone(home) is None and not world.is_gone(f"{home}.{original}"):
                return True
            if home in world.removed_files and is_alias(world, home, original):
                return True
        elif isinstance(node, ast.Import):
            if not any(world.module_gone(alias.name) for alias in node.names):
                return True
        elif isinstance(value, (ast.Name, ast.Attribute)):
            first = ast.unparse(value).partition(".")[0]
            if hasattr(builtins, first) or is_alias(world, module, first):
                return True
    return False


@once
def _removed(world: SpecializerWorld, module: str) -> Unit | None:
    """A removed module as upstream has it."""
    with suppress(KeyError, SyntaxError):
        return Unit(module, module, world.contents.of(world.removed_files[module]))
    return None


@question
def annotations_inspected(world: SpecializerWorld, name: str) -> bool:
    """Return whether somebody may ask for the annotations of what has this name.

    Who asks, a file or another package, names the function, was given it, or took it by a text.
    """
    asking = world.words.holding([b"__annotations__", b"get_annotations", b"get_type_hints"])
    uncalled = re.compile(rb"\b%b\b(?![ \t]*\()" % name.encode())  # most files only call or define it
    return any(name.encode() in world.words.of(path) for path in asking) or any(
        uncalled.search(world.files[path]) and _used_as_value(world.unit(path), name)
        for path in world.words.holders(name.encode())
    )


@question
def module_inspected(world: SpecializerWorld, module: str) -> bool:
    """Return whether a module asks for its own annotations, or may be given to whoever does."""
    asking = world.words.holding(_ASKS_FOR_ANNOTATIONS)
    return world.paths.get(module) in asking or (bool(asking) and module_exposed(world, module))


@told
def _used_as_value(unit: Unit, name: str) -> bool:
    """Return whether a file does something else with a function than call it: it hands it on, imports it by
    another name, or has its name as a text."""
    parents = unit.module.parents
    for node in nodes_on(unit, name):
        if isinstance(node, ast.alias):
            if node.asname is not None and name in node.name.split("."):
                return True
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and re.split(r"[.:]", node.value)[-1] == name:
                return True
        elif name in (getattr(node, "id", ""), getattr(node, "attr", "")):
            parent = parents.get(node)
            if not (isinstance(parent, ast.Call) and (parent.func is node or _only_runs(parent, node))):
                return True
    return False


def _only_runs(call: ast.Call, function: ast.AST) -> bool:
    """Return whether a call hands a function to an executor or a loop, which do nothing but call it."""
    method = getattr(call.func, "attr", "")
    place = {"submit": 0, "call_soon": 0, "call_soon_threadsafe": 0, "run_in_executor": 1}.get(method)
    return place is not None and call.args[place : place + 1] == [function]


def _may_be_module(world: SpecializerWorld, unit: Unit, owner: ast.expr, module: str) -> bool:
    """Return whether the owner of an attribute may be this module: not one that is visibly another or a
    class."""
    scope = unit.scope_of(owner)
    named = _evaluator(world, unit).qualified(owner, scope)
    if not isinstance(named, str):
        return True
    if named == module:
        return True
    return not (world.is_module(named) or world.is_definition(named))


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _evaluator(world: SpecializerWorld, unit: Unit) -> Evaluator:
    from builder.specialize.evaluating.evaluate import Evaluator  # it asks these questions itself

    return Evaluator(world, unit)
