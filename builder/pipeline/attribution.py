"""Attributes each removed block of a specialized file to the statements of the manifest behind it.

A block that names a fact was removed because of the fact, an import of what was removed because of that
removal. Any other block was removed because of names: a definition because its users were removed, a use
because the definition was removed. This is followed from block to block, nearest first. It explains edits
and decides none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.analysis.conditions import fact_words, option_words
from builder.errors import Mark
from builder.graph.names import absolute, is_test, locate, module_of, package_of, path_of
from builder.manifest.statements import Reason, Rule
from builder.pipeline.model import Cut
from builder.pipeline.removed_blocks import Block, removed_blocks
from builder.source.textdiff import equal_lines
from builder.source.words import file_counts
from builder.surface.model import Place

_MAX_ROUNDS = 40
_LITERALS = frozenset(["True", "False"])

Reasons = tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A block in its file; `counts`: specialization removed it, and no edit of the manifest."""

    path: str
    block: Block
    counts: bool = True


@dataclass(frozen=True, slots=True)
class RemovedLines:
    """Lines of an upstream file that were removed together, and the statements that account for them."""

    line: int  # from 1
    lines: int
    reasons: Reasons


@dataclass(frozen=True, slots=True)
class Attributed:
    """Path -> the statements that account for it, those of most lines first; and for its blocks, in order."""

    files: Mapping[str, Reasons]
    blocks: Mapping[str, tuple[RemovedLines, ...]]

    def reason_at(self, place: Place) -> Reason | None:
        """Return the first reason why a line of upstream left a file that stays."""
        blocks = self.blocks.get(place.path, ())
        block = next((b for b in blocks if b.line <= place.line < b.line + b.lines and b.reasons), None)
        return block.reasons[0] if block else None


def reason_of(rule: Rule) -> Reason:
    """Return a rule as a reason of the ledger."""
    return Reason(rule.batch, rule.stated, rule.mark)


def attribute(cut: Cut) -> Attributed:
    """Return what accounts for each specialized file, and for each block removed from a Python file."""
    return _Attribution(cut).run()


class _Attribution:
    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.manifest = cut.manifest
        # a file that was only formatted was edited by the manifest
        self.paths = sorted(cut.specialized.files.keys() - cut.specialized.formatted)
        self.tokens = dict(_tokens(cut))
        # the name of the class of a registry's rows -> the statement about them
        self.rows = {
            fact.name.rpartition(".")[2]: Reason(
                fact.batch, f"nothing that stays asks for these rows of {fact.name}", fact.mark
            )
            for batch in cut.manifest.batches
            for fact in batch.facts
            if fact.kind == "registry"
        }
        self.removed_users = dict(_removed_users(cut))
        # path -> the last names of what specialization found without a use in it
        self.dead: defaultdict[str, set[str]] = defaultdict(set)
        for name in cut.specialized.lost:
            if located := locate(name, cut.manifest.packages, cut.upstream.tree):
                self.dead[located[0]].add(name.rpartition(".")[2])
        self.places: list[_Place] = []
        self.reasons: dict[int, Reasons] = {}  # index of a place -> why it left
        self.names: dict[tuple[str, str], Reasons] = {}  # path, name bound in it -> why it left
        self.users: defaultdict[str, list[int]] = defaultdict(list)  # name -> the places that use it
        # path -> the places that edits of the manifest removed
        self.edits: defaultdict[str, list[int]] = defaultdict(list)

    def run(self) -> Attributed:
        self.read()
        self.follow()
        self.search()
        self.follow()
        return Attributed(self.by_file(), self.by_block())

    def follow(self) -> None:
        """Attribute in rounds what follows from earlier rounds; go by users only where nothing else does."""
        for _ in range(_MAX_ROUNDS):
            pending = [n for n in range(len(self.places)) if n not in self.reasons]
            settled = {n: why for n in pending if (why := self.why(n))}
            settled = settled or {n: why for n in pending if (why := self.users_reasons(n))}
            if not settled:
                break
            for number, why in settled.items():
                self.attribute(number, why)

    def search(self) -> None:
        """Attribute the remaining definitions to the removed files whose text names them."""
        wanted: defaultdict[bytes, list[int]] = defaultdict(list)
        for number, place in enumerate(self.places):
            if number not in self.reasons and (place.block.definition or self.is_dead(place)):
                for name in place.block.defines:
                    wanted[name.encode()].append(number)
        for path, rule in sorted(self.cut.decided.removed.items()):
            if wanted and path.endswith(".py") and not is_test(path):
                for word in sorted(wanted.keys() & file_counts(self.cut.upstream[path]).keys()):
                    for number in wanted.pop(word):
                        self.attribute(number, (reason_of(rule),))

    def read(self) -> None:
        """Read the removed blocks of each specialized file, then those that edits of the manifest removed."""
        cut = self.cut
        edits: defaultdict[str, list[tuple[int, Reason]]] = defaultdict(list)
        for record in cut.records:
            if record.file.endswith(".py"):
                why = Reason(record.batch, f"{record.kind}: {record.why}", record.mark)
                edits[record.file].append((record.line, why))
        for path in self.paths:
            for block in removed_blocks(cut.laid[path], cut.specialized.files[path]):
                self.add(_Place(path, block))
        for path, records in sorted(edits.items()):
            if path not in cut.upstream or path not in cut.laid:
                continue
            for block in removed_blocks(cut.upstream[path], cut.laid[path]):
                _, why = min(records, key=lambda r: (abs(r[0] - block.line) if r[0] else 0, r[1].mark))
                self.add(_Place(path, block, counts=False))
                self.attribute(len(self.places) - 1, (why,))

    def add(self, place: _Place) -> None:
        self.places.append(place)
        if not place.counts:
            self.edits[place.path].append(len(self.places) - 1)
        for token in place.block.body:
            if token not in place.block.defines:
                self.users[token].append(len(self.places) - 1)

    def attribute(self, number: int, why: Reasons) -> None:
        self.reasons[number] = why
        place = self.places[number]
        for name in place.block.defines:
            self.names.setdefault((place.path, name), why)

    # -- one block --------------------------------------------------------------------------------

    def why(self, number: int) -> Reasons:
        place = self.places[number]
        block = place.block
        if block.imports:
            return self.imported(place) or self.named(place, block.head)
        if not block.definition and (rows := [self.rows[t] for t in block.body if t in self.rows]):
            return (rows[0],)
        if reasons := self.named(place, block.head):
            return reasons
        if block.arm:
            return self.reasons_above(number)
        if not block.definition and (reasons := self.named(place, block.body)):
            return reasons
        if not _LITERALS.intersection(block.head):
            return ()
        # an edit put a literal where a condition was: the nearest of the file
        edits = self.edits[place.path]
        nearest = min(edits, key=lambda n: abs(self.places[n].block.line - block.line), default=None)
        return self.reasons[nearest] if nearest is not None else ()

    def named(self, place: _Place, tokens: Iterable[str]) -> Reasons:
        """The reasons of what the tokens name: facts and removed names."""
        reasons: list[Reason] = []
        for token in tokens:
            reasons += self.tokens.get(token, ())
            if token not in place.block.defines:
                reasons += self.names.get((place.path, token.removeprefix('"')), ())
        return tuple(dict.fromkeys(reasons))

    def imported(self, place: _Place) -> Reasons:
        """Return why the modules or names that a block imports were removed."""
        package = package_of(place.path, self.module(place.path))
        reasons: list[Reason] = []
        for written, names in place.block.imports:
            source = absolute(written, package)
            if reason := self.removal(source):
                reasons.append(reason)
                continue
            for name in names:
                if reason := self.removal(f"{source}.{name}"):
                    reasons.append(reason)
                for home in path_of(source, self.manifest.packages) or ():
                    reasons += self.names.get((home, name), ())
        return tuple(dict.fromkeys(reasons))

    def removal(self, name: str) -> Reason | None:
        """The statement that removed a module or a symbol, or what holds it."""
        removal = self.cut.removals.nearest(name, "rule", "drop", "absent")
        return Reason(removal.batch, removal.note, removal.mark) if removal else None

    def reasons_above(self, number: int) -> Reasons:
        """The reasons of the statement that an arm belongs to."""
        place = self.places[number]
        for index in range(number - 1, -1, -1):
            other = self.places[index]
            if other.path != place.path:
                break
            if other.block.indent == place.block.indent:
                return self.reasons.get(index, ())
        return self.named(place, place.block.body)

    def users_reasons(self, number: int) -> Reasons:
        """The reasons of the nearest place that used what a block defines: in its file, in a removed
        file, in another."""
        place = self.places[number]
        users = [n for name in place.block.defines for n in self.users.get(name, ()) if n in self.reasons]
        own = [n for n in users if self.places[n].path == place.path and n != number]
        if own:
            return self.reasons[min(own, key=lambda n: abs(n - number))]
        local = not place.block.definition and (place.block.imports or place.block.indent)
        if local and not self.is_dead(place):
            return ()  # only its own file can have used it
        for name in place.block.defines:
            if takers := self.removed_users.get(f"{self.module(place.path)}.{name}"):
                return (takers,)
        return self.reasons[min(users)] if users else ()

    def is_dead(self, place: _Place) -> bool:
        """Whether a block defines what had no use left, in any file."""
        return not self.dead[place.path].isdisjoint(place.block.defines)

    def module(self, path: str) -> str:
        return module_of(path, self.manifest.packages) or ""

    # -- all blocks -------------------------------------------------------------------------------

    def by_file(self) -> dict[str, Reasons]:
        """The reasons of each file. A block's lines count for the first of its reasons."""
        lines: dict[str, Counter[Reason]] = {path: Counter() for path in self.paths}
        for number, why in self.reasons.items():
            place = self.places[number]
            if place.counts:
                lines[place.path][why[0]] += place.block.lines
                lines[place.path].update(dict.fromkeys(why[1:], 0))
        return {path: _sorted(reasons) for path, reasons in lines.items()}

    def by_block(self) -> dict[str, tuple[RemovedLines, ...]]:
        """The reasons of each block, at its place in upstream."""
        blocks: defaultdict[str, list[RemovedLines]] = defaultdict(list)
        for number, why in self.reasons.items():
            place, block = self.places[number], self.places[number].block
            line = self.upstream_line(place.path, block.line) if place.counts else block.line
            blocks[place.path].append(RemovedLines(line, block.lines, why))
        return {path: tuple(sorted(some, key=lambda b: b.line)) for path, some in sorted(blocks.items())}

    def upstream_line(self, path: str, line: int) -> int:
        """Return upstream's number for a line of the file after the manifest's edits."""
        before, after = self.cut.upstream.get(path, b""), self.cut.laid[path]
        shift = 0
        for run in equal_lines(before, after) if before != after else ():
            if run.right > line - 1:
                break
            shift = run.left - run.right
        return max(1, line + shift)


def _sorted(lines_of: Counter[Reason]) -> Reasons:
    """Return the reasons by batch, those of the batch with most lines first."""
    batches: Counter[str] = Counter()
    for reason, lines in lines_of.items():
        batches[reason.batch] += lines

    def key(reason: Reason) -> tuple[int, str, int, Mark, str]:
        mark = reason.mark or Mark("")
        return -batches[reason.batch], reason.batch, -lines_of[reason], mark, reason.rule

    return tuple(sorted(lines_of, key=key))


def _tokens(cut: Cut) -> Iterator[tuple[str, Reasons]]:
    """Token -> the statements about it: facts by their last name, values and variables as strings."""
    reasons_of: defaultdict[str, list[Reason]] = defaultdict(list)
    for batch in cut.manifest.batches:
        for word, why in fact_words(batch):
            reasons_of[word].append(why)
        absent_names = {absent.name for absent in batch.absent}
        for absent in batch.absent:
            # nobody looks up a part of something absent by its own name
            if absent.kind == "symbol" and absent.name.rpartition(".")[0] not in absent_names:
                why = Reason(batch.id, f"{absent.name} is declared absent", absent.mark)
                reasons_of[absent.name.rpartition(".")[2]].append(why)
        for edit in batch.edits:
            last = edit.target.rpartition(".")[2]
            if edit.kind == "drop" and not last.startswith("_"):
                reasons_of[last].append(Reason(batch.id, f"{edit.target} is dropped", edit.mark))
    for word, why in option_words(cut.facts):
        reasons_of[word].append(why)
    for name, reasons in reasons_of.items():
        yield name, tuple(reasons)


def _removed_users(cut: Cut) -> Iterator[tuple[str, Reason]]:
    """Name -> the rule that removed a file that imported it. Tests do not count."""
    for path, summary in sorted(cut.before.summaries.items(), reverse=True):
        rule = cut.decided.removed.get(path)
        if rule is not None and not is_test(path):
            for item in summary.imports:
                if item.name is not None:
                    yield f"{item.target}.{item.name}", reason_of(rule)
