"""The pyproject.toml files of a tree, with the packages beside them and what their code imports."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from builder import adapter
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


#: Imported module (the longest prefix wins) -> distributions that may provide it.
_PROVIDED: dict[str, tuple[str, ...]] = {
    "PIL": ("pillow",),
    "absl": ("absl-py",),
    "attr": ("attrs",),
    "bs4": ("beautifulsoup4",),
    "cuda": ("cuda-python",),
    "cutlass": ("nvidia-cutlass-dsl",),
    "cv2": ("opencv-python-headless", "opencv-python"),
    "dateutil": ("python-dateutil",),
    "decord": ("decord2", "decord"),
    "dotenv": ("python-dotenv",),
    "flashinfer": ("flashinfer-python", "flashinfer-cubin"),
    "git": ("gitpython",),
    "google.protobuf": ("protobuf",),
    "grpc": ("grpcio",),
    "grpc_health": ("grpcio-health-checking",),
    "grpc_reflection": ("grpcio-reflection",),
    "grpc_tools": ("grpcio-tools",),
    "imageio": ("imageio", "imageio-ffmpeg"),
    "jwt": ("pyjwt",),
    "markdown_it": ("markdown-it-py",),
    "multipart": ("python-multipart",),
    "opentelemetry": ("opentelemetry-api",),
    "opentelemetry.exporter.otlp": ("opentelemetry-exporter-otlp",),
    "opentelemetry.exporter.otlp.proto.grpc": (
        "opentelemetry-exporter-otlp",
        "opentelemetry-exporter-otlp-proto-grpc",
    ),
    "opentelemetry.sdk": ("opentelemetry-sdk",),
    "pkg_resources": ("setuptools",),
    "pynvml": ("nvidia-ml-py",),
    "tvm_ffi": ("apache-tvm-ffi",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
    "zmq": ("pyzmq",),
    **adapter.DISTRIBUTIONS,
}


def requirement_name(text: str) -> str:
    """The normalised name of a PEP 508 requirement: lower case, with runs of `-_.` as one dash."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", text)
    return re.sub(r"[-_.]+", "-", match[1]).rstrip("-").lower() if match else ""


@lru_cache(maxsize=4096)
def provided_by(module: str) -> tuple[str, ...]:
    """The normalised names of the distributions that may provide a module."""
    name = module
    while name:
        if name in _PROVIDED:
            return _PROVIDED[name]
        name = name.rpartition(".")[0]
    return (requirement_name(module.partition(".")[0]),)


def modules_of(name: str) -> tuple[str, ...]:
    """The first parts of the modules that a distribution, by its normalised name, may provide."""
    special = {module.partition(".")[0] for module, names in _PROVIDED.items() if name in names}
    return (*sorted(special), name.replace("-", "_"))
