"""Each batch can be switched off, alone or with what it needs off, and in pairs: all gates pass.

A run takes a sample: with a mirror some batches at each pin and two pairs, else one batch of the release.
SWITCHES=all takes every batch at the seed, the release and June, and twenty pairs at the first two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

import pytest
from pins import NEEDS_MIRROR, ROOT

from benchmarks.batches import Pin
from builder.manifest.load import load_default
from builder.manifest.statements import BASE

ALL = os.environ.get("SWITCHES") == "all"
MANIFEST = load_default(ROOT / "manifest.yaml")
IDS = [batch.id for batch in MANIFEST.batches if batch.id != BASE]
#: One of each kind of relation: `needs`, `follows`, none, a statement of another batch, files given back.
#: The pairs did not build together at first, and each batch of them did alone.
SAMPLE = {
    "release": [("mamba",)],
    "seed": [("fa3-fa4",), ("dual-chunk",), ("benchmarks",), ("multimodal", "diffusion"), ("rocm", "npu")],
    "june": [("multimodal",), ("deepseek-v4",)],
}
NUMBER_OF_PAIRS = 20


@lru_cache(maxsize=1)
def upstream(pin: str) -> Pin:
    return Pin(pin, MANIFEST)


def _cases() -> Iterator[object]:
    for pin, sample in SAMPLE.items():
        tried = [(name,) for name in IDS] if ALL else sample
        pairs = range(NUMBER_OF_PAIRS) if ALL and pin != "june" else range(0)
        marks = [] if pin == "release" else [NEEDS_MIRROR]
        for names in tried:
            yield pytest.param(pin, names, id=f"{pin}-{'+'.join(names)}", marks=marks)
        for number in pairs:  # which ones they are shows only in upstream's files
            yield pytest.param(pin, number, id=f"{pin}-pair{number}", marks=marks)


@pytest.mark.parametrize(("pin", "names"), list(_cases()))
def test_an_output_without_these_batches_passes_every_gate(pin: str, names: tuple[str, ...] | int) -> None:
    cuts = upstream(pin)
    asked = cuts.pairs(NUMBER_OF_PAIRS)[names] if isinstance(names, int) else names
    found, problems = cuts.build(without=asked)
    assert set(asked) <= set(found["off"])
    assert problems == (), asked


def test_the_pairs_speak_of_the_same_files_and_are_always_the_same() -> None:
    pairs = upstream("release").pairs(NUMBER_OF_PAIRS)
    assert len(set(pairs)) == NUMBER_OF_PAIRS
    assert pairs == Pin("release", MANIFEST).pairs(NUMBER_OF_PAIRS)
    every = upstream("release").pairs(10_000)
    assert ("rocm", "awq") in every and ("xpu-hpu-cpu", "fa3-fa4") not in every  # one needs the other off
