"""Version ranges of statements, and the checks on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from builder.errors import Problem
from builder.manifest.model import Manifest, Pin
from builder.manifest.statements import Span, Statement, stated

if TYPE_CHECKING:
    from packaging.version import Version

#: A reason that says when something was added or removed, which belongs in `since` and `until`.
_HISTORY = re.compile(
    r"\d+\.\d+\.\d+"
    r"|\bthe (?:seed|pin|release)\b|\bpins\b|\bsdists?\b|\bupstreams\b"
    r"|\b(?:the|its) (?:old|new|other |earlier |later )?name\b"
    r"|\bevery upstream\b|\bcame and went\b"
    r"|\b(?:old|new|earli|lat)er (?:ones|upstreams?|releases|versions|commits)\b"
    r"|\b(?:came|moved|left|gone|until|since|renamed) (?:after|before|later|with|at|in|here|since|by)\b",
    re.IGNORECASE,
)


@cache
def version(text: str | None) -> Version | None:
    """Return a version for comparison; None for None and for text that is not a version."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None


def within(span: Span, at: Version) -> bool:
    """Whether a version lies in a span."""
    since, until = version(span.since), version(span.until)
    return (since is None or since <= at) and (until is None or at <= until)


def version_of(pin: Pin) -> str | None:
    """Return the version of a pin if the manifest states it."""
    return pin.version or pin.release


def beyond(statement: Statement) -> Problem:
    """Return R011 for a statement that matches at a pin outside its span."""
    span = statement.span
    at = version((span.beyond or "").rpartition("(")[2].rstrip(")"))
    early = at is not None and span.since is not None and not within(Span(span.since), at)
    key, bound = ("since", span.since) if early else ("until", span.until)
    message = f"`{statement.subject}` says `{key}: {bound}`, and it matches at the pin {span.beyond} too."
    return Problem("R011", message, statement.mark, hint=f"write `{key}: {at}`, or remove `{key}`")


def check(manifest: Manifest) -> Iterator[Problem]:
    """M013 for each span that is empty or that no pin confirms, and each reason that is about versions."""
    versions = {pin.name: version(version_of(pin)) for pin in manifest.upstream.pins.values()}
    for statement in {one.mark: one for one in reversed([*stated(manifest)])}.values():
        if statement.span:
            yield from _span(statement, versions)
        if statement.optional and statement.span:
            message = f"`{statement.subject}` has both a reason under `optional` and a range of versions."
            yield Problem("M013", message, statement.mark, hint="remove one of them")
        # the reason of an exception from every guarantee, which may excuse nothing anywhere, is its `why`
        elif (
            statement.optional
            and _HISTORY.search(statement.optional)
            and getattr(statement, "why", None) != statement.optional
        ):
            message = f"The reason `{statement.optional}` of `{statement.subject}` is about versions."
            hint = "write `since: VERSION` or `until: VERSION`; or nothing, for what a release lacks"
            yield Problem("M013", message, statement.mark, hint=hint)


def _span(statement: Statement, versions: Mapping[str, Version | None]) -> Iterator[Problem]:
    span, name = statement.span, statement.subject
    bounds = " and ".join(f"`{k}: {v}`" for k, v in (("since", span.since), ("until", span.until)) if v)
    for text in (span.since, span.until):
        if text and version(text) is None:
            if text[0].isdigit():  # the schema reports any other
                message = f"`{text}` is not a version."
                yield Problem("M013", message, statement.mark, hint="write it as `0.5.9`")
            return
    since, until = version(span.since), version(span.until)
    if since is not None and until is not None and since > until:
        yield Problem("M013", f"`{name}` says {bounds}, which is an empty range.", statement.mark)
        return
    if not versions or any(at is None for at in versions.values()):
        return  # a pin without a stated version may confirm any range
    known = [at for at in versions.values() if at is not None]
    inside = [at for at in known if within(span, at)]
    # a range between two pins is confirmed if neither of them has what it names
    between = since is not None and until is not None and min(known) < since and until < max(known)
    if not inside and not between:
        message = f"`{name}` says {bounds}, and no pin lies in this range to confirm it."
        yield Problem("M013", message, statement.mark, hint=_say(versions))
    elif len(inside) == len(known):
        message = f"`{name}` says {bounds}, and every pin lies in this range, so it has no effect."
        yield Problem("M013", message, statement.mark, hint=f"remove it; {_say(versions)}")


def _say(known: Mapping[str, Version | None]) -> str:
    return "the pins are " + ", ".join(f"{name} ({at})" for name, at in known.items())
