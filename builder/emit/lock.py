"""`manifest.lock`: the digests that a build of a proven pin must reproduce. A new proof is written whole.

Nothing in it depends on the place of a statement in the manifest, so a comment changes no line of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from builder.emit import record as records
from builder.emit.place import write_whole
from builder.emit.record import RecordedCut
from builder.errors import BuildError, Mark, Problem, fail
from builder.manifest.model import DEFAULT_SCOPE

SCHEMA_VERSION = 2
NAME = "manifest.lock"


@dataclass(frozen=True, slots=True)
class Proof:
    """What a build of one upstream with one manifest gave.

    `manifest`: the digest of what the manifest says. `families`: batch -> what its patterns matched, in a
    line. `figures`: those of `build.json` that pages show; nothing is compared with them. `record`: the
    sha256 of the recorded cut; empty for none.
    """

    commit: str | None
    upstream_tree: str
    manifest: str
    verdicts: Mapping[str, int]
    output_tree: str
    wheel_content_sha256: str | None
    families: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    record: str = ""


Lock = Mapping[str, Proof]


@dataclass(frozen=True, slots=True)
class Edited:
    """That a manifest states something else than what was proven; `proof`: what the lock has of the pin."""

    proof: Proof | None


_KEYS = frozenset(f.name for f in fields(Proof))
_NEEDED = frozenset(f.name for f in fields(Proof) if f.default is f.default_factory is MISSING)

#: the fields that must be reproduced, and their names in messages
_DIGESTS = {
    "commit": "the upstream commit",
    "upstream_tree": "the upstream tree",
    "output_tree": "the output tree",
    "wheel_content_sha256": "the wheel's content digest",
    "verdicts": "the verdict counts",
}


def proof_of(record: Mapping[str, Any]) -> Proof:
    """What `build.json` proves. Raises KeyError and the like for values that are none of it."""
    wheel = record["wheel"]
    return Proof(
        commit=record["upstream"]["commit"],
        upstream_tree=record["upstream"]["tree"],
        manifest=record["manifest"]["statements"],
        verdicts=record["verdicts"],
        output_tree=record["output"]["tree"],
        wheel_content_sha256=wheel and wheel["content_sha256"],
        families=record["families"],
        tools=record["tools"],
        figures=figures_of(record),
    )


def figures_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What pages show of a build, from `build.json`: lines, batches, wheel, surface, translation units."""
    wheel, batches = record["wheel"], {}
    for batch in record["batches"]:
        lines = batch["lines"]
        less = lines["removed"] + lines["edited_away"] - lines["added"]
        batches[batch["id"]] = {**batch["files"], "lines": less}
    return {
        "lines": record["lines"]["code"],
        "batches": batches,
        "wheel": wheel and {"bytes": wheel["bytes"], "files": wheel["files"]},
        "surface": record["surface"],
        "units": record["units"],
    }


def to_bytes(locks: Mapping[str, Lock]) -> bytes:
    """The locks of all scopes as a file. Sorted, one value or group of figures a line, so that a diff of two
    locks names what moved."""
    entries = {
        scope: {
            pin: {key: value for key, value in asdict(proof).items() if value or key != "record"}
            for pin, proof in lock.items()
        }
        for scope, lock in locks.items()
        if lock
    }
    pins = entries.pop(DEFAULT_SCOPE, {})
    named = {"scopes": entries} if entries else {}
    return (_lines({"schema_version": SCHEMA_VERSION, "pins": pins, **named}) + "\n").encode()


def _lines(value: object, indent: str = "") -> str:
    """Sorted JSON with an entry a line; a mapping of numbers alone stands on one line."""
    if not isinstance(value, Mapping) or all(isinstance(one, (int, float)) for one in value.values()):
        return json.dumps(value, sort_keys=True)
    deeper = indent + "  "
    entries = [f"{deeper}{json.dumps(key)}: {_lines(value[key], deeper)}" for key in sorted(value)]
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def from_bytes(data: bytes) -> Mapping[str, Lock]:
    """Scope -> its lock; the default scope is always there.

    Raises BuildError (M008) when the file is not a lock of this builder.
    """
    try:
        document: Any = json.loads(data)
        if document["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"schema_version is {document['schema_version']!r}")
        scopes = {**document.get("scopes", {}), DEFAULT_SCOPE: document["pins"]}
        return {
            str(scope): {str(pin): _proof(entry) for pin, entry in entries.items()}
            for scope, entries in scopes.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "restore it from version control, or delete it and prove the pins again"
        raise fail("M008", f"The lock '{NAME}' cannot be read ({error}).", Mark(NAME), hint=hint) from error


def _proof(entry: Mapping[str, Any]) -> Proof:
    """Raises ValueError and the like when the entry is none."""
    if missing := sorted(_NEEDED - entry.keys()):
        raise ValueError(f"a pin has no {', '.join(missing)}")
    proof = Proof(**{key: value for key, value in entry.items() if key in _KEYS})
    for key in ("verdicts", "families", "tools", "figures"):
        if not isinstance(getattr(proof, key), dict):
            raise TypeError(f"the {key} of a pin are no object")
    return proof


def edited(locks: Mapping[str, Lock], scope: str, pin: str, statements: str) -> Edited | None:
    """Return what sets a manifest apart from the proven one; None where nothing does.

    It is compared with the proof of the pin; for an upstream that is not locked, with those of all pins in
    the scope. Where nothing is locked at all, nothing is edited.
    """
    lock = locks.get(scope, {})
    proofs = [lock[pin]] if pin in lock else lock.values()
    if not any(locks.values()) or any(proof.manifest == statements for proof in proofs):
        return None
    return Edited(lock.get(pin))


def drift(lock: Lock, pin: str, now: Proof, switched: str = "") -> str | None:
    """Return why a build has nothing to reproduce, in a sentence; None when it reproduces its proof.

    That is so for an unlocked pin, a manifest other than the locked one, and batches that are `switched`: in
    words, "" for none.
    Raises BuildError: a G012 for each digest that differs, and for each batch whose patterns matched
    something else.
    """
    locked = lock.get(pin)
    if locked is None:
        return f"'{pin}' is not in {NAME}: nothing to compare with. `lock` proves it."
    if switched:
        return f"'{pin}' is locked as its scope states it, and this is a build {switched}: no proof is of it."
    differences = list(_differences(locked, now))
    if locked.manifest != now.manifest:
        moved = ", ".join(words for words, _, _ in differences)
        what = f"{moved} moved" if moved else "the output is the same"
        return f"'{pin}' was locked with another manifest: {what}."
    hint, message = _tools(locked, now), f"'{pin}' is locked, and {{}} came out as {{}}, not {{}}."
    if differences:
        raise BuildError(
            Problem("G012", message.format(words, new, old), Mark(NAME), hint=hint)
            for words, old, new in differences
        )
    return None


def _differences(locked: Proof, now: Proof) -> Iterator[tuple[str, str, str]]:
    """What differs: what it is called, and what it was and is."""
    for key, words in _DIGESTS.items():
        old, new = getattr(locked, key), getattr(now, key)
        # a build without a wheel is compared by its tree
        if old != new and not (key.startswith("wheel") and not new):
            yield words, _show(old), _show(new)
    for batch in sorted({*locked.families, *now.families}):
        old, new = (proof.families.get(batch, "nothing") for proof in (locked, now))
        if old != new:
            yield f"what the patterns of the batch `{batch}` match", old, new


def _show(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {name}" for name, number in sorted(value.items()))
    return str(value)


def _tools(locked: Proof, now: Proof) -> str | None:
    """A hint at tools of other versions, None where all are the same."""
    pairs = {
        name: (locked.tools.get(name, "none"), now.tools.get(name, "none"))
        for name in sorted(locked.tools.keys() | now.tools.keys())
    }
    moved = [f"{name} {old} then, {new} now" for name, (old, new) in pairs.items() if old != new]
    return "the tools differ: " + "; ".join(moved) if moved else None


def known(root: Path, scope: str = DEFAULT_SCOPE) -> Lock:
    """What the lock beside the manifest has of a scope; empty for nothing. Raises BuildError (M008)."""
    return every_scope(root).get(scope, {})


def proof_in(out: Path) -> Proof | None:
    """What an output folder says of itself in build.json; None if it says nothing valid."""
    try:
        return proof_of(json.loads((out / "build.json").read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def every_scope(root: Path) -> Mapping[str, Lock]:
    """Scope -> what the lock beside the manifest has of it. Raises BuildError (M008)."""
    try:
        return from_bytes((root / NAME).read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise fail("M008", f"The lock cannot be read: {error.strerror or error}.", Mark(NAME)) from None


def record(
    root: Path,
    pin: str,
    proof: Proof,
    switched: str,
    scope: str = DEFAULT_SCOPE,
    cut: RecordedCut | None = None,
    shown: Collection[str] = (),
) -> str:
    """Write the proof of a scope at a pin into the lock beside the manifest, and say so.

    `switched`: which batches options switch, in words; `cut`: the record to keep with it; `shown`: the
    batches of a named scope whose figures a page shows.

    Raises BuildError M008, E002.
    """
    if switched:
        return f"{NAME} is left alone: a build {switched} proves no pin."
    locks = every_scope(root)
    if scope != DEFAULT_SCOPE:
        # the figures of all batches of each named scope would double the file
        told = {name: one for name, one in proof.figures.get("batches", {}).items() if name in shown}
        others = {name: figure for name, figure in proof.figures.items() if name != "batches"}
        proof = replace(proof, figures=others | ({"batches": told} if told else {}))
    earlier = locks.get(scope, {}).get(pin)
    if cut is not None:
        proof = replace(proof, record=records.write(root, pin, cut, earlier.record if earlier else ""))
    write_whole(root / NAME, to_bytes({**locks, scope: {**locks.get(scope, {}), pin: proof}}))
    place = f" in the scope {scope}" if scope != DEFAULT_SCOPE else ""
    return f"{NAME} records '{pin}'{place}{_moved(earlier, proof)}."


def _moved(before: Proof | None, now: Proof) -> str:
    """Whether a pin that was locked has another output now, in words."""
    if before is None:
        return ""
    if before.output_tree == now.output_tree:
        return ", with the same output tree"
    return f": the output tree was {before.output_tree[:12]} and is {now.output_tree[:12]}"
