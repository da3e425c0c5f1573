"""The statements of a manifest that upstream can break: their names, and the files that they apply to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
        parts: tuple[tuple[Stated, ...], ...] = (
            batch.rules, batch.facts, batch.options, batch.absent, batch.edits,
            batch.files, batch.patches, batch.toml, batch.anchored,
        )  # fmt: skip
        for stated in (item for part in parts for item in part):
            yield Statement(stated, batch.id, stated.mark, words(stated), stated.optional)


def words(stated: Stated) -> str:
    """What a statement does, in the manifest's own words, on one line."""
    if isinstance(stated, Rule):
        return f"{stated.verdict}: {stated.pattern}"
    if isinstance(stated, Edit):
        what = f" `{_line(stated.match)}` in" if stated.match else ""
        return f"{stated.kind}{what} {stated.target}"
    if isinstance(stated, WholeFile):
        return f"file {stated.path} from {stated.overlay}"
    if isinstance(stated, Patch):
        return f"patch {stated.overlay}"
    if isinstance(stated, TomlEdit):
        value = f" {stated.value}" if isinstance(stated.value, str) else ""
        return f"{stated.op} {stated.key}{value} in {stated.file}"
    if isinstance(stated, AnchoredEdit):
        return f"{stated.kind} `{_line(stated.anchor)}` in {stated.file}"
    if isinstance(stated, Fact):
        return f"{stated.kind.replace('-', ' ')} {stated.name}"
    if isinstance(stated, Option):
        return f"absent values of {', '.join(stated.names)}"
    return f"absent {stated.kind} {stated.name}"


def file_of(stated: Stated, packages: Mapping[str, str], files: Mapping[str, object]) -> str | None:
    """The upstream file that a statement applies to; None if it applies to many."""
    if isinstance(stated, Edit):
        target = resolve(stated.target, packages, files)
        return target.file if target else None
    if isinstance(stated, WholeFile):
        return stated.path
    if isinstance(stated, (TomlEdit, AnchoredEdit)):
        return stated.file
    if isinstance(stated, Fact) and stated.kind in ("predicate", "default"):
        target = resolve(stated.name, packages, files)
        return target.file if target else None
    if isinstance(stated, Absent):
        target = resolve(stated.name, packages, files)
        return target.file if target else None
    return None


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:69]}…"
