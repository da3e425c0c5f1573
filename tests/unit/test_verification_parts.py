"""What parts that run many operations share, and what the check says of them."""

from __future__ import annotations

import random
import re
import time
from dataclasses import replace
from pathlib import Path

from verification import declared
from verification.checks import launch, parts
from verification.parts import streams
from verification.parts.events import clock, plain
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check

FOLDER = Path(parts.__file__).parents[1] / "parts"


def part(facts: dict[str, object], **values: object) -> dict[str, object]:
    return {"facts": facts, "values": values}


class TestParts:
    def test_equal_values_and_true_facts_pass(self) -> None:
        said = part({"the same twice": True}, ids="d1")
        assert parts.case("p", said, said).verdict == PASSED

    def test_another_value_is_shown_with_its_name(self) -> None:
        case = parts.case("p", part({}, ids="d1"), part({}, ids="d2"))
        assert (case.verdict, case.lines) == (FAILED, ('values.ids: upstream "d1", ours "d2"',))

    def test_a_fact_that_is_false_in_both_trees_fails(self) -> None:
        said = part({"the same twice": False})
        assert parts.case("p", said, said).verdict == FAILED

    def test_v3_has_three_dense_layers_and_fifty_eight_with_experts(self) -> None:
        good = part({"dense": 3, "moe": 58, "layers": 61})
        assert parts.case("config-v3", good, good).verdict == PASSED
        bad = part({"dense": 1, "moe": 60, "layers": 61})
        assert parts.case("config-v3", bad, bad).verdict == FAILED

    def test_an_error_in_both_trees_has_not_run_and_one_of_ours_fails(self) -> None:
        error, said = {"error": "E: x", "place": "python/a.py:1"}, part({})
        assert parts.case("p", error, error).verdict == NOT_RUN
        assert parts.case("p", said, error).verdict == FAILED
        assert parts.case("p", error, said).verdict == FAILED

    def test_an_error_that_no_code_of_a_tree_takes_part_in_is_a_fault_of_the_part(self) -> None:
        error = {"error": "AttributeError: x", "place": ""}
        assert parts.case("p", error, error).verdict == FAILED
        absent = {"error": "ImportError: cannot import name 'x'", "place": ""}
        assert parts.case("p", absent, absent).verdict == NOT_RUN

    def test_of_two_long_lists_the_first_event_that_differs_is_named(self) -> None:
        one = [["insert", number] for number in range(30)]
        two = [*one[:7], ["insert", 99], *one[8:]]
        upstream = part({}, events=one)
        case = parts.case("p", upstream, part({}, events=two))
        assert (case.verdict, case.lines) == (
            FAILED, ('values.events[7]: upstream ["insert", 7], ours ["insert", 99]',)
        )  # fmt: skip
        longer = parts.case("p", upstream, part({}, events=[*one, ["evict", 1]]))
        assert longer.lines == ('values.events[30]: upstream null, ours ["evict", 1]',)
        assert parts.case("p", upstream, upstream).verdict == PASSED


def test_each_part_is_registered_once() -> None:
    names: list[str] = []
    for file in FOLDER.glob("*.py"):
        names += re.findall(r'^@part\("([a-z0-9-]+)"\)$', file.read_text("utf-8"), re.MULTILINE)
    assert len(set(names)) == len(names) >= 150
    assert set(parts.EXPECTED) <= set(names)


class TestEvents:
    def test_a_clock_tells_the_same_each_time_and_never_twice_the_same(self) -> None:
        with clock():
            first = [time.monotonic(), time.perf_counter(), time.monotonic()]
        with clock():
            assert [time.monotonic() for _ in range(3)] == first == [1.0, 2.0, 3.0]
        assert time.monotonic() > 3

    def test_values_become_json(self) -> None:
        assert plain({1: (True, {"b", "a"}, float("inf"))}) == {"1": [True, ["a", "b"], "inf"]}


class TestCuts:
    def test_pieces_make_the_text_again(self) -> None:
        text = 'a<think>b</think> <｜DSML｜invoke name="x">c</｜DSML｜invoke>'
        draw = random.Random(1)
        ways = [streams.cut(text, draw) for _ in range(40)]
        assert all("".join(way) == text for way in ways)
        assert len({tuple(way) for way in ways}) > 10


def test_what_a_batch_removes_that_is_off_by_default_has_not_run_where_it_is_on() -> None:
    stated = replace(declared.read(), lost_with={"lora": ["asked"]})
    failed = Check("parts", (Case("asked", FAILED, ("x",)), Case("other", FAILED), Case("asked too", PASSED)))
    assert stated.excused(failed, frozenset()) == failed
    cases = stated.excused(failed, frozenset({"lora"})).cases
    assert [case.verdict for case in cases] == [NOT_RUN, FAILED, PASSED]
    assert cases[0].lines == ("batch lora removes what it asks for",)


def test_each_part_and_program_that_a_batch_takes_exists() -> None:
    text = "".join(file.read_text("utf-8") for file in FOLDER.glob("*.py"))
    known = {*re.findall(r'^@part\("([a-z0-9-]+)"\)$', text, re.MULTILINE), *launch.PROGRAMS}
    for names in declared.read().lost_with.values():
        assert set(names) <= known
