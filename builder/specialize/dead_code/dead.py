"""Functions, classes, methods and constants that nobody uses any more, because of us."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import chain
from typing import cast

from builder.source.fields import nodes
from builder.source.ops import DropItem, Op, Remove
from builder.source.words import file_counts, identifier_counts
from builder.specialize.dead_code.definition_effects import Effects
from builder.specialize.dead_code.dynamic_names import FormedNames, formed
from builder.specialize.dead_code.hierarchy import Class, Hierarchy
from builder.specialize.dead_code.reflection import Reflection
from builder.specialize.dead_code.unused import Bound
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Facts
from builder.specialize.evaluating.names import names_in_class
from builder.specialize.evaluating.scopes import Scope, Scopes
from builder.specialize.program import Policy, Program
from builder.specialize.text_index.content import Content, Contents
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.text_search import (
    DEFINITIONS,
    first_line,
    no_names,
    nodes_on,
    possible_names,
    refers,
    refers_within,
    string_names,
)
from builder.specialize.unit import Unit, once
from builder.specialize.world import SpecializerWorld

#: A name that occurs more often than this outside definitions is alive for all practical purposes.
_MAX_USES_READ = 12
_NOTHING = (b"", b"\n", b"\r", b"#")
#: A name that a file declares, the statement or the text of it, and the scope.
Declared = tuple[str, ast.stmt | ast.Constant, Scope | None]


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    kind: str  # function, method, class, constant, declaration
    node: ast.stmt | ast.Constant
    scope: Scope

    def qualified(self, unit: Unit) -> str:
        return ".".join(part for part in (unit.name, self.scope.qualname, self.name) if part)

    def op(self, unit: Unit) -> Op:
        """What takes it out of the file: as a statement, or as a text of a collection."""
        if isinstance(self.node, ast.stmt):
            return Remove(self.node)
        listing = cast(ast.Tuple | ast.List, unit.module.parents[self.node])
        return DropItem(listing, "elts", listing.elts.index(self.node))


class Dead:
    """Finds dead definitions, round by round; what a file's content tells is asked once."""

    def __init__(
        self,
        program: Program,
        policy: Policy,
        before_unit: Callable[[str], Unit | None],
        words: IdentifierIndex,
        contents: Contents,
    ) -> None:
        """`before_unit`: a file as upstream has it; `words`: the identifiers of the program's files as they
        are now."""
        before, files = program.upstream, program.files
        self._before = before
        self._frozen = policy.frozen
        self._stays = policy.stays
        self._before_unit = before_unit
        self._words = words
        self._prune_symbols = policy.prune_symbols
        self._extra = {w for data in program.extra for w in identifier_counts(data)}
        self._removed: dict[str, Set[bytes]] = {}
        self._edited: dict[str, Counter[bytes]] = {}  # words of upstream's version
        #: how much more often upstream's code has a word than the kept files
        self._fell: Counter[bytes] = Counter()
        self._defined: dict[str, Counter[bytes]] = {}
        self._places: defaultdict[bytes, Counter[str]] = defaultdict(Counter)
        self._modules, self._facts = program.names, policy.facts
        self._declared: set[bytes] = set()
        self._formed = FormedNames(contents)
        self._contents = contents
        self._reflected: tuple[SpecializerWorld, Hierarchy, Reflection] | None = None
        self._alive: dict[bytes, tuple[str, bytes, object]] = {}  # name -> a file that refers to it
        self._used: dict[bytes, bool] = {}  # did upstream's own code refer to a name?
        for path in sorted(before.keys() - files.keys()):
            counts = file_counts(before[path])
            self._removed[path] = counts.keys()
            self._fell.update(counts)
        for path, data in files.items():
            self._look(path, data)
            if path not in before:
                self._fell.subtract(words.of(path))
            elif before[path] is not data and before[path] != data:
                old = self._edited[path] = file_counts(before[path])
                self._fell.update(old)
                self._fell.subtract(words.of(path))

    def replace(self, path: str, old: Counter[bytes], more: Mapping[bytes, int], data: bytes) -> None:
        """A kept file now has these bytes. `old`: its words until now; `more`: by how much they changed."""
        self._edited.setdefault(path, old)
        self._fell.subtract(more)
        self._look(path, data)

    def leave(self, path: str, counts: Mapping[bytes, int]) -> None:
        """A kept file leaves as a whole; it had these words."""
        if path in self._before:
            self._removed[path] = file_counts(self._before[path]).keys()
        self._fell.update(counts)
        self._edited.pop(path, None)
        self._used = {name: True for name, used in self._used.items() if used}  # ask again for the others
        for name in self._defined.pop(path, ()):
            del self._places[name][path]
        self._formed.look(path, b"")

    def _look(self, path: str, data: bytes) -> None:
        self._formed.look(path, data)
        if path in self._frozen:
            return
        for name in self._defined.get(path, ()):
            del self._places[name][path]
        found = self._contents.of(data).defined
        if not self._prune_symbols(path):  # a private name is nobody else's, wherever it stands
            found = Counter({name: count for name, count in found.items() if name.startswith(b"_")})
        module = self._modules.get(path, "")
        if self._facts.declares(module, homes=True):
            names = [name.encode() for name, *_ in declared(self._facts, module, ast.parse(data))]
            self._declared.update(names)
            found = found + Counter(names)
        self._defined[path] = found
        for name, count in self._defined[path].items():
            self._places[name][path] = count

    def find(
        self, world: SpecializerWorld, names: Iterable[bytes] | None = None
    ) -> Iterator[tuple[Unit, Definition]]:
        """The definitions that are dead now. What only dead definitions refer to is dead too.

        `names`: ask for these alone, and for what they turn out to have kept alive.
        """
        if names is None:
            self._reflected = None  # what leaves looks nothing up any more
        names = list(self._places) if names is None else self._places.keys() & set(names)
        uncalled = {name.rpartition(".")[2].encode() for name in world.facts.uncalled}
        # an answer of before may be that of a time at which no file that used it was edited
        self._used = {name: used for name, used in self._used.items() if used or name not in uncalled}
        while names:
            dead: list[tuple[Unit, Definition]] = []
            unreferred = [
                name
                for name in sorted(names)
                if self._candidate(name, name in uncalled)
                and not self._referred(world, name, name in uncalled)
            ]
            self._learn_uses(unreferred)
            for encoded in unreferred:
                name = encoded.decode()
                used = self._used[encoded]
                if encoded in uncalled:
                    # what only has the name of an uncalled function is found by it in a string, too
                    used = used and not self._referred(world, encoded, False)
                if used or encoded in uncalled:
                    dead.extend(self._removable(world, encoded, name, used))
            names = set()
            for unit, item in dead:
                names |= self.remove(unit, item.node, item.name if item.kind == "declaration" else "")
            yield from dead

    def _removable(
        self, world: SpecializerWorld, encoded: bytes, name: str, used: bool
    ) -> Iterator[tuple[Unit, Definition]]:
        """Where a name to which nothing refers is defined. `used`: upstream's own code referred to it;
        where it did not, only what the facts say leaves."""
        leaving: list[tuple[Unit, Definition]] = []
        staying: list[tuple[Unit, ast.AST]] = []
        for path in sorted(self._places[encoded]):
            unit = world.unit(path)
            for item in (*definitions(unit).get(name, ()), *self._declarations(unit, name)):
                if item.node not in unit.leaving:
                    if self._leaves(world, unit, item, used):
                        leaving.append((unit, item))
                    else:
                        staying.append((unit, item.node))
            staying.extend((unit, node) for node in _hidden_definitions(unit, name))
        # one that stays may mean another by the name that both have
        if any(refers_within(unit, node, name) for unit, node in staying):
            return
        together = not staying and not self._is_defined_elsewhere(world, encoded)
        for unit, item in leaving:
            if item.kind != "method" or together or item.qualified(unit) in world.facts.uncalled:
                yield unit, item

    def _is_defined_elsewhere(self, world: SpecializerWorld, name: bytes) -> bool:
        """Return whether a file from which nothing leaves defines a name. If that is an abstract method, a
        class that inherits it cannot do without its own."""
        return any(
            world.content(path).defined[name]
            for path in self._words.holders(name)
            if path not in self._places[name]
        )

    def _declarations(self, unit: Unit, name: str) -> Iterator[Definition]:
        """Where a file declares or lists a name."""
        if self._facts.declares(unit.name, homes=True):
            for found, node, scope in declared(self._facts, unit.name, unit.module.tree, unit.scopes):
                if found == name and scope is not None:
                    yield Definition(name, "declaration", node, scope)

    def _leaves(self, world: SpecializerWorld, unit: Unit, item: Definition, used: bool) -> bool:
        qualified = item.qualified(unit)
        if qualified in self._stays:
            return False
        if item.kind == "declaration":
            return used
        return qualified in world.facts.uncalled or (used and self._may_leave(world, unit, item))

    def _may_leave(self, world: SpecializerWorld, unit: Unit, item: Definition) -> bool:
        """Return whether nothing needs a definition to which no name refers."""
        node, scope = cast(ast.stmt, item.node), item.scope
        hierarchy, reflection = self._known(world)
        if isinstance(scope.node, ast.ClassDef):
            owner = Class(unit, scope.node, scope.parent or unit.scopes.root)
            return (
                item.kind == "method"
                and not (item.name.startswith("_") and item.name.endswith("_"))  # `enum` asks for these
                and world.facts.spells_methods(owner.qualified)
                and not self._formed.holds(item.name)
                and hierarchy.calls_no_methods(owner)
                and not _makes_concrete(unit, scope.node, node)
                and not _gives_attributes(unit, scope.node, node)
                and Effects(world, Evaluator(world, unit)).pure(node, scope)
            )
        if isinstance(node, ast.ClassDef):
            defined = Class(unit, node, scope)
            if hierarchy.announced(defined) or hierarchy.listed(defined):
                return False
        if not Effects(world, Evaluator(world, unit)).pure(node, scope):
            return False
        if reflection.sees_module(unit, item.qualified(unit) in world.facts.predicates):
            return False
        return not self._formed.holds_in(item.name, reflection.listing(unit))

    def _known(self, world: SpecializerWorld) -> tuple[Hierarchy, Reflection]:
        if self._reflected is None or self._reflected[0] is not world:
            self._reflected = world, Hierarchy(world), Reflection(world)
        return self._reflected[1:]

    def looked_up(self, world: SpecializerWorld, unit: Unit, bound: Bound) -> bool:
        """Return whether a name that a module imports may be looked up by a name that no text shows."""
        name = Evaluator(world, unit).qualified(ast.Name(bound.name), unit.scopes.root)
        return self._known(world)[1].sees_module(unit, name in world.facts.predicates)

    def remove(self, unit: Unit, stmt: ast.stmt | ast.Constant, declares: str = "") -> set[bytes]:
        """A statement leaves, or a text that lists a name: nothing is found in it any more; the names that
        occur in it. `declares`: the name that it declares."""
        unit.leaving.add(stmt)
        low, high = first_line(stmt), stmt.end_lineno or stmt.lineno
        if not _alone(unit, stmt, low, high):
            return set()
        text = self._hide(unit, low, high)
        if formed(text):
            self._formed.look(unit.path, _visible(unit, 1, len(unit.module.starts) - 1))
        gone = Content(text).defined + Counter([declares.encode()] if declares else ())
        places = self._defined[unit.path] = self._defined[unit.path] - gone
        for name in gone:
            if unit.path in self._places[name]:
                del self._places[name][unit.path]
            if places[name]:
                self._places[name][unit.path] = places[name]
        return self._places.keys() & identifier_counts(text).keys()

    def drop(self, unit: Unit, alias: ast.alias) -> set[bytes]:
        """An imported name leaves; the names that occur in it."""
        unit.leaving.add(alias)
        text = " ".join((alias.name, alias.asname or "")).encode()
        self._edited.setdefault(unit.path, self._words.of(unit.path))
        self._fell.subtract(self._words.take(unit.path, text))
        return set(identifier_counts(text))

    def drop_condition(self, unit: Unit, stmt: ast.If) -> set[bytes]:
        """A condition leaves, after all that stood in its suite; the names that occur in it."""
        unit.leaving.add(stmt)
        return set(identifier_counts(self._hide(unit, stmt.lineno, stmt.test.end_lineno or stmt.lineno)))

    def _hide(self, unit: Unit, low: int, high: int) -> bytes:
        """Lines leave, and the words in them; their text."""
        self._edited.setdefault(unit.path, self._words.of(unit.path))
        text = _visible(unit, low, high)
        unit.hidden.append((low, high))
        self._fell.subtract(self._words.take(unit.path, text))
        return text

    def _candidate(self, name: bytes, uncalled: bool) -> bool:
        places = self._places[name]
        if (self._fell[name] <= 0 and not uncalled) or not places or name in self._extra:
            return False
        if name.startswith(b"__"):  # Python calls it, or it has another name outside of its class
            return False
        if b"__" in name and self._words.holding(names_in_class(name.decode())):
            return False
        return not self._words.exceeds(name, sum(places.values()) + _MAX_USES_READ)

    def _referred(self, world: SpecializerWorld, name: bytes, uncalled: bool) -> bool:
        """Return whether a kept file refers to a name. The file that does is remembered.

        What is `uncalled` is not looked up by a string, and an import of it leaves with it.
        """
        if self._still_referred(world, name):
            return True
        texts, places = no_names if uncalled else possible_names, self._places[name]
        for path in self._words.holders(name):
            if self._words.of(path)[name] > places.get(path, 0):
                unit = world.unit(path)
                # where no definition of it can leave, what stands in one counts
                if refers(unit, name.decode(), texts, not uncalled, path not in places):
                    self._alive[name] = (path, world.files[path], unit.version)
                    return True
        return False

    def _still_referred(self, world: SpecializerWorld, name: bytes) -> bool:
        """Return whether the file that referred to this name is as it was."""
        path, data, version = self._alive.get(name, ("", b"", None))
        return bool(path) and world.files.get(path) is data and world.unit(path).version == version

    def _learn_uses(self, names: Iterable[bytes]) -> None:
        """Find out which of these names upstream's own code referred to, in one go over its files."""
        unknown = {name for name in names if name not in self._used}
        self._used.update(dict.fromkeys(unknown, False))
        edited = ((path, counts.keys()) for path, counts in sorted(self._edited.items()))
        for path, words in chain(edited, self._removed.items()):
            asked = words & unknown
            unit = self._before_unit(path) if asked else None
            if unit is None:
                continue
            found = {name for name in asked if refers(unit, name.decode(), string_names)}
            self._used.update(dict.fromkeys(found, True))
            unknown -= found


def _hidden_definitions(unit: Unit, name: str) -> Iterator[ast.stmt]:
    """Where a file defines a name so that it never leaves: in a loop, a function or the like."""
    listed = {id(item.node) for item in definitions(unit).get(name, ())}
    for node in nodes_on(unit, name):
        if isinstance(node, DEFINITIONS) and node.name == name and id(node) not in listed:
            yield node


def _visible(unit: Unit, low: int, high: int) -> bytes:
    """The lines from `low` to `high` without those of what leaves."""
    return b"".join(
        unit.module.line(line - 1)
        for line in range(low, high + 1)
        if not any(a <= line <= b for a, b in unit.hidden)
    )


@once
def definitions(unit: Unit) -> dict[str, list[Definition]]:
    """Functions, classes and constants of the module, and methods of its classes, by name."""
    found: dict[str, list[Definition]] = {}
    for item in _definitions(unit, unit.module.tree.body, unit.scopes.root):
        found.setdefault(item.name, []).append(item)
    return found


def _definitions(unit: Unit, body: Iterable[ast.stmt], scope: Scope) -> Iterator[Definition]:
    for stmt in body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Definition(stmt.name, "method" if scope.kind == "class" else "function", stmt, scope)
        elif isinstance(stmt, ast.ClassDef):
            yield Definition(stmt.name, "class", stmt, scope)
            yield from _definitions(unit, stmt.body, unit.scopes.of(stmt))
        elif scope.kind == "module" and (name := bound(stmt)):
            yield Definition(name, "constant", stmt, scope)
        elif isinstance(stmt, (ast.If, ast.Try)):
            for field_name in ("body", "orelse", "finalbody"):
                yield from _definitions(unit, getattr(stmt, field_name, ()), scope)
            for handler in getattr(stmt, "handlers", ()):
                yield from _definitions(unit, handler.body, scope)


def _makes_concrete(unit: Unit, owner: ast.ClassDef, method: ast.stmt) -> bool:
    """Return whether this is the last abstract method of a class, without which an object of the class can
    be made."""
    abstract = [
        stmt
        for stmt in owner.body
        if any(
            getattr(each, "id", getattr(each, "attr", "")) == "abstractmethod"
            for each in getattr(stmt, "decorator_list", ())
        )
    ]
    return method in abstract and unit.leaving.issuperset(stmt for stmt in abstract if stmt is not method)


def _gives_attributes(unit: Unit, owner: ast.ClassDef, method: ast.stmt) -> bool:
    """Return whether a method is the only one of a class to store an attribute that the class reads
    elsewhere."""
    stored = {
        node.attr
        for node in nodes(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    if not stored:
        return False
    inside = set(nodes(method))
    read: set[str] = set()
    other: set[str] = set()
    for stmt in owner.body:
        for node in nodes(stmt) if stmt not in unit.leaving else ():
            if isinstance(node, ast.Attribute) and node.attr in stored and node not in inside:
                (other if isinstance(node.ctx, ast.Store) else read).add(node.attr)
    return not stored.isdisjoint(read - other - unit.scopes.of(owner).names.keys())


def _alone(unit: Unit, stmt: ast.stmt | ast.Constant, low: int, high: int) -> bool:
    """Return whether a statement has its lines for itself."""
    starts, data = unit.module.starts, unit.module.data
    decorators: list[ast.expr] = getattr(stmt, "decorator_list", [])
    start = min([unit.module.start(stmt), *map(unit.module.start, decorators)])
    before, after = data[starts[low - 1] : start], data[unit.module.end(stmt) : starts[high]]
    return not before.strip(b" \t@") and after.lstrip(b" \t")[:1] in _NOTHING


def declared(facts: Facts, module: str, tree: ast.Module, scopes: Scopes | None = None) -> Iterator[Declared]:
    """The names that a file declares, each with its statement and class, or with the text that lists it."""
    for stmt in tree.body:
        if isinstance(stmt, ast.ClassDef) and facts.declares(f"{module}.{stmt.name}"):
            scope = scopes.of(stmt) if scopes is not None else None
            yield from ((name, each, scope) for each in stmt.body if (name := bound(each)))
        elif (name := bound(stmt)) and facts.declares(f"{module}.{name}"):
            for text in getattr(stmt.value, "elts", ()):  # type: ignore[attr-defined]
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value, text, scopes.root if scopes is not None else None


def bound(stmt: ast.stmt) -> str:
    """The one name to which a statement gives a value."""
    targets = getattr(stmt, "targets", [getattr(stmt, "target", None)])
    gives = isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is not None
    return targets[0].id if gives and len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
