"""Switches batches off and on, together with those that depend on them, and chooses a named scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from builder.errors import BuildError, Mark, Problem
from builder.manifest.model import DEFAULT_SCOPE, Kept, Manifest
from builder.manifest.statements import BASE, Batch, stated
from builder.spelling import nearest


def switch_off(
    manifest: Manifest, ids: Iterable[str], with_needs: bool = False, scope: str = DEFAULT_SCOPE
) -> Manifest:
    """Return the manifest without these batches, those that follow them, and what depends on them.

    `with_needs`: also without the batches that they need off; `scope`: the one that will be chosen, which
    switches off batches, too. Raises BuildError: M006 for unknown ids, C001 for a batch that is off there
    already, C002 for batches that cannot be off alone.
    """
    wanted = tuple(dict.fromkeys(ids))
    stated, elsewhere = manifest.scopes.get(scope), only_elsewhere(manifest, scope)
    problems = [
        Problem(
            "C001", f"The batch `{batch.id}` is off in the scope `{scope}` already: what it names is kept.",
            batch.mark, hint=f"`--with {batch.id}` switches it on, and removes what it names",
        )
        for batch in manifest.batches
        if batch.id in wanted and batch.id in elsewhere
    ]  # fmt: skip
    off = off_with(manifest, wanted, with_needs)
    problems = problems or list(_unknown(manifest, wanted, "--without"))
    problems = problems or list(
        _alone(manifest, wanted, off, off_with(manifest, stated.without if stated else ()))
    )
    if problems:
        raise BuildError(problems)
    return without(manifest, off)


def off_with(manifest: Manifest, ids: Iterable[str], with_needs: bool = False) -> tuple[str, ...]:
    """Return the given batches and those that follow one of them, in the order of the manifest.

    `with_needs`: also those that one of them needs off.
    """
    off: set[str] = set()
    waiting = list(ids)
    while waiting:
        name = waiting.pop()
        if name in off:
            continue
        off.add(name)
        for batch in manifest.batches:
            if name in dict(batch.follows):
                waiting.append(batch.id)
            if with_needs and batch.id == name:
                waiting += dict(batch.needs)
    return tuple(batch.id for batch in manifest.batches if batch.id in off)


def options(manifest: Manifest, ids: Iterable[str]) -> str:
    """Return the options of a build in the chosen scope without these batches and those they need off."""
    on = manifest.switched_on
    ids = list(ids)
    off = off_with(manifest, ids)
    named = [f"--without {name}" for name in ids if name not in on]
    named += [f"--with {name}" for name in on if name not in off]
    if manifest.named_scope is not None:
        named.insert(0, f"--scope {manifest.scope_name}")
    scope = manifest.named_scope.without if manifest.named_scope is not None else ()
    # one that is off already is asked for again: the next build starts from the whole manifest
    more = any(_needs_on(manifest, off, scope))
    return " ".join([*named, "--with-needs"] if more else named) or f"--scope {manifest.scope_name}"


def said(without: Iterable[str], on: Iterable[str]) -> str:
    """Return which batches the options of a build switch, in words; "" for a build without such options."""
    some = (("with", on), ("without", without))
    return " and ".join(f"{word} {', '.join(sorted(names))}" for word, names in some if names)


def without(manifest: Manifest, ids: Iterable[str]) -> Manifest:
    """Return the manifest without these batches, those that follow them, and what depends on them."""
    ids = off_with(manifest, ids)
    kernel = manifest.kernel
    if kernel is not None:
        kernel = replace(kernel, remove=tuple(r for r in kernel.remove if r.batch not in ids))
    off = [b for b in manifest.batches if b.id in ids]
    texts = tuple(t for t in manifest.guarantees.absent_text if not set(ids).intersection(t.batches))
    return replace(
        manifest,
        batches=tuple(b for b in manifest.batches if b.id not in ids),
        guarantees=replace(manifest.guarantees, absent_text=texts),
        kernel=kernel,
        given_back=(*manifest.given_back, *(r for b in off for r in b.rules if r.verdict == "remove")),
        words_given_back=(*manifest.words_given_back, *(b for b in off if b.words)),
        toml_given_back=(*manifest.toml_given_back, *(t for b in off for t in b.toml)),
    )


def check(manifest: Manifest) -> Iterator[Problem]:
    """M014 for batches that need or follow themselves, directly or in a circle; M006 for a statement that
    names no batch under `without`, M011 for one that names its own."""
    for key in ("needs", "follows"):
        related = {batch.id: dict(getattr(batch, key)) for batch in manifest.batches}
        while circle := _circle(related):
            mark = related[circle[0]].pop(circle[1])
            names = " -> ".join(f"`{name}`" for name in circle)
            around = f" in a circle: {names}" if len(circle) > 2 else ""
            message = f"The batch `{circle[0]}` {key} itself{around}."
            yield Problem("M014", message, mark, hint=f"remove one of the names under `{key}`")
    known = [batch.id for batch in manifest.batches if batch.id != BASE]
    for statement in {one.mark: one for one in stated(manifest)}.values():
        for name in statement.span.without:
            if name not in known:
                message = f"There is no batch `{name}`, which `{statement.subject}` names under `without`."
                yield Problem("M006", message, statement.mark, hint=nearest(name, known))
            elif name == getattr(statement, "batch", None):
                message = f"`{statement.subject}` holds only without `{name}`, which is its own batch."
                yield Problem("M011", message, statement.mark, hint="move it to another batch, or delete it")


def _circle(related: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a path from a batch over others back to it; [] if there is none."""
    try:
        TopologicalSorter(related).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def _unknown(manifest: Manifest, ids: Iterable[str], option: str) -> Iterator[Problem]:
    known = [batch.id for batch in manifest.batches if batch.id != BASE]
    for name in ids:
        if name == BASE:
            message = f"The batch `{BASE}` is the top level of the manifest and cannot be switched."
            yield Problem("M006", message, Mark(manifest.file))
        elif name not in known:
            message = f"There is no batch `{name}`."
            several = name.replace(",", " ").split()
            hint = nearest(name, known)
            if len(several) > 1:
                hint = f"repeat the option: `{' '.join(f'{option} {one}' for one in several)}`"
            yield Problem("M006", message, Mark(manifest.file), hint=hint)


def _needs_on(
    manifest: Manifest, off: Iterable[str], scope: Iterable[str]
) -> Iterator[tuple[Batch, list[tuple[str, Mark]]]]:
    """Yield the batches of `off` that need others off, with those neither in `off` nor in `scope`."""
    for batch in manifest.batches:
        missing = [(name, mark) for name, mark in batch.needs if name not in off and name not in scope]
        if batch.id in off and missing:
            yield batch, missing


def _not_alone(manifest: Manifest, on: Iterable[str], off: Iterable[str]) -> Iterator[Problem]:
    """C002 for each batch that would be on while one that it follows is off, or one that needs it off."""
    for batch in manifest.batches:
        followed = [(batch.id, name) for name, _ in batch.follows if batch.id in on and name in off]
        needed = [(name, batch.id) for name, _ in batch.needs if name in on and batch.id in off]
        for name, other in (*followed, *needed):
            message = f"The batch `{name}` can be on only where `{other}` is on too."
            yield Problem("C002", message, batch.mark, hint=f"add `--with {other}`")


def _alone(
    manifest: Manifest, asked: Iterable[str], off: Iterable[str], scope: Iterable[str]
) -> Iterator[Problem]:
    """C002 for each batch that would be off while one that it needs off is on, in the scope too."""
    for batch, missing in _needs_on(manifest, off, scope):
        names = " and ".join(f"`{name}`" for name, _ in missing)
        verb = "is" if len(missing) == 1 else "are"
        message = f"The batch `{batch.id}` can be off only where {names} {verb} off too."
        whole = off_with(manifest, asked, with_needs=True)
        needed = {name for one in manifest.batches if one.id in whole for name, _ in one.needs}
        both = [*asked, *(name for name in whole if name in needed and name not in off)]
        options = " ".join(f"--without {name}" for name in both)
        hint = f"add `--with-needs`, or write `{options}`"
        yield Problem("C002", message, missing[0][1], hint=hint)


# -- named scopes: variants of the distribution that the manifest states


def check_scopes(manifest: Manifest) -> Iterator[Problem]:
    """M015 for a scope that changes nothing or contradicts the rest."""
    kernel = [a.name for a in manifest.kernel.architectures] if manifest.kernel else []
    for scope in manifest.scopes.values():
        if scope.name == DEFAULT_SCOPE:
            message = f"The scope `{DEFAULT_SCOPE}` is the manifest as it stands, and cannot be stated."
            yield Problem("M015", message, scope.mark, hint="give it another name")
        elif not (scope.changes_distribution or scope.architectures):
            how = "state `with`, `without`, `models` or `architectures`"
            yield Problem("M015", f"The scope `{scope.name}` changes nothing.", scope.mark, hint=how)
        for number, batch in enumerate(scope.only_here):
            if batch in scope.without:
                mark = manifest.mark("scopes", scope.name, "with", number)
                message = f"The batch `{batch}` is on and off in the scope `{scope.name}`."
                yield Problem("M015", message, mark, hint="remove one of the two")
        for number, model in enumerate(scope.models):
            if model in manifest.roots.models:
                mark = manifest.mark("scopes", scope.name, "models", number)
                yield Problem("M015", f"The model `{model}` is kept in every scope.", mark, hint="remove it")
        for number, name in enumerate(scope.architectures):
            if name not in kernel:
                mark = manifest.mark("scopes", scope.name, "architectures", number)
                message = f"`kernel.architectures` does not keep `{name}`."
                yield Problem("M015", message, mark, hint=nearest(name, kernel))


def only_elsewhere(manifest: Manifest, name: str) -> list[str]:
    """Return the batches that are on only in other scopes, sorted."""
    scope = manifest.scopes.get(name)
    return sorted(manifest.off_by_default.difference(scope.only_here if scope is not None else ()))


def choose(manifest: Manifest, name: str, on: Collection[str] = ()) -> Manifest:
    """Return the manifest in a scope: `default`, or one that it names. Raises BuildError M015 for another.

    Batches that other scopes name under `with` are off, but for those that are switched `on`. Raises for
    these M006 if one is unknown, C001 if one is on already, C002 if one cannot be on alone.
    """
    scope = manifest.scopes.get(name)
    if scope is None and name != DEFAULT_SCOPE:
        known = [DEFAULT_SCOPE, *manifest.scopes]
        hint = nearest(name, known) or f"there is {', '.join(known)}"
        mark = manifest.mark("scopes") if manifest.scopes else Mark(manifest.file)
        raise BuildError([Problem("M015", f"There is no scope `{name}`.", mark, hint=hint)])
    off = [*(scope.without if scope is not None else ()), *only_elsewhere(manifest, name)]
    wanted, left = tuple(sorted(set(on))), off_with(manifest, (one for one in off if one not in on))
    problems = list(_unknown(manifest, wanted, "--with"))
    problems = problems or [
        Problem(
            "C001", f"The batch `{batch.id}` is on in the scope `{name}` already.", batch.mark,
            hint=f"remove `--with {batch.id}`",
        )
        for batch in manifest.batches
        if batch.id in wanted and batch.id not in off_with(manifest, off)
    ]  # fmt: skip
    problems = problems or list(_not_alone(manifest, wanted, left))
    if problems:
        raise BuildError(problems)
    chosen = replace(without(manifest, left), switched_on=wanted) if left or wanted else manifest
    if scope is None:
        return chosen
    marks = (manifest.mark("scopes", name, "models", number) for number in range(len(scope.models)))
    more = (Kept(model, mark=mark) for model, mark in zip(scope.models, marks, strict=True))
    roots = replace(chosen.roots, kept=(*chosen.roots.kept, *more))
    kernel = chosen.kernel
    if kernel is not None and scope.architectures:
        staying = tuple(a for a in kernel.architectures if a.name in scope.architectures)
        kernel = replace(kernel, architectures=staying)
    statements = manifest.scope_statements.get(name, manifest.statements)
    return replace(chosen, roots=roots, kernel=kernel, scope_name=name, statements=statements)
