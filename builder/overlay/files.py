"""Whole files of ours that replace upstream files with known blobs, or are new."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from builder.errors import Mark, Problem
from builder.manifest.statements import WholeFile
from builder.overlay.record import Placed, Record, record
from builder.source.parse import parse
from builder.tree import blob_id


def place(items: Iterable[WholeFile], overlays: Mapping[str, bytes], upstream: Mapping[str, bytes]) -> Placed:
    """Check every pre-image against the files of upstream (path -> bytes)."""
    out: dict[str, bytes | None] = {}
    first: dict[str, WholeFile] = {}
    problems: list[Problem] = []
    records: list[Record] = []
    for item in items:
        path, data = item.path, upstream.get(item.path)
        if path in first:
            message = f"{path} is written by two overlays; the other is at {first[path].mark}."
            problems.append(Problem("M011", message, item.mark))
        elif wrong := _misfit(item, data):
            problems += [] if item.replaces and item.optional else [wrong]
        else:
            first[path] = item
            out[path] = overlays[item.overlay]
            records.append(record(item, "file", path, 0, data, overlays[item.overlay]))
    return Placed(dict(sorted(out.items())), {}, tuple(problems), tuple(records))


def _misfit(item: WholeFile, data: bytes | None) -> Problem | None:
    """What is wrong with a file of ours where upstream has these bytes, or no such file."""
    if data is None:
        if not item.replaces:
            return None
        what = f"blob {', '.join(item.preimage)}" if item.preimage else f"{', '.join(item.definitions)} of it"
        message = f"{item.path} should replace {what}, but upstream has no such file."
        return Problem("R006", message, item.mark, hint="Omit `preimage` for a new file.")
    if not item.replaces:
        message = f"{item.path} should be new, but upstream has it as blob {blob_id(data)}."
        hint = "Compare it with the overlay, then state the blob as `preimage`."
        return Problem("R006", message, item.mark, Mark(item.path), hint=hint)
    if difference := differs(item, data):
        hint = "Upstream changed it: port the change, then state the new blob."
        return Problem("R006", f"{item.path} {difference}.", item.mark, Mark(item.path), hint=hint)
    return None


def differs(item: WholeFile, data: bytes) -> str | None:
    """How an upstream file differs from what an overlay replaces; None if it does not."""
    if item.preimage:
        blob = blob_id(data)
        expected = ", ".join(item.preimage)
        return None if blob in item.preimage else f"is blob {blob}, and the overlay replaces {expected}"
    actual = definitions(data, item.path, item.definitions)
    wrong = [
        f"{name} as blob {actual[name]}, and the overlay replaces {stated}"
        if name in actual
        else f"no {name}"
        for name, stated in item.definitions.items()
        if actual.get(name) != stated
    ]
    return f"has {'; '.join(wrong)}" if wrong else None


def definitions(data: bytes, path: str, names: Iterable[str]) -> dict[str, str]:
    """name -> blob id of its lines, of the functions and classes at the top of a file."""
    wanted, lines = set(names), data.splitlines()
    try:
        body = parse(data, path).tree.body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    blobs = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name in wanted:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            source = b"".join(line.rstrip() + b"\n" for line in lines[first : node.end_lineno])
            blobs[node.name] = blob_id(source)
    return blobs
