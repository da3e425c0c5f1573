"""`docs/scope.md`: what the distribution contains and what it does not, a row an item, with evidence.

Made from the manifest and the figures that `manifest.lock` has of each proven pin: no upstream is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from builder.emit.lock import Lock
from builder.errors import CODES
from builder.manifest.model import BASE, Batch, Item, Manifest
from builder.manifest.scope import statements

_HEAD = """\
# The scope, row by row

<!-- Made by `python -m builder scope` from manifest.yaml and manifest.lock: edit the manifest, then `make docs`. -->

What {name} contains, what it leaves out, and what proves each. A rule is a batch of `manifest.yaml`, which can be
switched off by its name (`--without`), or a statement of it in words. Evidence is what a build of the pin did, what a
gate asks of every build (the codes are in [errors.md](errors.md)), and the tests. `python -m builder why PATH` gives the
same for one file, `REMOVED.md` beside an output for all files of a batch.
"""
_TITLES = {
    "decisions": "Decisions",
    "removed": "Removed beside the batches",
    "kept": "Kept, and must work",
    "guarantees": "Guarantees",
}
_ROWS = ("item", "decision", "rules", "evidence")


def scope_page(manifest: Manifest, lock: Lock) -> str:
    """The page. A batch that no proven pin has yet shows no figures."""
    page = _Page(manifest, lock)
    parts = [_HEAD.format(name=manifest.name), *page.proven(), *page.section("decisions")]
    parts += ["## Batches\n", _table(_ROWS, page.batches()), *page.section("removed")]
    parts += [*page.section("kept"), *page.section("guarantees"), *page.texts()]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


class _Page:
    def __init__(self, manifest: Manifest, lock: Lock) -> None:
        self.manifest = manifest
        self.figures: dict[str, Mapping[str, Any]] = {
            pin: lock[pin].figures for pin in manifest.upstream.pins if pin in lock and lock[pin].figures
        }
        self.statements = statements(manifest)

    def proven(self) -> Iterator[str]:
        """The whole, pin by pin."""
        yield "## Proven pins\n"
        heads = ("pin", "lines of code", "files", "wheel", "flags", "routes", "variables", "registry entries")
        yield _table(heads, [self._pin(pin) for pin in self.figures])
        yield "Both sides are counted alike; for the surface: upstream's, and what is left.\n"

    def _pin(self, pin: str) -> Sequence[str]:
        found = self.figures[pin]
        lines, surface, wheel = found["lines"], found["surface"], found["wheel"]
        files = {verdict: sum(b[verdict] for b in found["batches"].values()) for verdict in ("removed", "edited", "added")}
        share = f" ({100 * lines['after'] / lines['before']:.1f}%)" if lines["before"] else ""
        return (
            pin,
            f"{lines['before']:,} to {lines['after']:,}{share}",
            ", ".join(f"{number:,} {verdict}" for verdict, number in files.items()),
            f"{wheel['files']:,} files, {wheel['bytes']:,} bytes" if wheel else "none",
            *(_sides(surface, kind) for kind in ("flag", "route", "environment", "registry")),
        )

    def section(self, name: str) -> Iterator[str]:
        items = [item for item in self.manifest.scope if item.section == name]
        if items:
            yield f"## {_TITLES[name]}\n"
            yield _table(_ROWS, [self.row(item) for item in items])

    def row(self, item: Item) -> Sequence[str]:
        rules = [_batch(b) for b in item.batches]
        rules += [self._statement(name) for name in item.statements]
        return f"**{item.id}** {item.what}", item.decision, _lines(rules), _lines(self.evidence(item))

    def _statement(self, name: str) -> str:
        batch, words = self.statements[name]
        return words if batch == BASE else f"{_batch(batch)}: {words}"

    def evidence(self, item: Item) -> Iterator[str]:
        yield from self._took(item.batches)
        if item.keeps:
            named = ", ".join(f"`{k.name}`" + (" (where upstream has it)" if k.optional else "") for k in item.keeps)
            yield f"G007, there or no build: {named}"
        for pin, most in item.lines.items():
            lines = self.figures.get(pin, {}).get("lines", {}).get("after")
            proven = f"{pin} has {lines:,}" if lines is not None else f"{pin} is not proven"
            yield f"G007, at most {most:,} lines of code: {proven}"
        yield from (f"{code}, in every build: no case of \u201c{CODES[code][1].rstrip('.')}\u201d" for code in item.gates)
        yield from (_test(test) for test in item.tests)

    def batches(self) -> Iterator[Sequence[str]]:
        for batch in self.manifest.batches:
            if batch.id != BASE:
                absent = [t for t in self.manifest.guarantees.absent_text if batch.id in t.batches]
                said = [*self._took((batch.id,)), *(f"G007, nowhere: {_code(t.pattern)}" for t in absent)]
                also = [f"{i.id}" for i in self.manifest.scope if batch.id in i.batches]
                more = f" ({', '.join(also)})" if also else ""
                yield f"<a id=\"batch-{batch.id}\"></a>{batch.id}{more}", batch.why, _states(batch), _lines(said)

    def _took(self, ids: Iterable[str]) -> Iterator[str]:
        """What batches did to each proven pin; an edited file counts for the batch of most of its lines."""
        ids = list(ids)
        for pin, found in self.figures.items():
            known = [found["batches"][name] for name in ids if name in found["batches"]]
            if not known:
                continue
            sums = {key: sum(one[key] for one in known) for key in ("removed", "edited", "added", "lines")}
            files = [f"{sums[key]:,} {key}" for key in ("removed", "edited", "added") if sums[key]]
            if files:
                yield f"{pin}: files {', '.join(files)}; {sums['lines']:,} lines less"

    def texts(self) -> Iterator[str]:
        """The guarantees of absence with their exceptions."""
        guarantees = self.manifest.guarantees
        if not guarantees.absent_text:
            return
        everywhere = set.intersection(*({e.path for e in t.exceptions} for t in guarantees.absent_text))
        rows = []
        for text in guarantees.absent_text:
            excuses = [
                f"`{e.path}`{f' (`{e.text}`)' if e.text else ''}: {e.why}" for e in text.exceptions if e.path not in everywhere
            ]
            rows.append((_code(text.pattern), _lines(map(_code, text.paths)), _lines(map(_batch, text.batches)), _lines(excuses)))
        yield "## What is searched for in every build\n"
        yield _table(("pattern", "in", "made to hold by", "exceptions"), rows)
        if everywhere:
            yield f"Nowhere searched: {', '.join(f'`{path}`' for path in sorted(everywhere))}.\n"


def _states(batch: Batch) -> str:
    """How many statements of which kind a batch makes."""
    kinds = {
        "path rules": len(batch.rules),
        "facts": len(batch.facts) + sum(max(1, len(o.values)) for o in batch.options),
        "absent names": len(batch.absent),
        "edits": len(batch.edits) + len(batch.toml) + len(batch.anchored) + len(batch.patches),
        "files of ours": len(batch.files),
    }
    return _lines(f"{number:,} {kind}" for kind, number in kinds.items() if number)


def _sides(surface: Mapping[str, Mapping[str, int]], kind: str) -> str:
    found = surface.get(kind, {"before": 0, "after": 0})
    return f"{found['before']:,} to {found['after']:,}"


def _batch(name: str) -> str:
    return f"[{name}](#batch-{name})"


def _test(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{path}](../{path})" + (f": {name.removeprefix('test_').replace('_', ' ')}" if name else "")


def _code(text: str) -> str:
    """Text as code; two back quotes where it has one."""
    marks = "``" if "`" in text else "`"
    return f"{marks}{text}{marks}".replace("\n", "\\n")


def _lines(parts: Iterable[str]) -> str:
    return "<br>".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|').strip() for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
