"""Ledger, figures and REMOVED.md: every figure from the same rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from gate_worlds import snapshot
from hypothesis import given
from hypothesis import strategies as st

from builder.emit import figures
from builder.emit.ledger import Row, rows, to_bytes
from builder.emit.removed import removed_md
from builder.errors import BuildError, Mark
from builder.manifest.statements import Reason
from builder.tree import EXECUTABLE, SYMLINK, blob_id

SCHEMA = Path(__file__).parents[2] / "schema"
BASE = Reason("base", "python/**", Mark("manifest.yaml", 3, 5))
TESTS = Reason("tests", "test/", Mark("manifest.yaml", 12, 3))
AWQ = Reason("awq", "drop sample.awq", Mark("manifest.yaml", 20, 7))
GGUF = Reason("gguf", "drop sample.gguf")


def schema(name: str) -> dict:
    found = json.loads((SCHEMA / f"{name}.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(found)
    return found


UPSTREAM = snapshot(
    {
        "LICENSE": b"text\n",
        "link.py": (SYMLINK, b"a.py"),
        "python/a.py": b"1\n2\n3\n4\n",
        "python/k.cu": b"1\n2",
        "python/run.py": b"1\n",
        "test/image.png": b"\x89PNG\0\n\n\n",
        "test/t1.py": b"1\n2\n3\n",
        "test/t2.json": b"{}\n",
    }
)
OUTPUT = snapshot(
    {
        "LICENSE": b"text\n",
        "link.py": (SYMLINK, b"a.py"),
        "python/a.py": b"1\n2\n",
        "python/k.cu": b"1\n2",
        "python/new.py": b"1\n2\n3\n4\n5\n",
        "python/run.py": (EXECUTABLE, b"1\n"),
    }
)
REASONS = {
    **dict.fromkeys(["LICENSE", "link.py", "python/k.cu"], (BASE,)),
    **dict.fromkeys(["test/image.png", "test/t1.py", "test/t2.json"], (TESTS,)),
    "python/a.py": (AWQ, GGUF, AWQ, GGUF),
    "python/new.py": (AWQ,),
    "python/run.py": (GGUF,),
}


def sample() -> tuple[Row, ...]:
    return rows(
        UPSTREAM.tree, OUTPUT.tree, REASONS, figures.line_counts(UPSTREAM), figures.line_counts(OUTPUT)
    )


def test_every_path_of_both_sides_has_one_row() -> None:
    found = sample()
    assert [r.path for r in found] == sorted(UPSTREAM.keys() | OUTPUT.keys())
    assert {r.path: r.verdict for r in found if r.verdict != "kept"} == {
        "python/a.py": "edited",
        "python/new.py": "added",
        "python/run.py": "edited",  # its mode
        "test/image.png": "removed",
        "test/t1.py": "removed",
        "test/t2.json": "removed",
    }


def test_a_line_of_the_ledger_is_compact_json_in_a_fixed_order() -> None:
    lines = to_bytes(sample()).decode().splitlines()
    assert lines[2] == (
        '{"path":"python/a.py","verdict":"edited","batch":"awq","rule":"drop sample.awq",'
        '"mark":"manifest.yaml:20:7","mode":"100644",'
        f'"before":"{blob_id(UPSTREAM["python/a.py"])}","after":"{blob_id(OUTPUT["python/a.py"])}",'
        '"lines_before":4,"lines_after":2,"also":[{"batch":"gguf","rule":"drop sample.gguf","mark":null}]}'
    )


def test_every_line_of_the_ledger_fits_its_schema() -> None:
    validator = jsonschema.Draft7Validator(schema("ledger"))
    for line in to_bytes(sample()).decode().splitlines():
        validator.validate(json.loads(line))


def test_a_path_that_is_not_utf_8_stays_one_line_of_json() -> None:
    (row,) = (replace(r, path="\udcff\n.py") for r in sample()[:1])
    (line,) = to_bytes([row]).splitlines()
    assert json.loads(line)["path"] == "\udcff\n.py"


def test_paths_that_nothing_explains_are_all_named() -> None:
    reasons = {path: why for path, why in REASONS.items() if not path.startswith("test/")}
    with pytest.raises(BuildError) as caught:
        rows(UPSTREAM.tree, OUTPUT.tree, reasons, {}, {})
    assert [p.message.split("'")[1] for p in caught.value.problems] == [
        "test/image.png",
        "test/t1.py",
        "test/t2.json",
    ]


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"\n", 1), (b"x", 1), (b"x\n", 1), (b"x\ny", 2), (b"\r\n\r", 2)]
)
def test_a_line_is_a_newline_or_a_last_line_without_one(data: bytes, lines: int) -> None:
    assert figures.count(data) == lines


def test_links_and_binary_files_have_no_lines() -> None:
    assert figures.line_counts(UPSTREAM).keys() == UPSTREAM.keys() - {"link.py", "test/image.png"}


@pytest.mark.parametrize(
    ("path", "name"), [("a/b.py", "py"), ("a.b/c", ""), (".h", ""), ("x.d/.cu.h", "h"), ("Makefile", "")]
)
def test_an_extension_is_what_follows_the_last_dot_of_the_name(path: str, name: str) -> None:
    assert figures.extension(path) == name


def test_lines_are_counted_alike_on_both_sides() -> None:
    found = figures.before_after(figures.line_counts(UPSTREAM), figures.line_counts(OUTPUT))
    assert found["py"] == {"before": 8, "after": 8}
    assert found["cu"] == {"before": 2, "after": 2}
    assert found["code"] == {"before": 10, "after": 10}
    assert found["text"] == {"before": 12, "after": 11}
    assert list(found) == [*figures.EXTENSIONS, "code", "text"]


def test_a_batch_is_charged_with_what_its_rows_say() -> None:
    found = {f.id: f for f in figures.batch_figures(sample(), ["tests", "awq"])}
    assert list(found) == ["tests", "awq", "base", "gguf"]
    assert (found["tests"].files["removed"], found["tests"].lines["removed"]) == (3, 4)
    assert found["tests"].by_extension["py"] == 3
    awq = found["awq"]
    assert awq.files == {"removed": 0, "edited": 1, "added": 1}
    assert awq.lines == {"removed": 0, "edited_away": 2, "added": 5} and awq.less == -3


FILES = st.dictionaries(
    st.sampled_from(["a.py", "b.cu", "c/d.h", "e.txt", "f"]),
    st.one_of(st.binary(max_size=12), st.text("\nx", max_size=12).map(str.encode)),
)


@given(FILES, FILES, st.lists(st.sampled_from(["one", "two"]), min_size=5, max_size=5))
def test_the_batches_add_up_to_the_whole(before: dict, after: dict, batches: list[str]) -> None:
    left, right = snapshot(before), snapshot(after)
    names = sorted(before.keys() | after.keys())
    reasons = {path: (Reason(batches[n], "r"),) for n, path in enumerate(names)}
    counts = figures.line_counts(left), figures.line_counts(right)
    found = figures.batch_figures(rows(left.tree, right.tree, reasons, *counts))
    total = figures.before_after(*counts)["text"]
    assert sum(f.less for f in found) == total["before"] - total["after"]


def test_the_page_of_what_is_removed_is_computed() -> None:
    lines = figures.before_after(figures.line_counts(UPSTREAM), figures.line_counts(OUTPUT))
    whys = {
        "base": "what stays",
        "tests": "tests are run from upstream",
        "awq": "AWQ leaves",
        "empty": "nothing",
    }
    page = removed_md("sample", sample(), whys, lines).decode()
    assert page.startswith(
        "# What sample leaves out\n\nOf upstream's 8 files, 3 are removed and 2 edited; 1 are added."
    )
    assert "| these seven | 10 | 10 | 0 |" in page
    assert "| [tests](#tests) | 3 | 0 | 0 | 4 | 0 | 0 |" in page
    assert "## tests\n\ntests are run from upstream\n\nLines: 3 py, 1 of other text.\n" in page
    assert "- `test/`: 3 files, 4 lines" in page
    assert "Edited: `python/a.py` (-2)." in page
    assert "Added: `python/new.py`." in page
    assert "## empty" not in page and "## base" not in page


def test_a_project_without_native_code_has_figures_of_python_alone() -> None:
    lines = figures.line_counts(snapshot({"a.py": b"1\n2\n", "b.md": b"3\n"}))
    page = removed_md("sample", sample(), {}, figures.before_after(lines, lines)).decode()
    assert "Lines of py: 2 before, 2 after" in page and "cuh" not in page
    assert "| py | 2 | 2 | 0 |\n| all text files | 3 | 3 | 0 |" in page


def test_the_page_of_what_is_removed_names_the_flags_that_a_batch_takes_though_it_removes_no_file() -> None:
    lines = figures.before_after(figures.line_counts(UPSTREAM), figures.line_counts(OUTPUT))
    lost = {
        "tests": [("Server flags", ["--a", "--b"]), ("HTTP routes", ["GET /x"])],
        "flags": [("F", ["--c"])],
    }
    whys = {"tests": "tests are run from upstream", "flags": "only flags"}
    page = removed_md("sample", sample(), whys, lines, lost).decode()
    assert "Server flags: `--a`, `--b`.\n\nHTTP routes: `GET /x`.\n" in page
    assert "## flags\n\nonly flags\n\nF: `--c`.\n" in page


def test_the_page_names_the_largest_folders_and_sums_up_the_rest() -> None:
    many = snapshot({f"d{n:02}/{i}.py": b"x\n" * n for n in range(1, 21) for i in range(2)})
    none = snapshot({})
    reasons = dict.fromkeys(many, (TESTS,))
    counts = figures.line_counts(many)
    found = rows(many.tree, none.tree, reasons, counts, {})
    page = removed_md("sample", found, {"tests": "why"}, figures.before_after(counts, {})).decode()
    assert "- `d20/`: 2 files, 40 lines\n- `d19/`: 2 files, 38 lines" in page
    assert "- and elsewhere: 24 files, 156 lines" in page
