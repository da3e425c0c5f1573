"""The identifiers of a text, found in its bytes: a cheap over-approximation of what it may refer to."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from builder.memo import remembered
from builder.source.fields import nodes
from builder.source.parse import parse

#: A line with the line break before it, which is found fast.
_LINE = re.compile(
    rb"\n([ \t]*)(?=[A-Za-z_])"
    rb"(?:(?:async[ \t]+)?(def|class)[ \t]+(\w+)|([A-Za-z_]\w*)\b[ \t]*(?::[ \t]*[^\s=]|=(?=[^=])))"
    rb"|\n(?:if|for|while|with|try)\b"
)
_KEYWORDS = frozenset((b"else", b"try", b"finally", b"except", b"lambda"))
_INDENT = 4
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


@remembered
def defined_names(data: bytes) -> frozenset[str]:
    """Functions, classes, their methods and fields by qualified name, and constants of the module.

    What looks like code in a text counts too, and a field under another statement than a class does not.
    """
    found: set[str] = set()
    # indentation, qualified name, whether its names are qualified by it
    around: list[tuple[int, str, bool]] = []
    for match in _LINE.finditer(b"\n" + data):
        if match[1] is None:  # another statement of the module ends what was above it
            around.clear()
            continue
        depth = len(match[1].expandtabs(_INDENT))
        while around and around[-1][0] >= depth:
            around.pop()
        outer = around[-1] if around else (-_INDENT, "", True)
        if not outer[2]:
            continue
        name = (match[3] or match[4]).decode("utf-8", "replace")
        name = f"{outer[1]}.{name}" if outer[1] else name
        if match[2]:
            around.append((depth, name, match[2] == b"class"))
        elif depth != outer[0] + _INDENT or match[4] in _KEYWORDS:
            continue
        found.add(name)
    return frozenset(found)


@remembered
def class_constants(data: bytes) -> tuple[tuple[int, str, str, object], ...]:
    """(line, class, name, value) of each constant that a class gives a name in its body."""
    return tuple(
        (node.lineno, cls.name, target.id, value.value)
        for cls in nodes(parse(data, "").tree)
        if isinstance(cls, ast.ClassDef)
        for node in cls.body
        if isinstance(value := getattr(node, "value", None), ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
        if isinstance(target, ast.Name)
    )
