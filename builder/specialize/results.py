"""What specializing gives: for one file in one round, and for all of them at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

from builder.source.ops import Op
from builder.specialize.evaluating.facts import KnownValue
from builder.specialize.fold_cache import Answer, Question
from builder.specialize.leftovers import Leftover
from builder.specialize.world import Asked

#: Why a name left that an edit of the manifest removed; which edit it was is not recorded.
BY_EDIT = "an edit of the manifest"
#: Why a name left that folding removed; `pipeline/unresolved_uses.py` says on what it stood.
FOLDED = "it is absent, or only absent things used it"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An edited file whose text is not what the same edits on its syntax tree give."""

    path: str
    sentence: str


@dataclass(slots=True)
class Folded:
    """What folding one file gave: what was found out, the new text, the names that left with it."""

    path: str
    ops: list[Op] = field(default_factory=list)  # until they are carried out
    local: dict[tuple[str, str], str] = field(default_factory=dict)  # (scope, name) -> gone
    constants: dict[str, KnownValue] = field(default_factory=dict)
    functions: dict[str, KnownValue] = field(default_factory=dict)
    uncertain: list[tuple[int, str]] = field(default_factory=list)  # line, sentence
    broken: list[tuple[int, int, str, str]] = field(default_factory=list)  # line, column, name, what is gone
    hindrances: frozenset[Asked] = frozenset()  # questions whose answer stood in the way
    decided: int = 0
    data: bytes | None = None  # None: as it was
    lost: frozenset[str] = frozenset()
    mismatches: tuple[Mismatch, ...] = ()
    answers: tuple[tuple[Question, Answer], ...] = ()  # what the world was asked, if that is kept


@dataclass(slots=True)
class Specialized:
    """The result: every changed file, what left and why, and what is open."""

    files: dict[str, bytes]
    formatted: set[str] = field(default_factory=set)  # paths of which only the layout changed
    lost: dict[str, str] = field(default_factory=dict)  # qualified name -> why
    emptied: list[str] = field(default_factory=list)  # paths in which nothing is left
    leftovers: list[Leftover] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    uncertain: list[tuple[str, int, str]] = field(default_factory=list)
    rounds: int = 0
    decided: int = 0

    def then(self, later: Specialized) -> Specialized:
        """Both runs as one, where `later` took the output of this one.

        How many rounds and decisions `later` needed depends on whether it went on from this one; they do
        not count.
        """
        formatted = {
            path
            for path in self.formatted | later.formatted
            if all(path not in run.files or path in run.formatted for run in (self, later))
        }
        return Specialized(
            {**self.files, **later.files},
            formatted,
            {**later.lost, **self.lost},
            [*self.emptied, *later.emptied],
            [*self.leftovers, *later.leftovers],
            [*self.mismatches, *later.mismatches],
            later.uncertain,
            self.rounds,
            self.decided,
        )
