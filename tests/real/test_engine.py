"""The specializer alone on upstream's later points: whatever the manifest says of their scope, every edit
is what the same edit on the syntax tree gives."""

from __future__ import annotations

import ast

import pins
import pytest
from pins import NEEDS_MIRROR, ROOT, SEED

from builder.manifest.load import load_default
from builder.pipeline.prune import python_modules
from builder.specialize.evaluating.facts import Facts
from builder.specialize.fixpoint import specialize
from builder.specialize.program import Policy, Program
from builder.upstream.model import snapshot

POINTS = {
    "seed": SEED,
    "pr17353": "3992a023e65ed68cb203fc90164a6962378f187d",
    "0.5.8": "f2ae066a6",
    "0.5.9": "c36a10aab",
    "0.5.10": "e9d92b0e3",
    "june": "65d3b47f6",
}


@NEEDS_MIRROR
@pytest.mark.parametrize("name", POINTS)
def test_every_edit_equals_the_oracle_at_a_later_point(name: str) -> None:
    manifest = load_default(ROOT / "manifest.yaml")
    upstream = pins.upstream(POINTS[name], manifest, offline=True)
    modules = python_modules(upstream.tree, manifest.packages)
    here = snapshot(upstream, [p for p in modules if "/multimodal_gen/" not in p and "/test/" not in p])
    files = {path: here[path] for path in here}
    names = {path: modules[path] for path in here}
    found = specialize(Program(files, files, names), Policy(Facts.of(manifest), lambda path: True))
    assert found.mismatches == []
    assert len(found.files) > 100
    for path, data in found.files.items():
        ast.parse(data, filename=path)
