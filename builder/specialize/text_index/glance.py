"""What the text of a file shows at a glance, before it is worth parsing; found once per content."""

from __future__ import annotations

import re
from functools import cached_property

from builder.specialize.text_index.content_answers import AnswerCache, ContentAnswers

_PLAIN = rb"(?!\s*\(\s*[^,()\n]+,\s*[\"'][^\"'{}%\n]*[\"']\s*[,)])"
_LOOK_UP = re.compile(
    rb"\b(?:getattr|hasattr|getattr_static|__getattribute__)\b"
    + _PLAIN
    + rb"|\b(?:attrgetter|methodcaller|resolve_name)\b"
    rb"|(?<![\w.])(?:eval|exec)\s*\("
    rb"|\b(?:dir|vars|globals|locals|getmembers(?:_static)?|classify_class_attrs)\b|__dict__|__dir__"
)
_MAKES_CLASSES = re.compile(rb"(?<![\w.])type\s*\([^()]*,|\bnew_class\b|\bmake_dataclass\b")
_HEAD = re.compile(rb"\bclass\s+\w+\s*\(([^:]*)\)\s*:")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_MODULE = re.compile(rb"[\"']([A-Za-z_]\w*(?:\.\w+)*)(\.?)[\"':{%]")


class Glance:
    """One file's text."""

    def __init__(self, data: bytes, answers: ContentAnswers) -> None:
        self.data = data
        self._answers = answers

    @cached_property
    def look_ups(self) -> list[int]:
        """The offsets of what may look up an attribute by a name that the text does not show."""
        return self._answers.get(
            ("look-ups",), lambda: [match.start() for match in _LOOK_UP.finditer(self.data)]
        )

    @cached_property
    def makes_classes(self) -> bool:
        """Is there something that makes a class without a class statement?"""
        return self._answers.get(("makes classes",), lambda: _MAKES_CLASSES.search(self.data) is not None)

    @cached_property
    def bases(self) -> frozenset[bytes]:
        """The words in the brackets of class statements."""
        return frozenset(word for head in _HEAD.findall(self.data) for word in _WORD.findall(head))

    @cached_property
    def modules(self) -> tuple[frozenset[str], frozenset[str]]:
        """Dotted names that strings consist of, and those with which a string begins that goes on."""
        whole: set[str] = set()
        begun: set[str] = set()
        for name, dot in _MODULE.findall(self.data):
            (begun if dot else whole).add(name.decode("utf-8", "replace"))
        return frozenset(whole), frozenset(begun)


class Glances:
    """The texts of files that change."""

    def __init__(self, answers: AnswerCache) -> None:
        self._answers = answers
        self._found: dict[str, Glance] = {}

    def of(self, path: str, data: bytes) -> Glance:
        found = self._found.get(path)
        if found is None or found.data is not data:
            found = self._found[path] = Glance(data, self._answers.of(data))
        return found
