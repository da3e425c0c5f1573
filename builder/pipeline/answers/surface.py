"""Answers about what users choose by name: models, flags, routes, variables, values, entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from builder.analysis.surface_diff import Difference
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Reason, Rule
from builder.pipeline.answers.answer import MAX_NAMESAKES, Answer, Kind, State, listed, plural
from builder.pipeline.answers.context import Context, model_of, restore_path, restore_statement
from builder.select.families import Families
from builder.surface.model import Item, Key, destination

#: What a person calls each kind of the surface.
KINDS: dict[str, Kind] = {
    "flag": "flag",
    "route": "route",
    "environment": "variable",
    "registry": "entry",
    "script": "script",
}


def surface_answers(context: Context, what: str) -> Iterator[Answer]:
    """Yield an answer for each thing of the surface with this name; one for the rest of many."""
    surfaces = context.cut.surfaces
    items = {**surfaces.before, **surfaces.after}
    keys = sorted(
        (key for key, item in items.items() if _named(item, what)),
        key=lambda key: (key not in surfaces.after, KINDS[key.kind], len(key.group), key),
    )
    for kind in dict.fromkeys(key.kind for key in keys):
        same = [key for key in keys if key.kind == kind]
        for key in same[:MAX_NAMESAKES]:
            yield item_answer(context, key, items[key])
        if rest := same[MAX_NAMESAKES:]:
            kept = sum(key in surfaces.after for key in rest)
            places = f"{plural(len(rest), 'place')} more: {kept} kept, {len(rest) - kept} removed"
            groups = listed(sorted(key.group or key.name for key in rest), 5)
            headline = f"{what} is also stated in {places}"
            yield Answer(KINDS[kind], what, "mixed", headline, details=(groups,))


def value_answer(context: Context, what: str, flag: str | None = None) -> Answer | None:
    """Return which flags take a value, and which no longer do; None if no flag of upstream takes it.

    `flag`: ask about this flag only.
    """
    surfaces = context.cut.surfaces
    taken = sorted(k for k, item in surfaces.after.items() if _takes(item, what, flag))
    lost = sorted(k for k, item in surfaces.before.items() if _takes(item, what, flag) and k not in taken)
    if not taken and not lost:
        return None
    flags, gone = _flags(taken), [f for f in _flags(lost) if f not in _flags(taken)]
    causes = [
        cause
        for key in lost
        for one in context.differences.get(key, ())
        if one.change == "lost" or (one.detail == "choices" and one.before == what)
        for cause in one.causes
    ]
    reasons = commonest_first(causes)
    if not taken:
        state: State = "removed"
        headline = f"`{what}` is removed: no flag takes it any more (upstream: {listed(_flags(lost))})"
    elif gone:
        state, headline = "mixed", f"`{what}` is kept for {listed(flags)}, and removed for {listed(gone)}"
    else:
        state, headline = "kept", f"`{what}` is kept: a value of {listed(flags)}"
    if flag is not None:
        what = f"{flag} {what}"
        headline = f"`{what}` is {state}"
    batch = reasons[0].batch if reasons else ""
    back = restore_statement(context, [batch]) if lost else None
    return Answer("value", what, state, headline, reasons, why=context.batch_why(batch), back=back)


def _flags(keys: list[Key]) -> list[str]:
    return list(dict.fromkeys(key.name for key in keys))


def _takes(item: Item, value: str, flag: str | None = None) -> bool:
    choices = item.details.get("choices")
    if flag not in (None, item.key.name):
        return False
    return item.key.kind == "flag" and isinstance(choices, tuple) and value in choices


def _named(item: Item, what: str) -> bool:
    """Return whether an item has this name: a flag also by an alias, without dashes or by its field, a route
    by its path."""
    kind, _, name = item.key
    if name == what:
        return True
    if kind == "route":
        return name.partition(" ")[2] == what
    if kind == "flag":
        names = names_of(item)
        spelt = what.replace("_", "-")
        field = destination(name, item.details.get("dest"))
        return what in names or spelt in names or (spelt, what)[what == field] in (f"{name}"[2:], field)
    return False


def names_of(flag: Item) -> list[str]:
    """The name of a flag, and its aliases."""
    aliases = flag.details.get("aliases", ())
    return [flag.key.name, *(map(str, aliases) if isinstance(aliases, tuple) else ())]


def item_answer(context: Context, key: Key, item: Item) -> Answer:
    """What became of one thing of the surface, and why."""
    surfaces = context.cut.surfaces
    changes = context.differences.get(key, ())
    model = key.kind == "registry" and key.group == context.manifest.roots.model_package
    what = "model" if model else key.kind
    named = {
        "registry": f"entry {key.name!r} of {key.group}",
        "flag": f"{key.name} of {key.group}",
        "environment": f"environment variable {key.name}",
        "route": f"route {key.name} of {key.group}",
        "script": f"command {key.name}",
        "model": f"architecture {key.name}",
    }[what]
    place = item.places[0]
    details = [f"{'upstream ' if key in surfaces.before else ''}{place}"]
    if key not in surfaces.after:
        return _lost(context, key, item, f"{named} is removed", tuple(details), model)
    state: State = "kept"
    headline = f"{named} is kept"
    if key not in surfaces.before:
        state, headline = "added", f"{named} is added"
    elif changes:
        state = "edited"
        headline += f", {_changes(changes)}"
    reasons = commonest_first(cause for one in changes for cause in one.causes)
    if any(one.detail == "choices" for one in changes):
        details.append("`why VALUE` tells how to bring one value back")
    name = place.module.removeprefix(f"{context.manifest.roots.model_package}.")
    if model and name in context.manifest.roots.models:
        keeps = Reason("root", f"roots.models keeps {name}", context.manifest.model_mark(name))
        reasons = (*reasons, keeps)
    kind: Kind = "model" if model else KINDS[key.kind]
    back = removal_of_flag(context.manifest, key.name) if kind == "flag" and state != "added" else None
    return Answer(kind, key.name, state, headline, reasons, place.path, details=tuple(details), back=back)


def removal_of_flag(manifest: Manifest, flag: str) -> str:
    """Return how to remove a flag: by the option of a batch that is off by default, or by a statement."""
    for batch in manifest.words_given_back:
        absent = {value for option in batch.options for value in option.values}
        if batch.id in manifest.off_by_default and (flag in absent or Families([batch]).member(flag)):
            return f"to remove it with its feature: `dist --with {batch.id}`"
    return f"to remove it: `options: [{{names: [add_argument], absent: [{flag}]}}]` in the facts of a batch"


def _changes(changes: tuple[Difference, ...]) -> str:
    gone = [str(one.before) for one in changes if one.detail == "choices" and one.before is not None]
    texts = [f"without the {'values' if len(gone) > 1 else 'value'} {listed(gone)}"] if gone else []
    texts += [
        f"its {one.detail} is {one.after!r} instead of {one.before!r}"
        for one in changes
        if one.detail and one.detail != "choices"
    ]
    return ", ".join(texts) or "and edited"


def _lost(
    context: Context, key: Key, item: Item, headline: str, details: tuple[str, ...], model: bool
) -> Answer:
    removed = context.cut.decided.removed
    paths = [place.path for place in item.places if place.path in removed]
    rules = [removed[path] for path in paths]
    causes = [cause for one in context.differences.get(key, ()) for cause in one.causes]
    others = [c for c in causes if not any(_of_rule(c, rule) for rule in rules)]
    others += [Reason(rule.batch, rule.stated, rule.mark) for rule in rules]
    reasons = commonest_first(others, key.name)
    back: str | None
    if model and (name := next(filter(None, (model_of(context, p) for p in paths)), None)):
        back = f"to bring it back: add `{name}` to roots.models.keep"
    elif paths and len(paths) == len(item.places):
        back = restore_path(context, paths[0], removed[paths[0]])
    else:
        back = restore_statement(context, [reasons[0].batch] if reasons else [])
    kind: Kind = "model" if model else KINDS[key.kind]
    return Answer(
        kind, key.name, "removed", headline, reasons, item.places[0].path,
        why=context.batch_why(reasons[0].batch) if reasons else None, details=details, back=back,
    )  # fmt: skip


def _of_rule(cause: Reason, rule: Rule) -> bool:
    return (cause.batch, cause.mark) == (rule.batch, rule.mark) and cause.rule.startswith(rule.pattern)


def commonest_first(reasons: Iterable[Reason], name: str = "") -> tuple[Reason, ...]:
    """Return each reason once: those that state `name` first, those of no batch last, the others by how often
    their batch occurs."""
    reasons = list(reasons)
    times = Counter(reason.batch for reason in reasons)

    def rank(reason: Reason) -> tuple[bool, bool, int, str]:
        return not (name and name in reason.rule), reason.batch == BASE, -times[reason.batch], reason.batch

    return tuple(sorted(dict.fromkeys(reasons), key=rank))
