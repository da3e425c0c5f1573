"""What is found out about the content of one file alone: no other file, and no fact, can change it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")

#: The name of a function, and what it was given beside the content.
Question = tuple[Any, ...]
#: digest of a content -> the answers about it
Kept = MutableMapping[str, dict[Question, Any]]


class ContentAnswers:
    """The answers about one content."""

    def __init__(self, digest: str, known: dict[Question, Any]) -> None:
        self.digest = digest
        self.known = known

    def get(self, question: Question, find: Callable[[], T]) -> T:
        """The answer to a question, which `find` gives if it was not asked before.

        It must be picklable, and hold nothing of a syntax tree.
        """
        if question not in self.known:
            self.known[question] = find()
        found: T = self.known[question]
        return found


def answers_of(data: bytes) -> ContentAnswers:
    """Answers about a content that nobody else asks about."""
    return ContentAnswers(hashlib.sha256(data).hexdigest(), {})


class AnswerCache:
    """The answers about every content that a run has met."""

    def __init__(self, kept: Kept | None = None) -> None:
        """`kept`: answers of earlier runs, to which `save` adds those of this one."""
        self._kept = kept
        self._of: dict[bytes, ContentAnswers] = {}
        self._sizes: dict[str, int] = {}

    def of(self, data: bytes) -> ContentAnswers:
        """The answers about a content."""
        found = self._of.get(data)
        if found is None:
            found = self._of[data] = answers_of(data)
            if self._kept is not None:
                found.known.update(self._kept.get(found.digest, {}))
                self._sizes[found.digest] = len(found.known)
        return found

    def save(self) -> None:
        """Keep what was found out since the answers were read."""
        for found in self._of.values() if self._kept is not None else ():
            if self._kept is not None and len(found.known) > self._sizes[found.digest]:
                self._kept[found.digest] = dict(found.known)
                self._sizes[found.digest] = len(found.known)
