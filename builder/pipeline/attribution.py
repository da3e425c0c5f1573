"""Whose doing it is that a file was specialized: the facts and removals behind each block that left.

A block that names a fact, or an import of what was removed, left for that. Any other left because of
names: a definition for those who used it and left, a use for the definition that left. This is followed
from block to block, nearest first. It explains edits and decides none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from builder.emit.ledger import Reason
from builder.graph.names import absolute, is_test, module_of, path_of
from builder.manifest.model import Manifest
from builder.pipeline.cut import Cut
from builder.pipeline.removed_blocks import Block, removed_blocks

_MAX_ROUNDS = 40
_LITERALS = frozenset(["True", "False"])

Reasons = tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A block in its file; `counts`: it left in specialization, and not by an edit of the manifest."""

    path: str
    block: Block
    counts: bool = True


def attribute(cut: Cut) -> dict[str, Reasons]:
    """Specialized path -> the statements that account for it, those of most lines first."""
    return _Attribution(cut).run()


class _Attribution:
    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.manifest = cut.manifest
        # what was only laid out anew was edited by hand
        self.paths = sorted(cut.specialized.files.keys() - cut.specialized.formatted)
        self.words = dict(_words(cut))
        self.takers = dict(_takers(cut))
        self.places: list[_Place] = []
        self.reasons: dict[int, Reasons] = {}  # index of a place -> why it left
        self.names: dict[tuple[str, str], Reasons] = {}  # path, name bound in it -> why it left
        self.users: defaultdict[str, list[int]] = defaultdict(list)  # name -> the places that use it

    def run(self) -> dict[str, Reasons]:
        self.read()
        self.follow()
        self.search()
        self.follow()
        return self.sums()

    def follow(self) -> None:
        """Settle, round by round, what can be told from what is settled; who used what comes last."""
        for _ in range(_MAX_ROUNDS):
            open_ = [n for n in range(len(self.places)) if n not in self.reasons]
            found = {n: why for n in open_ if (why := self.why(n))}
            found = found or {n: why for n in open_ if (why := self.used(n))}
            if not found:
                break
            for number, why in found.items():
                self.settle(number, why)

    def search(self) -> None:
        """Definitions that nothing accounts for so far, and that a removed file names in whatever way."""
        wanted: defaultdict[bytes, list[int]] = defaultdict(list)
        for number, place in enumerate(self.places):
            if place.block.definition and number not in self.reasons:
                for name in place.block.defines:
                    wanted[name.encode()].append(number)
        if not wanted:
            return
        names = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(wanted)))
        for path, rule in sorted(self.cut.decided.removed.items()):
            if path.endswith(".py") and not is_test(path):
                for name in names.findall(self.cut.upstream[path]):
                    for number in wanted.pop(name, ()):
                        self.settle(number, (Reason(rule.batch, rule.stated, rule.mark),))

    def read(self) -> None:
        """Take in the blocks of every file that was specialized, then those that edits took."""
        cut = self.cut
        hands: defaultdict[str, list[tuple[int, Reason]]] = defaultdict(list)
        for record in cut.records:
            if record.file.endswith(".py"):
                why = Reason(record.batch, f"{record.kind}: {record.why}", record.mark)
                hands[record.file].append((record.line, why))
        for path in self.paths:
            for block in removed_blocks(cut.laid[path], cut.specialized.files[path]):
                self.add(_Place(path, block))
        for path, records in sorted(hands.items()):
            if path not in cut.upstream or path not in cut.laid:
                continue
            for block in removed_blocks(cut.upstream[path], cut.laid[path]):
                _, why = min(records, key=lambda r: (abs(r[0] - block.line) if r[0] else 0, r[1].mark))
                self.add(_Place(path, block, counts=False))
                self.settle(len(self.places) - 1, (why,))

    def add(self, place: _Place) -> None:
        self.places.append(place)
        for token in place.block.body:
            if token not in place.block.defines:
                self.users[token].append(len(self.places) - 1)

    def settle(self, number: int, why: Reasons) -> None:
        self.reasons[number] = why
        place = self.places[number]
        for name in place.block.defines:
            self.names.setdefault((place.path, name), why)

    # -- one block --------------------------------------------------------------------------------

    def why(self, number: int) -> Reasons:
        place = self.places[number]
        block = place.block
        if block.imports:
            return self.imported(place) or self.told(place, block.head)
        if found := self.told(place, block.head):
            return found
        if block.arm:
            return self.above(number)
        if not block.definition and (found := self.told(place, block.body)):
            return found
        return self.beside(number) if _LITERALS.intersection(block.head) else ()

    def told(self, place: _Place, tokens: Iterable[str]) -> Reasons:
        """What the tokens name: facts, and names that left."""
        found: list[Reason] = []
        for token in tokens:
            found += self.words.get(token, ())
            if token not in place.block.defines:
                found += self.names.get((place.path, token.removeprefix('"')), ())
        return tuple(dict.fromkeys(found))

    def imported(self, place: _Place) -> Reasons:
        """Why what a block imports is gone, where the modules or names are."""
        module = _module(place.path, self.manifest)
        package = module if place.path.endswith("/__init__.py") else module.rpartition(".")[0]
        found: list[Reason] = []
        for written, names in place.block.imports:
            source = absolute(written, package)
            if reason := self.gone(source):
                found.append(reason)
                continue
            for name in names:
                if reason := self.gone(f"{source}.{name}"):
                    found.append(reason)
                for home in path_of(source, self.manifest.packages) or ():
                    found += self.names.get((home, name), ())
        return tuple(dict.fromkeys(found))

    def gone(self, name: str) -> Reason | None:
        """The statement that removed a module or a symbol, or what holds it."""
        removal = self.cut.removals.nearest(name, "rule", "drop", "absent")
        return Reason(removal.batch, removal.note, removal.mark) if removal else None

    def above(self, number: int) -> Reasons:
        """The reasons of the statement that an arm belongs to."""
        place = self.places[number]
        for index in range(number - 1, -1, -1):
            other = self.places[index]
            if other.path != place.path:
                break
            if other.block.indent == place.block.indent:
                return self.reasons.get(index, ())
        return self.told(place, place.block.body)

    def beside(self, number: int) -> Reasons:
        """The reasons of the edit that put a literal where a condition was: the nearest of the file."""
        place = self.places[number]
        hands = [n for n, p in enumerate(self.places) if p.path == place.path and not p.counts]
        if not hands:
            return ()
        return self.reasons[min(hands, key=lambda n: abs(self.places[n].block.line - place.block.line))]

    def used(self, number: int) -> Reasons:
        """The reasons of the nearest place that used what a block defines: in its file, in a removed
        file, in another."""
        place = self.places[number]
        users = [n for name in place.block.defines for n in self.users.get(name, ()) if n in self.reasons]
        own = [n for n in users if self.places[n].path == place.path and n != number]
        if own:
            return self.reasons[min(own, key=lambda n: abs(n - number))]
        if not place.block.definition and (place.block.imports or place.block.indent):
            return ()  # only its own file can have used it
        module = _module(place.path, self.manifest)
        for name in place.block.defines:
            if takers := self.takers.get(f"{module}.{name}"):
                return (takers,)
        return self.reasons[min(users)] if users else ()

    # -- all blocks -------------------------------------------------------------------------------

    def sums(self) -> dict[str, Reasons]:
        """The reasons of each file. A block's lines count for the first of its reasons."""
        lines: dict[str, Counter[Reason]] = {path: Counter() for path in self.paths}
        for number, why in self.reasons.items():
            place = self.places[number]
            if place.counts:
                lines[place.path][why[0]] += place.block.lines
                lines[place.path].update(dict.fromkeys(why[1:], 0))
        return {path: _sorted(found) for path, found in lines.items()}


def _sorted(found: Counter[Reason]) -> Reasons:
    """Those of the batch with most lines first, and each batch's together."""
    batches: Counter[str] = Counter()
    for reason, lines in found.items():
        batches[reason.batch] += lines

    def key(reason: Reason) -> tuple[int, str, int, str]:
        return -batches[reason.batch], reason.batch, -found[reason], f"{reason.mark} {reason.rule}"

    return tuple(sorted(found, key=key))


def _words(cut: Cut) -> Iterator[tuple[str, Reasons]]:
    """Token -> what the manifest says of it: facts by their last name, values and variables as strings."""
    found: defaultdict[str, list[Reason]] = defaultdict(list)
    for batch in cut.manifest.batches:
        for fact in batch.facts:
            last = fact.name.rpartition(":")[2].rpartition(".")[2]
            call = "()" if fact.kind == "predicate" else ""
            why = Reason(batch.id, f"on the target {fact.name}{call} is {fact.value}", fact.mark)
            if fact.kind == "attribute":
                why = Reason(batch.id, f"on the target there is no {fact.name}", fact.mark)
            if fact.kind in ("predicate", "value", "environment", "attribute"):
                found[last].append(why)
                found[f'"{last}'].append(why)
        gone = {absent.name for absent in batch.absent}
        for absent in batch.absent:
            # what lies in something that is absent is not asked for by its own name
            if absent.kind == "symbol" and absent.name.rpartition(".")[0] not in gone:
                why = Reason(batch.id, f"{absent.name} is declared absent", absent.mark)
                found[absent.name.rpartition(".")[2]].append(why)
        for edit in batch.edits:
            last = edit.target.rpartition(".")[2]
            if edit.kind == "drop" and not last.startswith("_"):
                found[last].append(Reason(batch.id, f"{edit.target} is dropped", edit.mark))
    for option in cut.facts.options:
        for value in option.values:
            why = Reason(option.batch, f"the value {value!r} does not occur", option.mark)
            found[f'"{value}'].append(why)
    for name, reasons in found.items():
        yield name, tuple(reasons)


def _takers(cut: Cut) -> Iterator[tuple[str, Reason]]:
    """Name -> the rule that removed a file which imported it; tests do not count."""
    for path, summary in sorted(cut.before.summaries.items(), reverse=True):
        rule = cut.decided.removed.get(path)
        if rule is not None and not is_test(path):
            for found in summary.imports:
                if found.name is not None:
                    yield f"{found.target}.{found.name}", Reason(rule.batch, rule.stated, rule.mark)


def _module(path: str, manifest: Manifest) -> str:
    return module_of(path, manifest.packages) or ""
