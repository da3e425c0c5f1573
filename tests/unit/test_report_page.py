"""report.html: its values are those of `why`, and its bytes depend on nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from memory_store import MemoryStore
from report_of_small_world import shown_of_small_world
from test_outcome import Step, run

import builder.emit.report_html
from builder.emit.report_html import report_html
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.names import path_answer
from builder.pipeline.answers.readings import answers
from builder.pipeline.build import Build
from builder.pipeline.report_page import split_hunks
from builder.pipeline.run import Recalled

ASSETS = Path(builder.emit.report_html.__file__).parent / "assets"


@pytest.fixture(scope="module")
def shown() -> tuple[Context, dict[str, Any]]:
    """The small world, and what the page shows of it."""
    return shown_of_small_world()


def unpacked(page: bytes) -> Any:
    match = re.search(rb'<script id="data" type="text/plain">([^<]+)</script>', page)
    assert match is not None
    return json.loads(zlib.decompress(base64.b64decode(match[1])))


def stated(data: dict[str, Any], numbers: list[int]) -> list[list[str]]:
    return [list(data["reasons"][number]) for number in numbers]


def text(data: dict[str, Any], number: int) -> str | None:
    return data["texts"][number] if number >= 0 else None


def test_every_path_has_the_state_the_reasons_and_the_way_back_that_why_tells(
    shown: tuple[Context, dict[str, Any]],
) -> None:
    context, data = shown
    assert [row[0] for row in data["files"]] == sorted(context.paths)
    for path, state, *_, reasons, back, _ in data["files"]:
        told = path_answer(context, path)
        assert data["states"][state] == told.state
        assert text(data, back) == told.back
        expected = [[r.batch, r.rule, str(r.mark) if r.mark else ""] for r in told.reasons]
        assert stated(data, reasons) == expected
    assert any(text(data, row[7]) for row in data["files"])


def test_every_module_has_the_way_from_a_root_that_why_tells(shown: tuple[Context, dict[str, Any]]) -> None:
    context, data = shown
    modules = data["ways"]["modules"]
    checked = 0
    for number, (path, state, *_) in enumerate(data["files"]):
        if not path.endswith(".py") or data["states"][state] == "removed":
            continue
        told = path_answer(context, path)
        at = next((n for n, row in enumerate(modules) if row[1] == number), None)
        assert (at is None) == (told.way is None)
        if at is None:
            continue
        assert data["ways"]["starts"][modules[at][2]] == told.start
        steps = []
        while modules[at][3] >= 0:
            steps.insert(0, (modules[modules[at][3]][0], modules[at][0], *modules[at][4:]))
            at = modules[at][3]
        assert steps == [tuple(step.edge) for step in told.way or ()]
        checked += len(steps)
    assert checked > 3


def test_every_thing_of_the_surface_is_told_as_why_tells_it(shown: tuple[Context, dict[str, Any]]) -> None:
    context, data = shown
    assert {row[0] for row in data["surface"]} >= {"environment", "registry"}
    for _, group, name, state, place, headline, reasons, back in data["surface"]:
        same = [a for a in answers(context, name) if a.headline == headline]
        assert same and same[0].state == state and same[0].back == text(data, back), (group, name)
        assert stated(data, reasons) == [[r.batch, r.rule, str(r.mark or "")] for r in same[0].reasons]
        assert place.rpartition(":")[2].isdigit()


def test_every_requirement_of_both_sides_is_a_row(shown: tuple[Context, dict[str, Any]]) -> None:
    data = shown[1]
    for _, extra, name, before, after, state, reasons, _ in data["requirements"]:
        assert (before or after) and (after is None) == (state == "removed"), name
        assert state == "kept" or extra or reasons
    assert len({row[5] for row in data["requirements"]}) > 1


def test_the_hunks_of_an_edited_file_are_its_whole_diff_and_each_has_a_reason(
    shown: tuple[Context, dict[str, Any]],
) -> None:
    context, data = shown
    for number, hunks in data["diffs"]:
        path = data["files"][number][0]
        lines = [line for text, _ in hunks for line in text.splitlines() if line[:1] in "+-"]
        before, after = context.cut.upstream[path].decode(), context.cut.output[path].decode()
        grown = len(after.splitlines()) - len(before.splitlines())
        assert sum(1 if line[0] == "+" else -1 for line in lines) == grown
        assert all(reasons for _, reasons in hunks)
    told = {data["files"][number][0]: hunks for number, hunks in data["diffs"]}
    alien = [r for text, r in told["python/acme/server.py"] if "-        if _is_alien:" in text]
    assert any("is_alien" in data["reasons"][number][1] for number in alien[0])


def test_the_lines_that_a_hunk_changes_are_those_between_its_context() -> None:
    diff = b"@@ -3,7 +3,6 @@ def f\n a\n b\n c\n-d\n e\n f\n g\n@@ -20,0 +20 @@\n+x\n@@ -1 +1 @@\n-a\n+b\n"
    assert [(first, last) for first, last, _ in split_hunks(diff)] == [(6, 7), (21, 22), (1, 3)]


def test_the_page_of_equal_values_has_equal_bytes_and_holds_them_whole(
    shown: tuple[Context, dict[str, Any]],
) -> None:
    _, data = shown
    page = report_html(data)
    assert page == report_html(json.loads(json.dumps(data)))
    assert unpacked(page) == json.loads(json.dumps(data))


def test_a_name_that_is_markup_or_a_mark_of_the_template_stays_text(
    shown: tuple[Context, dict[str, Any]],
) -> None:
    _, data = shown
    page = report_html(data | {"name": "<b>@SCRIPT@</b>"}).decode()
    assert "<h1>&lt;b&gt;@SCRIPT@&lt;/b&gt;</h1>" in page and "<b>@SCRIPT@" not in page
    assert not re.findall(r"@[A-Z0-9]+@", page.replace("@SCRIPT@&lt;", ""))


def test_a_path_that_is_not_utf_8_does_not_break_the_page(shown: tuple[Context, dict[str, Any]]) -> None:
    _, data = shown
    odd = data | {"files": [["odd\udcff", *data["files"][0][1:]], *data["files"][1:]]}
    assert unpacked(report_html(odd))["files"][0][0] == "odd\udcff"


def test_the_page_names_no_address_that_a_browser_would_load(shown: tuple[Context, dict[str, Any]]) -> None:
    page = report_html(shown[1]).decode()
    assert "default-src 'none'" in page
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert "url(http" not in page and "@import" not in page


def test_the_page_is_among_the_files_of_a_build_and_covered_by_its_sums() -> None:
    done, upstream, manifest = run(Step(), Recalled.of(MemoryStore()))
    output, _ = Build(upstream, manifest).assemble(done)
    page = output.files["report.html"]
    assert f"{hashlib.sha256(page).hexdigest()}  report.html\n" in output.files["SHA256SUMS"].decode()
    assert unpacked(page)["build"]["tree"] == output.tree.tree.id


def test_the_vendored_library_is_what_its_source_states() -> None:
    folder = ASSETS / "d3-hierarchy"
    source = json.loads((folder / "SOURCE.json").read_text("utf-8"))
    for name, one in source["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == one["sha256"]
    assert source["version"] in (folder / "d3-hierarchy.min.js").read_text("utf-8").splitlines()[0]
    assert source["licence"] == "ISC" and "with or without fee" in (folder / "LICENSE").read_text("utf-8")
