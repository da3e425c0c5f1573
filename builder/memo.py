"""Results of pure functions, kept between runs.

A `remembered` function returns what it returned before for equal arguments, if the store in use has it. A key
need not name the code: a store gives its results only to the builder that made them.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

#: (kind, key) -> pickled result
Entries = Mapping[tuple[str, bytes], bytes]


class Store(Protocol):
    """Where results are kept."""

    def get(self, kind: str, key: bytes) -> bytes | None:
        """The result under a key, or None; never one that was damaged."""

    def put(self, kind: str, key: bytes, data: bytes) -> None:
        """Keep a result."""

    def added(self) -> Entries:
        """What this process has put."""


_store: Store | None = None


@contextmanager
def using(store: Store | None) -> Iterator[None]:
    """Remember in this store while the block runs; None: nothing is remembered."""
    global _store
    before, _store = _store, store
    try:
        yield
    finally:
        _store = before


def recall(kind: str, given: tuple[object, ...], make: Callable[[], T]) -> T:
    """The result of `make`, which depends on `given` alone, or the one remembered; errors are not remembered.

    `given` are values that `digest` takes; `kind` says what the result is.
    """
    return recall_each(kind, [given], lambda _: [make()])[0]


def recall_each(
    kind: str, given: Sequence[tuple[object, ...]], make: Callable[[Sequence[int]], Sequence[T]]
) -> list[T]:
    """Like `recall` for several results, of which `make` gives those with the numbers that it gets."""
    store = _store
    if store is None:
        return list(make(range(len(given))))
    keys = [digest(*one) for one in given]
    known = [store.get(kind, key) for key in keys]
    todo = [number for number, data in enumerate(known) if data is None]
    made = dict(zip(todo, make(todo) if todo else (), strict=True))
    for number, result in made.items():
        store.put(kind, keys[number], pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
    return [made[number] if data is None else pickle.loads(data) for number, data in enumerate(known)]


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """Make a pure function remember its results, by arguments that `digest` takes."""
    kind = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        given = (args, tuple(sorted(kwargs.items())))
        return recall(kind, given, lambda: function(*args, **kwargs))

    return call


def digest(*values: object) -> bytes:
    """sha256 of values: bytes, text, numbers, None, and tuples, lists, mappings and dataclasses of these.

    Raises TypeError for any other value.
    """
    total = hashlib.sha256()
    _feed(total.update, values)
    return total.digest()


def _feed(update: Callable[[bytes], None], value: object) -> None:
    if isinstance(value, bytes):
        update(b"b%d:" % len(value))
        update(value)
    elif isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
        update(b"s%d:" % len(raw) + raw)
    elif value is None or isinstance(value, (bool, int, float)):
        update(f"{type(value).__name__}:{value!r};".encode())
    elif isinstance(value, (tuple, list)):
        update(b"%s%d:" % (b"t" if isinstance(value, tuple) else b"l", len(value)))
        for item in value:
            _feed(update, item)
    elif isinstance(value, Mapping):
        update(b"m%d:" % len(value))
        for pair in value.items():
            _feed(update, pair)
    elif dataclasses.is_dataclass(value):
        update(f"d{type(value).__qualname__}:".encode())
        for field in dataclasses.fields(value):
            _feed(update, getattr(value, field.name))
    else:
        raise TypeError(f"a {type(value).__name__} has no digest")


def added() -> Entries:
    """What this process has remembered."""
    return _store.added() if _store is not None else {}


def add(entries: Entries) -> None:
    """Remember what another process has."""
    if _store is not None:
        for (kind, key), data in entries.items():
            _store.put(kind, key, data)


class Shelf(MutableMapping[K, V]):
    """The results of one kind in a store, as a mapping.

    A result is read when it is asked for. Iteration gives those that were used; deleting one does nothing.
    """

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind
        self._used: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key not in self._used:
            data = self._store.get(self._kind, digest(key))
            if data is None:
                raise KeyError(key)
            self._used[key] = pickle.loads(data)
        return self._used[key]

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self._used or self._used[key] is not value:
            self._used[key] = value
            self._store.put(self._kind, digest(key), pickle.dumps(value, pickle.HIGHEST_PROTOCOL))

    def __delitem__(self, key: K) -> None:
        pass

    def __bool__(self) -> bool:
        return True  # the store may hold results that were not read yet

    def __iter__(self) -> Iterator[K]:
        return iter(self._used)

    def __len__(self) -> int:
        return len(self._used)
