"""Identifiers per file, found in bytes: a cheap over-approximation of what a file may refer to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from builder.source.words import file_counts, identifier_counts


class IdentifierIndex:
    """Which of a changing set of files hold an identifier, and how often."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._counts: dict[str, Counter[bytes]] = {}
        self._holders: defaultdict[bytes, set[str]] = defaultdict(set)
        self._seen, self._joined = 0, b""  # all identifiers as one text, and how many they are
        self._small = b""  # the same in small letters
        for path, data in files.items():
            counts = self._counts[path] = file_counts(data)
            for word in counts:
                self._holders[word].add(path)

    def of(self, path: str) -> Counter[bytes]:
        """How often the file holds each identifier."""
        return self._counts[path]

    def remove(self, path: str) -> None:
        """A file leaves; what it held is asked for no more."""
        for word in self._counts.get(path, ()):
            self._holders[word].discard(path)

    def replace(self, path: str, data: bytes) -> dict[bytes, int]:
        """From now on the file has these bytes; by how much the count of each word changed."""
        old, new = self._counts[path], file_counts(data)
        self._counts[path] = new
        changed = {word for word, _ in old.items() ^ new.items()}
        for word in changed:
            if word not in new:
                self._holders[word].discard(path)
            elif word not in old:
                self._holders[word].add(path)
        return {word: new[word] - old[word] for word in changed}

    def take(self, path: str, text: bytes) -> dict[bytes, int]:
        """From now on the file lacks this part of its text; by how much the count of each word changed."""
        old = self._counts[path]
        less = {word: min(count, old[word]) for word, count in identifier_counts(text).items() if old[word]}
        new = self._counts[path] = old.copy()
        for word, count in less.items():
            new[word] -= count
            if not new[word]:
                del new[word]
                self._holders[word].discard(path)
        return {word: -count for word, count in less.items()}

    def containing(self, part: bytes, any_case: bool = False) -> Iterator[bytes]:
        """Every identifier that some file holds and that this is a part of, in these letters or in any."""
        if self._seen != len(self._holders):  # identifiers are only ever added
            self._seen, self._joined = len(self._holders), b"\n".join(self._holders)
            self._small = self._joined.lower()
        joined = self._small if any_case else self._joined
        part = part.lower() if any_case else part
        at = joined.find(part)
        while at >= 0:
            start, end = joined.rfind(b"\n", 0, at) + 1, joined.find(b"\n", at)
            end = end if end >= 0 else len(joined)
            word = self._joined[start:end]
            if part in (word.lower() if any_case else word) and self._holders[word]:
                yield word
            at = joined.find(part, end + 1)

    def holders(self, word: bytes) -> list[str]:
        """The files that hold an identifier, sorted."""
        return sorted(self._holders.get(word, ()))

    def holding(self, wanted: Iterable[bytes]) -> set[str]:
        """The files that hold one of these identifiers."""
        found: set[str] = set()
        for word in wanted:
            found |= self._holders.get(word, frozenset())
        return found

    def exceeds(self, word: bytes, most: int) -> bool:
        """Return whether an identifier occurs more often than that in all files together."""
        holders = self._holders.get(word, ())
        return len(holders) > most or sum(self._counts[path][word] for path in holders) > most


def holding(files: Mapping[str, bytes], needles: Iterable[str]) -> set[str]:
    """The files that hold one of the needles, as plain bytes (a superset of those that use it)."""
    wanted = sorted({n.encode() for n in needles if n})
    if not wanted:
        return set()
    return {path for path, data in files.items() if any(n in data for n in wanted)}
