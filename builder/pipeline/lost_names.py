"""Traces a name that specialization removed to the statement behind it, for messages about uses of it.

A class leaves with its base, an imported name with what it imports, and code with the fact that decides it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from builder.analysis.conditions import fact_words, option_words
from builder.analysis.removals import Kind, Removal, Removals
from builder.graph.names import locate, package_of
from builder.manifest.model import Manifest
from builder.overlay.locate import Scope, bindings, find, imported, statements
from builder.source.fields import last_name
from builder.source.layout import suites
from builder.source.parse import Module
from builder.specialize.evaluating.facts import Facts
from builder.specialize.results import BY_EDIT, FOLDED
from builder.surface.values import Reader, Sources, own_statements
from builder.tree import Snapshot

STATED: tuple[Kind, ...] = ("rule", "absent", "drop", "overlay")
_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Heir:
    """A class that leaves because it inherits something removed; `bases`: as it writes them."""

    name: str
    bases: tuple[str, ...]
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a name is gone: what removed it, or what removed the base of the class that took it along."""

    removal: Removal | None
    heir: Heir | None = None


class LostNames:
    """Explains the names that one specialization of `laid` removed."""

    def __init__(self, manifest: Manifest, removals: Removals, facts: Facts, laid: Snapshot) -> None:
        self.manifest = manifest
        self.removals = removals
        self.sources = Sources(laid, manifest.packages)
        self.statements = dict(_statements(manifest, facts))
        self._known: dict[str, Loss] = {}

    def loss(self, name: str) -> Loss:
        """Return why a name is gone: the statement about it or about what it stood on, or else a proof."""
        if name not in self._known:
            self._known[name] = Loss(None)  # for a name that stands on itself
            self._known[name] = self._loss(name)
        return self._known[name]

    def heirs(self, base: str) -> Iterator[Heir]:
        """Yield each class that specialization removed for a base of this last name."""
        tree, packages = self.sources.snapshot, self.manifest.packages
        for name in self.removals.by_name:
            located = locate(name, packages, tree.tree) if self.removals.own(name, "proof") else None
            if located and base.encode() in tree[located[0]] and (loss := self._traced(name)):
                heir = loss.heir
                if heir and heir.name == name and any(one.rpartition(".")[2] == base for one in heir.bases):
                    yield heir

    def _loss(self, name: str) -> Loss:
        proof = self.removals.own(name, "proof")
        if removal := self.removals.own(name, *STATED):
            return Loss(removal)
        if proof is not None and proof.clause == FOLDED:
            return self._traced(name) or Loss(proof)
        if proof is not None and proof.clause != BY_EDIT:  # which edit it was, what holds the name may tell
            return Loss(proof)
        return Loss(self.removals.nearest(name, *STATED) or proof)

    def _traced(self, name: str) -> Loss | None:
        owner, _, last = name.rpartition(".")
        if self.removals.own(owner, "proof"):
            return self.loss(owner)
        located = locate(name, self.manifest.packages, self.sources.snapshot.tree)
        reader = self.sources.reader(*located[:2]) if located else None
        if located is None or reader is None:
            return None
        path, module, rest = located
        for stmt in _binding(reader.file.tree, rest.split(".")):
            if isinstance(stmt, ast.ClassDef):
                losses = {ast.unparse(base): self._of_part(base, {owner, module}) for base in stmt.bases}
                gone = {base: loss for base, loss in losses.items() if loss}
                if first := next(iter(gone.values()), None):
                    return replace(first, heir=first.heir or Heir(name, tuple(gone), path, stmt.lineno))
            sources = imported(stmt, last, package_of(path, module))
            decided = (self._fact(test, reader) for test in _tests(reader.file, stmt))
            parts = (getattr(stmt, "value", None), *getattr(stmt, "decorator_list", ()))
            made_of = (self._of_part(part, {owner, module}) for part in parts if part is not None)
            found = next(filter(None, (*map(self._certain, sources), *made_of, *decided)), None)
            if found is not None:
                return found
        return None

    def _fact(self, test: ast.expr, reader: Reader) -> Loss | None:
        """Return the first statement of the manifest about something in a condition."""
        removals = (self.statements.get(word) for word in _words(test, reader))
        return next((Loss(removal) for removal in removals if removal), None)

    def _of_part(self, node: ast.expr, scopes: set[str]) -> Loss | None:
        """Return why something that an expression names is gone."""
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Attribute)):
                written = ast.unparse(part)
                for name in (*(f"{scope}.{written}" for scope in sorted(scopes, reverse=True)), written):
                    if loss := self._certain(name):
                        return loss
        return None

    def _certain(self, name: str) -> Loss | None:
        """Return why a name is gone if a statement accounts for it."""
        loss = self.loss(name)
        return loss if loss.removal is not None and loss.removal.mark is not None else None


def _binding(tree: ast.Module, path: list[str]) -> Iterator[ast.stmt]:
    """Yield the statements that bind a name, imports included."""
    scopes = [binding.statement for binding in find(tree, path[:-1])[0]] if path[1:] else [tree]
    for scope in scopes:
        if isinstance(scope, Scope):
            yield from (binding.statement for bound, binding in bindings(scope) if bound == path[-1])
            yield from (stmt for stmt in statements(scope) if any(imported(stmt, path[-1])))


def _tests(file: Module, node: ast.AST) -> Iterator[ast.expr]:
    """Yield the tests that decide whether a statement runs: of what is around it, and of what may leave
    before it."""
    while (parent := file.parents.get(node)) is not None:
        if isinstance(parent, (ast.If, ast.While)):
            yield parent.test
        for suite in suites(parent):
            before = suite[: suite.index(node)] if node in suite else []
            if isinstance(parent, ast.Try) and node in parent.orelse:
                before = [*parent.body, *before]
            for stmt in before:
                if isinstance(stmt, ast.If) and any(isinstance(s, _EXITS) for s in own_statements([stmt])):
                    yield stmt.test
        node = parent


def _words(node: ast.expr, reader: Reader, depth: int = 0) -> Iterator[str]:
    """Yield the names of an expression and of what they stand for, and its texts with a `"` before them."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield f'"{part.value}'
        if isinstance(part, (ast.Name, ast.Attribute)):
            yield last_name(part) or ""
            reader_of, bound = (reader.find(part) if depth < _MAX_DEPTH else None) or (reader, None)
            if isinstance(bound, ast.expr):
                yield from _words(bound, reader_of, depth + 1)


def _statements(manifest: Manifest, facts: Facts) -> Iterator[tuple[str, Removal]]:
    """Yield what each word of a condition means: the fact or the absent value, as a removal."""
    stated = [pair for batch in manifest.batches for pair in fact_words(batch)]
    for word, why in (*reversed(stated), *option_words(facts)):
        yield word, Removal("proof", "", why.rule, why.rule, why.batch, why.mark)
