"""May something in the program take a text out of a collection in which it stays?

What it takes out it may look up: an entry of a dict, something that registered itself, a member of another
collection. So an absent text leaves all of them, or none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.counting import counted
from builder.specialize.folding.positions import KEPT, KEYS, TAKEN, unseen
from builder.specialize.folding.reads import some_read
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld, question

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_COLLECTIONS = (ast.Dict, ast.List, ast.Set, ast.Tuple)
#: What may stand between the words of a text that is split.
_SEPARATORS = re.compile(r"[\s,;:|/+]+")


@question
def absent_text_taken(world: SpecializerWorld, value: str) -> bool:
    """May something take this text out of a collection that would lose it, and keeps it for its positions?"""
    word = _word(value)
    holders = sorted(world.words.holders(word.encode()))
    return not word or any(_taken(world, path, value, near=False) for path in holders)


@question
def text_taken(world: SpecializerWorld, value: str, path: str, absent: str) -> bool:
    """May something in one file take this text out of a collection in which it is no absent value?

    As far as the name of the collection tells; in another file it may be of another vocabulary. `absent`: not
    empty if the text is an absent value of some name: then keys of dicts and the words of texts that are
    split count, too.
    """
    return not _word(value) or _taken(world, path, value, near=True, keys=bool(absent))


@question
def key_named(world: SpecializerWorld, value: str) -> bool:
    """Does the program take an entry of a dict by this text, or by a constant that holds it?"""
    word = _word(value)
    return not word or any(
        _names_key(world, path, value) for path in sorted(world.words.holders(word.encode()))
    )


def _names_key(world: SpecializerWorld, path: str, value: str) -> bool:
    unit = world.unit(path)
    if not unit.told(("text may be a key", value), lambda: _may_be_key(unit, value)):
        return False
    parents = unit.module.parents
    for node in nodes_on(unit, _word(value)):
        if isinstance(node, ast.Constant) and node.value == value:
            parent = parents.get(node)
            if _takes(unit, node) or isinstance(parent, ast.MatchMapping):
                return True
            scope = unit.scope_of(node)
            if isinstance(parent, ast.Assign) and scope.kind in ("class", "module"):
                around = f"{unit.name}.{scope.qualname}" if scope.qualname else unit.name
                names = {name for target in parent.targets for name in names_of(target)[:1]}
                if any(_takes_by(world, f"{around}.{name}") for name in sorted(names)):
                    return True
    return False


def _may_be_key(unit: Unit, value: str) -> bool:
    """Is a text in the brackets of `a[key]` or the key of a pattern, or assigned to a name?"""

    def holds(nodes: Iterable[ast.AST]) -> bool:
        return any(isinstance(node, ast.Constant) and node.value == value for node in nodes)

    return any(
        (isinstance(node, ast.Subscript) and holds([node.slice]))
        or (isinstance(node, ast.Assign) and holds([node.value]))
        or (isinstance(node, ast.MatchMapping) and holds(node.keys))
        for node in nodes_on(unit, _word(value))
    )


def _takes_by(world: SpecializerWorld, constant: str) -> bool:
    """Does a file take an entry by a constant of this qualified name?"""
    return some_read(world, constant, lambda at, node, scope: _takes(at.unit, node))


def _takes(unit: Unit, key: ast.expr) -> bool:
    """Is this `a[key]`, but for a mere store?"""
    parent = unit.module.parents.get(key)
    if not isinstance(parent, ast.Subscript) or parent.slice is not key:
        return False
    stored = isinstance(parent.ctx, ast.Store)
    return not stored or isinstance(unit.module.parents.get(parent), ast.AugAssign)


def _word(value: str) -> str:
    """The word of a text by which the index has it; empty if there is none."""
    return max(_IDENTIFIER.findall(value), key=len, default="")


def _taken(world: SpecializerWorld, path: str, value: str, near: bool, keys: bool = True) -> bool:
    unit = world.unit(path)
    if not unit.told(("text collected", value), lambda: _is_collected(unit, value)):
        return False
    here = _Collections(Evaluator(world, unit), value, near, keys)
    return any(here.may_give(node) for node in nodes_on(unit, _word(value)))


def _is_collected(unit: Unit, value: str) -> bool:
    """Is a text in a collection, or one of the words of another text?"""
    for node in nodes_on(unit, _word(value)):
        if isinstance(node, ast.Constant):
            said = text(node)
            if said is not None and said != value and value in _SEPARATORS.split(said):
                return True
        elif isinstance(node, _COLLECTIONS):
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.Constant)]
            if any(text(part) == value for part in parts):
                return True
    return False


class _Collections:
    """The collections of one file that hold a text."""

    def __init__(self, evaluator: Evaluator, value: str, near: bool, keys: bool) -> None:
        self.evaluator = evaluator
        self.value = value
        self.near = near  # those count in which it is no absent value
        self.keys = keys  # dicts count
        self.parents = evaluator.unit.module.parents

    def may_give(self, node: ast.AST) -> bool:
        """May something take the text out of the collection that holds it at a node?"""
        said = text(node) if isinstance(node, ast.Constant) else None
        if not isinstance(node, ast.Constant) or said is None:
            return False
        whole = self.parents.get(node)
        if said != self.value:
            split = self.near and self.keys and self.value in _SEPARATORS.split(said)
            return split and self._is_split(whole)
        if not isinstance(whole, _COLLECTIONS):
            return False
        scope = self.evaluator.unit.scope_of(node)
        absent = self.evaluator.item_absent(node, self._names_around(whole), scope)
        if absent == self.near or (isinstance(whole, ast.Dict) and not self.keys):
            return False
        if (absent and self._leaves(whole, scope)) or self._entry_leaves(whole, scope):
            return False
        return self._is_taken(node, whole, scope)

    def _entry_leaves(self, whole: ast.expr, scope: Scope) -> bool:
        """Is a collection in an entry of a dict whose key is absent?"""
        around = self.parents.get(whole)
        if not isinstance(around, ast.Dict) or whole not in around.values:
            return False
        key = around.keys[around.values.index(whole)]
        return key is not None and self.evaluator.item_absent(key, self._names_around(around), scope)

    def _leaves(self, whole: ast.expr, scope: Scope) -> bool:
        """Does an absent value leave a collection?"""
        if isinstance(whole, (ast.Dict, ast.Set)):
            return not counted(self.evaluator, whole, scope)
        return unseen(self.evaluator, whole, scope, KEPT)

    def _is_taken(self, node: ast.expr, whole: ast.expr, scope: Scope) -> bool:
        if isinstance(whole, ast.Dict):
            value = whole.values[whole.keys.index(node)] if node in whole.keys else None
            if value is None or isinstance(self.evaluator.value(value, scope), Gone):
                return False
            return not unseen(self.evaluator, whole, scope, KEYS)
        if isinstance(whole, ast.Tuple) and self._is_record(whole):
            return False
        return not unseen(self.evaluator, whole, scope, TAKEN)

    def _is_record(self, whole: ast.Tuple) -> bool:
        """Does a tuple hold what variables, a caller or a type get, and not what something goes through?"""
        around = self.parents.get(whole)
        if isinstance(around, ast.Assign) and all(isinstance(t, ast.Tuple) for t in around.targets):
            return True
        if isinstance(around, ast.Subscript):
            words = self.evaluator.world.words.of(self.evaluator.unit.path)
            return not (words[b"get_args"] or words[b"__args__"])
        return not all(isinstance(part, ast.Constant) for part in whole.elts)

    def _names_around(self, whole: ast.AST) -> Iterable[str]:
        """The names under which a collection is known where it stands."""
        parent = self.parents.get(whole)
        while isinstance(parent, (ast.BinOp, ast.Call)):
            parent = self.parents.get(parent)
        if isinstance(parent, ast.Assign):
            return [name for target in parent.targets for name in names_of(target)[:1]]
        if isinstance(parent, ast.AnnAssign):
            return names_of(parent.target)[:1]
        if isinstance(parent, ast.keyword) and parent.arg is not None:
            return (parent.arg,)
        return ()

    def _is_split(self, whole: ast.AST | None) -> bool:
        """Is a text, or the name that holds it, split into its words?"""
        if isinstance(whole, ast.Attribute):
            return whole.attr in ("split", "rsplit", "splitlines", "partition")
        name = whole.targets[0] if isinstance(whole, ast.Assign) else getattr(whole, "target", None)
        if not isinstance(whole, (ast.Assign, ast.AnnAssign)) or not isinstance(
            name, (ast.Name, ast.Attribute)
        ):
            return False
        last = names_of(name)[0]
        reads = (read for read in nodes_on(self.evaluator.unit, last) if isinstance(read, ast.expr))
        return any(
            isinstance(parent := self.parents.get(read), ast.Attribute) and parent.attr.endswith("split")
            for read in reads
            if names_of(read)[:1] == (last,)
        )
