"""Problems for the uses of removed names that specialization could not resolve."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.analysis.conditions import fact_words, option_words
from builder.analysis.removals import Kind, Removal, Removals, index_removals
from builder.errors import Mark, Problem
from builder.graph.names import locate, package_of
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE
from builder.manifest.switches import options
from builder.overlay.locate import Scope, bindings, find, imported, statements
from builder.pipeline.proposed_edits import (
    counted,
    drop_of,
    false_around,
    false_condition,
    fitting,
    named_so,
    quoted,
    written,
)
from builder.pipeline.prune import Pruned
from builder.select.families import Families
from builder.source.fields import last_name
from builder.source.layout import suites
from builder.source.parse import Module
from builder.source.words import file_counts
from builder.specialize.evaluating.facts import Facts
from builder.specialize.leftovers import Leftover
from builder.specialize.results import BY_EDIT, FOLDED, Specialized
from builder.surface.values import Reader, Sources, own_statements
from builder.tree import Snapshot

#: Names and places that the message of a problem has; the others are counted.
MAX_NAMED = 3
_HINT = "State a fact that makes the use dead, or drop, stub or replace it with an edit."


def problems(
    result: Specialized,
    decided: Pruned,
    manifest: Manifest,
    facts: Facts,
    laid: Snapshot,
    upstream: Snapshot,
) -> Iterator[Problem]:
    """Yield G010 for each edit that its syntax tree does not confirm, R008 for each cause of uses that must
    stay, with all of its places."""
    for mismatch in result.mismatches:
        place = Mark(mismatch.path) if mismatch.path else None
        message = f"{mismatch.path or 'The specialization'}: {mismatch.sentence}."
        yield Problem("G010", message, upstream=place)
    names = LostNames(manifest, index_removals(manifest, decided.removed, result.lost), facts, laid)
    causes: dict[object, tuple[Loss, list[Leftover]]] = {}
    for use in result.leftovers:
        loss = names.loss(use.gone)
        causes.setdefault(_cause(use, loss), (loss, []))[1].append(use)
    sources = Sources(upstream, manifest.packages)
    for key, (loss, uses) in causes.items():
        seen = {_place(use, result.files.get(use.path) or laid[use.path], upstream): use for use in uses}
        if loss.heir and loss.removal:
            message, hint, heirs = _inherited(loss.removal, loss.heir, uses, names, manifest)
            classes = (Leftover(heir.path, heir.line, 1, heir.name, "", "") for heir in heirs)
            places = [*(_place(one, laid[one.path], upstream) for one in classes), *seen]
        else:
            message, places = _used(loss.removal, uses), list(seen)
            # an edit quotes upstream, so there is none for a line that only the output has
            words = Families(b for b in manifest.batches if loss.removal and b.id == loss.removal.batch)
            stated = [(use, where) for (where, _), use in seen.items() if where.line]
            hint = _remedy(loss.removal, manifest) + written(
                fitting(drop_of(use, where, sources) for use, where in stated), len(places)
            )
            conditions = fitting(false_condition(use, where, sources) for use, where in stated)
            around = (
                false_around(use, result.files.get(use.path) or laid[use.path], words, sources)
                for use in uses
            )
            ifs = {place: edit for place, edit in around if edit}
            conditions.update(fitting(ifs.values()))
            if conditions:
                hint += f" Where the condition never holds: {', '.join(counted(conditions))}."
            named = dict(filter(None, (named_so(use, words, sources) for use in uses)))
            if named:
                hint += _without_what_a_word_names(named, uses, laid)
        mark = loss.removal.mark if loss.removal else None
        cause = str(key) if mark else None
        first, *more = (
            Problem("R008", message, mark, where, excerpt, hint, cause=cause) for where, excerpt in places
        )
        yield replace(first, also=tuple(more))


def _without_what_a_word_names(named: Mapping[str, str], uses: Iterable[Leftover], laid: Snapshot) -> str:
    """Return edits for functions that have uses, in definitions that a word names (`named`): first the one
    with which no other file lacks something."""
    homes = {use.path for use in uses}
    drops, stubs = sorted(set(named.values())), sorted(named)
    words = [name.rpartition(".")[2].encode() for name in drops]
    texts = (data for path, data in laid.items() if path.endswith(".py") and path not in homes)
    asked = any(word in counts for counts in map(file_counts, texts) for word in words)
    drop, stub = f"`drop: [{', '.join(drops)}]`", f"`stub: [{', '.join(stubs)}]`"
    if asked:
        return f" Others ask for what a word names: {stub} in the batch; where they leave too: {drop}."
    return f" To drop what a word names: {drop} in the batch; where others ask for it: {stub}."


def _cause(use: Leftover, loss: Loss) -> object:
    """Return what the uses that are one problem have in common."""
    if loss.heir is not None:
        return loss.removal, loss.heir.bases[0].rpartition(".")[2]
    removal = loss.removal
    return removal.clause if removal is not None and removal.mark else (use.gone, _first(use))


def _first(use: Leftover) -> str:
    return use.name.partition(".")[0]


def _used(removal: Removal | None, uses: Sequence[Leftover]) -> str:
    """Return the message about uses of what was removed."""
    cause = removal.clause if removal else "nothing defines it"
    by_name: dict[tuple[str, str], list[Leftover]] = {}
    for use in uses:
        by_name.setdefault((use.gone, _first(use)), []).append(use)
    gone = {name for name, _ in by_name}
    if len(gone) > 1:
        cause = cause if removal and removal.kind != "proof" else f"they are gone: {cause}"
    elif not (removal and removal.name in gone and removal.mark and removal.kind != "proof"):
        cause = f"{gone.pop()} is gone: {cause}"
    named = _listed([f"`{places[0].name}`" for places in by_name.values()], "names")
    return f"{named} in {_named(uses)} {'is' if len(by_name) == 1 else 'are'} used, but {cause}."


def _inherited(
    removal: Removal, heir: Heir, uses: Sequence[Leftover], names: LostNames, manifest: Manifest
) -> tuple[str, str, list[Heir]]:
    """Return the message about uses of classes that leave with a base, the hint, and the classes.

    `removal`: of the base; `heir`: the first of the classes.
    """
    used = {found.name: found for use in uses if (found := names.loss(use.gone).heir)}
    base = heir.bases[0].rpartition(".")[2]
    bases = dict.fromkeys(f"`{b.rpartition('.')[2]}`" for name in sorted(used) for b in used[name].bases)
    subject = _listed([f"`{name.rpartition('.')[2]}`" for name in sorted(used)], "classes")
    verbs = ("leave", "they inherit", "they are") if len(used) > 1 else ("leaves", "it inherits", "it is")
    inherited = _listed(list(bases), "bases")
    by = f"which batch {removal.batch} removes" if removal.batch not in ("", BASE) else removal.clause
    message = (
        f"{subject} {verbs[0]} because {verbs[1]} {inherited}, {by}, and {verbs[2]} used in {_named(uses)}."
    )
    hint = f"Drop the base: {_drops(used[name] for name in sorted(used))}."
    if removal.batch not in ("", BASE):
        hint += f" Or build with `{options(manifest, [removal.batch])}`."
    if others := [one for one in names.heirs(base) if one.name not in used]:
        hint += f" The same keeps classes that only removed code uses: {_drops(others)}."
    return message, hint, [used[name] for name in sorted(used)]


def _drops(heirs: Iterable[Heir]) -> str:
    """Return an edit for each base, which drops it from all of the classes that have it."""
    by_base: dict[str, list[str]] = {}
    for heir in heirs:
        for base in heir.bases:
            by_base.setdefault(base, []).append(heir.name)
    return ", ".join(f"{{drop_entry: {quoted(b)}, in: {_places(names)}}}" for b, names in by_base.items())


def _places(names: Sequence[str]) -> str:
    """Return names as `in` of an edit takes them."""
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _listed(names: Sequence[str], what: str) -> str:
    """Return the first few of some names, and how many more there are."""
    more = len(names) - MAX_NAMED
    if more > 0:
        return f"{', '.join(names[:MAX_NAMED])} and {more} more {what}"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _remedy(removal: Removal | None, manifest: Manifest) -> str:
    """Return what to write, or how to build, if something that is gone is still used."""
    if removal is None or removal.mark is None or removal.batch in ("", BASE):
        return _HINT
    package = f"{manifest.roots.model_package}."
    if removal.mark == manifest.mark("roots", "models", "keep"):
        model = removal.name.removeprefix(package)
        return f"Name `{model}` in roots.models.keep. Or s{_HINT[1:]}"
    return f"Build with `{options(manifest, [removal.batch])}`. Or s{_HINT[1:]}"


def _named(places: Sequence[Leftover]) -> str:
    """Return the scopes that use a name: the first few, and how many more there are."""
    scopes = list(dict.fromkeys(use.scope or use.path for use in places))
    files = len({use.path for use in places})
    return _listed(scopes, f"places of {files} file{'s' * (files > 1)}")


def _place(use: Leftover, data: bytes, upstream: Snapshot) -> tuple[Mark, str | None]:
    """Return the use in upstream: the line with the same text that is nearest to its present line."""
    lines = data.decode("utf-8", "replace").splitlines()
    word = use.name.rpartition(".")[2]
    near = sorted(range(len(lines)), key=lambda number: abs(number + 1 - use.line))
    row = next((number for number in near if word in lines[number]), None)
    if row is None or use.path not in upstream:
        return Mark(use.path, use.line, use.column), None
    text = lines[row].strip()
    upstream_lines = upstream[use.path].decode("utf-8", "replace").splitlines()
    same = [number for number, line in enumerate(upstream_lines) if line.strip() == text]
    if not same:
        return Mark(use.path), text
    best = min(same, key=lambda number: abs(number - row))
    return Mark(use.path, best + 1, upstream_lines[best].find(word) + 1), text


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
