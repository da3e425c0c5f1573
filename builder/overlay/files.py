"""Whole files of ours, in place of upstream files whose blobs the manifest states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from builder.errors import Mark, Problem
from builder.manifest.model import WholeFile
from builder.overlay.record import Record, digest
from builder.tree import Entry


@dataclass(frozen=True, slots=True)
class Placed:
    """The bytes of every file that an overlay writes."""

    files: Mapping[str, bytes]
    problems: tuple[Problem, ...] = ()
    records: tuple[Record, ...] = ()


def place(
    items: Iterable[WholeFile],
    overlays: Mapping[str, bytes],
    entries: Mapping[str, Entry],
    contents: Mapping[str, bytes],
) -> Placed:
    """Check every pre-image against the upstream `entries`; `contents` maps upstream paths to bytes."""
    out: dict[str, bytes] = {}
    first: dict[str, WholeFile] = {}
    problems: list[Problem] = []
    records: list[Record] = []
    for item in items:
        wrong = _wrong(item, overlays, entries.get(item.path), first.get(item.path))
        if wrong is not None:
            problems.append(wrong)
            continue
        if item.preimage and (item.path not in entries or entries[item.path].blob not in item.preimage):
            continue  # optional, and upstream has no such file, or another one
        first[item.path] = item
        out[item.path] = overlays[item.overlay]
        before = contents[item.path] if item.path in entries else None
        after = digest(overlays[item.overlay])
        records.append(Record(item.mark, item.batch, item.why, "file", item.path, 0, digest(before), after))
    return Placed({path: out[path] for path in sorted(out)}, tuple(problems), tuple(records))


def _wrong(
    item: WholeFile, overlays: Mapping[str, bytes], entry: Entry | None, other: WholeFile | None
) -> Problem | None:
    if item.overlay not in overlays:
        return Problem("M008", f"The overlay `{item.overlay}` of {item.path} does not exist.", item.mark)
    if other is not None:
        message = f"{item.path} is written by two overlays; the other is at {other.mark}."
        return Problem("M011", message, item.mark)
    expected = ", ".join(item.preimage)
    if entry is None:
        if not item.preimage or item.optional:
            return None
        message = f"{item.path} replaces blob {expected}, and upstream has no such file."
        return Problem("R006", message, item.mark, hint="Leave `preimage` away for a new file.")
    if not item.preimage:
        message = f"{item.path} is stated to be new, and upstream has it as blob {entry.blob}."
        hint = "Compare it with the overlay, then state the blob as `preimage`."
        return Problem("R006", message, item.mark, Mark(item.path), hint=hint)
    if entry.blob not in item.preimage and not item.optional:
        message = f"{item.path} is blob {entry.blob}, and the overlay replaces {expected}."
        hint = "Upstream changed the file: carry the change over, then add the new blob to `preimage`."
        return Problem("R006", message, item.mark, Mark(item.path), hint=hint)
    return None
