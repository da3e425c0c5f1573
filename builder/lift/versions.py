"""The versions of the two upstreams of a lift, for the ranges of the statements that it proposes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from builder.errors import Problem
from builder.lift.insert import Proposal, scalar, version_scalar
from builder.lift.statements import batch_of
from builder.manifest import spans
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Span, stated
from builder.pipeline.ranges import About, about
from builder.upstream.model import Upstream

_NONE = "0.0.0.dev0"  # what a distribution is called whose upstream names no version


def step(old: Upstream, new: Upstream, manifest: Manifest) -> Span:
    """From the version of the old upstream (`until`) to that of the new one (`since`).

    Commits of one branch may all say the same; then the new one is called the next in development.
    """
    then = about(old, manifest).version or old.version or _NONE
    now = about(new, manifest).version or new.version or _NONE
    before, after = spans.version(then), spans.version(now)
    if before is not None and (after is None or after <= before) and new.commit != old.commit:
        now = f"{before.base_version}.post{(before.post or 0) + 1}.dev0"
        if before.dev is not None:
            now = f"{before.public.rpartition('.dev')[0]}.dev{before.dev + 1}"
    return Span(since=now, until=then)


def known(new: Upstream, manifest: Manifest, between: Span) -> About:
    """What is known of the new upstream: at least that it comes after the old one. It is to be a pin, so that
    a statement which matches nothing there is a mistake, and one that matches outside its range."""
    known = about(new, manifest)
    pin = known.pin or new.spec
    return replace(known, version=known.version or between.since, pin=pin, unproven=False)


def widened(problems: Iterable[Problem], manifest: Manifest, between: Span) -> Iterator[Proposal]:
    """For each R011 the proposal that its statement holds from the new version on, or up to it, unless a pin
    lies between, at which it does not match."""
    at, by_mark = spans.version(between.since), {one.mark: one for one in stated(manifest)}
    pins = [spans.version(spans.version_of(pin)) for pin in manifest.upstream.pins.values()]
    marks = [problem.mark for problem in problems if problem.code == "R011" and problem.mark]
    for one in (by_mark[mark] for mark in marks if mark in by_mark):
        since, until = spans.version(one.span.since), spans.version(one.span.until)
        early = at is not None and since is not None and at < since
        low, high = (at, since) if early else (until, at)
        if low and high and not any(low < pin < high for pin in pins if pin):
            yield Proposal("widen", batch_of(one), one.mark, "since" if early else "until")


def newer(between: Span, manifest: Manifest) -> tuple[str, ...]:
    """The pins of later versions than the new upstream's."""
    at = spans.version(between.since)
    stated = {pin.name: spans.version(spans.version_of(pin)) for pin in manifest.upstream.pins.values()}
    return tuple(name for name, version in stated.items() if at and version and version > at)


def pin_of(new: Upstream, manifest: Manifest, between: Span) -> Proposal | None:
    """A pin of the new upstream, so that the ranges are shown to be true; None where it is one already."""
    if about(new, manifest).pin is not None:
        return None
    if new.archive is not None:
        # the name of a wheel states the version of Python
        python = re.search(r"-cp(\d)(\d+)-", new.archive.name) if new.kind == "wheel" else None
        keys = f'{new.kind}: "{new.version}"' + (f', python: "{python[1]}.{python[2]}"' if python else "")
        pin = f"{{{keys}, sha256: {new.archive.sha256}}}"
        return Proposal("pin", BASE, key=f"release-{new.version}", text=pin)
    pin = f"{{commit: {scalar(new.commit)}, version: {version_scalar(between.since)}}}"
    return Proposal("pin", BASE, key=f"at-{new.commit[:9]}", text=pin)
