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
from collections.abc import Iterable, Iterator

from builder.emit.figures import EXTENSIONS, extension
from builder.emit.ledger import Row
from builder.graph.names import module_of
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.names import holder
from builder.pipeline.architectures import registered
from builder.select.families import Families, words_of

_WORD = re.compile(r"\w+")


def foreign(context: Context, rows: Iterable[Row]) -> Iterator[str]:
    """Yield a Markdown table of every family that left and of which a file of code stays, the one with most
    lines first, and of their sum.

    The columns: upstream's files of code that have the name of the family, their lines, and those that stay;
    the largest file that stays, and the file that needs it on the shortest way from a root.
    """
    names = families(context)
    by_family: dict[str, list[Row]] = {}
    for row in rows:
        if extension(row.path) in EXTENSIONS and (family := _family(row.path, names)):
            by_family.setdefault(family, []).append(row)
    counted: list[tuple[str, list[int], str, str]] = []
    for family, every in by_family.items():
        if staying := [row for row in every if row.verdict != "removed"]:
            numbers = [len(every), sum(row.lines_before or 0 for row in every)]
            numbers += [len(staying), sum(row.lines_after or 0 for row in staying)]
            largest = max(staying, key=lambda row: row.lines_after or 0).path
            module = module_of(largest, context.manifest.packages)
            needs = holder(context, module) if module else context.cut.decided.named.get(largest, "")
            counted.append((family, numbers, largest, needs))
    counted.sort(key=lambda one: (-one[1][3], one[0]))
    sums = [sum(column) for column in zip(*(one[1] for one in counted), strict=True)] or [0] * 4
    yield "| family | files | lines | files that stay | lines that stay | largest | needed by |"
    yield "| --- | ---: | ---: | ---: | ---: | --- | --- |"
    for family, numbers, largest, needs in (*counted, ("all", sums, "", "")):
        yield f"| {' | '.join((family, *(f'{number:,}' for number in numbers), largest, needs))} |"


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


def mentions(context: Context) -> Iterator[str]:
    """Yield the comments of the output's Python files that have a word of a family, by path and line: place,
    the batch of the family, and text."""
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
                yield f"{path}:{token.start[0]}: {member.batch}: {token.string}"
