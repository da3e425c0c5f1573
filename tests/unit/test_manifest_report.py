"""How a problem reads: for a person, a program, and a code review."""

from __future__ import annotations

import json

from builder.errors import Mark, Problem
from builder.report import annotation, as_dict, clean, ordered, render, render_all

SOURCE = "name: x\nbatches:\n  - id: a\n    wyh: text\n"


def test_a_problem_shows_its_line_and_points_at_its_key() -> None:
    problem = Problem("M005", "The key `wyh` is not known.", Mark("m.yaml", 4, 5), hint="did you mean `why`?")
    assert render(problem, {"m.yaml": SOURCE}).splitlines() == [
        "error[M005]: The key `wyh` is not known.",
        " --> m.yaml:4:5",
        "  |",
        "4 |     wyh: text",
        "  |     ^^^",
        "  = help: did you mean `why`?",
    ]


def test_a_problem_upstream_shows_what_was_found_there() -> None:
    problem = Problem(
        "R004",
        "The edit matches 2 places.",
        Mark("m.yaml", 3),
        Mark("a/b.py", 10, 1),
        "10 | x = 1\n12 | x = 2",
    )
    assert render(problem, {"m.yaml": SOURCE}).splitlines() == [
        "error[R004]: The edit matches 2 places.",
        " --> m.yaml:3",
        "  |",
        "3 |   - id: a",
        " ::: upstream a/b.py:10:1",
        "  | 10 | x = 1",
        "  | 12 | x = 2",
    ]


def test_a_problem_without_source_or_past_its_end_still_shows() -> None:
    problem = Problem("M001", "The file is empty.", Mark("m.yaml", 99, 1))
    assert render(problem, {}) == "error[M001]: The file is empty.\n  --> m.yaml:99:1"
    assert render(problem, {"m.yaml": SOURCE}) == render(problem, {})


def test_a_long_line_is_cut_around_the_place() -> None:
    line = "a: [" + "x, " * 100 + "BAD" + ", y" * 100 + "]"
    rows = render(Problem("M004", "No.", Mark("m", 1, line.index("BAD") + 1)), {"m": line}).splitlines()
    assert rows[4].index("^^^") == rows[3].index("BAD")
    assert len(rows[3]) < 120


def test_wide_characters_before_the_place_do_not_move_the_caret() -> None:
    rows = render(Problem("M004", "No.", Mark("m", 1, 5)), {"m": "漢字: bad"}).splitlines()
    assert rows[4].index("^^^") == rows[3].index("bad") + 2


def test_nothing_in_a_source_or_message_steers_the_terminal() -> None:
    hostile = "x\x1b[31m\u202e\x07"
    problem = Problem("M004", hostile, Mark(hostile, 1, 1), Mark(hostile, 1), hostile, hostile)
    shown = render(problem, {hostile: hostile})
    assert not {"\x1b", "\u202e", "\x07"} & set(shown)
    assert clean(hostile) == "x\\x1b[31m\\u202e\\x07"


def test_colour_changes_nothing_but_colour() -> None:
    import re

    problem = Problem("M005", "No.", Mark("m.yaml", 4, 5), hint="why")
    painted = render(problem, {"m.yaml": SOURCE}, colour=True)
    assert "\x1b[" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render(problem, {"m.yaml": SOURCE})


def test_problems_are_read_in_the_order_of_the_file() -> None:
    problems = [
        Problem("R003", "d", None, Mark("a")),
        Problem("M004", "c", Mark("m", 9, 1)),
        Problem("M007", "a", Mark("m", 2, 9)),
        Problem("M005", "b", Mark("m", 9, 1)),
    ]
    assert [p.message for p in ordered(problems)] == ["a", "c", "b", "d"]
    assert render_all(problems, {}).endswith("4 problems (M004, M005, M007, R003)")


def test_a_problem_is_json_data() -> None:
    data = as_dict(Problem("M005", "No.", Mark("m", 4, 5)))
    assert json.loads(json.dumps(data)) == data
    assert data["mark"] == {"file": "m", "line": 4, "column": 5}
    assert (data["exit_status"], data["upstream"], data["hint"]) == (4, None, None)


def test_an_annotation_escapes_what_the_format_needs() -> None:
    problem = Problem("M004", "100% of\nthis", Mark("a,b:c.yaml", 4, 5), hint="x: y")
    assert annotation(problem) == (
        "::error col=5,file=a%2Cb%3Ac.yaml,line=4,title=M004::100%25 of%0Athis%0Ahelp: x: y"
    )


def test_an_annotation_without_a_place_names_the_upstream_file() -> None:
    assert annotation(Problem("R003", "No.", None, Mark("a/b"))) == "::error title=R003::No.%0Aupstream: a/b"
