"""The statements of a manifest that upstream can break: their names, and the files that they apply to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.errors import Mark
from builder.manifest.model import Manifest
from builder.manifest.statements import (
    Absent,
    AnchoredEdit,
    Edit,
    Fact,
    Option,
    Patch,
    Rule,
    TomlEdit,
    WholeFile,
)
from builder.overlay.locate import resolve

Stated = Rule | Edit | WholeFile | Patch | TomlEdit | AnchoredEdit | Fact | Option | Absent


@dataclass(frozen=True, slots=True)
class Statement:
    """One rule, edit, overlay, fact or absent name, and its text for messages."""

    stated: Stated
    batch: str
    mark: Mark
    words: str
    optional: str | None


def statements(manifest: Manifest) -> Iterator[Statement]:
    """All statements, in the order of the manifest's parts."""
    for batch in manifest.batches:
        parts: tuple[Stated, ...] = (
            *batch.rules, *batch.facts, *batch.options, *batch.absent, *batch.edits,
            *batch.files, *batch.patches, *batch.toml, *batch.anchored,
        )  # fmt: skip
        yield from (Statement(one, batch.id, one.mark, words(one), one.optional) for one in parts)


def words(stated: Stated) -> str:
    """What a statement does, in the manifest's own words, on one line."""
    name = stated.subject
    if isinstance(stated, Rule):
        return f"{stated.verdict}: {name}"
    if isinstance(stated, Edit):
        what = f" `{_line(stated.match)}` in" if stated.match else ""
        return f"{stated.kind}{what} {name}"
    if isinstance(stated, WholeFile):
        return f"file {name} from {stated.overlay}"
    if isinstance(stated, Patch):
        return f"patch {name}"
    if isinstance(stated, TomlEdit):
        value = f" {stated.value}" if isinstance(stated.value, str) else ""
        return f"{stated.op} {stated.key}{value} in {name}"
    if isinstance(stated, AnchoredEdit):
        return f"{stated.kind} `{_line(stated.anchor)}` in {name}"
    if isinstance(stated, Fact):
        return f"{stated.kind.replace('-', ' ')} {name}"
    if isinstance(stated, Option):
        return f"absent values of {', '.join(stated.names)}"
    return f"absent {stated.kind} {name}"


def file_of(stated: Stated, packages: Mapping[str, str], files: Mapping[str, object]) -> str | None:
    """The upstream file that a statement applies to; None if it applies to many."""
    if isinstance(stated, (WholeFile, TomlEdit, AnchoredEdit)):
        return stated.subject
    in_one_file = isinstance(stated, Fact) and stated.kind in ("predicate", "default")
    if in_one_file or isinstance(stated, (Edit, Absent)):
        target = resolve(stated.subject, packages, files)
        return target.file if target else None
    return None


def most_common(batches: Iterable[str]) -> str:
    """The batch that occurs most, the first by name of equals."""
    return min(Counter(batches).items(), key=lambda item: (-item[1], item[0]))[0]


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:69]}…"
