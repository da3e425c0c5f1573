"""On the real seed, a build that uses the results of earlier builds gives every byte of a cold one."""

from __future__ import annotations

from pathlib import Path

import pins
import pytest
from pins import NEEDS_MIRROR

from builder.cli.cache_file import recalled
from builder.manifest.model import Manifest
from builder.manifest.switches import choose
from builder.pipeline import outcome
from builder.pipeline.build import Build
from builder.pipeline.ranges import about
from builder.upstream.model import Upstream

COMMENT = ("\nname: ", "\n# a comment\nname: ")
RULE = ("[docs/platforms/,", "[docs/platforms/, docs/get_started/,")


def in_default(*edits: tuple[str, str]) -> Manifest:
    return choose(pins.edited(*edits), "default")


def files(manifest: Manifest, upstream: Upstream, cache: Path) -> tuple[str, dict[str, bytes]]:
    """The tree and every file of a build with this cache."""
    with recalled(cache) as recall:
        outcomes = outcome.Outcomes(upstream, manifest, about(upstream, manifest), recall)
        done = outcomes.recall() or outcomes.make()
        output, _ = Build(upstream, manifest).assemble(done)
    return output.tree.tree.id, dict(output.files)


@NEEDS_MIRROR
def test_a_warm_build_of_the_seed_gives_every_byte_of_a_cold_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = in_default()
    upstream = pins.upstream("seed", manifest, offline=True)
    files(manifest, upstream, tmp_path / "warm")

    cold = files(in_default(COMMENT, RULE), upstream, tmp_path / "cold")
    assert files(in_default(RULE), upstream, tmp_path / "warm")[0] == cold[0]
    with monkeypatch.context() as patched:  # the same statements with a comment
        patched.setattr(outcome, "cut", lambda *_, **__: pytest.fail("cut again"))
        assert files(in_default(COMMENT, RULE), upstream, tmp_path / "warm") == cold
