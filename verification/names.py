"""Arguments of servers, by the names that an upstream has for them.

Which of an argument's names a tree has is asked of the tree: the signature of its ServerArgs, and its parser.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

#: Names that versions have had for one argument. A tree gets the first that it has, the given one before all.
_ALIKE = (
    ("cuda_graph_bs", "cuda_graph_bs_decode"),
    ("disable_piecewise_cuda_graph", "disable_prefill_cuda_graph"),
    ("nsa_prefill_backend", "dsa_prefill_backend"),
    ("nsa_decode_backend", "dsa_decode_backend"),
)
#: They turn off what earlier versions do not have, and are not given to these.
_DISPENSABLE = frozenset(("enforce_disable_flashinfer_allreduce_fusion",))


def named(arguments: Mapping[str, Any], fields: Collection[str]) -> dict[str, Any]:
    """Arguments by the names that a tree has. Raises LookupError for one that it has by none."""
    return {
        _name(name, fields): value
        for name, value in arguments.items()
        if name in fields or name not in _DISPENSABLE
    }


def worded(words: Sequence[str], options: Collection[str]) -> list[str]:
    """Words of a command line likewise; `options` are those of the tree's parser."""
    fields = {_field(option) for option in options}
    return [_option(_name(_field(word), fields)) if word.startswith("--") else word for word in words]


def _name(name: str, known: Collection[str]) -> str:
    names = (name, *(other for group in _ALIKE if name in group for other in group if other != name))
    for each in names:
        if each in known:
            return each
    raise LookupError(f"the tree has no argument {' or '.join(names)}")


def _field(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"
