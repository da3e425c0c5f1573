"""`report --mentions`: the comments that speak of what left."""

from __future__ import annotations

from pathlib import Path

from small_files import FILES, MANIFEST
from small_world import commit_files, small_world


def test_a_comment_with_a_word_of_a_family_is_listed_with_the_batch(tmp_path: Path) -> None:
    manifest = MANIFEST.replace("  - id: spare\n", "  - id: spare\n    words: [alien]\n")
    world = small_world(tmp_path, manifest=manifest)
    more = b'ONE = "# alien"  # not so alien\nTWO = 2  # an alienated one\n# IS_ALIEN decides\n'
    path = "python/acme/version.py"
    files = {**FILES, path: b'__version__ = "1.2.3"\n' + more}
    commit_files(world.repository, files, "refs/heads/more")
    lines = world.good("report", "--mentions", "more").stdout.splitlines()
    assert [line for line in lines if line.startswith(path)] == [
        f"{path}:2: spare: # not so alien",
        f"{path}:4: spare: # IS_ALIEN decides",
    ]
