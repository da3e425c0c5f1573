"""Pins of the real upstream, from a mirror (SGLANG_MIRROR) or, for a release, from the package index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builder.errors import BuildError, Mark
from builder.manifest.model import Manifest, Pin, Project
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, Upstream
from builder.upstream.resolve import resolve

ROOT = Path(__file__).parents[2]
MIRROR = os.environ.get("SGLANG_MIRROR")
NEEDS_MIRROR = pytest.mark.skipif(
    not MIRROR, reason="SGLANG_MIRROR is not set: only a release can be had without upstream's history"
)
PIN_PARAMS = ["release", pytest.param("seed", marks=NEEDS_MIRROR)]
SEED = "f9fc50acd63192d2e3d02a080a88aff57204cd89"
_HERE = Mark("manifest.yaml")
_SHA256 = "ecc0b88ac81272e0783c0fa3088e4205075dd8dc2f20c87ae4c73284dfa540a0"
_PINS = {
    "seed": Pin("seed", _HERE, commit=SEED),
    "release": Pin("release", _HERE, sdist="0.5.8", sha256=_SHA256),
}


def upstream(pin: str, manifest: Manifest, offline: bool = False) -> Upstream:
    mirror = Path(MIRROR) if MIRROR else None
    return resolve(pin, Sources.of(manifest, mirror, default_cache(), offline))


def stated_sources(mirror: str | None = None, offline: bool = False) -> Sources:
    """Where the seed and the release are to be had, whatever the manifest says."""
    remote, project = "https://github.com/sgl-project/sglang.git", Project("sglang", "python")
    return Sources(Path(mirror) if mirror else None, default_cache(), remote, offline, _PINS, project=project)


def had(pin: str, sources: Sources) -> Upstream:
    """The upstream; skips where it is neither in the cache nor to be had."""
    try:
        return resolve(pin, sources)
    except BuildError as error:
        if error.problems[0].code == "U001":
            pytest.skip(f"this upstream cannot be had here: {error}")
        raise
