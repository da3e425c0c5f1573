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
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, question

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
#: What may stand between the words of a text that is split.
_SEPARATORS = re.compile(r"[\s,;:|/+]+")


@question
def text_taken(world: SpecializerWorld, value: str, path: str, absent: str) -> bool:
    """May something in the program take this text out of a collection in which it stays?

    `absent`: not empty if the text is an absent value. A collection that keeps such a text because its
    positions are seen counts in every file. One in which the text is no absent value, as far as its name
    tells, may be of another vocabulary, and counts in the file at `path` alone.
    """
    word = max(_IDENTIFIER.findall(value), key=len, default="")
    if not word:
        return True  # no index has it
    for holder in sorted(world.words.holders(word.encode())) if absent else [path]:
        try:
            unit = world.unit(holder)
        except SyntaxError:
            return True
        here = _Collections(Evaluator(world, unit), value, bool(absent))
        if any(here.may_give(node, holder == path) for node in nodes_on(unit, word)):
            return True
    return False


class _Collections:
    """The collections of one file that hold a text."""

    def __init__(self, evaluator: Evaluator, value: str, absent: bool) -> None:
        self.evaluator = evaluator
        self.value = value
        self.absent = absent
        self.parents = evaluator.unit.module.parents

    def may_give(self, node: ast.AST, near: bool) -> bool:
        """May something take the text out of the collection that holds it at a node?

        `near`: collections in which it is no absent value count, too.
        """
        said = text(node) if isinstance(node, ast.Constant) else None
        if not isinstance(node, ast.Constant) or said is None:
            return False
        whole = self.parents.get(node)
        if said != self.value:
            split = self.absent and near and self.value in _SEPARATORS.split(said)
            return split and self._is_split(whole)
        if not isinstance(whole, (ast.Dict, ast.List, ast.Set, ast.Tuple)):
            return False
        scope = self.evaluator.unit.scope_of(node)
        absent = self.evaluator.item_absent(node, self._names_around(whole), scope)
        if not (absent or near) or (isinstance(whole, ast.Dict) and not self.absent):
            return False
        return not (absent and self._leaves(whole, scope)) and self._is_taken(node, whole, scope)

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
