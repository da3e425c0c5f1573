"""What folding a file gave before, for a file and a world that answer every question as they did then.

A fold is a function of the file, of the facts, and of what it asks the world about other files. So the
questions are written down with their answers; where all of them are answered the same again, so is the
fold, and the file is not even parsed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from builder.specialize.evaluating.evaluate import constant_of
from builder.specialize.evaluating.facts import Gone, KnownValue
from builder.specialize.evaluating.recording_facts import KINDS, RecordingFacts
from builder.specialize.evaluating.recording_facts import answer as facts_answer
from builder.specialize.world import SpecializerWorld

Answer = Any  # str, Gone, KnownValue, a scalar, a set of names or None
Question = tuple[Any, ...]


class _Recorder:
    """Questions with their answers. It knows no world, so that world and facts may both hold it."""

    def __init__(self) -> None:
        self.answers: dict[Question, Answer] = {}
        self._inside = 0  # what answering asks in its turn is no question of the fold

    def answer(self, question: Question, find: Callable[[], Any]) -> Any:
        if self._inside:
            return find()
        if question in self.answers:
            return self.answers[question]
        self._inside += 1
        try:
            found = self.answers[question] = find()
        finally:
            self._inside -= 1
        return found

    def record(self, question: Question, found: Answer) -> None:
        if not self._inside:
            self.answers[question] = found


class RecordingWorld(SpecializerWorld):
    """A world that writes down the questions it is asked, with its answers."""

    def __init__(self, world: SpecializerWorld) -> None:
        self.__dict__.update(world.__dict__)  # the same files, memory and units
        recorder = _Recorder()
        self.answers = recorder.answers
        self._answer = recorder.answer
        self.facts = RecordingFacts(world.facts, recorder.record)

    def module_gone(self, name: str) -> str | None:
        found: str | None = self._answer(
            ("module_gone", name), lambda: super(RecordingWorld, self).module_gone(name)
        )
        return found

    def is_module(self, name: str) -> bool:
        return bool(self._answer(("is_module", name), lambda: super(RecordingWorld, self).is_module(name)))

    def has_file(self, name: str) -> bool:
        return bool(self._answer(("has_file", name), lambda: super(RecordingWorld, self).has_file(name)))

    def canonical(self, module: str, name: str) -> str | Gone | None:
        found: str | Gone | None = self._answer(
            ("canonical", module, name), lambda: super(RecordingWorld, self).canonical(module, name)
        )
        return found

    def defines(self, module: str, name: str, seen: frozenset[str] = frozenset()) -> bool:
        if seen:
            return super().defines(module, name, seen)
        return bool(
            self._answer(("defines", module, name), lambda: super(RecordingWorld, self).defines(module, name))
        )

    def is_gone(self, qualified: str) -> bool:
        return bool(
            self._answer(("is_gone", qualified), lambda: super(RecordingWorld, self).is_gone(qualified))
        )

    def constant(self, qualified: str) -> KnownValue | None:
        found: KnownValue | None = self._answer(
            ("constant", qualified), lambda: super(RecordingWorld, self).constant(qualified)
        )
        return found

    def function(self, qualified: str) -> KnownValue | None:
        found: KnownValue | None = self._answer(
            ("function", qualified), lambda: super(RecordingWorld, self).function(qualified)
        )
        return found

    def ask(self, question: Callable[..., bool], *about: str) -> bool:
        return bool(
            self._answer(("ask", question, *about), lambda: super(RecordingWorld, self).ask(question, *about))
        )

    def elsewhere(
        self, qualified: str, find: Callable[[SpecializerWorld], KnownValue | None]
    ) -> KnownValue | None:
        found: KnownValue | None = self._answer(("elsewhere", qualified), lambda: find(self))
        return found


def answer(world: SpecializerWorld, question: Question) -> Answer:
    """What a world says to a question that was written down."""
    if question[0] in KINDS:
        return facts_answer(world.facts, question)
    kind, *words = question
    if kind == "elsewhere":
        return constant_of(world, words[0])
    found: Answer = getattr(world, kind)(*words)
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
