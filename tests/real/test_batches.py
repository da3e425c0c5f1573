"""Each batch can be switched off, alone or with what it needs off, and in pairs: all gates pass.

A run takes a sample: seven batches and two pairs with a mirror, three batches of the release without one.
SWITCHES=all takes every batch at the seed, the release and June, and twenty pairs at the first two.
"""

from __future__ import annotations

import os
import random
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import pytest

from builder.manifest.load import load
from builder.manifest.model import BASE, Manifest
from builder.manifest.switches import switch_off
from builder.pipeline.given_back import cut_to_fit
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.pipeline.verify import verify
from builder.tree import Snapshot
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, Upstream, snapshot
from builder.upstream.resolve import resolve

ROOT = Path(__file__).parents[2]
MIRROR = os.environ.get("SGLANG_MIRROR")
ALL = os.environ.get("SWITCHES") == "all"
PINS = ("release", "seed", "june")
MANIFEST = load(ROOT / "manifest.yaml")
IDS = [batch.id for batch in MANIFEST.batches if batch.id != BASE]
#: One of each kind of relation: none, a statement of another batch, `needs`, `follows`, files given back.
SAMPLE = {
    "release": ["mamba", "packaging", "fa3-fa4"],
    "seed": ["dual-chunk", "benchmarks"],
    "june": ["multimodal", "deepseek-v4"],
}
#: Pairs of which each batch builds alone, and which did not build together at first.
PAIRS = [("multimodal", "diffusion"), ("rocm", "npu")]


def _cases() -> list[object]:
    alone = [(pin, (name,)) for pin in PINS for name in (IDS if ALL else SAMPLE[pin])]
    every = list(combinations(IDS, 2))
    pairs = [(pin, pair) for pin in PINS[:2] for pair in random.Random(pin).sample(every, 20)] if ALL else []
    pairs += [("seed", pair) for pair in PAIRS] if ALL or MIRROR else []
    return [
        pytest.param(
            pin,
            names,
            id=f"{pin}-{'+'.join(names)}",
            marks=[
                pytest.mark.xdist_group(f"batches-{pin}"),
                pytest.mark.skipif(pin != "release" and not MIRROR, reason="SGLANG_MIRROR is not set"),
            ],
        )
        for pin, names in (*alone, *pairs)
    ]


@lru_cache(maxsize=1)
def upstream(pin: str) -> tuple[Upstream, Snapshot, Recalled]:
    where = Sources(
        Path(MIRROR) if MIRROR else None,
        default_cache(),
        MANIFEST.upstream.repository,
        False,
        MANIFEST.upstream.pins,
    )
    found = resolve(pin, where)
    return found, snapshot(found), Recalled()


@pytest.mark.parametrize(("pin", "names"), _cases())
def test_an_output_without_these_batches_passes_every_gate(pin: str, names: tuple[str, ...]) -> None:
    found, files, recall = upstream(pin)
    asked: Manifest = switch_off(MANIFEST, names, with_needs=True)
    off = [name for name in IDS if name not in {batch.id for batch in asked.batches}]
    assert set(names) <= set(off)
    done = cut_to_fit(files, asked, recall=recall, about=about(found, MANIFEST, off))
    verify(done, asked)
