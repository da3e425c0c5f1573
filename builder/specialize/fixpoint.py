"""Folds, cascades and cleans until nothing changes; goes on from there where only files left a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from builder import progress
from builder.graph.names import package_of
from builder.parallel import map_parallel
from builder.source.textdiff import runs
from builder.specialize.dead_code import registry_rows
from builder.specialize.dead_code.cleanup import Cleaned, Cleaner
from builder.specialize.dead_code.hierarchy import Hierarchy
from builder.specialize.edits import defined, edited
from builder.specialize.final_checks import hidden_uses
from builder.specialize.final_texts import is_empty, laid_out
from builder.specialize.fold_cache import FoldRecord, RecordingWorld, key
from builder.specialize.folding.fold import fold
from builder.specialize.leftovers import Leftover, leftovers
from builder.specialize.program import Memo, Policy, Program
from builder.specialize.results import BY_EDIT, FOLDED, Folded, Mismatch, Specialized
from builder.specialize.text_index.content import Contents
from builder.specialize.text_index.identifier_index import holding
from builder.specialize.text_index.text_search import import_hits
from builder.specialize.unit import Unit
from builder.specialize.world import Asked, KnownOfFiles, Memory, SpecializerWorld

MAX_ROUNDS = 40
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
#: Tells the key of a search for leftovers from that of a fold.
_LEFTOVERS = "leftovers:"

#: path -> the identifiers to fold it for; None: all of them
Dirty = dict[str, set[str] | None]


class Fixpoint:
    """The state of the rounds: the files as they are now, and what is known of them."""

    def __init__(self, program: Program, policy: Policy, memo: Memo) -> None:
        files = program.files
        self.files = dict(files)
        self.first = files
        self.upstream = program.upstream
        self.names = program.names
        self.removed = program.removed
        self.contents = Contents(memo.answers)
        self.facts = registry_rows.with_wrappers(policy.facts, program.upstream, program.names, self.contents)
        self.frozen = policy.frozen
        self.removed_files = self.without_files()
        self.memory = Memory()
        self.known = KnownOfFiles.of(files, self.names, self.contents)
        self.units, self.words = self.known.units, self.known.words
        self.cleaner = Cleaner(program, policy, self.words, self.contents)
        self.result = Specialized({})
        self.folds = memo.folds
        self.fact_words = frozenset(n.encode() for n in self.facts.needles if _IDENTIFIER.fullmatch(n))
        self.fact_texts = frozenset(n for n in self.facts.needles if not _IDENTIFIER.fullmatch(n))
        self.check = policy.check
        self.edits = 0  # how many times a file got new bytes, or left
        self.last_world: tuple[tuple[int, ...], SpecializerWorld] | None = None
        self.unused: set[str] = set()
        self.announced: set[str] = set()  # names for which the files that see them were folded
        self.wanted: dict[str, set[str]] = {}  # path -> identifiers that mean one of these names
        self.uncertain: dict[str, list[tuple[int, str]]] = {}
        self.broken: set[Leftover] = set()  # what no fold could keep as it is
        self.hindrances: dict[str, frozenset[Asked]] = {}
        self.laid_out: set[str] = set()  # paths that got another layout at the end
        self.unplaced: set[str] = set()  # those of them where a line that is told was laid out itself
        self.touched: set[str] | None = None  # when this goes on: what was folded or changed

    def world(self) -> SpecializerWorld:
        """The files as they are now; the same world, with its answers, while nothing changes."""
        state = self.edits, *self.memory.sizes()
        if self.last_world is None or self.last_world[0] != state:
            world = SpecializerWorld(
                self.files, self.names, self.removed, self.facts, self.memory, self.known, self.removed_files
            )
            self.last_world = state, world
        return self.last_world[1]

    def run(self) -> Specialized:
        self.overlaid()
        rows = self.without_rows()  # before anything is found in them that cannot be removed
        # an edit of the manifest may leave a literal condition behind: `if False:`
        first = self.files_with(self.facts.needles) | self.importing_gone() | set(self.edited())
        dirty: Dirty = {**self.news()}
        dirty.update(dict.fromkeys(first | rows))
        return self.settle(dirty)

    def without_files(self) -> dict[str, bytes]:
        """module -> upstream's text of the modules that have no file here."""
        names = self.names
        return {names[p]: d for p, d in self.upstream.items() if p not in self.files and p in names}

    def go_on(self, files: frozenset[str], removed: frozenset[str]) -> Specialized:
        """Go on from the end with only some of the files, and with more modules `removed`."""
        leaving = self.files.keys() - files
        for path in sorted(leaving):
            self.leave(path)
        laid_out = self.laid_out & self.files.keys()
        for path in laid_out:
            self.words.replace(path, self.files[path])
            self.cleaner.replace(path, self.files[path])
        self.known.links.renew(self.files)
        self.removed, self.removed_files, self.first = removed, self.without_files(), dict(self.files)
        self.result, self.touched = Specialized({}), set()
        dirty: Dirty = {**self.news()}
        again = self.importing_gone() | self.unhindered() | (self.unplaced & self.files.keys())
        lost = {self.names[path].rpartition(".")[2] for path in leaving}
        again |= self.files_with(lost) & set(self.edited())
        dirty.update(dict.fromkeys(again - self.frozen))
        return self.settle(dirty)

    def leave(self, path: str) -> None:
        """A file leaves, with all that is known of it."""
        self.words.remove(path)
        self.cleaner.leave(path)
        known: tuple[dict[str, Any], ...] = (
            self.files, self.units, self.hindrances, self.uncertain, self.wanted, self.memory.local,
        )  # fmt: skip
        for each in known:
            each.pop(path, None)
        self.edits += 1

    def settle(self, dirty: Dirty) -> Specialized:
        """Fold and clean until nothing changes, and finish."""
        cleaned = -1  # the edits when everything was clean
        while self.result.rounds < MAX_ROUNDS:
            while dirty and self.result.rounds < MAX_ROUNDS:
                dirty = self.fold_round(dirty)
            if self.edits == cleaned:  # nothing can be dead that was not before
                break
            cleaned = self.edits
            dirty = self.affected(self.clean())
        if dirty:
            self.result.mismatches.append(Mismatch("", f"no fixpoint after {MAX_ROUNDS} rounds"))
        self.finish()
        self.contents.save()
        return self.result

    def clean(self) -> set[str]:
        """Take away what is dead; the files to fold again.

        What nobody reads cannot decide anything. Only a function that wrote to outer names may have kept
        one from being a constant, and a place that is told must be that of the final text.
        """
        changed = self.without_rows()
        world = self.world()
        changed |= self.take(world, self.cleaner.round(world, self.edited()))
        self.result.rounds += 1
        return changed

    def without_rows(self) -> set[str]:
        """Take the rows of registries away that nothing asks for; the files to fold again."""
        world = self.world()
        return self.take(world, registry_rows.leaving(world, self.frozen))

    def take(self, world: SpecializerWorld, cleaned: Cleaned) -> set[str]:
        """Carry out what takes dead code away; the files to fold again."""
        changed: set[str] = set()
        for path, ops in sorted(cleaned.ops.items()):
            unit, old = world.unit(path), self.files[path]
            after, lost, wrong = edited(unit, ops, self.contents, self.check)
            if wrong:
                self.result.mismatches.append(Mismatch(path, wrong))
            if after is None:
                continue
            data = after.content.data
            self.lose(lost, cleaned.dead)
            # nobody names what is dead, nor what it contained: no file has to be looked at again for it,
            # but for one that imports or lists what the facts say that nobody calls
            imported = lost & self.facts.uncalled
            self.unused |= lost - imported
            self.replace(path, data)
            self.units[path] = after
            if imported or self.uncertain.get(path) or _writes(old) != _writes(data):
                changed.add(path)
        return changed

    def edited(self) -> list[str]:
        return sorted(
            p
            for p, data in self.files.items()
            if p not in self.frozen and p in self.upstream and data != self.upstream[p]
        )

    def overlaid(self) -> None:
        """Names that overlays took from files are gone like those that we take."""
        world = self.world()
        for path in self.edited() + sorted(p for p in self.frozen if p in self.upstream and p in self.files):
            before = self.cleaner.before_unit(path)
            try:
                after = world.unit(path)
            except SyntaxError:
                continue
            for name in defined(before) - defined(after) if before is not None else ():
                self.memory.gone[name] = BY_EDIT

    # -- which files ----------------------------------------------------------------------------

    def needles(self, path: str) -> set[str]:
        """Every identifier and string of a file of which the facts, or earlier rounds, say something."""
        words = {word.decode() for word in self.fact_words & self.words.of(path).keys()}
        texts = {text for text in self.fact_texts if text.encode() in self.files[path]}
        return {*words, *texts, *self.wanted.get(path, ())}

    def news(self) -> dict[str, set[str]]:
        """path -> the identifiers that mean something which was found out since this was last asked."""
        memory = self.memory
        news: dict[str, set[str]] = {}
        known = {*memory.gone, *memory.constants, *memory.functions} - self.unused - self.announced
        for name in known:
            if name.rpartition(".")[0] in memory.gone:
                continue  # who means it means what it was part of
            for path, called in self.known.links.seeing(name).items():
                news.setdefault(path, set()).update(called)
        self.announced |= known
        for path, called in news.items():
            self.wanted.setdefault(path, set()).update(called)
        return {path: called for path, called in news.items() if path not in self.frozen}

    def files_with(self, needles: Iterable[str]) -> set[str]:
        needles = list(needles)
        found = self.words.holding(n.encode() for n in needles)
        return (found | holding(self.files, (n for n in needles if not n.isidentifier()))) - self.frozen

    def importing_gone(self) -> set[str]:
        """Files with an import of a module that does not exist in the output."""
        world = self.world()

        def gone(module: str) -> bool:
            return world.module_gone(module) is not None

        found = set()
        for path in self.files:
            package = package_of(path, self.names[path])
            if path not in self.frozen and import_hits(world.content(path), package, gone):
                found.add(path)
        return found

    def affected(self, changed: Iterable[str]) -> Dirty:
        """What to fold next: changed files wholly, others for the names of which there is news."""
        dirty: Dirty = {**self.news()}
        dirty.update(dict.fromkeys(changed))
        dirty.update(dict.fromkeys(self.unhindered()))
        return dirty

    def unhindered(self) -> set[str]:
        """Files in which something was left alone for what stood elsewhere, and stands there no more."""
        world = self.world()
        answers: dict[Asked, bool] = {}
        for asked in {q for questions in self.hindrances.values() for q in questions}:
            answers[asked] = asked.question(world, *asked.about)
        return {
            path
            for path, questions in self.hindrances.items()
            if not all(map(answers.__getitem__, questions))
        }

    # -- rounds -----------------------------------------------------------------------------------

    def fold_round(self, dirty: Dirty) -> Dirty:
        if self.touched is not None:
            self.touched |= dirty.keys()
        rounds = self.rounds(dirty)
        self.result.rounds += 1
        for found in rounds:
            self.learn(found, whole=dirty[found.path] is None)
        return self.affected(self.apply(rounds))

    def learn(self, found: Folded, whole: bool) -> None:
        """Keep what folding a file found out. `whole`: it was folded for all that is known."""
        path, memory = found.path, self.memory
        if whole:
            self.hindrances[path], self.uncertain[path] = frozenset(), []
        self.hindrances[path] = self.hindrances.get(path, frozenset()) | found.hindrances
        told = self.uncertain.setdefault(path, [])
        told.extend(each for each in found.uncertain if each not in told)
        self.broken.update(Leftover(path, *place, self.names[path]) for place in found.broken)
        self.result.decided += found.decided
        for known, new in ((memory.constants, found.constants), (memory.functions, found.functions)):
            known.update({name: value for name, value in new.items() if name not in known})
        if found.local:
            memory.local[path] = {**found.local, **memory.local.get(path, {})}

    def rounds(self, dirty: Dirty) -> list[Folded]:
        """What folding gives for each of these files, in order: recalled, or found out now."""
        found: dict[str, Folded] = {}
        keys: dict[str, str] = {}
        needles = {path: self.needles(path) if only is None else only for path, only in dirty.items()}
        world = self.world()
        for path, only in dirty.items():
            keys[path] = self.key(world, path, needles[path], only is None)
            before = self.recalled(keys[path], world)
            if before is not None:
                found[path] = before.result
        todo = sorted(dirty.keys() - found.keys())
        for made in map_parallel(todo, lambda paths: self.round(paths, needles), self.size):
            path = made.path
            found[path] = replace(made, answers=())
            if not made.mismatches:
                self.folds[keys[path]] = FoldRecord(made.answers, found[path])
        return [found[path] for path in sorted(dirty)]

    def key(self, world: SpecializerWorld, path: str, needles: set[str], whole: bool) -> str:
        """What a fold depends on, but for its questions: words that the file lacks are not part of it."""
        held = self.held(path, needles) | (self.fact_texts & needles) | ({"*"} if whole else set())
        return key(world, path, held, self.upstream.get(path, b""))

    def round(self, paths: Sequence[str], needles: Mapping[str, set[str]]) -> list[Folded]:
        """Fold files against the world of this round, whose other files stay as they are."""
        world = self.world()
        results = []
        for path in progress.counted(f"round {self.result.rounds + 1}", paths):
            asked, unit = RecordingWorld(world), world.unit(path)
            folded = fold(unit, asked, needles[path], self.upstream.get(path, b""))
            folded.answers = tuple(asked.answers.items())
            self.edit(unit, folded)
            results.append(folded)
        return results

    def edit(self, unit: Unit, folded: Folded) -> None:
        """Carry out what folding a file asks for."""
        ops, folded.ops = folded.ops, []
        if not ops:
            return
        after, folded.lost, wrong = edited(unit, ops, self.contents, self.check)
        folded.data = after.content.data if after is not None else None
        folded.mismatches = (Mismatch(unit.path, wrong),) if wrong else ()

    # -- edits ------------------------------------------------------------------------------------

    def apply(self, rounds: Iterable[Folded]) -> list[str]:
        """Take the new texts over; the files that changed. Names that vanish are gone from then on."""
        changed: list[str] = []
        for found in rounds:
            self.result.mismatches += found.mismatches
            if found.data is None:
                continue
            self.lose(found.lost, {})
            self.replace(found.path, found.data)
            changed.append(found.path)
        return changed

    def replace(self, path: str, data: bytes) -> None:
        """A file has new bytes; they are parsed when somebody asks."""
        self.files[path] = data
        self.units.pop(path, None)
        self.cleaner.replace(path, data)
        self.edits += 1

    def lose(self, names: Iterable[str], why: Mapping[str, str]) -> None:
        for name in names:
            self.memory.gone.setdefault(name, why.get(name, FOLDED))

    # -- the end ----------------------------------------------------------------------------------

    def finish(self) -> None:
        # what the manifest's own edits wrote is laid out like the rest
        changed = sorted({p for p, d in self.files.items() if d != self.first[p]})
        if self.touched is None:
            changed = sorted({*self.edited(), *changed})
        else:
            self.touched |= set(changed)
        texts = laid_out([(self.original(path), self.files[path]) for path in changed])
        for path, data in zip(changed, texts, strict=True):
            if self.files[path] == self.first[path]:
                if data == self.files[path]:
                    continue
                self.result.formatted.add(path)
            self.result.files[path] = data
            if is_empty(self.contents.of(data)):
                self.result.emptied.append(path)
            if data != self.files[path]:
                self.units.pop(path, None)
        self.laid_out = {p for p, data in self.result.files.items() if data != self.files[p]}
        self.unplaced = {p for p in self.laid_out if not self.place(p, self.result.files[p])}
        self.files.update(self.result.files)
        self.edits += 1
        names = {name.rpartition(".")[2] for name in self.facts.symbols}
        suspects = self.files_with(names) | set(self.memory.local) | self.wanted.keys()
        if self.touched is not None:  # of the others it is known
            suspects &= self.touched
        self.result.leftovers += self.open_uses(
            sorted(path for path in suspects - self.frozen if path in self.files), names
        )
        world = self.world()
        hierarchy = Hierarchy(world)
        self.result.leftovers += sorted(self.broken)
        self.result.leftovers += sorted(set(hidden_uses(world, hierarchy, self.cleaner.before_unit)))
        self.result.lost = dict(sorted(self.memory.gone.items()))
        self.result.uncertain = [(p, *u) for p, us in sorted(self.uncertain.items()) for u in us]
        told = (*self.cleaner.kept_imports(), *registry_rows.unclear(world))
        self.result.uncertain = sorted({*self.result.uncertain, *told})

    def place(self, path: str, data: bytes) -> bool:
        """Give what is told of a file the lines of its final text; False when one of them is not in it."""
        told = self.uncertain.get(path)
        if not told:
            return True
        before, after = self.files[path].splitlines(), data.splitlines()
        lines = {
            run.left + at: run.right + at for run in runs(before, after) for at in range(1, run.length + 1)
        }
        if not lines.keys() >= {line for line, _ in told}:
            return False
        self.uncertain[path] = [(lines[line], sentence) for line, sentence in told]
        return True

    def original(self, path: str) -> bytes:
        """The text whose layout is kept: upstream's, or where it has none the overlay's."""
        return self.upstream.get(path, self.first[path])

    def open_uses(self, paths: Sequence[str], names: set[str]) -> Iterator[Leftover]:
        """The uses of what is gone, recalled or found. `names`: what the manifest says is gone."""
        world = self.world()
        for path in paths:
            wanted = self.held(path, names.union(self.wanted.get(path, ())))
            known = key(world, path, {_LEFTOVERS, *wanted}, b"")
            record = self.recalled(known, world)
            if record is None:
                asked = RecordingWorld(world)
                uses = leftovers(asked.unit(path), asked, wanted)
                record = self.folds[known] = FoldRecord(tuple(asked.answers.items()), uses)
            yield from record.result

    def recalled(self, key: str, world: SpecializerWorld) -> FoldRecord | None:
        """What was remembered under a key, if the world still answers as it did."""
        before = self.folds.get(key)
        if before is None or not before.holds(world):
            return None
        self.folds[key] = self.folds.pop(key)  # the latest used are kept longest
        return before

    def size(self, path: str) -> int:
        return len(self.files[path])

    def held(self, path: str, names: Iterable[str]) -> set[str]:
        """Those of the names that a file holds."""
        words = self.words.of(path)
        return {name for name in names if name.encode() in words}


def _writes(data: bytes) -> tuple[int, int]:
    return data.count(b"global"), data.count(b"nonlocal")


class Session:
    """The specialization of one program, which goes on when more of its files leave."""

    def __init__(self) -> None:
        self._last: tuple[Fixpoint, Policy] | None = None

    def run(self, program: Program, policy: Policy, memo: Memo) -> Specialized:
        """Go on from the last program where this one is its output without some files; else begin again."""
        if self._last is not None and _continues(program, policy, *self._last):
            return self._last[0].go_on(frozenset(program.files), program.removed)
        fixpoint = Fixpoint(program, policy, memo if policy.check else replace(memo, folds={}))
        self._last = fixpoint, policy
        return fixpoint.run()


def _continues(program: Program, policy: Policy, last: Fixpoint, last_policy: Policy) -> bool:
    """Return whether a program is the output of the last one without some of its files, under the same
    policy.

    `prune_symbols` is a function of the manifest, which does not change within a session.
    """
    return (
        replace(policy, prune_symbols=last_policy.prune_symbols) == last_policy
        and program.removed >= last.removed
        and program.upstream.keys() == last.upstream.keys()
        and program.files.items() <= last.files.items()
    )


def specialize(
    program: Program, policy: Policy, memo: Memo | None = None, session: Session | None = None
) -> Specialized:
    """Specialize a program: fold what the facts decide, cascade what is gone and clean up after both.

    Never raises for what the program holds: what cannot be done is among the result's mismatches.
    `session`: knows the program with more files, if it was specialized before.
    """
    return (session or Session()).run(program, policy, memo or Memo())
