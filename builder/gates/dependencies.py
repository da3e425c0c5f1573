"""G008: pyproject.toml requires what the code imports, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import Project, Requirement, Uses, externals, provided_by, requirement_name
from builder.errors import Mark, Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import TomlEdit


def check(
    project: Project, upstream: Project | None, before: IndexedTree, after: IndexedTree, manifest: Manifest
) -> list[Problem]:
    """Problems for requirements that nothing imports, and for imports that no requirement provides.

    A requirement that nothing imports needs a reason in the manifest (`guarantees.dependencies`), unless a
    batch that is off would have removed it. An import that may fail needs no requirement, nor does one for
    which upstream has none: another distribution brings it, or the user installs it for an optional part.
    """
    uses = externals(after, project)
    was = externals(before, upstream) if upstream is not None else {}
    problems = list(_unused(project, uses, was, manifest))
    if upstream is not None:
        problems += _uncovered(project, upstream, was, uses)
    return problems


def _unused(project: Project, uses: Uses, was: Uses, manifest: Manifest) -> Iterator[Problem]:
    """Yield a problem for each requirement that nothing imports, and one for a whole extra of such."""
    by_key: dict[str, list[Requirement]] = {}
    for row in unused(project, uses, manifest):
        by_key.setdefault(row.key, []).append(row)
    packages = tuple(f"{folder}/" for folder in project.packages.values())
    for key, rows in by_key.items():
        whole = bool(rows[0].extra) and len(rows) == sum(row.key == key for row in project.requirements)
        for row in rows[:1] if whole else rows:
            texts = ", ".join(repr(one.text) for one in (rows if whole else [row]))
            extra = f" (extra {row.extra})" if row.extra else ""
            noun, verb = ("dependencies", "are") if whole and len(rows) > 1 else ("dependency", "is")
            message = f"{project.path}: the {noun} {texts}{extra} {verb} imported nowhere"
            value = f", value: {row.name}" if row.listed and not whole else ""
            edit = f"add `{{file: {project.path}, remove: {row.key}{value}}}` to `toml` of the batch"
            stays = "say under guarantees.dependencies why it stays"
            hint = f"{edit} that took the imports, or {stays}"
            places = [place for name in was if row.name in provided_by(name) for place, _, _ in was[name]]
            if places and not any(place.startswith(packages) for place in places):
                hint = f"no file of the packages imported it, only {min(places)} did: {stays}, or {edit}"
            yield Problem("G008", message, upstream=Mark(project.path), hint=hint)


def unused(project: Project, uses: Uses, manifest: Manifest) -> Iterator[Requirement]:
    """The requirements of a project that nothing imports and that the manifest does not account for."""
    used = {name for module in uses for name in provided_by(module)}
    kept_names = {requirement_name(item.name) for item in manifest.guarantees.dependencies}
    for row in project.requirements:
        needed = row.name in used or row.name in kept_names or row.name == project.name
        if not needed and not any(_removes(edit, row, project) for edit in manifest.toml_given_back):
            yield row


def _removes(edit: TomlEdit, row: Requirement, project: Project) -> bool:
    """Return whether the edit removes this requirement, alone or with all of its extra."""
    return (edit.file, edit.op, edit.key) == (project.path, "remove", row.key) and (
        edit.value is None or requirement_name(str(edit.value)) == row.name
    )


def _uncovered(project: Project, upstream: Project, was: Uses, now: Uses) -> Iterator[Problem]:
    declared = {row.name for row in project.requirements}
    dropped = {row.name: row for row in upstream.requirements if row.name not in declared}
    imported_before = {module.partition(".")[0] for module in was}
    # by the requirement that was dropped, or by the module where upstream requires nothing for it either
    uses: dict[tuple[str, str], list[tuple[str, int, str]]] = {}
    for module, places in now.items():
        providers = provided_by(module)
        needed = [(path, line, module) for path, line, may_fail in places if not may_fail]
        if not needed or declared.intersection(providers):
            continue
        requirement = next((name for name in providers if name in dropped), None)
        top = module.partition(".")[0]
        if requirement is not None or top not in imported_before:
            uses.setdefault((requirement, "") if requirement else ("", top), []).extend(needed)
    in_order = sorted((requirement, min(rows), len(rows) - 1) for (requirement, _), rows in uses.items())
    for requirement, (path, line, module), others in in_order:
        more = f" (and {others} more)" if others else ""
        lost = f"no longer depends on {dropped[requirement].text!r}" if requirement else ""
        message = f"{path}:{line}: {module} is imported{more}, and {project.path} "
        message += lost or "depends on nothing that has it"
        yield Problem("G008", message, upstream=Mark(path, line))


def stated(projects: Iterable[Project], manifest: Manifest) -> Iterator[Problem]:
    """Reasons for dependencies that no project has."""
    declared = {row.name for project in projects for row in project.requirements}
    for item in manifest.guarantees.dependencies:
        if requirement_name(item.name) not in declared:
            message = f"No pyproject.toml depends on {item.name}, which must stay: {item.why}"
            hint = "say by `since` or `until` which versions have it"
            yield Problem("G008", message, item.mark, hint=hint, nothing=True)
