"""The examples of `explain` are true: what is called wrong gives the error, in place of what is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_world import World, small_world

from builder.cli import options
from builder.cli.examples import EXAMPLES
from builder.errors import CODES, BuildError
from builder.manifest.load import load
from builder.pipeline.cut import cut
from builder.pipeline.verify import verify
from builder.upstream.model import snapshot


@pytest.fixture
def world(tmp_path: Path) -> World:
    return small_world(tmp_path)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_wrong_line_gives_the_error_that_it_is_an_example_of(world: World, code: str) -> None:
    assert code in CODES
    world.change(EXAMPLES[code].right, EXAMPLES[code].wrong)
    with pytest.raises(BuildError) as caught:
        manifest = load(world.manifest)
        asked = options.Request(manifest, (), "seed", world.repository.path, world.home / "cache", True)
        verify(cut(snapshot(options.resolve(asked, quiet=True)), manifest), manifest)
    assert code in {problem.code for problem in caught.value.problems}
