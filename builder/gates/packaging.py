"""G008: package data, dependencies, extensions and console scripts agree with the code of the output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import (
    RUNTIME_SUFFIXES,
    Project,
    Requirement,
    Uses,
    externals,
    projects,
    provided_by,
    requirement_name,
)
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.gates import extensions
from builder.manifest.model import Manifest
from builder.manifest.statements import TomlEdit
from builder.tree import Snapshot

_TEST = re.compile(r"(?:^|/)test_[^/]*$|_test\.[a-z]+$")


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """Problems of each project's package data, dependencies and scripts.

    Data files (upstream's own wheel lacks some when it is built without git) and dependencies that nothing
    imports are judged by the output alone; all else must be right if upstream's is. What only an edit of a
    batch that is off would correct is no problem.
    """
    old = {p.path: p for p in projects(before.snapshot, manifest.packages)}
    new = projects(after.snapshot, manifest.packages)
    problems = list(_stated(new, manifest))
    problems += extensions.check(before, after, manifest, removals)
    for project in new:
        upstream = old.get(project.path)
        problems += _data(project, upstream, before, after, manifest)
        problems += _requirements(project, upstream, before, after, manifest)
        if upstream is not None:
            problems += _scripts(project, upstream, before, after)
    return problems


def _pattern(pattern: str) -> re.Pattern[str]:
    """A package-data glob as setuptools reads it: `*` stays within a folder, `**` does not."""
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        parts.append(special.get(piece) or re.escape(piece))
    return re.compile("".join(parts))


def package_files(project: Project, snapshot: Snapshot) -> dict[str, list[str]]:
    """package-data pattern (`package: glob`) -> the files of the tree that it matches."""
    matched_files: dict[str, list[str]] = {}
    for package, globs in (project.package_data or {}).items():
        for folder in _folders(project, package):
            prefix = folder + "/"
            inside = [p[len(prefix) :] for p in snapshot if p.startswith(prefix)]
            for glob in globs:
                matches = _pattern(glob).fullmatch
                rows = matched_files.setdefault(f"{package}: {glob}", [])
                rows += [prefix + p for p in inside if matches(p)]
    return matched_files


def _folders(project: Project, package: str) -> list[str]:
    if package in ("", "*"):
        return sorted(project.packages.values())
    top, _, rest = package.partition(".")
    folder = project.packages.get(top)
    return [folder + ("/" + rest.replace(".", "/") if rest else "")] if folder else []


def _data(
    project: Project, upstream: Project | None, before: IndexedTree, after: IndexedTree, manifest: Manifest
) -> Iterator[Problem]:
    if project.package_data is None:
        return
    matched = package_files(project, after.snapshot)
    granted = package_files(replace(project, package_data=_given_back(project, manifest)), after.snapshot)
    carried = {p for rows in (*matched.values(), *granted.values()) for p in rows}
    unpacked = [
        path
        for folder in sorted(project.packages.values())
        for path in after.snapshot
        if path.startswith(folder + "/") and path.endswith(RUNTIME_SUFFIXES) and path not in carried
    ]
    for path in _referenced(unpacked, after.snapshot, sorted(project.packages.values())):
        message = f"{path} is used at run time, and no package-data pattern of {project.path} packs it"
        hint = f"add a pattern for *{path[path.rindex('.') :]} in {path.rpartition('/')[0]}"
        yield Problem("G008", message, upstream=Mark(project.path), hint=hint)
    old = package_files(upstream, before.snapshot) if upstream else {}
    # files whose names are built at run time are named nowhere, but upstream packs them
    for path in sorted({p for rows in old.values() for p in rows} - carried):
        if path in after.snapshot:
            message = f"{path} is packed by upstream, and no package-data pattern of {project.path} packs it"
            yield Problem("G008", message, upstream=Mark(project.path))
    for pattern, rows in matched.items():
        if not rows and old.get(pattern):
            message = f"{project.path}: the package-data pattern {pattern!r} matches nothing any more"
            yield Problem("G008", message, upstream=Mark(project.path), hint="remove it by a TOML edit")


def _given_back(project: Project, manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """package -> the globs of package data that batches which are off would have added."""
    prefix = "tool.setuptools.package-data."
    globs: dict[str, tuple[str, ...]] = {}
    for edit in manifest.toml_given_back:
        if edit.file == project.path and edit.op == "add" and edit.key.startswith(prefix):
            package = edit.key.removeprefix(prefix)
            globs[package] = (*globs.get(package, ()), str(edit.value))
    return globs


def _referenced(paths: Sequence[str], snapshot: Snapshot, folders: Sequence[str]) -> list[str]:
    """The paths that another source file of the packages names; tests do not count."""
    if not paths:
        return []
    sources = [
        p
        for p in snapshot
        if p.endswith((".py", ".cuh", ".cu", ".h", ".hpp", ".cpp", ".cc"))
        and any(p.startswith(f + "/") for f in folders)
        and not _TEST.search(p)
    ]
    wanted = {path: path.rpartition("/")[2] for path in paths}
    # any of the names in one search, because most sources have none of them
    names = re.compile(b"|".join(re.escape(n.encode()) for n in sorted(set(wanted.values()))))
    seen: dict[str, set[str]] = {}
    for source in sources:
        for name in set(names.findall(snapshot[source])):
            seen.setdefault(name.decode(), set()).add(source)
    return sorted(p for p, name in wanted.items() if seen.get(name, set()) - {p})


def _scripts(
    project: Project, upstream: Project, before: IndexedTree, after: IndexedTree
) -> Iterator[Problem]:
    for script, target in sorted(project.scripts.items()):
        module, _, name = target.partition(":")
        module = module.strip()
        dotted = f"{module}.{name.strip()}".rstrip(".")
        # a package that makes names when they are asked for does not make a module
        there, was = (tree.index.locate(dotted) is not None for tree in (after, before))
        there = there and (after.index.has_module(module) or not before.index.has_module(module))
        if not there and (was or upstream.scripts.get(script) != target):
            message = (
                f"{project.path}: the console script {script} names {target}, which is not in the output"
            )
            edit = f"{{file: {project.path}, remove: project.scripts.{script}}}"
            hint = f"add `{edit}` to `toml` of the batch that took it"
            yield Problem("G008", message, upstream=Mark(project.path), hint=hint)


def _requirements(
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


def _stated(projects: Iterable[Project], manifest: Manifest) -> Iterator[Problem]:
    """Reasons for dependencies that no project has."""
    declared = {row.name for project in projects for row in project.requirements}
    for item in manifest.guarantees.dependencies:
        if requirement_name(item.name) not in declared:
            message = f"No pyproject.toml depends on {item.name}, which must stay: {item.why}"
            hint = "say by `since` or `until` which versions have it"
            yield Problem("G008", message, item.mark, hint=hint, nothing=True)
