"""Named scopes: variants of the distribution that the manifest states, and the choice of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from builder.errors import BuildError, Mark, Problem
from builder.manifest.model import DEFAULT_SCOPE, Kept, Manifest
from builder.manifest.switches import switched_on, without
from builder.spelling import nearest


def check(manifest: Manifest) -> Iterator[Problem]:
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


def check_off(manifest: Manifest, ids: Iterable[str], name: str) -> None:
    """Raise BuildError C001 for batches that are to be switched off and are off in the scope already."""
    off = only_elsewhere(manifest, name)
    problems = [
        Problem(
            "C001", f"The batch `{one}` is off in the scope `{name}` already: what it names is kept.",
            next(batch.mark for batch in manifest.batches if batch.id == one),
            hint=f"`--with {one}` switches it on, and removes what it names",
        )
        for one in ids
        if one in off
    ]  # fmt: skip
    if problems:
        raise BuildError(problems)


def choose(manifest: Manifest, name: str, on: Collection[str] = ()) -> Manifest:
    """Return the manifest in a scope: `default`, or one that it names. Raises BuildError M015 for another.

    Batches that other scopes name under `with` are off, but for those that are switched `on`. Raises what
    `switched_on` raises for these.
    """
    scope = manifest.scopes.get(name)
    if scope is None and name != DEFAULT_SCOPE:
        known = [DEFAULT_SCOPE, *manifest.scopes]
        hint = nearest(name, known) or f"there is {', '.join(known)}"
        mark = manifest.mark("scopes") if manifest.scopes else Mark(manifest.file)
        raise BuildError([Problem("M015", f"There is no scope `{name}`.", mark, hint=hint)])
    off = [*(scope.without if scope is not None else ()), *only_elsewhere(manifest, name)]
    if not (off or on):
        chosen = manifest
    else:
        chosen = switched_on(manifest, on, off, name) if on else without(manifest, off)
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
