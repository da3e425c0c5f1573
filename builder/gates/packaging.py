"""G008: package data, dependencies and console scripts agree with the code of the output."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from builder.errors import Mark, Problem
from builder.gates.distributions import provided_by, requirement_name
from builder.gates.world import Explained, World
from builder.graph.modules import Import
from builder.manifest.model import Manifest
from builder.tree import Snapshot

#: Files that programs read or compile at run time, when code or another such file names them.
RUNTIME = (".cuh", ".cu", ".h", ".hpp", ".cpp", ".cc", ".json", ".jinja", ".yaml", ".yml", ".so", ".typed")


_TEST = re.compile(r"(?:^|/)test_[^/]*$|_test\.[a-z]+$")


class Requirement(NamedTuple):
    """A requirement as written; `extra` is empty for a plain dependency."""

    name: str
    extra: str
    text: str


@dataclass(frozen=True, slots=True)
class Project:
    """What a pyproject.toml says about the packages beside it."""

    path: str
    packages: Mapping[str, str]  # import name -> folder
    requirements: tuple[Requirement, ...]
    scripts: Mapping[str, str]
    package_data: Mapping[str, tuple[str, ...]] | None  # None: another build backend decides


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
    return [_project(path, names, _toml(snapshot[path])) for path, names in sorted(by_path.items())]


def _toml(data: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib

        parse = tomllib.loads  # tomlkit keeps the layout, which costs ten times as much
    else:
        import tomlkit

        def parse(text: str) -> dict[str, Any]:
            return tomlkit.parse(text).unwrap()

    try:
        return parse(data.decode())
    except ValueError:  # both parsers' errors, and bad UTF-8
        return {}


def _project(path: str, packages: Mapping[str, str], table: Mapping[str, Any]) -> Project:
    project = table.get("project", {})
    rows = [Requirement(requirement_name(t), "", t) for t in project.get("dependencies", ())]
    for extra, texts in project.get("optional-dependencies", {}).items():
        rows += [Requirement(requirement_name(t), extra, t) for t in texts]
    setuptools = table.get("tool", {}).get("setuptools", {})
    data = setuptools.get("package-data")
    return Project(
        path,
        packages,
        tuple(rows),
        {**project.get("scripts", {}), **project.get("gui-scripts", {})},
        {k: tuple(v) for k, v in data.items()} if data is not None else None,
    )


def check(before: World, after: World, manifest: Manifest, explained: Explained) -> list[Problem]:
    """Problems of each project's package data, dependencies and scripts.

    Data files are judged by the output alone (upstream's own wheel misses some when it is built
    without git); the rest is what upstream had right and the output has not. A dependency that
    nothing imports stays without a finding when the manifest guarantees `dependency:NAME`.
    """
    old = {p.path: p for p in projects(before.snapshot, manifest.packages)}
    problems: list[Problem] = []
    for project in projects(after.snapshot, manifest.packages):
        upstream = old.get(project.path)
        problems += _data(project, upstream, before, after)
        if upstream is not None:
            problems += _dependencies(project, upstream, before, after, manifest)
            problems += _scripts(project, upstream, before, after)
    return problems


def _pattern(pattern: str) -> re.Pattern[str]:
    """A package-data glob as setuptools reads it: `*` stays within a folder, `**` does not."""
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        parts.append(special.get(piece) or re.escape(piece))
    return re.compile("".join(parts))


def packaged(project: Project, snapshot: Snapshot) -> dict[str, list[str]]:
    """package-data pattern (`package: glob`) -> the files of the tree that it matches."""
    found: dict[str, list[str]] = {}
    for package, globs in (project.package_data or {}).items():
        for folder in _folders(project, package):
            prefix = folder + "/"
            inside = [p[len(prefix) :] for p in snapshot if p.startswith(prefix)]
            for glob in globs:
                matches = _pattern(glob).fullmatch
                rows = found.setdefault(f"{package}: {glob}", [])
                rows += [prefix + p for p in inside if matches(p)]
    return found


def _folders(project: Project, package: str) -> list[str]:
    if package in ("", "*"):
        return sorted(project.packages.values())
    top, _, rest = package.partition(".")
    folder = project.packages.get(top)
    return [folder + ("/" + rest.replace(".", "/") if rest else "")] if folder else []


def _data(project: Project, upstream: Project | None, before: World, after: World) -> Iterator[Problem]:
    if project.package_data is None:
        return
    matched = packaged(project, after.snapshot)
    carried = {p for rows in matched.values() for p in rows}
    left = [
        path
        for folder in sorted(project.packages.values())
        for path in after.snapshot
        if path.startswith(folder + "/") and path.endswith(RUNTIME) and path not in carried
    ]
    for path in _referenced(left, after.snapshot, sorted(project.packages.values())):
        yield Problem(
            "G008",
            f"{path} is used at run time, and no package-data pattern of {project.path} packs it",
            upstream=Mark(project.path),
            hint=f"add a pattern for *{path[path.rindex('.') :]} in {path.rpartition('/')[0]}",
        )
    old = packaged(upstream, before.snapshot) if upstream else {}
    # files whose names are built at run time are named nowhere, but upstream packs them
    for path in sorted({p for rows in old.values() for p in rows} - carried):
        if path in after.snapshot:
            yield Problem(
                "G008",
                f"{path} is packed by upstream, and no package-data pattern of {project.path} packs it",
                upstream=Mark(project.path),
            )
    for pattern, rows in matched.items():
        if not rows and old.get(pattern):
            yield Problem(
                "G008",
                f"{project.path}: the package-data pattern {pattern!r} matches nothing any more",
                upstream=Mark(project.path),
                hint="remove it by a TOML edit",
            )


def _referenced(paths: Sequence[str], snapshot: Snapshot, folders: Sequence[str]) -> list[str]:
    """Those of the paths whose name stands in another source file of the packages that is no test."""
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


def _externals(world: World, project: Project) -> dict[str, list[tuple[str, Import]]]:
    """Imported module -> (file, import) for everything that is not the project's own."""
    found: dict[str, list[tuple[str, Import]]] = {}
    folders = tuple(f + "/" for f in project.packages.values())
    for path, summary in world.summaries.items():
        if path.startswith(folders):
            for item in summary.imports:
                if item.target.partition(".")[0] not in project.packages and item.kind != "typing":
                    full = f"{item.target}.{item.name}" if item.name and not item.star else item.target
                    found.setdefault(full, []).append((path, item))
    return found


def _dependencies(
    project: Project, upstream: Project, before: World, after: World, manifest: Manifest
) -> Iterator[Problem]:
    was, now = _externals(before, upstream), _externals(after, project)
    used_before = {d for module in was for d in provided_by(module)}
    used_after = {d for module in now for d in provided_by(module)}
    kept = {
        requirement_name(name.partition(":")[2])
        for name, _ in manifest.guarantees.present
        if name.startswith("dependency:")
    }
    for row in project.requirements:
        if row.name in used_before and row.name not in used_after and row.name not in kept:
            extra = f" (extra {row.extra})" if row.extra else ""
            yield Problem(
                "G008",
                f"{project.path}: the dependency {row.text!r}{extra} is imported nowhere any more",
                upstream=Mark(project.path),
                hint=f"remove it by a TOML edit, or guarantee `dependency:{row.name}`",
            )
    declared = {row.name for row in project.requirements}
    gone = {row.name: row for row in upstream.requirements if row.name not in declared}
    for name, row in sorted(gone.items()):
        uses = sorted(
            (path, item.line, module)
            for module, rows in now.items()
            if name in provided_by(module) and not set(provided_by(module)) & declared
            for path, item in rows
            if not item.tried
        )
        if uses:
            path, line, module = uses[0]
            more = f" (and {len(uses) - 1} more)" if len(uses) > 1 else ""
            yield Problem(
                "G008",
                f"{path}:{line}: {module} is imported{more}, and {project.path} no longer depends "
                f"on {row.text!r}",
                upstream=Mark(path, line),
            )
    for name, mark in manifest.guarantees.present:
        wanted = requirement_name(name.partition(":")[2])
        if name.startswith("dependency:") and wanted not in declared and wanted in gone:
            yield Problem("G008", f"{project.path}: {name} must be present, and is not", mark)


def _scripts(project: Project, upstream: Project, before: World, after: World) -> Iterator[Problem]:
    for script, target in sorted(project.scripts.items()):
        module, _, name = target.partition(":")
        dotted = f"{module.strip()}.{name.strip()}".rstrip(".")
        if after.index.locate(dotted) is None and (
            upstream.scripts.get(script) != target or before.index.locate(dotted) is not None
        ):
            yield Problem(
                "G008",
                f"{project.path}: the console script {script} names {target}, which is not in the output",
                upstream=Mark(project.path),
            )
