"""A cursor over a document that never fails: a missing value or one of the wrong type reads as empty.

The schema has reported the problem by then; reading on lets every other check run in the same pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from builder.errors import Mark
from builder.manifest.nodes import Document, Path
from builder.manifest.statements import Span


@dataclass(frozen=True, slots=True)
class View:
    """One value of a document, and the same of others, whose items and entries follow its own."""

    document: Document
    path: Path
    data: Any
    others: tuple[View, ...] = ()

    @property
    def mark(self) -> Mark:
        return self.document.mark(self.path)

    def key_mark(self, key: str) -> Mark:
        """Where the key of an entry of this mapping stands."""
        return self.document.keys.get((*self.path, key), self.mark)

    def has(self, key: str) -> bool:
        return isinstance(self.data, dict) and key in self.data

    def at(self, key: str) -> View:
        """The value of `key`; a view of nothing when there is none."""
        value = self.data[key] if self.has(key) else None
        return View(self.document, (*self.path, key), value, tuple(o.at(key) for o in self.others))

    def alone(self) -> View:
        """This value without what other documents add to it."""
        return replace(self, others=())

    def with_others(self, others: Iterable[View]) -> View:
        """This value, and what these add to it."""
        return replace(self, others=(*self.others, *others))

    def items(self, key: str) -> Iterator[View]:
        """The items of the list under `key`."""
        return self.at(key).each()

    def each(self) -> Iterator[View]:
        """The items of this list."""
        for part in (self, *self.others):
            if isinstance(part.data, list):
                for index, item in enumerate(part.data):
                    yield View(part.document, (*part.path, index), item)

    def entries(self, key: str) -> Iterator[tuple[str, View]]:
        """The entries of the mapping under `key`, in the order of the file."""
        return self.at(key).pairs()

    def pairs(self) -> Iterator[tuple[str, View]]:
        """The entries of this mapping."""
        for part in (self, *self.others):
            if isinstance(part.data, dict):
                for name in part.data:
                    yield name, part.alone().at(name)

    def text(self, key: str) -> str:
        """The text under `key`; empty when there is none."""
        return self.optional_text(key) or ""

    def optional_text(self, key: str) -> str | None:
        value = self.at(key).data
        return value if isinstance(value, str) else None

    @property
    def plain(self) -> bool:
        """Whether this value is unquoted text."""
        return self.path in self.document.plain

    @property
    def word(self) -> str:
        """This value if it is text, else nothing."""
        return self.data if isinstance(self.data, str) else ""

    def several(self) -> Iterator[View]:
        """The items of this list, or this value itself where it is none."""
        if isinstance(self.data, list):
            yield from self.alone().each()
        else:
            yield self

    @property
    def words(self) -> tuple[str, ...]:
        """The texts of this list, or the one that this value is; never none at all."""
        return tuple(one.word for one in self.several()) or ("",)

    def span(self) -> Span:
        """The versions and batches that this mapping is stated for."""
        without = tuple(one.word for one in self.at("without").several() if one.word)
        return Span(self.optional_text("since"), self.optional_text("until"), without=without)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(item.data for item in self.items(key) if isinstance(item.data, str))

    def count(self) -> int:
        value = self.at("count").data
        if value == "all":
            return 0
        return value if type(value) is int and value > 0 else 1

    def one(self, key: str) -> View:
        """The text that this value is, or the value of its `key`."""
        return self.at(key) if isinstance(self.data, dict) else self
