"""Every meaning of a word, and suggestions for a word that has none."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import get_args

from builder.graph.names import locate, module_of
from builder.pipeline.answers.answer import Answer, Kind
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.names import (
    name_answers,
    named_paths,
    package_answer,
    path_answers,
    word_answer,
)
from builder.pipeline.answers.statements import batch_answer, fact_answers, requirement_answer, scope_answer
from builder.pipeline.answers.surface import names_of, surface_answers, value_answer

_MAX_SUGGESTIONS = 3
#: Among answers of one length, what users choose by name comes first.
_ORDER = get_args(Kind)
#: A word that many names may have, whatever else it stands for.
_SINGLE = re.compile(r"[a-z]+[0-9]*")
_LINE = re.compile(r"(?:(?::\d+){1,2}|#L\d+(?:-L\d+)?)$")
_ADDRESS = re.compile(r"^[a-z]+://")
_CHOICE = re.compile(r"(?P<flag>--[\w-]+)(?:=|\s+)(?P<value>\S+)")


def answers(context: Context, what: str) -> list[Answer]:
    """Return an answer for each thing that a word stands for, the kind with the shortest name first; none for
    an unknown word.

    A word may be a path, a folder, a module, a definition with or without its file, an architecture, a flag,
    an environment variable, a route, a value of a flag, an entry of a registry, a batch, a named scope, a
    fact or a requirement, or a word that names contain. A path may have a line number, as tracebacks print
    it, or be an address on the web.
    """
    what = _ADDRESS.sub("/", _LINE.sub("", what.strip()))
    readings = {(a.kind, a.name, a.headline): a for a in _readings(context, what)}
    if (not readings or _SINGLE.fullmatch(what)) and (word := word_answer(context, what)):
        readings[word.kind, what, word.headline] = word
    if len(readings) > 1:  # that a value never occurs is what the readings of its name say
        readings = {key: a for key, a in readings.items() if a.kind != "fact" or a.name != what}
    lengths: dict[Kind, int] = {}
    for one in readings.values():
        subject = one.headline.partition(" is ")[0]
        lengths[one.kind] = min(len(subject), lengths.get(one.kind, sys.maxsize))
    # each kind keeps its own order: what is in the output comes first; names that have the word, and facts
    # about it, come last, because they say less than what became of it
    last = ("word", "fact")
    return sorted(readings.values(), key=lambda a: (a.kind in last, lengths[a.kind], _ORDER.index(a.kind)))


def _readings(context: Context, what: str) -> Iterator[Answer]:
    yield from path_answers(context, what)
    yield from name_answers(context, what)
    yield from surface_answers(context, what)
    if match := _CHOICE.fullmatch(what):
        yield from filter(None, [value_answer(context, match["value"], match["flag"])])
    single = (value_answer, batch_answer, scope_answer, requirement_answer, package_answer)
    yield from filter(None, (reading(context, what) for reading in single))
    yield from fact_answers(context, what)


def suggestions(context: Context, what: str) -> list[str]:
    """Return at most three known names that are close to an unknown one."""
    cut, manifest = context.cut, context.manifest
    path, _, name = what.rpartition(":")
    if name and (files := named_paths(context, path)):
        return [f"{files[0]}:{one}" for one in _close(name, _names_in(context, files[0]))]
    whole = locate(what, manifest.packages, context.paths) if all(what.split(".")) else None
    if whole and whole[2] and (close := _close(whole[2], _names_in(context, whole[0]))):
        return [f"{whole[0]}:{one}" for one in close]
    if close := _members(context, what):
        return close
    surfaces = {*cut.surfaces.before, *cut.surfaces.after}
    if what.startswith("-"):
        items = (*cut.surfaces.before.values(), *cut.surfaces.after.values())
        flags = sorted({name for item in items if item.key.kind == "flag" for name in names_of(item)})
        return [f for f in flags if f.startswith(what)][:_MAX_SUGGESTIONS] or _close(what, flags)
    routes = (key.name.partition(" ")[2] for key in surfaces if key.kind == "route")
    if "/" in what:
        return _close(what, [*routes, *context.paths])
    modules = [m for p in cut.upstream.tree if (m := module_of(p, manifest.packages))]
    short = (key.name for key in surfaces)
    definitions = (name for summary in cut.before.summaries.values() for name in summary.names)
    return _close(what, [*short, *context.batches, *definitions, *modules])


def _names_in(context: Context, path: str) -> Iterable[str]:
    summary = context.cut.before.summaries.get(path) or context.after.summaries.get(path)
    return {*summary.names, *summary.members} if summary else ()


def _close(word: str, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(word, sorted(set(known)), _MAX_SUGGESTIONS)


def _members(context: Context, what: str) -> list[str]:
    """The closest members of a class that is named without its module."""
    owner, _, last = what.rpartition(".")
    summaries = context.cut.before.summaries.values()
    known = {
        f"{owner}.{member}"
        for summary in summaries
        if owner and owner in summary.bases
        for member in (
            *(name[len(owner) + 1 :] for name in summary.members if name.startswith(f"{owner}.")),
            *summary.attributes.get(owner, ()),
        )
    }
    return _close(f"{owner}.{last}", known)
