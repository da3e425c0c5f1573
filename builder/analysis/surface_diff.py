"""The surface of upstream and of the output: every difference, with what in the manifest accounts for it.

`Causes` finds the statement behind a removed, added or changed item, by its names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal, TypeAlias

from builder.analysis.conditions import Conditions
from builder.analysis.removals import Removal, Removals
from builder.manifest.model import Manifest
from builder.manifest.statements import Edit, Reason
from builder.source.fields import last_name
from builder.source.words import file_counts
from builder.surface.extract import surface
from builder.surface.model import Expression, Item, Key, Place, Surface, Value
from builder.surface.values import Reader, Sources
from builder.tree import Snapshot

Change = Literal["lost", "added", "changed"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing of the surface that upstream has and the output has not, or the other way round.

    changed: `detail` of it differs; for the choices of an option, `before` is one value that left or
    `after` one that came.
    """

    change: Change
    key: Key
    place: Place  # in upstream; in the output for what was added
    detail: str | None = None
    before: Value = None
    after: Value = None
    causes: tuple[Reason, ...] = ()  # none: unexplained


@dataclass(frozen=True, slots=True)
class Surfaces:
    """The surface of both trees, and every difference with what accounts for it."""

    before: Surface
    after: Surface
    differences: tuple[Difference, ...]


def compare(
    before: Snapshot,
    old: Surface,
    after: Snapshot,
    manifest: Manifest,
    removals: Removals,
    accounts: Accounts,
) -> Surfaces:
    """The surfaces of upstream and output.

    `before`: the files to compare, those that left included, and `old` what they offer. `accounts`: what
    accounts for what specialization removed.
    """
    sources = Sources(before, manifest.packages)
    new = surface(after, manifest.packages)
    causes = Causes(manifest, removals, sources, (old, new), accounts)
    differences = [*_lost(old, new, causes), *_changed(old, new, causes), *_added(old, new, causes)]
    return Surfaces(old, new, tuple(sorted(differences, key=_order)))


def _lost(old: Surface, new: Surface, causes: Causes) -> Iterator[Difference]:
    for key, item in old.items():
        if key not in new:
            place, why = causes.lost(item)
            yield Difference("lost", key, place, causes=why)


def _added(old: Surface, new: Surface, causes: Causes) -> Iterator[Difference]:
    for key, item in new.items():
        if key not in old:
            cause = causes.added(item)
            yield Difference("added", key, item.places[0], causes=(cause,) if cause else ())


def _changed(old: Surface, new: Surface, causes: Causes) -> Iterator[Difference]:
    for key, item in old.items():
        other = new.get(key)
        if other is None or other.details == item.details:
            continue
        for detail in sorted({*item.details, *other.details}):
            was, now = item.details.get(detail), other.details.get(detail)
            if detail == "choices" and _listed(was) and _listed(now):
                yield from _choices(item, other, was, now, causes)  # type: ignore[arg-type]
            elif was != now:
                yield _change(item, detail, was, now, causes.detail(item, detail, was, now))


def _change(item: Item, detail: str, was: Value, now: Value, cause: Reason | None) -> Difference:
    return Difference("changed", item.key, item.places[0], detail, was, now, (cause,) if cause else ())


def _listed(value: Value) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Expression)


def _choices(
    item: Item, other: Item, was: tuple[Value, ...], now: tuple[Value, ...], causes: Causes
) -> Iterator[Difference]:
    for value in was:
        if value not in now:
            yield _change(item, "choices", value, None, causes.choice(item, value))
    for value in now:
        if value not in was:
            yield _change(item, "choices", None, value, causes.read_from(other, "choices", value))


def _order(d: Difference) -> tuple[Key, str, str, str, str]:
    return d.key, d.change, d.detail or "", str(d.before), str(d.after)


#: Stands for a batch where several facts decide together; the ledger uses it too.
FACTS = "facts"

#: What accounts for a line of upstream that specialization removed from a file that stays.
Accounts: TypeAlias = Callable[[Place], Reason | None]


class Causes:
    """Looks up causes for one upstream tree and one manifest, all by name."""

    def __init__(
        self,
        manifest: Manifest,
        removals: Removals,
        sources: Sources,
        surfaces: tuple[Surface, Surface],
        accounts: Accounts,
    ) -> None:
        self.manifest = manifest
        self.removals = removals
        self.sources = sources
        self.before, self.after = surfaces
        self.accounts = accounts
        self.conditions = Conditions(manifest, sources, removals)
        self.whole = {f.path: f for b in manifest.batches for f in b.files}
        self.edits = [e for b in manifest.batches for e in b.edits]
        self.patches = [p for b in manifest.batches for p in b.patches]
        self._uncalled = {f.name: f for b in manifest.batches for f in b.facts if f.kind == "uncalled"}
        self._words = {id(e): _strings(e.match) - _strings(e.by) for e in self.edits if e.match is not None}

    # -- what was removed --------------------------------------------------------------------------------

    def lost(self, item: Item) -> tuple[Place, tuple[Reason, ...]]:
        """The first place of a removed item, and the causes that together account for every place; the first
        place for which none accounts, and no cause."""
        causes: set[Reason] = set()
        for place in item.places:
            cause = self.cause_at(item, place)
            if cause is None:
                return place, ()
            causes.add(cause)
        return item.places[0], tuple(sorted(causes, key=_by_statement))

    def cause_at(self, item: Item, place: Place) -> Reason | None:
        """What accounts for the removal of an item at one place."""
        return (
            self.path(place.path)
            or self.name(self.own(item.key, item, place))
            or self.entry(item)
            or self.flag(item)
            or self.edit(place, item.key.name)
            or self.conditions.impossible(place)
            or self.choice_of_names(item, place)
            or (self.conditions.variable(item.key.name) if item.key.kind == "environment" else None)
            or self.script(item.key)
            or self.proved(place, self.own(item.key, item, place))
        )

    def choice_of_names(self, item: Item, place: Place) -> Reason | None:
        """Return the fact that decides which name an item has: `"--hip" if is_hip() else "--cuda"`."""
        arm = self.conditions.arm(place, item.key.name) if " if " in item.key.name else None
        return arm[1] if arm else None

    def path(self, path: str) -> Reason | None:
        """A rule that removed the file, or a file of ours in its place."""
        rule = self.removals.by_path.get(path)
        if rule is not None:
            return Reason(rule.batch, f"{rule.pattern} is removed", rule.mark)
        whole = self.whole.get(path)
        if whole is not None:
            return Reason(whole.batch, f"{whole.overlay} takes the place of {path}", whole.mark)
        return None

    @staticmethod
    def own(key: Key, item: Item, place: Place) -> str:
        """The qualified name that a statement of the manifest would give it."""
        if key.kind == "registry" and "member" in item.details:
            return f"{key.group}.{item.details['member']}"
        if key.kind == "environment" and "type" in item.details:
            return f"{place.qualified}.{key.name}"
        return place.qualified

    def name(self, qualified: str) -> Reason | None:
        """The statement about a name, or the nearest name that holds it: absent, dropped or stubbed."""
        removal = self.removals.nearest(qualified, "absent", "drop", "stub", "body")
        return _stated(removal) if removal else None

    def entry(self, item: Item) -> Reason | None:
        """An entry of a registry leaves with its name, or with what it stands for."""
        if item.key.kind != "registry":
            return None
        if cause := self.name(item.key.group):
            return cause
        names = tuple(item.key.group.split(".")[-2:])
        for word in item.key.name.split():
            if cause := self.conditions.option(names, word):
                return cause
        value = item.details.get("value")
        return self.definition(item, value) if isinstance(value, str) else None

    def flag(self, item: Item) -> Reason | None:
        """A flag that is declared absent, or whose default is a removed name."""
        if item.key.kind != "flag":
            return None
        if cause := self.conditions.option(("add_argument",), item.key.name):
            return cause
        causes = (self.name(name) for name in item.origins.get("default", ()))
        return next((cause for cause in causes if cause), None)

    def definition(self, item: Item, value: str) -> Reason | None:
        """What removed the definition of the class or function that an entry stands for."""
        place = item.places[0]
        reader = self.sources.reader(place.path, place.module) if value.isidentifier() else None
        name = reader.qualified(ast.Name(value)) if reader is not None else None
        if name is None:
            return None
        home = self.sources.module(name.rpartition(".")[0])
        removed = self.path(home.path) if home and home.path in self.removals.by_path else None
        return removed or self.name(name)

    def edit(self, place: Place, *words: str) -> Reason | None:
        """Return an edit of the place's scope, or a patch of its file, that removes one of these words."""
        for edit in self.edits:
            removed_words = self._words.get(id(edit), frozenset())
            if removed_words.intersection(words) and f"{place.qualified}.".startswith(f"{edit.target}."):
                return _by(edit)
        for patch in self.patches:
            text = self.manifest.overlays.get(patch.overlay, b"").decode("utf-8", "replace")
            if place.path in text and any(_removes(text, word) for word in words):
                return Reason(patch.batch, f"patch {patch.overlay}", patch.mark)
        return None

    def script(self, key: Key) -> Reason | None:
        """A TOML edit of the command, or of the table that holds it."""
        if key.kind != "script":
            return None
        for batch in self.manifest.batches:
            for edit in batch.toml:
                if edit.file == key.group and f"project.scripts.{key.name}".startswith(edit.key):
                    return Reason(batch.id, f"{edit.op} {edit.key}", edit.mark)
        return None

    def proved(self, place: Place, own: str) -> Reason | None:
        """Return the cause of what the specializer proved dead: that of its last users if it is known."""
        removal = self.removals.symbol(own)
        if removal is None:
            return None
        name = removal.name
        if fact := self._uncalled.get(name):
            return Reason(fact.batch, f"{name} has a word of the batch in its name", fact.mark)
        for user in self._importers(name):
            return Reason(user.batch, f"{name} was used by {user.name}, {user.clause}", user.mark)
        reason = self.accounts(place) or Reason(FACTS, "")
        return replace(reason, rule=f"{name}: {removal.clause}")

    def _importers(self, name: str) -> Iterator[Removal]:
        """The removed files that import a name from its module, or use one that a class declares."""
        module, _, last = name.rpartition(".")
        word = last.encode()
        text = rb"from\s+%b\s+import\s*(?:\([^)]*|[^\n]*)\b%b\b" % (re.escape(module.encode()), word)
        if self.conditions.facts.declares(module):
            text = rb"\b%b\b" % word
        for path, data in self._removed_files.items():
            removal = self.removals.path(path) if word in file_counts(data) else None
            if removal and re.search(text, data):
                yield removal

    @cached_property
    def _removed_files(self) -> dict[str, bytes]:
        """The text of each removed Python file that is no test, by path."""
        texts, removed = self.sources.snapshot, sorted(self.removals.by_path)
        return {p: texts[p] for p in removed if p.endswith(".py") and "/test" not in p and p in texts}

    # -- what changed -------------------------------------------------------------------------------

    def choice(self, item: Item, value: Value) -> Reason | None:
        """What accounts for a value that is no longer among the choices of an option."""
        names = (
            item.key.name.lstrip("-").replace("-", "_"),
            *(n.rpartition(".")[2] for n in item.origins.get("choices", ())),
        )
        return self.conditions.option(names, value) or self.read_from(item, "choices", value)

    def read_from(self, item: Item, detail: str, value: Value) -> Reason | None:
        """A detail is read from elsewhere: an edit of that name, or its file, or its registry."""
        for name in item.origins.get(detail, ()):
            for edit in self.edits:
                if edit.kind in ("set", "replace") and edit.target == name:
                    return _by(edit)
            key = Key("registry", name, str(value))
            if key in self.before and key not in self.after and (causes := self.lost(self.before[key])[1]):
                return causes[0]
            home = self._file_of(name)
            if home and home in self.whole:
                return self.path(home)
        return None

    def detail(self, item: Item, detail: str, old: Value, new: Value) -> Reason | None:
        """What accounts for any other change of an item."""
        place = item.places[0]
        own = self.own(item.key, item, place)
        if isinstance(old, Expression):
            arm = self.conditions.arm(place, old.text)
            if arm is not None and (arm[0] == new or arm[0] == getattr(new, "text", None)):
                return arm[1]
        return (
            self.read_from(item, detail, old)
            or self.name(own)
            or self.path(place.path)
            or self.script(item.key)
            or next((_by(edit) for edit in self.edits if edit.kind == "set" and edit.target == own), None)
            or self.edit(place, item.key.name, str(old))
            # another place states it now
            or (self.conditions.impossible(place) if len(item.places) > 1 else None)
        )

    def _file_of(self, name: str) -> str | None:
        while name := name.rpartition(".")[0]:
            if module := self.sources.module(name):
                return module.path
        return None

    # -- what was added ------------------------------------------------------------------------------------

    def added(self, item: Item) -> Reason | None:
        """Return the file of ours or the edit that added an item, or the choice that left its name alone."""
        for place in item.places:
            whole = self.whole.get(place.path)
            if whole is not None:
                return Reason(whole.batch, f"{whole.overlay} states it", whole.mark)
            for edit in self.edits:
                if place.qualified.startswith(edit.target) and edit.by and item.key.name in _strings(edit.by):
                    return _by(edit)
        return self.script(item.key) or self.chosen(item)

    def chosen(self, item: Item) -> Reason | None:
        """Account for an item that upstream has in a condition, or in a dict whose values hold one."""
        name = item.key.name.rpartition(" ")[2]  # a route has its method before
        files = [self.sources.parsed(place.path) for place in item.places]
        if not all(file is not None and _in_condition(file.tree, name) for file in files):
            return None
        return Reason(FACTS, f"upstream has {item.key.name} under a condition that the facts decide")


def _stated(removal: Removal) -> Reason:
    """An absent name, or an edit of a name."""
    edit = f"edit {removal.kind} of {removal.name}"
    return Reason(removal.batch, removal.note if removal.kind == "absent" else edit, removal.mark)


def _by(edit: Edit) -> Reason:
    return Reason(edit.batch, f"edit {edit.kind} of {edit.target}", edit.mark)


def _strings(source: str | None) -> frozenset[str]:
    """The string constants and names in a piece of source."""
    try:
        tree = ast.parse(source or "")
    except SyntaxError:
        return frozenset()
    nodes = list(ast.walk(tree))
    words = (
        node.value if isinstance(node, ast.Constant) else last_name(node)
        for node in nodes
        if isinstance(node, (ast.Constant, ast.Name, ast.Attribute))
    )
    joined = (Reader.joined(node) for node in nodes if isinstance(node, ast.JoinedStr))
    return frozenset(word for word in (*words, *joined) if isinstance(word, str))


def _removes(patch: str, word: str) -> bool:
    """Whether a patch removes a line with the word and adds none."""
    lines = patch.splitlines()
    return any(r.startswith("-") and word in r for r in lines) and not any(
        r.startswith("+") and word in r for r in lines
    )


def _by_statement(cause: Reason) -> tuple[str, str, str]:
    return cause.batch, str(cause.mark or ""), cause.rule


def _in_condition(tree: ast.Module, name: str) -> bool:
    """Return whether a text stands in a condition, or is a key of a dict that has one among its values.

    Such a dict is no table that can be read.
    """
    conditions = {node for node in ast.walk(tree) if isinstance(node, (ast.IfExp, ast.BoolOp))}
    dicts = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    mixed = [node for node in dicts if any(each in conditions for v in node.values for each in ast.walk(v))]
    keys = (key for node in mixed for key in node.keys)
    parts = (part for node in conditions for part in ast.walk(node))
    return any(isinstance(each, ast.Constant) and each.value == name for each in chain(keys, parts))
