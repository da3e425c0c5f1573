"""May something write a name from elsewhere: through the module object, `globals()`, `setattr` or `exec`?

What a module binds once at its top level is a constant only where nothing else binds it. The search goes
over the whole program, but parses only files whose text can write such a name.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from builder.graph.names import imported_module
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.held_modules import holds_itself, modules_held
from builder.specialize.reflected_writes import ANY, EVERY, REFLECTION, Write, Writes, writes_of
from builder.specialize.text_index.text_search import fields_of, nodes_on, refers
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld, question

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")

if TYPE_CHECKING:
    from builder.specialize.evaluating.evaluate import Evaluator

_STORES = (ast.Store, ast.Del)

_NAMES_OF: dict[bytes, Mapping[str, list[ast.AST]]] = {}


@question
def rebound(world: SpecializerWorld, qualified: str) -> bool:
    """May a module-level name be written by anything but the statements of its own module?"""
    module, _, name = qualified.rpartition(".")
    if any(w.owner in (module, ANY, EVERY) and w.name in (name, ANY) for w in _reflected(world, name)):
        return True
    if world.ask("names_computed") and world.ask("module_exposed", module):
        return True
    spelled = qualified.encode()  # `patch("module.NAME", ...)`
    if any(
        quote + spelled + quote in world.files[path]
        for path in world.words.holders(name.encode())
        for quote in (b'"', b"'")
    ):
        return True
    if any(
        _may_be_module(world, unit, node.value, module)
        for unit, node in _attribute_stores(world, name)
        if not _is_self(node.value)
    ):
        return True
    return any(_is_handed_over(world, path, module, name) for path in world.words.holders(name.encode()))


@question
def written_somewhere(world: SpecializerWorld, name: str) -> bool:
    """Does the program write an attribute or a name of some module that has this name?"""
    if any(write.owner not in (ANY, EVERY) and write.name == name for write in _reflected(world, name)):
        return True
    if any(not _is_self(node.value) for _, node in _attribute_stores(world, name)):
        return True
    encoded = name.encode()
    return any(
        b"." + encoded + quote in world.files[path]
        for path in world.words.holders(encoded)
        for quote in (b'"', b"'")
    )


@question
def writes_any(world: SpecializerWorld, module: str) -> bool:
    """Does the program write names of a module that no text shows?"""
    return any(write == Write(module, ANY) for _, write in _writes(world))


@question
def names_computed(world: SpecializerWorld) -> bool:
    """Does the program write attributes that no text shows, of objects that may be anything?"""
    return any(write == Write(ANY, ANY) for _, write in _writes(world))


@question
def module_exposed(world: SpecializerWorld, module: str) -> bool:
    """Does a file have a module as a value, so that any function may get it?"""
    own = world.paths.get(module)
    if own is not None and holds_itself(world.unit(own)):
        return True
    last = module.rpartition(".")[2].encode()
    return any(
        module in modules_held(world, world.unit(path)) for path in sorted(world.words.holding([last]))
    )


@question
def import_rebound(world: SpecializerWorld, qualified: str) -> bool:
    """Does the program bind a name that a module imports again: in its namespace, or as its attribute?

    Only what means this module counts. What anybody may write is no import that a fact speaks of.
    """
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    if path is not None and name.encode() in world.outline(path).quoted and world.ask("writes_any", module):
        return True
    if not world.ask("written_somewhere", name):
        return False
    if any(write.owner == module and write.name == name for write in _reflected(world, name)):
        return True
    spelled = qualified.encode()  # `patch("module.NAME", ...)`
    for path in world.words.holders(name.encode()):
        if any(quote + spelled + quote in world.files[path] for quote in (b'"', b"'")):
            return True
    return any(
        _evaluator(world, unit).qualified(node.value, unit.scope_of(node.value)) == module
        for unit, node in _attribute_stores(world, name)
        if not _is_self(node.value)
    )


def _is_handed_over(world: SpecializerWorld, path: str, module: str, name: str) -> bool:
    """Does a call in a file get what may be the module together with a text that is the name?

    Where the name is a keyword, or the key of a dict, only what is the module counts.
    """
    encoded = re.escape(name.encode())
    if name.encode() not in world.outline(path).quoted and not re.search(
        rb"\b" + encoded + rb"\s*=", world.files[path]
    ):
        return False
    unit = world.unit(path)
    if not _hands_over(unit, name):
        return False
    owner = Writes(unit, _evaluator(world, unit)).owner
    for node, given in _handing(nodes_on(unit, name), name):
        owners = (module, ANY) if any(text(one) == name for one in given) else (module,)
        if any(owner(one, unit.scope_of(node)) in owners for one in given if _may_be_object(one)):
            return True
        if any(text(one) == module or _is_own_name(one, unit, module) for one in given):
            return True
    return False


def _hands_over(unit: Unit, name: str) -> bool:
    return unit.told(("name handed over", name), lambda: any(_handing(nodes_on(unit, name), name)))


def _handing(nodes: Iterable[ast.AST], name: str) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """The calls that get a name as a text, a keyword or a key, with all that they are given."""
    for node in nodes:
        if isinstance(node, ast.Call) and names_of(node.func)[:1] not in (("getattr",), ("hasattr",)):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(text(one) == name for one in given) or _says_key(node, name):
                yield node, given


def _is_own_name(node: ast.expr, unit: Unit, module: str) -> bool:
    return isinstance(node, ast.Name) and node.id == "__name__" and unit.name == module


def _says_key(node: ast.Call, name: str) -> bool:
    """Is a name a keyword of a call, or in a dict or a list that the call is given?"""
    if any(keyword.arg == name for keyword in node.keywords):
        return True
    displays = (given for given in node.args if isinstance(given, (ast.Dict, ast.List, ast.Tuple, ast.Set)))
    return any(
        text(part) == name for given in displays for part in ast.walk(given) if isinstance(part, ast.expr)
    )


def _may_be_object(node: ast.expr) -> bool:
    """May an expression be a module? What is written out is none."""
    objects = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Starred)
    return isinstance(node, objects)


@question
def attribute_rebound(world: SpecializerWorld, name: str) -> bool:
    """May an attribute of this name be set on an instance or a class, other than by a `def` in a class?"""
    if world.ask("names_computed") or any(w.name in (name, ANY) for w in _reflected(world, name)):
        return True
    return next(_attribute_stores(world, name), None) is not None


def only_defined(world: SpecializerWorld, name: str, count: int) -> bool:
    """Is a name bound by so many `def` statements, and else only read as an attribute?"""
    word, definitions = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b"), 0
    for path in world.words.holders(name.encode()):
        data = world.files[path]
        for match in word.finditer(data):
            before = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()].rstrip()
            if before.endswith(b"def"):
                definitions += 1
            elif not before.endswith(b".") and b"#" not in before:
                return False
    return definitions == count


@question
def star_may_bind(world: SpecializerWorld, module: str, name: str) -> bool:
    """May `from module import *` bind this name?"""
    if module in world.paths:
        return world.defines(module, name)
    if world.module_gone(module) is not None:
        return False
    return not name.startswith("_")  # nobody knows what a module outside the tree exports


@question
def is_enumeration(world: SpecializerWorld, qualified: str) -> bool:
    """Is this a class of the tree whose bases are enumerations?"""
    return any(base.endswith(("Enum", "Flag")) for base in _bases(world, qualified))


@question
def is_class(world: SpecializerWorld, qualified: str) -> bool:
    """Is this a class of the program that nothing replaces: no decorator, no other binding?"""
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    bindings = world.unit(path).scopes.root.names.get(name, ()) if path is not None else ()
    nodes = [binding.node for binding in bindings]
    plain = len(nodes) == 1 and isinstance(nodes[0], ast.ClassDef) and not nodes[0].decorator_list
    return plain and not world.ask("rebound", qualified)


@question
def cache_inspected(world: SpecializerWorld, qualified: str) -> bool:
    """May a file ask how often a cached function was called?"""
    name = qualified.rpartition(".")[2].encode()
    inspecting = world.words.holding([b"cache_info", b"cache_clear", b"cache_parameters"])
    return any(name in world.words.of(path) for path in inspecting)


@question
def has_setter(world: SpecializerWorld, name: str) -> bool:
    """Does a class of the program run a method where an attribute of this name is set?"""
    setter = re.compile(rb"@\s*" + re.escape(name.encode()) + rb"\s*\.\s*setter\b")
    return any(setter.search(world.files[path]) for path in world.words.holders(name.encode()))


@question
def attribute_named(world: SpecializerWorld, name: str) -> bool:
    """May a file ask whether an object has an attribute, take it away, or read it where it must stay?"""
    encoded = name.encode()
    asking = world.words.holding([b"hasattr", b"setattr", b"delattr", b"attrgetter"])
    if any(encoded in world.outline(path).quoted for path in asking if encoded in world.words.of(path)):
        return True
    if any(isinstance(node.ctx, ast.Del) for _, node in _attribute_stores(world, name)):
        return True
    return any(_read_with_effect(world, path, name) for path in world.words.holders(encoded))


@question
def destination_read(world: SpecializerWorld, name: str) -> bool:
    """Does the program read an attribute of this name, or take one by this text, where no fact states it?"""
    for path in world.words.holders(name.encode()):
        unit = world.unit(path)
        for node in nodes_on(unit, name):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                read = world.facts.attribute_value(node) is None
            else:
                said = isinstance(node, ast.Constant) and node.value == name
                read = said and f"*.{name}" not in world.facts.values and _takes_by_text(unit, node)
            if read:
                return True
    return False


def _takes_by_text(unit: Unit, node: ast.AST) -> bool:
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Call) and node in parent.args:
        return names_of(parent.func)[:1] in (("getattr",), ("get",), ("hasattr",), ("pop",))
    return isinstance(parent, ast.Subscript) and parent.slice is node


def _read_with_effect(world: SpecializerWorld, path: str, name: str) -> bool:
    """Does a file read an attribute where no value can take the place of the read?

    Of what an effect gives, by `x.name += 1`, in an f-string, a class pattern, or in the field of a text.
    """
    unit = world.unit(path)
    texts = (node for node in nodes_on(unit, name) if isinstance(node, ast.JoinedStr))
    in_texts = {part for node in texts for part in ast.walk(node)}
    for node in nodes_on(unit, name):
        if isinstance(node, ast.MatchClass) and name in node.kwd_attrs:
            return True
        if isinstance(node, ast.Constant) and name in fields_of(node.value):
            return True
        if isinstance(node, ast.AugAssign) and getattr(node.target, "attr", "") == name:
            return True
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
            if node in in_texts:
                return True
            owner = node.value
        elif isinstance(node, ast.Call) and names_of(node.func) == ("getattr",) and len(node.args) > 1:
            if text(node.args[1]) != name:
                continue
            owner = node.args[0]
        else:
            continue
        if not _evaluator(world, unit).pure(owner, unit.scope_of(node)):
            return True
    return False


@question
def part_of_value(world: SpecializerWorld, value: str, any_case: str, *names: str) -> bool:
    """Is there a longer text in the program that holds this one and that the option `names` may have?

    `any_case`: not empty if small and capital letters are the same.
    """
    word = max(_IDENTIFIER.findall(value), key=len, default="").encode()
    part = re.escape(value.encode())
    if any_case:
        part = rb"(?i:" + part + rb")"
    longer = re.compile(rb"[\"']([^\"'\s]*" + part + rb"[^\"'\s]*)[\"']")
    holders = world.words.holding(world.words.containing(word, bool(any_case))) if word else world.files
    found = {said for path in holders for said in longer.findall(world.files[path])}
    return any(world.facts.option_absent(names, said.decode("utf-8", "replace")) is None for said in found)


@question
def written_otherwise(world: SpecializerWorld, value: str, *names: str) -> bool:
    """Does the program say a text that the option `names` may have in other letters, or between spaces?"""
    word = max(_IDENTIFIER.findall(value), key=len, default="").encode()
    alike = re.compile(rb"[\"'](\s*" + re.escape(value.encode()) + rb"\s*)[\"']", re.IGNORECASE)
    holders = world.words.holding(world.words.containing(word, True)) if word else world.files
    found = {said for path in holders for said in alike.findall(world.files[path])}
    return any(world.facts.option_absent(names, said.decode("utf-8", "replace")) is None for said in found)


@question
def named_elsewhere(world: SpecializerWorld, name: str) -> bool:
    """Does something in the program name what has this name, but for the definitions themselves?"""
    return any(refers(world.unit(path), name) for path in world.words.holders(name.encode()))


@question
def is_alias(world: SpecializerWorld, module: str, name: str) -> bool:
    """Is a name of a removed module only another name for something that exists all the same?"""
    for binding in _removed_names(world, module).get(name, ()):
        if isinstance(binding, ast.ImportFrom):
            package = module if world.is_folder(module) else module.rpartition(".")[0]
            home = imported_module(binding, package)
            original = next(a.name for a in binding.names if (a.asname or a.name) == name)
            if world.module_gone(home) is None and not world.is_gone(f"{home}.{original}"):
                return True
            if home in world.removed_files and world.ask("is_alias", home, original):
                return True
        elif isinstance(binding, ast.Import):
            if not any(world.module_gone(alias.name) for alias in binding.names):
                return True
        elif isinstance(binding, (ast.Name, ast.Attribute)):
            first = ast.unparse(binding).partition(".")[0]
            if hasattr(builtins, first) or world.ask("is_alias", module, first):
                return True
    return False


def _removed_names(world: SpecializerWorld, module: str) -> Mapping[str, list[ast.AST]]:
    """What the statements at the top of a removed module bind: imports, and what is assigned."""
    data = world.removed_files.get(module, b"")
    if data not in _NAMES_OF:
        names: dict[str, list[ast.AST]] = {}
        with suppress(SyntaxError, ValueError):
            for stmt in ast.parse(data).body:
                if isinstance(stmt, ast.ImportFrom):
                    for alias in stmt.names:
                        names.setdefault(alias.asname or alias.name, []).append(stmt)
                elif isinstance(stmt, ast.Import):
                    for alias in stmt.names:
                        names.setdefault(alias.asname or alias.name.partition(".")[0], []).append(stmt)
                elif isinstance(stmt, ast.Assign):
                    for target in stmt.targets:
                        if isinstance(target, ast.Name):
                            names.setdefault(target.id, []).append(stmt.value)
        _NAMES_OF[data] = names
    return _NAMES_OF[data]


@question
def annotations_inspected(world: SpecializerWorld, name: str) -> bool:
    """May a file that names a function or class ask for its annotations?"""
    inspecting = world.words.holding([b"__annotations__", b"get_type_hints", b"get_annotations"])
    return any(name.encode() in world.words.of(path) for path in inspecting)


def _bases(world: SpecializerWorld, qualified: str) -> Iterator[str]:
    """The last names of the bases of a class at the top level of a file."""
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    for binding in world.unit(path).scopes.root.names.get(name, ()) if path is not None else ():
        if isinstance(binding.node, ast.ClassDef):
            yield from ((names_of(base) or ("",))[0] for base in binding.node.bases)


def _attribute_stores(world: SpecializerWorld, name: str) -> Iterator[tuple[Unit, ast.Attribute]]:
    encoded = name.encode()
    for path in world.words.holders(encoded):
        if encoded in world.outline(path).attributes:
            unit = world.unit(path)
            if _stores_attribute(unit, name):
                for node in _stores_of(nodes_on(unit, name), name):
                    yield unit, node


def _stores_attribute(unit: Unit, name: str) -> bool:
    """Does a file set or delete an attribute of this name?"""
    return unit.told(("stores attribute", name), lambda: any(_stores_of(nodes_on(unit, name), name)))


def _stores_of(nodes: Iterable[ast.AST], name: str) -> Iterator[ast.Attribute]:
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, _STORES):
            yield node


def _reflected(world: SpecializerWorld, name: str) -> Iterator[Write]:
    """The writes that are no statements and may mean this name."""
    encoded = name.encode()
    for path, write in _writes(world):
        if write.name == name or (write.name == ANY and write.owner != ANY):
            yield write
        elif write.name == ANY and encoded in world.outline(path).quoted:
            yield write  # a dynamic name, in a file that has this one in a string


def _writes(world: SpecializerWorld) -> Sequence[tuple[str, Write]]:
    """The writes of the whole program that are no statements, each with its file."""
    known: Sequence[tuple[str, Write]] | None = world.derived.get(("writes",))  # type: ignore[assignment]
    if known is None:
        paths = sorted(world.words.holding(REFLECTION))
        known = [(path, write) for path in paths for write in writes_of(world, path)]
        world.derived["writes",] = known
    return known


def _may_be_module(world: SpecializerWorld, unit: Unit, owner: ast.expr, module: str) -> bool:
    """May the owner of an attribute be this module? What is visibly another module or a class is not."""
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
