"""Folds, cascades and cleans until nothing changes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from builder.source.ops import Op
from builder.source.oracle import agree, expected
from builder.source.parse import parse
from builder.source.splice import splice
from builder.specialize.cleanup import Cleaner
from builder.specialize.definitions import defined
from builder.specialize.facts import Facts, Known
from builder.specialize.fold import Folded, fold
from builder.specialize.hits import import_hits
from builder.specialize.leftovers import Leftover, leftovers
from builder.specialize.polish import format_files, polish
from builder.specialize.words import Words, holding
from builder.specialize.world import Memory, Unit, World

MOST_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An edited file whose text is not what the same edits on its syntax tree give."""

    path: str
    sentence: str


@dataclass(slots=True)
class Specialized:
    """The result: every changed file, what left and why, and what is open."""

    files: dict[str, bytes]
    lost: dict[str, str] = field(default_factory=dict)  # qualified name -> why
    emptied: list[str] = field(default_factory=list)  # paths with no statement left
    leftovers: list[Leftover] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    uncertain: list[tuple[str, int, str]] = field(default_factory=list)
    rounds: int = 0
    decided: int = 0


def specialize(
    files: Mapping[str, bytes],
    upstream: Mapping[str, bytes],
    names: Mapping[str, str],
    removed: Mapping[str, str],
    facts: Facts,
    may_prune: Callable[[str], bool] = lambda path: False,
    extra: Iterable[bytes] = (),
    frozen: frozenset[str] = frozenset(),
    check: bool = True,
) -> Specialized:
    """Specialize kept Python files under the facts.

    `files`: path -> bytes of the kept files, overlays applied; `upstream`: the same and the removed ones
    as upstream has them; `names`: path -> module for all of both; `removed`: module -> why it is gone;
    `may_prune`: paths in which dead definitions may leave; `extra`: other texts that may name symbols;
    `frozen`: paths that are ours and stay as they are; `check`: compare each edit with the oracle.
    """
    return _Fixpoint(files, upstream, names, removed, facts, may_prune, extra, frozen, check).run()


class _Fixpoint:
    def __init__(
        self,
        files: Mapping[str, bytes],
        upstream: Mapping[str, bytes],
        names: Mapping[str, str],
        removed: Mapping[str, str],
        facts: Facts,
        may_prune: Callable[[str], bool],
        extra: Iterable[bytes],
        frozen: frozenset[str],
        check: bool,
    ) -> None:
        self.files = dict(files)
        self.first = dict(files)
        self.upstream = upstream
        self.names = names
        self.removed = removed
        self.facts = facts
        self.frozen = frozen
        self.check = check
        self.memory = Memory()
        self.units: dict[str, Unit] = {}
        self.words = Words()
        self.cleaner = Cleaner(upstream, may_prune, extra, self.words)
        self.result = Specialized({})
        self.unused: set[str] = set()
        self.seen_needles: set[str] = set()
        self.uncertain: dict[str, list[tuple[int, str]]] = {}

    def world(self) -> World:
        return World(self.files, self.names, self.removed, self.facts, self.memory, self.units)

    def run(self) -> Specialized:
        self.overlaid()
        dirty = self.files_with(self.needles()) | self.importing_gone()
        for _ in range(MOST_ROUNDS):
            while dirty:
                dirty = self.fold_round(dirty)
            cleaned = self.cleaner.round(self.world(), self.edited())
            # by construction nobody names these, so no file has to be looked at again for them
            self.unused.update(cleaned.dead)
            changed = self.apply(
                {p: ops for p, ops in cleaned.ops.items() if p not in self.frozen}, cleaned.dead
            )
            self.result.rounds += 1
            if not changed:
                break
            dirty = self.affected(changed)
        else:
            self.result.mismatches.append(Mismatch("", f"no fixpoint after {MOST_ROUNDS} rounds"))
        self.finish()
        return self.result

    def edited(self) -> list[str]:
        return sorted(
            p
            for p, data in self.files.items()
            if p not in self.frozen and p in self.upstream and data != self.upstream[p]
        )

    def overlaid(self) -> None:
        """Names that overlays took from files are gone like those that we take."""
        for path in self.edited() + sorted(p for p in self.frozen if p in self.upstream and p in self.files):
            try:
                before = defined(Unit(path, self.names[path], self.upstream[path]))
                after = defined(Unit(path, self.names[path], self.files[path]))
            except SyntaxError:
                continue
            for name in before - after:
                self.memory.gone[name] = "an edit of the manifest"

    # -- which files ----------------------------------------------------------------------------

    def needles(self) -> set[str]:
        found = set(self.facts.needles)
        for names in (self.memory.gone, self.memory.constants, self.memory.functions):
            found.update(name.rpartition(".")[2] for name in names if name not in self.unused)
        found.update(self.memory.methods)
        return found

    def files_with(self, needles: Iterable[str]) -> set[str]:
        wanted = {n.encode() for n in needles}
        plain = {n for n in needles if not n.isidentifier()}
        found = {p for p, d in self.files.items() if not wanted.isdisjoint(self.words.of(d))}
        return (found | holding(self.files, plain)) - self.frozen

    def importing_gone(self) -> set[str]:
        """Files with an import of a module that does not exist in the output."""
        world = self.world()

        def gone(module: str) -> bool:
            return world.module_gone(module) is not None

        found = set()
        for path, data in self.files.items():
            name = self.names[path]
            package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
            if path not in self.frozen and import_hits(data, package, gone):
                found.add(path)
        return found

    def affected(self, changed: Iterable[str]) -> set[str]:
        """Files that were changed, or that name something that the changes took."""
        new = self.needles() - self.seen_needles
        self.seen_needles |= new
        return set(changed) | (self.files_with(new) if new else set())

    # -- rounds -----------------------------------------------------------------------------------

    def fold_round(self, dirty: Iterable[str]) -> set[str]:
        world = self.world()
        needles = self.needles()
        self.seen_needles = self.seen_needles | needles
        results = [fold(world.unit(path), world, needles) for path in sorted(dirty)]
        self.result.rounds += 1
        learned = self.learn(results)
        changed = self.apply({r.path: r.ops for r in results if r.ops}, {})
        self.result.decided += sum(r.decided for r in results)
        new = self.needles() - self.seen_needles
        self.seen_needles |= new
        again = set(changed)
        if new:
            again |= self.files_with(new)
        if learned:
            again |= self.files_with({n.rpartition(".")[2] for n in learned})
        return again

    def learn(self, results: Iterable[Folded]) -> set[str]:
        """Keep what a round found out; the names that are new."""
        learned: set[str] = set()
        for result in results:
            for name, known in result.constants.items():
                if self.memory.constants.setdefault(name, known) is known:
                    learned.add(name)
            for name, known in result.functions.items():
                if self.memory.functions.setdefault(name, known) is known:
                    learned.add(name)
            for key, gone in result.local.items():
                self.memory.local.setdefault(result.path, {}).setdefault(key, gone)
            self.uncertain[result.path] = result.uncertain
        learned |= self.learn_methods(results)
        return learned

    def learn_methods(self, results: Iterable[Folded]) -> set[str]:
        """A method that returns the same known value in every class is a predicate."""
        found: dict[str, set[Known]] = {}
        for result in results:
            for name, known in result.methods.items():
                if known is not None:
                    found.setdefault(name, set()).add(known)
        learned: set[str] = set()
        for name, values in found.items():
            if len(values) != 1 or name in self.memory.methods:
                continue
            pattern = b"def " + name.encode() + b"("
            places = sum(data.count(pattern) for data in self.files.values())
            ours = sum(1 for r in results if name in r.methods)
            if places == ours:
                self.memory.methods[name] = values.pop()
                learned.add(name)
        return learned

    def apply(self, ops: Mapping[str, list[Op]], dead: Mapping[str, str]) -> list[str]:
        """Do the edits; the files that changed. Names that vanish are remembered as gone."""
        changed: list[str] = []
        for path, todo in sorted(ops.items()):
            unit = self.units.get(path) or Unit(path, self.names[path], self.files[path])
            try:
                data = splice(unit.module, todo)
                after = parse(data, path)
            except (SyntaxError, ValueError, AssertionError) as error:
                self.result.mismatches.append(Mismatch(path, f"the edits do not give Python: {error}"))
                continue
            if data == self.files[path]:
                continue
            if self.check and not agree(after.tree, expected(unit.module.tree, todo)):
                self.result.mismatches.append(
                    Mismatch(path, _first_difference(after.tree, expected(unit.module.tree, todo)))
                )
            names = defined(unit)
            self.files[path] = data
            self.units.pop(path, None)
            new = Unit(path, self.names[path], data)
            self.units[path] = new
            for name in names - defined(new):
                self.memory.gone.setdefault(
                    name, dead.get(name, "it is absent, or only absent things used it")
                )
            changed.append(path)
        return changed

    # -- the end ----------------------------------------------------------------------------------

    def finish(self) -> None:
        world = self.world()
        names = {
            n.rpartition(".")[2] for n in (*self.memory.gone, *self.facts.symbols) if n not in self.unused
        }
        suspects = self.files_with(names) | set(self.memory.local)
        for path in sorted(suspects):
            if path in self.files:
                self.result.leftovers.extend(leftovers(world.unit(path), world))
        changed = {p: d for p, d in self.files.items() if d != self.first[p]}
        formatted = format_files(changed)
        for path, data in sorted(changed.items()):
            better = polish(self.first[path], data, formatted.get(path, data))
            try:
                if better != data and not agree(ast.parse(better), ast.parse(data)):
                    better = data
            except SyntaxError:
                better = data
            self.result.files[path] = better
            if not ast.parse(better).body:
                self.result.emptied.append(path)
        self.result.lost = dict(sorted(self.memory.gone.items()))
        self.result.uncertain = [(p, *u) for p, us in sorted(self.uncertain.items()) for u in us]


def _first_difference(left: ast.AST, right: ast.AST) -> str:
    one = [ast.unparse(s) for s in left.body]  # type: ignore[attr-defined]
    two = [ast.unparse(ast.fix_missing_locations(s)) for s in right.body]  # type: ignore[attr-defined]
    for a, b in zip(one, two, strict=False):
        if a != b:
            for x, y in zip(a.splitlines(), b.splitlines(), strict=False):
                if x != y:
                    return f"text gives `{x.strip()}`, the tree gives `{y.strip()}`"
    return "the text and the tree differ in length"
