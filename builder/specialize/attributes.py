"""Answers who binds, sets, reads or asks for an attribute of a name, whatever object has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from builder.source.fields import nodes
from builder.specialize.evaluating.names import names_in_class, names_of, text
from builder.specialize.text_index.text_search import fields_of, nodes_like, nodes_on
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld, question

_STORES = (ast.Store, ast.Del)


@question
def has_setter(world: SpecializerWorld, name: str) -> bool:
    """Return whether a class of the program runs a method where an attribute of this name is set."""
    word = re.escape(name.encode())
    setter = re.compile(rb"@\s*%b\s*\.\s*setter\b|^[ \t]+%b\s*=\s*(?:\w+\.)*property\(" % (word, word), re.M)
    return any(setter.search(world.files[path]) for path in world.words.holders(name.encode()))


@question
def attribute_stored(world: SpecializerWorld, name: str) -> bool:
    """Return whether the program assigns an attribute of this name: to an object, in a class, or by its
    text."""
    word = re.escape(name.encode())
    assigns = re.compile(rb"^[ \t]+%b\s*(?::[^=\n]+)?=(?!=)|\bsetattr\(.*[\"']%b[\"']" % (word, word), re.M)
    holders = world.words.holders(name.encode())
    if world.words.holding(names_in_class(name)):
        return True
    if any(assigns.search(world.files[path]) for path in holders):
        return True
    return any(_binds_in_class(world.unit(path), name) for path in holders) or any(
        True for _ in attribute_stores(world, name)
    )


@question
def attribute_bound(world: SpecializerWorld, name: str) -> bool:
    """Return whether the program binds an attribute of this name: by a definition, or by an assignment."""
    word = re.escape(name.encode())
    binds = re.compile(rb"\bdef\s+%b\b|(?:^[ \t]*|\.)%b\s*(?::[^=\n]+)?=(?!=)" % (word, word), re.M)
    holders = world.words.holders(name.encode())
    return any(binds.search(world.files[path]) for path in holders) or any(
        _binds_in_class(world.unit(path), name) for path in holders
    )


@told
def _binds_in_class(unit: Unit, name: str) -> bool:
    """Return whether the body of a class binds a name otherwise than by a definition, wherever it stands in
    its line."""
    scopes = (scope for scope in unit.scopes.every() if scope.kind == "class")
    found = (binding.kind for scope in scopes for binding in scope.names.get(name, ()))
    return any(kind not in ("def", "declare") for kind in found)


@question
def bound_by_heir(world: SpecializerWorld, field: str, cls: str) -> bool:
    """Return whether a class that inherits from one of this name may have a field of its own of this name."""
    heir = re.compile(rb"\bclass\s+\w+\s*\([^)]*\b%b\b" % re.escape(cls.encode()))
    binds = re.compile(rb"^[ \t]+%b[ \t]*[:=](?!=)" % re.escape(field.encode()), re.M)
    holders = (world.files[path] for path in world.words.holders(cls.encode()))
    return any(heir.search(data) and binds.search(data) for data in holders)


@question
def attribute_named(world: SpecializerWorld, name: str) -> bool:
    """Return whether a file may ask whether an object has an attribute, take it away, or read it where it
    must stay."""
    encoded = name.encode()
    asking = world.words.holding([b"hasattr", b"setattr", b"delattr", b"attrgetter"])
    if any(encoded in world.content(path).quoted for path in asking if encoded in world.words.of(path)):
        return True
    if any(isinstance(node.ctx, ast.Del) for _, node in attribute_stores(world, name, b"del")):
        return True
    return any(_read_with_effect(world, path, name) for path in world.words.holders(encoded))


@question
def attribute_read(world: SpecializerWorld, name: str) -> bool:
    """Return whether the program reads an attribute of this name, and no fact states it."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Load)
        and world.facts.attribute_value(node) is None
        for path in world.words.holders(name.encode())
        if name.encode() in world.content(path).attributes
        for node in nodes_on(world.unit(path), name)
    )


@question
def destination_read(world: SpecializerWorld, name: str) -> bool:
    """Return whether the program reads an attribute of this name, or takes one by this text or a pattern, and
    no fact states it."""
    if attribute_read(world, name):
        return True
    if f"*.{name}" in world.facts.values:
        return False
    units = map(world.unit, world.words.holders(name.encode()))
    return any(_takes_unread(unit, node, name) for unit in units for node in nodes_on(unit, name))


def _takes_unread(unit: Unit, node: ast.AST, name: str) -> bool:
    """Return whether a node takes an attribute of this name otherwise than as `x.name`."""
    if isinstance(node, ast.MatchClass):
        return name in node.kwd_attrs
    if not isinstance(node, ast.Constant):
        return False
    return name in fields_of(node.value) or (node.value == name and _takes_by_text(unit, node))


def _takes_by_text(unit: Unit, node: ast.AST) -> bool:
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Call) and node in parent.args:
        taking = ("attrgetter", "get", "getattr", "hasattr", "itemgetter", "pop", "setdefault")
        return (names_of(parent.func) or ("",))[0] in taking
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set)):  # of names that a `getattr` may take
        return b"getattr" in unit.text
    return isinstance(parent, ast.Subscript) and parent.slice is node


def _read_with_effect(world: SpecializerWorld, path: str, name: str) -> bool:
    """Return whether a file reads an attribute where no value can take the place of the read.

    Of what an effect gives, by `x.name += 1`, in an f-string, a class pattern, or in the field of a text.
    """
    unit = world.unit(path)
    texts = (node for node in nodes_on(unit, name) if isinstance(node, ast.JoinedStr))
    in_texts = {part for node in texts for part in nodes(node)}
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
        from builder.specialize.evaluating.evaluate import Evaluator  # which asks these questions itself

        if not Evaluator(world, unit).pure(owner, unit.scope_of(node)):
            return True
    return False


def attribute_stores(
    world: SpecializerWorld, name: str, word: bytes = b""
) -> Iterator[tuple[Unit, ast.Attribute]]:
    """Where the program sets or deletes an attribute of this name. `word`: only in files that hold it."""
    encoded = name.encode()
    for path in world.words.holders(encoded):
        if encoded in world.content(path).attributes and (not word or word in world.words.of(path)):
            unit = world.unit(path)
            for node in nodes_like(unit, name, "stores attribute", lambda node: _stores(node, name)):
                yield unit, node  # type: ignore[misc]


def _stores(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, _STORES)
