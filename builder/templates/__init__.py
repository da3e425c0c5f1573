"""Texts that the builder writes, as templates beside this module.

In one, `{name}` stands for a value. Lines between `%% NAME` and `%%` are a block: a line of it with `{0}` or
`{1}` stands once for each row of the block, and a block without rows is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

#: What a block has that is there or not.
THERE, ABSENT = ((),), ()


def filled(
    template: str, blocks: Mapping[str, Iterable[Sequence[object]]] = MappingProxyType({}), **values: object
) -> str:
    """A template with the rows of its blocks, and with its values."""
    form = Path(__file__).with_name(template).read_text("utf-8")
    pieces = re.split(r"(?m)^%% ?(\w*)\n", form)
    text = ""
    for block, piece in zip(("", *pieces[1::2]), pieces[::2], strict=True):
        rows = list(blocks[block]) if block else [()]
        for line in piece.splitlines(keepends=True) if rows else ():
            repeated = rows if re.search(r"\{\d", line) else [()]
            text += "".join(line.format(*row, **values) for row in repeated)
    return text
