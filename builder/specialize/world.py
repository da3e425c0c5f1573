"""All kept Python files at one moment: who defines what, what is known and what is gone across files.

A world is frozen during a round, so that the order of files and the number of workers cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NamedTuple, ParamSpec

from builder.graph.names import packages_around
from builder.specialize.evaluating.facts import Facts, Gone, KnownValue
from builder.specialize.evaluating.scopes import (
    Binding,
    Imported,
    ModuleBindings,
    imported_by,
    module_bindings,
)
from builder.specialize.text_index.content import Content, Contents
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.unit import Unit

P = ParamSpec("P")


class Asked(NamedTuple):
    """A question about the whole program, and what it is asked about."""

    question: Callable[..., bool]
    about: tuple[str, ...]


def question(find: Callable[P, bool]) -> Callable[P, bool]:
    """Make a function a question about the whole program: a world finds the answer once.

    Its first argument is the world, the others are strings, and its answer is a function of the program's
    files. What cannot be known gets the answer by which code stays.
    """

    @wraps(find)
    def asked(*args: P.args, **kwargs: P.kwargs) -> bool:
        world, *about = args
        return world.ask(asked, *about)  # type: ignore[attr-defined, no-any-return]

    return asked


@dataclass
class Memory:
    """What earlier rounds found out; it only grows."""

    constants: dict[str, KnownValue] = field(default_factory=dict)  # module.name
    functions: dict[str, KnownValue] = field(default_factory=dict)  # module.function: what every call returns
    gone: dict[str, str] = field(default_factory=dict)  # qualified name -> why
    local: dict[str, dict[tuple[str, str], str]] = field(
        default_factory=dict
    )  # path -> (scope, name) -> gone

    def sizes(self) -> tuple[int, ...]:
        """How much is known: two states of one memory with the same sizes are the same."""
        local = sum(map(len, self.local.values()))
        return len(self.constants), len(self.functions), len(self.gone), local


@dataclass
class KnownOfFiles:
    """What is known of the files, from one world to the next: whoever changes a file takes its unit out, and
    changes `words` and `links`, the identifiers and imports of all files."""

    contents: Contents
    words: IdentifierIndex
    links: ImportIndex
    units: dict[str, Unit] = field(default_factory=dict)

    @staticmethod
    def of(files: Mapping[str, bytes], names: Mapping[str, str], contents: Contents) -> KnownOfFiles:
        words = IdentifierIndex(files)
        return KnownOfFiles(contents, words, ImportIndex(files, names, words, contents))


class SpecializerWorld:
    """The files of one round with the facts and the memory of the rounds before."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        names: Mapping[str, str],
        removed: Collection[str],
        facts: Facts,
        memory: Memory,
        known: KnownOfFiles,
        removed_files: Mapping[str, bytes] | None = None,
    ) -> None:
        """`names`: path -> module; `removed`: module -> why it is gone; `removed_files`: the text of removed
        modules, by their names."""
        self.files = files
        self.names = names
        self.paths = {name: path for path, name in names.items() if path in files}
        self.removed = removed
        self.removed_files = removed_files or {}
        self.facts = facts
        self.memory = memory
        self._known = known
        self.contents, self.words, self.links = known.contents, known.words, known.links
        self.links = (
            known.links if known.links is not None else ImportIndex(files, names, self.words, known.contents)
        )
        self._folders = _folders(self.paths)
        self._removed_folders = _folders(removed)
        self._asking: set[Asked] = set()
        self._answered: dict[Asked, bool] = {}
        self._resolving: set[tuple[str, str]] = set()
        self._resolved: dict[tuple[str, str], str | Gone | None] = {}
        #: what others derive from this world, by their own keys
        self.derived: dict[Any, Any] = {}

    def unit(self, path: str) -> Unit:
        """The parsed file; raises SyntaxError."""
        found = self._known.units.get(path)
        if found is None:
            found = self._known.units[path] = Unit(path, self.names[path], self.content(path))
        return found

    def content(self, path: str) -> Content:
        """What the text of a file tells without being parsed."""
        return self.contents.of(self.files[path])

    def module_bindings(self, path: str) -> ModuleBindings:
        """What a file binds at its top level; raises SyntaxError."""
        unit = self.unit(path)
        asked = "bindings", unit.package
        return unit.content.get(asked, lambda: module_bindings(unit.scopes.root, unit.absolute))

    def module_gone(self, name: str) -> str | None:
        """Why a module does not exist in the output, or None when it does or is none of our business."""
        declared = self.facts.module_gone(name)
        if declared is not None:
            return declared
        if name in self.removed:
            return name
        if name in self._removed_folders and name not in self._folders and name not in self.paths:
            return name
        return None

    def is_removed(self, name: str) -> bool:
        """Return whether a module of the program left that has this name, or that lay below it."""
        return name in self.removed or (name in self._removed_folders and name not in self._folders)

    def is_folder(self, name: str) -> bool:
        """Return whether a module holds others, here or in upstream."""
        return name in self._folders or name in self._removed_folders

    def is_module(self, name: str) -> bool:
        return name in self.paths or name in self._folders

    def is_outside(self, name: str) -> bool:
        """Return whether a module is none of the program, so that nobody knows what it exports."""
        return not self.has_file(name) and self.module_gone(name) is None

    def has_file(self, name: str) -> bool:
        """Return whether a module is a file, and not only a folder."""
        return name in self.paths

    def canonical(self, module: str, name: str) -> str | Gone | None:
        """What `module.name` is: the qualified name where it is defined, or Gone."""
        key = (module, name)
        if key in self._resolved:
            return self._resolved[key]
        if key in self._resolving:
            return None
        self._resolving.add(key)
        try:
            found = self._canonical(module, name)
        finally:
            self._resolving.discard(key)
        self._resolved[key] = found
        return found

    def _canonical(self, module: str, name: str) -> str | Gone | None:
        full = f"{module}.{name}"
        if full in self.facts.values or full in self.facts.predicates:
            return full  # what a fact states of a name holds, though its home is gone
        if self.module_gone(module) is not None:
            from builder.specialize.rebinding import is_alias  # which asks a world itself

            return None if is_alias(self, module, name) else Gone(module)
        if self.is_gone(full):
            from builder.specialize.rebinding import given_otherwise  # likewise

            if not given_otherwise(self, module, name):
                return Gone(full)
        path = self.paths.get(module)
        if path is None:
            if self.is_module(full):
                return full
            if self.module_gone(full) is not None:
                return Gone(full)
            return full
        binds = self.content(path).binds(name)
        if binds:
            return None if self.is_module(full) else full  # which of the two depends on who ran last
        if binds is None:
            found = self._bound(path, name)
            if found is not None:
                return found
        if self.is_module(full):
            return full
        if self.module_gone(full) is not None:
            return Gone(full)
        return full

    def _bound(self, path: str, name: str) -> str | Gone | None:
        """What the name refers to that a file binds at its top level; None when it binds none."""
        bound, full = self.module_bindings(path), f"{self.names[path]}.{name}"
        if name in bound.names:
            imports = bound.names[name]
            if imports is None:
                return full
            if self.is_module(full) and not any(self._is_about(full, each) for each in imports):
                return None  # what the import binds, or the submodule of this name: whichever came last
            found = {self.what_is(each) for each in imports}
            for star in bound.covered.get(name, ()):
                if star in self.paths and self.defines(star, name):
                    found.add(self.canonical(star, name))
                elif star not in self.paths and not name.startswith("_") and self.module_gone(star) is None:
                    return full  # nobody knows what a module outside the tree exports
            # a fallback that is gone leaves the other import, or what a star import brings
            alive = {f for f in found if not isinstance(f, Gone)}
            if not alive:  # then all of them are Gone
                return self._brought(bound, name, full) or sorted(found, key=str)[0]
            return alive.pop() if len(alive) == 1 else full
        return self._brought(bound, name, full)

    def _brought(self, bound: ModuleBindings, name: str, full: str) -> str | Gone | None:
        """What star imports bring under a name: of several whichever comes last, if it exports the name."""
        found = {self.canonical(star, name) for star in bound.stars if self.defines(star, name)}
        if len(found) == 1 and not any(map(self.is_outside, bound.stars)):
            return found.pop()
        return full if found else None

    @staticmethod
    def _is_about(module: str, what: Imported) -> bool:
        """Return whether an import binds a module itself, or something that it takes from the module."""
        whole = f"{what.module}.{what.name}" if what.name else what.module
        return module in (whole, what.module)

    def defines(self, module: str, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Return whether a module binds this name at its top level, star imports included."""
        path = self.paths.get(module)
        if path is None or module in seen:
            return False
        if f"{module}.{name}" in self.memory.gone:
            return True
        binds = self.content(path).binds(name)
        if binds is not None:
            return binds
        bound = self.module_bindings(path)
        return name in bound.names or any(
            self.defines(source, name, seen | {module}) for source in bound.stars
        )

    def imported(self, unit: Unit, binding: Binding) -> str | Gone | None:
        """What an import binding refers to."""
        return self.what_is(imported_by(binding, unit.absolute))

    def what_is(self, what: Imported) -> str | Gone | None:
        """The qualified name of what is imported."""
        if not what.name:
            gone = self.module_gone(what.module)
            if gone is not None:
                return Gone(gone)
            package, _, last = what.module.rpartition(".")
            # `import a.b as c` takes what the package binds under that name
            return self.canonical(package, last) if self.has_file(package) else what.module
        full = f"{what.module}.{what.name}"
        if self.is_module(full) and not self.defines(what.module, what.name):
            return full
        return self.canonical(what.module, what.name)

    def is_gone(self, qualified: str) -> bool:
        """Return whether a name is declared absent, or gone since."""
        return qualified in self.facts.symbols or qualified in self.memory.gone

    def constant(self, qualified: str) -> KnownValue | None:
        """The derived value of a module-level name, found in an earlier round."""
        return self.memory.constants.get(qualified)

    def function(self, qualified: str) -> KnownValue | None:
        """What every call of a function returns."""
        return self.memory.functions.get(qualified)

    def local(self, path: str) -> Mapping[tuple[str, str], str]:
        """(scope, name) -> what is gone, of imports that an earlier round took from a file."""
        return self.memory.local.get(path, {})

    def ask(self, question: Callable[..., bool], *about: str) -> bool:
        """The answer to a question about the whole program.

        A question that comes up while it is being answered is answered with no: only the rest counts.
        """
        asked = Asked(question, about)
        if asked in self._asking:
            return False
        if asked in self._answered:
            return self._answered[asked]
        self._asking.add(asked)
        try:
            answer: bool = question.__wrapped__(self, *about)  # type: ignore[attr-defined]
        finally:
            self._asking.discard(asked)
        if not self._asking:
            self._answered[asked] = answer
        return answer

    def home(self, qualified: str) -> tuple[Unit | None, Sequence[Binding]]:
        """The file of a module-level name, if it is one of the program, and what binds the name there."""
        module, _, name = qualified.rpartition(".")
        unit = self.unit(self.paths[module]) if module in self.paths else None
        return unit, unit.scopes.root.names.get(name, ()) if unit is not None else ()

    def is_definition(self, qualified: str) -> bool:
        """Return whether this is a function or class that a file defines, and nothing else."""
        _, bindings = self.home(qualified)
        return bool(bindings) and all(b.kind in ("def", "class") for b in bindings)

    def elsewhere(self, qualified: str) -> KnownValue | None:
        """The derived value of a module-level constant, read in the file that assigns it."""
        from builder.specialize.evaluating.evaluate import constant_of  # which asks a world itself

        return constant_of(self, qualified)


def _folders(names: Iterable[str]) -> frozenset[str]:
    return frozenset(package for name in names for package in packages_around(name))
