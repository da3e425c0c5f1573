"""Parses `UPSTREAM`: a pin, a release, a commit, a ref, or a ref of another repository."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builder.errors import BuildError, Mark, fail
from builder.manifest import spans
from builder.manifest.model import Pin
from builder.spelling import nearest

MINIMUM_DIGITS = 7

#: what git-check-ref-format forbids in a ref name
_NOT_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-/.@]$|^[-/.]|[/.]$")

FORMS = (
    "a pin of the manifest, a commit of at least 7 digits, a tag, a branch, pypi:VERSION, "
    "or /path/to/repository@REF"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A parsed spec.

    kind     value
    commit   7 to 40 lower-case hex digits
    ref      a tag, a branch or a full ref name (it may look like a short commit too)
    release  a version, normalised

    Of a release, `form` is the archive that is wanted (None: the sdist where there is one, else the wheel),
    and `python` the version of Python that a wheel must be for (None: `rather`, or else the newest that has
    one).
    """

    spec: str
    kind: Literal["commit", "ref", "release"]
    value: str
    repository: Path | None = None  # given in the spec: no other place is tried
    sha256: str | None = None
    pin: str | None = None
    mark: Mark | None = None
    form: Literal["sdist", "wheel"] | None = None
    python: str | None = None
    rather: str | None = None


def parse(spec: str, pins: Mapping[str, Pin]) -> Wanted:
    """Parse `spec` without looking anything up. Raises BuildError U002."""
    if not spec or not spec.isprintable() or spec != spec.strip() or spec.startswith("-"):
        raise unknown(spec, "is not a name for an upstream", near=pins)
    if spec in pins:
        return _pin(spec, pins[spec])
    if spec.startswith("pypi:"):
        return _release(spec, spec[len("pypi:") :], pins)
    if spec.startswith(("/", "./", "../", "~")):
        return _elsewhere(spec, pins)
    return _revision(spec, spec, pins)


def unknown(spec: str, why: str, mark: Mark | None = None, near: Iterable[str] = ()) -> BuildError:
    """A BuildError U002 that suggests the closest of the names `near`."""
    hint = nearest(spec, near, most=3) or f"UPSTREAM takes {FORMS}"
    return fail("U002", f"{spec!r} {why}.", mark, hint=hint)


def _pin(spec: str, pin: Pin) -> Wanted:
    if pin.release is not None:
        version = spans.version(pin.release)
        if version is None:
            raise fail("U002", f"The pin {spec!r} names {pin.release!r}, which is not a version.", pin.mark)
        return _pinned_release(spec, str(version), pin)
    return Wanted(spec, "commit", pin.commit or "", None, None, pin.name, pin.mark)


def _release(spec: str, text: str, pins: Mapping[str, Pin]) -> Wanted:
    if spans.version(text) is None:
        raise unknown(spec, "does not name a release: what follows pypi: is not a version", near=pins)
    version = str(spans.version(text))
    spec = f"pypi:{version}"  # however the version was written
    for pin in pins.values():
        if pin.release is not None and str(spans.version(pin.release)) == version:
            return _pinned_release(spec, version, pin)
    pythons = Counter(pin.python for pin in pins.values() if pin.python)
    return Wanted(spec, "release", version, rather=max(pythons, key=pythons.__getitem__, default=None))


def _pinned_release(spec: str, version: str, pin: Pin) -> Wanted:
    form: Literal["sdist", "wheel"] = "wheel" if pin.wheel is not None else "sdist"
    return Wanted(spec, "release", version, None, pin.sha256, pin.name, pin.mark, form, pin.python)


def _elsewhere(spec: str, pins: Mapping[str, Pin]) -> Wanted:
    path, at, ref = spec.rpartition("@")
    try:
        if not at or Path(spec).expanduser().is_dir():
            path, ref = spec, "HEAD"
        place = Path(path).expanduser()
    except (OSError, RuntimeError):
        raise unknown(spec, "is not a path", near=pins) from None
    revision = _revision(spec, ref, pins)
    return Wanted(spec, revision.kind, revision.value, place)


def _revision(spec: str, text: str, pins: Mapping[str, Pin]) -> Wanted:
    digits = text.lower()
    if re.fullmatch(r"[0-9a-f]{40}", digits):
        return Wanted(spec, "commit", digits)
    if re.fullmatch(r"[0-9a-f]{41,}", digits):
        raise unknown(spec, f"has {len(digits)} digits, and a commit has 40", near=pins)
    if not text or _NOT_A_REF.search(text) or any(part.startswith("-") for part in text.split("/")):
        raise unknown(spec, "is not a commit, and no tag or branch can have this name", near=pins)
    return Wanted(spec, "ref", text)


def short(value: str) -> str | None:
    """The hex digits of a name that may be an abbreviated commit; None if it cannot be one."""
    digits = value.lower()
    return digits if re.fullmatch(f"[0-9a-f]{{{MINIMUM_DIGITS},39}}", digits) else None
