"""What one Python file says about itself: a `Summary`, a value that can be cached by blob id.

Paths become module names through the packages of the manifest (import name -> folder), so a folder
without `__init__.py` is a package like any other.
"""

from __future__ import annotations

import gc
import os
import pickle
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from builder.tree import GITLINK, SYMLINK, Snapshot

#: Changes whenever `summarise` can give another value for the same bytes.
SUMMARY_VERSION = 1

#: Below this number of files, starting a second process costs more than it saves.
FORK_FROM = 50

ImportKind = Literal["eager", "guarded", "lazy", "typing"]
DefinitionKind = Literal["function", "class", "constant", "import", "attribute"]


class Import(NamedTuple):
    """One name that one import statement brings in.

    eager: runs when the module is imported. guarded: so, but under an `if`, or in a `try` that
    catches ImportError. lazy: inside a function. typing: under `if TYPE_CHECKING`.
    """

    target: str  # absolute module name; leading dots are left when a script imports relatively
    name: str | None  # None: `import target`; `*`: a star import
    asname: str | None
    kind: ImportKind
    tried: bool  # inside a `try` that catches ImportError
    line: int

    @property
    def star(self) -> bool:
        return self.name == "*"

    @property
    def bound(self) -> str:
        """The local name that this import binds (`*` for a star import)."""
        return self.asname or self.name or self.target.partition(".")[0]


class Definition(NamedTuple):
    """A name with its kind and the line of its first definition in the file."""

    kind: DefinitionKind
    line: int


class Dynamic(NamedTuple):
    """A call that imports by value; `argument` is the module, with `*` for what is not constant."""

    line: int
    call: str
    argument: str | None


class Reference(NamedTuple):
    """A string constant that is spelt like a module, or a name in a module, of the packages."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What a Python file imports, binds, defines and refers to; a function of path and bytes."""

    path: str
    module: str  # "" for a file outside the packages
    package: bool  # the file is an `__init__.py`
    imports: tuple[Import, ...] = ()
    names: Mapping[str, Definition] = field(default_factory=dict)  # bound at module level
    members: Mapping[str, Definition] = field(default_factory=dict)  # `Class.method`, `A.B.x`, ...
    attributes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # class -> self.x -> line
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # class -> bases as written
    stores: frozenset[str] = frozenset()  # x of every `something.x = ...` that is not `self.x`
    exports: tuple[str, ...] | None = None  # `__all__`; None: not there, or not a constant
    dynamic: tuple[Dynamic, ...] = ()
    references: tuple[Reference, ...] = ()
    open: bool = False  # more names may exist: module `__getattr__`, writes to globals()
    error: tuple[int, str] | None = None  # line and message when the file does not parse

    @property
    def definitions(self) -> dict[str, Definition]:
        """Functions, classes, constants and class members by qualified name; imports are not among them."""
        own = {name: d for name, d in self.names.items() if d.kind != "import"}
        return {**own, **self.members}


def module_of(path: str, packages: Mapping[str, str]) -> str | None:
    """The module name of a .py file inside one of the packages; None for any other path."""
    if not path.endswith(".py"):
        return None
    for name, folder in packages.items():
        prefix = folder.rstrip("/") + "/"
        if path.startswith(prefix):
            parts = path[len(prefix) : -3].split("/")
            if parts[-1] == "__init__":
                parts.pop()
            return ".".join([name, *parts])
    return None


def path_of(module: str, packages: Mapping[str, str]) -> tuple[str, str] | None:
    """The two paths a module can have, as a file and as a package; None outside the packages."""
    top, _, rest = module.partition(".")
    folder = packages.get(top)
    if folder is None:
        return None
    base = folder.rstrip("/") + ("/" + rest.replace(".", "/") if rest else "")
    return base + ".py", base + "/__init__.py"


def summarise(data: bytes, path: str, module: str, tops: tuple[str, ...] = ()) -> Summary:
    """The summary of one file. Never raises for bad source: the summary then holds the error.

    `tops` are the import names of the packages, for string constants that name their modules.
    """
    from builder.graph.scan import scan

    return scan(data, path, module, tops)


def python_paths(snapshot: Snapshot) -> list[str]:
    """The regular files of a snapshot that end in .py, sorted."""
    tree = snapshot.tree
    return [p for p in tree if p.endswith(".py") and tree[p].mode not in (SYMLINK, GITLINK)]


def summary_key(path: str, blob: str) -> tuple[str, str, int]:
    """What a summary depends on (the packages aside): a cache uses this as its key."""
    return path, blob, SUMMARY_VERSION


Known = Mapping[tuple[str, str, int], Summary]


def summaries(
    snapshot: Snapshot, packages: Mapping[str, str], workers: int = 2, known: Known | None = None
) -> dict[str, Summary]:
    """The summary of every .py file of a snapshot, by path, in sorted order.

    Files found in `known` are not parsed. With more than `FORK_FROM` files left and `workers` > 1
    the parsing is spread over forked processes; the result does not depend on it.
    """
    found: dict[str, Summary] = {}
    todo: list[str] = []
    for path in python_paths(snapshot):
        old = known.get(summary_key(path, snapshot.tree[path].blob)) if known else None
        if old is None:
            todo.append(path)
        else:
            found[path] = old
    if workers > 1 and len(todo) > FORK_FROM and hasattr(os, "fork"):
        found.update(_forked(snapshot, packages, todo, workers))
    else:
        found.update(_several(snapshot, packages, todo))
    return dict(sorted(found.items()))


def _several(snapshot: Snapshot, packages: Mapping[str, str], paths: Iterable[str]) -> dict[str, Summary]:
    tops = tuple(sorted(packages))
    collecting = gc.isenabled()
    gc.disable()  # trees are acyclic and short-lived: collection costs a fifth of the parsing
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's invalid escapes are not our findings
            return {p: summarise(snapshot[p], p, module_of(p, packages) or "", tops) for p in paths}
    finally:
        if collecting:
            gc.enable()


def _shares(snapshot: Snapshot, paths: Sequence[str], count: int) -> list[list[str]]:
    """The paths in `count` lists of about equal bytes: largest first, to the lightest list."""
    shares: list[list[str]] = [[] for _ in range(count)]
    weights = [0] * count
    for size, path in sorted(((len(snapshot[p]), p) for p in paths), reverse=True):
        lightest = weights.index(min(weights))
        shares[lightest].append(path)
        weights[lightest] += size
    return shares


def _forked(
    snapshot: Snapshot, packages: Mapping[str, str], paths: Sequence[str], workers: int
) -> dict[str, Summary]:
    mine, *others = _shares(snapshot, paths, workers)
    children: list[tuple[int, int, list[str]]] = []
    for share in others:
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns when other threads exist
            child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(reading)
                with os.fdopen(writing, "wb") as pipe:
                    pipe.write(pickle.dumps(_several(snapshot, packages, share), pickle.HIGHEST_PROTOCOL))
                status = 0
            finally:
                os._exit(status)  # no exit handlers, no flushing of the parent's buffers
        os.close(writing)
        children.append((child, reading, share))
    found = _several(snapshot, packages, mine)
    for child, reading, share in children:
        with os.fdopen(reading, "rb") as pipe:
            data = pipe.read()
        _, status = os.waitpid(child, 0)
        # a worker that was killed (memory) costs time, not the build
        found.update(pickle.loads(data) if status == 0 else _several(snapshot, packages, share))
    return found
