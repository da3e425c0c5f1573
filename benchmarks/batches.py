"""What switching each batch off gives: the table of docs/scope.md, kept as docs/scope.json.

    SGLANG_MIRROR=/path/to/sglang.git python benchmarks/batches.py seed june [--batch awq] [--pair 20]

Each batch is switched off with what it needs off, and the output goes through every gate; nothing is
written but the figures. `--batch` tries only some and keeps the other figures. `--pair N` tries N pairs that
are chosen at random, always the same ones, and prints what they give.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from builder.emit import figures, switch_figures
from builder.emit.switch_figures import Switched
from builder.errors import BuildError, Problem
from builder.manifest.load import load
from builder.manifest.model import BASE, Manifest
from builder.manifest.switches import off_with, switch_off
from builder.pipeline.given_back import cut_to_fit
from builder.pipeline.lockfile import known
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.pipeline.verify import verify
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, snapshot
from builder.upstream.resolve import resolve

ROOT = Path(__file__).resolve().parents[1]


class Pin:
    """One upstream, cut again and again with other batches off."""

    def __init__(self, name: str, manifest: Manifest) -> None:
        mirror = os.environ.get("SGLANG_MIRROR")
        where = Sources(
            Path(mirror) if mirror else None,
            default_cache(),
            manifest.upstream.repository,
            False,
            manifest.upstream.pins,
        )
        self.manifest = manifest
        self.upstream = resolve(name, where)
        self.files = snapshot(self.upstream)
        self.recall = Recalled()
        self.lines = 0
        proof = known(ROOT).get(name)
        self.lines = int(proof.figures["lines"]["after"]) if proof else self.without(())[0].lines

    def without(self, ids: Sequence[str]) -> tuple[Switched, tuple[Problem, ...]]:
        """What the build gives, against the proven output with all batches, and what stopped it."""
        off = off_with(self.manifest, ids, with_needs=True)
        asked = switch_off(self.manifest, off)
        try:
            said = about(self.upstream, self.manifest, off)
            done = cut_to_fit(self.files, asked, recall=self.recall, about=said)
            verify(done, asked)
        except BuildError as error:
            return Switched(off, 0, Counter(p.code for p in _all(error.problems))), error.problems
        finally:
            gc.collect()
        lines = figures.by_extension(figures.line_counts(done.output))[figures.CODE]
        return Switched(off, lines - self.lines, {}), ()


def _all(problems: Sequence[Problem]) -> list[Problem]:
    return [one for problem in problems for one in (problem, *problem.also)]


def pairs(manifest: Manifest, count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Some of the pairs of batches, always the same for the same batches."""
    every = list(combinations([b.id for b in manifest.batches if b.id != BASE], 2))
    return random.Random(seed).sample(every, min(count, len(every)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pins", nargs="*", default=["seed", "release", "june"])
    parser.add_argument("--batch", action="append", help="only this batch; may be repeated")
    parser.add_argument("--pair", type=int, default=0, metavar="N", help="try N pairs instead")
    parser.add_argument("--out", type=Path, default=ROOT / switch_figures.FILE)
    given = parser.parse_args()
    manifest = load(ROOT / "manifest.yaml")
    broken = 0
    gc.disable()  # as the builder does; it collects between two builds
    for name in given.pins:
        pin = Pin(name, manifest)
        ids = given.batch or [b.id for b in manifest.batches if b.id != BASE]
        tried = pairs(manifest, given.pair) if given.pair else [(one,) for one in ids]
        for asked in tried:
            started = time.monotonic()
            found, problems = pin.without(asked)
            broken += bool(found.codes)
            result = dict(found.codes) or f"{found.lines:+,} lines"
            print(name, "+".join(asked), result, f"({time.monotonic() - started:.0f} s)", flush=True)
            for problem in problems:
                place = problem.upstream or problem.mark
                print(f"  {problem.code} {problem.message} ({place})", flush=True)
            if not given.pair:
                _keep(given.out, name, asked[0], found)
    return 1 if broken else 0


def _keep(path: Path, pin: str, batch: str, found: Switched) -> None:
    """Write one figure beside the others at once: a run takes long, and may be ended."""
    measured = switch_figures.read(path.read_bytes() if path.exists() else b"")
    more = {**measured, pin: {**measured.get(pin, {}), batch: found}}
    path.write_text(json.dumps(switch_figures.record(more), indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
