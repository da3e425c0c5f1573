"""`docs/scope.md`: what the distribution contains and what it does not, a row an item, with evidence.

Made from the manifest and the figures that `manifest.lock` has of each proven pin: no upstream is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from builder import json_xz
from builder.emit.lock import Lock
from builder.errors import CODES
from builder.manifest.checks import statements
from builder.manifest.model import DEFAULT_SCOPE, Item, Kept, Manifest
from builder.manifest.statements import BASE, Batch
from builder.manifest.switches import choose
from builder.report import table
from builder.templates import ABSENT, filled

#: What other scopes give, measured by `benchmarks/batches.py`.
FIGURES = "docs/scope.json.xz"
#: Pin -> what was tried, names joined with `+` -> `off`: all batches that were off; `lines`: how many more
#: lines of code than the default scope has; `codes`: the problems that stopped it, with their counts.
Trials = Mapping[str, Mapping[str, Mapping[str, Any]]]


def read_figures(data: bytes) -> Mapping[str, Trials]:
    """Return what was tried by kind: batches that are off alone, pairs of them, and models that are kept
    beside the roots'; nothing for a file that cannot be read."""
    try:
        measured: Mapping[str, Trials] = json_xz.unpacked(data)
    except ValueError:
        return {}
    return measured


def scope_page(
    manifest: Manifest, locks: Mapping[str, Lock], measured: Mapping[str, Trials] = MappingProxyType({})
) -> str:
    """The page. What no proven pin has is shown without figures.

    `locks`: scope -> what is proven of it; `measured`: what other scopes gave (`read_figures`).
    """
    page, trials = _Page(manifest, locks), _Trials(manifest, measured)
    rows: dict[str, list[Sequence[str]]] = {
        **{section: [] for section in ("decisions", "removed", "kept", "guarantees")},
        "pins": [page.pin(pin) for pin in page.figures],
        "scopes": list(_named_scopes(manifest, locks)),
        "batches": list(page.batches()),
        **page.texts(),
    }
    for item in manifest.scope:
        rows[item.section].append(page.row(item))
    blocks: dict[str, Iterable[Sequence[str]]] = {
        name: [[_escaped(cell) for cell in row] for row in some] for name, some in rows.items()
    }
    blocks["pairs"] = [(trials.pairs(),)] if measured.get("pairs") else ABSENT
    blocks["models"] = [(trials.models(),)] if measured.get("models") else ABSENT
    text = filled("scope.md", blocks, name=manifest.name, switches=trials.batches())
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").strip()


def _named_scopes(manifest: Manifest, locks: Mapping[str, Lock]) -> Iterator[Sequence[str]]:
    """What each named scope changes, and where it is proven."""
    for scope in manifest.scopes.values():
        lock = locks.get(scope.name, {})
        changes = [f"without {_batch(batch)}" for batch in scope.without]
        changes += [f"with the decision {_batch(batch)}" for batch in scope.only_here]
        changes += [f"with `models/{model}.py`" for model in scope.models]
        if scope.architectures:
            changes.append(f"kernel wheel for {', '.join(scope.architectures)} only")
        proven = [
            f"{pin}: {lock[pin].figures['lines']['after']:,} lines of code, tree {lock[pin].output_tree[:9]}"
            if pin in lock and lock[pin].figures.get("lines")
            else f"{pin} is not proven"
            for pin in scope.pins
        ]
        yield f"**{scope.name}**", scope.why, _lines(changes), _lines(proven)


class _Page:
    def __init__(self, manifest: Manifest, locks: Mapping[str, Lock]) -> None:
        lock = locks.get(DEFAULT_SCOPE, {})
        self.manifest = manifest
        self.figures: dict[str, Mapping[str, Any]] = {
            pin: lock[pin].figures for pin in manifest.upstream.pins if pin in lock and lock[pin].figures
        }
        # rows show the pins that a limit of lines names, and the default one
        shown = {pin for item in manifest.scope for pin in item.lines} | {manifest.upstream.default}
        self.shown = {pin: figures for pin, figures in self.figures.items() if pin in shown}
        # batch that is off by default -> what it did where a scope has it on: pin and scope, figures
        self.elsewhere: dict[str, dict[str, Mapping[str, Any]]] = {}
        for scope in manifest.scopes.values():
            for pin, proof in locks.get(scope.name, {}).items():
                told = proof.figures.get("batches", {}) if pin in self.shown else {}
                for batch in (name for name in scope.only_here if name in told):
                    self.elsewhere.setdefault(batch, {})[f"{pin}, scope {scope.name}"] = told[batch]
        self.statements = statements(manifest)

    def pin(self, pin: str) -> Sequence[str]:
        record = self.figures[pin]
        lines, surface, wheel = record["lines"], record["surface"], record["wheel"]
        files = {
            verdict: sum(b[verdict] for b in record["batches"].values())
            for verdict in ("removed", "edited", "added")
        }
        share = f" ({100 * lines['after'] / lines['before']:.1f}%)" if lines["before"] else ""
        kinds = ("flag", "route", "environment", "registry")
        counts = [surface.get(kind, {"before": 0, "after": 0}) for kind in kinds]
        return (
            pin,
            f"{lines['before']:,} to {lines['after']:,}{share}",
            ", ".join(f"{number:,} {verdict}" for verdict, number in files.items()),
            f"{wheel['files']:,} files, {wheel['bytes']:,} bytes" if wheel else "none",
            *(f"{one['before']:,} to {one['after']:,}" for one in counts),
            _units(record["units"]),
        )

    def row(self, item: Item) -> Sequence[str]:
        sentences: dict[str, list[str]] = {name: [] for name in item.batches}
        for name in item.statements:
            batch, words = self.statements[name]
            sentences.setdefault(batch, []).append(words)
        rules = [
            ", ".join(words) if batch == BASE else _batch(batch) + (": " if words else "") + ", ".join(words)
            for batch, words in sentences.items()
        ]
        return f"**{item.id}** {item.what}", item.decision, _lines(rules), _lines(self.evidence(item))

    def evidence(self, item: Item) -> Iterator[str]:
        yield from self._took(item.batches)
        if item.keeps:
            named = ", ".join(f"`{k.name}`{_when(k)}" for k in item.keeps)
            yield f"G007, there or no build: {named}"
        for pin, most in item.lines.items():
            lines = self.figures.get(pin, {}).get("lines", {}).get("after")
            proven = f"{pin} has {lines:,}" if lines is not None else f"{pin} is not proven"
            yield f"G007, at most {most:,} lines of code: {proven}"
        for code in item.gates:
            yield f"{code}, in every build: no case of \u201c{CODES[code][1].rstrip('.')}\u201d"
        yield from map(_test, item.tests)

    def batches(self) -> Iterator[Sequence[str]]:
        for batch in self.manifest.batches:
            if batch.id != BASE:
                absent = [t for t in self.manifest.guarantees.absent_text if batch.id in t.batches]
                sentences = [
                    *self._took((batch.id,)),
                    *(f"G007, nowhere: {_code(t.pattern)}" for t in absent),
                ]
                also = [i.id for i in self.manifest.scope if batch.id in i.batches]
                more = f" ({', '.join(also)})" if also else ""
                kind = "" if batch.kind == "feature" else f"<br>{batch.kind}"
                title = f'<a id="batch-{batch.id}"></a>{batch.id}{more}{kind}'
                yield title, batch.why, _states(batch), _lines(sentences)

    def _took(self, ids: Iterable[str]) -> Iterator[str]:
        """What batches did to each proven pin; an edited file counts for the batch of most of its lines."""
        ids = list(ids)
        prefix = "all of these batches at " if len(ids) > 1 else ""
        for pin, record in self.shown.items():
            yield from _sums(
                prefix + pin, [record["batches"][name] for name in ids if name in record["batches"]]
            )
        for where, figures in self.elsewhere.get(ids[0], {}).items() if len(ids) == 1 else ():
            yield from _sums(where, [figures])

    def texts(self) -> dict[str, list[Sequence[str]]]:
        """The guarantees of absence with their exceptions, and what is searched for nothing."""
        guarantees = self.manifest.guarantees
        excused = [{e.path for e in text.exceptions} for text in guarantees.absent_text]
        everywhere = set.intersection(*excused) if excused else set()
        rows: list[Sequence[str]] = []
        for text in guarantees.absent_text:
            excuses = [
                f"`{e.path}`{f' (`{e.text}`)' if e.text else ''}: {e.why}"
                for e in text.exceptions
                if e.path not in everywhere
            ]
            paths, batches = _lines(map(_code, text.paths)), _lines(map(_batch, text.batches))
            rows.append((_code(text.pattern), paths, batches, _lines(excuses)))
        named = ", ".join(f"`{path}`" for path in sorted(everywhere))
        return {"texts": rows, "everywhere": [(named,)] if named else []}


class _Trials:
    """What switching off batches of the default scope gives, and keeping other models."""

    def __init__(self, manifest: Manifest, measured: Mapping[str, Trials]) -> None:
        self.manifest = choose(manifest, DEFAULT_SCOPE)
        self.measured = measured

    def batches(self) -> str:
        """Each batch that is off alone."""
        pins, rows = self._tried("batches")
        body = []
        for batch in self.manifest.batches:
            if batch.id != BASE:
                needs = [name for name, _ in batch.needs]
                takes = [one.id for one in self.manifest.batches if batch.id in dict(one.follows)]
                cells = map(_cell, rows.get(batch.id, [None] * len(pins)))
                body.append((_batch(batch.id), batch.kind, _batches(needs), _batches(takes), *cells))
        return table(("batch", "kind", "needs off", "takes along", *pins), body)

    def pairs(self) -> str:
        """Two that are off together."""
        pins, rows = self._tried("pairs")
        body = []
        for name, builds in rows.items():
            off = {batch for one in builds if one for batch in one["off"]} - set(name.split("+"))
            also = [batch.id for batch in self.manifest.batches if batch.id in off]
            body.append((_batches(name.split("+")), _batches(also), *map(_cell, builds)))
        return table(("pair", "off with it", *pins), body)

    def models(self) -> str:
        """Models that are kept beside the roots'."""
        pins, rows = self._tried("models")
        named = {name: ", ".join(f"`{model}`" for model in name.split("+")) for name in rows}
        body = [(named[name], *(_cell(one, True) for one in builds)) for name, builds in rows.items()]
        return table(("models", *pins), body)

    def _tried(self, kind: str) -> tuple[list[str], dict[str, list[Mapping[str, Any] | None]]]:
        """The pins at which something was tried, and what was tried -> what each of these pins gave."""
        by_pin = self.measured.get(kind, {})
        pins = [pin for pin in self.manifest.upstream.pins if pin in by_pin]
        names = sorted({name for pin in pins for name in by_pin[pin]})
        return pins, {name: [by_pin[pin].get(name) for pin in pins] for name in names}


def _cell(one: Mapping[str, Any] | None, with_off: bool = False) -> str:
    """What came of a build. `with_off`: with the batches that went off because a model stays."""
    if one is None:
        return "not tried"
    if one["codes"]:
        return "does not build: " + ", ".join(f"{code} ({n})" for code, n in sorted(one["codes"].items()))
    off = f", {_batches(one['off'])} off" if with_off and one["off"] else ""
    return (f"builds, {one['lines']:+,} lines" if one["lines"] else "builds, no line more") + off


def _states(batch: Batch) -> str:
    """How many statements of which kind a batch makes."""
    kinds = (
        ("path rule", "path rules", len(batch.rules)),
        ("fact", "facts", len(batch.facts) + sum(max(1, len(o.values)) for o in batch.options)),
        ("absent name", "absent names", len(batch.absent)),
        ("edit", "edits", len(batch.edits) + len(batch.toml) + len(batch.anchored) + len(batch.patches)),
        ("file of ours", "files of ours", len(batch.files)),
    )
    return _lines(f"{number:,} {one if number == 1 else more}" for one, more, number in kinds if number)


def _units(units: Mapping[str, Mapping[str, int]] | None) -> str:
    if units is None:
        return "no native sources"
    return " to ".join(
        f"{one['own'] + one['fetched']:,}" + (f" and {one['patterns']} patterns" if one["patterns"] else "")
        for one in (units["before"], units["after"])
    )


def _batch(name: str) -> str:
    return f"[{name}](#batch-{name})"


def _batches(names: Iterable[str]) -> str:
    return ", ".join(map(_batch, names))


def _test(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{path}](../{path})" + (f": {name.removeprefix('test_').replace('_', ' ')}" if name else "")


def _code(text: str) -> str:
    """Text as code; two back quotes where it has one."""
    marks = "``" if "`" in text else "`"
    return f"{marks}{text}{marks}".replace("\n", "\\n")


def _lines(parts: Iterable[str]) -> str:
    return "<br>".join(parts)


def _when(kept: Kept) -> str:
    """Which upstreams have what must be there, if it is not all."""
    ranges = (("since", kept.span.since), ("until", kept.span.until))
    text = ", ".join(f"{key} {version}" for key, version in ranges if version)
    text = text or ("where upstream has it" if kept.optional else "")
    return f" ({text})" if text else ""


def _sums(where: str, figures: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """What batches did together, in a sentence, if they did anything."""
    sums = {key: sum(one[key] for one in figures) for key in ("removed", "edited", "added", "lines")}
    files = [f"{sums[key]:,} {key}" for key in ("removed", "edited", "added") if sums[key]]
    if files:
        more = "more" if sums["lines"] < 0 else "less"
        yield f"{where}: files {', '.join(files)}; {abs(sums['lines']):,} lines {more}"
