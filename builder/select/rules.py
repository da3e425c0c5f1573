"""Gives each path of the upstream tree a verdict, and the rule behind it.

Rules apply in the order of the manifest, and strictly the last one that matches decides: first the
top-level `keep`, then each batch's `remove`, `prune` and `keep`. The files of the kept models are
above that: no rule decides about them. In the packages no path needs a rule: reachability decides about a
module, and a data file follows the modules beside it. Elsewhere, what a batch removes stays when the batch
is switched off, and any other path without a rule is a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from builder.errors import Problem
from builder.graph.names import folder_of, module_of
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.select.patterns import PatternSet, literal_folder
from builder.select.suggest import Paths, Unclassified, few, unclassified
from builder.spelling import nearest

Verdict = Literal["keep", "remove", "prune", "reach", "follow"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one path, and its rule; the last three verdicts are resolved later."""

    path: str
    verdict: Verdict
    rule: Rule


@dataclass(frozen=True)
class Selection:
    """The decisions on a tree. `matched` holds for each path every rule that matches, in order."""

    rules: tuple[Rule, ...]
    decisions: Mapping[str, Decision]
    matched: Mapping[str, tuple[int, ...]]
    unclassified: tuple[Unclassified, ...]
    problems: tuple[Problem, ...]

    def with_verdict(self, verdict: str) -> tuple[str, ...]:
        """Return the paths with this verdict, sorted."""
        return tuple(path for path, decision in self.decisions.items() if decision.verdict == verdict)

    def narrowed(self, defining: Callable[[str, str], bool], reach: Rule) -> Selection:
        """Return the selection in which `reach` decides about a file that does not bind the name of its rule.

        `defining`: returns whether the file at a path binds a name.
        """
        unbound = {
            path: Decision(path, "reach", reach)
            for path, d in self.decisions.items()
            if d.rule.defines is not None and not defining(path, d.rule.defines)
        }
        return replace(self, decisions={**self.decisions, **unbound}) if unbound else self

    def matches(self) -> Mapping[Rule, int]:
        """Count the paths that each rule matches, in the order of the rules."""
        counts = [0] * len(self.rules)
        for indices in self.matched.values():
            for index in indices:
                counts[index] += 1
        return dict(zip(self.rules, counts, strict=True))

    def radius(self) -> Mapping[Rule, tuple[str, ...]]:
        """Return for each rule the paths whose verdict would change without it."""
        alone: dict[int, list[str]] = {index: [] for index in range(len(self.rules))}
        for path, indices in self.matched.items():
            if indices and (
                len(indices) == 1 or self.rules[indices[-1]].verdict != self.rules[indices[-2]].verdict
            ):
                alone[indices[-1]].append(path)
        return {rule: tuple(alone[index]) for index, rule in enumerate(self.rules)}


def select(tree: Iterable[str], manifest: Manifest, within: Sequence[str] = ()) -> Selection:
    """Apply the manifest's rules to the paths of a tree (or a Tree).

    `within` names the folders that this upstream has at all (`python` for a source distribution): a
    rule that can only match elsewhere may match nothing. Problems are collected, never raised.
    """
    paths = sorted(tree)
    index = Paths(paths)
    rules = tuple(rule for batch in manifest.batches for rule in batch.rules)
    models, missing = _model_rules(manifest, index)
    rules += models  # last, so that nothing overrides them
    patterns = PatternSet([rule.pattern for rule in rules])
    matched = {path: tuple(patterns.matching(path)) for path in paths}
    implied = _implied(manifest)
    decisions: dict[str, Decision] = {}
    for path, indices in matched.items():
        rule = rules[indices[-1]] if indices else implied(path)
        if rule is not None:
            decisions[path] = Decision(path, rule.verdict, rule)
    open_paths = [path for path in paths if path not in decisions]
    groups = unclassified(open_paths, {p: d.rule for p, d in decisions.items()})
    problems = [
        *missing,
        *_unmatched(rules, matched, index, within),
        *_overridden(rules, matched),
        *_void(rules, matched, len(rules) - len(models)),
        *(each.problem() for each in groups),
    ]
    return Selection(rules, decisions, matched, tuple(groups), tuple(problems))


def reach_rule(manifest: Manifest) -> Rule:
    """Return the rule for a module about which reachability decides."""
    return Rule("a root reaches it", "reach", BASE, mark=manifest.mark("roots"))


def _implied(manifest: Manifest) -> Callable[[str], Rule | None]:
    """Return a function that gives the implicit rule for a path that no rule matches."""
    folders = tuple(folder.rstrip("/") + "/" for folder in manifest.packages.values())
    back = PatternSet([rule.pattern for rule in manifest.given_back])
    reach = reach_rule(manifest)
    follow = Rule("it follows the modules beside it", "follow", BASE, mark=reach.mark)

    def implied(path: str) -> Rule | None:
        if path.startswith(folders):
            return reach if module_of(path, manifest.packages) else follow
        if indices := back.matching(path):
            rule = manifest.given_back[indices[-1]]
            return Rule(rule.pattern, "keep", BASE, mark=rule.mark)
        return None

    return implied


def _model_rules(manifest: Manifest, index: Paths) -> tuple[tuple[Rule, ...], list[Problem]]:
    folder = package_folder(manifest, manifest.roots.model_package)
    rules, problems = [], []
    for model in manifest.roots.models:
        mark = manifest.model_mark(model)
        stem = f"{folder}/{model.replace('.', '/')}"
        if f"{stem}.py" in index:
            rules.append(Rule(f"{stem}.py", "keep", BASE, mark=mark))
        elif index.is_folder(stem):
            rules.append(Rule(f"{stem}/", "keep", BASE, mark=mark))
        else:
            message = f"The model `{model}` does not exist in `{folder}/`."
            scope = manifest.named_scope
            if scope is not None and model in scope.models:
                hint: str | None = f"the scope `{scope.name}` is for {', '.join(scope.pins)}"
            else:
                files = [path for path in index.within(folder) if path.endswith(".py")]
                hint = nearest(model, (path.removesuffix(".py").replace("/", ".") for path in files))
            problems.append(Problem("R001", message, mark, hint=hint))
    return tuple(rules), problems


def package_folder(manifest: Manifest, name: str) -> str:
    """Return the folder of a package by import name; outside the manifest's packages, the name as a path."""
    return folder_of(name, manifest.packages) or name.replace(".", "/")


def _unmatched(
    rules: Sequence[Rule], matched: Mapping[str, tuple[int, ...]], index: Paths, within: Sequence[str]
) -> Iterator[Problem]:
    used = {number for numbers in matched.values() for number in numbers}
    for number, rule in enumerate(rules):
        if number in used or rule.optional or not can_match(rule.pattern, within):
            continue
        stated = f"`{rule.verdict}: {rule.pattern}` (batch {rule.batch})"
        message = f"{stated} matches no path of the upstream tree."
        yield Problem("R001", message, rule.mark, hint=index.nearest(rule.pattern))


def holds_path(path: str, within: Sequence[str]) -> bool:
    """Return whether an upstream with only these folders may hold a file or folder.

    A file at the root, or beside one of the folders, may come with any part of a repository.
    """
    top, _, rest = path.partition("/")
    return "/" not in path or any(
        f"{path}/".startswith(f"{folder}/") or (folder.startswith(f"{top}/") and "/" not in rest)
        for folder in within
    )


def can_match(pattern: str, within: Sequence[str]) -> bool:
    """Return whether a pattern could match in an upstream that has only these folders."""
    if not within:
        return True
    folder = literal_folder(pattern)
    if folder is None:
        return False
    return any(f"{folder}/".startswith(f"{top.rstrip('/')}/") for top in within)


def _overridden(rules: Sequence[Rule], matched: Mapping[str, tuple[int, ...]]) -> Iterator[Problem]:
    """R002: a `keep` may override only the rules of its own batch."""
    pairs: dict[tuple[int, int], list[str]] = {}
    for path, numbers in matched.items():
        last = rules[numbers[-1]] if numbers else None
        if last is None or last.verdict != "keep" or last.batch == BASE:
            continue
        for number in numbers[:-1]:
            if rules[number].verdict == "remove" and rules[number].batch != last.batch:
                pairs.setdefault((numbers[-1], number), []).append(path)
    for (keeper, remover), paths in pairs.items():
        keep, remove = rules[keeper], rules[remover]
        where = remove.mark.seen_from(keep.mark.file).removeprefix("on ")
        message = (
            f"`keep: {keep.pattern}` (batch {keep.batch}) keeps what `remove: {remove.pattern}` "
            f"(batch {remove.batch}, {where}) removes: {few(paths)}."
        )
        hint = f"move the exception to the batch {remove.batch}"
        yield Problem("R002", message, keep.mark, hint=hint)


def _void(
    rules: Sequence[Rule], matched: Mapping[str, tuple[int, ...]], first_model: int
) -> Iterator[Problem]:
    """R002: a `remove` that removes nothing, because all that it matches are models that the roots keep.

    `first_model`: the index of the first rule that keeps a model. A rule for a word is no statement of
    its own.
    """
    paths: dict[int, list[str]] = {}
    effective: set[int] = set()
    for path, numbers in matched.items():
        for number in numbers:
            if numbers[-1] >= first_model:
                paths.setdefault(number, []).append(path)
            else:
                effective.add(number)
    for number, some in sorted(paths.items()):
        rule = rules[number]
        if number in effective or rule.verdict != "remove" or rule.word:
            continue
        stated = f"`remove: {rule.pattern}` (batch {rule.batch})"
        message = f"{stated} removes nothing: roots.models.keep keeps {few(some)}."
        hint = "take the model out of roots.models.keep, or this rule out"
        yield Problem("R002", message, rule.mark, hint=hint)
