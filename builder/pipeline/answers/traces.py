"""Traces of what left: files that have the name of a family of models, and comments that speak of it.

The names of families follow from upstream: the first words of the file of a model that left, as far as its
architectures begin with the same words. A name says less than the code: such a file may serve the models that
stay. A comment leaves with the statement that it stands on; no rule edits the others.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from builder.emit.figures import EXTENSIONS, extension
from builder.emit.ledger import Row
from builder.graph.names import module_of
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.paths import holder
from builder.pipeline.architectures import registered
from builder.select.families import Families, words_of

_WORD = re.compile(r"\w+")


class Foreign(NamedTuple):
    """The files of upstream and of the output that have the name of one family.

    `numbers`: upstream's files of code and their lines, and those that stay. `largest`: the largest file that
    stays; `held_by`: the file that needs it on the shortest way from a root.
    """

    family: str
    numbers: tuple[int, ...]
    largest: str = ""
    held_by: str = ""


def foreign(context: Context, rows: Iterable[Row]) -> list[Foreign]:
    """Every family that left and of which a file of code stays, the one with most lines first."""
    names = families(context)
    by_family: dict[str, list[Row]] = {}
    for row in rows:
        if extension(row.path) in EXTENSIONS and (family := _family(row.path, names)):
            by_family.setdefault(family, []).append(row)
    counted = [_counted(context, family, some) for family, some in by_family.items()]
    return sorted((one for one in counted if one.largest), key=lambda one: (-one.numbers[3], one.family))


def families(context: Context) -> frozenset[tuple[str, ...]]:
    """The names of the families of models that left, as words."""
    cut, manifest = context.cut, context.manifest
    stay = registered(cut.upstream, cut.decided.kept, manifest)
    # the words of what staying models import belong to no family: torch, an embedding
    general = {word for path in stay for name in imported(cut.upstream[path]) for word in words_of(name)}
    kept = [words_of(_stem(path)) for path in stay]
    names = set()
    for path, architectures in registered(cut.upstream, cut.decided.removed, manifest).items():
        words = words_of(_stem(path))
        for length in range(1, len(words) + 1):
            name = (*words[: length - 1], _plain(words[length - 1]))
            if any(_begins(other, name) for other in kept):
                continue
            if any(arch.lower().startswith("".join(name)) for arch in architectures):
                names.add(name)
            break
    return frozenset(name for name in names if not general.issuperset(name))


def table(families: Sequence[Foreign]) -> Iterator[str]:
    """The families as the rows of a Markdown table, with their sum."""
    yield "| family | files | lines | files that stay | lines that stay | largest | needed by |"
    yield "| --- | ---: | ---: | ---: | ---: | --- | --- |"
    columns = zip(*(one.numbers for one in families), strict=True)
    for one in (*families, Foreign("all", tuple(map(sum, columns)) or (0,) * 4)):
        cells = (one.family, *(f"{number:,}" for number in one.numbers), one.largest, one.held_by)
        yield f"| {' | '.join(cells)} |"


def _counted(context: Context, family: str, rows: Sequence[Row]) -> Foreign:
    staying = [row for row in rows if row.verdict != "removed"]
    numbers = [len(rows), sum(row.lines_before or 0 for row in rows)]
    numbers += [len(staying), sum(row.lines_after or 0 for row in staying)]
    largest = max(staying, key=lambda row: row.lines_after or 0).path if staying else ""
    module = module_of(largest, context.manifest.packages)
    needs = holder(context, module) if module else context.cut.decided.named.get(largest, "")
    return Foreign(family, tuple(numbers), largest, needs)


def _family(path: str, names: frozenset[tuple[str, ...]]) -> str | None:
    """The first family that a folder or the file of a path is named after."""
    for part in path.split("/"):
        words = words_of(part.partition(".")[0])
        for at in range(len(words)):
            for end in range(at + 1, len(words) + 1):
                if (name := (*words[at : end - 1], _plain(words[end - 1]))) in names:
                    return "_".join(name)
    return None


def _plain(word: str) -> str:
    """A word without the version at its end: `qwen3` is `qwen`; `v4` stays."""
    plain = word.rstrip("0123456789")
    return plain if len(plain) > 1 else word


def _begins(words: tuple[str, ...], name: tuple[str, ...]) -> bool:
    start = words[: len(name)]
    return (*start[:-1], _plain(start[-1])) == name


def imported(data: bytes) -> Iterator[str]:
    """Yield the names and modules that a Python file imports from outside of its package."""
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
            yield from (alias.name for alias in node.names)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


class Mention(NamedTuple):
    """A comment of the output, and the batch of whose family it has a word."""

    path: str
    line: int
    batch: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.batch}: {self.text}"


def mentions(context: Context) -> Iterator[Mention]:
    """Yield the comments of the output's Python files that have a word of a family, by path and line."""
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
