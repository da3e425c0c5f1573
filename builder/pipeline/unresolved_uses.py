"""What specialization left open, as problems for the person who wrote the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from builder.errors import Mark, Problem
from builder.graph.modules import module_of
from builder.manifest.model import Manifest
from builder.pipeline.prune import Pruned
from builder.specialize.leftovers import Leftover
from builder.specialize.results import Specialized
from builder.tree import Snapshot

#: Places of one problem that are named; the others are counted.
MAX_NAMED = 3
_HINT = "State a fact that makes the use dead, or drop, stub or replace it with an edit."


def problems(
    result: Specialized, decided: Pruned, manifest: Manifest, laid: Snapshot, upstream: Snapshot
) -> Iterator[Problem]:
    """G010 for each edit that its syntax tree does not confirm, R008 for each use that cannot leave."""
    for wrong in result.mismatches:
        place = Mark(wrong.path) if wrong.path else None
        yield Problem("G010", f"{wrong.path or 'The specialization'}: {wrong.sentence}.", upstream=place)
    causes = _causes(decided, manifest)
    uses: dict[tuple[str, str], list[Leftover]] = {}
    for left in result.leftovers:  # the uses of one thing are one problem
        uses.setdefault((left.gone, left.name.partition(".")[0]), []).append(left)
    for (gone, _), places in uses.items():
        because, mark = _because(gone, causes, result)
        first = places[0]
        where, excerpt = _place(first, result.files.get(first.path) or laid[first.path], upstream)
        message = f"`{first.name}` in {_named(places)} is used, but {because}."
        cause = because.rpartition(" is gone: ")[2] if mark else None
        yield Problem("R008", message, mark, where, excerpt, _HINT, cause=cause)


def _named(places: Sequence[Leftover]) -> str:
    """Where a name is used: the first scopes, and how many more there are."""
    scopes = list(dict.fromkeys(left.scope or "the module" for left in places))
    files = len({left.path for left in places})
    more = len(scopes) - MAX_NAMED
    if more > 0:
        return f"{', '.join(scopes[:MAX_NAMED])} and {more} more places of {files} file{'s' * (files > 1)}"
    return " and ".join(filter(None, (", ".join(scopes[:-1]), scopes[-1])))


def _causes(decided: Pruned, manifest: Manifest) -> Mapping[str, tuple[str, Mark]]:
    """Qualified name -> what the manifest says that takes it away; edits, then what is absent, then rules."""
    found: dict[str, tuple[str, Mark]] = {}
    for batch in manifest.batches:
        for file in batch.files:
            if module := module_of(file.path, manifest.packages):
                found[module] = (f"batch {batch.id} replaces its file by {file.overlay}", file.mark)
        for edit in batch.edits:
            if edit.kind == "drop":
                found[edit.target] = (f"batch {batch.id} drops {edit.target}", edit.mark)
        for absent in batch.absent:
            found[absent.name] = (f"batch {batch.id} declares {absent.name} absent", absent.mark)
    for path, rule in decided.removed.items():
        if module := module_of(path, manifest.packages):
            found[module] = (f"batch {rule.batch} removes {module}", rule.mark)
    return found


def _because(
    gone: str, causes: Mapping[str, tuple[str, Mark]], result: Specialized
) -> tuple[str, Mark | None]:
    """Why a name is gone, and where the manifest says so; its own cause, or that of what it lies in."""
    said = result.lost.get(gone)
    name = gone
    while name:
        if name in causes:
            text, mark = causes[name]
            return (text if name == gone else f"{gone} is gone: {text}"), mark
        # what the evaluator took by itself has a reason of its own
        if said and said != "an edit of the manifest":
            break
        name = name.rpartition(".")[0]
    return f"{gone} is gone: {said or 'nothing defines it'}", None


def _place(left: Leftover, data: bytes, upstream: Snapshot) -> tuple[Mark, str | None]:
    """The use where upstream has it: the line of the same text that is nearest to where it stands now."""
    now = data.decode("utf-8", "replace").splitlines()
    word = left.name.rpartition(".")[2]
    near = sorted(range(len(now)), key=lambda number: abs(number + 1 - left.line))
    row = next((number for number in near if word in now[number]), None)
    if row is None or left.path not in upstream:
        return Mark(left.path, left.line, left.column), None
    text = now[row].strip()
    then = upstream[left.path].decode("utf-8", "replace").splitlines()
    same = [number for number, line in enumerate(then) if line.strip() == text]
    if not same:
        return Mark(left.path), text
    best = min(same, key=lambda number: abs(number - row))
    return Mark(left.path, best + 1, then[best].find(word) + 1), text
