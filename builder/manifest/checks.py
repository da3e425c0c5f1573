"""Checks across the parts of a manifest: ids, pins, overlays, contradictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from builder.errors import Mark, Problem
from builder.manifest.documents import SCOPE, is_part
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Edit, Fact
from builder.spelling import nearest


def ids(manifest: Manifest) -> Iterator[Problem]:
    """M006: two batches with one id, or a batch with the id of the implicit one."""
    first: dict[str, Mark] = {}
    for index, batch in enumerate(manifest.batches[1:]):
        mark = manifest.mark("batches", index, "id")
        if batch.id == BASE:
            message = f"The batch id `{BASE}` is reserved for the top level of the manifest."
            yield Problem("M006", message, mark)
        elif batch.id in first:
            yield Problem("M006", f"The batch `{batch.id}` is already on line {first[batch.id].line}.", mark)
        elif batch.id:
            first[batch.id] = mark


def pruned(manifest: Manifest) -> Iterator[Problem]:
    """M011: a batch prunes models, which is the business of `roots.models`; one by its name it may."""
    package = manifest.roots.model_package
    top, _, rest = package.partition(".")
    folder = (
        "/".join(filter(None, [manifest.packages.get(top, top).rstrip("/"), rest.replace(".", "/")])) + "/"
    )
    for rule in (rule for batch in manifest.batches for rule in batch.rules):
        named = rule.pattern.endswith(".py") and not set("*?[").intersection(rule.pattern)
        if rule.verdict == "prune" and package and rule.pattern.lstrip("/").startswith(folder) and not named:
            yield Problem(
                "M011", f"`prune: {rule.pattern}` matches models, which `roots.models` decides.",
                rule.mark,
                hint="delete it: a model leaves unless it is kept or a kept one imports it, and the "
                "rest of its package goes by reach",
            )  # fmt: skip


def pins(manifest: Manifest) -> Iterator[Problem]:
    """M010: the default pin is not defined."""
    name, known = manifest.upstream.default, manifest.upstream.pins
    if name and name not in known:
        mark = manifest.mark("upstream", "default")
        yield Problem("M010", f"The pin `{name}` is not defined.", mark, hint=nearest(name, known))


def overlays_named(
    named: Iterable[tuple[str, Mark]], files: Mapping[str, bytes], others: Mapping[str, str]
) -> Iterator[Problem]:
    """M008: an overlay that is missing, is not a regular file, or is outside overlays/."""
    for path, mark in named:
        if path in files and not is_part(path):
            continue
        inside = path.startswith("overlays/")
        if not inside:
            message, hint = (
                f"The overlay `{path}` is not below overlays/.",
                nearest(f"overlays/{path}", files),
            )
        elif path in others:
            message, hint = f"The overlay `{path}` is {others[path]}.", None
        elif is_part(path):
            message, hint = f"The overlay `{path}` is part of the manifest itself.", None
        elif link := next((o for o in others if path.startswith(f"{o}/")), None):
            message, hint = f"The overlay `{path}` is below `{link}`, which is {others[link]}.", None
        elif any(file.startswith(f"{path}/") for file in files):
            message, hint = f"The overlay `{path}` is a folder, not a regular file.", None
        else:
            message, hint = f"The overlay `{path}` does not exist.", nearest(path, files)
        yield Problem("M008", message, mark, hint=hint)


def overlays_unused(
    named: Iterable[tuple[str, Mark]], files: Mapping[str, bytes], others: Mapping[str, str]
) -> Iterator[Problem]:
    """M009 for a file that no batch uses, M008 for one that is not a regular file."""
    used = {path for path, _ in named}
    for path in sorted(set(files) - used):
        if path.rpartition("/")[2] != "README.md" and not is_part(path):
            hint = "name it in a batch, or delete it"
            yield Problem("M009", f"No batch uses `{path}`.", Mark(path), hint=hint)
    for path in sorted(set(others) - used):
        if not is_part(path):  # `parts_read` reports it
            yield Problem("M008", f"`{path}` is {others[path]}.", Mark(path))


def parts_read(others: Mapping[str, str]) -> Iterator[Problem]:
    """M008: a part of the manifest that is not a regular file."""
    for path in sorted(others):
        if is_part(path) or path == SCOPE:
            yield Problem("M008", f"`{path}` is {others[path]}.", Mark(path))


def contradictions(manifest: Manifest) -> Iterator[Problem]:
    """M011: two contradictory statements."""
    facts: dict[tuple[str, str], Fact] = {}
    edits: dict[str, Edit] = {}
    files: dict[str, Mark] = {}
    for batch in manifest.batches:
        verdicts: dict[str, tuple[str, Mark]] = {}
        for rule in batch.rules:
            verdict, mark = verdicts.setdefault(rule.pattern, (rule.verdict, rule.mark))
            if verdict != rule.verdict and rule.pattern:
                yield _twice(
                    f"`{rule.verdict}: {rule.pattern}`", f"`{verdict}: {rule.pattern}`", mark, rule.mark
                )
        for fact in batch.facts:
            other = facts.setdefault((fact.kind, fact.name), fact)
            if (type(other.value), other.value, other.exact) != (type(fact.value), fact.value, fact.exact):
                yield _twice(f"The {fact.kind} `{fact.name}`", "another value of it", other.mark, fact.mark)
        for edit in batch.edits:
            if edit.kind in ("drop", "stub", "set", "body") and edit.target:
                before = edits.setdefault(edit.target, edit)
                if (before.kind, before.by) != (edit.kind, edit.by):
                    yield _twice(
                        f"`{edit.kind} {edit.target}`", f"`{before.kind}` of it", before.mark, edit.mark
                    )
        for file in batch.files:
            place = files.setdefault(file.path, file.mark)
            if place != file.mark and file.path:
                yield _twice(f"The file `{file.path}`", "another file of that path", place, file.mark)


def _twice(this: str, that: str, first: Mark, second: Mark) -> Problem:
    return Problem("M011", f"{this} contradicts {that} {first.seen_from(second.file)}.", second)
