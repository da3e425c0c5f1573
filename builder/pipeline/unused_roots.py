"""Roots are accountable: a misspelt one keeps nothing alive, and is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from builder.errors import Problem
from builder.graph.names import folder_of
from builder.manifest.model import Manifest
from builder.manifest.statements import Rule
from builder.pipeline.prune import python_modules
from builder.select.rules import holds_path
from builder.spelling import nearest
from builder.tree import Snapshot

#: How much two names have in common, of 1, where one is the other with a slip of the pen.
_MISSPELT = 0.85


def unused_roots(
    upstream: Snapshot, manifest: Manifest, removed: Mapping[str, Rule], within: Sequence[str]
) -> list[Problem]:
    """R009 for each root and pattern of programs that matches no module of upstream and is a pattern or
    resembles one, R002 for each root whose file a rule removes.

    `removed`: the rule of each removed path. `within`: the folders that a partial upstream holds; roots
    elsewhere may match nothing.
    """
    modules = python_modules(upstream, manifest.packages)
    names = {name for module in modules.values() for name in _with_parents(module)}
    paths = {module: path for path, module in modules.items()}
    problems: list[Problem] = []
    roots = (*manifest.roots.modules, *manifest.roots.used_by)
    marked = [(root.name, root.mark) for root in roots]
    marked += [
        (pattern.removeprefix("!"), manifest.mark("roots", "programs", number))
        for number, pattern in enumerate(manifest.roots.programs)
    ]
    ranged = {root.mark for root in roots if root.span}
    for pattern, mark in marked:
        if not any(fnmatchcase(name, pattern) for name in names):
            # one without a range that resembles nothing is taken for a module of another version
            misspelt = "*" in pattern or mark in ranged or get_close_matches(pattern, names, 1, _MISSPELT)
            if misspelt and _is_held(pattern, manifest, within):
                message = f"The root `{pattern}` names no module of upstream."
                hint = nearest(pattern, names)
                problems.append(Problem("R009", message, mark, hint=hint, nothing=True))
            continue
        rule = removed.get(paths.get(pattern, ""))
        if rule is not None and rule.verdict == "remove":
            place = rule.mark.seen_from(mark.file)
            by = f"`remove: {rule.stated}` (batch {rule.batch}, {place})"
            message = f"The root `{pattern}` is removed by {by}."
            hint = f"take it out of roots.modules, or add it to `keep` of batch {rule.batch}"
            problems.append(Problem("R002", message, mark, hint=hint))
    return problems


def _with_parents(module: str) -> Iterator[str]:
    while module:
        yield module
        module = module.rpartition(".")[0]


def _is_held(pattern: str, manifest: Manifest, within: Sequence[str]) -> bool:
    """Whether the upstream holds the package of a root; a name outside the packages is held by none."""
    folder = folder_of(pattern.partition(".")[0], manifest.packages)
    return folder is None or not within or holds_path(f"{folder}/", within)
