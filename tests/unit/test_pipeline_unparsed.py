"""Python files that do not parse, and links that are named like Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_files import FILES
from small_world import small_world
from test_pipeline_cut import resolved

from builder.errors import BuildError, Problem
from builder.manifest.load import load
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.pipeline.verify import again, compare, verify
from builder.upstream.model import snapshot

NEWER = b"def both(a):\n    from acme.server import Server, report\n\n    match a with:\n        yes\n"


def made(folder: Path, files: dict[str, bytes | tuple[str, bytes]]) -> Cut:
    folder.mkdir(exist_ok=True)
    world = small_world(folder, {**FILES, **files})
    kept = "  - {path: python/acme/newer.py, optional: not in every one}\n"  # nothing imports it
    world.change("  - python/pyproject.toml\n", "  - python/pyproject.toml\n" + kept)
    manifest = load(world.manifest)
    done = cut(snapshot(resolved(world, manifest)), manifest)
    assert compare(done.output.tree, again(done).tree) == []
    verify(done)
    return done


def problems(folder: Path, files: dict[str, bytes | tuple[str, bytes]]) -> tuple[Problem, ...]:
    with pytest.raises(BuildError) as caught:
        made(folder, files)
    return caught.value.problems


def test_a_file_that_upstream_has_so_stays_and_its_words_are_uses(tmp_path: Path) -> None:
    plain = made(tmp_path / "one", {})
    done = made(tmp_path / "two", {"python/acme/newer.py": NEWER})
    assert done.output["python/acme/newer.py"] == NEWER
    assert {p for p in done.output if p not in plain.output} == {"python/acme/newer.py"}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"from acme import platform\nprint(platform.is_alien())", "is_alien"),
        (b"from .grpc import serve_grpc", "acme.grpc"),
        (b"import acme.grpc", "acme.grpc"),
    ],
)
def test_one_of_which_the_manifest_asks_something_is_the_only_problem(
    line: bytes, name: str, tmp_path: Path
) -> None:
    (found,) = problems(tmp_path, {"python/acme/newer.py": NEWER + line + b"\n"})
    assert found.code == "G001"
    assert found.upstream is not None and str(found.upstream) == "python/acme/newer.py:4"
    assert "does not parse with Python" in found.message and f"names `{name}`" in found.message
    assert found.excerpt == "    match a with:"


@pytest.mark.parametrize("data", [b"x = '\0'\n", b"# coding: martian\n", b"x = '\xff'\n"])
def test_text_that_is_no_text_is_treated_likewise(data: bytes, tmp_path: Path) -> None:
    assert made(tmp_path, {"python/acme/newer.py": data}).output["python/acme/newer.py"] == data


def test_an_overlay_that_does_not_parse_is_the_only_problem(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    (world.home / "overlays/parser/parser.py").write_bytes(b"def broken(:\n")
    manifest = load(world.manifest)
    with pytest.raises(BuildError) as caught:
        cut(snapshot(resolved(world, manifest)), manifest)
    assert [p.code for p in caught.value.problems] == ["G001"]
    assert "the overlay overlays/parser/parser.py does not parse" in caught.value.problems[0].message


def test_a_link_that_is_named_like_python_is_not_read(tmp_path: Path) -> None:
    target = b"../is_alien() if =.py"
    done = made(tmp_path, {"python/acme/alias.py": ("120000", target)})
    assert done.output["python/acme/alias.py"] == target
    assert done.output.tree["python/acme/alias.py"].mode == "120000"
