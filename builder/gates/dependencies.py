"""G008: pyproject.toml requires what the code imports, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from builder.analysis.distributions import provided_by, requirement_name
from builder.analysis.externals import Uses, externals
from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import Project, Requirement
from builder.errors import Mark, Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import TomlEdit


def check(
    project: Project, upstream: Project | None, before: IndexedTree, after: IndexedTree, manifest: Manifest
) -> list[Problem]:
    """Requirements of one project that nothing imports, and imports that nothing required provides.

    A requirement that nothing imports needs a reason in the manifest (`guarantees.dependencies`), unless a
    batch that is off would have removed it. An import
    that may fail needs no requirement, and neither does one that upstream has without a requirement: what
    another distribution brings along, and what the user installs for an optional part.
    """
    uses = externals(after, project, manifest)
    problems = [_problem(project, row) for row in unused(project, uses, manifest)]
    if upstream is not None:
        problems += _uncovered(project, upstream, externals(before, upstream, manifest), uses)
    return problems


def unused(project: Project, uses: Uses, manifest: Manifest) -> Iterator[Requirement]:
    """The requirements of a project that nothing imports and that the manifest does not account for."""
    used = {name for module in uses for name in provided_by(module)}
    kept_names = {requirement_name(item.name) for item in manifest.guarantees.dependencies}
    for row in project.requirements:
        if row.name in used or row.name in kept_names or row.name == project.name:
            continue
        if any(_removes(edit, row, project) for edit in manifest.toml_given_back):
            continue
        yield row


def _problem(project: Project, row: Requirement) -> Problem:
    extra = f" (extra {row.extra})" if row.extra else ""
    return Problem(
        "G008",
        f"{project.path}: the dependency {row.text!r}{extra} is imported nowhere",
        upstream=Mark(project.path),
        hint="remove it by a TOML edit, or say under guarantees.dependencies why it stays",
    )


def _removes(edit: TomlEdit, row: Requirement, project: Project) -> bool:
    """Would the edit take this requirement out, alone or with all of its extra?"""
    where = f"project.optional-dependencies.{row.extra}" if row.extra else "project.dependencies"
    return (edit.file, edit.op, edit.key) == (project.path, "remove", where) and (
        edit.value is None or requirement_name(str(edit.value)) == row.name
    )


def _uncovered(project: Project, upstream: Project, was: Uses, now: Uses) -> Iterator[Problem]:
    declared = {row.name for row in project.requirements}
    dropped = {row.name: row for row in upstream.requirements if row.name not in declared}
    imported_before = {module.partition(".")[0] for module in was}
    uses_by_requirement: dict[str, list[tuple[str, int, str]]] = {}
    for module, places in now.items():
        providers = provided_by(module)
        places = [place for place in places if not place[2]]
        if not places or declared.intersection(providers):
            continue
        requirement = next((name for name in providers if name in dropped), None)
        if requirement is None and module.partition(".")[0] in imported_before:
            continue
        uses_by_requirement.setdefault(requirement or "", []).extend(
            (path, line, module) for path, line, _ in places
        )
    for requirement, uses in sorted(uses_by_requirement.items()):
        for path, line, module, more in _first(uses, every=not requirement):
            after = (
                f"no longer depends on {dropped[requirement].text!r}"
                if requirement
                else "depends on nothing that has it"
            )
            yield Problem(
                "G008",
                f"{path}:{line}: {module} is imported{more}, and {project.path} {after}",
                upstream=Mark(path, line),
            )


def _first(uses: list[tuple[str, int, str]], every: bool) -> Iterator[tuple[str, int, str, str]]:
    """The first place, and how many more there are; or the first one of each module."""
    by_module: dict[str, list[tuple[str, int, str]]] = {}
    for use in sorted(uses):
        by_module.setdefault(use[2].partition(".")[0] if every else "", []).append(use)
    for rows in by_module.values():
        yield *rows[0], f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""


def stated(projects: Iterable[Project], manifest: Manifest) -> Iterator[Problem]:
    """Reasons for dependencies that no project has."""
    declared = {row.name for project in projects for row in project.requirements}
    for item in manifest.guarantees.dependencies:
        if requirement_name(item.name) not in declared:
            message = f"No pyproject.toml depends on {item.name}, which must stay: {item.why}"
            hint = "say by `since` or `until` which versions have it"
            yield Problem("G008", message, item.mark, hint=hint, nothing=True)
