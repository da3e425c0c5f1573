"""Inserts statements into the text of a manifest's files; every other byte stays.

The YAML is parsed only to find places and never dumped again: comments, quotes and layout are the author's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from builder.errors import Mark
from builder.lift.statements import common_start
from builder.manifest.documents import facts_file, is_part
from builder.manifest.nodes import Findings, Node, read
from builder.manifest.statements import BASE, Span

_PLAIN = re.compile(r"[A-Za-z_/.(][\w ./()#'+=@-]*", re.ASCII)
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off"))
#: Proposals that carry a version range.
RANGED = frozenset(("until", "widen", "rule", "fact", "moved"))
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
    widen     `mark`: an item    `key`, which is since or until, becomes the new upstream's version
    moved     `mark`: an edit    a copy of it for another scope `text`
    preimage  `mark`: a file     one more blob id `text`
    pin       the pins           a pin `key` with the mapping `text`

    New statements start (`since`) at the new upstream's version.
    """

    kind: Literal["until", "widen", "rule", "fact", "moved", "preimage", "pin"]
    batch: str
    mark: Mark | None = None
    key: str = ""
    text: str = ""


def scalar(text: str) -> str:
    """Text as a YAML scalar: plain where that is unambiguous, else quoted."""
    plain = _PLAIN.fullmatch(text) and " #" not in text and not text.endswith((" ", ":"))
    return text if plain and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def version_scalar(text: str | None) -> str:
    """A version as a YAML scalar: plain where no YAML reader could take it for a number."""
    return text if text and text.count(".") > 1 else json.dumps(text or "")


def apply_all(
    texts: Mapping[str, str], manifest: str, proposals: Iterable[Proposal], between: Span
) -> dict[str, str]:
    """The texts of a manifest's files with the proposals in them.

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
    for file, some in by_file.items():
        if file in texts or not any(proposal.mark for proposal in some):
            old = texts.get(file) or _HEAD.format(batch=file.split("/")[1])
            new_texts[file] = apply(old, some, between)
    return new_texts


def apply(text: str, proposals: Sequence[Proposal], between: Span) -> str:
    """The text of one file with the proposals in it; one that fits nowhere, or is repeated, changes nothing.

    `between`: the version of the old upstream ends what matches no longer, that of the new one begins what
    is new.
    """
    proposals = list(dict.fromkeys(proposals))
    layout = _Layout(text, between)
    marked = [(p.kind, p.mark, p.key if p.kind == "widen" else p.text) for p in proposals if p.mark]
    cuts = [(*cut, kind) for kind, mark, said in marked if (cut := _CHANGES[kind](layout, mark, said))]
    changed_from = len(text) + 1
    # where several stand at one place, what belongs to an item goes before the copy that follows it
    for start, end, new, _ in sorted(cuts, key=lambda cut: (*cut[:2], cut[3] == "moved"), reverse=True):
        if start == end or end <= changed_from:  # else another proposal has changed this very text
            changed_from = start if start < end else changed_from
            text = text[:start] + new + text[end:]
    for proposal in (p for p in proposals if not p.mark):
        cut = _new_entry(_Layout(text, between), proposal)
        if cut is not None:
            text = text[: cut[0]] + cut[2] + text[cut[1] :]
    return text


_Cut = tuple[int, int, str]


class _Layout:
    """Where everything of a YAML text stands, and how the versions are written into it."""

    def __init__(self, text: str, between: Span) -> None:
        self.text = text
        self.since, self.until = version_scalar(between.since), version_scalar(between.until)
        self.root = read(text.encode(), "", Findings())
        self.is_part = not self.root.has("upstream")  # the part of a batch, and not the manifest
        #: By place: an item of a list, which its own values stand for, too, and the list; or what a key has.
        self.places: dict[tuple[int, int], tuple[Node, Node | None]] = {}
        for _, node in self.root.walk():
            for part in node.parts:
                listed = isinstance(node.data, list)
                marks = [part.mark, *(one.mark for one in part.parts)] if listed else [part.key_mark]
                for mark in marks:
                    self.places.setdefault((mark.line, mark.column), (part, node if listed else None))

    def at(self, mark: Mark) -> tuple[Node | None, Node | None]:
        """The item of a list at a mark, and its list; or the value of the key there."""
        return self.places.get((mark.line, mark.column), (None, None))

    def line_after(self, node: Node) -> int:
        """The offset of the line after a node's last one."""
        while node.parts and not node.flow:
            node = node.parts[-1]
        end = len(self.text[: node.span[1]].rstrip())
        return self.text.find("\n", end) + 1 or len(self.text)

    def batch(self, name: str) -> Node | None:
        """The mapping of a batch; the whole document for `base`, and in the part of a batch."""
        named = (batch for batch in self.root.items("batches") if batch.text("id") == name)
        return self.root if name == BASE or self.is_part else next(named, None)

    def behind(self, items: Node, item: Node, text: str) -> _Cut:
        """One more item of a list, or entry of a mapping, behind one of them."""
        if items.flow:
            return item.span[1], item.span[1], f", {text}"
        at, dash = self.line_after(item), "- " if isinstance(items.data, list) else ""
        return at, at, f"{' ' * (items.mark.column - 1)}{dash}{text}\n"

    def with_entry(self, mapping: Node, key: str, value: str) -> _Cut | None:
        """A mapping with one more key; None if it has that."""
        return None if mapping.has(key) else self.behind(mapping, mapping.parts[-1], f"{key}: {value}")


def _value(node: Node | None, key: str) -> Node | None:
    return next((part for part in node.parts if part.key == key), None) if node is not None else None


def _until(layout: _Layout, mark: Mark, _: str) -> _Cut | None:
    node, items = layout.at(mark)
    if node is None or isinstance(node.data, dict):
        return layout.with_entry(node, "until", layout.until) if node is not None else None
    name = "value" if items is None else "path" if items.key in _RULES else "name"
    start, end = node.span
    return start, end, f"{{{name}: {layout.text[start:end]}, until: {layout.until}}}"


def _widen(layout: _Layout, mark: Mark, key: str) -> _Cut | None:
    bound = _value(layout.at(mark)[0], key)
    return (*bound.span, layout.since) if bound is not None else None


def _edit_copy(layout: _Layout, mark: Mark, text: str) -> _Cut | None:
    """A copy of an edit behind it, for another scope, since the new version."""
    item, items = layout.at(mark)
    if item is None or items is None:
        return None
    scope = next((part for key in _SCOPES if (part := _value(item, key)) is not None), None)
    if not item.parts or (items.flow and scope is not None and scope.key == "name"):
        return layout.behind(items, item, f"{{name: {scalar(text)}, since: {layout.since}}}")
    if scope is None or items.flow or item.has("until") or item.has("optional"):
        return None  # it was expected to be absent, or its place is unknown
    old = _value(item, "since")
    since = layout.with_entry(item, "since", layout.since) if old is None else (*old.span, layout.since)
    first, at = item.span[0] - (item.mark.column - 1), layout.line_after(item)
    body = layout.text[first:at]
    for begin, stop, new in sorted([(*scope.span, scalar(text)), *([since] if since else [])], reverse=True):
        body = body[: begin - first] + new + body[stop - first :]
    return at, at, body


def _preimage(layout: _Layout, mark: Mark, text: str) -> _Cut | None:
    blobs = _value(layout.at(mark)[0], "preimage")
    return layout.behind(blobs, blobs.parts[-1], scalar(text)) if blobs is not None else None


#: What proposals for a statement do.
_CHANGES = {"until": _until, "widen": _widen, "moved": _edit_copy, "preimage": _preimage}


def _new_entry(layout: _Layout, proposal: Proposal) -> _Cut | None:
    """A new rule behind the one whose path has most in common with its own, or the last of equals; a new fact
    or pin behind all others."""
    if proposal.kind == "pin":
        pins = layout.root.below("upstream.pins")
        return layout.behind(pins, pins.parts[-1], f"{proposal.key}: {proposal.text}")
    is_rule, batch = proposal.kind == "rule", layout.batch(proposal.batch)
    facts, why = _value(batch, "facts"), _value(batch, "why")
    entries = _value(batch if is_rule else facts, proposal.key)
    name, since = scalar(proposal.text), f"since: {layout.since}"
    row = f"{{path: {name}, {since}}}" if is_rule else f"{name}: {{value: false, {since}}}"

    def common(item: Node) -> int:
        return len(common_start([item.one("path").word(), proposal.text])) if is_rule else 0

    if entries is not None and entries.parts:
        return layout.behind(entries, max(reversed(entries.parts), key=common), row)
    # a batch without any: behind its reason, or at the end of its part
    part = layout.is_part and (batch is None or not batch.flow)
    if entries is not None or (not part and (batch is None or why is None or batch.flow)):
        return None
    column = 0 if part or batch is None else batch.mark.column - 1
    indent = " " * (column + 2)
    text = f"{proposal.key}:\n{indent}- {row}" if is_rule else f"{proposal.key}:\n{indent}  {row}"
    if not is_rule and facts is not None:
        fits = facts.parts and not facts.flow and facts.mark.column - 1 == column + 2
        return layout.behind(facts, facts.parts[-1], text) if fits else None
    if not is_rule:
        text = f"facts:\n{indent}{text}"
    if part or batch is None or why is None:
        return len(layout.text), len(layout.text), f"{text}\n"
    return layout.behind(batch, why, text)
