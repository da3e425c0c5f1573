"""Statements that no longer match a newer upstream: what became of their objects, and by which commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from builder.errors import Mark, Problem
from builder.graph.names import module_of
from builder.lift.finding import Finding
from builder.lift.history import Commit, Test
from builder.lift.insert import Proposal
from builder.lift.statements import batch_of, file_of, statements, words
from builder.lift.trial import Sides
from builder.manifest.model import Manifest
from builder.manifest.statements import AnchoredEdit, Edit, Rule, Statement, TomlEdit, WholeFile
from builder.overlay import anchored, structural, toml
from builder.overlay.files import differs
from builder.overlay.locate import Definition, Scope, Target, resolve
from builder.overlay.locate import statements as statements_in
from builder.pipeline.prune import partial_paths
from builder.pipeline.ranges import elsewhere
from builder.select.suggest import few
from builder.source.parse import parse_leniently

#: What the proposals for a statement that no longer matches do.
_PROPOSED = {"until": "say how long it matches", "moved": "the same for the new place"}
#: Problems with a single statement. Others are about the output, but for an exception that excuses nothing.
_CODES = ("R001", "R004", "R005", "R006", "R007", "R009")


def of_statement(problem: Problem) -> bool:
    """Return whether a problem is that of the statement at its mark, and not one of the output."""
    return problem.nothing or problem.code in _CODES


def lost(sides: Sides) -> list[Finding]:
    """Every statement that matched at the old upstream and does not at the new one, in the manifest's order.

    Without a problem it may match nothing: it stops nothing, but is worth knowing.
    """
    manifest, done = sides.manifest, sides.done
    by_mark = {p.mark: p for p in done.problems if p.mark is not None and of_statement(p)}
    within = partial_paths(sides.new, manifest.upstream.project.folder, sides.about_new.kind)
    # what matches the new upstream, or is about a place that it, a part of the repository, does not hold
    fine = {rule.mark for rule, count in done.selection.matches().items() if count}
    fine |= {record.mark for record in done.cut.records} if done.cut else set()
    fine |= elsewhere(manifest, sides.about_new, within)
    selection = sides.before.selection
    before: dict[Mark, list[str]] = {}
    for path, numbers in selection.matched.items():
        for number in numbers:
            before.setdefault(selection.rules[number].mark, []).append(path)
    findings = []
    for one in sorted(_once(sides), key=lambda one: one.mark):
        problem, paths = by_mark.get(one.mark), before.get(one.mark, [])
        matched = bool(paths) or one.mark in sides.edited
        if problem is not None or (matched and one.mark not in fine):
            findings.append(_lost(one, problem, paths, sides))
    return findings


def _once(sides: Sides) -> Iterator[Statement]:
    """Yield each statement once, by the first of its names that the old upstream has a file for."""
    names: dict[Mark, list[Statement]] = {}
    for one in statements(sides.manifest):
        names.setdefault(one.mark, []).append(one)
    packages = sides.manifest.packages
    for same in names.values():
        there = (one for one in same if file_of(one, packages, sides.old) in sides.old)
        yield next(there, same[0])


def _lost(one: Statement, problem: Problem | None, paths: Sequence[str], sides: Sides) -> Finding:
    """Return the statement with the commit to blame, the new places of its object, and the proposals.

    `paths`: those that a rule matched.
    """
    manifest, history = sides.manifest, sides.history
    commit: Commit | None = None
    moved: tuple[str, ...] = ()
    if isinstance(one, Rule):
        commit = history.emptied(paths)
        # a renamed path keeps its verdict; `arrivals` finds out whether a rule already decides the new name
        now = {renames[-1][1] for path in paths if (renames := history.fate(path)[0])}
        moved = _folded(sorted(path for path in now if path in sides.new), sides.new)
    elif (path := file_of(one, manifest.packages, sides.old)) in sides.old and path:
        matches = matcher(one, path, manifest)
        if matches is None:
            commit = history.fate(path)[1]
        else:
            commit, left = history.lost(path, matches)
            moved = tuple(_elsewhere(one, path, left, commit, sides)) if isinstance(one, Edit) else ()
    proposals: list[Proposal] = []
    # what it names may be elsewhere; that it is nowhere, or unknown for want of a history, is enough
    certain = problem is not None and (problem.nothing or commit is not None or not history.known)
    if problem is not None and certain and not one.optional:
        # it matches in fewer places than it states; `overlays` proposes what to do with a file that is there
        holds = {"R004": not problem.nothing, "R006": problem.upstream is not None}
        if not holds.get(problem.code):
            proposals.append(Proposal("until", batch_of(one), one.mark))
    if isinstance(one, Edit) and len(moved) == 1:
        proposals.append(Proposal("moved", one.batch, one.mark, text=moved[0]))
    data = {"statement": words(one), "batch": batch_of(one), "mark": one.mark, "optional": one.optional}
    data |= {"problem": problem, "commit": commit, "moved": moved}
    title = "No longer matches" if problem else "Optional, and no longer matches"
    text = _text(one, problem, commit, moved)
    if proposals:
        text += f" Proposed: {' and '.join(_PROPOSED[p.kind] for p in proposals)}."
    return Finding("lost", title, text, data, proposals=tuple(proposals), problem=problem)


def _text(one: Statement, problem: Problem | None, commit: Commit | None, moved: Sequence[str]) -> str:
    """What became of a statement, in sentences."""
    text = f"`{words(one)}` (batch {batch_of(one)}, {one.mark})"
    if problem is None:
        text += " matched and does not any more"
    elif problem.code in ("R001", "R009"):
        text += " matches nothing any more"
    elif problem.code == "R004" and problem.nothing:
        text += " finds nothing any more"
    else:
        text += f": {problem.message.rstrip('.')}"
    text += f", since {commit.cited}." if commit else "."
    if moved:
        text += f" It is now in {few(moved)}."
    if one.optional and problem is None:
        text += f" (It may match nothing: {one.optional}.)"
    if problem is not None and problem.hint and not moved:
        text += f" ({problem.hint.rstrip('.')}.)"
    return text


def _folded(paths: Sequence[str], tree: Collection[str]) -> tuple[str, ...]:
    """Return paths, with a folder in place of those that are all that it holds."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    result: list[str] = []
    for folder, inside in sorted(folders.items()):
        whole = folder and len(inside) > 1 and set(inside) == {p for p in tree if p.startswith(f"{folder}/")}
        result += [f"{folder}/"] if whole else inside
    return tuple(result)


def _elsewhere(edit: Edit, path: str, now: str | None, commit: Commit | None, sides: Sides) -> Iterator[str]:
    """Yield the scopes of the new upstream in which an edit matches that no longer matches in its own."""
    packages = sides.manifest.packages
    changes = commit.changes if commit else ()
    alike = [e for b in sides.manifest.batches for e in b.edits if e.kind == edit.kind]
    if not edit.match:  # a definition, stubbed, dropped or set
        dotted, _, _ = edit.target.partition(":")
        same = _defined(".".join(dotted.split(".")[-2:]), sides)
        if not same:  # in a file that the commit made, whatever its class is now
            files = (c.path for c in changes if c.status in ("A", "R"))
            modules = tuple(f"{module}." for path in files if (module := module_of(path, packages)))
            same = [name for name in _defined(dotted.rpartition(".")[2], sides) if name.startswith(modules)]
        own = {dotted, *(e.target for e in alike)}
        yield from (name + edit.target[len(dotted) :] for name in same if name not in own)
        return
    if edit.kind == "add-import":
        return
    changed = {c.path for c in changes if c.status != "D"}
    existing = {e.target for e in alike if e.match == edit.match}
    for candidate in dict.fromkeys((now, path, *sorted(changed))):
        module = module_of(candidate, packages) if candidate and candidate in sides.new else None
        if candidate and module:
            scope = _scope(edit, candidate, module, sides.new[candidate])
            if scope and scope != edit.target and scope not in existing:
                yield scope


def _defined(last: str, sides: Sides) -> list[str]:
    """The qualified names of the new upstream's definitions that end with these names."""
    summaries = sides.done.cut.before.summaries.values() if sides.done.cut else ()
    names = (f".{s.module}.{name}" for s in summaries if s.module for name in s.definitions)
    return sorted({name[1:] for name in names if name.endswith(f".{last}")})


def _scope(edit: Edit, path: str, module: str, data: bytes) -> str | None:
    """The innermost definition of a file that holds all places of an edit, if they are as many as stated."""
    done = structural.edit(path, data, [(replace(edit, target=module), Target(path, module, ()))], {})
    if not done.records or done.problems:
        return None
    lines = [record.line for record in done.records]
    names = [module]
    node: Scope = parse_leniently(data, path).tree
    while True:
        definitions = (each for each in statements_in(node) if isinstance(each, Definition))
        around = (d for d in definitions if d.lineno <= min(lines) and max(lines) <= (d.end_lineno or 0))
        inner = next(around, None)
        if inner is None:
            return ".".join(names)
        names.append(inner.name)
        node = inner


def matcher(stated: Statement, path: str, manifest: Manifest) -> Test | None:
    """Return a test of whether a version of a file has what an edit states; None for other statements."""
    match stated:
        case Edit():
            return lambda data: _edits(stated, path, manifest, data)
        case TomlEdit():
            return lambda data: bool(toml.edit(path, data, [stated])[2])
        case AnchoredEdit():
            return lambda data: bool(anchored.edit(path, data, [stated])[2])
        case WholeFile():
            return lambda data: differs(stated, data) is None
    return None


def _edits(edit: Edit, path: str, manifest: Manifest, data: bytes) -> bool:
    target = resolve(edit.target, manifest.packages, {path: None})
    if target is None or edit.kind == "add-import":
        return target is not None
    done = structural.edit(path, data, [(edit, target)], manifest.overlays)
    return bool(done.records) and not done.problems
