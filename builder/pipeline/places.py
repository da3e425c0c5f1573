"""True places for what gates find: gates read the output, but a person has upstream's files and our overlays.

A line that upstream has gets upstream's number. One that only the output has is shown as the output's. One of
our own files is shown in its overlay, with the statement of the manifest that brings it in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from builder.errors import Mark, Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import Batch
from builder.overlay.record import Record
from builder.source.textdiff import runs
from builder.tree import Snapshot

#: Gates whose places are in the output; the others state upstream's.
_OF_THE_OUTPUT = frozenset(["G001", "G002", "G003", "G004", "G007", "G008", "G011", "R010"])


def true_places(
    problems: Iterable[Problem],
    upstream: Snapshot,
    output: Snapshot,
    manifest: Manifest,
    records: Iterable[Record] = (),
) -> list[Problem]:
    """The problems with the place of each, and of those that it stands for, where a person sees it."""
    edited: dict[str, set[Mark]] = {}
    for record in records:
        edited.setdefault(record.file, set()).add(record.mark)
    whole = {file.path: file for batch in manifest.batches for file in batch.files}
    lines: dict[str, Mapping[int, int]] = {}  # file -> line of the output -> line of upstream

    def place(problem: Problem) -> Problem:
        problem = replace(problem, also=tuple(place(one) for one in problem.also))
        seen = problem.upstream
        if problem.code not in _OF_THE_OUTPUT or seen is None or seen.file not in output:
            return problem
        if file := whole.get(seen.file):
            # the tables of a file that the builder fills move its lines
            same = manifest.overlays.get(file.overlay) == output[seen.file]
            true = Mark(file.overlay, seen.line if same else 0, seen.column if same else 0)
            stated = replace(problem, mark=problem.mark or file.mark, upstream=None, overlay=true)
            return _moved(stated, seen, true)
        if seen.file not in upstream:
            return _moved(replace(problem, upstream=None, output=seen), seen, seen)
        if not seen.line or upstream.tree[seen.file].blob == output.tree[seen.file].blob:
            return problem
        if seen.file not in lines:
            lines[seen.file] = {
                run.right + offset + 1: run.left + offset + 1
                for run in runs(upstream[seen.file].splitlines(), output[seen.file].splitlines())
                for offset in range(run.length)
            }
        number = lines[seen.file].get(seen.line)
        if number is None:
            problem = replace(problem, upstream=Mark(seen.file), output=seen)
            return _by_edit(problem, output, manifest, edited.get(seen.file, set()))
        true = Mark(seen.file, number, seen.column)
        return _moved(replace(problem, upstream=true), seen, true)

    return [place(problem) for problem in problems]


def _by_edit(problem: Problem, output: Snapshot, manifest: Manifest, marks: set[Mark]) -> Problem:
    """A problem in a line that an edit wrote, with the edit's place; `marks`: those of the edits there."""
    assert problem.output is not None
    text = output[problem.output.file].splitlines()[problem.output.line - 1].strip()
    written = [
        (mark, Mark(overlay, number), line.removeprefix(sign).strip())
        for batch in manifest.batches
        for mark, overlay, sign in _texts(batch)
        if mark in marks
        for number, line in enumerate(manifest.overlays.get(overlay, b"").splitlines(), 1)
        if line.startswith(sign)
    ]
    said = [
        (edit.mark, None, edit.by.encode())
        for batch in manifest.batches
        for edit in batch.edits
        if edit.mark in marks and edit.kind != "body" and edit.by
    ]
    found = [
        *(each for each in written if each[2] == text),
        *(each for each in said if each[2] in text),
        *(each for each in written if text in each[2]),  # which the formatter laid out: `use(a);`
    ]
    if not found:
        return problem
    mark, place, _ = found[0]
    return replace(problem, mark=problem.mark or mark, overlay=place)


def _texts(batch: Batch) -> Iterator[tuple[Mark, str, bytes]]:
    """The statements of a batch that write the lines of an overlay: place, overlay, how such lines begin."""
    yield from ((edit.mark, edit.by, b"") for edit in batch.edits if edit.kind == "body" and edit.by)
    yield from ((patch.mark, patch.overlay, b"+") for patch in batch.patches)


def _moved(problem: Problem, old: Mark, new: Mark) -> Problem:
    """The problem with the place at the start of its message moved too."""
    before = f"{old.file}:{old.line}: "
    if not problem.message.startswith(before):
        return problem
    after = f"{new.file}:{new.line}: " if new.line else f"{new.file}: "
    return replace(problem, message=after + problem.message[len(before) :])
