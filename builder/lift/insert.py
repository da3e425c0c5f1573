"""Inserts statements into the text of a manifest's files; every other byte stays.

The YAML is parsed only to find places and never dumped again: comments, quotes and layout are the author's.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from builder.errors import Mark
from builder.manifest.documents import facts_file, is_part
from builder.manifest.statements import BASE, Span

_PLAIN = re.compile(r"[A-Za-z_/.(][\w ./()#'+=@-]*", re.ASCII)
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off"))
#: Proposals that carry a version range.
RANGED = frozenset(("until", "rule", "fact", "moved"))
_RULES = frozenset(("keep", "remove", "prune"))
#: How the facts of a batch that has none yet begin.
_HEAD = """\
# yaml-language-server: $schema=../../schema/facts.schema.json
# What upstream is like where the batch {batch} is concerned; manifest.yaml says why.
"""
#: The keys that say what an edit is about.
_SCOPES = ("in", "name", "set", "body", "file")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change of the manifest's text.

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
    mark: Mark | None = None
    key: str = ""
    text: str = ""


def scalar(text: str) -> str:
    """Text as a YAML scalar: plain where that is unambiguous, else quoted."""
    plain = _PLAIN.fullmatch(text) and " #" not in text and not text.endswith((" ", ":"))
    return text if plain and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def _version(text: str) -> str:
    """A version as a YAML scalar: plain where no YAML reader could take it for a number."""
    return text if text.count(".") > 1 else json.dumps(text)


def apply_all(
    texts: Mapping[str, str], manifest: str, proposals: Sequence[Proposal], between: Span
) -> tuple[dict[str, str], list[Proposal]]:
    """The texts of a manifest's files with the proposals in them, and the proposals that fit nowhere.

    What changes a statement, or stands behind it, goes to the file in which it is. New rules and facts go to
    the facts of their batch if the manifest has parts, and to the `manifest` itself if it has none.
    `between`: see `apply`.
    """
    in_parts = any(map(is_part, texts))
    by_file: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        new = proposal.kind in ("rule", "fact") and in_parts
        file = facts_file(proposal.batch) if new else manifest
        by_file.setdefault(proposal.mark.file if proposal.mark else file, []).append(proposal)
    new_texts = dict(texts)
    unplaced: list[Proposal] = []
    for file, some in by_file.items():
        if file in texts or not any(proposal.mark for proposal in some):
            old = texts.get(file) or _HEAD.format(batch=file.split("/")[1])
            new_texts[file], some = apply(old, some, between, whole=file == manifest)
        unplaced += some
    return new_texts, unplaced


def apply(
    text: str, proposals: Sequence[Proposal], between: Span, whole: bool = True
) -> tuple[str, list[Proposal]]:
    """The text with the proposals in it, and the proposals that fit nowhere.

    `between`: the last version with what was removed, and the first with what is new. `whole`: the text is
    the manifest, and not a part of one batch.
    """
    layout = _Layout(text, between, whole)
    cuts: list[tuple[int, int, bool, str]] = []
    unplaced: list[Proposal] = []
    together: dict[object, list[Proposal]] = {}  # those for a list that a batch does not have share a new one
    for proposal in dict.fromkeys(proposals):
        lacks_list = proposal.kind in ("rule", "fact") and layout.entries(proposal) is None
        key = (proposal.batch, proposal.key) if lacks_list else proposal
        together.setdefault(key, []).append(proposal)
    for same in together.values():
        first = same[0]
        change = _CHANGES[first.kind](layout, first) if first in together else _new_list(layout, same)
        if change is None:
            unplaced += same
        else:
            start, end, new = change
            # where both stand at one place, what belongs to an item goes before what follows it
            cuts.append((start, end, first.kind not in ("until", "preimage"), new))
    changed_from = len(text) + 1
    for start, end, _, new in sorted(cuts, key=lambda cut: cut[:3], reverse=True):
        if start < end:
            if end > changed_from:
                continue  # another proposal has changed this very text
            changed_from = start
        text = text[:start] + new + text[end:]
    return text, unplaced


_Cut = tuple[int, int, str]


class _Layout:
    """Where everything of a YAML text stands, and how the versions are written into it."""

    def __init__(self, text: str, between: Span, whole: bool) -> None:
        import yaml

        self.text = text
        self.until = f"until: {_version(between.until or '')}"
        self.since = f"since: {_version(between.since or '')}"
        self.lines = text.split("\n")
        self.starts = [0, *itertools.accumulate(len(line) + 1 for line in self.lines)]
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.root: Any = yaml.compose(text, Loader=loader)  # None for a text without statements
        self.whole = whole
        #: By place: an item of a list, which also its own values stand for, with the list and its key.
        self.items: dict[tuple[int, int], tuple[Any, Any, str]] = {}
        self.values: dict[tuple[int, int], Any] = {}  # by the place of its key
        if self.root is not None:
            self._find(self.root, "")

    def _find(self, node: Any, key: str) -> None:
        if node.id == "mapping":
            for name, value in node.value:
                self.values[_place(name)] = value
                self._find(value, name.value)
        elif node.id == "sequence":
            for item in node.value:
                for part in (item, *(_children(item) if item.id == "mapping" else ())):
                    self.items.setdefault(_place(part), (item, node, key))
                self._find(item, key)

    def span(self, node: Any) -> tuple[int, int]:
        start, end = node.start_mark, node.end_mark
        return self.starts[start.line] + start.column, self.starts[end.line] + end.column

    def line_after(self, node: Any) -> int:
        """The offset of the line after a node's last one."""
        while (children := _children(node)) and not node.flow_style:
            node = children[-1]
        last: int = node.end_mark.line
        if getattr(node, "style", None) in ("|", ">"):
            last = min(last, len(self.lines)) - 1
            while last > node.start_mark.line and not self.lines[last].strip():
                last -= 1
        return self.starts[last + 1]

    def batch(self, name: str) -> Any:
        """The mapping of a batch; the whole document for `base`, and in the part of a batch."""
        batches = _children(_value(self.root, "batches"))
        named = (item for item in batches if (node := _value(item, "id")) is not None and node.value == name)
        return self.root if name == BASE or not self.whole else next(named, None)

    def entries(self, proposal: Proposal) -> Any:
        """The list or mapping of a batch that a proposal adds to; None if there is none, or an empty one."""
        batch = self.batch(proposal.batch)
        node = _value(batch if proposal.kind == "rule" else _value(batch, "facts"), proposal.key)
        return node if node is not None and node.value else None

    def row(self, proposal: Proposal) -> str:
        """A new rule or fact as it is written."""
        if proposal.kind == "rule":
            return f"{{path: {scalar(proposal.text)}, {self.since}}}"
        return f"{scalar(proposal.text)}: {{value: false, {self.since}}}"

    def behind(self, items: Any, item: Any, text: str) -> _Cut:
        """One more item of a list, or entry of a mapping, behind one of them."""
        if items.flow_style:
            end = self.span(item)[1]
            return end, end, f", {text}"
        at, dash = self.line_after(item), "- " if items.id == "sequence" else ""
        return at, at, f"{' ' * items.start_mark.column}{dash}{text}\n"

    def with_entry(self, mapping: Any, entry: str) -> _Cut | None:
        """A mapping with one more key, behind its first value that ends on the line of its key."""
        if _value(mapping, entry.partition(":")[0]) is not None:
            return None
        if mapping.flow_style:
            return self.behind(mapping, _children(mapping)[-1], entry)
        for name, value in mapping.value:
            simple = value.flow_style if _children(value) else getattr(value, "style", "") not in ("|", ">")
            if simple and value.end_mark.line == name.start_mark.line:
                return self.behind(mapping, value, entry)
        return self.before(mapping, entry)

    def before(self, mapping: Any, entry: str) -> _Cut:
        """A mapping with one more key, before its first."""
        at = self.span(mapping)[0]
        return at, at, f"{entry}\n{' ' * mapping.start_mark.column}"


def _place(at: Any) -> tuple[int, int]:
    """The line and column of a node, as marks count them."""
    return at.start_mark.line + 1, at.start_mark.column + 1


def _at(proposal: Proposal) -> tuple[int, int]:
    return (proposal.mark.line, proposal.mark.column) if proposal.mark else (0, 0)


def _children(node: Any) -> list[Any]:
    if node is None or node.id == "scalar":
        return []
    return [value for _, value in node.value] if node.id == "mapping" else list(node.value)


def _value(node: Any, key: str) -> Any:
    if node is None or node.id != "mapping":
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _until(layout: _Layout, proposal: Proposal) -> _Cut | None:
    place = _at(proposal)
    if place in layout.items:
        node, _, key = layout.items[place]
        name = "path" if key in _RULES else "name"
    elif place in layout.values:
        node, name = layout.values[place], "value"
    else:
        return None
    if node.id == "mapping":
        return layout.with_entry(node, layout.until)
    start, end = layout.span(node)
    return start, end, f"{{{name}: {layout.text[start:end]}, {layout.until}}}"


def _rule(layout: _Layout, proposal: Proposal) -> _Cut | None:
    """A rule behind the one whose path has most in common with its own; behind the last of equals."""

    def common(item: Any) -> int:
        path = item if item.id == "scalar" else _value(item, "path")
        pairs = zip(path.value, proposal.text, strict=False) if path is not None else ()
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    rules = layout.entries(proposal)
    return layout.behind(rules, max(reversed(rules.value), key=common), layout.row(proposal))


def _fact(layout: _Layout, proposal: Proposal) -> _Cut | None:
    facts = layout.entries(proposal)
    return layout.behind(facts, _children(facts)[-1], layout.row(proposal))


def _new_list(layout: _Layout, proposals: Sequence[Proposal]) -> _Cut | None:
    """A list of rules, or a mapping of facts, for a batch that has none.

    It comes behind the reason of the batch, or at the end of its part.
    """
    first, is_rule = proposals[0], proposals[0].kind == "rule"
    batch = layout.batch(first.batch)
    why, facts = _value(batch, "why"), _value(batch, "facts")
    part = not layout.whole and (batch is None or not batch.flow_style)
    if not part and (why is None or batch.flow_style):
        return None
    if _value(batch if is_rule else facts, first.key) is not None:
        return None
    column = (0 if part else batch.start_mark.column) + (0 if is_rule else 2)
    indent, dash = " " * (column + 2), "- " if is_rule else ""
    text = f"{first.key}:" + "".join(f"\n{indent}{dash}{layout.row(p)}" for p in proposals)
    if part and (is_rule or facts is None):
        end = len(layout.text)
        return end, end, f"{text}\n" if is_rule else f"facts:\n{' ' * column}{text}\n"
    if is_rule or facts is None:
        return layout.behind(batch, why, text if is_rule else f"facts:\n{' ' * column}{text}")
    if facts.flow_style or not facts.value or facts.start_mark.column != column:
        return None
    return layout.before(facts, text)


def _moved(layout: _Layout, proposal: Proposal) -> _Cut | None:
    """A copy of an edit behind it, for another scope, since the new version."""
    if _at(proposal) not in layout.items:
        return None
    item, items, _ = layout.items[_at(proposal)]
    scope = next((_value(item, key) for key in _SCOPES if _value(item, key) is not None), None)
    if item.id == "scalar" or (items.flow_style and scope is not None and scope is _value(item, "name")):
        return layout.behind(items, item, f"{{name: {scalar(proposal.text)}, {layout.since}}}")
    if scope is None or items.flow_style or _value(item, "until") or _value(item, "optional"):
        return None  # it was expected to be absent, or its place is unknown
    old = _value(item, "since")
    since = layout.with_entry(item, layout.since)
    if old is not None:
        since = (*layout.span(old), layout.since.partition(" ")[2])
    first, at = layout.starts[item.start_mark.line], layout.line_after(item)
    body = layout.text[first:at]
    changes = [(*layout.span(scope), scalar(proposal.text)), *([since] if since else [])]
    for begin, stop, new in sorted(changes, reverse=True):
        body = body[: begin - first] + new + body[stop - first :]
    return at, at, body


def _preimage(layout: _Layout, proposal: Proposal) -> _Cut | None:
    item = layout.items.get(_at(proposal), (None,))[0]
    blobs = _value(item, "preimage")
    if blobs is None or not blobs.value:
        return None
    return layout.behind(blobs, blobs.value[-1], scalar(proposal.text))


def _pin(layout: _Layout, proposal: Proposal) -> _Cut | None:
    """A pin behind the others, written as they are."""
    pins = _value(_value(layout.root, "upstream"), "pins")
    if pins is None or not pins.value:
        return None
    stated = proposal.key
    if not stated.startswith("{"):
        stated = f"{{commit: {scalar(stated)}, version: {layout.since.partition(' ')[2]}}}"
    return layout.behind(pins, _children(pins)[-1], f"{proposal.text}: {stated}")


_CHANGES = {
    "until": _until, "rule": _rule, "fact": _fact, "moved": _moved, "preimage": _preimage, "pin": _pin,
}  # fmt: skip
