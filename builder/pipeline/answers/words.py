"""The answer about a word that names contain: which of them are in the output, and which have left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from builder.analysis.indexed_tree import IndexedTree
from builder.pipeline.answers.answer import Answer, State, listed, plural
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.surface import KINDS
from builder.select.families import words_of
from builder.source.words import file_counts

_LISTED = 5


def word_answer(context: Context, what: str) -> Answer | None:
    """Return the names that contain a word, by what they are; None where no name has it.

    Parameters, attributes and locals are named only where they are still there: nothing else tells them.
    """
    wanted = words_of(what)
    if not wanted or what.startswith("-") or not what.replace("-", "_").isidentifier():
        return None
    sides: dict[State, dict[str, set[str]]] = {"kept": defaultdict(set), "removed": defaultdict(set)}
    surfaces = context.cut.surfaces
    for key in {*surfaces.before, *surfaces.after}:
        if _has(key.name, wanted):
            sides["kept" if key in surfaces.after else "removed"][KINDS[key.kind]].add(key.name)
    after = set(_definitions(context.after, wanted))
    sides["kept"]["definition"] |= after
    sides["removed"]["definition"] |= set(_definitions(context.cut.before, wanted)) - after
    sides["kept"]["other name"] |= _others(context, wanted, {name.rpartition(".")[2] for name in after})
    counts = {state: sum(map(len, sorts.values())) for state, sorts in sides.items()}
    if not any(counts.values()):
        return None
    details = [
        f"{state:<8} {plural(len(names), sort)}: {listed(sorted(names, key=lambda n: (len(n), n)), _LISTED)}"
        for state, sorts in sides.items()
        for sort, names in sorts.items()
        if names
    ]
    state: State = "mixed" if all(counts.values()) else "kept" if counts["kept"] else "removed"
    stay = plural(counts["kept"], "name") if counts["kept"] else "no name"
    headline = f"the word `{what}` is in {stay} of the output"
    headline += f"; {plural(counts['removed'], 'name')} with it left" if counts["removed"] else ""
    return Answer("word", what, state, headline, details=tuple(details))


def _has(name: str, wanted: tuple[str, ...]) -> bool:
    """Return whether the words stand in a name, one after the other."""
    words = words_of(name)
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))


def _definitions(tree: IndexedTree, wanted: tuple[str, ...]) -> Iterator[str]:
    """Yield the qualified names of functions, classes and constants whose own name has the words."""
    for summary in tree.summaries.values():
        for name in summary.definitions if summary.module else ():
            if _has(name.rpartition(".")[2], wanted):
                yield f"{summary.module}.{name}"


def _others(context: Context, wanted: tuple[str, ...], defined: set[str]) -> set[str]:
    """Return further identifiers of the output's Python with the words, texts included, each with a file."""
    places: dict[bytes, str] = {}
    for path, summary in sorted(context.after.summaries.items()):
        if summary.module:
            for name in file_counts(context.cut.output[path]):
                places.setdefault(name, path)
    texts = ((name.decode(), path) for name, path in places.items())
    return {f"{text} ({path})" for text, path in texts if _has(text, wanted) and text not in defined}
