"""Every meaning of a word, and suggestions for a word that has none; answers about what the manifest states:
batches, scopes, facts, and the requirements of the projects."""

from __future__ import annotations

import difflib
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import get_args

from builder.analysis.projects import modules_of, requirement_name
from builder.emit.ledger import verdict
from builder.graph.names import locate, module_of
from builder.manifest.statements import BASE, Fact, Reason
from builder.pipeline.answers.answer import Answer, Kind, listed, plural
from builder.pipeline.answers.context import Context, restore_statement, without
from builder.pipeline.answers.names import (
    name_answers,
    named_paths,
    package_answer,
    path_answers,
    word_answer,
)
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


_KINDS = ("predicate", "value", "environment", "attribute")
_REQUIREMENT = re.compile(r"[\w.-]+(?:\[[\w,. -]+\])?\s*(?:[<>=!~][<>=!~\w.,* +-]*)?")


def batch_answer(context: Context, what: str) -> Answer | None:
    """What a batch does; None where no batch has this id."""
    batch = context.batches.get(what)
    if batch is None or what == BASE:
        return None
    states: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for path, reasons in context.reasons.items():
        state = context.state(path)
        if state != "kept" and any(reason.batch == what for reason in reasons):
            states[state] += 1
            if state == "removed":
                removed["/".join(path.split("/")[:-1][:4]) + "/"] += 1
    verbs = {"removed": "removes", "edited": "edits", "added": "adds"}
    done = [f"{verbs[s]} {plural(states[s], 'file')}" for s in verbs if states[s]]
    folders = [f"{folder} ({plural(number, 'file')})" for folder, number in removed.most_common()]
    headline = f"{what} is a batch that {' and '.join(done) or 'changes no file of this upstream'}"
    here = (Reason(what, "stated here", batch.mark),)
    details = (f"removes {listed(folders, 5)}",) if folders else ()
    back = f"to switch it off: {without(context, [what])}"
    return Answer("batch", what, "stated", headline, here, why=batch.why, details=details, back=back)


def scope_answer(context: Context, what: str) -> Answer | None:
    """What a named scope is; None where no scope has this name."""
    scope = context.manifest.scopes.get(what)
    if scope is None:
        return None
    parts = [f"without {listed(scope.without)}"] if scope.without else []
    if scope.only_here:
        parts.append(f"with the decision {listed(scope.only_here)}")
    parts += [f"with the models {listed(scope.models)}"] if scope.models else []
    parts += [f"whose kernel wheel is for {listed(scope.architectures)}"] if scope.architectures else []
    headline = f"{what} is a scope {', '.join(parts) or 'that changes nothing'}"
    here = (Reason(BASE, "stated here", scope.mark),)
    details = (f"proven at {listed(scope.pins)}",) if scope.pins else ()
    back = f"to build it: `dist --scope {what}`"
    return Answer("scope", what, "stated", headline, here, why=scope.why, details=details, back=back)


def fact_answers(context: Context, what: str) -> Iterator[Answer]:
    """What the manifest states of a name: what it returns, what it is, which value never occurs."""
    # only the manifest of the cut has the statements that words of a batch become
    facts = [
        fact
        for batch in context.cut.manifest.batches
        for fact in batch.facts
        if fact.kind in _KINDS and what in (fact.name, fact.name.rpartition(".")[2])
    ]
    if facts:
        first = facts[0]
        more = f", and {plural(len(facts) - 1, 'name')} like it" if len(facts) > 1 else ""
        headline = f"{_fact(first)} on the target{more}"
        reasons = tuple(Reason(fact.batch, f"states {fact.name}", fact.mark) for fact in facts)
        why, back = context.batch_why(first.batch), restore_statement(context, [first.batch])
        yield Answer("fact", first.name, "stated", headline, reasons, why=why, back=back)
    options = [o for o in context.cut.facts.options if what in o.values]
    if options:
        names = listed(dict.fromkeys(name for o in options for name in o.names), 5)
        headline = f"`{what}` never occurs as a value of {names}"
        never = (Reason(o.batch, f"never a value of {listed(o.names, 5)}", o.mark) for o in options)
        why, back = (
            context.batch_why(options[0].batch),
            restore_statement(context, (o.batch for o in options)),
        )
        reasons = tuple(dict.fromkeys(never))
        yield Answer("fact", what, "stated", headline, reasons, why=why, back=back)


def _fact(fact: Fact) -> str:
    if fact.kind == "attribute":
        return f"there is no {fact.name}"
    value = repr(fact.value) if fact.exact else ("true" if fact.value else "false")
    if fact.kind == "environment" and fact.value is None:
        return f"environment variable {fact.name} is not set"
    return f"{fact.name}{'()' if fact.kind == 'predicate' else ''} is {value}"


def requirement_answer(context: Context, what: str) -> Answer | None:
    """What became of a requirement of a pyproject.toml, with or without its versions; None where neither side
    has it."""
    if not _REQUIREMENT.fullmatch(what):
        return None
    name = requirement_name(what)
    sides = [(key[0], texts) for key, texts in context.requirements.items() if key[2] == name]
    before, after = (sorted((file, text) for file, texts in sides for text in texts[side]) for side in (0, 1))
    if not (before or after):
        return None
    reasons = requirement_reasons(context, name, {path for path, _ in [*before, *after]})
    state = verdict(before, after)
    edits = reasons if state != "kept" else ()
    stays = [
        Reason(BASE, f"stays: {one.why}", one.mark)
        for one in context.manifest.guarantees.dependencies
        if after and requirement_name(one.name) == name
    ]
    texts = listed(dict.fromkeys(text for _, text in after or before), 3)
    states = {"kept": "is kept", "edited": "is kept and edited", "added": "is added", "removed": "is removed"}
    modules = {*modules_of(name)} - context.manifest.packages.keys()
    users = context.importing(context.after, lambda item: item.target.partition(".")[0] in modules)
    details = [listed(dict.fromkeys(path for path, _ in [*before, *after]))]
    if after and users:
        details.append(f"{plural(len(users), 'file')} of the output import it: {listed(users, 3)}")
    why = context.batch_why(edits[0].batch) if edits else None
    back = restore_statement(context, (r.batch for r in reasons)) if state == "removed" else None
    return Answer(
        "requirement", name, state, f"requirement {texts} {states[state]}", (*edits, *stays), why=why,
        details=tuple(details), back=back,
    )  # fmt: skip


def requirement_reasons(context: Context, name: str, files: Collection[str]) -> tuple[Reason, ...]:
    """The edits of the manifest about a requirement in these files, else the rule of a file that imported it;
    `name`: normalised."""
    stated = tuple(
        Reason(batch.id, f"{edit.op} {edit.key}", edit.mark)
        for batch in context.manifest.batches
        for edit in batch.toml
        if requirement_name(str(edit.value)) == name and edit.file in files
    )
    if stated:
        return stated
    rule = context.rule_of_importer(modules_of(name))
    return (Reason(rule.batch, "nothing imports it any more", rule.mark),) if rule is not None else ()
