"""report.html in a headless Chromium, where one is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from browser import Browser, browser, executable
from report_of_small_world import shown_of_small_world

from builder.emit.report_html import report_html
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.names import path_answer


@pytest.fixture(scope="module")
def shown() -> tuple[Context, dict[str, Any]]:
    """The small world, and what the page shows of it."""
    return shown_of_small_world()


@pytest.fixture(scope="module")
def opened(
    shown: tuple[Context, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    if executable() is None:
        how = "Debian, Ubuntu: apt-get install --no-install-recommends chromium"
        pytest.skip(f"no Chromium is installed ({how})")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "report.html"
    flags = [
        ["flag", group, "--port", "kept", "acme/a.py:1", f"--port of {group} is kept", [], -1]
        for group in ("acme.bench", shown[1]["server"])
    ]
    page.write_bytes(report_html({**shown[1], "surface": [*flags, *shown[1]["surface"]]}))
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


def test_an_answer_leaves_when_the_next_query_is_typed(opened: Browser) -> None:
    ask(opened, "fancy")
    opened.press("Enter")
    opened.run("location.hash = '#why=LICENSE'")
    opened.wait("document.getElementById('answer').innerText.includes('LICENSE')")
    ask(opened, "zzz")
    assert opened.run("document.getElementById('count').textContent") == "0 found"
    assert answer(opened) == ""


def test_the_arrows_lead_from_the_query_to_its_results_and_back(opened: Browser) -> None:
    ask(opened, "py")
    opened.press("ArrowDown")
    assert opened.run("document.activeElement === document.querySelector('#results a')")
    opened.press("ArrowDown")
    assert opened.run("document.activeElement === document.querySelectorAll('#results a')[1]")
    opened.press("ArrowUp")
    opened.press("ArrowUp")
    assert opened.run("document.activeElement.id") == "query"


def test_flags_of_the_server_and_architectures_are_found_first(
    opened: Browser, shown: tuple[Context, dict[str, Any]]
) -> None:
    first = "document.querySelector('#results .why').textContent.trim()"
    ask(opened, "--port")
    assert opened.run(first) == f"flag {shown[1]['server']}"
    ask(opened, "Other")
    assert opened.run(first) == f"registry {shown[1]['models']}"
    opened.press("Enter")
    opened.wait("document.activeElement.id === 'answer'")
    assert "architecture Other is removed" in answer(opened)


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
    assert opened.run("document.activeElement.closest('#treemap') !== null")
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
