"""The manifest as it is asked of one upstream: a statement for each name that a word or pattern means.

A fact, a name or a root that nothing of upstream confirms is an error.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import accumulate

from builder.errors import Mark, Problem
from builder.graph.modules import Summary
from builder.graph.names import folder_of, locate, module_of
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Batch, Fact, Rule
from builder.pipeline.data_files import unused_paths
from builder.pipeline.expand_configurations import expand_configurations
from builder.pipeline.expand_families import FamilyMatches, expand_families
from builder.pipeline.model_scope import Scoped
from builder.pipeline.prune import Pruned, folders_of, python_modules
from builder.pipeline.ranges import VERSIONS_HINT, beyond, holds, matches_nothing, mistakes
from builder.pipeline.run import Run
from builder.select.rules import holds_path
from builder.source.words import file_counts
from builder.spelling import nearest
from builder.tree import Snapshot

_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
#: An identifier that a text holds as a whole if it holds what is around it.
_INNER = re.compile(rb"(?<=\W)[A-Za-z_]\w*(?=\W)")
_WILD = {"**": ".*", "*": "[^.]*"}


def expand(
    run: Run, asked: Manifest, scoped: Scoped, pruned: Pruned, staying: Mapping[str, Summary], index: Index
) -> tuple[Manifest, Mapping[str, FamilyMatches], frozenset[Mark]]:
    """Return the manifest with what words and patterns stand for, what the words of each batch matched, and
    the marks of the statements that upstream bears out.

    `asked`: the manifest before models withdrew any of it; `staying`, `index`: of the Python that no rule
    removes. Stops with the problems of the selection and with statements that match nothing (R001, R009) or
    match outside of their versions (R011).
    """
    kept = run.upstream.restrict(path for path in pruned.kept if path in staying)
    kept_index = Index({path: staying[path] for path in kept}, asked.packages)
    manifest, families, unused_words = expand_families(scoped.manifest, run.upstream, kept, kept_index)
    manifest, unmatched = expand_patterns(manifest, index)
    manifest = expand_configurations(manifest, run.upstream, kept)
    nowhere = names_nowhere(run.upstream, manifest)
    unknown = unused_facts(manifest, nowhere)
    misplaced = misplaced_names(run.upstream, manifest, nowhere)
    roots = unused_roots(run.upstream, asked, pruned.removed, run.within)
    files = unused_paths(run.upstream, asked)
    unused = [*scoped.problems, *unused_words, *unmatched, *unknown, *misplaced, *roots, *files]
    selection = pruned.selection
    matched = holds(asked, scoped.manifest, unused, selection.matches())
    mistaken = with_spelling(mistakes(unused, asked), manifest, run.upstream)
    models = with_models(selection.problems, asked, run.upstream)
    run.stop([*models, *mistaken, *beyond(asked, matched)])
    return manifest, families, matched


def expand_patterns(manifest: Manifest, index: Index) -> tuple[Manifest, list[Problem]]:
    """Return the manifest with one absent symbol for each definition that a pattern matches.

    `*` stands for any part of one name, `**` also for dots. `index`: the modules that no rule removes. R009
    for a pattern that matches nothing.
    """
    if not any("*" in a.name for b in manifest.batches for a in b.absent):
        return manifest, []
    names = sorted(
        f"{module}.{name}" for module, summary in index.modules.items() for name in summary.definitions
    )
    problems: list[Problem] = []
    batches = tuple(_expanded(batch, names, problems) for batch in manifest.batches)
    return replace(manifest, batches=batches), problems


def _expanded(batch: Batch, names: list[str], problems: list[Problem]) -> Batch:
    symbols: dict[str, Absent] = {}
    for absent in batch.absent:
        if "*" not in absent.name:
            symbols[absent.name] = absent
            continue
        parts = (_WILD.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", absent.name))
        pattern = re.compile("".join(parts))
        matched = [name for name in names if pattern.fullmatch(name)]
        if not matched:
            message = f"The absent symbol `{absent.name}` matches no definition of a file that stays."
            problems.append(matches_nothing(message, absent.mark))
        for name in matched:
            symbols.setdefault(name, replace(absent, name=name))
    return replace(batch, absent=tuple(symbols.values()))


def names_nowhere(upstream: Snapshot, manifest: Manifest) -> frozenset[str]:
    """Return the parts of stated names that source text must hold and no Python file of upstream has."""
    texts = [upstream[path] for path in upstream if path.endswith(".py")]
    words = frozenset().union(*map(file_counts, texts))
    joined = b"\n".join(words)  # an identifier may be a part of a word; the words are a tenth of the text

    def is_held(name: bytes) -> bool:
        if name in words or name in joined:
            return True
        inner = {*_INNER.findall(name)}
        return not _IDENTIFIER.fullmatch(name) and any(
            name in text for text in texts if file_counts(text).keys() >= inner
        )

    return frozenset(name for name in {name for _, name, _ in _names(manifest)} if not is_held(name.encode()))


def unused_facts(manifest: Manifest, nowhere: frozenset[str]) -> list[Problem]:
    """Return R009 for each fact, option value, absent module and absent symbol whose name is `nowhere`."""
    # the statements that words become are about names of upstream
    expanded = {word.mark for batch in manifest.batches for word in batch.words}
    return [
        matches_nothing(f"{what} `{name}` occurs nowhere in upstream's Python.", mark)
        for what, name, mark in _names(manifest)
        if mark not in expanded and name in nowhere
    ]


def with_spelling(problems: Iterable[Problem], manifest: Manifest, upstream: Snapshot) -> list[Problem]:
    """Add to the problems of `unused_facts` the name of upstream that was probably meant."""
    names = {mark: name for _, name, mark in _names(manifest)}

    def spelt(problem: Problem) -> Problem:
        name = names.get(problem.mark, "") if problem.code == "R009" and problem.mark else ""
        half = len(name) // 2
        if half < 2:
            return problem
        # a word of upstream's Python that begins or ends as the name does
        begin, end = re.escape(name[:half].encode()), re.escape(name[half:].encode())
        alike = re.compile(rb"(?<![\w-])(?:" + begin + rb"[\w-]*|[\w-]*" + end + rb")(?![\w-])")
        python = (upstream[path] for path in upstream if path.endswith(".py"))
        near = nearest(name, {word.decode() for text in python for word in alike.findall(text)}, cutoff=0.8)
        return replace(problem, hint=f"{near} {problem.hint}") if near else problem

    return [spelt(problem) for problem in problems]


def _names(manifest: Manifest) -> Iterator[tuple[str, str, Mark]]:
    """Yield (kind, the part of the name that source text must hold, place)."""
    for batch in manifest.batches:
        for fact in batch.facts:
            name = fact.name.rpartition(":")[2] if fact.kind == "default" else fact.name
            if fact.kind != "quiet-import":
                name = name.rpartition(".")[2]
            yield f"The {fact.kind.replace('-', ' ')}", name, fact.mark
        for option in batch.options:
            for pattern in option.names:
                if name := max(re.split(r"[*?\[\]]", pattern), key=len):
                    yield "The option name", name, option.mark
            for value in (*option.values, *option.among):
                if isinstance(value, str):
                    yield "The option value", value, option.mark
        for absent in batch.absent:
            name = absent.name.rpartition(".")[2] if absent.kind == "symbol" else absent.name
            yield f"The absent {absent.kind}", name, absent.mark


def misplaced_names(upstream: Snapshot, manifest: Manifest, nowhere: frozenset[str]) -> list[Problem]:
    """Return R009 for each fact and absent symbol whose module exists and does not hold its name.

    A pattern of modules (`pkg.**.Class`) is left to its expansion; what is `nowhere`, to `unused_facts`.
    """
    problems = []
    folders = folders_of(upstream)
    for what, name, one in _qualified(manifest):
        if one.name.rpartition(":")[2].rpartition(".")[2] in nowhere:
            continue
        if missing := _missing(name, upstream, manifest.packages, folders):
            module, first = missing
            message = f"{what} `{name}` names nothing: `{module}` has no `{first}`."
            # the hint reads every module, and nobody sees it if the statement may match nothing
            hint = None if one.optional else _elsewhere(name, upstream, manifest.packages)
            problems.append(matches_nothing(message, one.mark, hint))
    return problems


def _qualified(manifest: Manifest) -> Iterator[tuple[str, str, Fact | Absent]]:
    """Yield (kind, qualified name, statement) of what the packages of the manifest should hold."""
    for batch in manifest.batches:
        for fact in batch.facts:
            # a missing attribute may belong to something that exists
            name = fact.name.rpartition(".")[0] if fact.kind == "attribute" else fact.name.partition(":")[0]
            of_module = fact.kind not in ("environment", "quiet-import")
            if of_module and folder_of(name, manifest.packages):
                yield f"The {fact.kind.replace('-', ' ')}", name, fact
            for name in str(fact.value).split() if fact.kind == "registry" else ():
                if folder_of(name, manifest.packages) and "." in name:
                    yield "The name of a registry", name, fact
        for absent in batch.absent:
            if absent.kind == "symbol" and folder_of(absent.name, manifest.packages):
                yield "The absent symbol", absent.name, absent


def _missing(
    name: str, upstream: Snapshot, packages: Mapping[str, str], folders: Set[str]
) -> tuple[str, str] | None:
    """Return the module that lacks the next part of the name, and this part; None if it has it."""
    located = locate(name, packages, upstream)
    if located is None:
        folder = f"{folder_of(name.partition('.')[0], packages)}/"
        # a partial upstream does not have every package
        return (name.partition(".")[0], name) if any(path.startswith(folder) for path in upstream) else None
    path, module, rest = located
    first, _, below = rest.partition(".")
    folder = posixpath.dirname(path)
    # a folder may be a package without an __init__.py
    while path.endswith("__init__.py") and below and f"{folder}/{first}" in folders:
        folder, module = f"{folder}/{first}", f"{module}.{first}"
        first, _, below = below.partition(".")
    if not first or "**" in first:
        return None
    if folder != posixpath.dirname(path):
        return (module, first) if "*" not in first else None
    holds = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(first).replace(r"\*", r"\w*").encode()).search
    texts = [upstream[path]]
    if b"import *" in texts[0]:
        beside = f"{posixpath.dirname(path)}/"
        texts += (upstream[one] for one in upstream if one.startswith(beside) and one.endswith(".py"))
    return None if any(map(holds, texts)) else (module, first)


def _elsewhere(name: str, upstream: Snapshot, packages: Mapping[str, str]) -> str:
    """Return where the last part of the name is defined, or what else to do."""
    homes = _homes(name, upstream, packages)
    if len(homes) == 1:
        return f"`{name.rpartition('.')[2]}` is defined in `{homes[0]}`"
    return nearest(name.rpartition(".")[0], homes) or VERSIONS_HINT


def with_homes(problems: Iterable[Problem], manifest: Manifest, upstream: Snapshot) -> list[Problem]:
    """Add to each problem of an edit whose target does not exist where its class or name is defined."""
    targets = {edit.mark: edit.target for batch in manifest.batches for edit in batch.edits}

    def homed(problem: Problem) -> Problem:
        target = targets.get(problem.mark) if problem.code == "R005" and problem.nothing else None  # type: ignore[arg-type]
        owner = target.rpartition(".")[0] if target else ""
        is_class = owner.rpartition(".")[2][:1].isupper()
        for name in filter(None, (owner if is_class else None, target)):
            homes = _homes(name, upstream, manifest.packages)
            if len(homes) == 1 and not name.startswith(f"{homes[0]}."):
                moved = f"`{name.rpartition('.')[2]}` is defined in `{homes[0]}`."
                return replace(problem, hint=" ".join(filter(None, (moved, problem.hint))))
        return problem

    return [homed(problem) for problem in problems]


def with_models(problems: Iterable[Problem], manifest: Manifest, upstream: Snapshot) -> list[Problem]:
    """Add to the problem of each model that is named by its class the module that defines the class."""
    models = {manifest.model_mark(model): model for model in manifest.roots.models}

    def found(problem: Problem) -> Problem:
        name = models.get(problem.mark) if problem.code == "R001" and problem.mark else None
        homes = _homes(name, upstream, manifest.packages) if name and name[:1].isupper() else []
        package = f"{manifest.roots.model_package}."
        modules = [home.removeprefix(package) for home in homes if home.startswith(package)]
        hint = f"models are named by their modules: write `{modules[0]}`" if modules else problem.hint
        return replace(problem, hint=hint)

    return [found(problem) for problem in problems]


def _homes(name: str, upstream: Snapshot, packages: Mapping[str, str]) -> list[str]:
    """Return the modules that define the last part of the name."""
    last = name.rpartition(".")[2].encode()
    named = (re.escape(last), re.escape(last))
    defines = re.compile(rb"^\s*(?:(?:async\s+)?def|class)\s+%b\b|^\s*%b\s*[:=]" % named, re.M)
    return [
        module
        for path in upstream
        if (module := module_of(path, packages)) and last in upstream[path] and defines.search(upstream[path])
    ]


#: How similar (1: equal) two names are if one is a misspelling of the other.
_MISSPELT = 0.85


def unused_roots(
    upstream: Snapshot, manifest: Manifest, removed: Mapping[str, Rule], within: Sequence[str]
) -> list[Problem]:
    """R009 for each root and pattern of programs that matches no module of upstream and is a pattern or
    resembles one, R002 for each root whose file a rule removes.

    `removed`: the rule of each removed path. `within`: the folders that a partial upstream holds; roots
    elsewhere may match nothing.
    """
    paths = {module: path for path, module in python_modules(upstream, manifest.packages).items()}
    names = {name for module in paths for name in accumulate(module.split("."), "{}.{}".format)}
    problems: list[Problem] = []
    roots = (*manifest.roots.modules, *manifest.roots.used_by)
    marked = [(root.name, root.mark) for root in roots]
    root_of = {root.mark: root.name for root in manifest.roots.modules}
    marked += [
        (pattern.removeprefix("!"), manifest.mark("roots", "programs", number))
        for number, pattern in enumerate(manifest.roots.programs)
    ]
    ranged = {root.mark for root in roots if root.span}
    for pattern, mark in marked:
        if not any(fnmatchcase(name, pattern) for name in names):
            # one without a range that resembles nothing is taken for a module of another version
            misspelt = "*" in pattern or mark in ranged or get_close_matches(pattern, names, 1, _MISSPELT)
            folder = folder_of(pattern.partition(".")[0], manifest.packages)
            # a name outside the packages is held by no part of an upstream
            if misspelt and (folder is None or not within or holds_path(f"{folder}/", within)):
                message = f"The root `{pattern}` names no module of upstream."
                hint = None if mark in ranged else nearest(pattern, names)
                problems.append(matches_nothing(message, mark, hint))
            continue
        rule = removed.get(paths.get(pattern, ""))
        if rule is not None and rule.verdict == "remove":
            place = rule.mark.seen_from(mark.file)
            by = f"`remove: {rule.stated}` (batch {rule.batch}, {place})"
            message = f"The root `{pattern}` is removed by {by}."
            hint = f"add it to `keep` of batch {rule.batch}, or take it out of the roots"
            if root_of.get(mark) == pattern:
                without = f"`{{name: {pattern}, without: {rule.batch}}}`"
                hint = f"write {without} where it is a root only without the batch, or {hint}"
            problems.append(Problem("R002", message, mark, hint=hint))
    return problems
