"""All kept Python files at one moment: who defines what, what is known and what is gone across files.

A world is frozen during a round, so that the order of files and the number of workers cannot matter.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from builder.graph.names import imported_module, package_of
from builder.source.encoding import BOM, decoded
from builder.source.glimpse import extents, glimpse
from builder.source.parse import Module, asked_bytes, line_starts, parse, parsed_lately
from builder.specialize.evaluating.facts import Facts, Gone, KnownValue
from builder.specialize.evaluating.scopes import Binding, Comprehension, KeywordLines, Scope, Scopes
from builder.specialize.text_index.content_answers import AnswerCache, ContentAnswers, Question, answers_of
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.module_bindings import (
    BindingsCache,
    Imported,
    ModuleBindings,
    imported,
    module_bindings,
)
from builder.specialize.text_index.outline import Outline

#: name -> a question about the whole program whose answer is a function of its files
QUESTIONS: dict[str, Callable[..., bool]] = {}

Q = TypeVar("Q", bound=Callable[..., bool])


def question(function: Q) -> Q:
    """Registers a question that `SpecializerWorld.ask` answers; its arguments after the world are strings."""
    QUESTIONS[function.__name__] = function
    return function


T = TypeVar("T")

#: Of how many bytes of source the syntax trees are held, beside those of which something leaves.
MAX_HELD = 5_000_000
#: The trees are counted each time that this part of MAX_HELD was parsed: an eighth. There are many units.
_COUNTED_PER_LIMIT = 8
#: The questions whether a content is Python, and where its statements are.
_PARSES = ("parses",)
_EXTENTS = ("extents",)
_DECLARE = (b"global", b"nonlocal")
_BIND = (b"lambda", b"for", b":=")


class Unit:
    """One file: its module name, syntax tree and scopes."""

    def __init__(
        self,
        path: str,
        name: str,
        data: bytes,
        module: Module | None = None,
        answers: ContentAnswers | None = None,
    ) -> None:
        """`module`: the same bytes, parsed already; `answers`: what is known of them. Raises SyntaxError."""
        self.path = path
        self.name = name
        self._raw = data
        self._module = module
        self._answers = answers if answers is not None else answers_of(data)
        if module is None and not self._answers.known.get(_PARSES):
            self._module = module = parse(data, path)
        self._answers.known[_PARSES] = True
        if module is not None:
            self._learn_extents(module)
        self._scopes: Scopes | None = None
        self._glimpsed = 0  # bytes in glimpses since the tree was let go of
        #: what others derive from this file, by their own key: values without and with parts of the tree
        self.cache: dict[str, object] = {}
        self.tree_cache: dict[str, object] = {}
        # what leaves at the end of the round: statements and imported names, and the lines (first, last)
        # of statements that have their lines for themselves
        self.leaving: set[ast.AST] = set()
        self.hidden: list[tuple[int, int]] = []
        # imports of which all names leave, while their module still runs
        self.running: set[ast.AST] = set()

    @property
    def version(self) -> int:
        """Changes when more of this file is known to leave."""
        return len(self.leaving)

    @property
    def package(self) -> str:
        return package_of(self.path, self.name)

    @property
    def digest(self) -> str:
        """A digest of the bytes."""
        return self._answers.digest

    def told(self, question: Question, find: Callable[[], T]) -> T:
        """What `find` gives, which must depend on the bytes of the file alone; it is found out once.

        Once something of the file leaves, it is found out each time.
        """
        return find() if self.leaving or self.hidden else self._answers.get(question, find)

    @contextmanager
    def briefly(self) -> Iterator[None]:
        """Lets go of the syntax tree at the end, unless it was there before. Nobody may hold nodes of it."""
        held = self._module is not None
        try:
            yield
        finally:
            if not held:
                self.release()

    @property
    def module(self) -> Module:
        """The text with its syntax tree, which stays the same one until it is released."""
        if self._module is None:
            self._module = module = parse(self._raw, self.path)
            self._learn_extents(module)
        return self._module

    def _learn_extents(self, module: Module) -> None:
        self._answers.get(_EXTENTS, lambda: extents(module))

    def glimpse(self, lines: Sequence[int]) -> ast.Module:
        """The syntax tree, or one without statements that span none of these 1-based, sorted lines.

        Once all of its glimpses are as long as the file it is parsed, so that they never cost much more.
        """
        where = self._answers.known.get(_EXTENTS)
        plenty = self._glimpsed > len(self._raw)
        if where is None or plenty or self._module is not None or parsed_lately(self._raw, self.path):
            return self.module.tree
        found = glimpse(self.text, where, lines)
        if found is None:
            return self.module.tree
        tree, size = found
        self._glimpsed += size
        return tree

    def holds(self, tree: ast.Module) -> bool:
        """Is this the syntax tree of the whole file, as the file has it now?"""
        return self._module is not None and self._module.tree is tree

    @property
    def text(self) -> bytes:
        """The text in UTF-8, without a byte order mark: `module.data`, for which nothing is parsed."""
        return self._module.data if self._module is not None else decoded(self._raw).removeprefix(BOM)

    @property
    def bom(self) -> bool:
        """Does the file begin with a byte order mark?"""
        return self._raw.startswith(BOM)

    @property
    def starts(self) -> list[int]:
        """`module.starts`, for which nothing is parsed."""
        return self._module.starts if self._module is not None else line_starts(self.text)

    @property
    def scopes(self) -> Scopes:
        """The scopes of the syntax tree."""
        if self._scopes is None:
            self._scopes = Scopes(self.module.tree, KeywordLines(self._with(_DECLARE), self._with(_BIND)))
        return self._scopes

    def _with(self, words: Iterable[bytes]) -> list[int]:
        """The lines with one of these words, or with a longer one that holds it; 1-based and sorted."""
        data, starts, lines = self.module.data, self.module.starts, set()
        for word in words:
            at = data.find(word)
            while at >= 0:
                line = bisect_right(starts, at)
                lines.add(line)
                at = data.find(word, starts[line])
        return sorted(lines)

    @property
    def releasable(self) -> int:
        """The bytes of source whose syntax tree `release` lets go of."""
        return 0 if self._module is None or self.leaving or self.hidden else len(self._raw)

    def release(self) -> None:
        """Let go of the syntax tree, which takes 40 times its text; whoever asks again has another one.

        Nobody may hold nodes of it then. A file of which something leaves keeps its tree.
        """
        if not self.leaving and not self.hidden:
            if self._module is not None:
                self._glimpsed = 0
            self._module = self._scopes = None
            self.tree_cache.clear()

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated."""
        parents = self.module.parents
        below, at, outside = node, parents.get(node), False
        while at is not None:
            if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and below in at.body:
                return self.scopes.of(at)
            if isinstance(at, ast.Lambda) and below is at.body:
                return self.scopes.of(at)
            if isinstance(at, Comprehension) and not (outside and below is at.generators[0]):
                return self.scopes.of(at)
            outside = isinstance(at, ast.comprehension) and below is at.iter
            below, at = at, parents.get(at)
        return self.scopes.root

    def absolute(self, node: ast.ImportFrom) -> str:
        """The absolute module of `from X import ...`."""
        return imported_module(node, self.package)


@dataclass
class Memory:
    """What earlier rounds found out; it only grows."""

    constants: dict[str, KnownValue] = field(default_factory=dict)  # module.name
    functions: dict[str, KnownValue] = field(default_factory=dict)  # module.function: what every call returns
    methods: dict[str, KnownValue] = field(default_factory=dict)  # bare name, same in every class
    gone: dict[str, str] = field(default_factory=dict)  # qualified name -> why
    local: dict[str, dict[tuple[str, str], str]] = field(
        default_factory=dict
    )  # path -> (scope, name) -> gone


class SpecializerWorld:
    """The files of one round with the facts and the memory of the rounds before."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        names: Mapping[str, str],
        removed: Collection[str],
        facts: Facts,
        memory: Memory,
        units: dict[str, Unit],
        outlines: dict[str, Outline],
        known: BindingsCache | None = None,
        words: IdentifierIndex | None = None,
        removed_files: Mapping[str, bytes] | None = None,
        answers: AnswerCache | None = None,
    ) -> None:
        """`names`: path -> module; `removed`: module -> why it is gone; `units`, `outlines`, `known`: of the
        files that were asked for already; `words`: of all files; `removed_files`: the text of removed
        modules, by their names; `answers`: what is known of contents."""
        self.files = files
        self.names = names
        self.paths = {name: path for path, name in names.items() if path in files}
        self.removed = removed
        self.removed_files = removed_files or {}
        self.facts = facts
        self.memory = memory
        self._units = units
        self._outlines = outlines
        self._answers = answers if answers is not None else AnswerCache()
        self._known = known if known is not None else BindingsCache()
        self.words = words if words is not None else IdentifierIndex(files)
        self._counted = asked_bytes()
        self._folders = _folders(self.paths)
        self._removed_folders = _folders(removed)
        self._assigned: dict[tuple[str, str], bool] = {}
        self._asking: set[tuple[str, ...]] = set()
        self._answered: dict[tuple[str, ...], bool] = {}
        self._resolving: set[tuple[str, str]] = set()
        self._resolved: dict[tuple[str, str], str | Gone | None] = {}
        #: what others derive from this world, by their own keys
        self.derived: dict[tuple[str, ...], object] = {}

    def unit(self, path: str) -> Unit:
        """The parsed file; raises SyntaxError."""
        found = self._units.get(path)
        if found is None:
            data = self.files[path]
            answers = self._answers.of(data)
            found = self._units[path] = Unit(path, self.names[path], data, answers=answers)
        return found

    def release(self, needed: Collection[Unit] = ()) -> bool:
        """Let go of the syntax trees once there are many of them, but for those `needed`: whether it did.

        Nobody may hold nodes of them then.
        """
        asked = asked_bytes()
        if asked - self._counted < MAX_HELD // _COUNTED_PER_LIMIT:
            return False
        self._counted = asked
        if sum(unit.releasable for unit in self._units.values()) <= MAX_HELD:
            return False
        for unit in self._units.values():
            if unit not in needed:
                unit.release()
        return True

    def outline(self, path: str) -> Outline:
        """What the text of a file tells without being parsed."""
        found = self._outlines.get(path)
        if found is None or found.data is not self.files[path]:
            found = self._outlines[path] = Outline(self.files[path])
        return found

    def module_bindings(self, path: str) -> ModuleBindings:
        """What a file binds at its top level; raises SyntaxError."""

        def find() -> ModuleBindings:
            unit = self.unit(path)
            return module_bindings(unit.scopes.root, unit.absolute)

        return self._known.of(path, package_of(path, self.names[path]), self.files[path], find)

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

    def is_folder(self, name: str) -> bool:
        """Does a module hold others, here or in upstream?"""
        return name in self._folders or name in self._removed_folders

    def is_module(self, name: str) -> bool:
        return name in self.paths or name in self._folders

    def has_file(self, name: str) -> bool:
        """Is a module a file, and not only a folder?"""
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
            return None if self.ask("is_alias", module, name) else Gone(module)
        if self.is_gone(full):
            return Gone(full)
        path = self.paths.get(module)
        if path is None:
            if self.is_module(full):
                return full
            if self.module_gone(full) is not None:
                return Gone(full)
            return full
        binds = self.outline(path).binds(name)
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
                elif star not in self.paths and QUESTIONS["star_may_bind"](self, star, name):
                    return full
            # a fallback that is gone leaves the other import
            alive = {f for f in found if not isinstance(f, Gone)}
            if len(alive) == 1:
                return alive.pop()
            return full if alive else sorted(found, key=str)[0]  # without one alive all of them are Gone
        for source in bound.stars:
            if source in self.paths and self.defines(source, name):
                return self.canonical(source, name)
        return None

    @staticmethod
    def _is_about(module: str, what: Imported) -> bool:
        """Does an import bind a module itself, or something that it takes from the module?"""
        whole = f"{what.module}.{what.name}" if what.name else what.module
        return module in (whole, what.module)

    def defines(self, module: str, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Does a module bind this name at its top level, star imports included?"""
        path = self.paths.get(module)
        if path is None or module in seen:
            return False
        if f"{module}.{name}" in self.memory.gone:
            return True
        binds = self.outline(path).binds(name)
        if binds is not None:
            return binds
        bound = self.module_bindings(path)
        return name in bound.names or any(
            self.defines(source, name, seen | {module}) for source in bound.stars
        )

    def imported(self, unit: Unit, binding: Binding) -> str | Gone | None:
        """What an import binding refers to."""
        return self.what_is(imported(binding, unit.absolute))

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

    def may_assign(self, path: str, name: str) -> bool:
        """Might a file hold `name = <value>`?"""
        key = (path, name)
        if key not in self._assigned:
            self._assigned[key] = self.outline(path).assigns(name)
        return self._assigned[key]

    def is_gone(self, qualified: str) -> bool:
        """Is a name declared absent, or gone since?"""
        return qualified in self.facts.symbols or qualified in self.memory.gone

    def constant(self, qualified: str) -> KnownValue | None:
        """The derived value of a module-level name, found in an earlier round."""
        return self.memory.constants.get(qualified)

    def function(self, qualified: str) -> KnownValue | None:
        """What every call of a function returns."""
        return self.memory.functions.get(qualified)

    def method(self, name: str) -> KnownValue | None:
        """What every method of this name returns."""
        return self.memory.methods.get(name)

    def local(self, path: str) -> Mapping[tuple[str, str], str]:
        """(scope, name) -> what is gone, of imports that an earlier round took from a file."""
        return self.memory.local.get(path, {})

    def ask(self, name: str, *about: str) -> bool:
        """The answer to a registered question about the whole program.

        A question that comes up while it is being answered is answered with no: only the rest counts.
        """
        asked = (name, *about)
        if asked in self._asking:
            return False
        if asked in self._answered:
            return self._answered[asked]
        self._asking.add(asked)
        try:
            answer = QUESTIONS[name](self, *about)
        finally:
            self._asking.discard(asked)
        if not self._asking:
            self._answered[asked] = answer
        return answer

    def is_definition(self, qualified: str) -> bool:
        """Is this a function or class that a file defines, and nothing else?"""
        module, _, name = qualified.rpartition(".")
        path = self.paths.get(module)
        if path is None:
            return False
        bindings = self.unit(path).scopes.root.names.get(name, ())
        return bool(bindings) and all(b.kind in ("def", "class") for b in bindings)

    def elsewhere(
        self, qualified: str, find: Callable[[SpecializerWorld], KnownValue | None]
    ) -> KnownValue | None:
        """What `find` says of a name of another file."""
        return find(self)


def _folders(names: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        parent = name.rpartition(".")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition(".")[0]
    return frozenset(found)
