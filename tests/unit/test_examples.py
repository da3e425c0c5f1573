"""The examples of `explain` are true: what is called wrong gives the error, in place of what is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_world import World, codes, small_world

from builder.cli import options
from builder.cli.examples import COMMAND, EXAMPLES
from builder.errors import CODES, BuildError
from builder.manifest.load import load
from builder.pipeline.cut import cut
from builder.pipeline.ranges import about
from builder.pipeline.verify import verify
from builder.upstream.model import snapshot


@pytest.fixture
def world(tmp_path: Path) -> World:
    return small_world(tmp_path)


@pytest.mark.parametrize("code", [code for code, one in EXAMPLES.items() if one.file != COMMAND])
def test_the_wrong_line_gives_the_error_that_it_is_an_example_of(world: World, code: str) -> None:
    assert code in CODES
    example = EXAMPLES[code]
    file = world.home / example.file
    text = file.read_text("utf-8")
    assert text.count(example.right) == 1
    assert built(world) == set()
    file.write_text(text.replace(example.right, example.wrong), "utf-8")
    assert code in built(world)


@pytest.mark.parametrize("code", [code for code, one in EXAMPLES.items() if one.file == COMMAND])
def test_the_wrong_command_gives_the_error_and_the_right_one_gives_none(world: World, code: str) -> None:
    example = EXAMPLES[code]
    wrong = world.run(*example.wrong.split())
    assert codes(wrong.stderr) == [code] and wrong.returncode == CODES[code][0]
    assert codes(world.run(*example.right.split()).stderr) == []


def built(world: World) -> set[str]:
    """The codes of the problems of a build."""
    try:
        manifest = load(world.manifest)
        asked = options.Request(manifest, (), "seed", world.repository.path, world.home / "cache", True)
        upstream = options.resolve(asked, quiet=True)
        verify(cut(snapshot(upstream), manifest, about=about(upstream, manifest)), manifest)
    except BuildError as error:
        return {problem.code for problem in error.problems}
    return set()
