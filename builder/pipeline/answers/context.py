"""What all answers about one cut share, and how to change a decision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import projects
from builder.analysis.removals import Removal
from builder.analysis.surface_diff import Difference
from builder.emit.ledger import verdict
from builder.graph.modules import Import, summarise
from builder.graph.names import module_of
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Batch, Reason, Rule
from builder.manifest.switches import options
from builder.pipeline.answers.answer import State
from builder.pipeline.outcome import Outcome
from builder.pipeline.prune import folders_of, python_modules
from builder.surface.model import Key


class Context:
    """One outcome and the manifest that it was made with; `reasons`: path -> the statements behind it."""

    def __init__(self, outcome: Outcome, manifest: Manifest) -> None:
        self.cut, self.after, self.graphs = outcome.cut, outcome.cut.after, outcome.graphs
        self.reasons = {row.path: (row.reason, *row.also) for row in outcome.figures.rows}
        self.manifest = manifest
        self.batches: Mapping[str, Batch] = {batch.id: batch for batch in manifest.batches}

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of both sides."""
        return frozenset({*self.cut.upstream.tree, *self.cut.output.tree})

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders of both sides, without a slash at the end."""
        return frozenset(folders_of(self.paths))

    @cached_property
    def differences(self) -> Mapping[Key, tuple[Difference, ...]]:
        """Each thing of the surface -> its differences."""
        differences: dict[Key, list[Difference]] = {}
        for one in self.cut.surfaces.differences:
            differences.setdefault(one.key, []).append(one)
        return {key: tuple(some) for key, some in differences.items()}

    @cached_property
    def requirements(self) -> Mapping[tuple[str, str, str], tuple[list[str], list[str]]]:
        """(pyproject.toml, extra, name) -> the requirements as upstream and the output write them."""
        sides: dict[tuple[str, str, str], tuple[list[str], list[str]]] = {}
        for side, tree in enumerate((self.cut.upstream, self.cut.output)):
            for project in projects(tree, self.manifest.packages):
                for one in project.requirements:
                    sides.setdefault((project.path, one.extra, one.name), ([], []))[side].append(one.text)
        return sides

    def importing(self, tree: IndexedTree, wanted: Callable[[Import], bool]) -> list[str]:
        """The files of one side with such an import, sorted."""
        files = tree.summaries.items()
        return sorted(path for path, summary in files if any(map(wanted, summary.imports)))

    def rule_of_importer(self, tops: Collection[str]) -> Rule | None:
        """The rule of the first removed file that imports one of these modules; few files are read for it."""
        removed, upstream = self.cut.decided.removed, self.cut.upstream
        for path, module in python_modules(sorted(removed), self.manifest.packages).items():
            data = upstream[path]
            if any(top.encode() in data for top in tops) and any(
                item.target.partition(".")[0] in tops for item in summarise(data, path, module).imports
            ):
                return removed[path]
        return None

    def state(self, path: str) -> State:
        """What became of a path that is on one of the sides."""
        return verdict(self.cut.upstream.tree.get(path), self.cut.output.tree.get(path))

    def batch_why(self, batch: str) -> str | None:
        """Return the reason of a batch; None for the base and for what is no batch of the manifest."""
        return self.batches[batch].why if batch in self.batches and batch != BASE else None


def reasons_of(removal: Removal | None) -> tuple[Reason, ...]:
    """Return the statement that removed something as reasons of the ledger; () if no batch removed it."""
    return (Reason(removal.batch, removal.note, removal.mark),) if removal and removal.batch else ()


def restore_path(context: Context, path: str, rule: Rule) -> str:
    """Return how to bring back a path that `rule` removed."""
    manifest = context.manifest
    module = module_of(path, manifest.packages)
    if model := model_of(context, path):
        return f"to bring it back: add `{model}` to roots.models.keep"
    if rule.batch == BASE:
        root = module is not None and rule.verdict == "reach"
        return f"to bring it back: name {f'`{module}` in roots.modules' if root else 'the path in `keep`'}"
    # the other batches that remove it: none of them may keep what another removes
    selection = context.cut.decided.selection
    rules = [selection.rules[number] for number in selection.matched.get(path, ())]
    batches = dict.fromkeys(one.batch for one in rules if one.verdict == "remove")
    others = [batch for batch in batches if batch not in (rule.batch, BASE)]
    needed = context.graphs.needs.get(module or "")
    if others or needed:
        # code that uses what other batches remove is often removed with it: those batches may stay on
        uses = f" (it uses {needed}, removed too)" if needed else ""
        return f"to bring it back: {without(context, [rule.batch, *others])}{uses}"
    # `keep` brings the file back though nothing reaches it, `except` lets it name what the words name
    place = "`keep` and `except`" if rule.word else "`keep`"
    return f"to bring it back: add `{path}` to {place} of batch {rule.batch}"


def model_of(context: Context, path: str) -> str | None:
    """Return the name that roots.models.keep lacks, for a model file that left only because of that."""
    manifest = context.manifest
    module = module_of(path, manifest.packages)
    rule = context.cut.decided.removed.get(path)
    package = f"{manifest.roots.model_package}."
    if rule is None or module is None or not module.startswith(package):
        return None
    stated = rule.mark == manifest.mark("roots", "models", "keep")
    return module.removeprefix(package) if stated else None


def restore_statement(context: Context, batches: Iterable[str]) -> str | None:
    """Return how to bring back what statements of these batches removed; None if no batch did."""
    ids = [one for one in dict.fromkeys(batches) if one in context.batches and one != BASE]
    return f"to bring it back: {without(context, ids)}" if ids else None


def without(context: Context, batches: Iterable[str]) -> str:
    """Return the `dist` command with these batches switched off, or the options that it must not have."""
    ids = list(batches)
    if context.manifest.switched_on and set(ids) <= set(context.manifest.switched_on):
        return f"leave out {' and '.join(f'`--with {one}`' for one in ids)}"
    return f"`dist {options(context.manifest, ids)}`"
