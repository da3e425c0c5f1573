"""A finding about the output is placed where a person sees it: upstream, our overlay, or the output."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_worlds import snapshot
from small_files import OVERLAYS
from small_world import World, codes, place

from builder.errors import Mark, Problem
from builder.manifest.load import load
from builder.manifest.model import Manifest
from builder.overlay.record import Record
from builder.pipeline.verify import true_places
from builder.report import render

PATH = "python/acme/server.py"
OURS = "python/acme/parser.py"


@pytest.fixture
def manifest(world: World) -> Manifest:
    return load(world.manifest)


def placed(
    manifest: Manifest, line: int, before: bytes, after: bytes, path: str = PATH, code: str = "G002"
) -> Problem:
    problem = Problem(code, f"{path}:{line}: no module named x", upstream=Mark(path, line))
    old = snapshot({path: before} if before else {})
    return true_places([problem], old, snapshot({path: after}), manifest)[0]


def test_a_line_that_upstream_has_too_gets_the_number_it_has_there(manifest: Manifest) -> None:
    found = placed(manifest, 2, b"a\ngone\ngone too\nimport x\nb\n", b"a\nimport x\nb\n")
    assert (found.upstream, found.output) == (Mark(PATH, 4), None)
    assert found.message == f"{PATH}:4: no module named x"


def test_a_line_that_only_the_output_has_is_shown_as_the_outputs(manifest: Manifest) -> None:
    found = placed(manifest, 2, b"a\nb\n", b"a\nimport x\nb\n")
    assert (found.upstream, found.output) == (Mark(PATH), Mark(PATH, 2))
    assert f"::: output {PATH}:2, a line that upstream does not have" in render(found, {})


def test_a_file_that_only_the_output_has_is_never_called_upstreams(manifest: Manifest) -> None:
    found = placed(manifest, 1, b"", b"import x\n", "python/acme/new.py")
    assert (found.upstream, found.output) == (None, Mark("python/acme/new.py", 1))


def test_a_finding_in_our_own_file_names_the_overlay_and_its_statement(manifest: Manifest) -> None:
    ours = OVERLAYS["overlays/parser/parser.py"]
    found = placed(manifest, 5, b"old\n", ours, OURS)
    assert (found.upstream, found.overlay) == (None, Mark("overlays/parser/parser.py", 5))
    assert str(found.mark) == place("{path: python/acme/parser.py")
    assert found.message.startswith("overlays/parser/parser.py:5: ")
    assert "::: overlay overlays/parser/parser.py:5" in render(found, {})


def test_a_line_that_the_formatter_laid_out_is_the_overlays(manifest: Manifest) -> None:
    mark, overlay = next(
        (edit.mark, edit.by) for b in manifest.batches for edit in b.edits if edit.kind == "body" and edit.by
    )
    written = replace(manifest, overlays={**manifest.overlays, overlay: b"first()\nimport x;\n"})
    problem = Problem("G002", f"{PATH}:2: no module named x", upstream=Mark(PATH, 2))
    record = Record(mark, "one", "because", "body", PATH, 1, None, None)
    before, after = snapshot({PATH: b"a\nb\n"}), snapshot({PATH: b"a\nimport x\nb\n"})
    (found,) = true_places([problem], before, after, written, [record])
    assert (found.mark, found.overlay) == (mark, Mark(overlay, 2))


def test_places_of_gates_that_read_upstream_stay(manifest: Manifest) -> None:
    found = placed(manifest, 2, b"a\ngone\nb\n", b"a\nb\n", code="G005")
    assert (found.upstream, found.message) == (Mark(PATH, 2), f"{PATH}:2: no module named x")


def test_every_place_of_one_cause_is_moved(manifest: Manifest) -> None:
    other = Problem("G004", f"{PATH}:1: y", upstream=Mark(PATH, 1))
    problem = Problem("G004", f"{PATH}:2: x", upstream=Mark(PATH, 2), also=(other,))
    before, after = snapshot({PATH: b"gone\na\nb\n"}), snapshot({PATH: b"a\nb\n"})
    (found,) = true_places([problem], before, after, manifest)
    assert (found.upstream, found.also[0].upstream) == (Mark(PATH, 3), Mark(PATH, 2))


def test_a_build_keeps_the_files_of_the_output_that_its_findings_are_about(world: World) -> None:
    world.change(
        '{replace: "sys.argv[1:]", by: "checked(sys.argv[1:])", in: acme.launch}',
        '{replace: "sys.argv[1:]", by: "checked(sys.argv[1:], cheked)", in: acme.launch}',
    )
    done = world.run("dist")
    assert (done.returncode, codes(done.stderr)) == (1, ["G003"])
    assert "a line that upstream does not have" in done.stderr
    assert place('{replace: "sys.argv[1:]"') in done.stderr  # the edit that wrote the line
    (kept,) = (world.home.parent / "cache/rejected").rglob("launch.py")
    assert b"cheked)" in kept.read_bytes() and str(kept.parents[2]) in done.stderr
