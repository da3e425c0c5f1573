"""Requirements that leave only where nothing of the output needs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from builder.analysis.distributions import modules_of, provided_by, requirement_name
from builder.analysis.externals import externals
from builder.analysis.indexed_tree import world
from builder.analysis.projects import Project, projects
from builder.errors import Mark, Problem
from builder.graph.modules import SummaryCache
from builder.manifest.model import Manifest
from builder.manifest.statements import TomlEdit
from builder.overlay import toml
from builder.overlay.record import Record
from builder.tree import Snapshot


@dataclass
class DecidedRequirements:
    """`files`: the contents that change."""

    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)


def decide_requirements(
    output: Snapshot, edits: Iterable[TomlEdit], manifest: Manifest, known: SummaryCache
) -> DecidedRequirements:
    """Carry out the removals (`edits`, all `unused`) of the requirements that the output does not use.

    They wait until the output is known: what folding took out needs nothing any more. An import whose
    failure is caught needs no requirement. `known`: summaries of files of the output.
    """
    by_file: dict[str, list[TomlEdit]] = {}
    for edit in edits:
        by_file.setdefault(edit.file, []).append(edit)
    done = DecidedRequirements()
    found = {project.path: project for project in projects(output, manifest.packages)} if by_file else {}
    for path, wanted in sorted(by_file.items()):
        if path not in found:
            message = f"`{path}` is edited, and it is no pyproject.toml of a package in the output."
            done.problems += [Problem("R005", message, e.mark, Mark(path)) for e in wanted if not e.optional]
            continue
        needed = _needed(found[path], output, [_name(edit) for edit in wanted], manifest, known)
        leaving = [edit for edit in wanted if _name(edit) not in needed]
        data, problems, records = toml.edit(path, output[path], leaving)
        done.files[path] = data
        done.problems += problems
        done.records += records
    return done


def _name(edit: TomlEdit) -> str:
    return requirement_name(str(edit.value))


def _needed(
    project: Project, output: Snapshot, names: Iterable[str], manifest: Manifest, known: SummaryCache
) -> set[str]:
    """Which of these requirements provide what a file imports and must have."""
    words = [word.encode() for name in names for word in modules_of(name)]
    named = [
        path
        for path in output
        if path.startswith(project.folder)
        and path.endswith(".py")
        and any(word in output[path] for word in words)
    ]
    uses = externals(world(output.restrict(named), manifest.packages, known), project, manifest)
    must = (module for module, places in uses.items() if any(not tried for _, _, tried in places))
    return {name for module in must for name in provided_by(module)}
