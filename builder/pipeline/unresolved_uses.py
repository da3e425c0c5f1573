"""Problems for the uses of removed names that specialization could not resolve."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from builder.analysis.removals import Kind, Removal, Removals, index_removals
from builder.errors import Mark, Problem
from builder.graph.names import module_of
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE
from builder.manifest.switches import options
from builder.pipeline.prune import Pruned
from builder.source.parse import parse
from builder.specialize.leftovers import Leftover
from builder.specialize.results import BY_EDIT, Specialized
from builder.tree import Snapshot

#: Places of one problem that are named; the others are counted.
MAX_NAMED = 3
_STATED: tuple[Kind, ...] = ("rule", "absent", "drop", "overlay")
_HINT = "State a fact that makes the use dead, or drop, stub or replace it with an edit."


def problems(
    result: Specialized, decided: Pruned, manifest: Manifest, laid: Snapshot, upstream: Snapshot
) -> Iterator[Problem]:
    """Yield G010 for each edit that its syntax tree does not confirm, R008 for each use that must stay."""
    for mismatch in result.mismatches:
        place = Mark(mismatch.path) if mismatch.path else None
        message = f"{mismatch.path or 'The specialization'}: {mismatch.sentence}."
        yield Problem("G010", message, upstream=place)
    removals = index_removals(manifest, decided.removed, result.lost)
    uses: dict[tuple[str, str], list[Leftover]] = {}
    for use in result.leftovers:  # the uses of one thing are one problem
        uses.setdefault((use.gone, use.name.partition(".")[0]), []).append(use)
    for (name, _), places in uses.items():
        removal = _removal(name, removals)
        cause = removal.clause if removal else "nothing defines it"
        because = cause if removal and removal.name == name and removal.mark else f"{name} is gone: {cause}"
        mark = removal.mark if removal else None
        first = places[0]
        where, excerpt = _place(first, result.files.get(first.path) or laid[first.path], upstream)
        message = f"`{first.name}` in {_named(places)} is used, but {because}."
        # an edit quotes upstream, so there is none for a line that only the output has
        hint = _remedy(removal, manifest) + (_edit(first, where, manifest, upstream) if where.line else "")
        yield Problem("R008", message, mark, where, excerpt, hint, cause=cause if mark else None)


def _remedy(removal: Removal | None, manifest: Manifest) -> str:
    """Return what to write, or how to build, if something that is gone is still used."""
    if removal is None or removal.mark is None or removal.batch in ("", BASE):
        return _HINT
    package = f"{manifest.roots.model_package}."
    if removal.mark == manifest.mark("roots", "models", "keep"):
        model = removal.name.removeprefix(package)
        return f"Name `{model}` in roots.models.keep. Or s{_HINT[1:]}"
    return f"Build with `{options(manifest, [removal.batch])}`. Or s{_HINT[1:]}"


def _edit(use: Leftover, where: Mark, manifest: Manifest, upstream: Snapshot) -> str:
    """Return the edit that drops a use, as it is to be written.

    Empty if the use is neither a statement nor an entry of a list, a tuple or a set on one line.
    """
    module = module_of(use.path, manifest.packages)
    try:
        source = parse(upstream[use.path], use.path)
    except SyntaxError:
        return ""
    for node in ast.walk(source.tree) if module is not None else ():
        # dropping a `return` or an assignment would change what the code after it does
        parts: list[ast.expr] | list[ast.Expr] = [node] if isinstance(node, ast.Expr) else []
        kind = "drop_statement"
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and node.lineno < where.line:
            parts, kind = node.elts, "drop_entry"
        for part in parts:
            written = source.text(part)
            if part.lineno == where.line and source.line(where.line - 1).decode().strip(" \r\n,") == written:
                quoted = written.replace("'", "''")
                scope = f"{module}.{use.scope}" if use.scope else module
                return f" To drop this one: {{{kind}: '{quoted}', in: {scope}}}."
    return ""


def _named(places: Sequence[Leftover]) -> str:
    """Return the scopes that use a name: the first few, and how many more there are."""
    scopes = list(dict.fromkeys(use.scope or "the module" for use in places))
    files = len({use.path for use in places})
    more = len(scopes) - MAX_NAMED
    if more > 0:
        return f"{', '.join(scopes[:MAX_NAMED])} and {more} more places of {files} file{'s' * (files > 1)}"
    return " and ".join(filter(None, (", ".join(scopes[:-1]), scopes[-1])))


def _removal(gone: str, removals: Removals) -> Removal | None:
    """Return what removed a name: a statement about it, a proof, or a statement about what holds it."""
    removal = removals.own(gone, *_STATED)
    if removal is None:
        proof = removals.own(gone, "proof")
        if proof and proof.clause != BY_EDIT:  # which edit it was, the name that holds it may tell
            return proof
    return removal or removals.nearest(gone, *_STATED) or removals.own(gone, "proof")


def _place(use: Leftover, data: bytes, upstream: Snapshot) -> tuple[Mark, str | None]:
    """Return the use in upstream: the line with the same text that is nearest to its present line."""
    lines = data.decode("utf-8", "replace").splitlines()
    word = use.name.rpartition(".")[2]
    near = sorted(range(len(lines)), key=lambda number: abs(number + 1 - use.line))
    row = next((number for number in near if word in lines[number]), None)
    if row is None or use.path not in upstream:
        return Mark(use.path, use.line, use.column), None
    text = lines[row].strip()
    upstream_lines = upstream[use.path].decode("utf-8", "replace").splitlines()
    same = [number for number, line in enumerate(upstream_lines) if line.strip() == text]
    if not same:
        return Mark(use.path), text
    best = min(same, key=lambda number: abs(number - row))
    return Mark(use.path, best + 1, upstream_lines[best].find(word) + 1), text
