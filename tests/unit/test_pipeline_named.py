"""Absent symbols by pattern: each stands for the definitions of upstream that it matches."""

from __future__ import annotations

from manifest_text import manifest

from builder.graph.modules import summarise
from builder.graph.resolve import Index
from builder.pipeline.expand import expand_patterns
from builder.pipeline.ranges import mistakes

PLATFORMS = b"""
class Env:
    NPU_FAST = 1
    USE_NPU = 2
    USE_GPU = 3


class NPUMethod:
    def run(self):
        self.npu = 1
"""
BATCH = """\
batches:
  - id: npu
    why: No NPU.
    absent:
      symbols: [%s]
"""


def index() -> Index:
    paths = {"pkg.envs": "python/pkg/envs.py", "pkg.deep.er": "python/pkg/deep/er.py"}
    return Index({path: summarise(PLATFORMS, path, module) for module, path in paths.items()}, ["pkg"])


def names(symbols: str) -> list[str]:
    found, problems = expand_patterns(manifest(BATCH % symbols), index())
    assert not problems
    return [a.name for b in found.batches for a in b.absent]


def test_one_star_stays_within_a_name() -> None:
    assert names("pkg.envs.Env.*NPU*") == ["pkg.envs.Env.NPU_FAST", "pkg.envs.Env.USE_NPU"]
    assert names("pkg.*.NPU*") == ["pkg.envs.NPUMethod"]


def test_two_stars_go_over_dots() -> None:
    assert names('"pkg.**.NPU*"') == ["pkg.deep.er.Env.NPU_FAST", "pkg.deep.er.NPUMethod",
                                      "pkg.envs.Env.NPU_FAST", "pkg.envs.NPUMethod"]  # fmt: skip


def test_a_name_without_a_star_is_taken_as_it_is_and_once() -> None:
    assert names('pkg.none.Here, pkg.envs.NPU*, "pkg.envs.NPU**"') == [
        "pkg.none.Here", "pkg.envs.NPUMethod", "pkg.envs.NPUMethod.run"
    ]  # fmt: skip


def test_a_pattern_that_matches_nothing_is_told_unless_it_says_why() -> None:
    _, problems = expand_patterns(manifest(BATCH % "pkg.*.TPU*"), index())
    assert [(p.code, "pkg.*.TPU*" in p.message) for p in problems] == [("R009", True)]
    optional = "{name: pkg.*.TPU*, optional: an example}"
    asked = manifest(BATCH % optional)
    assert mistakes(expand_patterns(asked, index())[1], asked) == []
