"""Statements that no longer match a newer upstream: what became of their objects, and by which commit."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.errors import Mark, Problem
from builder.graph.names import module_of
from builder.lift import culprit
from builder.lift.history import Commit, History
from builder.lift.insert import Proposal
from builder.lift.statements import Statement, file_of, statements
from builder.lift.trial import Sides, matched
from builder.manifest.statements import AnchoredEdit, Edit, Rule, TomlEdit
from builder.overlay import structural
from builder.overlay.locate import Definition, Scope, Target, resolve
from builder.overlay.locate import statements as statements_in
from builder.pipeline.prune import partial_paths
from builder.pipeline.ranges import elsewhere
from builder.source.parse import parse


@dataclass(frozen=True, slots=True)
class Lost:
    """A statement that matched at the old upstream and does not at the new one.

    `problem` is None for an optional statement: it stops nothing, but is worth knowing.
    `moved`: where its object is now, as far as that is certain.
    """

    statement: Statement
    problem: Problem | None
    commit: Commit | None
    moved: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()


#: What a single statement can be wrong about; other problems are about the output.
_CODES = ("R001", "R004", "R005", "R006", "R007", "R009")


def lost(sides: Sides) -> tuple[Lost, ...]:
    """Every statement that no longer matches, with its problem if any, in the manifest's order."""
    manifest, done = sides.manifest, sides.done
    by_mark = {p.mark: p for p in done.problems if p.mark is not None and p.code in _CODES}
    within = partial_paths(sides.new, manifest.upstream.project.folder, sides.about_new.kind)
    # what the new upstream, which may be a part of the repository, does not hold
    outside = elsewhere(manifest, sides.about_new, within)
    edited = {record.mark for record in done.cut.records} if done.cut else set()
    before, after = matched(sides.before.selection), matched(done.selection)
    items = []
    for statement in _once(sides):
        stated, mark = statement.stated, statement.mark
        paths: Sequence[str] = ()
        is_gone = False
        if isinstance(stated, Rule):
            paths = before.get(stated, ())
            is_gone = bool(paths) and not after.get(stated)
        elif isinstance(stated, (Edit, TomlEdit, AnchoredEdit)):
            is_gone = mark in sides.edited and mark not in edited
        problem = by_mark.get(mark)
        if problem is not None or (is_gone and mark not in outside):
            items.append(_lost(statement, problem, paths, sides))
    return tuple(sorted(items, key=lambda item: item.statement.mark))


def _once(sides: Sides) -> Iterator[Statement]:
    """Each statement once, by the first of its names that the old upstream has a file for."""
    names: dict[Mark, list[Statement]] = {}
    for statement in statements(sides.manifest):
        names.setdefault(statement.mark, []).append(statement)
    packages = sides.manifest.packages
    for same in names.values():
        there = (s for s in same if file_of(s.stated, packages, sides.old) in sides.old) if same[1:] else ()
        yield next(iter(there), same[0])


def _lost(statement: Statement, problem: Problem | None, paths: Sequence[str], sides: Sides) -> Lost:
    """The statement with the commit to blame, the new places of its object, and the proposals.

    `paths`: those that a rule matched.
    """
    stated, history = statement.stated, sides.history
    commit: Commit | None = None
    moved: tuple[str, ...] = ()
    proposals: list[Proposal] = []
    if isinstance(stated, Rule):
        commit = culprit.emptied(paths, history)
        # a renamed path keeps its verdict; `arrivals` finds out whether a rule already decides the new name
        now = {renames[-1][1] for path in paths if (renames := history.fate(path)[0])}
        moved = _folded(sorted(path for path in now if path in sides.new), sides.new)
    elif (path := file_of(stated, sides.manifest.packages, sides.old)) in sides.old and path:
        matches = culprit.matcher(stated, path, sides.manifest.packages, sides.manifest.overlays)
        if matches is None:
            commit = history.fate(path)[1]
        else:
            commit, left = culprit.lost(path, matches, history)
            if isinstance(stated, Edit):
                moved = tuple(_elsewhere(stated, path, left, commit, sides))
    if _is_over(statement, problem, commit, history):
        proposals.append(Proposal("until", statement.batch, statement.mark))
    if isinstance(stated, Edit) and len(moved) == 1:
        proposals.append(Proposal("moved", statement.batch, statement.mark, text=moved[0]))
    return Lost(statement, problem, commit, moved, tuple(proposals))


def _is_over(statement: Statement, problem: Problem | None, commit: Commit | None, history: History) -> bool:
    """Whether the version range of a statement has to end: because of the commit, or between releases, whose
    history nobody has, because the newer one lacks what it names."""
    if problem is None or statement.optional or (commit is None and history.known):
        return False
    if problem.code == "R006" and problem.upstream is not None:
        return False  # upstream still has the file: `overlays` proposes what to do with it
    return problem.code != "R004" or problem.nothing  # else it matches, but not as many places as it states


def _folded(paths: Sequence[str], tree: Iterable[str]) -> tuple[str, ...]:
    """Paths, with folders in place of those that make up all of one."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    result: list[str] = []
    for folder, inside in sorted(folders.items()):
        whole = folder and len(inside) > 1 and set(inside) == {p for p in tree if p.startswith(f"{folder}/")}
        result += [f"{folder}/"] if whole else inside
    return tuple(result)


def _elsewhere(edit: Edit, path: str, now: str | None, commit: Commit | None, sides: Sides) -> Iterator[str]:
    """Scopes of the new upstream in which the edit matches, when its own scope no longer does."""
    packages = sides.manifest.packages
    target = resolve(edit.target, packages, sides.old)
    if target is None:
        return
    if not edit.match:  # a definition, stubbed, dropped or set
        dotted = edit.target.partition(":")[0]
        same = _defined(".".join(dotted.split(".")[-2:]), sides)
        same = same or _written_by(commit, _defined(target.path[-1], sides), packages)
        own = {dotted, *(e.target for b in sides.manifest.batches for e in b.edits if e.kind == edit.kind)}
        yield from (name + edit.target[len(dotted) :] for name in same if name not in own)
        return
    if edit.kind == "add-import":
        return
    changed = {c.path for c in commit.changes if c.status != "D"} if commit else set()
    existing = {(e.kind, e.match, e.target) for b in sides.manifest.batches for e in b.edits if e.match}
    for candidate in dict.fromkeys((now, path, *sorted(changed))):
        module = module_of(candidate, packages) if candidate and candidate in sides.new else None
        if candidate and module:
            scope = _scope(edit, candidate, module, sides.new[candidate])
            if scope and scope != edit.target and (edit.kind, edit.match, scope) not in existing:
                yield scope


def _defined(last: str, sides: Sides) -> list[str]:
    """The qualified names of the new upstream's definitions that end with these names."""
    summaries = sides.done.cut.before.summaries.values() if sides.done.cut else ()
    names = (f".{s.module}.{name}" for s in summaries if s.module for name in s.definitions)
    return sorted({name[1:] for name in names if name.endswith(f".{last}")})


def _written_by(commit: Commit | None, names: Sequence[str], packages: Mapping[str, str]) -> list[str]:
    """Those of some qualified names that stand in a file that a commit made, whatever their class is now."""
    new_paths = {c.path for c in commit.changes if c.status in ("A", "R")} if commit else set()
    modules = {module for path in new_paths if (module := module_of(path, packages))}
    return [name for name in names if any(name.startswith(f"{module}.") for module in modules)]


def _scope(edit: Edit, path: str, module: str, data: bytes) -> str | None:
    """The innermost definition of a file that holds all places of an edit, if they are as many as stated."""
    try:
        parsed = parse(data, path)
    except SyntaxError:
        return None
    plan = structural.plan(parsed, [(replace(edit, target=module), Target(path, module, ()))])
    if not plan.records or plan.problems:
        return None
    lines = [record.line for record in plan.records]
    names = [module]
    node: Scope = parsed.tree
    while inner := next((each for each in statements_in(node) if _holds(each, lines)), None):
        assert isinstance(inner, Definition)
        names.append(inner.name)
        node = inner
    return ".".join(names)


def _holds(statement: ast.stmt, lines: Sequence[int]) -> bool:
    """Whether a statement is a definition that all the lines lie in."""
    last = statement.end_lineno or 0
    return isinstance(statement, Definition) and statement.lineno <= min(lines) and max(lines) <= last
