"""Facts that write down what they are asked.

A fold depends on the facts that it asked for and on no other: where these answer the same again, a change of
any other fact does not concern the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from builder.manifest.statements import Option, Scalar
from builder.specialize.evaluating.facts import Facts

#: The kinds of questions about facts.
KINDS = ("fact", "fact-stated", "fact-option", "fact-method")
#: The tables of `Facts` in which a fold looks one key up at a time.
TABLES = tuple(one.name for one in fields(Facts) if not str(one.type).startswith("tuple"))
#: Takes a question and its answer.
Record = Callable[[tuple[Any, ...], Any], None]


class _Table:
    """One table of the facts. It cannot be iterated: that would be a question about every fact."""

    def __init__(self, name: str, facts: Facts, record: Record) -> None:
        self._name = name
        self._facts = facts
        self._record = record

    def get(self, key: Any) -> Any:
        found = getattr(self._facts, self._name).get(key)
        self._record(("fact", self._name, key), found)
        return found

    #: Python would otherwise iterate by `__getitem__`.
    __iter__ = None

    def __contains__(self, key: Any) -> bool:
        found = key in getattr(self._facts, self._name)
        self._record(("fact-stated", self._name, key), found)
        return found

    def __getitem__(self, key: Any) -> Any:
        if key not in self:
            raise KeyError(key)
        return self.get(key)


class RecordingFacts(Facts):
    """The same answers as those of `facts`, each handed to `record` with its question."""

    def __init__(self, facts: Facts, record: Record) -> None:
        for name in TABLES:
            object.__setattr__(self, name, _Table(name, facts, record))
        object.__setattr__(self, "_facts", facts)
        object.__setattr__(self, "_record", record)

    def module_gone(self, module: str) -> str | None:
        return self._ask("module_gone", module)  # type: ignore[no-any-return]

    def option_absent(self, names: Iterable[str], value: Scalar) -> Option | None:
        names = tuple(names)
        option = self._facts.option_absent(names, value)  # type: ignore[attr-defined]
        self._record(("fact-option", names, value), option is not None)  # type: ignore[attr-defined]
        return option  # type: ignore[no-any-return]

    def is_listed(self, name: str) -> bool:
        return self._ask("is_listed", name)  # type: ignore[no-any-return]

    def is_pure(self, qualified: str) -> bool:
        return self._ask("is_pure", qualified)  # type: ignore[no-any-return]

    @property
    def needles(self) -> frozenset[str]:
        """Which of these a file holds is part of the key of its fold."""
        return self._facts.needles  # type: ignore[attr-defined, no-any-return]

    def _ask(self, method: str, name: str) -> Any:
        answer = getattr(self._facts, method)(name)  # type: ignore[attr-defined]
        self._record(("fact-method", method, name), answer)  # type: ignore[attr-defined]
        return answer


def answer(facts: Facts, question: tuple[Any, ...]) -> Any:
    """What facts say to a question that was written down."""
    kind, first, second = question
    if kind == "fact":
        return getattr(facts, first).get(second)
    if kind == "fact-stated":
        return second in getattr(facts, first)
    if kind == "fact-option":
        return facts.option_absent(first, second) is not None
    return getattr(facts, first)(second)
