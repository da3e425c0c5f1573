"""`manifest.lock`: what was proven once must come out again, digest by digest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from builder.errors import BuildError, Mark, Problem, fail

SCHEMA_VERSION = 1
NAME = "manifest.lock"


@dataclass(frozen=True, slots=True)
class Proof:
    """What a build of one upstream with one manifest gave. `matches` counts paths a rule (mark: pattern)."""

    commit: str | None
    upstream_tree: str
    manifest: str
    verdicts: Mapping[str, int]
    output_tree: str
    wheel_content_sha256: str | None
    matches: Mapping[str, int] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)  # of build.json; nothing is compared with them


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a build compares with its lock: wrong digests, or why there was nothing to compare."""

    problems: tuple[Problem, ...] = ()
    drift: str | None = None


Lock = Mapping[str, Proof]

#: what must come out again, and what each is called in a message
_DIGESTS = {
    "commit": "the upstream commit",
    "upstream_tree": "the upstream tree",
    "output_tree": "the output tree",
    "wheel_content_sha256": "the wheel's content digest",
    "verdicts": "the verdict counts",
}


def figures_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What pages show of a build, from `build.json`: lines, batches, wheel, surface, translation units."""
    wheel = record["wheel"]
    return {
        "lines": {"before": record["lines"]["code"]["before"], "after": record["lines"]["code"]["after"]},
        "batches": {
            batch["id"]: {**batch["files"], "lines": _less(batch["lines"])} for batch in record["batches"]
        },
        "wheel": wheel and {"bytes": wheel["bytes"], "files": wheel["files"]},
        "surface": record["surface"],
        "units": record["units"],
    }


def _less(lines: Mapping[str, int]) -> int:
    return lines["removed"] + lines["edited_away"] - lines["added"]


def to_bytes(lock: Lock) -> bytes:
    """Sorted, one value a line, so that a diff of two locks names what moved."""
    pins = {name: asdict(proof) for name, proof in lock.items()}
    text = json.dumps({"schema_version": SCHEMA_VERSION, "pins": pins}, indent=2, sort_keys=True)
    return (text + "\n").encode()


def from_bytes(data: bytes, file: str = NAME) -> Lock:
    """Raises BuildError (M008) when the file is not a lock of this builder."""
    try:
        found: Any = json.loads(data)
        if found["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"schema_version is {found['schema_version']!r}")
        known = {f.name for f in fields(Proof)}
        return {
            str(name): Proof(**{key: value for key, value in entry.items() if key in known})
            for name, entry in found["pins"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise fail(
            "M008",
            f"The lock '{file}' cannot be read ({error}).",
            Mark(file),
            hint="restore it from version control, or delete it and prove the pins again",
        ) from error


def compare(lock: Lock, pin: str, now: Proof, *, without: Sequence[str] = (), file: str = NAME) -> Comparison:
    """Compare a build with the proof of its pin: a G012 for each digest that differs.

    A pin that is not locked, another manifest than the locked one, and batches switched off are drift:
    there is nothing that had to come out again, and the message says so.
    """
    locked = lock.get(pin)
    if locked is None:
        return Comparison(drift=f"'{pin}' is not in {file}: nothing to compare with.")
    if without:
        return Comparison(drift=f"'{pin}' is locked with all batches, and {', '.join(without)} is off.")
    if locked.manifest != now.manifest:
        return Comparison(drift=_moved(locked, now, pin))
    problems = [
        Problem(
            "G012",
            f"'{pin}' is locked, and {words} came out as {_show(getattr(now, key))}, "
            f"not {_show(getattr(locked, key))}.",
            Mark(file),
            hint=_tools(locked, now),
        )
        for key, words in _DIGESTS.items()
        if getattr(locked, key) != getattr(now, key)
        and not (key.startswith("wheel") and not now.wheel_content_sha256)
    ]
    return Comparison(tuple(problems))


def require(comparison: Comparison) -> None:
    """Raise BuildError when a locked pin did not reproduce."""
    if comparison.problems:
        raise BuildError(comparison.problems)


def update(lock: Lock, pin: str, proof: Proof) -> Lock:
    """The lock with this pin proven; the other pins stay as they are."""
    return {**lock, pin: proof}


def _moved(locked: Proof, now: Proof, pin: str) -> str:
    moved = [words for key, words in _DIGESTS.items() if getattr(locked, key) != getattr(now, key)]
    what = f"{', '.join(moved)} moved" if moved else "the output is the same"
    return f"'{pin}' was locked with another manifest: {what}."


def _show(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {name}" for name, number in sorted(value.items()))
    return str(value)


def _tools(locked: Proof, now: Proof) -> str | None:
    names = sorted(locked.tools.keys() | now.tools.keys())
    moved = [
        f"{name} {locked.tools.get(name, 'none')} then, {now.tools.get(name, 'none')} now"
        for name in names
        if locked.tools.get(name) != now.tools.get(name)
    ]
    return "the tools differ: " + "; ".join(moved) if moved else None
