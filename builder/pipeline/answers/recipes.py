"""How to change a decision: what to write in the manifest, or how to build."""

from __future__ import annotations

from collections.abc import Iterable

from builder.graph.names import module_of
from builder.manifest.statements import BASE, Rule
from builder.manifest.switches import options
from builder.pipeline.answers.context import Context


def restore_path(context: Context, path: str, rule: Rule) -> str:
    """How to have a removed path in the output; `rule` removed it."""
    manifest = context.manifest
    module = module_of(path, manifest.packages)
    if model := model_of(context, path):
        return f"to bring it back: add `{model}` to roots.models.keep"
    if rule.batch == BASE:
        root = module is not None and rule.verdict == "reach"
        return f"to bring it back: name {f'`{module}` in roots.modules' if root else 'the path in `keep`'}"
    others = _other_batches(context, path, rule)
    needed = context.graphs.needs.get(module or "")
    if others or needed:
        # code that uses what other batches remove often leaves with it, so those need not be switched off
        uses = f" (it uses {needed}, removed too)" if needed else ""
        return f"to bring it back: {without(context, [rule.batch, *others])}{uses}"
    # `keep` brings the file back though nothing reaches it, `except` lets it name what the words name
    place = "`keep` and `except`" if rule.word else "`keep`"
    return f"to bring it back: add `{path}` to {place} of batch {rule.batch}"


def _other_batches(context: Context, path: str, rule: Rule) -> list[str]:
    """The other batches that remove a path: none of them may keep what another removes."""
    selection = context.cut.decided.selection
    found = [selection.rules[number] for number in selection.matched.get(path, ())]
    batches = dict.fromkeys(one.batch for one in found if one.verdict == "remove")
    return [batch for batch in batches if batch not in (rule.batch, BASE)]


def model_of(context: Context, path: str) -> str | None:
    """The name under roots.models.keep of a model file that left only because it is not there."""
    manifest = context.manifest
    module = module_of(path, manifest.packages)
    rule = context.cut.decided.removed.get(path)
    package = f"{manifest.roots.model_package}."
    if rule is None or module is None or not module.startswith(package):
        return None
    stated = rule.mark == manifest.mark("roots", "models", "keep")
    return module.removeprefix(package) if stated else None


def restore_statement(context: Context, batches: Iterable[str]) -> str | None:
    """How to have back what statements of these batches removed; None where no batch did."""
    ids = [one for one in dict.fromkeys(batches) if one in context.batches and one != BASE]
    return f"to bring it back: {without(context, ids)}" if ids else None


def without(context: Context, batches: Iterable[str]) -> str:
    """The build with these batches switched off."""
    return f"`dist {options(context.manifest, batches)}`"
