"""Checks the scope of docs/scope.yaml: items that a reader looks for, each with what carries it out.

An item decides nothing by itself. It names the batches and statements that do, what must be there
afterwards (a guarantee like those of `present`), and what checks it; `docs/scope.md` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator

from builder.errors import CODES, Mark, Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Batch
from builder.spelling import nearest


def check(manifest: Manifest) -> Iterator[Problem]:
    """M006 for an unknown batch, M012 for an unknown statement, gate or pin that an item names."""
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
