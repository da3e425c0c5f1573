"""The pyproject.toml files of a tree, with the packages beside them and what their code imports."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from builder.analysis.distributions import requirement_name
from builder.analysis.indexed_tree import IndexedTree
from builder.tree import Snapshot
from builder.upstream.commits import project_table

#: Files that programs read or compile at run time, when code or another such file names them.
RUNTIME_SUFFIXES = (
    ".cuh", ".cu", ".h", ".hpp", ".cpp", ".cc", ".json", ".jinja", ".yaml", ".yml", ".so", ".typed",
)  # fmt: skip


class Requirement(NamedTuple):
    """A requirement as written; `extra` is empty for a plain dependency.

    `key`: where pyproject.toml has it: a list, or for poetry's dependencies a key of its own (not `listed`).
    """

    name: str
    extra: str
    text: str
    key: str
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Project:
    """The content of a pyproject.toml, with the packages beside it."""

    path: str
    name: str  # normalised
    packages: Mapping[str, str]  # import name -> folder
    requirements: tuple[Requirement, ...]
    scripts: Mapping[str, str]
    package_data: Mapping[str, tuple[str, ...]] | None  # None: another build backend decides

    @property
    def folder(self) -> str:
        """The folder of the project, with a slash; empty for the top of the tree."""
        return self.path[: self.path.rfind("/") + 1]


def projects(snapshot: Snapshot, packages: Mapping[str, str]) -> list[Project]:
    """The projects of a tree: for each package, the nearest pyproject.toml above it."""
    by_path: dict[str, dict[str, str]] = {}
    for name, folder in sorted(packages.items()):
        above = folder.rstrip("/").split("/")[:-1]
        while above and "/".join([*above, "pyproject.toml"]) not in snapshot:
            above.pop()
        path = "/".join([*above, "pyproject.toml"])
        if path in snapshot:
            by_path.setdefault(path, {})[name] = folder.rstrip("/")
    return [_project(path, names, project_table(snapshot[path])) for path, names in sorted(by_path.items())]


def _project(path: str, packages: Mapping[str, str], table: Mapping[str, Any]) -> Project:
    project = table.get("project", {})
    tools = table.get("tool", {})
    data = tools.get("setuptools", {}).get("package-data")
    return Project(
        path,
        requirement_name(str(project.get("name", ""))),
        packages,
        tuple(_requirements(project, tools.get("poetry", {}))),
        {**project.get("scripts", {}), **project.get("gui-scripts", {})},
        {k: tuple(v) for k, v in data.items()} if data is not None else None,
    )


def _requirements(project: Mapping[str, Any], poetry: Mapping[str, Any]) -> Iterator[Requirement]:
    for text in project.get("dependencies", ()):
        yield Requirement(requirement_name(text), "", text, "project.dependencies")
    for extra, texts in project.get("optional-dependencies", {}).items():
        for text in texts:
            yield Requirement(requirement_name(text), extra, text, f"project.optional-dependencies.{extra}")
    for text in poetry.get("dependencies", {}):
        if text != "python":
            key = f"tool.poetry.dependencies.{text}"
            yield Requirement(requirement_name(text), "", text, key, listed=False)
    for extra, texts in poetry.get("extras", {}).items():
        for text in texts:
            yield Requirement(requirement_name(text), extra, text, f"tool.poetry.extras.{extra}")


#: imported module -> (file, line, whether it may fail) of each place
Uses = Mapping[str, list[tuple[str, int, bool]]]


def externals(world: IndexedTree, project: Project) -> Uses:
    """Return what a project's Python imports, by statement or by constant name, that is not its own.

    Imports for type checkers alone do not count.
    """
    uses: dict[str, list[tuple[str, int, bool]]] = {}
    own = {*project.packages, *sys.stdlib_module_names, "__future__"}
    for path, summary in world.summaries.items():
        if not path.startswith(project.folder):
            continue
        rows = [
            (f"{i.target}.{i.name}" if i.name and not i.star else i.target, i.line, i.tried)
            for i in summary.imports
            if i.kind != "typing"
        ]
        rows += [(d.argument, d.line, True) for d in summary.dynamic if d.argument and "*" not in d.argument]
        for module, line, tried in rows:
            if module.partition(".")[0] not in own:
                uses.setdefault(module, []).append((path, line, tried))
    return uses
