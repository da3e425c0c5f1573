"""The versions of the two upstreams of a lift, for the ranges of the statements that it proposes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from builder.manifest import spans
from builder.manifest.model import Manifest
from builder.manifest.statements import Span
from builder.pipeline.ranges import About, about
from builder.upstream.model import Upstream

if TYPE_CHECKING:
    from packaging.version import Version

_NONE = "0.0.0.dev0"  # what a distribution is called whose upstream names no version


def step(old: Upstream, new: Upstream, manifest: Manifest) -> Span:
    """From the version of the old upstream (`until`) to that of the new one (`since`).

    Commits of one branch may all say the same; then the new one is called the next in development.
    """
    then = about(old, manifest).version or old.version or _NONE
    now = about(new, manifest).version or new.version or _NONE
    before, after = spans.version(then), spans.version(now)
    if before is not None and (after is None or after <= before) and new.commit != old.commit:
        now = _next(before)
    return Span(since=now, until=then)


def known(new: Upstream, manifest: Manifest, between: Span) -> About:
    """What is known of the new upstream: at least that it comes after the old one. It is to be a pin, so that
    a statement which matches nothing there is a mistake."""
    known = about(new, manifest)
    return replace(known, version=known.version or between.since, unproven=False)


def pin_of(new: Upstream, manifest: Manifest) -> tuple[str, str] | None:
    """A pin of the new upstream, so that the ranges are shown to be true: its name, and its commit or, for a
    release, its YAML. None for an upstream that is a pin."""
    if about(new, manifest).pin is not None:
        return None
    if new.archive is not None:
        keys = [f'{new.kind}: "{new.version}"', f"sha256: {new.archive.sha256}"]
        if python := _python(new):
            keys.insert(1, f'python: "{python}"')
        return f"release-{new.version}", f"{{{', '.join(keys)}}}"
    return (f"at-{new.commit[:9]}", new.commit) if new.commit else None


def _python(new: Upstream) -> str | None:
    """The version of Python that the name of a wheel states."""
    name = new.archive.name if new.archive and new.kind == "wheel" else ""
    match = re.search(r"-cp(\d)(\d+)-", name)
    return f"{match[1]}.{match[2]}" if match else None


def _next(version: Version) -> str:
    if version.dev is not None:
        return f"{str(version.public).rpartition('.dev')[0]}.dev{version.dev + 1}"
    return f"{version.base_version}.post{(version.post or 0) + 1}.dev0"
