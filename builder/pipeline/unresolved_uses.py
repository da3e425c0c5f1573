"""Problems for the uses of removed names that specialization could not resolve."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from builder.analysis.removals import Removal, index_removals
from builder.errors import Mark, Problem
from builder.graph.names import module_of
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE
from builder.manifest.switches import options
from builder.overlay import matching
from builder.pipeline.lost_names import Heir, Loss, LostNames
from builder.pipeline.prune import Pruned
from builder.select.families import Families
from builder.source.parse import parse
from builder.specialize.evaluating.facts import Facts
from builder.specialize.leftovers import Leftover
from builder.specialize.results import Specialized
from builder.surface.values import Sources
from builder.tree import Snapshot

#: Names and places that the message of a problem has; the others are counted.
MAX_NAMED = 3
#: The longest statement that a hint writes out.
_LONGEST = 200
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_HINT = "State a fact that makes the use dead, or drop, stub or replace it with an edit."


def problems(
    result: Specialized,
    decided: Pruned,
    manifest: Manifest,
    facts: Facts,
    laid: Snapshot,
    upstream: Snapshot,
) -> Iterator[Problem]:
    """Yield G010 for each edit that its syntax tree does not confirm, R008 for each cause of uses that must
    stay, with all of its places."""
    for mismatch in result.mismatches:
        place = Mark(mismatch.path) if mismatch.path else None
        message = f"{mismatch.path or 'The specialization'}: {mismatch.sentence}."
        yield Problem("G010", message, upstream=place)
    names = LostNames(manifest, index_removals(manifest, decided.removed, result.lost), facts, laid)
    causes: dict[object, tuple[Loss, list[Leftover]]] = {}
    for use in result.leftovers:
        loss = names.loss(use.gone)
        causes.setdefault(_cause(use, loss), (loss, []))[1].append(use)
    sources = Sources(upstream, manifest.packages)
    for key, (loss, uses) in causes.items():
        seen = {_place(use, result.files.get(use.path) or laid[use.path], upstream): use for use in uses}
        if loss.heir and loss.removal:
            message, hint, heirs = _inherited(loss.removal, loss.heir, uses, names, manifest)
            classes = (Leftover(heir.path, heir.line, 1, heir.name, "", "") for heir in heirs)
            places = [*(_place(one, laid[one.path], upstream) for one in classes), *seen]
        else:
            message, places = _used(loss.removal, uses), list(seen)
            # an edit quotes upstream, so there is none for a line that only the output has
            words = Families(b for b in manifest.batches if loss.removal and b.id == loss.removal.batch)
            quoted = [(use, where) for (where, _), use in seen.items() if where.line]
            hint = _remedy(loss.removal, manifest) + _written(
                _fitting(_edit(use, where, sources) for use, where in quoted), len(places)
            )
            conditions = _fitting(_condition(use, where, sources) for use, where in quoted)
            around = (
                _around(use, result.files.get(use.path) or laid[use.path], words, sources) for use in uses
            )
            ifs = {place: edit for place, edit in around if edit}
            conditions.update(_fitting(ifs.values()))
            if conditions:
                hint += f" Where the condition never holds: {', '.join(_counted(conditions))}."
            named = dict(filter(None, (_named_so(use, words, sources) for use in uses)))
            if named:
                hint += f" To drop what a word names: {{drop: [{', '.join(sorted(set(named.values())))}]}}"
                hint += f"; where others ask for it: {{stub: [{', '.join(sorted(named))}]}}."
        mark = loss.removal.mark if loss.removal else None
        cause = str(key) if mark else None
        first, *more = (
            Problem("R008", message, mark, where, excerpt, hint, cause=cause) for where, excerpt in places
        )
        yield replace(first, also=tuple(more))


def _cause(use: Leftover, loss: Loss) -> object:
    """Return what the uses that are one problem have in common."""
    if loss.heir is not None:
        return loss.removal, loss.heir.bases[0].rpartition(".")[2]
    removal = loss.removal
    return removal.clause if removal is not None and removal.mark else (use.gone, _first(use))


def _first(use: Leftover) -> str:
    return use.name.partition(".")[0]


def _used(removal: Removal | None, uses: Sequence[Leftover]) -> str:
    """Return the message about uses of what was removed."""
    cause = removal.clause if removal else "nothing defines it"
    by_name: dict[tuple[str, str], list[Leftover]] = {}
    for use in uses:
        by_name.setdefault((use.gone, _first(use)), []).append(use)
    gone = {name for name, _ in by_name}
    if len(gone) > 1:
        cause = cause if removal and removal.kind != "proof" else f"they are gone: {cause}"
    elif not (removal and removal.name in gone and removal.mark and removal.kind != "proof"):
        cause = f"{gone.pop()} is gone: {cause}"
    named = _listed([f"`{places[0].name}`" for places in by_name.values()], "names")
    return f"{named} in {_named(uses)} {'is' if len(by_name) == 1 else 'are'} used, but {cause}."


def _inherited(
    removal: Removal, heir: Heir, uses: Sequence[Leftover], names: LostNames, manifest: Manifest
) -> tuple[str, str, list[Heir]]:
    """Return the message about uses of classes that leave with a base, the hint, and the classes.

    `removal`: of the base; `heir`: the first of the classes.
    """
    used = {found.name: found for use in uses if (found := names.loss(use.gone).heir)}
    base = heir.bases[0].rpartition(".")[2]
    bases = dict.fromkeys(f"`{b.rpartition('.')[2]}`" for name in sorted(used) for b in used[name].bases)
    subject = _listed([f"`{name.rpartition('.')[2]}`" for name in sorted(used)], "classes")
    verbs = ("leave", "they inherit", "they are") if len(used) > 1 else ("leaves", "it inherits", "it is")
    inherited = _listed(list(bases), "bases")
    by = f"which batch {removal.batch} removes" if removal.batch not in ("", BASE) else removal.clause
    message = (
        f"{subject} {verbs[0]} because {verbs[1]} {inherited}, {by}, and {verbs[2]} used in {_named(uses)}."
    )
    hint = f"Drop the base: {_drops(used[name] for name in sorted(used))}."
    if removal.batch not in ("", BASE):
        hint += f" Or build with `{options(manifest, [removal.batch])}`."
    if others := [one for one in names.heirs(base) if one.name not in used]:
        hint += f" The same keeps classes that only removed code uses: {_drops(others)}."
    return message, hint, [used[name] for name in sorted(used)]


def _drops(heirs: Iterable[Heir]) -> str:
    """Return an edit for each base, which drops it from all of the classes that have it."""
    by_base: dict[str, list[str]] = {}
    for heir in heirs:
        for base in heir.bases:
            by_base.setdefault(base, []).append(heir.name)
    return ", ".join(f"{{drop_entry: {_quoted(b)}, in: {_places(names)}}}" for b, names in by_base.items())


def _places(names: Sequence[str]) -> str:
    """Return names as `in` of an edit takes them."""
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _listed(names: Sequence[str], what: str) -> str:
    """Return the first few of some names, and how many more there are."""
    more = len(names) - MAX_NAMED
    if more > 0:
        return f"{', '.join(names[:MAX_NAMED])} and {more} more {what}"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _quoted(source: str) -> str:
    """Return source as a scalar of YAML."""
    doubled = source.replace("'", "''")
    return source if source.replace(".", "_").isidentifier() else f"'{doubled}'"


def _remedy(removal: Removal | None, manifest: Manifest) -> str:
    """Return what to write, or how to build, if something that is gone is still used."""
    if removal is None or removal.mark is None or removal.batch in ("", BASE):
        return _HINT
    package = f"{manifest.roots.model_package}."
    if removal.mark == manifest.mark("roots", "models", "keep"):
        model = removal.name.removeprefix(package)
        return f"Name `{model}` in roots.models.keep. Or s{_HINT[1:]}"
    return f"Build with `{options(manifest, [removal.batch])}`. Or s{_HINT[1:]}"


def _written(edits: Counter[str], places: int) -> str:
    """Return the edits of uses as part of a hint; an edit that several uses share states their number."""
    if not edits:
        return ""
    which = "this one" if sum(edits.values()) == 1 else f"{sum(edits.values())} of these {places}"
    return f" To drop {which}: {', '.join(_counted(edits))}."


def _counted(edits: Counter[str]) -> Iterator[str]:
    for edit, n in edits.items():
        yield edit if n == 1 else f"{edit[:-1]}, count: {n}}}"


def _fitting(found: Iterable[tuple[str, int]]) -> Counter[str]:
    """Return the edits and how often each is found, of those that match nothing else in their scopes."""
    found = list(found)
    edits = Counter(edit for edit, _ in found if edit)
    matches = dict(found)
    return Counter({edit: n for edit, n in edits.items() if matches[edit] == n})


def _edit(use: Leftover, where: Mark, sources: Sources) -> tuple[str, int]:
    """Return the edit that drops a use, as it is to be written, and how many places of its scope it matches.

    Empty if the use is neither a statement nor an entry of a list, a tuple or a set on one line. Of a list of
    tuples the whole tuple leaves.
    """
    module, source = module_of(use.path, sources.packages), sources.parsed(use.path)
    if module is None or source is None:
        return "", 0
    collections = [n for n in ast.walk(source.tree) if isinstance(n, (ast.List, ast.Tuple, ast.Set))]
    rows = {part for n in collections for part in n.elts if isinstance(part, ast.Tuple)}
    for node in ast.walk(source.tree):
        # dropping a `return` or an assignment would change what the code after it does
        parts: list[ast.expr] | list[ast.Expr] = [node] if isinstance(node, ast.Expr) else []
        kind = "drop_statement"
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and node.lineno < where.line:
            parts, kind = node.elts, "drop_entry"
        for part in parts:
            written, line = source.text(part), source.line(where.line - 1).decode().strip(" \r\n,")
            if isinstance(part, ast.Expr) and part.end_lineno != part.lineno:
                written = ast.unparse(part)  # on one line
                line = written if written.startswith(line) and len(written) <= _LONGEST else line
            if part.lineno == where.line and line == written:
                written = ast.unparse(node) if node in rows else written
                edit = f"{{{kind}: {_quoted(written)}, in: {_scope(use, module)}}}"
                wanted = matching.entry(written) if kind == "drop_entry" else [node]
                return edit, sum(
                    len(list(matching.drops(one, wanted)))
                    if kind == "drop_entry"
                    else matching.same(one, node)
                    for one in _inside(source.tree, use.scope)
                )
    return "", 0


def _condition(use: Leftover, where: Mark, sources: Sources) -> tuple[str, int]:
    """Return the edit that makes false the part of a condition that has a use, if it is on one line, and how
    many places of its scope it matches."""
    module, source = module_of(use.path, sources.packages), sources.parsed(use.path)
    if module is None or source is None:
        return "", 0
    for node in _inside(source.tree, use.scope):
        for part in _operands(node.test) if isinstance(node, (ast.If, ast.IfExp, ast.While)) else ():
            if part.lineno == part.end_lineno == where.line and _has(part, use.name):
                edit = f"{{replace: {_quoted(source.text(part))}, by: 'False', in: {_scope(use, module)}}}"
                return edit, sum(matching.same(one, part) for one in _inside(source.tree, use.scope))
    return "", 0


def _around(
    use: Leftover, data: bytes, words: Families, sources: Sources
) -> tuple[tuple[str, int], tuple[str, int] | None]:
    """Return the place of the nearest `if` around a use that asks for a word of the batch, the edit that
    makes its condition false, and how many places of its scope that matches."""
    module, source = module_of(use.path, sources.packages), sources.parsed(use.path)
    around = [
        node
        for node in (_inside(parse(data, use.path).tree, use.scope) if words and module and source else ())
        if isinstance(node, ast.If)
        and node.body[0].lineno <= use.line <= (node.body[-1].end_lineno or 0)
        and any(isinstance(one, ast.Name) and words.member(one.id) for one in ast.walk(node.test))
    ]
    if not around or source is None or module is None:
        return (use.path, 0), None
    node = max(around, key=lambda one: one.lineno)
    asked = _quoted(f"if {ast.unparse(node.test)}: ...")
    edit = f"{{replace: {asked}, by: 'if False: ...', in: {_scope(use, module)}}}"
    same = (
        isinstance(one, ast.If) and matching.same(one.test, node.test)
        for one in _inside(source.tree, use.scope)
    )
    return (use.path, node.lineno), (edit, sum(same))


def _named_so(use: Leftover, words: Families, sources: Sources) -> tuple[str, str] | None:
    """Return the function of a use and the outermost definition around it that a word of the batch names."""
    module = module_of(use.path, sources.packages)
    source = sources.parsed(use.path)
    top = next(_inside(source.tree, use.scope), None) if use.scope and source else None
    parts = use.scope.split(".") if isinstance(top, _FUNCTIONS) and words else []
    for number, part in enumerate(parts, 1):
        if words.member(part):
            return f"{module}.{use.scope}", f"{module}.{'.'.join(parts[:number])}"
    return None


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    else:
        yield test


def _has(node: ast.expr, name: str) -> bool:
    """Return whether an expression has a name, or the first part of a dotted one."""
    first = name.partition(".")[0]
    return any(isinstance(one, ast.Name) and one.id == first for one in ast.walk(node))


def _scope(use: Leftover, module: str) -> str:
    return f"{module}.{use.scope}" if use.scope else module


def _inside(tree: ast.AST, scope: str) -> Iterator[ast.AST]:
    """Yield the nodes of the definitions with this qualified name; of the whole tree if there is no name."""
    tops = [tree]
    for name in filter(None, scope.split(".")):
        tops = [
            node
            for top in tops
            for node in ast.walk(top)
            if isinstance(node, _DEFINITIONS) and node.name == name and node is not top
        ]
    for top in tops:
        yield from ast.walk(top)


def _named(places: Sequence[Leftover]) -> str:
    """Return the scopes that use a name: the first few, and how many more there are."""
    scopes = list(dict.fromkeys(use.scope or use.path for use in places))
    files = len({use.path for use in places})
    return _listed(scopes, f"places of {files} file{'s' * (files > 1)}")


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
