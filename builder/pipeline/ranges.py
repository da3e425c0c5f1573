"""Decides which statements may match nothing at one upstream, and which must not match there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from builder.errors import Mark, Problem
from builder.manifest import spans
from builder.manifest.model import DynamicEdge, Kept, KeptDependency, Manifest, Root, TextException
from builder.manifest.statements import (
    Absent,
    AnchoredEdit,
    Edit,
    Fact,
    Models,
    Option,
    Rule,
    Span,
    Statement,
    TomlEdit,
    WholeFile,
    Word,
    WordException,
    changed,
    stated,
)
from builder.select.rules import can_match, holds_path
from builder.upstream.model import Upstream

#: Statements that are compared with the output, or with both sides.
_GATED = (DynamicEdge, TextException, KeptDependency, Kept, WordException)
_ELSEWHERE = "this upstream does not hold the place"
_OTHER = "made for other versions"
_UNPROVEN = "this upstream is no pin"
VERSIONS_HINT = "Remove it, or say by `since` or `until` which versions have it."
#: Statements that a cut compares with upstream, so that it is known whether they matched.
_ASKED = (Rule, Fact, Option, Absent, Word, Root, Edit, TomlEdit, AnchoredEdit)


@dataclass(frozen=True, slots=True)
class About:
    """What is known of an upstream besides its files.

    `version`: None if nobody states it. `pin`: the pin that it is. `kind`: a commit of the repository, or the
    sdist or the wheel of a release, each of which holds only a part of it. `unproven`: it is no pin, so that
    a statement which matches nothing there is no mistake.
    """

    version: str | None = None
    pin: str | None = None
    kind: Literal["git", "sdist", "wheel", "unknown"] = "unknown"
    unproven: bool = False


UNKNOWN = About()


def about(upstream: Upstream, manifest: Manifest, without: Collection[str] = ()) -> About:
    """Return what is known of an upstream: of a pin by whatever name it was asked for, and of a release.

    `without`: batches that are off. With what they give back, it is no pin any more and disproves no range.
    """
    pins = manifest.upstream.pins
    pin = pins.get(upstream.spec) or next(
        (p for p in pins.values() if p.commit and p.commit == upstream.commit), None
    )
    released = upstream.spec.removeprefix("pypi:") if upstream.spec.startswith("pypi:") else None
    if pin is None and released is not None:
        asked = spans.version(released)
        pin = next((p for p in pins.values() if p.release and spans.version(p.release) == asked), None)
    if pin is not None:
        return About(spans.version_of(pin) or upstream.version, None if without else pin.name, upstream.kind)
    return About(released, None, upstream.kind, unproven=True)


def excused(manifest: Manifest, known: About, within: Sequence[str]) -> Manifest:
    """Return the manifest as one upstream has to satisfy it.

    A statement gets a reason why it may match nothing if it is for other versions, if the version is unknown,
    if its place is in none of the folders `within` that a partial upstream holds, and at an upstream that is
    no pin. A statement with `without` is dropped while all of these batches are on.
    """
    no_pin = _UNPROVEN if known.unproven else None
    at = spans.version(known.version)
    on = {batch.id for batch in manifest.batches}

    def asked(one: Any) -> Any:
        if one.span.without and on.issuperset(one.span.without):
            return None
        if within and _elsewhere(one, manifest, known, within):
            return _tolerant(one, _ELSEWHERE)
        if not one.span or (at is not None and spans.within(one.span, at)):
            reason = one.optional or no_pin
            return _tolerant(one, reason) if reason else one
        if at is not None and known.pin is not None:
            one = replace(one, span=Span(one.span.since, one.span.until, f"{known.pin} ({at})"))
        return _tolerant(one, _OTHER)

    return changed(manifest, asked)


def in_force(manifest: Manifest, *known: About) -> Manifest:
    """Return the manifest without the statements that are for other versions than all these upstreams.

    An upstream of unknown version may be of any.
    """
    versions = [at for about in known if (at := spans.version(about.version)) is not None]
    return changed(manifest, lambda one: one if all(spans.within(one.span, at) for at in versions) else None)


def elsewhere(manifest: Manifest, known: About, within: Sequence[str]) -> frozenset[Mark]:
    """Return the marks of statements about what a partial upstream does not hold."""
    if not within:
        return frozenset()
    return frozenset(
        one.mark
        for one in stated(manifest)
        if not isinstance(one, Word) and _elsewhere(one, manifest, known, within)
    )


def unmatched(manifest: Manifest, matched: Collection[Mark]) -> tuple[tuple[str, Mark], ...]:
    """Return the subject and place of each statement that matches nothing at an upstream that is no pin."""
    asked = (one for one in stated(manifest) if isinstance(one, _ASKED) and one.optional == _UNPROVEN)
    missed = {one.mark: one.subject for one in asked if one.mark not in matched}
    return tuple((missed[mark], mark) for mark in sorted(missed))


def matches_nothing(message: str, mark: Mark, hint: str | None = VERSIONS_HINT) -> Problem:
    """R009 for a statement that matches nothing of upstream."""
    return Problem("R009", message, mark, hint=hint, nothing=True)


def _tolerant(one: Any, reason: str) -> Any:
    models = tuple(replace(each, optional=each.optional or reason) for each in one.models)
    return replace(one, optional=one.optional or reason, models=models)


def mistakes(problems: Iterable[Problem], manifest: Manifest) -> list[Problem]:
    """Return the problems without those of statements that may match nothing or match by another name."""
    problems = list(problems)
    missed, excuses = missing(problems, manifest), {s.mark for s in stated(manifest) if s.optional}
    return [p for p in problems if not p.nothing or (p.mark in missed and p.mark not in excuses)]


def missing(problems: Iterable[Problem], manifest: Manifest) -> frozenset[Mark]:
    """Return the marks of statements that matched nothing under any of their names."""
    misses = Counter(p.mark for p in problems if p.nothing and p.mark is not None)
    names = Counter(s.mark for s in stated(manifest) if isinstance(s, (Absent, Edit, Fact, TextException)))
    return frozenset(mark for mark, count in misses.items() if count >= names.get(mark, 1))


def holds(
    asked: Manifest, left: Manifest, problems: Iterable[Problem], rules: Mapping[Rule, int]
) -> frozenset[Mark]:
    """Return the marks of what upstream confirms before edits: rules, facts, absent names, models.

    `left`: the manifest without what models that stay contradict; `rules`: how many paths each matches.
    """
    marks = {s.mark for s in stated(asked) if isinstance(s, Models)}
    marks |= {s.mark for s in stated(left) if isinstance(s, (Fact, Option, Absent, Word, Root))}
    marks |= {rule.mark for rule in (*asked.named_files, *asked.prune_symbols)}
    return frozenset(marks - missing(problems, asked) | {rule.mark for rule, count in rules.items() if count})


def beyond(manifest: Manifest, matched: Collection[Mark]) -> list[Problem]:
    """Return R011 for each statement that matches at a pin outside of its versions."""
    statements = {s.mark: s for s in stated(manifest) if s.span.beyond and s.mark in matched}
    return [spans.beyond(statement) for statement in statements.values()]


def kept_to(problems: Sequence[Problem], manifest: Manifest) -> list[Problem]:
    """Return the problems of the gates without those of what may match nothing, and with those of what
    matches at a pin outside of its versions."""
    marks = {s.mark for s in stated(manifest) if isinstance(s, _GATED)}
    return [*mistakes(problems, manifest), *beyond(manifest, marks - missing(problems, manifest))]


def _elsewhere(one: Statement, manifest: Manifest, known: About, within: Sequence[str]) -> bool:
    """Return whether what a statement is about lies outside of what upstream holds."""
    match one:
        case TomlEdit(key=key) if known.kind == "wheel" and key.startswith("tool."):
            return True  # a wheel's metadata does not state it
        case Word():
            return True  # what it names may be in the part that upstream lacks
        case Rule(pattern=path) | TextException(path=path) | WordException(kind="path", pattern=path):
            return not can_match(path, within)
        case WholeFile(path=path) | TomlEdit(file=path) | AnchoredEdit(file=path):
            return not holds_path(path, within)
        case Kept(name=path) if "/" in path:
            return not holds_path(path, within)
        case Edit(target=name) | DynamicEdge(source=name):
            pass
        case Fact(name=name) | Absent(name=name) | Root(name=name) | Kept(name=name):
            pass
        case _:
            return False
    # a name outside the packages may belong to anybody
    folder = manifest.packages.get(name.partition(".")[0])
    return folder is not None and not holds_path(f"{folder}/", within)
