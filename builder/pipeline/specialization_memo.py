"""Specializations of earlier runs, by a digest of all that they depend on.

A change of a comment, of a reason or of a guarantee changes none of it, and the whole specialization is
recalled. After any other change `builder/specialize/fold_cache.py` still knows most files.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from builder.errors import Mark
from builder.specialize.results import Specialized

#: digest -> a pickled result
Specializations = MutableMapping[str, bytes]


def digest_of(*parts: Any) -> str:
    """A digest of values; where the manifest states something does not count, only what it states."""
    return hashlib.sha256(repr(_plain(parts)).encode("utf-8", "surrogateescape")).hexdigest()


def recall_or_run(key: str, known: Specializations, run: Callable[[], Specialized]) -> Specialized:
    """The specialization remembered under a digest, or a new one, which is remembered from now on.

    One with mismatches is not remembered.
    """
    data = known.pop(key, None)
    if data is not None:
        known[key] = data  # the latest used are kept longest
        recalled: Specialized = pickle.loads(data)
        return recalled
    specialized = run()
    if not specialized.mismatches:
        known[key] = pickle.dumps(specialized, pickle.HIGHEST_PROTOCOL)
    return specialized


def _plain(value: Any) -> Any:
    """A value of which equal ones have the same `repr`."""
    if isinstance(value, Mark):
        return None
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [type(value).__name__, *((f.name, _plain(getattr(value, f.name))) for f in fields)]
    if isinstance(value, Mapping):
        return sorted((repr(key), _plain(item)) for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
