"""Comments that stay although they speak of what left: one of their words belongs to the family of a batch.

A comment leaves with the statement that it stands on. The others are listed for a reader; no rule edits them.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from builder.pipeline.answers.context import Context
from builder.select.families import Families

_WORD = re.compile(r"\w+")


class Mention(NamedTuple):
    """A comment of the output, and the batch of whose family it has a word."""

    path: str
    line: int
    batch: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.batch}: {self.text}"


def mentions(context: Context) -> Iterator[Mention]:
    """The comments in the output's Python files that have a word of a family, by path and line."""
    families, cut = Families(context.manifest.batches), context.cut
    needles = [needle.encode() for needle in families.needles]
    for path in sorted(cut.output.tree):
        if not path.endswith(".py") or path in cut.opaque:
            continue
        data = cut.output[path]
        if not any(needle in data.lower() for needle in needles):
            continue
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type != tokenize.COMMENT:
                continue
            member = next(filter(None, map(families.member, _WORD.findall(token.string))), None)
            if member is not None:
                yield Mention(path, token.start[0], member.batch, token.string)
