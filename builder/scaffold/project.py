"""What a tree says about the Python project in it: its name, packages, entry points and build backend."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name

from builder.errors import fail
from builder.graph.names import path_of
from builder.source.fields import last_name
from builder.source.parse import parse
from builder.tree import Snapshot
from builder.upstream.commits import project_table

#: Files that make a folder the folder of a project, the most telling first.
_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


@dataclass(frozen=True, slots=True)
class PythonProject:
    """The project of a tree.

    `folder`: of its pyproject.toml or setup.py, empty for the top of the tree. `packages`: import name ->
    folder in the tree. `entries`: the modules that console scripts and other entry points name. `backend`:
    what builds its wheel. `repository`: where the project says that its code is, empty if it does not.
    """

    name: str
    folder: str
    packages: Mapping[str, str]
    entries: tuple[str, ...]
    backend: str
    repository: str
    static: bool  # pyproject.toml alone states everything but the version


@dataclass(frozen=True, slots=True)
class _Settings:
    """pyproject.toml, setup.cfg and the constant arguments of setup() in setup.py."""

    toml: Mapping[str, Any]
    cfg: Mapping[str, Mapping[str, str]]
    setup: Mapping[str, Any]

    @property
    def project(self) -> Mapping[str, Any]:
        return _table(self.toml, "project")

    def tool(self, *keys: str) -> Any:
        """A value below [tool]; None if there is none."""
        value: Any = self.toml.get("tool")
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def find(snapshot: Snapshot, name: str = "") -> PythonProject:
    """The project of a tree; `name`: what it is called, where that is known.

    Raises BuildError U001 for a tree without a project that has a package.
    """
    folder = _folder(snapshot)
    if folder is None:
        raise fail("U001", "The tree has no pyproject.toml, setup.cfg or setup.py: it is no Python project.")
    prefix = f"{folder}/" if folder else ""
    settings = _Settings(
        project_table(snapshot.get(f"{prefix}pyproject.toml", b"")),
        _cfg(snapshot.get(f"{prefix}setup.cfg", b"")),
        _setup(snapshot.get(f"{prefix}setup.py", b"")),
    )
    name = name or _name(settings) or folder.rpartition("/")[2]
    targets = sorted(set(_targets(settings)))
    packages = _packages(snapshot, prefix, settings, name, targets)
    if not packages:
        where = f"`{folder}/`" if folder else "the tree"
        raise fail(
            "U001",
            f"No package was found in {where}: the builder cuts packages, which are folders with modules.",
            hint="write the manifest by hand if the packages lie elsewhere: docs/manifest.md",
        )
    return PythonProject(
        name or next(iter(packages)),
        folder,
        packages,
        tuple(t for t in targets if any(path in snapshot for path in path_of(t, packages) or ())),
        str(_table(settings.toml, "build-system").get("build-backend") or "setup.py"),
        _repository(settings),
        _static(settings, f"{prefix}setup.py" in snapshot),
    )


def _folder(snapshot: Snapshot) -> str | None:
    """The folder of the project: the one nearest to the top, with the most telling file."""
    candidates = [
        (path.count("/"), _FILES.index(last), path.rpartition("/")[0])
        for path in snapshot
        if (last := path.rpartition("/")[2]) in _FILES and _describes(snapshot[path], last)
    ]
    return min(candidates)[2] if candidates else None


def _describes(data: bytes, name: str) -> bool:
    """Return whether a file states a project, and not only the settings of tools."""
    if name == "setup.py":
        return b"setup" in data
    if name == "setup.cfg":
        return "metadata" in _cfg(data)
    table = project_table(data)
    tool = table.get("tool")
    return "project" in table or "build-system" in table or (isinstance(tool, Mapping) and "poetry" in tool)


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def _cfg(data: bytes) -> Mapping[str, Mapping[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(data.decode("utf-8", "replace"))
    except configparser.Error:
        return {}
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _setup(data: bytes) -> Mapping[str, Any]:
    """The arguments of setup() that are constants."""
    try:
        tree = parse(data, "setup.py").tree
    except SyntaxError:
        return {}
    constants: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) == "setup":
            for keyword in node.keywords:
                with suppress(ValueError, TypeError, SyntaxError):
                    constants[keyword.arg or ""] = ast.literal_eval(keyword.value)
    return constants


def _name(settings: _Settings) -> str:
    stated = (
        settings.project.get("name"),
        settings.tool("poetry", "name"),
        settings.cfg.get("metadata", {}).get("name"),
        settings.setup.get("name"),
    )
    return next((name for name in stated if isinstance(name, str) and name), "")


def _targets(settings: _Settings) -> Iterator[str]:
    """The modules that entry points name."""
    project = settings.project
    tables = [project.get("scripts"), project.get("gui-scripts"), settings.tool("poetry", "scripts")]
    for groups in (project.get("entry-points"), settings.tool("poetry", "plugins")):
        tables += list(groups.values()) if isinstance(groups, Mapping) else []
    texts = [v for table in tables if isinstance(table, Mapping) for v in table.values()]
    stated = settings.setup.get("entry_points")
    if isinstance(stated, Mapping):
        for lines in stated.values():
            texts += lines.splitlines() if isinstance(lines, str) else list(lines)
    for lines in settings.cfg.get("options.entry_points", {}).values():
        texts += lines.splitlines()
    for text in texts:
        module = str(text).rpartition("=")[2].partition(":")[0].strip()
        if _is_name(module):
            yield module


def _packages(
    snapshot: Snapshot, prefix: str, settings: _Settings, name: str, targets: Iterable[str]
) -> dict[str, str]:
    """Import name -> folder: those that the backend is told, that the project is called like, or that hold
    an entry point; where there are none, every folder beside them with an `__init__.py`."""
    where = _list(settings.tool("setuptools", "packages", "find", "where"))
    modules = {path.rpartition("/")[0] for path in snapshot if path.endswith(".py")}
    inits = {path.removesuffix("/__init__.py") for path in snapshot if path.endswith("/__init__.py")}
    wanted = [*_listed(settings), re.sub(r"[-.]+", "_", name), *(t.partition(".")[0] for t in targets)]
    wanted += [name.replace("-", ".")]
    others: dict[str, str] = {}  # the packages directly in the first base that has any
    for base in dict.fromkeys([*(str(base).strip("./") for base in where), "src", ""]):
        above = prefix + (f"{base}/" if base else "")
        below = {folder[len(above) :]: folder for folder in sorted(inits) if folder.startswith(above)}
        tops = {name: folder for name, folder in below.items() if name.isidentifier()}
        spelt = {canonicalize_name(top): top for top in tops}
        packages: dict[str, str] = {}
        for package in wanted:
            folder = above + package.replace(".", "/")
            if top := spelt.get(canonicalize_name(package.partition(".")[0])):
                packages.setdefault(top, tops[top])
            elif folder in modules and _is_name(package):  # without an __init__.py
                packages.setdefault(package, folder)
        if packages:
            return packages
        others = others or tops
    return others


def _is_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _listed(settings: _Settings) -> Iterator[str]:
    """The names of packages that the settings of a build backend list."""
    for name in (*_list(settings.tool("setuptools", "packages")), *_list(settings.setup.get("packages"))):
        yield str(name).partition(".")[0]
    for path in settings.tool("hatch", "build", "targets", "wheel", "packages") or ():
        yield str(path).rstrip("/").rpartition("/")[2]
    for table in settings.tool("poetry", "packages") or ():
        if isinstance(table, Mapping):
            yield str(table.get("include", "")).partition("/")[0]
    if isinstance(module := settings.tool("flit", "module", "name"), str):
        yield module


def _repository(settings: _Settings) -> str:
    """The address that is called the source or the repository, else the homepage."""
    metadata = settings.cfg.get("metadata", {})
    listed = (line.partition("=") for line in metadata.get("project_urls", "").splitlines())
    texts = {"homepage": str(settings.setup.get("url") or metadata.get("url") or "")}
    texts |= {label.strip().lower(): url.strip() for label, _, url in listed}
    for urls in (settings.setup.get("project_urls"), settings.project.get("urls")):
        if isinstance(urls, Mapping):
            texts |= {str(label).lower(): str(url) for label, url in urls.items()}
    for word in ("repository", "source", "code", "github", "homepage"):
        for label, url in texts.items():
            if word in label and re.fullmatch(r"https://\S+", url):
                return url
    return ""


def _static(settings: _Settings, has_setup: bool) -> bool:
    """Return whether pyproject.toml alone states what a wheel needs, and setuptools makes it."""
    backend = _table(settings.toml, "build-system").get("build-backend")
    dynamic = settings.project.get("dynamic", ())
    options = any(section.startswith("options") for section in settings.cfg)
    return (
        backend == "setuptools.build_meta"
        and "name" in settings.project
        and set(dynamic) <= {"version"}
        and settings.tool("setuptools", "packages") is not None
        and not has_setup
        and not options
    )
