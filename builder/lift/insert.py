"""Inserts statements into the text of a manifest's files; every other byte stays.

The YAML is parsed only to find places and never dumped again: comments, quotes and layout are the author's.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from builder.errors import Mark
from builder.manifest.statements import Span

_PLAIN = re.compile(r"[A-Za-z_/.(][\w ./()#'+=@-]*", re.ASCII)
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off"))
#: Proposals that carry a version range.
RANGED = frozenset(("until", "rule", "fact", "moved"))
_RULES = frozenset(("keep", "remove", "prune"))


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change of the manifest's text, and why.

    kind      at                 what
    until     `mark`: an item    it matches up to the old upstream's version
    rule      list `key`         a path rule `text` of `batch` (base: the top of the manifest)
    fact      `key` of facts     an entry `text: false` of `batch`
    moved     `mark`: an edit    a copy of it for another scope `text`
    preimage  `mark`: a file     one more blob id `text`
    pin       the pins           a pin `text` of the commit `key`, or with the mapping `key` for a release

    New statements start (`since`) at the new upstream's version.
    """

    kind: Literal["until", "rule", "fact", "moved", "preimage", "pin"]
    batch: str
    why: str = ""
    mark: Mark | None = None
    key: str = ""
    text: str = ""


def scalar(text: str) -> str:
    """Text as a YAML scalar: plain where that is unambiguous, else quoted."""
    plain = _PLAIN.fullmatch(text) and " #" not in text and not text.endswith((" ", ":"))
    return text if plain and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def apply_all(
    texts: Mapping[str, str], manifest: str, proposals: Sequence[Proposal], between: Span
) -> tuple[dict[str, str], list[Proposal]]:
    """The texts of a manifest's files with the proposals in them, and the proposals that fit nowhere.

    What changes a statement, or stands behind it, goes to the file in which it is; new rules and facts go
    to the `manifest` itself. `between`: see `apply`.
    """
    by_file: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        by_file.setdefault(proposal.mark.file if proposal.mark else manifest, []).append(proposal)
    new_texts = dict(texts)
    unplaced = [p for file, some in by_file.items() if file not in texts for p in some]
    for file in texts:
        if file in by_file:
            new_texts[file], others = apply(texts[file], by_file[file], between)
            unplaced += others
    return new_texts, unplaced


def _version(text: str) -> str:
    """A version as a YAML scalar: plain where no YAML reader could take it for a number."""
    return text if text.count(".") > 1 else json.dumps(text)


def apply(text: str, proposals: Sequence[Proposal], between: Span) -> tuple[str, list[Proposal]]:
    """The text with the proposals in it, and the proposals that fit nowhere.

    `between`: the last version with what was removed, and the first with what is new.
    """
    layout = _Layout(text, between)
    cuts: list[tuple[int, int, int, str]] = []
    unplaced: list[Proposal] = []
    lists: dict[tuple[str, str, str], list[Proposal]] = {}  # those that a batch has no list for yet
    for proposal in dict.fromkeys(proposals):
        if proposal.kind in ("rule", "fact") and _entries(layout, proposal) is None:
            lists.setdefault((proposal.kind, proposal.batch, proposal.key), []).append(proposal)
            continue
        change = _CHANGES[proposal.kind](layout, proposal)
        if change is None:
            unplaced.append(proposal)
        else:
            # where both stand at one place, what belongs to an item goes before what follows it
            follows = proposal.kind not in ("until", "preimage")
            cuts.append((change[0], change[1], int(follows), change[2]))
    for same in lists.values():
        change = _new_list(layout, same)
        if change is None:
            unplaced += same
        else:
            cuts.append((change[0], change[1], 1, change[2]))
    taken: set[int] = set()
    for start, end, _, new in sorted(cuts, key=lambda cut: cut[:3], reverse=True):
        if end > start and any(at in taken for at in range(start, end)):
            continue  # another proposal has changed this very text
        taken.update(range(start, end))
        text = text[:start] + new + text[end:]
    return text, unplaced


@dataclass(frozen=True, slots=True)
class _Spot:
    """A node, and what it is in: its list or mapping, and the nearest key above it."""

    node: Any
    parent: Any
    key: str
    above: Any = None  # what the parent is in
    is_key: bool = False
    value: Any = None  # of a key


class _Layout:
    """Where everything of a YAML text stands, and how the versions are written into it."""

    def __init__(self, text: str, between: Span) -> None:
        import yaml

        self.text = text
        self.until = f"until: {_version(between.until or '')}"
        self.since = f"since: {_version(between.since or '')}"
        self.new = between.since or ""
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.root: Any = yaml.compose(text, Loader=loader)
        self.spots: dict[tuple[int, int], list[_Spot]] = {}
        for spot in _spots(self.root, None, "", None):
            place = spot.node.start_mark
            self.spots.setdefault((place.line + 1, place.column + 1), []).append(spot)

    def at(self, mark: Mark | None) -> list[_Spot]:
        return self.spots.get((mark.line, mark.column), []) if mark else []

    def offset(self, place: Any) -> int:
        line: int = place.line
        column: int = place.column
        return self.starts[line] + column

    def span(self, node: Any) -> tuple[int, int]:
        return self.offset(node.start_mark), self.offset(node.end_mark)

    def source(self, node: Any) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def line_after(self, node: Any) -> int:
        """The offset of the line after a node's last one."""
        last: int = self.last_line(node)
        return self.starts[last + 1]

    def last_line(self, node: Any) -> Any:
        children = _children(node)
        if children and not node.flow_style:
            return self.last_line(children[-1])
        last = node.end_mark.line
        if getattr(node, "style", None) in ("|", ">"):
            last = min(last, len(self.lines)) - 1
            while last > node.start_mark.line and not self.lines[last].strip():
                last -= 1
        return last

    def batch(self, name: str) -> Any:
        """The mapping of a batch; the whole document for `base`."""
        if name == "base":
            return self.root
        for item in _children(_value(self.root, "batches")):
            id_node = _value(item, "id")
            if id_node is not None and id_node.value == name:
                return item
        return None


def _spots(node: Any, parent: Any, key: str, above: Any) -> Iterator[_Spot]:
    yield _Spot(node, parent, key, above)
    if node.id == "mapping":
        for name, value in node.value:
            yield _Spot(name, node, key, parent, True, value)
            yield from _spots(value, node, name.value, parent)
    elif node.id == "sequence":
        for item in node.value:
            yield from _spots(item, node, key, parent)


def _children(node: Any) -> list[Any]:
    if node is None or node.id == "scalar":
        return []
    return [value for _, value in node.value] if node.id == "mapping" else list(node.value)


def _value(node: Any, key: str) -> Any:
    if node is None or node.id != "mapping":
        return None
    return next((value for name, value in node.value if name.value == key), None)


_Cut = tuple[int, int, str]


def _until(layout: _Layout, proposal: Proposal) -> _Cut | None:
    spots = layout.at(proposal.mark)
    item = next((s for s in spots if s.node.id == "mapping" and _listed(s)), None)
    if item is not None:
        return _with_entry(layout, item.node, layout.until)
    for spot in spots:
        if spot.is_key:  # a fact: its value becomes a mapping
            if spot.value.id == "mapping":
                return _with_entry(layout, spot.value, layout.until)
            start, end = layout.span(spot.value)
            return start, end, f"{{value: {layout.text[start:end]}, {layout.until}}}"
        if spot.node.id == "scalar" and _listed(spot):
            start, end = layout.span(spot.node)
            name = "path" if spot.key in _RULES else "name"
            return start, end, f"{{{name}: {layout.text[start:end]}, {layout.until}}}"
        if spot.node.id == "scalar" and spot.parent is not None and spot.parent.id == "mapping":
            return _with_entry(layout, spot.parent, layout.until)
    return None


def _listed(spot: _Spot) -> bool:
    return spot.parent is not None and spot.parent.id == "sequence"


def _with_entry(layout: _Layout, mapping: Any, entry: str) -> _Cut | None:
    """A mapping with one more key, behind its first value that ends on the line of its key."""
    if _value(mapping, entry.partition(":")[0]) is not None:
        return None
    if mapping.flow_style:
        end = layout.offset(mapping.end_mark) - 1
        return end, end, f", {entry}" if mapping.value else entry
    column = mapping.start_mark.column
    for name, value in mapping.value:
        simple = value.id == "scalar" and value.style not in ("|", ">")
        if (simple or getattr(value, "flow_style", False)) and value.end_mark.line == name.start_mark.line:
            at = layout.line_after(value)
            return at, at, f"{' ' * column}{entry}\n"
    at = layout.offset(mapping.start_mark)
    return at, at, f"{entry}\n{' ' * column}"


def _entries(layout: _Layout, proposal: Proposal) -> Any:
    """The list or mapping of a batch that a proposal adds to; None when there is none, or an empty one."""
    batch = layout.batch(proposal.batch)
    node = _value(batch if proposal.kind == "rule" else _value(batch, "facts"), proposal.key)
    return node if node is not None and node.value else None


def _rule(layout: _Layout, proposal: Proposal) -> _Cut | None:
    rules = _entries(layout, proposal)
    return _beside(layout, rules, _nearest(rules, proposal.text), _item_of(layout, proposal))


def _item_of(layout: _Layout, proposal: Proposal) -> str:
    return f"{{path: {scalar(proposal.text)}, {layout.since}}}"


def _entry_of(layout: _Layout, proposal: Proposal) -> str:
    return f"{scalar(proposal.text)}: {{value: false, {layout.since}}}"


def _nearest(rules: Any, text: str) -> Any:
    """The item of a list of rules whose path has most in common with a path; the last of equals."""

    def common(item: Any) -> int:
        path = item if item.id == "scalar" else _value(item, "path")
        pairs = zip(path.value, text, strict=False) if path is not None else ()
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    return max(reversed(rules.value), key=common, default=None)


def _beside(layout: _Layout, items: Any, item: Any, text: str) -> _Cut | None:
    if items.flow_style:
        end = layout.offset(item.end_mark)
        return end, end, f", {text}"
    at = layout.line_after(item)
    return at, at, f"{' ' * items.start_mark.column}- {text}\n"


def _new_list(layout: _Layout, proposals: Sequence[Proposal]) -> _Cut | None:
    """A list of rules, or a mapping of facts, for a batch that has none: behind its reason."""
    first = proposals[0]
    batch = layout.batch(first.batch)
    why, facts = _value(batch, "why"), _value(batch, "facts")
    if why is None or batch.flow_style:
        return None
    indent = " " * batch.start_mark.column
    at = layout.line_after(why)
    if first.kind == "rule":
        rows = "".join(f"{indent}  - {_item_of(layout, p)}\n" for p in proposals)
        return None if _value(batch, first.key) is not None else (at, at, f"{indent}{first.key}:\n{rows}")
    if _value(facts, first.key) is not None:
        return None
    rows = "".join(f"{indent}    {_entry_of(layout, p)}\n" for p in proposals)
    if facts is None:
        return at, at, f"{indent}facts:\n{indent}  {first.key}:\n{rows}"
    if facts.flow_style or not facts.value or facts.start_mark.column != len(indent) + 2:
        return None
    at = layout.starts[facts.start_mark.line]
    return at, at, f"{indent}  {first.key}:\n{rows}"


def _fact(layout: _Layout, proposal: Proposal) -> _Cut | None:
    entries = _entries(layout, proposal)
    if entries.flow_style:
        end = layout.offset(entries.end_mark) - 1
        return end, end, f", {_entry_of(layout, proposal)}"
    at = layout.line_after(entries)
    return at, at, f"{' ' * entries.start_mark.column}{_entry_of(layout, proposal)}\n"


def _moved(layout: _Layout, proposal: Proposal) -> _Cut | None:
    """A copy of an edit behind it, for another scope, since the new version."""
    place = _item(layout, proposal.mark)
    if place is None:
        return None
    item, items = place
    named = f"{{name: {scalar(proposal.text)}, {layout.since}}}"
    if item.id == "scalar":
        return _beside(layout, items, item, named)
    scope = next((k for k in ("in", "name", "set", "body", "file") if _value(item, k) is not None), None)
    if scope is None or items.flow_style:
        return _beside(layout, items, item, named) if scope == "name" else None
    at = layout.line_after(item)
    first = layout.starts[item.start_mark.line]
    changes = [(*layout.span(_value(item, scope)), scalar(proposal.text))]
    if _value(item, "until") is not None or _value(item, "optional") is not None:
        return None  # it was expected to be absent, or its place is unknown
    old = _value(item, "since")
    if old is not None:
        changes.append((*layout.span(old), layout.since.partition(" ")[2]))
    elif (entry := _with_entry(layout, item, layout.since)) is not None:
        changes.append(entry)
    body = layout.text[first:at]
    for begin, stop, new in sorted(changes, reverse=True):
        body = body[: begin - first] + new + body[stop - first :]
    return at, at, body


def _item(layout: _Layout, mark: Mark | None) -> tuple[Any, Any] | None:
    """The item of a list that stands at a mark, or has its name there, and the list."""
    for spot in layout.at(mark):
        if _listed(spot) and spot.node.id != "sequence":
            return spot.node, spot.parent
        if not spot.is_key and spot.above is not None and spot.above.id == "sequence":
            return spot.parent, spot.above
    return None


def _preimage(layout: _Layout, proposal: Proposal) -> _Cut | None:
    spot = next((s for s in layout.at(proposal.mark) if s.node.id == "mapping"), None)
    blobs = _value(spot.node, "preimage") if spot else None
    if blobs is None or blobs.id != "sequence" or not blobs.value:
        return None
    return _beside(layout, blobs, blobs.value[-1], scalar(proposal.text))


def _pin(layout: _Layout, proposal: Proposal) -> _Cut | None:
    """A pin behind the others, written as they are."""
    pins = _value(_value(layout.root, "upstream"), "pins")
    if pins is None or not pins.value:
        return None
    stated = proposal.key
    if not stated.startswith("{"):
        stated = f"{{commit: {scalar(stated)}, version: {_version(layout.new)}}}"
    entry = f"{proposal.text}: {stated}"
    if pins.flow_style:
        end = layout.offset(pins.end_mark) - 1
        return end, end, f", {entry}"
    at = layout.line_after(pins)
    return at, at, f"{' ' * pins.start_mark.column}{entry}\n"


_CHANGES = {
    "until": _until, "rule": _rule, "fact": _fact, "moved": _moved, "preimage": _preimage, "pin": _pin,
}  # fmt: skip
