"""What a cut came to, as bytes that hold for another manifest that states the same.

The places and reasons of statements are stored as "which statement"; unpacked, they are those of the manifest
at hand. Upstream's bytes are not stored.
"""

from __future__ import annotations

import copyreg
import dataclasses
import io
import pickle
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any

from builder.errors import Mark
from builder.manifest import model
from builder.manifest.model import Manifest
from builder.manifest.places import FROM_TEXT, Places
from builder.overlay.record import Record
from builder.tree import GITLINK, Snapshot, Tree

#: The classes of values that carry the reason of a statement.
_WITH_REASON = tuple(
    one
    for one in (*vars(model).values(), Record)
    if isinstance(one, type) and {"why", "mark"} <= getattr(one, "__dataclass_fields__", {}).keys()
)


class Packing:
    """Packs values that come from a manifest and an upstream, and unpacks what another run packed.

    `places`: those of the manifest; `upstream`: a snapshot whose contents are read when they are needed.
    """

    def __init__(self, manifest: Manifest, places: Places, upstream: Snapshot) -> None:
        self._manifest = manifest
        self._places = places
        self._upstream = upstream

    def pack(self, value: object) -> bytes | None:
        """The value as bytes; None if it cannot be told from which statement a part of it comes."""
        buffer = io.BytesIO()
        try:
            _Packer(buffer, self._manifest, self._places, self._upstream).dump(value)
        except _Unplaced:
            return None
        return buffer.getvalue()

    def unpack(self, data: bytes) -> Any:
        """The value that was packed for the same upstream and a manifest that states the same."""
        return _Unpacker(io.BytesIO(data), self._manifest, self._places, self._upstream).load()


class _Unplaced(Exception):
    """A place in the manifest at which nothing is stated."""


# What a packed value refers to; `_Unpacker` has functions of the same names.


def _mark(number: int) -> Mark:
    raise NotImplementedError


def _statement(kind: type, mark: Mark, values: Mapping[str, Any]) -> Any:
    raise NotImplementedError


def _stated(values: Mapping[str, Any]) -> Manifest:
    raise NotImplementedError


def _snapshot(tree: Tree, contents: Mapping[str, bytes]) -> Snapshot:
    raise NotImplementedError


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, manifest: Manifest, places: Places, upstream: Snapshot) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._manifest = manifest
        self._places = places
        self._numbers = {mark: number for number, mark in enumerate(places.marks)}
        self._files = {mark.file for mark in places.marks}
        self._blobs = {entry.blob for entry in upstream.tree.values()}
        reducers: dict[type, Callable[[Any], Any]] = {
            Mark: self._mark,
            Manifest: self._stated,
            Snapshot: self._snapshot,
            **dict.fromkeys(_WITH_REASON, self._statement),
        }
        self.dispatch_table = {**copyreg.dispatch_table, **reducers}

    def _mark(self, mark: Mark) -> Any:
        number = self._numbers.get(mark)
        if number is not None:
            return _mark, (number,)
        if mark.file in self._files:
            raise _Unplaced(mark)
        return Mark, (mark.file, mark.line, mark.column)  # in an overlay, or in upstream

    def _statement(self, one: Any) -> Any:
        values = _fields(one)
        if self._places.whys.get(one.mark) != one.why:
            return one.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        del values["why"]
        return _statement, (type(one), one.mark, values)

    def _stated(self, manifest: Manifest) -> Any:
        values = _fields(manifest)
        for name in FROM_TEXT:
            if values.pop(name) is not getattr(self._manifest, name):
                raise _Unplaced(name)
        return _stated, (values,)

    def _snapshot(self, snapshot: Snapshot) -> Any:
        own = {
            entry.blob: snapshot[path]
            for path, entry in snapshot.tree.items()
            if entry.blob not in self._blobs and entry.mode != GITLINK
        }
        return _snapshot, (snapshot.tree, own)


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, manifest: Manifest, places: Places, upstream: Snapshot) -> None:
        super().__init__(file)
        self._manifest = manifest
        self._places = places
        self._upstream = upstream
        self._functions: dict[str, Callable[..., Any]] = {
            _mark.__name__: places.marks.__getitem__,
            _statement.__name__: self._statement,
            _stated.__name__: self._stated,
            _snapshot.__name__: self._snapshot,
        }

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__:
            return self._functions[name]
        return super().find_class(module, name)

    def _statement(self, kind: type, mark: Mark, values: Mapping[str, Any]) -> Any:
        return kind(**values, why=self._places.whys[mark])

    def _stated(self, values: Mapping[str, Any]) -> Manifest:
        return Manifest(**values, **{name: getattr(self._manifest, name) for name in FROM_TEXT})

    def _snapshot(self, tree: Tree, contents: dict[str, bytes]) -> Snapshot:
        return Snapshot(tree, ChainMap(contents, self._upstream.contents))  # type: ignore[arg-type]  # read only


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
