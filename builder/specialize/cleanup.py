"""What nobody uses any more, because of us: imports, constants, functions, methods, classes.

Only a name that upstream's own code referred to, and that nothing refers to now, is dead; a name that
upstream already did not use stays, for someone outside may.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from builder.source.ops import DropItem, Op, Remove
from builder.specialize.evaluate import Evaluator
from builder.specialize.scopes import Scope
from builder.specialize.words import Words, defines, mentions
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
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*\Z")
_DYNAMIC = re.compile(rb"getattr\([^,()]+,\s*f[\"']([A-Za-z_][A-Za-z_0-9]*)")
#: A name that occurs more often than this outside definitions is alive for all practical purposes.
_OFTEN = 12


@dataclass(slots=True)
class Cleaned:
    """Operations per file, and the names that leave with the reason."""

    ops: dict[str, list[Op]] = field(default_factory=lambda: defaultdict(list))
    dead: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    kind: str  # function, method, class, constant
    node: ast.stmt
    scope: Scope


def definitions(unit: Unit) -> Iterator[Definition]:
    """Functions, classes and constants of the module, and methods of its classes."""
    yield from _definitions(unit, unit.module.tree.body, unit.scopes.root)


def _definitions(unit: Unit, stmts: Iterable[ast.stmt], scope: Scope) -> Iterator[Definition]:
    for stmt in stmts:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Definition(stmt.name, "method" if scope.kind == "class" else "function", stmt, scope)
        elif isinstance(stmt, ast.ClassDef):
            yield Definition(stmt.name, "class", stmt, scope)
            yield from _definitions(unit, stmt.body, unit.scopes.of(stmt))
        elif (
            isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name)
        ):
            if scope.kind == "module":
                yield Definition(stmt.targets[0].id, "constant", stmt, scope)
        elif isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name) and stmt.value is not None:
            if scope.kind == "module":
                yield Definition(stmt.target.id, "constant", stmt, scope)
        elif isinstance(stmt, (ast.If, ast.Try)):
            for field_name in ("body", "orelse", "finalbody"):
                yield from _definitions(unit, getattr(stmt, field_name, ()), scope)
            for handler in getattr(stmt, "handlers", ()):
                yield from _definitions(unit, handler.body, scope)


def references(tree: ast.AST) -> Counter[str]:
    """How often a file refers to each name from outside the definition of that name."""
    found: Counter[str] = Counter()
    stack: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, inside = stack.pop()
        names: tuple[str, ...] = ()
        if isinstance(node, ast.Name):
            names = (node.id,) if not isinstance(node.ctx, ast.Store) else ()
        elif isinstance(node, ast.Attribute):
            names = (node.attr,)
        elif isinstance(node, ast.alias):
            names = (*node.name.split("."), *((node.asname,) if node.asname else ()))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names = tuple(node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            if _DOTTED.match(node.value):
                names = tuple(node.value.split("."))
            elif "[" in node.value or "|" in node.value or ":" in node.value:  # quoted annotations, tables
                names = tuple(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", node.value))
        for name in names:
            if name not in inside:
                found[name] += 1
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = inside | {node.name}
            for child in ast.iter_child_nodes(node):
                decorator = child in node.decorator_list
                stack.append((child, inside if decorator else inner))
        else:
            stack.extend((child, inside) for child in ast.iter_child_nodes(node))
    return found


class Cleaner:
    """Finds what is dead by us, round by round."""

    def __init__(
        self,
        before: Mapping[str, bytes],
        may_prune: Callable[[str], bool],
        extra: Iterable[bytes],
        words: Words,
    ) -> None:
        """`before`: upstream's package files; `may_prune`: paths in which dead definitions may leave;
        `extra`: other texts whose words count as references (pyproject)."""
        self.before = before
        self.may_prune = may_prune
        self.words = words
        self.extra = {w for data in extra for w in words.of(data)}
        self.total_before = words.total(before.values())
        self._before_units: dict[str, Counter[str]] = {}
        self._defined: dict[int, tuple[bytes, list[bytes]]] = {}
        self._total: Counter[bytes] = Counter()
        self._seen: dict[str, bytes] = {}
        self._used: dict[str, bool] = {}

    def references(self, unit: Unit) -> Counter[str]:
        found: Counter[str] | None = unit.cache.get("references")  # type: ignore[assignment]
        if found is None:
            found = unit.cache["references"] = references(unit.module.tree)
        return found

    def round(self, world: World, edited: Iterable[str]) -> Cleaned:
        """What is dead now. `edited`: the files that differ from upstream."""
        cleaned = Cleaned()
        now = self._count(world.files)
        fewer = {w.decode() for w, n in self.total_before.items() if now[w] < n and w not in self.extra}
        for path in sorted(edited):
            self._imports(world, world.unit(path), cleaned)
            self._locals(world, world.unit(path), cleaned)
        self._definitions(world, fewer, now, cleaned)
        return cleaned

    def _count(self, files: Mapping[str, bytes]) -> Counter[bytes]:
        """How often each word occurs now; only files that changed are counted anew."""
        for path, data in files.items():
            old = self._seen.get(path)
            if old is data:
                continue
            if old is not None:
                self._total.subtract(self.words.of(old))
            self._total.update(self.words.of(data))
            self._seen[path] = data
        return self._total

    # -- definitions --------------------------------------------------------------------------

    def _definitions(self, world: World, fewer: set[str], now: Counter[bytes], cleaned: Cleaned) -> None:
        prefixes = {
            m.decode() for data in world.files.values() if b"getattr" in data for m in _DYNAMIC.findall(data)
        }
        defined: Counter[str] = Counter()
        where: defaultdict[str, list[str]] = defaultdict(list)
        for path, data in world.files.items():
            if not self.may_prune(path):
                continue
            for word in self._defines(data):
                name = word.decode()
                if name in fewer:
                    defined[name] += 1
                    where[name].append(path)
        candidates = sorted(
            name
            for name, count in defined.items()
            if now[name.encode()] - count <= _OFTEN and not (name.startswith("__") and name.endswith("__"))
        )
        if not candidates:
            return
        holders: defaultdict[str, list[str]] = defaultdict(list)
        wanted = {c.encode() for c in candidates}
        for path, data in world.files.items():
            for word in self.words.of(data).keys() & wanted:
                holders[word.decode()].append(path)
        for name in candidates:
            if any(len(p) > 2 and name.startswith(p) for p in prefixes):
                continue
            if any(self.references(world.unit(path))[name] for path in holders[name]):
                continue
            if not self._was_used(name):
                continue
            for path in sorted(set(where[name])):
                self._remove(world, world.unit(path), name, cleaned)

    def _defines(self, data: bytes) -> list[bytes]:
        found = self._defined.get(id(data))
        if found is None or found[0] is not data:
            found = self._defined[id(data)] = (data, defines(data))
        return found[1]

    def _was_used(self, name: str) -> bool:
        """Did upstream's own code refer to this name?"""
        if name not in self._used:
            self._used[name] = self._find_use(name)
        return self._used[name]

    def _find_use(self, name: str) -> bool:
        encoded = name.encode()
        for path, data in self.before.items():
            if encoded in self.words.of(data) and mentions(data, encoded):
                found = self._before_units.get(path)
                if found is None:
                    try:
                        found = references(ast.parse(data))
                    except SyntaxError:
                        found = Counter()
                    self._before_units[path] = found
                if found[name]:
                    return True
        return False

    def _remove(self, world: World, unit: Unit, name: str, cleaned: Cleaned) -> None:
        evaluator = Evaluator(world, unit)
        for item in definitions(unit):
            if item.name != name:
                continue
            if item.kind == "constant":
                value = item.node.value  # type: ignore[attr-defined]
                if not evaluator.pure(value, item.scope):
                    continue
            elif not self._transparent(item.node):
                continue
            full = f"{item.scope.qualname}.{name}" if item.scope.qualname else name
            cleaned.ops[unit.path].append(Remove(item.node))
            cleaned.dead[f"{unit.name}.{full}"] = "nothing refers to it any more"

    @staticmethod
    def _transparent(node: ast.stmt) -> bool:
        for decorator in node.decorator_list:  # type: ignore[attr-defined]
            base = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            if name not in TRANSPARENT and not (isinstance(node, ast.ClassDef) and name == "dataclass"):
                return False
        return True

    # -- imports and locals -------------------------------------------------------------------

    def _imports(self, world: World, unit: Unit, cleaned: Cleaned) -> None:
        before = self.before.get(unit.path)
        if before is None:
            return
        used = self._loads(unit.path, before)
        now = _unit_loads(unit)
        for scope in unit.scopes.by_node.values():
            for name, bindings in scope.names.items():
                if name in now or name not in used:
                    continue
                for binding in bindings:
                    if binding.kind != "import" or binding.alias is None:
                        continue
                    if isinstance(binding.node, ast.ImportFrom) and binding.node.module == "__future__":
                        continue
                    if scope.kind == "module" and self._imported_elsewhere(world, unit, name):
                        continue
                    names = binding.node.names  # type: ignore[attr-defined]
                    index = names.index(binding.alias)
                    cleaned.ops[unit.path].append(DropItem(binding.node, "names", index))
                    if scope.kind == "module":
                        cleaned.dead[f"{unit.name}.{name}"] = "the import is no longer used"
        _whole_imports(cleaned.ops[unit.path]) if unit.path in cleaned.ops else None

    def _loads(self, path: str, data: bytes) -> set[str]:
        found = self._before_loads.get(path)
        if found is None:
            found = self._before_loads[path] = _loads(ast.parse(data))
        return found

    @property
    def _before_loads(self) -> dict[str, set[str]]:
        if not hasattr(self, "_loads_cache"):
            self._loads_cache: dict[str, set[str]] = {}
        return self._loads_cache

    def _imported_elsewhere(self, world: World, unit: Unit, name: str) -> bool:
        """Does another file take this name from here (by import, star import or attribute)?"""
        encoded = name.encode()
        last = unit.name.rpartition(".")[2].encode()
        for path, data in world.files.items():
            if path == unit.path or encoded not in data:
                continue
            near = path.rpartition("/")[0] == unit.path.rpartition("/")[0]
            if last not in data and not near:
                continue
            if encoded not in self.words.of(data):
                continue
            if _takes(world.unit(path), unit.name, name):
                return True
        return False

    def _locals(self, world: World, unit: Unit, cleaned: Cleaned) -> None:
        """Local constants that only folded conditions read."""
        before = self.before.get(unit.path)
        if before is None:
            return
        used = self._loads(unit.path, before)
        for scope in unit.scopes.by_node.values():
            if scope.kind != "function" or isinstance(scope.node, ast.Lambda):
                continue
            loads: set[str] | None = None
            for name, bindings in scope.names.items():
                if (
                    name in scope.outer
                    or name not in used
                    or len(bindings) != 1
                    or bindings[0].kind != "assign"
                ):
                    continue
                if not isinstance(bindings[0].value, ast.Constant):
                    continue
                if loads is None:
                    loads = _loads(scope.node)
                node = bindings[0].node
                if name in loads or not isinstance(node, ast.Assign) or len(node.targets) != 1:
                    continue
                if self._loaded_before(unit, scope, name):
                    cleaned.ops[unit.path].append(Remove(node))

    def _loaded_before(self, unit: Unit, scope: Scope, name: str) -> bool:
        """Did upstream's function of this name read the local?"""
        tree = ast.parse(self.before[unit.path])
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == scope.node.name:  # type: ignore[attr-defined]
                if name in _loads(node):
                    return True
        return False


def _whole_imports(ops: list[Op]) -> None:
    """An import all of whose names leave is removed as a statement."""
    dropped: defaultdict[ast.AST, set[int]] = defaultdict(set)
    for op in ops:
        if isinstance(op, DropItem) and isinstance(op.node, (ast.Import, ast.ImportFrom)):
            dropped[op.node].add(op.index)
    for node, indices in dropped.items():
        if len(indices) == len(node.names):  # type: ignore[attr-defined]
            ops[:] = [o for o in ops if not (isinstance(o, DropItem) and o.node is node)]
            assert isinstance(node, ast.stmt)
            ops.append(Remove(node))


def _unit_loads(unit: Unit) -> set[str]:
    found: set[str] | None = unit.cache.get("loads")  # type: ignore[assignment]
    if found is None:
        found = _loads(unit.module.tree)
        unit.cache["loads"] = found
    return found


def _loads(tree: ast.AST) -> set[str]:
    """Names that are read, also in quoted annotations and `__all__`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 300:
            found.update(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", node.value))
    return found


def _taken(unit: Unit) -> frozenset[tuple[str, str]]:
    """(module or its last name, name) of everything that a file takes from another module."""
    found: set[tuple[str, str]] | None = unit.cache.get("taken")  # type: ignore[assignment]
    if found is None:
        found = unit.cache["taken"] = set()  # type: ignore[assignment]
        assert found is not None
        bound = {
            name: b.alias.name.rpartition(".")[2]
            for name, places in unit.scopes.root.names.items()
            for b in places
            if b.alias is not None
        }
        for node in ast.walk(unit.module.tree):
            if isinstance(node, ast.ImportFrom):
                module = unit.absolute(node)
                found.update((module, a.name) for a in node.names)
            elif isinstance(node, ast.Attribute):
                base = node.value
                if isinstance(base, ast.Name):
                    found.add((bound.get(base.id, base.id), node.attr))
                elif isinstance(base, ast.Attribute):
                    found.add((base.attr, node.attr))
    return found  # type: ignore[return-value]


def _takes(unit: Unit, module: str, name: str) -> bool:
    taken = _taken(unit)
    return (module, name) in taken or (module, "*") in taken or (module.rpartition(".")[2], name) in taken
