"""What a tree says about the Python project in it: its name, packages, entry points and build backend."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from packaging.utils import canonicalize_name

from builder.emit.members import wheel_members
from builder.errors import BuildError, fail
from builder.graph.names import folder_of, path_of
from builder.manifest.model import Project
from builder.source.fields import last_name
from builder.source.parse import parse_leniently
from builder.tree import Snapshot
from builder.upstream.commits import project_table, value_at

#: Files that make a folder the folder of a project, the most telling first.
_FILES = ("pyproject.toml", "setup.cfg", "setup.py")

#: Where pyproject.toml lists folders of packages.
_PATHS = (
    ("hatch", "build", "packages"),
    ("hatch", "build", "targets", "wheel", "packages"),
    ("hatch", "build", "targets", "wheel", "only-include"),
    ("scikit-build", "wheel", "packages"),
)

#: Folders beside a project file that are seldom packages, for the most part those that setuptools leaves out.
NO_PACKAGE = re.compile(
    r"(?:ci|bin|debian|docs?|documentation|news|changelog|(?:unit_?|integration_?)?tests?|examples?|scripts|tools"
    r"|utils?|python|src|build|benchmarks?|exercises?|tasks|notebooks|samples?)(?:\..*)?"
)


@dataclass(frozen=True, slots=True)
class PythonProject:
    """The project of a tree.

    `folder`: of its pyproject.toml or setup.py, empty for the top of the tree. `packages`: import name ->
    folder in the tree. `entries`: the modules that console scripts and other entry points name. `extras`: the
    names of its optional dependencies. `backend`: what builds its wheel. `repository`: where the project says
    that its code is, empty if it does not.
    """

    name: str
    folder: str
    packages: Mapping[str, str]
    entries: tuple[str, ...]
    extras: tuple[str, ...]
    backend: str
    repository: str
    static: bool  # pyproject.toml alone states everything but the version, as the builder reads it


@dataclass(frozen=True, slots=True)
class _Settings:
    """pyproject.toml, setup.cfg and the constant arguments of setup() in setup.py."""

    toml: Mapping[str, Any]
    cfg: Mapping[str, Mapping[str, str]]
    setup: Mapping[str, Any]

    @property
    def project(self) -> Mapping[str, Any]:
        return _mapping(self.toml.get("project"))

    @property
    def backend(self) -> Any:
        return value_at(self.toml, "build-system", "build-backend")

    def tool(self, *keys: str) -> Any:
        """A value below [tool]; None if there is none."""
        return value_at(self.toml, "tool", *keys)


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
        tuple(dict.fromkeys(_extras(settings))),
        str(settings.backend or "setup.py"),
        _repository(settings),
        _static(settings, f"{prefix}setup.py" in snapshot) and _packable(snapshot, Project(name, folder)),
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
    poetry = value_at(table, "tool", "poetry")
    return "project" in table or "build-system" in table or poetry is not None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _cfg(data: bytes) -> Mapping[str, Mapping[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(data.decode("utf-8", "replace"))
    except configparser.Error:
        return {}
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _setup(data: bytes) -> Mapping[str, Any]:
    """The arguments of setup() that are constants; `find_packages()` as pyproject.toml would state it."""
    constants: dict[str, Any] = {}
    for node in ast.walk(parse_leniently(data, "setup.py").tree):
        if isinstance(node, ast.Call) and last_name(node.func) == "setup":
            for keyword in node.keywords:
                with suppress(ValueError, TypeError, SyntaxError):
                    constants[keyword.arg or ""] = _constant(keyword.value)
    return constants


def _constant(node: ast.expr) -> Any:
    if not isinstance(node, ast.Call) or not last_name(node.func).startswith("find"):
        return ast.literal_eval(node)
    given = dict(zip(("where", "exclude", "include"), node.args, strict=False))
    given |= {keyword.arg or "": keyword.value for keyword in node.keywords}
    return {"find": {key: ast.literal_eval(value) for key, value in given.items()}}


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
        tables += _mapping(groups).values()
    texts = [text for table in tables for text in _mapping(table).values()]
    for lines in _mapping(settings.setup.get("entry_points")).values():
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
    """Import name -> folder: what the build backend is told; else what the project is called like, or what
    holds an entry point; else every folder with an `__init__.py` that is called like a package."""
    python = sorted({path.rpartition("/")[0] for path in snapshot if path.endswith(".py")})
    mapped = sorted(  # the packages to which `package-dir` gives a folder of their own
        (package, prefix + str(folder).removeprefix("./").strip("/"))
        for _, folders in _setuptools(settings)
        for package, folder in folders.items()
        if package and _is_name(package)
    )
    packages = {
        package: folder
        for package, folder in mapped
        if any(f"{one}/".startswith(f"{folder}/") for one in python)
    }
    for base, pattern, excluded in _told(settings):
        tops = _tops(python, prefix, base)
        packages |= {
            top: folder
            for top, folder in tops.items()
            if _matches(top, pattern)
            and not any(fnmatchcase(top, one) for one in excluded)
            and (pattern != "*" or _unasked(snapshot, top, folder, base))
            and folder_of(top, packages) is None
        }
    if packages:
        return packages
    bases = [_tops(python, prefix, base) for base in ("src", "")]
    for tops in bases:
        called = [top for top in tops if canonicalize_name(top) == canonicalize_name(name)]
        called += [top for top in tops if any(_matches(top, target) for target in targets)]
        if called:
            return {top: tops[top] for top in called}
    for tops in bases:
        if others := {top: folder for top, folder in tops.items() if _unasked(snapshot, top, folder)}:
            return others
    return {}


def _tops(python: Iterable[str], prefix: str, base: str) -> dict[str, str]:
    """Import name -> folder of the outermost packages below the folder `base` of the project. `python`: the
    folders with modules, sorted. A folder that holds none is a namespace, and no package."""
    base = base.removeprefix(".").strip("/")
    above = prefix + (f"{base}/" if base else "")
    tops: dict[str, str] = {}
    for folder in python:
        package = folder.removeprefix(above).replace("/", ".")
        nested = any(package.startswith(f"{top}.") for top in tops)
        if folder.startswith(above) and not nested and _is_name(package):
            tops[package] = folder
    return tops


def _matches(package: str, pattern: str) -> bool:
    """Return whether a pattern, or the name of a package inside or around, stands for a package."""
    inside = f"{pattern}.".startswith(f"{package}.") or f"{package}.".startswith(f"{pattern}.")
    return inside or fnmatchcase(package, pattern)


def _unasked(snapshot: Snapshot, package: str, folder: str, base: str = "") -> bool:
    """Return whether a folder is a package though no setting names it: beside a project file, folders of
    tests, documents and tools are none."""
    regular = "." in package or f"{folder}/__init__.py" in snapshot
    return bool(base.strip("./")) or (regular and not NO_PACKAGE.fullmatch(package))


def _is_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _lines(value: Any) -> list[str]:
    """A list of a project file: as such, or as setup.cfg writes one."""
    if isinstance(value, str):
        value = re.split(r"[,\n]", value)
    texts = value if isinstance(value, list | tuple) else ()
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _setuptools(settings: _Settings) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """What each file tells setuptools: the packages, or `{find: ...}`, and `package-dir`."""
    yield settings.tool("setuptools", "packages"), _mapping(settings.tool("setuptools", "package-dir"))
    options = settings.cfg.get("options", {})
    packages: Any = options.get("packages")
    if str(packages).startswith("find"):
        packages = {"find": settings.cfg.get("options.packages.find", {})}
    folders = (line.partition("=") for line in _lines(options.get("package_dir")))
    yield packages, {package.strip(): folder.strip() for package, _, folder in folders}
    yield settings.setup.get("packages"), _mapping(settings.setup.get("package_dir"))


def _told(settings: _Settings) -> Iterator[tuple[str, str, Sequence[str]]]:
    """What build backends are told of packages: a folder, a pattern of names in it, and exceptions."""
    stated = list(_setuptools(settings))
    for packages, folders in stated:
        base = str(folders.get("", ""))
        if isinstance(packages, Mapping):
            find = _mapping(packages.get("find"))
            for where in _lines(find.get("where")) or [base]:
                for pattern in _lines(find.get("include")) or "*":
                    yield where, pattern, _lines(find.get("exclude"))
        yield from ((base, package, ()) for package in _lines(packages))
        if packages is None and base:
            yield base, "*", ()
    by_setuptools = str(settings.backend or "setuptools").startswith("setuptools")
    if by_setuptools and not any(packages or folders for packages, folders in stated):
        yield "src", "*", ()  # what setuptools finds by itself
    for keys in _PATHS:
        bases = {path.strip("./") for path in _lines(settings.tool(*keys[:-1], "sources"))}
        for path in _lines(settings.tool(*keys)):
            base, _, package = path.removeprefix("./").strip("/").rpartition("/")
            # hatch takes a source out of the paths of what it packs: the packages are below it
            yield (path.strip("./"), "*", ()) if path.strip("./") in bases else (base, package, ())
    for table in settings.tool("poetry", "packages") or ():
        if isinstance(table, Mapping):
            package = str(table.get("include", "")).partition("*")[0].strip("/").replace("/", ".")
            yield str(table.get("from", "")), package, ()
    for table, key in (("module", "name"), ("metadata", "module")):
        if isinstance(module := settings.tool("flit", table, key), str):
            yield from ((base, module, ()) for base in ("src", ""))


def _extras(settings: _Settings) -> Iterator[str]:
    yield from _mapping(settings.project.get("optional-dependencies"))
    yield from _mapping(settings.tool("poetry", "extras"))
    yield from settings.cfg.get("options.extras_require", {})
    yield from _mapping(settings.setup.get("extras_require"))


def _repository(settings: _Settings) -> str:
    """The address that is called the source or the repository, else the homepage."""
    metadata = settings.cfg.get("metadata", {})
    listed = (line.partition("=") for line in metadata.get("project_urls", "").splitlines())
    texts = {"homepage": str(settings.setup.get("url") or metadata.get("url") or "")}
    texts |= {label.strip().lower(): url.strip() for label, _, url in listed}
    poetry = settings.tool("poetry")
    for urls in (settings.setup.get("project_urls"), poetry, settings.project.get("urls")):
        texts |= {str(label).lower(): str(url) for label, url in _mapping(urls).items()}
    for word in ("repository", "source", "code", "github", "homepage"):
        for label, url in texts.items():
            if word in label and re.fullmatch(r"https://\S+", url):
                return url
    return ""


def _static(settings: _Settings, has_setup: bool) -> bool:
    """Return whether pyproject.toml alone states what a wheel needs, and setuptools makes it."""
    dynamic = settings.project.get("dynamic", ())
    options = any(section.startswith("options") for section in settings.cfg)
    return (
        settings.backend == "setuptools.build_meta"
        and "name" in settings.project
        and set(dynamic) <= {"version"}
        and settings.tool("setuptools", "packages") is not None
        and not has_setup
        and not options
    )


def _packable(snapshot: Snapshot, project: Project) -> bool:
    """Return whether the builder itself can choose the files of the wheel."""
    try:
        wheel_members(snapshot, project)
    except BuildError:
        return False
    return True
