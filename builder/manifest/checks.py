"""Checks across the parts of a manifest: ids, pins, overlays, contradictions, repeated items, the scope."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping

from builder.errors import CODES, Mark, Problem
from builder.manifest.documents import SCOPE, is_part
from builder.manifest.model import Manifest
from builder.manifest.nodes import Node, real
from builder.manifest.statements import BASE, Batch
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
    """M011: a batch prunes models, about which `roots.models` decides; a model by its name it may."""
    package = manifest.roots.model_package
    top, _, rest = package.partition(".")
    names = [manifest.packages.get(top, top).rstrip("/"), rest.replace(".", "/")]
    folder = "/".join(filter(None, names)) + "/"
    for rule in (rule for batch in manifest.batches for rule in batch.rules):
        named = rule.pattern.endswith(".py") and not set("*?[").intersection(rule.pattern)
        if rule.verdict == "prune" and package and rule.pattern.lstrip("/").startswith(folder) and not named:
            message = f"`prune: {rule.pattern}` matches models, which `roots.models` decides."
            hint = (
                "delete it: a model is removed unless it is kept or a kept one imports it, and "
                "reachability decides about the rest of its package"
            )
            yield Problem("M011", message, rule.mark, hint=hint)


def pins(manifest: Manifest) -> Iterator[Problem]:
    """M010: the default pin, or a pin of a scope, is not defined."""
    known = manifest.upstream.pins
    pins: list[tuple[str, tuple[str | int, ...]]] = [(manifest.upstream.default, ("upstream", "default"))]
    for scope in manifest.scopes.values():
        pins += [(pin, ("scopes", scope.name, "pins", number)) for number, pin in enumerate(scope.pins)]
    for name, path in pins:
        if name and name not in known:
            message = f"The pin `{name}` is not defined."
            yield Problem("M010", message, manifest.mark(*path), hint=nearest(name, known))


def overlays(
    named: Collection[tuple[str, Mark]],
    files: Mapping[str, bytes],
    others: Mapping[str, str],
    whole: bool,
) -> Iterator[Problem]:
    """M008: an overlay that is missing, is not a regular file, or is outside overlays/; M009: a file that no
    batch uses, if the list of the named ones is `whole`."""
    for path, mark in named:
        if path in files and not is_part(path):
            continue
        hint = None
        if not path.startswith("overlays/"):
            fault, hint = "is not below overlays/", nearest(f"overlays/{path}", files)
        elif path in others:
            fault = f"is {others[path]}"
        elif is_part(path):
            fault = "is part of the manifest itself"
        elif link := next((o for o in others if path.startswith(f"{o}/")), None):
            fault = f"is below `{link}`, which is {others[link]}"
        elif any(file.startswith(f"{path}/") for file in files):
            fault = "is a folder, not a regular file"
        else:
            fault = "does not exist"
            hint = nearest(path, files, cutoff=0.85) or "write the file, or remove the statement"
        yield Problem("M008", f"The overlay `{path}` {fault}.", mark, hint=hint)
    used = {path for path, _ in named}
    for path in sorted(set(files) - used) if whole else ():
        if path.rpartition("/")[2] != "README.md" and not is_part(path):
            hint = "name it in a batch, or delete it"
            yield Problem("M009", f"No batch uses `{path}`.", Mark(path), hint=hint)
    for path in sorted(set(others) - used) if whole else ():
        if not is_part(path):  # `parts_read` reports it
            yield Problem("M008", f"`{path}` is {others[path]}.", Mark(path))


def parts_read(others: Mapping[str, str]) -> Iterator[Problem]:
    """M008: a part of the manifest that is not a regular file."""
    for path in sorted(others):
        if is_part(path) or path == SCOPE:
            yield Problem("M008", f"`{path}` is {others[path]}.", Mark(path))


def contradictions(manifest: Manifest) -> Iterator[Problem]:
    """M011: two contradictory statements."""
    first: dict[tuple[str, ...], tuple[object, str, Mark]] = {}
    for subject, stated, this, that, mark in _claims(manifest):
        other, name, place = first.setdefault(subject, (stated, that, mark))
        if other != stated and subject[-1]:
            message = f"{this} contradicts {name} {place.seen_from(mark.file)}."
            yield Problem("M011", message, mark, hint="delete one of the two")


def _claims(manifest: Manifest) -> Iterator[tuple[tuple[str, ...], object, str, str, Mark]]:
    """Yield for each statement its subject, what all statements about the subject must agree on, its name in
    a message, its name where another statement contradicts it, and its place."""
    for batch in manifest.batches:
        for rule in batch.rules:
            said = f"`{rule.verdict}: {rule.pattern}`"
            yield ("rule", batch.id, rule.pattern), rule.verdict, said, said, rule.mark
        for fact in batch.facts:
            value = (type(fact.value), fact.value, fact.exact)
            said = f"The {fact.kind} `{fact.name}`"
            yield ("fact", fact.kind, fact.name), value, said, "another value of it", fact.mark
        for edit in batch.edits:
            if edit.kind in ("drop", "stub", "set", "body"):
                said = f"`{edit.kind} {edit.target}`"
                yield ("edit", edit.target), (edit.kind, edit.by), said, f"`{edit.kind}` of it", edit.mark
        for file in batch.files:
            said = f"The file `{file.path}`"
            yield ("file", file.path), file.mark, said, "another file of that path", file.mark


def repeated(node: Node) -> Iterator[Problem]:
    """M002 for each item that is already in its list: it does nothing, and deleting it changes nothing."""
    lines: dict[str, int] = {}
    for part in node.parts:
        if part.key == "value":
            continue  # what an edit writes into a file of upstream may be any list
        if isinstance(part.key, int):
            # `0.5` and `"0.5"` are different values of a program
            bare = [path for path, one in part.walk() if one.plain and real(one.data) is not None]
            stated = json.dumps([part.data, sorted(map(repr, bare))], sort_keys=True, default=repr)
            if stated in lines:
                message = f"This item of the list is already on line {lines[stated]}."
                yield Problem("M002", message, part.mark, hint="delete one of the two")
            lines.setdefault(stated, part.mark.line)
        yield from repeated(part)


# -- the scope of docs/scope.yaml


def items(manifest: Manifest) -> Iterator[Problem]:
    """M006 for an unknown batch, M012 for an unknown statement, gate or pin that an item of the scope names.

    An item decides nothing by itself. It names the batches and statements that do, what must be there
    afterwards (a guarantee like those of `present`), and what checks it; `docs/scope.md` shows it.
    """
    batches = [b.id for b in manifest.batches]
    named = statements(manifest)
    marks: dict[str, Mark] = {}
    for item in manifest.scope:
        if item.id in marks:
            message = f"The item `{item.id}` is already on line {marks[item.id].line}."
            yield Problem("M012", message, item.mark)
        marks.setdefault(item.id, item.mark)
        for name in item.batches:
            if name not in batches:
                message = f"There is no batch `{name}`."
                yield Problem("M006", message, item.mark, hint=nearest(name, batches))
        for what, names, known in (
            ("statement about", item.statements, sorted(named)),
            ("gate", item.gates, sorted(CODES)),
            ("pin", item.lines, sorted(manifest.upstream.pins)),
        ):
            for name in names:
                if name not in known:
                    message = f"The item `{item.id}` names the {what} `{name}`, which does not exist."
                    yield Problem("M012", message, item.mark, hint=nearest(name, known))


def statements(manifest: Manifest) -> dict[str, tuple[str, str]]:
    """Return the subject of each statement -> its batch, and the statement in words.

    Edits and overlays go by their target, facts by their name, absent values as `value:x`, words as
    `word:x`, TOML and anchored edits by their file, and the keys of the roots by `roots.models` and
    `roots.modules`.
    """
    statements: dict[str, tuple[str, str]] = {
        "roots.models": (BASE, f"kept models: {', '.join(manifest.roots.models)}"),
        "roots.modules": (BASE, f"{len(manifest.roots.modules)} roots"),
    }
    for batch in manifest.batches:
        for subject, words in _in_words(batch):
            statements.setdefault(subject, (batch.id, words))
    return statements


def _in_words(batch: Batch) -> Iterator[tuple[str, str]]:
    for word in batch.words:
        yield f"word:{word.text}", f"everything named `{word.text}` is removed"
    for fact in batch.facts:
        yield fact.name, f"`{fact.name}{'()' if fact.kind == 'predicate' else ''}` is {fact.value}"
    for value in (value for option in batch.options for value in option.values):
        yield f"value:{value}", f"the value `{value}` never occurs"
    for absent in batch.absent:
        yield absent.name, f"`{absent.name}` is absent"
    for edit in batch.edits:
        yield edit.target, f"{edit.kind.replace('-', ' ')} `{edit.target}`"
    for file in batch.files:
        yield file.path, f"our own `{file.path}`"
    for toml in batch.toml:
        yield f"{toml.file}:{toml.key}", f"{toml.op} `{toml.key}`"
    for anchored in batch.anchored:
        yield anchored.file, f"edits of `{anchored.file}`"
    for rule in batch.rules:
        if rule.batch != BASE:
            yield rule.pattern, f"{rule.verdict} `{rule.pattern}`"
