"""What is said of engines, servers and pairs of these, on answers made here."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from http.client import IncompleteRead
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest

from verification import page, plot
from verification.real import compare, defaults, pair, server
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED, Case

Steps = Sequence[tuple[int, float]]  # token and log-probability of each


def output(steps: Steps) -> dict[str, Any]:
    return {"ids": [token for token, _ in steps], "logprobs": [value.hex() for _, value in steps]}


def engine(*rounds: Mapping[str, Sequence[Steps]]) -> dict[str, Any]:
    """What an engine says: in each round the outputs of each kind."""
    kinds = ("alone", "structured", "together", "mixed")
    told = [{kind: [output(steps) for steps in each.get(kind, ())] for kind in kinds} for each in rounds]
    return {"rounds": told, "digest": "d", "arguments": {}, "seconds": {}}


def answer(*alone: Steps) -> dict[str, Any]:
    """What an engine says whose rounds differ in one output."""
    return engine(*({"alone": [steps]} for steps in alone))


class TestRealKernels:
    def test_one_bit_of_one_log_probability_is_a_difference(self) -> None:
        upstream = answer([(1, -1.0)], [(1, -1.0)])
        assert compare.engines("e", [upstream], [upstream], 1).verdict == PASSED
        case = compare.engines("e", [upstream], [answer([(1, math.nextafter(-1.0, 0))])], 1)
        assert case.verdict == FAILED
        assert "logprobs" in case.lines[0]

    def test_what_kernels_give_that_ours_does_not_have_is_told_and_arguments_are_judged(self) -> None:
        upstream, other = answer([(1, -1.0)]), answer([(1, -1.5)])
        case = compare.engines("e", [upstream], [other], 1, "upstream has a kernel")
        assert case.verdict == NOT_RUN
        assert case.lines[0] == "upstream has a kernel" and "logprobs" in case.lines[1]
        assert compare.engines("e", [upstream], [upstream], 1, "upstream has a kernel").verdict == PASSED
        changed = {**other, "arguments": {"tp_size": 2}}
        asked = {**upstream, "arguments": {"tp_size": 1}}
        assert compare.engines("e", [asked], [changed], 1, "upstream has a kernel").verdict == FAILED

    def test_it_is_seen_in_any_round_of_ours(self) -> None:
        upstream = answer([(1, -1.0)], [(1, -1.0)])
        assert compare.engines("e", [upstream], [answer([(1, -1.0)], [(2, -1.0)])], 1).verdict == FAILED

    def test_what_upstream_does_not_repeat_has_its_own_spread_as_the_bound(self) -> None:
        upstream = answer([(1, -1.0), (2, -1.0)], [(1, -1.03125), (3, -1.0)])
        inside = compare.engines("e", [upstream], [answer([(1, -1.0625), (2, -1.03125)])], 1)
        assert inside.verdict == PASSED
        assert inside.figures["alone"] == {
            "outputs": 1, "upstream repeats": 0, "equal": 0, "upstream's own differ by": 0.03125,
            "ours by": 0.03125, "ours as in one of upstream's": 0,
        }  # fmt: skip
        outside = compare.engines("e", [upstream], [answer([(1, -1.0625), (2, -1.046875)])], 1)
        assert outside.verdict == FAILED
        token = compare.engines("e", [upstream], [answer([(1, -1.0), (4, -9.0)])], 1)
        assert token.verdict == FAILED  # the first other token counts

    def test_from_runs_of_upstream_that_differ_by_more_than_rounding_nothing_follows(self) -> None:
        upstream = answer([(1, -1.0)], [(1, -1.25)])
        assert compare.engines("e", [upstream], [answer([(1, -7.0)])], 1).verdict == FAILED
        for ours in (answer([(1, -1.125)]), answer([(1, -1.0)], [(1, -1.125)])):
            case = compare.engines("e", [upstream], [ours], 1)
            assert case.verdict == NOT_RUN and "0.25" in case.lines[0]
            assert case.figures["apart"] == 0.25

    def test_outputs_that_upstream_gave_bit_for_bit_pass_however_far_these_lie_apart(self) -> None:
        upstream = answer([(1, -1.0)], [(1, -1.25)])
        for ours in (upstream, answer([(1, -1.25)])):
            case = compare.engines("e", [upstream], [ours], 1)
            assert case.verdict == PASSED
            assert case.figures["alone"]["ours as in one of upstream's"] == 1

    def test_every_output_of_every_kind_has_to_be_one_that_upstream_gave_for_that_prompt(self) -> None:
        def of(alone: Sequence[float], together: float) -> dict[str, Any]:
            return engine({"alone": [[(1, value)] for value in alone], "together": [[(1, together)]]})

        upstream = [of((-1.0, -2.0), -3.0), of((-1.25, -2.0), -3.0)]
        assert compare.engines("e", upstream, [of((-1.25, -2.0), -3.0)], 1).verdict == PASSED
        assert compare.engines("e", upstream, [of((-1.0, -2.125), -3.0)], 1).verdict == NOT_RUN
        assert compare.engines("e", upstream, [of((-1.0, -2.0), -3.125)], 1).verdict == NOT_RUN
        assert compare.engines("e", upstream, [of((-2.0, -1.0), -3.0)], 1).verdict == FAILED  # exchanged

    def test_an_output_that_upstream_repeats_may_not_differ_where_others_wobble(self) -> None:
        def of(first: float, second: tuple[int, float], after: int) -> dict[str, Any]:
            return engine({"alone": [[(1, first)], [second, (after, -1.0)]]})

        upstream = [of(-1.0, (2, -1.0), 5), of(-1.0 - 2**-20, (2, -1.0), 5)]
        assert compare.engines("e", upstream, [of(-1.0 - 2**-20, (2, -1.0), 5)], 1).verdict == PASSED
        for ours in (of(-1.0, (2, -1.0), 6), of(-1.0, (3, -1.0), 5)):  # a tie: other tokens, no distance
            assert compare.engines("e", upstream, [ours], 1).verdict == FAILED

    def test_what_upstream_does_not_repeat_without_any_distance_may_be_either_and_nothing_else(self) -> None:
        upstream = answer([(1, -1.0), (2, -1.0)], [(1, -1.0), (3, -1.0)])
        case = compare.engines("e", [upstream], [answer([(1, -1.0), (3, -1.0)])], 1)
        assert case.verdict == PASSED and case.figures["apart"] == 0.0
        other = answer([(1, -1.0), (4, -1.0)])
        assert compare.engines("e", [upstream], [other], 1).verdict == FAILED
        assert compare.engines("e", [upstream], [answer([(1, -1.5)])], 1).verdict == FAILED

    def test_twice_as_far_as_upstreams_runs_from_each_other_fails_however_far_that_is(self) -> None:
        upstream = answer([(1, -1.0)], [(1, -1.25)])
        near = compare.engines("e", [upstream], [answer([(1, -1.75)])], 1)
        assert near.verdict == NOT_RUN
        assert (
            "upstream repeats 0 of 1, ours is as in one of its runs in 0, and at most 0.5 from"
            in near.lines[1]
        )
        assert compare.engines("e", [upstream], [answer([(1, -1.751)])], 1).verdict == FAILED

    @pytest.mark.parametrize(
        "ours",
        [[], [(1, -1.0)], [(1, -1.0), (2, math.nan)], [(1, -1.0), (2, -2.0), (3, -1.0)]],
    )
    @pytest.mark.parametrize("again", [-2.0, -2.015625, -2.5])
    def test_no_output_a_short_or_long_one_and_no_number_are_far_away(
        self, ours: list[tuple[int, float]], again: float
    ) -> None:
        upstream = answer([(1, -1.0), (2, -2.0)], [(1, -1.0), (2, again)])
        assert compare.engines("e", [upstream], [answer(ours)], 1).verdict == FAILED

    def test_figures_are_json_even_where_nothing_bounds_them(self) -> None:
        upstream = answer([(1, -1.0)], [(1, -1.0), (2, -1.0)])
        case = compare.engines("e", [upstream], [upstream], 1)
        assert case.verdict == PASSED
        assert json.loads(json.dumps(case.figures, allow_nan=False))["apart"] == "without bound"

    def test_an_argument_that_comes_out_otherwise_is_another_configuration(self) -> None:
        upstream = {**answer([(1, -1.0)]), "arguments": {"page_size": 1, "enable_mamba": False}}
        assert (
            compare.engines("e", [upstream], [{**upstream, "arguments": {"page_size": 1}}], 1).verdict
            == PASSED
        )
        case = compare.engines("e", [upstream], [{**upstream, "arguments": {"page_size": 64}}], 1)
        assert (case.verdict, case.lines) == (FAILED, ("argument page_size: upstream 1, ours 64",))

    def test_a_crash_of_ours_fails_and_one_of_upstream_is_told(self) -> None:
        crash, good = {"error": ["boom"]}, answer([(1, -1.0)])
        assert compare.engines("e", [good], [crash], 1).verdict == FAILED
        assert compare.engines("e", [good, crash], [good], 1).verdict == NOT_RUN

    def test_replies_are_compared_without_what_passes(self) -> None:
        one = server.lasting({"id": "a", "choices": [{"text": "x", "created": 1}]})
        two = server.lasting({"id": "b", "choices": [{"text": "x", "created": 2}]})
        assert one == two
        cases = compare.replies(
            {"chat": {"status": 200, "body": one}}, {}, {"chat": {"status": 200, "body": two}}
        )
        assert [case.verdict for case in cases] == [PASSED]

    def test_another_reply_fails_only_where_upstream_repeats_its_own(self) -> None:
        theirs, mine = {"a": {"status": 200, "body": 1}}, {"a": {"status": 200, "body": 2}}
        assert compare.replies(theirs, theirs, mine)[0].verdict == FAILED
        assert compare.replies(theirs, mine, {"a": {"status": 200, "body": 3}})[0].verdict == NOT_RUN
        assert compare.replies(theirs, mine, mine)[0].verdict == PASSED  # as upstream's second time

    def test_ours_may_not_be_worse_than_the_worst_of_upstreams(self) -> None:
        assert compare.gain("s", [1.0, 1.2, 1.1], [0.9, 1.0, 1.1]).verdict == PASSED
        assert compare.gain("s", [1.0, 1.2, 1.1], [1.3, 1.4, 1.5]).verdict == FAILED
        assert compare.gain("t", [10.0, 11.0], [9.0, 9.5], smaller_is_better=False).verdict == FAILED
        assert compare.gain("s", [1000.0], [1009.0]).verdict == PASSED  # not measured so finely
        assert compare.gain("s", [1000.0], [1011.0]).verdict == FAILED
        assert compare.gain("s", [1000.0], [1000.1], exact=True).verdict == FAILED
        assert compare.gain("s", [], [1.0]).verdict == NOT_RUN
        assert compare.gain("s", [1.0], []).verdict == FAILED

    def test_loads_that_did_not_end_alike_compare_no_speed(self) -> None:
        good = {"completed": 8, "total_input_tokens": 80, "total_output_tokens": 40}
        assert compare.completed([good], [good]).verdict == PASSED
        assert compare.completed([good, good], [good]).verdict == FAILED
        assert compare.completed([good], [{**good, "completed": 7}]).verdict == FAILED
        assert compare.completed([{"error": ["boom"]}], [{"error": ["boom"]}]).verdict == FAILED

    def test_a_load_that_only_one_server_had_compares_nothing(self) -> None:
        good = {"completed": 8, "total_output_tokens": 40}
        assert compare.benched([good, good]).verdict == PASSED
        assert compare.benched([good, {**good, "completed": 7}]).verdict == FAILED
        assert compare.benched([{"error": ["boom"]}] * 2).verdict == FAILED
        assert compare.benched([good]).verdict == NOT_RUN

    def test_every_request_of_the_corpus_has_a_name_of_its_own(self) -> None:
        names = [name for name, _, _ in server.corpus()]
        assert len(set(names)) == len(names) >= 15


class TestPairs:
    """Prefill here, decode there; what the servers say is made up."""

    good: ClassVar[dict[str, Any]] = {"5 characters": {"status": 200, "ids": [1]}}
    other: ClassVar[dict[str, Any]] = {"5 characters": {"status": 200, "ids": [2]}}

    @staticmethod
    def cases(folder: Path, deadline: float = math.inf) -> tuple[list[Case], list[list[Case]]]:
        places = [Place(role, folder, None, folder) for role in ("upstream", "ours")]
        known: list[list[Case]] = []
        asked, models = [("nixl", pair.PAIRS[0])], {pair.PAIRS[0].architecture: folder}
        return pair.cases(places, asked, models, (), folder, 1, deadline, known.append), known

    @pytest.mark.parametrize(
        ("first", "ours", "again", "expected"),
        [
            (good, good, good, ("nixl-v3, reply 5 characters", PASSED)),
            (good, other, good, ("nixl-v3, reply 5 characters", FAILED)),
            (good, other, other, ("nixl-v3, reply 5 characters", PASSED)),
            (good, {}, other, ("nixl-v3, reply 5 characters", NOT_RUN)),
            (good, RuntimeError("status 500"), good, ("nixl-v3", FAILED)),
            (good, KeyError("meta_info"), good, ("nixl-v3", FAILED)),
            (good, good, OSError("timed out"), ("nixl-v3", NOT_RUN)),
            (IncompleteRead(b""), good, good, ("nixl-v3", NOT_RUN)),
        ],
    )
    def test_each_answer_is_compared_where_upstream_serves_and_repeats_itself(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: Any, ours: Any, again: Any,
        expected: tuple[str, str],
    ) -> None:  # fmt: skip
        told = {"upstream": first, "ours": ours, "upstream-again": again}

        def answers(place: Place, *asked: Any) -> Any:
            turn = asked[-1].name.removeprefix("pair-nixl-v3-")
            assert turn.startswith(place.role)
            if isinstance(told[turn], Exception):
                raise told[turn]
            return told[turn]

        monkeypatch.setattr(pair, "answers", answers)
        cases, known = self.cases(tmp_path)
        assert [(case.name, case.verdict) for case in cases] == [expected]
        assert known == [cases]
        failing = [turn for turn, each in told.items() if isinstance(each, Exception)]
        assert all(any(turn.replace("-", " ") in line for line in cases[0].lines) for turn in failing)

    def test_after_its_time_nothing_starts(self, tmp_path: Path) -> None:
        cases, _ = self.cases(tmp_path, deadline=0.0)
        assert [(case.verdict, case.lines) for case in cases] == [(NOT_RUN, ("there was no time left",))]

    def served(self, monkeypatch: pytest.MonkeyPatch, reply: dict[str, Any]) -> list[Any]:
        """Servers that answer so; what was started with which words."""
        started: list[Any] = []

        @contextlib.contextmanager
        def running(place: Place, model: Path, words: Sequence[str], log: Path) -> Iterator[server.Server]:
            mode = words[words.index("--disaggregation-mode") + 1]
            started.append((mode, words, place.more))
            yield server.Server(place, None, 1 if mode == "prefill" else 2, 0.0)  # type: ignore[arg-type]

        def ask(url: str, body: Any) -> dict[str, Any]:
            asked = {"status": 200, "body": {"text": "p", "output_ids": [9], "meta_info": {}}}
            return reply if url.startswith("http://127.0.0.1:2/") else asked

        monkeypatch.setattr(server, "running", running)
        monkeypatch.setattr(server, "ask", ask)
        return started

    def test_the_decoding_server_answers_with_tokens_and_exact_log_probabilities(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        meta = {"output_token_logprobs": [[-0.5, 7, None]], "finish_reason": {"type": "length"}}
        body = {"text": "d", "output_ids": [7], "meta_info": meta}
        started = self.served(monkeypatch, {"status": 200, "body": body})
        sparse = pair.PAIRS[1]
        for role in ("upstream", "ours"):
            place = Place(role, tmp_path, None, tmp_path)
            found = pair.answers(place, sparse, tmp_path, ("--w",), "nixl", tmp_path / "log")
            assert len(found) == 2 * 5  # two rounds of five texts
            assert {json.dumps(each) for each in found.values()} == {
                json.dumps({"status": 200, "text": "d", "ids": [7], "logprobs": ["-0x1.0000000000000p-1"],
                            "finish": {"type": "length"}})
            }  # fmt: skip
        assert [mode for mode, _, _ in started] == ["prefill", "decode"] * 2
        for mode, words, more in started:
            assert words[words.index("--base-gpu-id") + 1] == str(["prefill", "decode"].index(mode))
            assert more.items() >= dict(sparse.environment).items()
        assert [set(sparse.upstream) <= set(words) for _, words, _ in started] == [True, True, False, False]

    @pytest.mark.parametrize("reply", [{"status": 500, "body": "no"}, {"status": 200, "body": "text"}])
    def test_a_refusal_is_no_answer(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reply: dict[str, Any]
    ) -> None:
        self.served(monkeypatch, reply)
        place = Place("ours", tmp_path, None, tmp_path)
        with pytest.raises((RuntimeError, TypeError)):
            pair.answers(place, pair.PAIRS[0], tmp_path, (), "nixl", tmp_path / "log")


class TestServers:
    def test_a_port_is_given_once(self) -> None:
        assert len({server.free_port() for _ in range(200)}) == 200

    def test_another_process_that_listens_is_not_ours(self) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            assert server._listens(os.getpid(), port)
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            try:
                assert not server._listens(child.pid, port)
            finally:
                child.communicate(b"\n")


class TestDefaults:
    @staticmethod
    def measured(decode: float, backend: str) -> dict[str, Any]:
        each = [[8, 4096, [decode, decode * 1.1, decode * 0.9]]]
        return {"decode": each, "prefill": [], "arguments": {"attention_backend": backend}}

    def test_each_size_says_the_medians_and_how_many_times_upstream_s(self) -> None:
        upstream, ours, triton = defaults.CHOICES[:3]
        found = defaults.compared([
            (upstream, self.measured(2.0, "fa3")), (ours, self.measured(2.5, "flashinfer")),
            (triton, {"error": ["no such backend"]}),
        ])  # fmt: skip
        assert [(case.name, case.verdict) for case in found] == [
            ("v3 engines", NOT_RUN), ("v3 decode 8 x 4096", PASSED),
        ]  # fmt: skip
        assert "no such backend" in found[0].lines[0]
        assert found[1].lines == ("upstream fa3 2 ms a step", "ours flashinfer 2.5 ms a step, 1.250 times")

    def test_without_upstream_s_default_nothing_is_compared(self) -> None:
        upstream, ours, triton = defaults.CHOICES[:3]
        found = defaults.compared([
            (upstream, {"error": ["out of memory"]}), (ours, self.measured(2.5, "flashinfer")),
            (triton, self.measured(5.0, "triton")),
        ])  # fmt: skip
        assert [(case.name, case.verdict) for case in found] == [("v3 engines", NOT_RUN)]

    def test_a_slower_default_is_told_and_drawn(self) -> None:
        upstream, ours = defaults.CHOICES[:2]
        found = defaults.compared([
            (upstream, self.measured(2.0, "fa3")), (ours, self.measured(2.5, "flashinfer")),
        ])  # fmt: skip
        one = found[0]
        case = {"name": one.name, "verdict": PASSED, "lines": one.lines, "figures": one.figures}
        said = {"predicate": {"checks": [{"name": "defaults", "cases": [case]}]}}
        rows = plot.rows_of(said)
        assert rows == [("v3 decode 8 x 4096", one.figures)]
        drawn = plot.drawn(rows)
        assert ElementTree.fromstring(drawn).tag.endswith("svg")
        assert ">1.25<" in drawn
        assert "1.250 times" in "".join(page.told("defaults", case))

    def test_a_chunk_fails_when_ours_does_not_give_what_its_halves_give(self) -> None:
        answers = {"upstream": {"error": ["CUDA error"]}, "ours": {"equal": True}}
        assert defaults.chunk(34816, answers).verdict == PASSED
        assert "CUDA error" in defaults.chunk(34816, answers).lines[0]
        assert defaults.chunk(34816, {**answers, "ours": {"equal": False}}).verdict == FAILED
        assert defaults.chunk(34816, {**answers, "ours": {"error": []}}).verdict == FAILED
