"""The summary of one Python file, a value that can be cached by blob id.

Paths become module names through the packages of the manifest (import name -> folder), so a folder
without `__init__.py` is a package like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from builder.graph.names import module_of
from builder.tree import GITLINK, SYMLINK, Snapshot

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
    """A string constant that is spelled like a module of the packages, or a name in one."""

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
    exports: tuple[str, ...] | None = None  # `__all__`; None: absent, or not a constant
    dynamic: tuple[Dynamic, ...] = ()
    references: tuple[Reference, ...] = ()
    mentions: tuple[Reference, ...] = ()  # dotted names of the packages inside any string
    program: bool = False  # `if __name__ == "__main__"` at its top
    open: bool = False  # more names may exist: module `__getattr__`, writes to globals()
    error: tuple[int, str] | None = None  # line and message when the file does not parse

    @property
    def definitions(self) -> dict[str, Definition]:
        """Functions, classes, constants and class members by qualified name; imports are not among them."""
        own = {name: d for name, d in self.names.items() if d.kind != "import"}
        return {**own, **self.members}


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


#: Summaries by what they depend on (the packages aside): the path and the blob of the file.
SummaryCache = Mapping[tuple[str, str], Summary]


def summaries(
    snapshot: Snapshot, packages: Mapping[str, str], known: SummaryCache | None = None
) -> dict[str, Summary]:
    """The summary of every .py file of a snapshot, by path, in sorted order.

    Files found in `known` are not parsed.
    """
    tops = tuple(sorted(packages))
    by_path: dict[str, Summary] = {}
    paths = sorted(python_paths(snapshot))
    for path in paths:
        old = known.get((path, snapshot.tree[path].blob)) if known else None
        if old is not None:
            by_path[path] = old
    todo = [path for path in paths if path not in by_path]
    # not shared with another process: whoever reads the files next finds them parsed
    for path in todo:
        by_path[path] = summarise(snapshot[path], path, module_of(path, packages) or "", tops)
    return {path: by_path[path] for path in paths}


def known_of(snapshot: Snapshot, by_path: Mapping[str, Summary]) -> dict[tuple[str, str], Summary]:
    """Summaries of files of a snapshot by what they depend on."""
    return {(path, snapshot.tree[path].blob): summary for path, summary in by_path.items()}
