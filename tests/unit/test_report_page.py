"""report.html: its values are those of `why`, its bytes depend on nothing else, and a browser shows it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, browser, executable
from memory_store import MemoryStore
from test_outcome import Step, run

import builder.emit.report_html
from builder.emit.report_html import report_html
from builder.pipeline import build, tools
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.paths import path_answer
from builder.pipeline.answers.readings import answers
from builder.pipeline.report_page.data import Build, report_data
from builder.pipeline.report_page.files import split_hunks
from builder.pipeline.run import Recalled
from builder.pipeline.uncertain import uncertain

ASSETS = Path(builder.emit.report_html.__file__).parent / "assets"


@pytest.fixture(scope="module")
def shown() -> tuple[Context, dict[str, Any]]:
    """The small world, and what the page shows of it."""
    done, upstream, manifest = run(Step(), Recalled.of(MemoryStore()))
    context = Context.of(done, manifest)
    found = uncertain(done.cut, done.graphs)
    stated = Build(upstream, "acme-1.whl", "1.2.3+small", ())
    return context, report_data(stated, context, done.figures, found, manifest)


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
    output, _ = build.assemble(done, upstream, manifest, (), tools.versions())
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


# -- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened(
    shown: tuple[Context, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    if executable() is None:
        how = "Debian, Ubuntu: apt-get install --no-install-recommends chromium"
        pytest.skip(f"no Chromium is installed ({how})")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "report.html"
    page.write_bytes(report_html(shown[1]))
    with browser(folder) as found:
        found.open(page)
        yield found


def ask(opened: Browser, query: str) -> None:
    opened.run(
        f"(() => {{ const q = document.getElementById('query'); q.value = {json.dumps(query)};"
        " q.dispatchEvent(new Event('input')); q.focus(); })()"
    )


def answer(opened: Browser) -> str:
    return str(opened.run("document.getElementById('answer').innerText"))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_as_wide_as_the_window_and_complains_of_nothing(
    opened: Browser, width: int, dark: bool
) -> None:
    opened.resize(width, dark=dark)
    opened.wait(f"document.querySelector('#treemap svg').viewBox.baseVal.width <= {width}")
    assert opened.run("document.documentElement.scrollWidth") <= width
    ground = opened.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark
    assert opened.run("document.querySelectorAll('#treemap rect').length") > 20
    assert opened.complaints == []


def test_a_search_gives_the_answer_with_the_keyboard_alone(
    opened: Browser, shown: tuple[Context, dict[str, Any]]
) -> None:
    context, _ = shown
    path = next(p for p in sorted(context.paths) if path_answer(context, p).back and p.endswith(".py"))
    ask(opened, path)
    opened.press("Enter")
    opened.wait("document.activeElement.id === 'answer'")
    told = path_answer(context, path)
    assert told.headline in answer(opened)
    assert str(told.back).replace("`", "") in answer(opened)
    assert told.reasons[0].rule in answer(opened)
    assert opened.complaints == []


def test_a_folder_of_the_map_opens_with_the_keyboard(opened: Browser) -> None:
    opened.resize(1280)
    opened.run("document.querySelector('#treemap a').focus()")
    first = opened.run("document.activeElement.getAttribute('href')")
    opened.press("ArrowRight")
    assert opened.run("document.activeElement.getAttribute('href')") != first
    opened.run("document.querySelector('#treemap a[href^=\"#folder\"]').focus()")
    opened.press("Enter")
    opened.wait(
        "document.querySelectorAll('#crumbs a').length + document.querySelectorAll('#crumbs b').length > 1"
    )
    assert opened.complaints == []


def test_the_same_folders_stand_in_the_table_with_sums_that_agree(
    opened: Browser, shown: tuple[Context, dict[str, Any]]
) -> None:
    opened.run("location.hash = '#folder='")
    opened.wait("document.querySelectorAll('#crumbs a').length === 1")
    rows = opened.run(
        "[...document.querySelectorAll('#folder tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    data = shown[1]
    assert sum(int(row[2].replace(",", "")) for row in rows) == len(data["files"])
    assert sum(int(row[3].replace(",", "")) for row in rows) == sum(row[2] or 0 for row in data["files"])


def test_an_edited_file_shows_its_diff_and_a_batch_how_to_switch_it_off(opened: Browser) -> None:
    opened.run("document.querySelector('#editlist details').open = true")
    opened.wait("document.querySelector('#editlist pre.diff .m, #editlist pre.diff .p') !== null")
    opened.run("location.hash = '#batch=fancy'")
    opened.wait("document.querySelector('#batch-fancy').innerText.includes('dist --without fancy')")
    assert opened.complaints == []


def test_the_page_can_be_printed(opened: Browser) -> None:
    assert opened.pdf().startswith(b"%PDF")
    opened.resize(1280, media="print")
    assert opened.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    opened.resize(1280)
    assert opened.complaints == []
