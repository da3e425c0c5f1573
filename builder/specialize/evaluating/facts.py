"""The manifest's facts, indexed by what they are about."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

from builder.graph.names import packages_around
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Fact, FactKind, Option, Scalar


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that the facts decide. Not `exact`: only its truth is known."""

    value: Scalar
    exact: bool = True

    @property
    def truth(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True, slots=True)
class Gone:
    """Something that is absent: its qualified name (for messages) and who says so."""

    name: str


@dataclass(frozen=True, slots=True)
class Registry:
    """Rows that the program asks for by a text: see `registries` in the schema."""

    row: str
    key: str
    target: str
    registered_by: str
    held_by: str
    asked_by: frozenset[str]

    @staticmethod
    def of(fact: Fact) -> Registry:
        key, target, registered_by, held_by, *asked_by = str(fact.value).split()
        return Registry(fact.name, key, target, registered_by, held_by, frozenset(asked_by))


#: Calls that have no effect and that every Python has.
PURE_BUILTINS = frozenset([
    "bool", "callable", "float", "frozenset", "getattr", "hasattr", "hash", "id", "int", "isinstance",
    "issubclass", "len", "max", "min", "repr", "set", "str", "sum", "tuple", "type", "list", "dict", "any",
    "all", "abs", "sorted",
])  # fmt: skip
#: Methods without effect on the strings, dicts and paths that conditions ask.
PURE_METHODS = frozenset([
    "lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "split", "replace", "get",
    "keys", "values", "items", "is_available",
])  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """Everything the evaluator may assume, by kind."""

    predicates: Mapping[str, KnownValue] = field(default_factory=dict)
    values: Mapping[str, KnownValue] = field(default_factory=dict)
    environment: Mapping[str, KnownValue] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()
    pure: frozenset[str] = frozenset()
    environment_readers: frozenset[str] = frozenset()  # qualified or bare names of functions
    quiet_imports: frozenset[str] = frozenset()  # external modules, each with everything below it
    defaults: Mapping[tuple[str, str], Scalar] = field(default_factory=dict)
    options: tuple[Option, ...] = ()
    modules: Mapping[str, Absent] = field(default_factory=dict)
    symbols: Mapping[str, Absent] = field(default_factory=dict)
    #: the last names of absent symbols
    absent_names: frozenset[str] = frozenset()
    #: name with the word of a batch -> the qualified names of the functions and methods that have it
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: functions that do nothing but call a function that they are given
    runners: frozenset[str] = frozenset()
    #: functions and methods that nothing calls but by a name in the code: no composed name, nobody outside
    uncalled: frozenset[str] = frozenset()
    #: classes, or patterns of such, whose attributes declare what the program reads by their names
    declarations: tuple[str, ...] = ()
    #: classes, or patterns of such, whose methods are called by names that the program spells out
    methods: tuple[str, ...] = ()
    #: classes of other packages: to inherit from one does nothing else
    bases: frozenset[str] = frozenset()
    registries: tuple[Registry, ...] = ()

    @staticmethod
    def of(manifest: Manifest) -> Facts:
        facts = [f for b in manifest.batches for f in b.facts]
        absent = [a for b in manifest.batches for a in b.absent]
        known = {kind: _known(facts, kind) for kind in ("predicate", "value", "environment")}

        def names(kind: FactKind) -> frozenset[str]:
            return frozenset(f.name for f in facts if f.kind == kind)

        defaults: dict[tuple[str, str], Scalar] = {}
        for fact in facts:
            if fact.kind == "default":
                name, _, keyword = fact.name.partition(":")
                defaults[name, keyword] = fact.value
        return Facts(
            predicates=known["predicate"],
            values=known["value"],
            environment=known["environment"],
            attributes=names("attribute"),
            pure=names("pure"),
            environment_readers=names("environment-reader"),
            quiet_imports=names("quiet-import"),
            uncalled=names("uncalled"),
            declarations=tuple(sorted(names("declaration"))),
            defaults=defaults,
            options=tuple(o for b in manifest.batches for o in b.options),
            modules={a.name: a for a in absent if a.kind == "module"},
            symbols={a.name: a for a in absent if a.kind == "symbol"},
            absent_names=frozenset(a.name.rpartition(".")[2] for a in absent if a.kind == "symbol"),
            named=_by_last_name(names("uncalled")),
            runners=names("runner"),
            methods=tuple(sorted(names("methods"))),
            bases=names("base"),
            registries=tuple(Registry.of(f) for f in facts if f.kind == "registry"),
        )

    def module_gone(self, module: str) -> str | None:
        """The declared absent module that this one is or lies in."""
        return next((each for each in (module, *packages_around(module)) if each in self.modules), None)

    def option_absent(self, names: Iterable[str], value: Scalar) -> Option | None:
        """The option that says `value` never occurs under one of these names."""
        if value is None:
            return None
        names = tuple(names)
        for option in self._options_without(value):
            if any(_matches(option.names, name) for name in names or ("",)):
                return option
        return None

    def never_has(self, names: tuple[str, ...], value: Scalar) -> bool:
        """Return whether `value` never occurs under one of these names."""
        return self.option_absent(names, value) is not None

    @cached_property
    def _without(self) -> dict[tuple[type, Scalar], tuple[Option, ...]]:
        """The options that say so, by the values that were asked for."""
        return {}

    def _options_without(self, value: Scalar) -> tuple[Option, ...]:
        key = type(value), value
        if key not in self._without:
            self._without[key] = tuple(option for option in self.options if option.has_not(value))
        return self._without[key]

    def is_listed(self, name: str) -> bool:
        """Return whether a name holds architectures, which are texts and lists, and no iterators."""
        return any(option.removed_models and _matches(option.names, name) for option in self.options)

    def is_pure(self, qualified: str) -> bool:
        """Return whether calling a function has no effect: declared by its qualified or last name, or by a
        pattern."""
        if qualified in self.pure or qualified.rpartition(".")[2] in self.pure:
            return True
        patterns = tuple(p for p in self.pure if "*" in p and not p.startswith("*."))
        return _matches(patterns, qualified) if patterns else False

    def declares(self, qualified: str, homes: bool = False) -> bool:
        """Whether the attributes of a class are declarations; `homes`: whether a module may have such one."""
        names = tuple(name.rpartition(".")[0] if homes else name for name in self.declarations)
        return bool(names) and _matches(names, qualified)

    def spells_methods(self, qualified: str) -> bool:
        """Whether a method of a class is called by no name but one that the program spells out."""
        return bool(self.methods) and _matches(self.methods, qualified)

    def attribute_value(self, node: ast.Attribute) -> KnownValue | None:
        """What reading an attribute gives, whatever its owner is (`*.x`), or is called (`*.owner.x`)."""
        return _of_owner(self.values, node)

    def method_value(self, node: ast.Attribute) -> KnownValue | None:
        """What calling a method gives, whatever its owner is (`*.x`), or is called (`*.owner.x`)."""
        return _of_owner(self.predicates, node)

    @cached_property
    def needles(self) -> frozenset[str]:
        """Identifiers and strings one of which a file must hold for the facts to say anything of it."""
        found = {name.rpartition(".")[2] for name in (*self.predicates, *self.values, *self.symbols)}
        found.update(self.environment, self.named)
        found.update(name.rpartition(".")[2] for name in self.attributes)
        found.update(v for o in self.options for v in o.values if isinstance(v, str))
        found.update(n.strip("*") for o in self.options if o.among for n in o.names)
        return frozenset(found)


def _of_owner(known: Mapping[str, KnownValue], node: ast.Attribute) -> KnownValue | None:
    owner = node.value
    last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return known.get(f"*.{node.attr}") or known.get(f"*.{last}.{node.attr}")


def _by_last_name(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(names):
        last = name.rpartition(".")[2]
        found[last] = (*found.get(last, ()), name)
    return found


def _known(facts: Iterable[Fact], kind: str) -> dict[str, KnownValue]:
    return {f.name: KnownValue(f.value, f.exact) for f in facts if f.kind == kind}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


@lru_cache(maxsize=100_000)
def _matches(patterns: tuple[str, ...], name: str) -> bool:
    return any(p == "*" or _compiled(p).match(name) for p in patterns)
