"""What folding a file gave before, for a file and a world that answer every question as they did then.

A fold is a function of the file, of the facts, and of what it asks the world about other files. So the
questions are written down with their answers; where all of them are answered the same again, so is the
fold, and the file is not even parsed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, fields
from typing import Any

from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.world import SpecializerWorld

Answer = Any  # str, Gone, KnownValue, a scalar, a set of names or None
Question = tuple[Any, ...]


def _recorded(kind: str) -> Any:
    """A method that answers questions of a kind, and writes them down."""

    def ask(self: Any, *about: Any) -> Any:
        question = kind, *about
        if question not in self.answers:
            self.answers[question] = answer(self.asked, question)
        return self.answers[question]

    return ask


class RecordingWorld(SpecializerWorld):
    """A world that writes down the questions it is asked, with its answers.

    What answering asks in its turn is asked of the world itself, and no question of the fold.
    """

    def __init__(self, world: SpecializerWorld) -> None:
        self.__dict__.update(world.__dict__)  # the same files, memory and units
        self.asked = world
        self.answers: dict[Question, Answer] = {}
        self.facts = RecordingFacts(world, self.answers)

    module_gone = _recorded("module_gone")
    is_module = _recorded("is_module")
    has_file = _recorded("has_file")
    canonical = _recorded("canonical")
    defines = _recorded("defines")
    is_gone = _recorded("is_gone")
    constant = _recorded("constant")
    function = _recorded("function")
    ask = _recorded("ask")
    elsewhere = _recorded("elsewhere")


class RecordingFacts(Facts):
    """Facts that write down what they are asked.

    A fold depends on the facts that it asked for and on no other: where these answer the same again, a change
    of any other fact does not concern the file.
    """

    def __init__(self, world: SpecializerWorld, answers: dict[Question, Answer]) -> None:
        for name in TABLES:
            object.__setattr__(self, name, _Table(getattr(world.facts, name), name, answers))
        object.__setattr__(self, "asked", world)
        object.__setattr__(self, "answers", answers)

    module_gone = _recorded("facts.module_gone")
    never_has = _recorded("facts.never_has")
    is_listed = _recorded("facts.is_listed")
    is_pure = _recorded("facts.is_pure")


#: The tables of `Facts` in which a fold looks one key up at a time.
TABLES = tuple(one.name for one in fields(Facts) if not str(one.type).startswith("tuple"))


class _Table:
    """One table of the facts. It cannot be iterated: that would be a question about every fact."""

    def __init__(self, table: Any, name: str, answers: dict[Question, Answer]) -> None:
        self._table = table
        self._name = name
        self._answers = answers

    def get(self, key: Any) -> Any:
        found = self._answers["get", self._name, key] = self._table.get(key)
        return found

    #: Python would otherwise iterate by `__getitem__`.
    __iter__ = None

    def __contains__(self, key: Any) -> bool:
        found = self._answers["in", self._name, key] = key in self._table
        return found

    def __getitem__(self, key: Any) -> Any:
        if key not in self:
            raise KeyError(key)
        return self.get(key)


def answer(world: SpecializerWorld, question: Question) -> Answer:
    """What a world, or its facts, say to a question that was written down."""
    kind, *about = question
    if kind in ("get", "in"):
        table = getattr(world.facts, about[0])
        return table.get(about[1]) if kind == "get" else about[1] in table
    asked = world.facts if kind.startswith("facts.") else world
    found: Answer = getattr(asked, kind.removeprefix("facts."))(*about)
    return found


@dataclass(frozen=True, slots=True)
class FoldRecord:
    """A result, and the answers on which it rests."""

    answers: tuple[tuple[Question, Answer], ...]
    result: Any

    def holds(self, world: SpecializerWorld) -> bool:
        """Return whether the world still answers as it did."""
        known: dict[Question, Answer] = world.derived.setdefault(("answers",), {})
        for question, said in self.answers:
            if question not in known:
                known[question] = answer(world, question)
            if not _same(known[question], said):
                return False
        return True


def _same(one: Answer, other: Answer) -> bool:
    """Equal, and of one type: `1` is not `True` here."""
    if isinstance(one, KnownValue) and isinstance(other, KnownValue):
        return one == other and type(one.value) is type(other.value)
    return type(one) is type(other) and bool(one == other)


#: key of a fold -> what it gave
Recall = MutableMapping[str, FoldRecord]


def key(world: SpecializerWorld, path: str, needles: Iterable[str], upstream: bytes) -> str:
    """What a fold depends on beside its questions. `needles`: the words of the file that it is about."""
    parts: list[object] = [
        path, world.names[path], world.paths.get(world.names[path]) == path,
        sorted(needles), sorted(world.local(path).items()),
    ]  # fmt: skip
    found = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape"))
    for data in (world.files[path], upstream):
        found.update(b"\0%d\0" % len(data) + data)
    return found.hexdigest()
