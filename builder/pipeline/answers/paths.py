"""Answers about files and folders."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from builder.emit.marker import TREE
from builder.graph.names import module_of
from builder.graph.reach import Step, why
from builder.pipeline.answers.answer import MAX_LISTED, MAX_NAMESAKES, Answer, State, listed, plural
from builder.pipeline.answers.context import Context, restore_path

_STATES = {
    "kept": "is kept as upstream has it",
    "edited": "is kept and edited",
    "added": "is added",
    "removed": "is removed",
}


def named_paths(context: Context, what: str) -> list[str]:
    """Return the paths and folders (ending in a slash) that a text may stand for; only the most exact kind.

    A path may be relative (`./x`), lie in an output (`OUT/tree/x`), be absolute, or be the end of a path.
    """
    plain = posixpath.normpath(what) if what.strip("./") else ""
    if not plain or "\0" in what:
        return []
    parts = plain.strip("/").split("/")
    spelt = [plain.strip("/")] if not plain.startswith("/") else []
    spelt += ["/".join(parts[n + 1 :]) for n, part in enumerate(parts) if part == TREE]
    if plain.startswith("/"):
        # at least two parts: the name alone may be that of any file of the machine
        spelt += ["/".join(parts[n:]) for n in range(1, len(parts) - 1)]
    for path in spelt:
        if path in context.paths:
            return [path]
        if path in context.folders:
            return [f"{path}/"]
    if plain.startswith("/") or (len(parts) == 1 and "." not in plain):
        return []
    top, _, rest = plain.partition(".")
    if rest and top in context.manifest.packages:
        folder = f"{context.manifest.packages[top]}/{rest.replace('.', '/')}"
        if folder in context.folders and f"{folder}/__init__.py" not in context.paths:
            return [f"{folder}/"]  # a package that has no file of its own
    ends = [path for path in context.paths if path.endswith(f"/{plain}")]
    ends.sort(key=lambda path: (context.state(path) == "removed", len(path), path))
    ends += sorted(f"{path}/" for path in context.folders if len(parts) > 1 and path.endswith(f"/{plain}"))
    return ends


def path_answers(context: Context, what: str) -> Iterator[Answer]:
    """An answer for each path that a text stands for; one answer for all where there are many."""
    paths = named_paths(context, what)
    if len(paths) > MAX_NAMESAKES:
        states = Counter("folder" if p.endswith("/") else context.state(p) for p in paths)
        headline = f"{what} is the end of {plural(len(paths), 'path')}: {_counts(states)}"
        details = tuple(f"{context.state(p):<8} {p}" for p in paths if not p.endswith("/"))
        yield Answer("path", what, "mixed", headline, details=details[:MAX_LISTED])
        return
    for path in paths:
        yield folder_answer(context, path) if path.endswith("/") else path_answer(context, path)


def path_answer(context: Context, path: str) -> Answer:
    """What became of one file, and why."""
    cut = context.cut
    stated = tuple(dict.fromkeys(context.reasons.get(path, ())))
    state = context.state(path)
    module = module_of(path, context.manifest.packages)
    answer = Answer("path", path, state, f"{path} {_STATES[state]}", stated, path, module is not None)
    if state != "removed":
        way, start = _reached(context, module) if module is not None else (None, "a root")
        return replace(answer, way=way, start=start)
    rule = cut.decided.removed.get(path)
    if rule is not None:
        also = tuple(p for p, r in cut.decided.removed.items() if r == rule and p != path)
        why, back = context.batch_why(rule.batch), restore_path(context, path, rule)
        return replace(answer, why=why, also=also, back=back)
    if module in cut.specialized.lost:  # no rule took it: nothing was left in it
        return replace(answer, headline=f"{answer.headline}: {cut.specialized.lost[module]}")
    return answer


def folder_answer(context: Context, folder: str) -> Answer:
    """How many files of a folder are kept and removed, and by which batches."""
    inside = sorted(path for path in context.paths if path.startswith(folder))
    states = Counter(context.state(path) for path in inside)
    state: State = next(iter(states)) if len(states) == 1 else "mixed"
    if state == "mixed" and "removed" not in states:
        state = "kept"
    by_batch: dict[str, Counter[str]] = {}
    rules: dict[str, Counter[str]] = {}
    for path in inside:
        reason = context.reasons[path][0]
        by_batch.setdefault(reason.batch, Counter())[context.state(path)] += 1
        if context.state(path) == "removed":
            rule = reason.rule + (f" ({reason.mark})" if reason.mark else "")
            rules.setdefault(reason.batch, Counter())[rule] += 1
    details = []
    for batch, counts in sorted(by_batch.items(), key=lambda one: (-one[1].total(), one[0])):
        most = listed((rule for rule, _ in rules.get(batch, Counter()).most_common()), 2)
        details.append(f"{batch:<20} {_counts(counts)}" + (f"  [{most}]" if most else ""))
    verb = {"mixed": "is kept in part", "removed": "is removed", "added": "is added"}.get(state, "is kept")
    headline = f"{folder} {verb}: {_counts(states)}"
    return Answer("folder", folder, state, headline, path=folder, details=tuple(details))


def _counts(states: Counter[str] | Counter[State]) -> str:
    order = ("kept", "edited", "added", "removed", "folder")
    texts = [f"{states[name]:,} {name}" for name in order if states[name]]  # type: ignore[index]
    return ", ".join(texts)


def _reached(context: Context, module: str) -> tuple[tuple[Step, ...] | None, str]:
    """Return the shortest chain of imports to a module, and what it starts from."""
    index = context.after.index
    for start, reached in context.graphs.ways:
        steps = why(reached, module, index)
        if steps is not None:
            return steps, start
    return None, "a root"


def holder(context: Context, module: str) -> str:
    """Return the file that imports or names this module on the shortest way from a root, or "a root"."""
    steps, start = _reached(context, module)
    return steps[-1].path if steps else start
