"""The scope as a part of the manifest: its checks, what it guarantees, and its page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from manifest_text import HEAD, manifest, problems
from test_cut_pages import upstream
from test_emit_lock import PROOF
from yaml_cases import load

from builder.emit.lock import figures_of
from builder.emit.scope_page import read_figures, scope_page
from builder.errors import BuildError
from builder.json_xz import packed
from builder.pipeline.cut import cut
from builder.pipeline.verify import verify

BATCHES = """\
keep: [python/]
batches:
  - id: hip
    why: Not the target.
    facts:
      predicates: {pkg.platform.is_hip: false}
"""
SCOPE = """\
decisions:
  - id: D1
    what: HIP
    decision: It leaves | all of it.
    batches: [hip]
    statements: [pkg.platform.is_hip, roots.models]
    keeps: [pkg.platform.is_cuda, {name: pkg.later, optional: an example}]
    gates: [G005]
    tests: ["tests/unit/test_scope_page.py::test_a_row"]
guarantees:
  - {id: G3, what: Size, decision: Small., lines: {seed: 100}}
"""
RECORD = {
    "lines": {"code": {"before": 200, "after": 80}},
    "batches": [
        {
            "id": "hip",
            "files": {"removed": 3, "edited": 0, "added": 0},
            "lines": {"removed": 100, "edited_away": 25, "added": 5},
        }
    ],
    "wheel": {"bytes": 1234, "files": 7},
    "surface": {"flag": {"before": 9, "after": 8}},
    "units": {
        "before": {"own": 5, "fetched": 2, "libraries": 2, "patterns": 1},
        "after": {"own": 4, "fetched": 0, "libraries": 1, "patterns": 0},
    },
}
LOCK = {"seed": replace(PROOF, figures=figures_of(RECORD))}


def row(page: str, start: str) -> str:
    (found,) = [line for line in page.splitlines() if line.startswith(f"| {start}")]
    return found


def test_a_row_shows_rules_figures_gates_and_tests() -> None:
    text = row(scope_page(manifest(BATCHES, scope=SCOPE), {"default": LOCK}), "**D1**")
    assert "It leaves \\| all of it." in text
    assert "[hip](#batch-hip): `pkg.platform.is_hip()` is False" in text and "kept models: one" in text
    assert "seed: files 3 removed; 120 lines less" in text
    assert "`pkg.platform.is_cuda`, `pkg.later` (where upstream has it)" in text
    assert "G005, in every build" in text
    assert "[tests/unit/test_scope_page.py](../tests/unit/test_scope_page.py): a row" in text


def test_the_whole_is_shown_for_each_proven_pin() -> None:
    text = row(scope_page(manifest(BATCHES, scope=SCOPE), {"default": LOCK}), "seed")
    for part in ("200 to 80 (40.0%)", "7 files, 1,234 bytes", "9 to 8", "7 and 1 patterns to 4"):
        assert part in text


def test_without_a_proven_pin_there_are_no_figures() -> None:
    page = scope_page(manifest(BATCHES, scope=SCOPE), {})
    assert "lines less" not in page and "at most 100 lines of code: seed is not proven" in page
    assert "seed has 80" in scope_page(manifest(BATCHES, scope=SCOPE), {"default": LOCK})


def test_each_batch_has_a_row_that_says_what_switching_it_off_gives() -> None:
    text = BATCHES.replace("why: Not the target.", "why: Not the target.\n    needs: [fork]") + (
        "  - {id: fork, why: Of HIP., kind: housekeeping}\n  - {id: note, why: Of forks., follows: [fork]}\n"
    )
    measured = {
        "batches": {
            "seed": {
                "hip": {"off": ["hip", "fork", "note"], "lines": 1234, "codes": {}},
                "fork": {"off": ["fork"], "lines": 0, "codes": {"R008": 2}},
            }
        },
        "pairs": {"seed": {"hip+fork": {"off": ["hip", "fork", "note"], "lines": 1, "codes": {}}}},
        "models": {
            "seed": {
                "two": {"off": ["note"], "lines": 2, "codes": {}},
                "two+three": {"off": [], "lines": 0, "codes": {"R012": 1}},
            }
        },
    }
    page = scope_page(manifest(text), {}, read_figures(packed(measured)))
    assert row(page, "[hip](#batch-hip) |") == (
        "| [hip](#batch-hip) | feature | [fork](#batch-fork) |  | builds, +1,234 lines |"
    )
    assert row(page, "[fork]").endswith(
        "| housekeeping |  | [note](#batch-note) | does not build: R008 (2) |"
    )
    assert row(page, "[note]").endswith("| feature |  |  | not tried |")
    assert row(page, "[hip](#batch-hip), [fork](#batch-fork) |") == (
        "| [hip](#batch-hip), [fork](#batch-fork) | [note](#batch-note) | builds, +1 lines |"
    )
    assert row(page, "`two` |") == "| `two` | builds, +2 lines, [note](#batch-note) off |"
    assert row(page, "`two`, `three` |") == "| `two`, `three` | does not build: R012 (1) |"


@pytest.mark.parametrize("data", [b"", b"{"])
def test_figures_that_cannot_be_read_are_none(data: bytes) -> None:
    assert read_figures(data) == {}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("batches: [hip]", "batches: [hop]", "M006"),
        ("pkg.platform.is_hip, r", "pkg.platform.is_hop, r", "M012"),
        ("G005", "G099", "M012"),
        ("seed: 100", "sead: 100", "M012"),
        ("id: G3", "id: D1", "M012"),
    ],
)
def test_an_item_that_names_what_is_not_stated_is_an_error(old: str, new: str, code: str) -> None:
    assert problems(HEAD + BATCHES, scope=SCOPE) == ()
    (problem,) = problems(HEAD + BATCHES, scope=SCOPE.replace(old, new))
    assert problem.code == code and problem.mark is not None and problem.mark.file == "docs/scope.yaml"


def test_what_an_item_keeps_must_be_in_the_output_unless_upstream_lacks_it_too() -> None:
    good = manifest(BATCHES, scope=SCOPE)
    files = upstream({"page": load("cuts/attribution.yaml")})
    verify(cut(files, good))
    for name in ("pkg.platform.is_xpu", "python/pkg/none.py"):
        bad = manifest(BATCHES, scope=SCOPE.replace("pkg.platform.is_cuda", name))
        with pytest.raises(BuildError) as caught:
            verify(cut(files, bad))
        assert [p.code for p in caught.value.problems] == ["G007"], name
        assert name in caught.value.problems[0].message
