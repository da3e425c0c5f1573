"""What the checks execute of an output: the share of lines, and the functions that none of them calls."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from textwrap import dedent
from typing import Any

from verification import coverage
from verification.coverage import Reason, definitions, page, statement
from verification.probes.lines import executed_lines

SCHEDULE = dedent(
    """\
    class Queue:
        def __init__(self):
            self.waiting = []

        def push(self, one):
            self.waiting.append(one)

        def drain(self):
            def each():
                yield 1
            return each()


    def run():
        queue = Queue()
        queue.push(1)
    """
)
PLACE = "python/sglang/srt/managers/queue.py"


def answer(*executed: int) -> dict[str, Any]:
    lines = [1, 2, 3, 5, 6, 8, 9, 10, 11, 14, 15, 16]
    missing = [line for line in lines if line not in executed]
    return {"processes": 2, "files": {PLACE: {"executed": list(executed), "missing": missing}}}


def long(name: str, lines: int) -> str:
    return f"def {name}():\n" + "    pass\n" * (lines - 1)


def test_a_function_ran_where_a_line_of_its_body_did() -> None:
    lines = answer(1, 2, 3, 5, 8, 14)["files"][PLACE]
    ran = {one.name: one.executed for one in definitions(PLACE, SCHEDULE, lines)}
    assert ran == {"Queue.__init__": True, "Queue.push": False, "Queue.drain": False, "run": False}


def test_what_stands_within_a_function_that_did_not_run_is_counted_with_it() -> None:
    ran = [one.name for one in definitions(PLACE, SCHEDULE, answer(1, 2, 5, 8, 9, 11, 14)["files"][PLACE])]
    assert "Queue.drain.each" in ran
    ran = [one.name for one in definitions(PLACE, SCHEDULE, answer(1, 2, 5, 8, 14)["files"][PLACE])]
    assert "Queue.drain.each" not in ran


def test_a_function_that_upstream_executes_and_the_output_lacks_is_lost() -> None:
    output = SCHEDULE.replace("    def push(self, one):\n        self.waiting.append(one)\n\n", "")
    found = coverage.lost(answer(1, 2, 3, 5, 6, 8, 14), {PLACE: SCHEDULE}, {PLACE: output})
    assert found == [{"place": f"{PLACE}:5", "name": "Queue.push", "lines": 2}]
    known = {"upstream": "1.0", "tree": "t", **statement(answer(1), {PLACE: SCHEDULE}), "lost": found}
    assert f"| `Queue.push` ({PLACE}:5) | 2 |" in page(known)


def test_only_long_functions_are_listed_and_small_ones_counted() -> None:
    text = long("short", coverage.SMALL) + long("long", coverage.SMALL + 1) + "long()\n"
    lines = {"executed": [1], "missing": list(range(2, 2 * coverage.SMALL + 1))}
    known = statement({"processes": 1, "files": {PLACE: lines}}, {PLACE: text})
    assert known["definitions"] == {"all": 2, "executed": 0, "small": 1}
    (one,) = known["unexecuted"]
    assert (one["name"], one["lines"], one["users"]) == ("long", coverage.SMALL + 1, [PLACE])


def test_a_class_that_is_never_made_names_who_makes_it() -> None:
    body = "        pass\n" * coverage.SMALL
    text = f"class Pool:\n    def __init__(self):\n{body}\n\ndef make():\n    return Pool()\n"
    lines = {"executed": [1, 2], "missing": list(range(3, coverage.SMALL + 8))}
    (one,) = statement({"processes": 1, "files": {PLACE: lines}}, {PLACE: text})["unexecuted"]
    assert one["name"] == "Pool.__init__" and one["users"] == [f"{PLACE} make"]


def test_the_first_reason_that_holds_is_given_and_the_rest_is_told_apart() -> None:
    text = long("one", 30) + long("two", 40)
    lines = {"executed": [1, 31], "missing": [n for n in range(1, 71) if n not in (1, 31)]}
    stated = [Reason("*/queue.py", "one", "It needs a second machine."), Reason("*", "one", "Another.")]
    known = statement({"processes": 1, "files": {PLACE: lines}}, {PLACE: text}, stated)
    text = page({"upstream": "seed", "tree": "0" * 40, **known})
    assert "## It needs a second machine.\n\nFunctions: 1; lines: 30." in text and "Another" not in text
    assert text.index("It needs a second machine.") < text.index("## No reason is stated")
    assert "| `two` (managers/queue.py:31) | 40 | nothing |" in text
    assert "| managers | 70 | 2 | 3% |" in text and "| **all** | 70 | 2 | 3% |" in text


def test_every_reason_of_the_project_is_a_sentence_about_a_path_or_a_decorator() -> None:
    for reason in coverage.reasons():
        assert reason.path.startswith("python/sglang/srt/") or reason.decorator
        assert reason.why.endswith(".")


def test_a_reason_may_ask_for_a_decorator() -> None:
    text = "import triton\n\n\n@triton.jit\n" + long("kernel", 30) + "\n\n" + long("launch", 30)
    lines: dict[str, list[int]] = {"executed": [1, 4, 37], "missing": []}
    stated = (Reason("*", "*", "A kernel runs on a GPU.", "*.jit"),)
    known = statement({"processes": 1, "files": {PLACE: lines}}, {PLACE: text}, stated)
    assert {one["name"]: one["why"] for one in known["unexecuted"]} == {
        "kernel": "A kernel runs on a GPU.", "launch": "",
    }  # fmt: skip


def test_one_reason_may_stand_for_several_paths(tmp_path: Path) -> None:
    stated = tmp_path / "reasons.yaml"
    stated.write_text(
        "- path: [a/*, b.py]\n  why: It needs a GPU.\n- decorator: triton.jit\n  why: A kernel.\n"
    )
    assert coverage.reasons(stated) == (
        Reason("a/*", "*", "It needs a GPU."),
        Reason("b.py", "*", "It needs a GPU."),
        Reason("*", "*", "A kernel.", "triton.jit"),
    )


def test_the_lines_of_all_recordings_are_joined(tmp_path: Path) -> None:
    recorded = ({"a.py": {1, 3}, "b.py": {20}}, {"a.py": {3, 9}})
    for number, lines in enumerate(recorded):
        with closing(sqlite3.connect(tmp_path / f"lines.{number}")) as connection, connection:
            connection.execute("create table file (id integer primary key, path text)")
            connection.execute("create table line_bits (file_id integer, context_id integer, numbits blob)")
            for index, (path, ran) in enumerate(lines.items()):
                bits = sum(1 << line for line in ran)
                connection.execute("insert into file values (?, ?)", (index, path))
                row = index, bits.to_bytes(4, "little")
                connection.execute("insert into line_bits values (?, 0, ?)", row)
    assert executed_lines(sorted(tmp_path.iterdir())) == {"a.py": [1, 3, 9], "b.py": [20]}
