"""Withdraws what the manifest states only because a model is not kept, if that model stays after all."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeVar

from builder.errors import Problem
from builder.graph.names import module_of, path_of
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Batch, Edit, Fact, Models, Option, TomlEdit
from builder.manifest.switches import options
from builder.pipeline.architectures import answer, architectures, is_predicate, registered, values_of
from builder.pipeline.prune import Pruned
from builder.pipeline.ranges import VERSIONS_HINT, matches_nothing
from builder.source.parse import parse
from builder.spelling import nearest
from builder.tree import Snapshot

_Statement = TypeVar("_Statement", Fact, Absent, Edit, TomlEdit, Option)
_CONTRADICTED = "Switch the batch off (`{options}`), or state which `models` withdraw the fact."


@dataclass(frozen=True, slots=True)
class Scoped:
    """A manifest without what the models that stay contradict.

    `off`: batch that must be switched off -> the model or architecture that needs it.
    """

    manifest: Manifest
    off: Mapping[str, str]
    problems: tuple[Problem, ...]


def follow_models(manifest: Manifest, upstream: Snapshot, decided: Pruned) -> Scoped:
    """Withdraw each statement, and switch off each batch, whose `models` stay.

    R009 for a model, a part of an architecture's name or a list of architectures that upstream does not have.
    R012 for a fact about a predicate over architectures that is wrong for one that stays.
    """
    scope = _Scope(manifest, upstream, decided)
    batches = tuple(scope.batch(batch) for batch in manifest.batches)
    needed = ((batch.id, scope.needing(batch.models)) for batch in manifest.batches)
    off = {batch: name for batch, name in needed if name is not None}
    for batch in batches:
        if batch.id not in off:
            scope.check(batch)
    return Scoped(replace(manifest, batches=batches), off, tuple(scope.problems))


class _Scope:
    """The models of one upstream and which of them stay."""

    def __init__(self, manifest: Manifest, upstream: Snapshot, decided: Pruned) -> None:
        self.manifest = manifest
        self.upstream = upstream
        self.problems: list[Problem] = []
        self.models = sorted(filter(None, map(self._name, upstream)))
        self.kept = [path for path in decided.kept if self._name(path)]
        self.staying = sorted(map(self._name, self.kept))
        self.registered = {self._name(path) for path in registered(upstream, self.kept, manifest)}
        self.architectures = architectures(upstream, decided.kept, manifest)
        self._answers: dict[Models, str | None] = {}

    def batch(self, batch: Batch) -> Batch:
        stands = batch.configuration
        return replace(
            batch,
            facts=self._holding(batch.facts),
            options=tuple(o for option in self._holding(batch.options) for o in self._option(option)),
            configuration=stands if stands is not None and self.registered.issubset(stands.of) else None,
            absent=self._holding(batch.absent),
            edits=self._holding(batch.edits),
            toml=self._holding(batch.toml),
        )

    def check(self, batch: Batch) -> None:
        """Add R012 for each predicate of the batch that upstream's code contradicts."""
        for fact in batch.facts:
            if fact.kind != "predicate" or fact.name.startswith("*"):
                continue
            for architecture in sorted(self.architectures):
                answered = self._answer(fact.name, architecture)
                if answered is None or (
                    answered is fact.value if fact.exact else answered is bool(fact.value)
                ):
                    continue
                message = (
                    f"`{fact.name}` is {answered} for {architecture}, which stays, and not {fact.value}."
                )
                hint = _CONTRADICTED.format(options=options(self.manifest, [batch.id]))
                self.problems.append(Problem("R012", message, fact.mark, hint=hint))
                break

    def _answer(self, qualified: str, architecture: str) -> bool | None:
        """Return what a function of upstream answers for an architecture; None if its code does not tell."""
        name, path = qualified.rpartition(".")[2], self._module_with(qualified)
        if path is None:
            return None
        tree = parse(self.upstream[path], path).tree
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        if len(functions) != 1 or not is_predicate(functions[0]):
            return None
        return answer(functions[0], tree, architecture)

    def _holding(self, statements: Iterable[_Statement]) -> tuple[_Statement, ...]:
        return tuple(s for s in statements if self.needing(s.models) is None)

    def _option(self, option: Option) -> Iterator[Option]:
        """Yield the option with those of its parts that no architecture that stays contains."""
        every = architectures(self.upstream, self.upstream, self.manifest) if option.parts else ()
        for part in option.parts:
            if not any(part in name for name in every):
                message = f"No architecture of upstream's models has `{part}` in its name."
                self.problems.append(matches_nothing(message, option.mark))
        absent = tuple(p for p in option.parts if not any(p in name for name in self.architectures))
        if absent or option.values or option.among or option.removed_models:
            yield replace(option, values=(*option.values, *absent))

    def needing(self, models: Iterable[Models]) -> str | None:
        """The first of these models, or of the architectures in such a list, that stays."""
        answers = [self._stays(one) for one in models]  # of all, so that each is accounted for
        return next((answer for answer in answers if answer is not None), None)

    def _stays(self, one: Models) -> str | None:
        if one not in self._answers:
            readings = {"name": self._named, "architectures": self._listed}
            self._answers[one] = readings.get(one.kind, self._with_name)(one)
        return self._answers[one]

    def _named(self, one: Models) -> str | None:
        if not any(fnmatchcase(m, one.name) for m in self.models):
            message = f"No model of upstream is called `{one.name}`."
            hint = nearest(one.name, self.models) or VERSIONS_HINT
            self.problems.append(matches_nothing(message, one.mark, hint))
        # a pattern stands for models, and not for the modules that they share
        chosen = self.registered if set(one.name) & set("*?[") else self.staying
        return next(
            (model for model in self.staying if fnmatchcase(model, one.name) and model in chosen), None
        )

    def _listed(self, one: Models) -> str | None:
        """Return the first architecture that stays and that upstream's list or function names; add a problem
        for one that cannot be read."""
        answers = {name: self._answer(one.name, name) for name in sorted(self.architectures)}
        if answers and None not in answers.values():
            return next((name for name, holds in answers.items() if holds), None)
        path = self._module_with(one.name)
        listed = _strings(self.upstream[path], path, one.name.rpartition(".")[2]) if path else None
        if listed is None:
            message = (
                f"`{one.name}` is no list of architectures that can be read in upstream's code, and no "
                "function that answers for one."
            )
            self.problems.append(Problem("R009", message, one.mark, nothing=path is None))
            return None
        return min(listed & self.architectures, default=None)

    def _with_name(self, one: Models) -> str | None:
        """The first model that stays and whose file defines a name, or has a parameter of this name."""
        if not any(self._holds(path, one) for path in self.upstream if self._name(path)):
            verb = "defines" if one.kind == "defines" else "has a parameter"
            message = f"No model of upstream {verb} `{one.name}`."
            self.problems.append(matches_nothing(message, one.mark))
        names = (self._name(path) for path in self.kept if self._holds(path, one))
        return min(filter(None, names), default=None)

    def _holds(self, path: str, one: Models) -> bool:
        if not path.endswith(".py") or one.name.encode() not in self.upstream[path]:
            return False
        try:
            tree = parse(self.upstream[path], path).tree
        except SyntaxError:
            return False
        if one.kind == "parameter":
            return any(isinstance(node, ast.arg) and node.arg == one.name for node in ast.walk(tree))
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return any(isinstance(node, kinds) and node.name == one.name for node in ast.walk(tree))

    def _module_with(self, qualified: str) -> str | None:
        """The path of the module of a qualified name, where the module mentions the name."""
        module, _, name = qualified.rpartition(".")
        path = next((p for p in path_of(module, self.manifest.packages) or () if p in self.upstream), None)
        return path if path is not None and name.encode() in self.upstream[path] else None

    def _name(self, path: str) -> str:
        """The name of a model file inside the model package; empty for other files."""
        package = f"{self.manifest.roots.model_package}."
        module = module_of(path, self.manifest.packages) or ""
        return module.removeprefix(package) if module.startswith(package) else ""


def _strings(data: bytes, path: str, name: str, busy: frozenset[str] = frozenset()) -> set[str] | None:
    """Return the texts that a module assigns to a name, with those of names in it; None if one is unknown."""
    assigned = list(values_of(data, path, name))
    if not assigned or name in busy:
        return None
    texts: set[str] = set()
    for value in assigned:
        for node in ast.walk(value):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.Name) and node.id not in ("frozenset", "set", "tuple"):
                inner = _strings(data, path, node.id, busy | {name})
                if inner is None:
                    return None
                texts |= inner
    return texts
