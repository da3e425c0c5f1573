"""The manifest as a frozen dataclass: its upstreams, roots, batches, guarantees, kernel wheel and scopes.

`statements` has what a batch decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from builder.errors import Mark
from builder.manifest import values
from builder.manifest.statements import Batch, Note, Rule, Statement, TomlEdit

#: The name of the scope that is the manifest as it stands.
DEFAULT_SCOPE = "default"


@dataclass(frozen=True, slots=True)
class Pin:
    """A named upstream: a git commit, or a release's sdist or wheel with its sha256.

    `python`: the version of Python (`3.12`) that the wheel is for; None for the newest that has one.
    """

    name: str
    mark: Mark
    commit: str | None = None
    sdist: str | None = None
    sha256: str | None = None
    version: str | None = None  # upstream's version, where its own files do not state it
    wheel: str | None = None
    python: str | None = None

    @property
    def release(self) -> str | None:
        """The version of the release that this is; None for a commit."""
        return self.sdist or self.wheel


@dataclass(frozen=True, slots=True)
class Project:
    """The Python project of an upstream: its name on the package index, and the folder of its pyproject.toml
    (without a slash at the end; empty for the top of the tree)."""

    name: str = ""
    folder: str = ""

    @property
    def prefix(self) -> str:
        """What the paths of the project's files begin with."""
        return f"{self.folder}/" if self.folder else ""

    @property
    def pyproject(self) -> str:
        """The path of its pyproject.toml."""
        return f"{self.prefix}pyproject.toml"


NO_PROJECT = Project()


@dataclass(frozen=True, slots=True)
class Upstream:
    repository: str
    pins: Mapping[str, Pin]
    default: str
    project: Project = NO_PROJECT


@dataclass(frozen=True, slots=True)
class DynamicEdge(Statement):
    """An import that no statement shows: `source` loads every module that `target` matches.

    `of_kept_models`: it loads them for the models that they import, so it does not require a module
    that imports no kept model.
    """

    about = "source"

    source: Annotated[str, "from"]
    target: Annotated[str, "to"]
    why: str
    of_kept_models: bool = False


@dataclass(frozen=True, slots=True)
class Root(Statement):
    """A module that must work, or a package with everything below it (`package.*`)."""

    name: Annotated[str, Note.ALONE]


@dataclass(frozen=True, slots=True)
class Kept(Statement):
    """A path, qualified name or model that must be in the output, unless it is optional and upstream lacks
    it."""

    name: Annotated[str, Note.ALONE, Note.PLACE]


@dataclass(frozen=True, slots=True)
class Roots:
    """What must work: modules, and the kept models (module names inside `model_package`).

    `programs`: patterns of modules that are started by their name where they can be. `command_line`: the
    module whose parser reads the command line of the main program. Without a package of models,
    `model_package` is empty. `tables`: names of tables in upstream's code, from architecture to (module of
    that package, class); without them, each of its modules states its architectures itself. `used_by`:
    modules whose models stay with them.
    """

    modules: tuple[Root, ...]
    kept: Annotated[tuple[Kept, ...], "models.keep"]
    model_package: Annotated[str, "models.package"]
    dynamic: tuple[DynamicEdge, ...] = ()
    programs: tuple[str, ...] = ()
    command_line: str = ""
    tables: Annotated[tuple[str, ...], "models.tables"] = ()
    used_by: Annotated[tuple[Root, ...], "models.used_by"] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the kept models."""
        return tuple(one.name for one in self.kept)


@dataclass(frozen=True, slots=True)
class AbsentText:
    """A guarantee: the regular expression matches nowhere in these paths, but for the exceptions.

    `batches` make it hold: with one of them switched off, it is not checked.
    """

    pattern: Annotated[str, values.regex]
    paths: Annotated[tuple[str, ...], "in", values.patterns]
    mark: Mark
    exceptions: tuple[TextException, ...] = ()
    batches: Annotated[tuple[str, ...], values.batches] = ()


@dataclass(frozen=True, slots=True)
class TextException(Statement):
    """Where a guarantee of absence does not hold, and why: a path pattern, and the text there."""

    about = "path"

    path: Annotated[str, values.pattern, Note.SEVERAL]
    text: str | None
    why: str


@dataclass(frozen=True, slots=True)
class KeptDependency(Statement):
    """A requirement that stays although no import statement needs it, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Guarantees:
    absent_text: tuple[AbsentText, ...] = ()
    present: tuple[Kept, ...] = ()
    dependencies: tuple[KeptDependency, ...] = ()
    everywhere: tuple[TextException, ...] = ()  # files in which anything may be named


@dataclass(frozen=True, slots=True)
class WheelRule(Statement):
    """Members of the published kernel wheel that are removed: a path pattern, and why.

    With `batch` the rule is part of that decision: with the batch switched off, so is the rule.
    """

    about = "pattern"

    pattern: Annotated[str, "path", values.rule]
    why: str
    batch: Annotated[str, values.batch] = ""


@dataclass(frozen=True, slots=True)
class Architecture(Statement):
    """A kept folder of the kernel wheel with the code of one architecture (`sm90`)."""

    name: Annotated[str, Note.ALONE, Note.PLACE]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How the published kernel wheel is repacked. `distributions`: its possible names."""

    distributions: tuple[str, ...]
    mark: Mark
    remove: tuple[WheelRule, ...] = ()
    architectures: Annotated[tuple[Architecture, ...], "architectures.keep"] = ()  # empty: all stay


@dataclass(frozen=True, slots=True)
class Item:
    """A row of the scope: a decision, the batches and statements that carry it out, and the evidence."""

    section: str
    id: str
    what: str
    decision: str
    mark: Mark
    batches: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    keeps: tuple[Kept, ...] = ()
    gates: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)  # pin -> the most lines of code


@dataclass(frozen=True, slots=True)
class NamedScope:
    """A variant of the distribution: what it adds to the default scope, or removes from it.

    `without`: batches that are off. `only_here`: batches that are on in this scope alone. `models`: kept
    beside those of the roots. `architectures`: those that the kernel wheel keeps; empty for all that
    the manifest keeps. `pins`: where the variant is proven.
    """

    name: str
    why: str
    mark: Mark
    without: Annotated[tuple[str, ...], values.batches] = ()
    only_here: Annotated[tuple[str, ...], "with", values.batches] = ()
    models: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()

    @property
    def changes_distribution(self) -> bool:
        """Whether the tree and the wheel differ from those of the default scope."""
        return bool(self.without or self.only_here or self.models)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of manifest.yaml and its parts. `batches[0]` is the implicit batch `base` with the top-level keep
    rules and facts; the others follow in order."""

    file: str
    name: str
    label: str
    upstream: Upstream
    packages: Annotated[Mapping[str, str], values.folders]  # import name -> folder
    roots: Roots
    batches: tuple[Batch, ...]
    guarantees: Guarantees = field(default_factory=Guarantees)
    texts: Mapping[str, str] = field(default_factory=dict)  # file -> text, of manifest.yaml and its parts
    marks: Mapping[tuple[str | int, ...], Mark] = field(default_factory=dict)  # path in `file` -> its place
    # the paths in which dead definitions are removed
    prune_symbols: Annotated[tuple[Rule, ...], {"prune_symbols": {"verdict": "keep"}}] = ()
    digest: str = ""  # sha256 of all texts and overlays in use, batches that are off included
    statements: str = ""  # the same of the statements in this scope, without comments and layout
    scope_statements: Mapping[str, str] = field(default_factory=dict)  # named scope -> the same in it
    overlays: Mapping[str, bytes] = field(default_factory=dict)  # overlay path -> content
    kernel: Kernel | None = None
    # files that are opened only by their names
    named_files: Annotated[tuple[Rule, ...], {"named_files": {"verdict": "keep"}}] = ()
    scope: tuple[Item, ...] = ()
    given_back: tuple[Rule, ...] = ()  # rules of batches that are switched off
    words_given_back: tuple[Batch, ...] = ()  # batches that are switched off, of which only the words count
    toml_given_back: tuple[TomlEdit, ...] = ()  # TOML edits of batches that are switched off
    scopes: Mapping[str, NamedScope] = field(default_factory=dict)
    scope_name: str = DEFAULT_SCOPE  # the scope that this manifest is in
    switched_on: tuple[str, ...] = ()  # batches that are on though they are off in the scope, sorted
    wheel: Annotated[bool, lambda node: node.data is not False] = (
        True  # the builder makes a wheel of the tree
    )

    @property
    def named_scope(self) -> NamedScope | None:
        """The scope that this manifest is in; None in the default one."""
        return self.scopes.get(self.scope_name)

    @property
    def off_by_default(self) -> frozenset[str]:
        """The batches that are on only in the scopes that name them."""
        return frozenset(batch for scope in self.scopes.values() for batch in scope.only_here)

    def mark(self, *path: str | int) -> Mark:
        """Return the place of the value at this path of manifest.yaml: `mark("roots", "modules", 0)`."""
        return self.marks.get(path) or (self.mark(*path[:-1]) if path else Mark(self.file))

    def model_mark(self, model: str) -> Mark:
        """Return the place that keeps a model."""
        return next(one.mark for one in self.roots.kept if one.name == model)
