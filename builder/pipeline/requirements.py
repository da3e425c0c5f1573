"""Removes the requirements that only removed code imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from builder.analysis.distributions import modules_of, provided_by
from builder.analysis.indexed_tree import IndexedTree, world
from builder.analysis.projects import Project, Uses, externals, projects
from builder.gates.dependencies import unused
from builder.graph.modules import SummaryCache
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule, TomlEdit
from builder.overlay import toml
from builder.pipeline.overlay import Overlaid
from builder.tree import Snapshot


def drop_requirements(
    output: Snapshot,
    before: IndexedTree,
    removed: Mapping[str, Rule],
    manifest: Manifest,
    known: SummaryCache,
) -> Overlaid:
    """Remove the requirements that the packages of upstream import and those of the output do not.

    One that upstream does not import either is for a person to judge (G008). An extra of which nothing is left
    stays, so that it may be asked for. `removed`: the rule of each removed path; `known`: summaries of files
    of the output.
    """
    old = {project.path: project for project in projects(before.snapshot, manifest.packages)}
    otherwise = Rule("", "remove", BASE, mark=manifest.mark("roots"))
    done = Overlaid({})
    for project in projects(output, manifest.packages):
        if project.path not in old:
            continue
        importers = _importers(old[project.path], before, manifest)
        imported = tuple(row for row in project.requirements if row.listed and row.name in importers)
        uses = _uses(project, output, (row.name for row in imported), manifest, known)
        edits = []
        for row in unused(replace(project, requirements=imported), uses, manifest):
            rule = next((removed[path] for path in importers[row.name] if path in removed), otherwise)
            why = "Nothing imports it any more."
            item = TomlEdit(project.path, "remove", row.key, row.text, rule.batch, why, mark=rule.mark)
            edits.append(item)
        done.current[project.path] = output[project.path]
        done.edited(project.path, toml.edit(project.path, output[project.path], edits))
    return done


def _importers(project: Project, tree: IndexedTree, manifest: Manifest) -> dict[str, list[str]]:
    """Return requirement -> the files of a project's packages that import what provides it."""
    folders = tuple(f"{folder}/" for folder in project.packages.values())
    found: dict[str, list[str]] = {}
    for module, places in externals(tree, project, manifest).items():
        paths = sorted({path for path, _, _ in places if path.startswith(folders)})
        for name in provided_by(module) if paths else ():
            found.setdefault(name, []).extend(paths)
    return found


def _uses(
    project: Project, output: Snapshot, names: Iterable[str], manifest: Manifest, known: SummaryCache
) -> Uses:
    """Return what a project's Python imports of these requirements."""
    words = [word.encode() for name in names for word in modules_of(name)]
    inside = [path for path in output if path.startswith(project.folder) and path.endswith(".py")]
    naming = output.restrict(path for path in inside if any(word in output[path] for word in words))
    return externals(world(naming, manifest.packages, known), project, manifest)
