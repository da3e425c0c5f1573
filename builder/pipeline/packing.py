"""Serializes a cut so that another manifest that states the same can use it.

The places and reasons of statements are stored as "which statement", and texts of the output as spans of
upstream's; unpacked, they are those of the manifest and the upstream at hand. Equal values give equal bytes.
Only classes of the builder are instantiated, from their fields, so that bytes from elsewhere run no code.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from builder.errors import Mark
from builder.manifest import model
from builder.manifest.digests import FROM_TEXT, Places
from builder.manifest.model import Manifest
from builder.manifest.statements import Reason
from builder.overlay.record import Record
from builder.source.delta import Piece, applied, delta
from builder.surface.model import Place
from builder.tree import GITLINK, Entry, Snapshot, Tree, blob_id

#: Increases when the meaning of a node changes.
FORMAT = 1
#: The classes of values that carry the reason of a statement.
_WITH_REASON = tuple(
    one
    for one in (*vars(model).values(), Record)
    if isinstance(one, type) and {"why", "mark"} <= getattr(one, "__dataclass_fields__", {}).keys()
)
#: Fields that are stored empty: upstream's source, which only the comparison of surfaces asks for.
_EMPTY = {(Place, "conditions"): ()}


class Packing:
    """Packs values that come from a manifest and an upstream, and unpacks what another run packed.

    `places`: those of the manifest; `upstream`: a snapshot whose contents are read when they are needed.
    """

    def __init__(self, manifest: Manifest, places: Places, upstream: Snapshot) -> None:
        self.manifest = manifest
        self.places = places
        self.upstream = upstream
        self.paths = list(upstream.tree)

    def pack(self, value: object) -> bytes | None:
        """Return the value as bytes; None if it cannot be told from which statement a part of it comes."""
        writer = _Writer(self)
        try:
            writer.number(value)
        except _Unplaced:
            return None
        document = {"format": FORMAT, "classes": writer.classes, "nodes": writer.nodes}
        return json.dumps(document, separators=(",", ":")).encode()

    def unpack(self, data: bytes) -> Any:
        """Return the value that was packed for the same upstream and a manifest that states the same.

        Raises ValueError for bytes that no builder packed, and for classes that have other fields now.
        """
        try:
            document = json.loads(data)
            if document["format"] != FORMAT:
                raise ValueError(f"packed in format {document['format']}")
            return _Reader(self, document["classes"]).value(document["nodes"])
        except (KeyError, TypeError, IndexError, AttributeError, ImportError, RecursionError) as error:
            raise ValueError(f"not a packed value: {error}") from error


class _Unplaced(Exception):
    """The manifest states nothing at this place."""


class _Writer:
    """Numbers values, equal ones alike; a node describes a value by the numbers of its parts."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._marks = {mark: number for number, mark in enumerate(packing.places.marks)}
        self._files = {mark.file for mark in packing.places.marks}
        self.classes: list[tuple[str, str, tuple[str, ...]]] = []
        self.nodes: list[Any] = []
        self._class_numbers: dict[type, int] = {}
        self._numbers: dict[Any, int] = {}
        self._texts: dict[tuple[str, bytes], tuple[int, int]] = {}
        self._seen: dict[int, tuple[object, int]] = {}  # id -> the value, which must live on, and its number

    def number(self, value: Any) -> int:
        """The number of a value. Raises _Unplaced, and TypeError for a value of another kind."""
        if value is None or isinstance(value, (str, int, float)):
            return self._node((type(value).__name__, value), value)
        known = self._seen.get(id(value))
        if known is None:
            node = self._made(value)
            known = self._seen[id(value)] = value, self._node(tuple(node), node)
        return known[1]

    def _node(self, key: Any, node: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.nodes)
            self.nodes.append(node)
        return number

    def _made(self, value: Any) -> list[Any]:
        if isinstance(value, Mark):
            return self._mark(value)
        if isinstance(value, Snapshot):
            return self._snapshot(value)
        if isinstance(value, Manifest):
            for name in FROM_TEXT:
                if getattr(value, name) is not getattr(self._packing.manifest, name):
                    raise _Unplaced(name)
            return self._fields("manifest", value, FROM_TEXT)
        if isinstance(value, _WITH_REASON) and self._packing.places.whys.get(value.mark) == value.why:  # type: ignore[attr-defined]
            return self._fields("statement", value, ("why",))
        if isinstance(value, Reason) and (told := self._before_why(value)):
            return ["reason", *map(self.number, (value.batch, told, value.mark))]
        if isinstance(value, enum.Enum):
            return ["enum", self._class(type(value)), self.number(value.value)]
        if dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
            return self._fields("object", value)
        if isinstance(value, Mapping):
            if value and all(isinstance(one, bytes) for one in value.values()):
                return ["texts", *(part for path, text in value.items() for part in self._text(path, text))]
            return ["dict", *(self.number(part) for item in value.items() for part in item)]
        if isinstance(value, (set, frozenset)):
            return [type(value).__name__, *(self.number(one) for one in sorted(value, key=repr))]
        if isinstance(value, (tuple, list)):
            return [type(value).__name__, *map(self.number, value)]
        raise TypeError(f"a {type(value).__name__} cannot be packed")

    def _before_why(self, value: Reason) -> str | None:
        """What a reason says before it quotes that of its statement: `drop: the reason`."""
        why = self._packing.places.whys.get(value.mark) if value.mark else None
        said = value.rule.removesuffix(why) if why else value.rule
        return said if said != value.rule and said.endswith(": ") else None

    def _mark(self, mark: Mark) -> list[Any]:
        number = self._marks.get(mark)
        if number is not None:
            return ["mark", number]
        if mark.file in self._files:
            raise _Unplaced(mark)
        return self._fields("object", mark)  # in an overlay, or in upstream

    def _fields(self, kind: str, value: Any, without: Sequence[str] | frozenset[str] = ()) -> list[Any]:
        number = self._class(type(value))
        names = self.classes[number][2]
        values = (
            _EMPTY.get((type(value), name), getattr(value, name)) for name in names if name not in without
        )
        return [kind, number, *map(self.number, values)]

    def _class(self, kind: type) -> int:
        if kind not in self._class_numbers:
            self._class_numbers[kind] = len(self.classes)
            self.classes.append((kind.__module__, kind.__qualname__, _fields_of(kind)))
        return self._class_numbers[kind]

    def _snapshot(self, snapshot: Snapshot) -> list[Any]:
        """Write how many paths of upstream are skipped and taken, in turns; then the other files."""
        upstream, turns, taken = self._packing.upstream.tree, [0], False
        for path in self._packing.paths:
            if (snapshot.tree.get(path) == upstream[path]) is not taken:
                taken = not taken
                turns.append(0)
            turns[-1] += 1
        plain = ["plain", *turns]
        node: list[Any] = ["snapshot", self._node(tuple(plain), plain)]
        for path, entry in snapshot.tree.items():
            if upstream.get(path) != entry:
                if entry.mode == GITLINK:
                    raise TypeError("a gitlink of our own cannot be packed")
                node += [self.number(entry.mode), self.number(entry.blob), *self._text(path, snapshot[path])]
        return node

    def _text(self, path: str, text: bytes) -> tuple[int, int]:
        """The numbers of a path and of the pieces of its text."""
        if (path, text) in self._texts:
            return self._texts[path, text]
        node: list[Any] = ["plain"]
        end = 0
        for piece in delta(self._packing.upstream.get(path, b""), text):
            if isinstance(piece, bytes):
                node.append(piece.decode("latin-1"))
            else:
                node += [piece[0] - end, piece[1]]  # what is passed over
                end = sum(piece)
        self._texts[path, text] = numbers = self.number(path), self._node(tuple(node), node)
        return numbers


class _Reader:
    """Makes values from the nodes that a writer wrote."""

    def __init__(self, packing: Packing, classes: Sequence[Sequence[Any]]) -> None:
        self._packing = packing
        self._classes = [class_of(*one) for one in classes]
        self._values: list[Any] = []
        self._makers: dict[str, Callable[[list[Any]], Any]] = {
            "plain": lambda parts: parts,
            "tuple": lambda parts: tuple(self._all(parts)),
            "list": self._all,
            "set": lambda parts: set(self._all(parts)),
            "frozenset": lambda parts: frozenset(self._all(parts)),
            "dict": lambda parts: dict(zip(self._all(parts[::2]), self._all(parts[1::2]), strict=True)),
            "mark": lambda parts: packing.places.marks[parts[0]],
            "object": lambda parts: self._made(parts, {}),
            "enum": lambda parts: self._classes[parts[0]](self._values[parts[1]]),
            "manifest": lambda parts: self._made(parts, {n: getattr(packing.manifest, n) for n in FROM_TEXT}),
            "statement": self._statement,
            "reason": self._reason,
            "texts": lambda parts: _Texts(
                packing.upstream, {self._values[path]: self._text(path, at) for path, at in _groups(parts, 2)}
            ),
            "snapshot": self._snapshot,
        }

    def value(self, nodes: Sequence[Any]) -> Any:
        """The value of the last node: each one is made of earlier ones."""
        for node in nodes:
            self._values.append(self._makers[node[0]](node[1:]) if isinstance(node, list) else node)
        return self._values[-1]

    def _all(self, numbers: list[int]) -> list[Any]:
        return [self._values[number] for number in numbers]

    def _made(self, parts: list[int], more: Mapping[str, Any]) -> Any:
        kind = self._classes[parts[0]]
        names = (name for name in _fields_of(kind) if name not in more)
        return kind(**dict(zip(names, self._all(parts[1:]), strict=True)), **more)

    def _statement(self, parts: list[int]) -> Any:
        names = [name for name in _fields_of(self._classes[parts[0]]) if name != "why"]
        mark = self._values[parts[1 + names.index("mark")]]
        return self._made(parts, {"why": self._packing.places.whys[mark]})

    def _reason(self, parts: list[int]) -> Reason:
        batch, said, mark = self._all(parts)
        return Reason(batch, said + self._packing.places.whys[mark], mark)

    def _snapshot(self, parts: list[int]) -> Snapshot:
        upstream, at = self._packing.upstream, 0
        entries: dict[str, Entry] = {}
        texts: dict[str, tuple[str, list[Any]]] = {}
        for turn, count in enumerate(self._values[parts[0]]):
            if turn % 2:
                entries.update((path, upstream.tree[path]) for path in self._packing.paths[at : at + count])
            at += count
        for mode, blob, path, text in _groups(parts[1:], 4):
            entry = Entry(self._values[mode], self._values[blob])
            entries[self._values[path]] = entry
            texts[entry.blob] = self._text(path, text)
        own: Any = _Texts(upstream, texts, checked=True)
        others: Any = (
            upstream.contents
        )  # a ChainMap writes into its first mapping alone, and nobody writes here
        return Snapshot(Tree(entries), ChainMap(own, others))

    def _text(self, path: int, text: int) -> tuple[str, list[Any]]:
        """The path, and what its text is made of."""
        return self._values[path], self._values[text]


def _groups(parts: list[int], size: int) -> Iterator[tuple[int, ...]]:
    return zip(*(parts[start::size] for start in range(size)), strict=True)


class _Texts(Mapping[str, bytes]):
    """Texts that are made from upstream's when they are read."""

    def __init__(
        self, upstream: Snapshot, texts: Mapping[str, tuple[str, list[Any]]], checked: bool = False
    ) -> None:
        """`texts`: key -> the path of upstream's text, and the pieces of it as they are stored; `checked`:
        the keys are the ids of blobs."""
        self._upstream = upstream
        self._texts = texts
        self._checked = checked

    def __getitem__(self, key: str) -> bytes:
        path, stored = self._texts[key]
        pieces: list[Piece] = []
        parts, end = iter(stored), 0
        for part in parts:
            if isinstance(part, str):
                pieces.append(part.encode("latin-1"))
            else:
                pieces.append((end + part, next(parts)))
                end += part + pieces[-1][1]
        text = applied(self._upstream.get(path, b""), pieces)
        if self._checked and blob_id(text) != key:
            raise ValueError(f"the pieces of {path} do not make the blob {key}")
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def _fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a class of values."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return tuple(getattr(kind, "_fields", ()))


def class_of(module: str, name: str, fields: Sequence[str]) -> Any:
    """A class of values of the builder. Raises ValueError where there is none with these fields."""
    kind = getattr(importlib.import_module(module), name, None) if module.startswith("builder.") else None
    plain = isinstance(kind, type) and (
        dataclasses.is_dataclass(kind) or issubclass(kind, enum.Enum) or hasattr(kind, "_fields")
    )
    if not plain or list(_fields_of(kind)) != list(fields):  # type: ignore[arg-type]
        raise ValueError(f"this builder has no {module}.{name} with the fields {', '.join(fields)}")
    return kind
