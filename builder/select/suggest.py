"""Suggestions: the nearest path for a pattern that matches nothing, and a rule for an undecided path."""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.errors import Mark, Problem
from builder.manifest.documents import is_part
from builder.manifest.statements import Rule


class Paths:
    """The paths of a tree, their folders and their names."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._files = frozenset(paths)
        self._children: dict[str, set[str]] = {}
        self._named: dict[str, list[str]] = {}
        for path in sorted(self._files):
            folder, _, name = path.rpartition("/")
            self._named.setdefault(name, []).append(path)
            while name not in self._children.setdefault(folder, set()):
                self._children[folder].add(name)
                if not folder:
                    break
                folder, _, name = folder.rpartition("/")

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def is_folder(self, path: str) -> bool:
        return path in self._children

    def within(self, folder: str) -> list[str]:
        """Return the files below a folder, relative to it."""
        start = folder.rstrip("/") + "/"
        return [path.removeprefix(start) for path in self._files if path.startswith(start)]

    def nearest(self, pattern: str) -> str | None:
        """Return a hint with the path that a pattern without matches was probably meant for."""
        wanted = pattern.strip("/")
        if not wanted.isascii() and self._other_form(wanted):
            return "the tree has this path in another Unicode form (composed or decomposed)"
        close = self._descend(wanted, 0.75) or self._moved(wanted) or self._descend(wanted, 0.6)
        if close is None:
            return None
        return f"did you mean `{close}/`?" if self.is_folder(close) else f"did you mean `{close}`?"

    def _other_form(self, wanted: str) -> bool:
        composed = unicodedata.normalize("NFC", wanted)
        forms = (path for path in self._files if not path.isascii())
        return any(unicodedata.normalize("NFC", path).startswith(composed) for path in forms)

    def _moved(self, wanted: str) -> str | None:
        """Return a file of the same name elsewhere, the one whose folders are most similar."""
        name = wanted.rpartition("/")[2]
        candidates = self._named.get(name, []) if name != "__init__.py" else []
        folders = set(wanted.split("/"))
        return max(candidates, key=lambda path: len(folders & set(path.split("/"))), default=None)

    def _descend(self, wanted: str, cutoff: float) -> str | None:
        """Follow the names of a path, each to the most similar child."""
        folder = ""
        changed = False
        for name in wanted.split("/"):
            children = self._children.get(folder, set())
            if name not in children:
                if any(c in name for c in "*?["):
                    break
                close = difflib.get_close_matches(name, sorted(children), n=1, cutoff=cutoff)
                if not close:
                    return None
                name, changed = close[0], True
            folder = f"{folder}/{name}" if folder else name
        return folder if changed else None


@dataclass(frozen=True, slots=True)
class Unclassified:
    """Paths that no rule decides: all of `folder` if that ends with a slash, else some of it.

    `proposal` is the rule that decides most of their neighbours; `evidence` says so in a sentence.
    """

    folder: str
    paths: tuple[str, ...]
    proposal: Rule | None
    evidence: str

    def problem(self) -> Problem:
        """Return R003, at the first of the paths."""
        where = f"`{self.folder}`" if self.folder else "the root"
        if len(self.paths) == 1:
            message = f"No rule decides `{self.paths[0]}`."
        else:
            message = f"No rule decides {len(self.paths)} paths in {where}: {few(self.paths)}."
        return Problem("R003", message, upstream=Mark(self.paths[0]), hint=self.evidence)


def unclassified(open_paths: Sequence[str], decided: Mapping[str, Rule]) -> list[Unclassified]:
    """Group the undecided paths by the topmost folder that holds nothing decided."""
    if not open_paths:
        return []
    beside: dict[str, Counter[Rule]] = {}
    below: dict[str, Counter[Rule]] = {}
    for path, rule in decided.items():
        folders = _folders(path)
        beside.setdefault(folders[0], Counter())[rule] += 1
        for folder in folders:
            below.setdefault(folder, Counter())[rule] += 1
    groups: dict[str, list[str]] = {}
    for path in open_paths:
        empty = [folder for folder in _folders(path) if folder and folder not in below]
        groups.setdefault(f"{empty[-1]}/" if empty else path.rpartition("/")[0], []).append(path)
    return [_proposal(folder, paths, beside, below) for folder, paths in sorted(groups.items())]


def few(paths: Sequence[str]) -> str:
    """Return the first three paths and the count of the rest, for a message."""
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(f"`{path}`" for path in paths[:3]) + more


def _proposal(
    folder: str,
    paths: Sequence[str],
    beside: Mapping[str, Counter[Rule]],
    below: Mapping[str, Counter[Rule]],
) -> Unclassified:
    near = folder.rstrip("/").rpartition("/")[0] if folder.endswith("/") else folder
    # at the root, what is deep inside other folders says nothing
    counts = beside.get(near) or (below.get(near) if near else None)
    if not counts:
        hint = "no path beside it is decided either: add it to `keep`, or to the `remove` of a batch"
        return Unclassified(folder, tuple(paths), None, hint)
    rule, count = min(counts.items(), key=lambda item: (-item[1], item[0].mark, item[0].pattern))
    if folder.endswith("/"):
        proposed = f"`{rule.verdict}: {rooted(folder)}`"
    elif len(paths) == 1:
        proposed = f"`{rule.verdict}: {rooted(paths[0])}`"
    else:
        proposed = f"`{rule.verdict}` for each"
    evidence = (
        f"{count} of {sum(counts.values())} decided paths in {f'`{near}/`' if near else 'the root'} fall to "
        f"`{rule.verdict}: {rule.pattern}` (batch {rule.batch}, {_where(rule)}): "
        f"propose {proposed} there"
    )
    return Unclassified(folder, tuple(paths), rule, evidence)


def _where(rule: Rule) -> str:
    """Return the place of a rule; the file is named if it is a part of the manifest."""
    return str(rule.mark) if is_part(rule.mark.file) else f"line {rule.mark.line}"


def rooted(pattern: str) -> str:
    """The pattern of one path or folder, which matches nothing else."""
    return pattern if "/" in pattern.rstrip("/") else f"/{pattern}"


def _folders(path: str) -> list[str]:
    """Return the folders of a path, innermost first, the root last."""
    names = path.split("/")[:-1]
    return ["/".join(names[:length]) for length in range(len(names), -1, -1)]
