"""The identifiers of a text, found in its bytes: a cheap over-approximation of what it may refer to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
#: One object for each word: most words are in many files, and every index holds the words of each file.
_WORDS: dict[bytes, bytes] = {}


def shared_words(words: Iterable[bytes]) -> frozenset[bytes]:
    """The words, each as the object that everybody has for it."""
    unique = set(words)
    return frozenset(map(_WORDS.setdefault, unique, unique))


def shared_counts(words: Iterable[bytes]) -> Counter[bytes]:
    """How often each of the words occurs, each as the object that everybody has for it."""
    return Counter({_WORDS.setdefault(word, word): count for word, count in Counter(words).items()})


def identifier_counts(data: bytes) -> Counter[bytes]:
    """How often each identifier occurs, comments and strings included."""
    return shared_counts(_WORD.findall(data))


@lru_cache(maxsize=8192)  # the Python of an upstream and its edited texts
def file_counts(data: bytes) -> Counter[bytes]:
    """How often each identifier occurs in the text of a file, which is counted once. Nobody may change it."""
    return identifier_counts(data)
