"""Answers about files and folders, and about names: modules, definitions in them, modules of other packages,
and words in names."""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from builder.analysis.indexed_tree import IndexedTree
from builder.emit.marker import TREE
from builder.graph.names import is_test, locate, module_of
from builder.graph.reach import Step, why
from builder.manifest.statements import Reason
from builder.pipeline.answers.answer import MAX_LISTED, MAX_NAMESAKES, Answer, State, listed, plural
from builder.pipeline.answers.context import Context, reasons_of, restore_path, restore_statement
from builder.pipeline.answers.surface import KINDS
from builder.select.families import words_of
from builder.source.words import file_counts

#: How many names of one sort the answer about a word shows.
_SHOWN = 5


def name_answers(context: Context, what: str) -> Iterator[Answer]:
    """Answers about what a name stands for: `path:name`, a qualified name, or the last parts of one."""
    path, colon, name = what.rpartition(":")
    if colon and name:
        yield from filter(None, (symbol_answer(context, file, name) for file in named_paths(context, path)))
        return
    if not all(part.isidentifier() for part in what.split(".")):
        return
    # a whole qualified name: its longest prefix that is a module, and the rest
    whole = locate(what, context.manifest.packages, context.paths)
    if whole and (answer := _answer(context, whole[0], whole[2])):
        yield answer
        return
    namesakes = _endings(context, what)
    if len(namesakes) > MAX_NAMESAKES:
        yield _namesakes(context, what, namesakes)
        return
    yield from filter(None, (_answer(context, file, rest) for file, rest in namesakes))


def _answer(context: Context, path: str, name: str) -> Answer | None:
    return symbol_answer(context, path, name) if name else path_answer(context, path)


def package_answer(context: Context, what: str) -> Answer | None:
    """Return which files import a module of another package; None if none does."""
    packages = context.manifest.packages
    if what.partition(".")[0] in packages or not all(p.isidentifier() for p in what.split(".")):
        return None
    importing = (
        context.importing(tree, lambda item: f"{item.target}.".startswith(f"{what}."))
        for tree in (context.cut.before, context.after)
    )
    before, after = ([path for path in paths if not is_test(path)] for paths in importing)
    if not before and not after:
        return None
    absent = next(
        (a for b in context.manifest.batches for a in b.absent if a.kind == "module" and a.name == what), None
    )
    state: State = "kept" if len(before) == len(after) else "edited" if after else "removed"
    files = plural(len(after), "file") if after else "no file"
    verb = "import" if len(after) > 1 else "imports"
    headline = (
        f"{what} is a module of another package: {files} of the output {verb} it, "
        f"and {plural(len(before), 'file')} of upstream"
    )
    reasons = (Reason(absent.batch, f"{absent.name} is declared absent", absent.mark),) if absent else ()
    details = (f"imported by {listed(after, 5)}",) if after else ()
    return Answer("package", what, state, headline, reasons, details=details)


def symbol_answer(context: Context, path: str, symbol: str) -> Answer | None:
    """Return what became of a name in a file, and of the file; None if neither side has the name."""
    cut, manifest = context.cut, context.manifest
    module = module_of(path, manifest.packages)
    if module is None:
        return None
    name = f"{module}.{symbol}"
    in_output = path in cut.output.tree and _defines(context.after, name)
    in_upstream = _defines(cut.before, name)
    if not in_output and not in_upstream:
        return None
    file = path_answer(context, path)
    details: tuple[str, ...] = (f"{file.headline}.",)
    if in_output:
        state: State = "kept" if in_upstream else "added"
        top = symbol.partition(".")[0]
        users = context.importing(context.after, lambda item: (item.target, item.name) == (module, top))
        if uses := sorted({module_of(user, manifest.packages) or user for user in users}):
            details += (f"{plural(len(uses), 'module')} of the output name it: {listed(uses, 5)}",)
        return Answer(
            "symbol", name, state, f"{name} is {state}", _facts(context, name), path, True, file.way,
            file.start, details=details,
        )  # fmt: skip
    removal = cut.removals.symbol(name) or cut.removals.path(path)
    headline = f"{name} is removed" + (f": {removal}" if removal else "")
    reasons, why, back = file.reasons, file.why, file.back
    if file.state != "removed":
        reasons = reasons_of(removal)
        why = context.batch_why(removal.batch) if removal and removal.batch else None
        back = restore_statement(context, [removal.batch] if removal else [])
    return Answer("symbol", name, "removed", headline, reasons, path, why=why, details=details, back=back)


def _facts(context: Context, name: str) -> tuple[Reason, ...]:
    """Return what the manifest states of a name that stays: its result, its value, its body."""
    stated = [
        Reason(fact.batch, f"on the target it is {fact.value}", fact.mark)
        for batch in context.manifest.batches
        for fact in batch.facts
        if fact.name == name and fact.kind in ("predicate", "value", "attribute")
    ]
    removal = context.cut.removals.own(name, "stub", "body")
    return (*stated, *reasons_of(removal))


def _endings(context: Context, what: str) -> list[tuple[str, str]]:
    """Return (path, name in it) of each definition and module whose qualified name ends in these parts: those
    of the output first, then by length."""
    places: set[tuple[str, str]] = set()
    first, _, last = what.rpartition(".")
    for tree in (context.cut.before, context.after):
        for path, summary in tree.summaries.items():
            if not summary.module:
                continue
            if f".{summary.module}".endswith(f".{what}"):
                places.add((path, ""))
            places |= {(path, name) for name in summary.definitions if _ends(summary.module, name, what)}
            for owner, attributes in summary.attributes.items():
                if first and last in attributes and _ends(summary.module, f"{owner}.{last}", what):
                    places.add((path, f"{owner}.{last}"))
    return sorted(
        places, key=lambda one: (context.state(one[0]) == "removed", len(one[0]) + len(one[1]), one)
    )


def _ends(module: str, name: str, what: str) -> bool:
    return name == what or f".{module}.{name}".endswith(f".{what}")


def _namesakes(context: Context, what: str, places: list[tuple[str, str]]) -> Answer:
    """One answer for many definitions of one name."""
    rows: list[tuple[State, str]] = []
    for path, name in places:
        state = context.state(path)
        if name and state != "removed":
            module = module_of(path, context.manifest.packages)
            state = "kept" if _defines(context.after, f"{module}.{name}") else "removed"
        rows.append((state, f"{path}:{name}" if name else path))
    counts = Counter(state for state, _ in rows)
    texts = ", ".join(f"{number:,} {state}" for state, number in sorted(counts.items()))
    all_of_them: State = next(iter(counts)) if len(counts) == 1 else "mixed"
    details = [f"{state:<8} {place}" for state, place in rows[:MAX_LISTED]]
    if len(rows) > MAX_LISTED:
        details.append(f"and {len(rows) - MAX_LISTED:,} more")
    details.append(f"ask for one of them: why {rows[0][1]}")
    headline = f"{what} is defined in {len(rows):,} places: {texts}"
    return Answer("symbol", what, all_of_them, headline, details=tuple(details))


def _defines(tree: IndexedTree, name: str) -> bool:
    """Return whether a tree defines a qualified name, other than as a module."""
    origin = tree.index.locate(name)
    return origin is not None and bool(origin.qualname)


def word_answer(context: Context, what: str) -> Answer | None:
    """Return the names that contain a word, by what they are; None where no name has it.

    Parameters, attributes and locals are named only where they are still there: nothing else tells them.
    """
    wanted = words_of(what)
    if not wanted or what.startswith("-") or not what.replace("-", "_").isidentifier():
        return None
    sides: dict[State, dict[str, set[str]]] = {"kept": defaultdict(set), "removed": defaultdict(set)}
    surfaces = context.cut.surfaces
    for key in {*surfaces.before, *surfaces.after}:
        if _has(key.name, wanted):
            sides["kept" if key in surfaces.after else "removed"][KINDS[key.kind]].add(key.name)
    after = set(_definitions(context.after, wanted))
    sides["kept"]["definition"] |= after
    sides["removed"]["definition"] |= set(_definitions(context.cut.before, wanted)) - after
    sides["kept"]["other name"] |= _others(context, wanted, {name.rpartition(".")[2] for name in after})
    counts = {state: sum(map(len, sorts.values())) for state, sorts in sides.items()}
    if not any(counts.values()):
        return None
    details = [
        f"{state:<8} {plural(len(names), sort)}: {listed(sorted(names, key=lambda n: (len(n), n)), _SHOWN)}"
        for state, sorts in sides.items()
        for sort, names in sorts.items()
        if names
    ]
    state: State = "mixed" if all(counts.values()) else "kept" if counts["kept"] else "removed"
    stay = plural(counts["kept"], "name") if counts["kept"] else "no name"
    headline = f"the word `{what}` is in {stay} of the output"
    headline += f"; {plural(counts['removed'], 'name')} with it left" if counts["removed"] else ""
    return Answer("word", what, state, headline, details=tuple(details))


def _has(name: str, wanted: tuple[str, ...]) -> bool:
    """Return whether the words stand in a name, one after the other."""
    words = words_of(name)
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))


def _definitions(tree: IndexedTree, wanted: tuple[str, ...]) -> Iterator[str]:
    """Yield the qualified names of functions, classes and constants whose own name has the words."""
    for summary in tree.summaries.values():
        for name in summary.definitions if summary.module else ():
            if _has(name.rpartition(".")[2], wanted):
                yield f"{summary.module}.{name}"


def _others(context: Context, wanted: tuple[str, ...], defined: set[str]) -> set[str]:
    """Return further identifiers of the output's Python with the words, texts included, each with a file."""
    places: dict[bytes, str] = {}
    for path, summary in sorted(context.after.summaries.items()):
        if summary.module:
            for name in file_counts(context.cut.output[path]):
                places.setdefault(name, path)
    texts = ((name.decode(), path) for name, path in places.items())
    return {f"{text} ({path})" for text, path in texts if _has(text, wanted) and text not in defined}


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
