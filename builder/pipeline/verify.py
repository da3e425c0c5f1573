"""Runs every static gate on a cut before anything is written, and gives each finding a place that helps.

Gates read the output, but a person has upstream's files and our overlays. A line that upstream has gets
upstream's number. One that only the output has is shown as the output's. One of our own files is shown in its
overlay, with the statement of the manifest that brings it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from builder import progress
from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import BuildError, Mark, Problem
from builder.gates import (
    attributes,
    guarantees,
    imports,
    names,
    packaging,
    parse,
    stated_values,
    surface,
    symbols,
)
from builder.graph.reach import undeclared, unmatched
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Batch, Rule
from builder.native import gate as native
from builder.overlay.record import Record
from builder.pipeline.model import Cut
from builder.pipeline.ranges import kept_to
from builder.pipeline.reduce import Setting, specialize_once
from builder.pipeline.starts import edges_of
from builder.source.textdiff import runs
from builder.tree import Snapshot, Tree

BROKEN = "it uses what is gone"
#: Paths of a second run that are listed one by one; the others are counted.
SHOWN = 20
#: Gates that compare two trees and need nothing else, in the order in which findings are worth reading. G010
#: (`pipeline/unresolved_uses.py`) stops a build before there is an output, and G012 (`emit/lock.py`) after.
TREE_GATES: dict[str, Callable[[IndexedTree, IndexedTree, Manifest, Removals], list[Problem]]] = {
    "G001": parse.check,
    "G005": symbols.check,
    "G002": imports.check,
    "G003": names.check,
    "G004": attributes.check,
    "G007": guarantees.check,
    "G008": packaging.check,
    "G014": stated_values.check,
}
#: Gates whose places are in the output; the others state upstream's.
_OF_THE_OUTPUT = frozenset(["G001", "G002", "G003", "G004", "G007", "G008", "G011", "R010"])


class Rejected(BuildError):
    """Gates found problems in an output."""

    def __init__(self, problems: Iterable[Problem], output: Snapshot) -> None:
        super().__init__(problems)
        self.output = output


def verify(done: Cut, twice: bool = False) -> None:
    """Raise Rejected with every finding of every gate."""
    findings = problems(done, twice)
    if findings:
        raise Rejected(findings, done.output)


def problems(done: Cut, twice: bool = False) -> list[Problem]:
    """Return what the static gates find in the output and not in upstream.

    `twice`: specialize the output once more and compare (G009); it costs about a third of the cut, so it is
    done where a pin is proven, not at every build.
    """
    manifest, after = done.manifest, done.after
    gates: list[Callable[[], list[Problem]]] = [
        *(partial(gate, done.before, after, manifest, done.removals) for gate in TREE_GATES.values()),
        lambda: surface.problems(done.surfaces, after),
        lambda: native.new(native.check(done.output), done.findings),
        lambda: compare(done.output.tree, again(done).tree) if twice else [],
    ]
    findings = [problem for gate in progress.counted("gates", gates) for problem in gate()]
    progress.summary(f"{len(gates)} gates")
    # imports by value that the manifest does not declare, in reached modules (R010), and declarations that
    # match nothing (R009); one for the models that stay may have lost all of its modules in the output
    declared = manifest.roots.dynamic
    reached = done.decided.starts.reach(edges_of(after.index, manifest), rules=False)
    findings += undeclared(after.index, declared, reached)
    findings += unmatched(after.index, [edge for edge in declared if not edge.of_kept_models])
    findings += unmatched(done.before.index, [edge for edge in declared if edge.of_kept_models])
    return true_places(kept_to(findings, manifest), done.upstream, done.output, manifest, done.records)


def broken_files(done: Cut) -> Mapping[str, Rule]:
    """Return the files given back outside the packages in which a gate finds something -> why each is
    removed.

    A batch that is off gives back programs of their own: benchmarks, examples, tests. Nothing that is
    delivered imports one, and no edit keeps it in step, so one that uses what another batch removes cannot
    run.
    """
    back = {rule.mark: rule for rule in done.manifest.given_back}
    folders = tuple(f"{folder}/" for folder in done.manifest.packages.values())
    given = {
        path: back[decision.rule.mark]
        for path, decision in done.decided.selection.decisions.items()
        if decision.rule.mark in back and path in done.output and not path.startswith(folders)
    }
    leaving: dict[str, Rule] = {}
    findings = problems(done) if given else []
    for problem in (p for one in findings for p in (one, *one.also)):
        path = problem.upstream.file if problem.upstream else ""
        if path in given and path not in leaving:
            reason = f"{BROKEN} ({problem.code} {problem.message})"
            leaving[path] = replace(given[path], pattern=reason, verdict="follow", batch=BASE)
    return leaving


def compare(first: Tree, second: Tree) -> list[Problem]:
    """Return G009 for each path on which the output and the output of the output differ."""
    if first.id == second.id:
        return []
    paths = [p for p in sorted({*first, *second}) if first.get(p) != second.get(p)]
    problems = []
    for path in paths[:SHOWN]:
        how = "removed" if path not in second else "added" if path not in first else "changed again"
        problems.append(Problem("G009", f"{path} is {how} by a second run", upstream=Mark(path)))
    if len(paths) > SHOWN:
        problems.append(Problem("G009", f"a second run changes {len(paths)} paths; {SHOWN} are listed"))
    return problems


def again(done: Cut) -> Snapshot:
    """Specialize the output and keep it in step once more; whatever still changes is a defect.

    The hand-made edits are not repeated: what they name is gone.
    """
    setting = Setting(done.upstream, done.manifest, done.facts, done.ours, done.opaque)
    specialized, followed = specialize_once(done.output, done.decided, setting)
    return done.output.replace({**specialized.files, **followed.files})


def true_places(
    problems: Iterable[Problem],
    upstream: Snapshot,
    output: Snapshot,
    manifest: Manifest,
    records: Iterable[Record] = (),
) -> list[Problem]:
    """Return the problems, and those that they stand for, each at the place where a person sees it."""
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
    """Return a problem in a line that an edit wrote, with its place; `marks`: of the edits of the file."""
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
    stated = [
        (edit.mark, None, edit.by.encode())
        for batch in manifest.batches
        for edit in batch.edits
        if edit.mark in marks and edit.kind != "body" and edit.by
    ]
    candidates = [
        *(each for each in written if each[2] == text),
        *(each for each in stated if each[2] in text),
        *(each for each in written if text in each[2]),  # which the formatter laid out: `use(a);`
    ]
    if not candidates:
        return problem
    mark, place, _ = candidates[0]
    return replace(problem, mark=problem.mark or mark, overlay=place)


def _texts(batch: Batch) -> Iterator[tuple[Mark, str, bytes]]:
    """Yield the statements that write lines of an overlay: place, overlay, prefix of such lines."""
    yield from ((edit.mark, edit.by, b"") for edit in batch.edits if edit.kind == "body" and edit.by)
    yield from ((patch.mark, patch.overlay, b"+") for patch in batch.patches)


def _moved(problem: Problem, old: Mark, new: Mark) -> Problem:
    """Return the problem with the place at the start of its message moved too."""
    before = f"{old.file}:{old.line}: "
    if not problem.message.startswith(before):
        return problem
    after = f"{new.file}:{new.line}: " if new.line else f"{new.file}: "
    return replace(problem, message=after + problem.message[len(before) :])
