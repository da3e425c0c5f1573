"""The causes of removed names and paths: one index of the manifest's statements and the specializer's proofs.

Everything that tells a person why something is missing uses this index: the gates, the messages about
unresolved uses, the ledger and `why`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from builder.analysis.indexed_tree import IndexedTree
from builder.errors import Mark
from builder.graph.names import module_of, path_of
from builder.graph.resolve import Origin
from builder.manifest.model import Manifest
from builder.manifest.statements import Rule

#: rule: a rule removed the file of a module. overlay: a file of ours replaced it. drop, stub, body: an edit.
#: absent: declared absent. proof: the specializer proved it dead.
Kind = Literal["rule", "overlay", "drop", "stub", "body", "absent", "proof"]


@dataclass(frozen=True, slots=True)
class Removal:
    """One statement or proof that removed a name.

    `clause` says what did it, as a main clause; `note` says the same to a reader who knows the batch.
    A proof has neither batch nor mark.
    """

    kind: Kind
    name: str
    clause: str
    note: str
    batch: str = ""
    mark: Mark | None = None

    def __str__(self) -> str:
        return f"{self.clause} ({self.mark})" if self.mark else self.clause


@dataclass(frozen=True, slots=True)
class Removals:
    """What was removed, by qualified name and by upstream path.

    `by_name`: the removals of each name, the most telling first. `by_path`: the rule that removed each path.
    """

    by_name: Mapping[str, tuple[Removal, ...]] = field(default_factory=dict)
    by_path: Mapping[str, Rule] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)

    def own(self, name: str, *kinds: Kind) -> Removal | None:
        """What removed a name itself, among removals of these kinds."""
        return next((one for one in self.by_name.get(name, ()) if one.kind in kinds), None)

    def nearest(self, name: str, *kinds: Kind) -> Removal | None:
        """What removed a name, or else the nearest name that holds it, among removals of these kinds."""
        while name:
            if removal := self.own(name, *kinds):
                return removal
            name = name.rpartition(".")[0]
        return None

    def symbol(self, qualified: str) -> Removal | None:
        """What removed a definition. That its module's file was removed is no reason: see `module`."""
        return self.nearest(qualified, "drop", "absent", "proof")

    def path(self, path: str) -> Removal | None:
        """The rule that removed a path."""
        rule = self.by_path.get(path)
        if rule is None:
            return None
        if rule.verdict in ("reach", "follow"):
            clause = f"removed because {rule.pattern}"
        else:
            verb = "pruned" if rule.verdict == "prune" else "removed"
            clause = f"{verb} by rule {rule.pattern!r} of batch {rule.batch}"
        return Removal("rule", path, clause, rule.stated, rule.batch, rule.mark)

    def module(self, module: str) -> Removal | None:
        """What removed a module: the rule of its path, what removed its name, or the rule of a path in it."""
        paths = path_of(module, self.packages)
        for path in paths or ():
            if removal := self.path(path):
                return removal
        if removal := self.symbol(module):
            return removal
        if paths:
            folder = paths[1].removesuffix("__init__.py")
            below = next((p for p in sorted(self.by_path) if p.startswith(folder)), None)
            return self.path(below) if below else None
        return None

    def missing(self, tree: IndexedTree, origin: Origin) -> Removal | None:
        """What removed a module, or a name in it, that `tree` lacks."""
        if not tree.index.has_module(origin.module):
            return self.module(origin.module)
        if origin.qualname:
            # `from package import submodule` names a module by a name
            removal = self.symbol(str(origin)) or self.module(str(origin))
            # a file of ours may lack what upstream's has
            return removal or self.own(origin.module, "overlay")
        return None

    def missing_name(self, before: IndexedTree, after: IndexedTree, origin: Origin) -> Removal | None:
        """Like `missing`, also for a name that its module had from another module of upstream."""
        removal = self.missing(after, origin)
        if removal is None and origin.qualname:
            source = before.index.origin(origin.module, origin.qualname)
            removal = self.missing(after, source) if source else None
        return removal


def index_removals(manifest: Manifest, removed: Mapping[str, Rule], proofs: Mapping[str, str]) -> Removals:
    """The index of one cut.

    `removed`: upstream path -> the rule that removed it. `proofs`: qualified name -> why the specializer
    removed it.
    """
    proved = (Removal("proof", name, reason, reason) for name, reason in proofs.items())
    by_name: dict[str, list[Removal]] = {}
    for removal in chain(_rules(manifest, removed), _stated(manifest), proved):
        by_name.setdefault(removal.name, []).append(removal)
    return Removals({name: tuple(each) for name, each in by_name.items()}, removed, manifest.packages)


def _rules(manifest: Manifest, removed: Mapping[str, Rule]) -> Iterator[Removal]:
    for path, rule in reversed(list(removed.items())):  # a package before a file of its name
        if module := module_of(path, manifest.packages):
            clause = f"batch {rule.batch} removes {module}"
            yield Removal("rule", module, clause, rule.stated, rule.batch, rule.mark)


def _stated(manifest: Manifest) -> Iterator[Removal]:
    for batch in reversed(manifest.batches):  # what a later batch states is the more telling
        for edit in reversed(batch.edits):
            name = edit.target
            if edit.kind == "drop":
                clause, note = f"batch {edit.batch} drops {name}", f"{name} is dropped"
            elif edit.kind in ("stub", "body"):
                clause, note = (
                    f"batch {edit.batch} replaces the body of {name}",
                    f"the body of {name} is replaced",
                )
            else:
                continue
            yield Removal(edit.kind, name, clause, note, edit.batch, edit.mark)
        for absent in reversed(batch.absent):
            name = absent.name
            clause, note = f"batch {batch.id} declares {name} absent", f"{name} is declared absent"
            yield Removal("absent", name, clause, note, batch.id, absent.mark)
        for file in reversed(batch.files):
            if module := module_of(file.path, manifest.packages):
                clause = f"batch {batch.id} replaces its file by {file.overlay}"
                yield Removal("overlay", module, clause, f"{file.overlay} replaces it", batch.id, file.mark)


def because(removal: Removal | None) -> str:
    """The tail of a message: what removed the thing, or that no rule accounts for it."""
    return f": {removal}" if removal else ": no rule of the manifest accounts for it"
