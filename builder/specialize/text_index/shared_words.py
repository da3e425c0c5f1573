"""One object for each word: most words are in many files, and every index holds the words of each file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_WORDS: dict[bytes, bytes] = {}


def shared_words(words: Iterable[bytes]) -> frozenset[bytes]:
    """The words, each as the object that everybody has for it."""
    unique = set(words)
    return frozenset(map(_WORDS.setdefault, unique, unique))


def shared_counts(words: Iterable[bytes]) -> Counter[bytes]:
    """How often each of the words occurs, each as the object that everybody has for it."""
    return Counter({_WORDS.setdefault(word, word): count for word, count in Counter(words).items()})
