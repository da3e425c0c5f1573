"""Pins of the real upstream, from a mirror (SGLANG_MIRROR) or, for a release, from the package index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from builder.errors import BuildError, Mark
from builder.manifest.documents import SCOPE
from builder.manifest.load import load_default, parse, read_schema
from builder.manifest.model import Manifest, Pin, Project
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, Upstream
from builder.upstream.resolve import resolve

ROOT = Path(__file__).parents[2]
PACKAGES = {"sglang": "python/sglang", "sgl_kernel": "sgl-kernel/python/sgl_kernel"}
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


def edited(*changes: tuple[str, str]) -> Manifest:
    """The manifest, whole, with pieces of the text of its parts replaced by others; each occurs once."""
    texts = dict(load_default(ROOT / "manifest.yaml").texts)
    for old, new in changes:
        (file,) = (file for file, text in texts.items() if old in text)
        assert texts[file].count(old) == 1, old
        texts[file] = texts[file].replace(old, new)
    return of_texts(texts)


def of_texts(texts: Mapping[str, str]) -> Manifest:
    """The manifest, whole, with these texts of its parts."""
    as_it_is = load_default(ROOT / "manifest.yaml")
    parts = {file: text.encode() for file, text in texts.items()}
    data = parts.pop(as_it_is.file)
    files = {**as_it_is.overlays, **parts}
    return parse(data, as_it_is.file, files, read_schema(ROOT), scope=files.pop(SCOPE))


def builder(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the builder in a folder, with success."""
    command = [sys.executable, "-m", "builder", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


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
