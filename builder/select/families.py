"""Families of names: the words of a platform or feature cover every name that contains them.

A name is split into words: `NPUCommunicator`, `npu_communicator` and
`npu-communicator` are `npu` and `communicator`; `ascending` is one word and not `ascend`. A word of a
family may itself be made of several, `flash_mla`, that follow one another. A word that ends in a digit also
stands before more digits: `gfx9` is in `gfx942` and in `gfx950`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache

from builder.manifest.model import Manifest
from builder.manifest.statements import Batch, Rule, Word
from builder.select.patterns import PatternSet

#: A capital before a lower-case letter or a digit starts a word: `NPUCommunicator`, `NPUW8A8`.
_PIECES = re.compile(r"[A-Z]+(?=[A-Z][a-z0-9])|[A-Z]?[a-z0-9]+|[A-Z]+|[0-9]+")
_DIGITS = "0123456789"
_SPECIAL = re.compile(r"([\\*?\[\]! #])")


@lru_cache(maxsize=500_000)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case."""
    return tuple(word.lower() for word in _PIECES.findall(name))


def _are(pieces: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Return whether these are the words; more digits may follow a last word that ends in a digit."""
    if pieces == parts:
        return True
    more = pieces[-1].removeprefix(parts[-1]) if pieces[:-1] == parts[:-1] else ""
    return parts[-1][-1] in _DIGITS and pieces[-1].startswith(parts[-1]) and more.isdecimal()


@dataclass(frozen=True, slots=True)
class Member:
    """A word of a batch's family."""

    batch: str
    word: Word


class Families:
    """The words of all batches, to match names and paths."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._first: dict[str, list[tuple[tuple[str, ...], Member]]] = {}
        self._capitals: list[tuple[re.Pattern[str], Member]] = []
        self._paths: dict[str, PatternSet] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        needles: set[str] = set()
        for batch in batches:
            self._paths[batch.id] = PatternSet(
                [s.pattern for s in batch.exceptions if s.kind == "path" and not s.text]
            )
            self._names[batch.id] = tuple(s.pattern for s in batch.exceptions if s.kind == "name")
            for word in batch.words:
                member, parts = Member(batch.id, word), tuple(word.text.split("_"))
                self._first.setdefault(parts[0].rstrip(_DIGITS), []).append((parts, member))
                needles.add(max(parts, key=len))
                # FA3Backend: a capital follows the capitals of the word; IS_GFX950: a capital before a digit
                # would start another word
                capitals = rf"(?<![A-Za-z0-9]){word.text.upper()}(?=[A-Z][a-z0-9])"
                if parts[-1][-1] in _DIGITS:
                    capitals = rf"(?<![A-Za-z0-9]){word.text.upper()}[0-9]*(?=[A-Z][a-z0-9]|[^A-Za-z0-9]|$)"
                self._capitals.append((re.compile(capitals), member))
        self.needles = tuple(sorted(needles))

    def __bool__(self) -> bool:
        return bool(self._first)

    def member(self, name: str) -> Member | None:
        """Return the word of any batch that a name contains; None for an excepted name."""
        lowered = name.lower()
        if not any(needle in lowered for needle in self.needles):
            return None
        pieces = words_of(name)
        for at, piece in enumerate(pieces):
            for parts, member in self._first.get(piece.rstrip(_DIGITS), ()):
                if _are(pieces[at : at + len(parts)], parts) and not self._excepts_name(member, name):
                    return member
        for pattern, member in self._capitals:
            if pattern.search(name) and not self._excepts_name(member, name):
                return member
        return None

    def _excepts_name(self, member: Member, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._names[member.batch])

    def excepts(self, batch: str, path: str) -> bool:
        """Return whether a path is excepted from a batch's family."""
        return self._paths[batch].any(path)

    def of_path(self, path: str) -> tuple[str, Member] | None:
        """Return the folder (`a/b/`) or file that has a family's word in its name, and the word."""
        lowered = path.lower()
        if not any(needle in lowered for needle in self.needles):
            return None
        parts = path.split("/")
        for number, part in enumerate(parts, 1):
            stem = part if number < len(parts) else part.removeprefix(".").rpartition(".")[0] or part
            member = self.member(stem)
            if member is not None and not self.excepts(member.batch, path):
                return "/".join(parts[:number]) + ("/" if number < len(parts) else ""), member
        return None


def with_paths(manifest: Manifest, paths: Iterable[str]) -> Manifest:
    """Return the manifest with a rule for each file and folder whose name has a word of a family.

    They precede the batch's own rules, so that its `keep` overrides them. Those of batches that are off are
    given back.
    """
    paths = list(paths)
    rules = _rules(manifest.batches, paths)
    back = _rules(manifest.words_given_back, paths)
    if not rules and not back:
        return manifest
    batches = (
        replace(batch, rules=(*(rule for _, rule in sorted(rules.get(batch.id, {}).items())), *batch.rules))
        for batch in manifest.batches
    )
    given_back = (rule for some in back.values() for rule in some.values())
    return replace(manifest, batches=tuple(batches), given_back=(*manifest.given_back, *given_back))


def _rules(batches: tuple[Batch, ...], paths: Iterable[str]) -> dict[str, dict[str, Rule]]:
    """Return batch -> place -> the rule that removes the place for a word of the batch in its name."""
    families = Families(batches)
    rules: dict[str, dict[str, Rule]] = {}
    named = {path: families.of_path(path) for path in paths} if families else {}

    @cache
    def excepts_within(batch: str, place: str) -> bool:
        return any(other.startswith(place) and families.excepts(batch, other) for other in named)

    for path, found in named.items():
        if found is not None:
            place, member = found
            while place != path and excepts_within(member.batch, place):
                # a rule for the whole folder would remove what is excepted
                place = path[: path.find("/", len(place)) + 1] or path
            word, why = member.word, f"the word `{member.word.text}` of the batch is in its name"
            rule = Rule(literal(place), "remove", member.batch, word=word.text, mark=word.mark, optional=why)
            rules.setdefault(member.batch, {}).setdefault(place, rule)
    return rules


def literal(place: str) -> str:
    """Return the pattern that matches this file or folder alone."""
    return "/" + _SPECIAL.sub(r"\\\1", place)
