"""The statements of a manifest that upstream can break: their words, and the files that they apply to.

Also what several modules of a lift do with texts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from builder.manifest.documents import is_part
from builder.manifest.model import Manifest, Root
from builder.manifest.statements import (
    BASE,
    Absent,
    AnchoredEdit,
    Edit,
    Fact,
    Option,
    Patch,
    Rule,
    Statement,
    TomlEdit,
    WholeFile,
    WordException,
    stated,
)
from builder.overlay.locate import resolve


def statements(manifest: Manifest) -> Iterator[Statement]:
    """All rules, edits, overlays, facts, absent names, roots and exceptions to words."""
    return (one for one in stated(manifest) if words(one))


def batch_of(one: Statement) -> str:
    """The batch of a statement, that of its part where it holds none itself."""
    own, file = getattr(one, "batch", None), one.mark.file
    return str(own or (file.split("/")[1] if is_part(file) else BASE))


def words(one: Statement) -> str:
    """What a statement does, in the manifest's own words, on one line; empty for what no upstream breaks."""
    name = one.subject
    match one:
        case Rule():
            return f"{one.verdict}: {name}"
        case Edit():
            return f"{one.kind}{f' `{shorten(one.match)}` in' if one.match else ''} {name}"
        case WholeFile():
            return f"file {name} from {one.overlay}"
        case Patch():
            return f"patch {name}"
        case TomlEdit():
            return f"{one.op} {one.key}{f' {one.value}' if isinstance(one.value, str) else ''} in {name}"
        case AnchoredEdit():
            return f"{one.kind} `{shorten(one.anchor)}` in {name}"
        case Fact():
            return f"{one.kind.replace('-', ' ')} {name}"
        case Option():
            return f"absent values of {', '.join(one.names)}"
        case Absent():
            return f"absent {one.kind} {name}"
        case Root():
            return f"root {name}"
        case WordException():
            return f"exception {name}{f' with `{shorten(one.text)}`' if one.text else ''}"
    return ""


def file_of(one: Statement, packages: Mapping[str, str], files: Mapping[str, object]) -> str | None:
    """The upstream file that a statement applies to; None if it applies to many."""
    match one:
        case WholeFile() | TomlEdit() | AnchoredEdit():
            return one.subject
        case Edit() | Absent() | Fact(kind="predicate" | "default"):
            target = resolve(one.subject, packages, files)
            return target.file if target else None
    return None


def most_common(batches: Iterable[str]) -> str:
    """The batch that occurs most, the first by name of equals."""
    return min(Counter(batches).items(), key=lambda item: (-item[1], item[0]))[0]


def common_start(texts: Iterable[str]) -> str:
    """What all texts begin with."""
    letters = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False))
    return "".join(column[0] for column in letters)


def shorten(text: str, width: int = 70) -> str:
    """A text on one line, cut at a width."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
