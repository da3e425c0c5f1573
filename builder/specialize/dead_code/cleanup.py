"""What nobody uses any more, because of us: imports, locals, constants, functions, methods, classes.

Only a name that upstream's own code referred to, and that nothing refers to now, is dead; a name that
upstream already did not use stays, for someone outside may.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from builder.source.ops import DropItem, ImportModule, Op, Remove
from builder.specialize.dead_code.dead import Dead
from builder.specialize.dead_code.unused import Bound, Unused, typing_only
from builder.specialize.program import Policy, Program
from builder.specialize.text_index.content import Contents
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld


@dataclass(slots=True)
class Cleaned:
    """Operations per file, and the names that leave with the reason."""

    ops: dict[str, list[Op]] = field(default_factory=lambda: defaultdict(list))
    dead: dict[str, str] = field(default_factory=dict)


def _upstream_units(program: Program, contents: Contents) -> Callable[[str], Unit | None]:
    """Gives a file as upstream has it; None when upstream lacks it or it is not Python."""
    known: dict[str, Unit | None] = {}

    def unit(path: str) -> Unit | None:
        if path in known:
            return known[path]
        data, found = program.upstream.get(path), None
        if data is not None:
            with suppress(SyntaxError):
                found = Unit(path, program.names[path], contents.of(data))
        if path in program.files:  # the others are asked for seldom, and they are many
            known[path] = found
        return found

    return unit


class Cleaner:
    """Finds what is dead by us, round by round."""

    def __init__(self, program: Program, policy: Policy, words: IdentifierIndex, contents: Contents) -> None:
        """`words`: the identifiers of the program's files as they are now."""
        self._words = words
        self.before_unit = _upstream_units(program, contents)
        self._unused = Unused(self.before_unit)
        self._dead = Dead(program, policy, self.before_unit, words, contents)

    def replace(self, path: str, data: bytes) -> None:
        """A kept file has new bytes."""
        counts = self._words.of(path)
        self._dead.replace(path, counts, self._words.replace(path, data), data)

    def leave(self, path: str) -> None:
        """A kept file leaves as a whole."""
        self._dead.leave(path, self._words.of(path))
        self._unused.kept.pop(path, None)

    def kept_imports(self) -> Iterator[tuple[str, int, str]]:
        """Path, line and sentence of each import that nobody reads and that stays all the same."""
        for path, imports in sorted(self._unused.kept.items()):
            for line, name in sorted(imports):
                yield path, line, f"nobody reads {name}; importing it may do more than define it"

    def round(self, world: SpecializerWorld, edited: Iterable[str]) -> Cleaned:
        """What is dead now. `edited`: the files that differ from upstream."""
        cleaned = Cleaned()
        unread: dict[str, list[Bound]] = defaultdict(list)
        paths = set(edited)
        names: set[bytes] | None = None
        while True:  # what leaves takes the last use of something else with it
            before = len(cleaned.dead), sum(map(len, cleaned.ops.values()))
            for unit, item in self._dead.find(world, names):
                cleaned.ops[unit.path].append(item.op(unit))
                if isinstance(item.node, ast.stmt):
                    cleaned.dead[item.qualified(unit)] = "nothing refers to it any more"
            asked, names = names, set()
            looked_at = paths | cleaned.ops.keys()
            if asked is not None:  # elsewhere nothing was taken; all are looked at once more before the end
                looked_at &= self._words.holding(asked)
            for path in sorted(looked_at):
                unit = world.unit(path)
                leaving, running = self._unused.imports(world, unit)
                for bound in chain(leaving, running):
                    if bound.public and self._dead.looked_up(world, unit, bound):
                        continue
                    unread[path].append(bound)
                    if bound in running and isinstance(bound.node, ast.ImportFrom):
                        unit.running.add(bound.node)
                        self._unused.named_only.setdefault(path, set()).add(unit.absolute(bound.node))
                    names |= self._dead.drop(unit, bound.node.names[bound.index])
                    if bound.public:
                        cleaned.dead[f"{unit.name}.{bound.name}"] = "the import is no longer used"
                for condition in typing_only(unit) if path in unread else ():
                    if condition not in unit.leaving:
                        names |= self._dead.drop_condition(unit, condition)
                for stmt in self._unused.locals(unit):
                    cleaned.ops[path].append(Remove(stmt))
                    names |= self._dead.remove(unit, stmt)
            if names or before != (len(cleaned.dead), sum(map(len, cleaned.ops.values()))):
                continue
            if asked is None:
                break
            names = None  # once more for every name: counts of words changed too
        for path, dropped in unread.items():
            cleaned.ops[path].extend(_drop(world.unit(path), dropped))
        return cleaned


def _drop(unit: Unit, unread: Iterable[Bound]) -> list[Op]:
    """Drop imported names; an import all of whose names leave is removed as a statement, or with the
    condition that it leaves empty."""
    dropped: defaultdict[ast.Import | ast.ImportFrom, list[int]] = defaultdict(list)
    for bound in unread:
        dropped[bound.node].append(bound.index)
    ops: list[Op] = []
    conditions = typing_only(unit)
    ops.extend(Remove(condition) for condition in conditions)
    within: set[ast.AST] = {stmt for condition in conditions for stmt in condition.body}
    for node, indices in dropped.items():
        if node in within:
            continue
        if isinstance(node, ast.ImportFrom) and node in unit.running and unit.leaving.issuperset(node.names):
            ops.append(ImportModule(node, unit.absolute(node)))
        elif len(indices) == len(node.names):
            ops.append(Remove(node))
        else:
            ops.extend(DropItem(node, "names", index) for index in indices)
    return ops
