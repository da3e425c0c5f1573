"""Reads and writes manifest.lock: a new proof is written whole."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from builder.emit import lock
from builder.emit import record as records
from builder.emit.place import write_whole
from builder.emit.record import RecordedCut
from builder.errors import Mark, fail
from builder.manifest.model import DEFAULT_SCOPE, Manifest
from builder.pipeline.ranges import about
from builder.upstream.model import Upstream


def record(
    root: Path,
    pin: str,
    proof: lock.Proof,
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
        return f"{lock.NAME} is left alone: a build {switched} proves no pin."
    path = root / lock.NAME
    before = _bytes(root)
    anew = before is not None and lock.is_older(before)
    locks = {} if before is None or anew else lock.from_bytes(before)
    if scope != DEFAULT_SCOPE:
        # the figures of all batches of each named scope would double the file
        told = {name: one for name, one in proof.figures.get("batches", {}).items() if name in shown}
        others = {name: figure for name, figure in proof.figures.items() if name != "batches"}
        proof = replace(proof, figures=others | ({"batches": told} if told else {}))
    earlier = locks.get(scope, {}).get(pin)
    if cut is not None:
        proof = replace(proof, record=records.write(root, pin, cut, earlier.record if earlier else ""))
    text = lock.to_bytes({**locks, scope: {**locks.get(scope, {}), pin: proof}})
    write_whole(path, text)
    more = "; it was of an older version, and holds no other pin now" if anew else ""
    place = f" in the scope {scope}" if scope != DEFAULT_SCOPE else ""
    return f"{lock.NAME} records '{pin}'{place}{_moved(earlier, proof)}{more}."


def _moved(before: lock.Proof | None, now: lock.Proof) -> str:
    """Whether a pin that was locked has another output now, in words."""
    if before is None:
        return ""
    if before.output_tree == now.output_tree:
        return ", with the same output tree"
    return f": the output tree was {before.output_tree[:12]} and is {now.output_tree[:12]}"


def proof_of(out: Path) -> lock.Proof | None:
    """Return what an output folder says of itself in build.json; None if it says nothing valid."""
    try:
        return lock.proof_of(json.loads((out / "build.json").read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def known(root: Path, scope: str = DEFAULT_SCOPE) -> lock.Lock:
    """What the lock beside the manifest has of a scope; empty for nothing. Raises BuildError (M008)."""
    return every_scope(root).get(scope, {})


def every_scope(root: Path) -> Mapping[str, lock.Lock]:
    """Scope -> what the lock beside the manifest has of it. Raises BuildError (M008)."""
    data = _bytes(root)
    return {} if data is None else lock.from_bytes(data)


def edited(root: Path, upstream: Upstream, manifest: Manifest) -> lock.Edited | None:
    """Return what sets the manifest apart from the one that the lock beside it proves; None where nothing
    does. Raises BuildError (M008)."""
    pin = about(upstream, manifest).pin or upstream.spec
    return lock.edited(every_scope(root), manifest.scope_name, pin, manifest.statements)


def _bytes(root: Path) -> bytes | None:
    """The file beside the manifest; None when there is none. Raises BuildError (M008)."""
    try:
        return (root / lock.NAME).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise fail("M008", f"The lock cannot be read: {error.strerror or error}.", Mark(lock.NAME)) from None
