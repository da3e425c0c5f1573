"""Walks all statements of a manifest that may or may not match an upstream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from builder.manifest.model import (
    Architecture,
    DynamicEdge,
    Kept,
    KeptDependency,
    Manifest,
    Root,
    TextException,
    WheelRule,
)
from builder.manifest.statements import (
    Absent,
    AnchoredEdit,
    Edit,
    Fact,
    Models,
    Option,
    Patch,
    Rule,
    Spared,
    TomlEdit,
    WholeFile,
    Word,
)

Stated = (
    Rule
    | Models
    | Option
    | Fact
    | Absent
    | Edit
    | WholeFile
    | Patch
    | TomlEdit
    | AnchoredEdit
    | DynamicEdge
    | TextException
    | KeptDependency
    | Kept
    | WheelRule
    | Architecture
    | Word
    | Spared
    | Root
)
_One = TypeVar("_One", bound=Stated)
Change = Callable[[_One], _One]


def stated(manifest: Manifest) -> Iterator[Stated]:
    """The statements, the models of each directly behind it; several may share a mark."""
    statements: list[Stated] = []

    def take(one: Any) -> Any:
        statements.append(one)
        return one

    changed(manifest, take)
    yield from statements


def changed(manifest: Manifest, change: Callable[[Any], Any]) -> Manifest:
    """The manifest with `change` applied to every statement, a statement's own models included; one that it
    turns into None leaves."""

    def each(many: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(new for item in many if (new := one(item)) is not None)

    def one(item: Any) -> Any:
        new = change(item)
        models = getattr(new, "models", ())
        return replace(new, models=each(models)) if models else new

    batches = (
        replace(
            batch,
            models=each(batch.models),
            words=each(batch.words),
            spared=each(batch.spared),
            rules=each(batch.rules),
            facts=each(batch.facts),
            options=each(batch.options),
            absent=each(batch.absent),
            edits=each(batch.edits),
            files=each(batch.files),
            patches=each(batch.patches),
            toml=each(batch.toml),
            anchored=each(batch.anchored),
        )
        for batch in manifest.batches
    )
    promises = manifest.guarantees
    guarantees = replace(
        promises,
        absent_text=tuple(replace(t, exceptions=each(t.exceptions)) for t in promises.absent_text),
        dependencies=each(promises.dependencies),
    )
    kernel = manifest.kernel
    if kernel is not None:
        kernel = replace(kernel, remove=each(kernel.remove), architectures=each(kernel.architectures))
    return replace(
        manifest,
        roots=replace(
            manifest.roots,
            modules=each(manifest.roots.modules),
            made_of_models=each(manifest.roots.made_of_models),
            dynamic=each(manifest.roots.dynamic),
        ),
        batches=tuple(batches),
        named_files=each(manifest.named_files),
        prune_symbols=each(manifest.prune_symbols),
        guarantees=guarantees,
        kernel=kernel,
        scope=tuple(replace(item, keeps=each(item.keeps)) for item in manifest.scope),
    )


def name_of(statement: Stated) -> str:
    """The object of a statement, in one word of the manifest."""
    if isinstance(statement, (Rule, WheelRule)):
        return statement.pattern
    if isinstance(statement, Word):
        return statement.text
    if isinstance(statement, Spared):
        return statement.pattern
    if isinstance(statement, Edit):
        return statement.target
    if isinstance(statement, (WholeFile, TextException)):
        return statement.path
    if isinstance(statement, Patch):
        return statement.overlay
    if isinstance(statement, (TomlEdit, AnchoredEdit)):
        return statement.file
    if isinstance(statement, DynamicEdge):
        return statement.source
    if isinstance(statement, Option):
        values = (*statement.values, *statement.parts, *statement.among)
        return ", ".join(str(value) for value in values) or ", ".join(statement.names)
    return statement.name
