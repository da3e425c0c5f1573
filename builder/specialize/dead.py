"""Functions, classes, methods and constants that nobody uses any more, because of us."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.specialize.evaluate import Evaluator
from builder.specialize.scopes import Scope
from builder.specialize.seek import refers
from builder.specialize.words import Words, defines, words
from builder.specialize.world import Unit, World

#: Decorators that only change how a function runs: one that nobody calls is still dead.
TRANSPARENT = frozenset(
    [
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        "cache",
        "lru_cache",
        "wraps",
        "contextmanager",
        "jit",
        "autotune",
        "heuristics",
        "compile",
        "no_grad",
        "inference_mode",
        "abstractmethod",
        "torch_compile",
        "overload",
        "setter",
    ]
)
_DYNAMIC = re.compile(rb"getattr\([^,()]+,\s*f[\"']([A-Za-z_][A-Za-z_0-9]*)")
#: A name that occurs more often than this outside definitions is alive for all practical purposes.
_OFTEN = 12


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    kind: str  # function, method, class, constant
    node: ast.stmt
    scope: Scope


class Dead:
    """Finds dead definitions, round by round; what a file's content tells is asked once."""

    def __init__(
        self,
        before: Mapping[str, bytes],
        before_unit: Callable[[str], Unit | None],
        files: Mapping[str, bytes],
        may_prune: Callable[[str], bool],
        extra: Iterable[bytes],
        counts: Words,
    ) -> None:
        """`before`: upstream's own code; `files`: the kept files, whose words `counts` follows;
        `may_prune`: paths in which definitions may leave; `extra`: other texts that may name them."""
        self._before_unit = before_unit
        self._words = counts
        self._may_prune = may_prune
        self._extra = {w for data in extra for w in words(data)}
        self._removed = {p: frozenset(words(d)) for p, d in before.items() if p not in files}
        self._edited: dict[str, Counter[bytes]] = {}  # words of upstream's version
        #: how much more often upstream's code has a word than the kept files
        self._fell = words(b"\n".join(d for p, d in before.items() if p not in files))
        self._defined: dict[str, Counter[bytes]] = {}
        self._places: defaultdict[bytes, Counter[str]] = defaultdict(Counter)
        self._prefixes: dict[str, frozenset[str]] = {}
        self._alive: dict[bytes, tuple[str, bytes]] = {}  # name -> a file that refers to it, as it was
        self._used: dict[str, bool] = {}
        for path, data in files.items():
            self._look(path, data)
            if path not in before:
                self._fell.subtract(counts.of(path))
            elif before[path] is not data and before[path] != data:
                old = self._edited[path] = words(before[path])
                self._fell.update(old)
                self._fell.subtract(counts.of(path))

    def replace(self, path: str, old: Counter[bytes], more: Mapping[bytes, int], data: bytes) -> None:
        """A kept file now has these bytes. `old`: its words until now; `more`: by how much they changed."""
        self._edited.setdefault(path, old)
        self._fell.subtract(more)
        self._look(path, data)

    def _look(self, path: str, data: bytes) -> None:
        if b"getattr" in data:
            self._prefixes[path] = frozenset(m.decode() for m in _DYNAMIC.findall(data))
        else:
            self._prefixes.pop(path, None)
        for name in self._defined.get(path, ()):
            del self._places[name][path]
        found = defines(data)
        if not self._may_prune(path):  # a private name is nobody else's, wherever it stands
            found = Counter({name: count for name, count in found.items() if name.startswith(b"_")})
        self._defined[path] = found
        for name, count in self._defined[path].items():
            self._places[name][path] = count

    def find(self, world: World) -> Iterator[tuple[Unit, Definition]]:
        """The definitions that are dead now, by name and path."""
        prefixes = tuple(sorted({p for found in self._prefixes.values() for p in found if len(p) > 2}))
        for encoded in sorted(self._candidates()):
            name = encoded.decode()
            if name.startswith(prefixes) or self._referred(world, encoded, name) or not self._was_used(name):
                continue
            for path in sorted(self._places[encoded]):
                unit = world.unit(path)
                evaluator = Evaluator(world, unit)
                for item in definitions(unit).get(name, ()):
                    if _removable(item, evaluator):
                        yield unit, item

    def _candidates(self) -> Iterator[bytes]:
        for name, places in self._places.items():
            if self._fell[name] <= 0 or not places or name in self._extra:
                continue
            if name.startswith(b"__") and name.endswith(b"__"):
                continue
            if self._words.total(name) - sum(places.values()) <= _OFTEN:
                yield name

    def _referred(self, world: World, encoded: bytes, name: str) -> bool:
        """Does a kept file refer to this name? The file that does is remembered."""
        known = self._alive.get(encoded)
        if known is not None and world.files.get(known[0]) is known[1]:
            return True
        places = self._places[encoded]
        for path in self._words.holders(encoded):
            if self._words.of(path)[encoded] > places.get(path, 0) and refers(world.unit(path), name):
                self._alive[encoded] = (path, world.files[path])
                return True
        return False

    def _was_used(self, name: str) -> bool:
        """Did upstream's own code refer to this name?"""
        if name not in self._used:
            encoded = name.encode()
            paths = [p for p, old in sorted(self._edited.items()) if encoded in old]
            paths += [p for p, old in self._removed.items() if encoded in old]
            units = (self._before_unit(path) for path in paths)
            self._used[name] = any(unit is not None and refers(unit, name) for unit in units)
        return self._used[name]


def definitions(unit: Unit) -> dict[str, list[Definition]]:
    """Functions, classes and constants of the module, and methods of its classes, by name."""
    found: dict[str, list[Definition]] | None = unit.cache.get("definitions")  # type: ignore[assignment]
    if found is None:
        found = {}
        for item in _definitions(unit, unit.module.tree.body, unit.scopes.root):
            found.setdefault(item.name, []).append(item)
        unit.cache["definitions"] = found
    return found


def _definitions(unit: Unit, body: Iterable[ast.stmt], scope: Scope) -> Iterator[Definition]:
    for stmt in body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Definition(stmt.name, "method" if scope.kind == "class" else "function", stmt, scope)
        elif isinstance(stmt, ast.ClassDef):
            yield Definition(stmt.name, "class", stmt, scope)
            yield from _definitions(unit, stmt.body, unit.scopes.of(stmt))
        elif isinstance(stmt, ast.Assign):
            target = stmt.targets[0]
            if scope.kind == "module" and len(stmt.targets) == 1 and isinstance(target, ast.Name):
                yield Definition(target.id, "constant", stmt, scope)
        elif isinstance(stmt, ast.AnnAssign):
            if scope.kind == "module" and isinstance(stmt.target, ast.Name) and stmt.value is not None:
                yield Definition(stmt.target.id, "constant", stmt, scope)
        elif isinstance(stmt, (ast.If, ast.Try)):
            for field_name in ("body", "orelse", "finalbody"):
                yield from _definitions(unit, getattr(stmt, field_name, ()), scope)
            for handler in getattr(stmt, "handlers", ()):
                yield from _definitions(unit, handler.body, scope)


def _removable(item: Definition, evaluator: Evaluator) -> bool:
    """May the statement leave: has it no other effect than to define the name?"""
    node = item.node
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return node.value is not None and evaluator.pure(node.value, item.scope)
    for decorator in node.decorator_list:  # type: ignore[attr-defined]
        base = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        if name not in TRANSPARENT and not (isinstance(node, ast.ClassDef) and name == "dataclass"):
            return False
    return True
