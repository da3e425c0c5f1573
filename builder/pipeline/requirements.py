"""Removes requirements: those that a statement names, and those that only removed code imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import (
    Project,
    externals,
    projects,
    provided_by,
    requirement_name,
)
from builder.gates.packaging import unused
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule, TomlEdit
from builder.overlay import toml
from builder.pipeline.overlay import Overlaid


def decide_requirements(output: IndexedTree, edits: Sequence[TomlEdit], manifest: Manifest) -> Overlaid:
    """Carry out the stated removals of the requirements that the output does not need.

    Code that specialization removed needs nothing. An import whose failure is caught needs no requirement.
    """
    files = output.snapshot
    there = {project.path: project for project in projects(files, manifest.packages)}
    done = Overlaid({edit.file: files[edit.file] for edit in edits if edit.file in files})
    for path in sorted(done.current):
        names = {edit: requirement_name(edit.requirement or "") for edit in edits if edit.file == path}
        # a file that is no project of a package has no code that could need anything
        uses = externals(output, there[path]) if path in there else {}
        must = (module for module, places in uses.items() if any(not tried for _, _, tried in places))
        needed = {name for module in must for name in provided_by(module)}
        leaving = [edit for edit, name in names.items() if name not in needed]
        done.edited(path, toml.edit(path, files[path], leaving))
    return done


def drop_requirements(
    output: IndexedTree, before: IndexedTree, removed: Mapping[str, Rule], manifest: Manifest
) -> Overlaid:
    """Remove the requirements that the packages of upstream import and those of the output do not.

    One that upstream does not import either is for a person to judge (G008). An extra of which nothing is
    left stays, so that it may be asked for. `removed`: the rule of each removed path.
    """
    old = {project.path: project for project in projects(before.snapshot, manifest.packages)}
    otherwise = Rule("", "remove", BASE, mark=manifest.mark("roots"))
    done, files = Overlaid({}), output.snapshot
    for project in projects(files, manifest.packages):
        if project.path not in old:
            continue
        importers = _importers(old[project.path], before)
        imported = tuple(row for row in project.requirements if row.listed and row.name in importers)
        edits = []
        for row in unused(replace(project, requirements=imported), externals(output, project), manifest):
            rule = next((removed[path] for path in importers[row.name] if path in removed), otherwise)
            why = "Nothing imports it any more."
            item = TomlEdit(project.path, "remove", row.key, row.text, rule.batch, why, mark=rule.mark)
            edits.append(item)
        done.current[project.path] = files[project.path]
        done.edited(project.path, toml.edit(project.path, files[project.path], edits))
    return done


def _importers(project: Project, tree: IndexedTree) -> dict[str, list[str]]:
    """Return requirement -> the files of a project's packages that import what provides it."""
    folders = tuple(f"{folder}/" for folder in project.packages.values())
    found: dict[str, list[str]] = {}
    for module, places in externals(tree, project).items():
        paths = sorted({path for path, _, _ in places if path.startswith(folders)})
        for name in provided_by(module) if paths else ():
            found.setdefault(name, []).extend(paths)
    return found
