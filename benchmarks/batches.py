"""What other scopes give: the tables of docs/scope.md, kept as docs/scope.json.xz.

    SGLANG_MIRROR=/path/to/sglang.git python benchmarks/batches.py seed june
        [--batch awq] [--pairs 20] [--models qwen3+qwen3_moe]

Each batch is switched off with what it needs off, and the output goes through every gate; nothing is
written but the figures. `--batch` tries only some. `--pairs N` tries N pairs of batches that speak of the
same files, chosen by a digest and so always the same; `--models` keeps more models. The other figures stay.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from builder import json_xz
from builder.emit import figures
from builder.emit.lock import known
from builder.emit.scope_page import FIGURES, read_figures
from builder.errors import BuildError, Problem
from builder.graph.names import locate
from builder.manifest.load import load_default
from builder.manifest.model import Kept, Manifest
from builder.manifest.statements import BASE, stated
from builder.manifest.switches import off_with, switch_off
from builder.pipeline.cut import cut
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.pipeline.verify import verify
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, snapshot
from builder.upstream.resolve import resolve

ROOT = Path(__file__).resolve().parents[1]


#: What one build gave, as docs/scope.json.xz has it, and the problems that stopped it.
Built = tuple[dict[str, Any], tuple[Problem, ...]]


class Pin:
    """One upstream, cut again and again in other scopes."""

    def __init__(self, name: str, manifest: Manifest) -> None:
        mirror = os.environ.get("SGLANG_MIRROR")
        where = Sources.of(manifest, Path(mirror) if mirror else None, default_cache(), False)
        self.manifest = manifest
        self.upstream = resolve(name, where)
        self.files = snapshot(self.upstream)
        self.recall = Recalled()
        self._built: dict[tuple[tuple[str, ...], tuple[str, ...]], Built] = {}
        self.lines = 0
        proof = known(ROOT).get(name)
        self.lines = int(proof.figures["lines"]["after"]) if proof else self.build()[0]["lines"]

    def build(self, without: Iterable[str] = (), models: Iterable[str] = ()) -> Built:
        """What the build gives, against the proven output of the default scope, and what stopped it.

        `without`: batches that are off, with what they need off; `models`: kept beside those of the roots.
        """
        off, models = off_with(self.manifest, without, with_needs=True), tuple(models)
        if (off, models) not in self._built:
            self._built[off, models] = self._build(off, models)
        return self._built[off, models]

    def _build(self, off: tuple[str, ...], models: tuple[str, ...]) -> Built:
        asked = switch_off(self.manifest, off)
        mark = asked.mark("roots", "models", "keep")
        kept = (*asked.roots.kept, *(Kept(model, mark=mark) for model in models))
        asked = replace(asked, roots=replace(asked.roots, kept=kept))
        try:
            said = about(self.upstream, self.manifest, off)
            done = cut(self.files, asked, recall=self.recall, about=said)
            verify(done)
        except BuildError as error:
            codes = Counter(p.code for p in _all(error.problems))
            return {"off": off, "lines": 0, "codes": dict(codes)}, error.problems
        finally:
            gc.collect()
        lines = figures.by_extension(figures.line_counts(done.output))[figures.CODE]
        off = tuple(b.id for b in self.manifest.batches if b.id in off or b.id in done.withdrawn)
        return {"off": off, "lines": lines - self.lines, "codes": {}}, ()

    def pairs(self, count: int) -> list[tuple[str, str]]:
        """Some of the pairs of batches that speak of the same module and go off independently.

        They are those whose digests come first, so that other batches and other pins hardly change them.
        """
        modules: dict[str, set[str]] = {b.id: set() for b in self.manifest.batches if b.id != BASE}
        for one in stated(self.manifest):
            found = locate(one.subject, self.manifest.packages, self.files)
            if found and (batch := getattr(one, "batch", None)) in modules:
                modules[batch].add(found[1])
        together = {name: off_with(self.manifest, [name], with_needs=True) for name in modules}
        every = [
            (a, b)
            for a, b in combinations(modules, 2)
            if modules[a] & modules[b] and a not in together[b] and b not in together[a]
        ]
        return sorted(every, key=lambda pair: hashlib.sha256("+".join(pair).encode()).digest())[:count]


def _all(problems: Sequence[Problem]) -> list[Problem]:
    return [one for problem in problems for one in (problem, *problem.also)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pins", nargs="*", default=["seed", "release", "june"])
    parser.add_argument("--batch", action="append", help="only this batch, or two joined by +")
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="try N pairs of batches")
    parser.add_argument("--models", action="append", help="keep these, joined by +; may be repeated")
    parser.add_argument("--out", type=Path, default=ROOT / FIGURES)
    given = parser.parse_args()
    manifest = load_default(ROOT / "manifest.yaml")
    broken = 0
    gc.disable()  # as the builder does; it collects between two builds
    for name in given.pins:
        pin = Pin(name, manifest)
        tried = [("models", tuple(one.split("+"))) for one in given.models or ()]
        named = [tuple(one.split("+")) for one in given.batch or ()]
        tried += [("pairs" if len(names) > 1 else "batches", names) for names in named]
        tried += [("pairs", pair) for pair in pin.pairs(given.pairs)]
        if not tried:
            tried = [("batches", (batch.id,)) for batch in manifest.batches if batch.id != BASE]
        for kind, asked in tried:
            started = time.process_time()
            found, problems = pin.build(models=asked) if kind == "models" else pin.build(without=asked)
            broken += bool(found["codes"])
            result = found["codes"] or f"{found['lines']:+,} lines"
            print(name, "+".join(asked), result, f"({time.process_time() - started:.0f} s)", flush=True)
            for problem in problems:
                place = problem.upstream or problem.mark
                print(f"  {problem.code} {problem.message} ({place})", flush=True)
            _keep(given.out, kind, name, "+".join(asked), found)
    return 1 if broken else 0


def _keep(path: Path, kind: str, pin: str, name: str, found: dict[str, Any]) -> None:
    """Write one figure beside the others at once: a run takes long, and may be ended."""
    known_figures = read_figures(path.read_bytes() if path.exists() else b"")
    measured = known_figures.get(kind, {})
    more = {**measured, pin: {**measured.get(pin, {}), name: found}}
    json_xz.write(path, {**known_figures, kind: more})


if __name__ == "__main__":
    sys.exit(main())
