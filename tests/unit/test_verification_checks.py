"""The checks that compare parts, tests, broken trees and servers, on answers made here."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from http.client import IncompleteRead
from pathlib import Path
from typing import Any, ClassVar

import pytest

from verification import gpu, mutation, pack, page, suite
from verification.checks import mutations, parts
from verification.checks import suite as suites
from verification.mutation import Copy, Mutation
from verification.real import compare, gains, pair, server
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject


def statement(tree: str, check: str, *cases: dict[str, Any]) -> dict[str, Any]:
    """Evidence of one check."""
    counts = {"passed": 0, "failed": 0, "not run": 0}
    checks = [{"name": check, "verdict": "passed", "counts": counts, "cases": list(cases)}]
    return {
        "subject": [{"name": "tree", "digest": {"gitTree": tree}}],
        "predicate": {"configuration": [], "machine": {"gpu": "H"}, "checks": checks, "leftOut": {}},
    }


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
        error, said = {"error": "E: x", "place": ""}, part({})
        assert parts.case("p", error, error).verdict == NOT_RUN
        assert parts.case("p", said, error).verdict == FAILED
        assert parts.case("p", error, said).verdict == FAILED


class TestSuite:
    def test_what_is_left_out_needs_a_reason(self) -> None:
        assert suite.parse("a.py\nb.py slow - takes minutes\n")[1].without == "slow"
        with pytest.raises(ValueError, match="line 1"):
            suite.parse("b.py slow\n")

    def test_the_list_of_this_repository_names_each_file_once(self) -> None:
        paths = [file.path for file in suite.read()]
        assert len(set(paths)) == len(paths) >= 25

    def test_each_test_must_end_as_against_upstream(self) -> None:
        fine, broken = {"f::a": ["passed", ""]}, {"f::a": ["failed", "E boom"]}
        assert suites.case("f", fine, fine, {}).verdict == PASSED
        assert suites.case("f", fine, broken, {}).verdict == FAILED
        assert suites.case("f", fine, {}, {}).verdict == FAILED
        assert suites.case("f", broken, fine, {}).verdict == PASSED

    def test_tests_that_pass_nowhere_have_not_run(self) -> None:
        broken = {"f::a": ["failed", "E boom"]}
        assert suites.case("f", broken, broken, {}).verdict == NOT_RUN

    def test_a_declared_test_or_class_may_be_lost(self) -> None:
        theirs = {"f::T::a": ["passed", ""], "f::b": ["passed", ""]}
        mine = {"f::T::a": ["failed", ""], "f::b": ["passed", ""]}
        case = suites.case("f", theirs, mine, {"T": "gone"})
        assert (case.verdict, case.figures["declared"]) == (PASSED, ["T"])


class TestMutations:
    @pytest.fixture
    def copy(self, tmp_path: Path) -> Copy:
        file = tmp_path / "tree/python/sglang/srt/a.py"
        file.parent.mkdir(parents=True)
        file.write_text("x = 1\ny = 1\n")
        return Copy(Subject("ours", tmp_path / "tree", "t"), tmp_path / "broken")

    def test_the_first_place_after_another_is_broken_and_mended(self, copy: Copy, tmp_path: Path) -> None:
        one = Mutation("m", "a.py", "1", "2", after="y")
        broken = tmp_path / "broken/python/sglang/srt/a.py"
        copy.break_(one)
        assert broken.read_text() == "x = 1\ny = 2\n"
        copy.mend(one)
        assert broken.read_text() == "x = 1\ny = 1\n"
        assert (tmp_path / "tree/python/sglang/srt/a.py").read_text() == "x = 1\ny = 1\n"

    def test_compiled_files_of_two_texts_of_one_size_are_told_apart(self, copy: Copy, tmp_path: Path) -> None:
        broken = tmp_path / "broken/python/sglang/srt/a.py"
        times = set()
        for text in ("2", "3"):
            copy.break_(Mutation("m", "a.py", "1", text))
            times.add(int(broken.stat().st_mtime))
        assert len(times) == 2

    def test_it_is_caught_by_the_first_trial_that_fails(self, copy: Copy) -> None:
        def good(broken: Subject) -> Check:
            return Check("good", (Case("c", PASSED),))

        def bad(broken: Subject) -> Check:
            return Check("bad", (Case("c", FAILED, ("why",)),))

        one = Mutation("m", "a.py", "1", "2")
        assert mutations.one(
            one, copy, [mutations.Trial("good", good), mutations.Trial("bad", bad)]
        ).lines == ("caught by bad: c: why",)
        assert mutations.one(one, copy, [mutations.Trial("good", good)]).verdict == FAILED
        known = Mutation("m", "a.py", "1", "2", survives="equal")
        assert mutations.one(known, copy, [mutations.Trial("good", good)]).verdict == NOT_RUN

    def test_a_mutation_that_fits_nothing_has_not_run(self, copy: Copy) -> None:
        assert mutations.one(Mutation("m", "a.py", "z", "2"), copy, []).verdict == NOT_RUN
        assert mutations.one(Mutation("m", "b.py", "z", "2"), copy, []).verdict == NOT_RUN

    def test_there_are_twenty_ways_at_least_with_names_of_their_own(self) -> None:
        names = [each.name for each in mutation.read()]
        assert len(set(names)) == len(names) >= 20


def answer(*alone: list[tuple[int, float]]) -> dict[str, Any]:
    """What an engine says whose rounds differ in one output: (token, log-probability) of each step."""
    rounds = [
        {"alone": [{"ids": [step[0] for step in said], "logprobs": [step[1].hex() for step in said]}],
         "structured": [], "together": []}
        for said in alone
    ]  # fmt: skip
    return {"rounds": rounds, "digest": "d", "arguments": {}, "seconds": {}}


class TestRealKernels:
    def test_one_bit_of_one_log_probability_is_a_difference(self) -> None:
        upstream = answer([(1, -1.0)], [(1, -1.0)])
        assert compare.engines("e", [upstream], [upstream], 1).verdict == PASSED
        case = compare.engines("e", [upstream], [answer([(1, math.nextafter(-1.0, 0))])], 1)
        assert case.verdict == FAILED
        assert "logprobs" in case.lines[0]

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
            said = [[{"ids": [1], "logprobs": [value.hex()]} for value in values]
                    for values in (alone, (together,))]  # fmt: skip
            rounds = [{"alone": said[0], "structured": [], "together": said[1]}]
            return {"rounds": rounds, "digest": "d", "arguments": {}, "seconds": {}}

        upstream = [of((-1.0, -2.0), -3.0), of((-1.25, -2.0), -3.0)]
        assert compare.engines("e", upstream, [of((-1.25, -2.0), -3.0)], 1).verdict == PASSED
        assert compare.engines("e", upstream, [of((-1.0, -2.125), -3.0)], 1).verdict == NOT_RUN
        assert compare.engines("e", upstream, [of((-1.0, -2.0), -3.125)], 1).verdict == NOT_RUN
        assert compare.engines("e", upstream, [of((-2.0, -1.0), -3.0)], 1).verdict == FAILED  # exchanged

    def test_an_output_that_upstream_repeats_may_not_differ_where_others_wobble(self) -> None:
        def of(first: float, second: tuple[int, float], after: int) -> dict[str, Any]:
            said = [
                {"ids": [1], "logprobs": [first.hex()]},
                {"ids": [second[0], after], "logprobs": [second[1].hex(), "-0x1p+0"]},
            ]
            rounds = [{"alone": said, "structured": [], "together": []}]
            return {"rounds": rounds, "digest": "d", "arguments": {}, "seconds": {}}

        upstream = [of(-1.0, (2, -1.0), 5), of(-1.0 - 2**-20, (2, -1.0), 5)]
        assert compare.engines("e", upstream, [of(-1.0 - 2**-20, (2, -1.0), 5)], 1).verdict == PASSED
        for ours in (of(-1.0, (2, -1.0), 6), of(-1.0, (3, -1.0), 5)):  # a tie: other tokens, no distance
            assert compare.engines("e", upstream, [ours], 1).verdict == FAILED

    def test_what_upstream_does_not_repeat_without_any_distance_may_be_either(self) -> None:
        upstream = answer([(1, -1.0), (2, -1.0)], [(1, -1.0), (3, -1.0)])
        case = compare.engines("e", [upstream], [answer([(1, -1.0), (3, -1.0)])], 1)
        assert case.verdict == PASSED and case.figures["apart"] == 0.0
        other = answer([(1, -1.0), (4, -1.0)])
        assert compare.engines("e", [upstream], [other], 1).verdict == PASSED  # as far as upstream's own
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
        said = {"name": "e", "verdict": case.verdict, "figures": {**case.figures, "prompts": 1}}
        text = page.page("T", [statement("tree", "engines", said)])
        assert "without bound apart, every one of ours bit for bit as in one of them" in text

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


class TestPacks:
    @staticmethod
    def wheel(folder: Path, name: str, upstream: str) -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as wheel:
            said = {"upstream": upstream, "from": {"name": "k-1-py3-none-any.whl", "sha256": "ab"}}
            wheel.writestr("k-1+deepseek.dist-info/MODIFICATIONS.json", json.dumps(said))
        return path

    def test_the_published_kernel_wheel_is_the_one_that_ours_was_made_from(self, tmp_path: Path) -> None:
        cache, folder = tmp_path / "cache", tmp_path / "kernel"
        self.wheel(folder, "k-1+deepseek.one-py3-none-any.whl", "c1")
        ours = self.wheel(folder, "k-1+deepseek.two-py3-none-any.whl", "c2")
        with pytest.raises(FileNotFoundError, match="--download"):
            pack.kernels(folder, "c2", cache)
        published = cache / "kernel" / "ab" / "k-1-py3-none-any.whl"
        published.parent.mkdir(parents=True)
        published.touch()
        assert pack.kernels(folder, "c2", cache) == (published, ours)

    def test_a_folder_without_a_fitting_kernel_wheel_or_with_several_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="kernel-wheel"):
            pack.kernels(tmp_path, "c1", tmp_path)
        for name in ("a", "b"):
            self.wheel(tmp_path / "kernel", f"k-1+{name}-py3-none-any.whl", "c1")
        with pytest.raises(ValueError, match="leave one"):
            pack.kernels(tmp_path / "kernel", "c1", tmp_path)

    def test_an_output_of_an_archive_has_the_kernel_wheel_of_its_commit(self, tmp_path: Path) -> None:
        said = {"spec": "release", "commit": "c1", "tree": "t", "origin": "sdist"}
        (tmp_path / "build.json").write_text(json.dumps({"upstream": said}))
        assert pack.origin(tmp_path) == "c1"

    def test_sizes_are_of_whole_wheels_and_of_what_they_install(self, tmp_path: Path) -> None:
        wheels = []
        for name, size in (("one", 3000), ("two", 2000)):
            wheels.append(tmp_path / f"{name}.whl")
            with zipfile.ZipFile(wheels[-1], "w", zipfile.ZIP_DEFLATED) as packed:
                packed.writestr("k/a.so", b"0" * size)
        sizes = pack.kernel_sizes(wheels)
        assert sizes["the kernel wheel"] == [wheel.stat().st_size for wheel in wheels]
        assert sizes["the kernels, installed"] == [3000, 2000]
        assert pack.kernel_sizes(()) == {}

    def test_one_byte_more_is_worse_and_what_is_not_known_has_not_run(self, tmp_path: Path) -> None:
        for role in ("upstream", "ours"):
            (tmp_path / role / "python").mkdir(parents=True)
            (tmp_path / role / "python/a.py").write_text("0" * 1000)
        places = [Place(role, tmp_path / role, None, tmp_path) for role in ("upstream", "ours")]
        told = {"the wheel": [1000, 1001], "the kernel wheel": [1001, 1000]}
        verdicts = {case.name: case.verdict for case in gains.sizes(places, told)}
        assert verdicts == {
            "gain bytes of Python's tree": PASSED, "gain bytes of the wheel": FAILED,
            "gain bytes of the kernel wheel": PASSED, "gain bytes of the kernels, installed": NOT_RUN,
        }  # fmt: skip
        (tmp_path / "ours/python/a.py").unlink()
        nothing = {case.name: case.verdict for case in gains.sizes(places, {})}
        assert nothing["gain bytes of Python's tree"] == NOT_RUN

    def test_a_folder_that_is_no_pack_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match="make gpu-pack"):
            gpu.folder_of(tmp_path, tmp_path)
        (tmp_path / "subjects.json").write_text("{}")
        with pytest.raises(SystemExit, match="is no pack"):
            gpu.opened(tmp_path, tmp_path / "trees")

    def test_other_packs_never_meet(self, tmp_path: Path) -> None:
        found = set()
        for text in ("one", "two", "two"):
            (tmp_path / "subjects.json").write_text(text)
            found.add(gpu.folder_of(tmp_path, tmp_path / "work"))
        assert len(found) == 2

    def test_the_gpus_that_are_allowed_are_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
        assert gpu.visible() == ["3", "5"]
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
        monkeypatch.setenv("PATH", "")
        assert gpu.visible() == ["0"]

    def test_without_torch_one_sentence_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(SystemExit, match="no torch"):
            gpu.need_torch()

    def test_a_wheel_that_is_not_ours_is_refused(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "k-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("k/__init__.py", "")
        with pytest.raises(ValueError, match="not made by"):
            pack.kernels(tmp_path, "c1", tmp_path)


class TestPages:
    def test_a_page_has_each_check_and_what_did_not_run(self) -> None:
        check = {
            "name": "forward", "verdict": "failed", "counts": {"passed": 1, "failed": 1, "not run": 1},
            "cases": [
                {"name": "good", "verdict": "passed", "figures": {"events": 1234, "attention": ["triton"]}},
                {"name": "bad", "verdict": "failed", "lines": ["a | b"]},
                {"name": "none", "verdict": "not run", "lines": ["why"]},
            ],
        }  # fmt: skip
        said = {
            "subject": [{"name": "tree", "digest": {"gitTree": "b" * 40}}],
            "predicate": {
                "configuration": [], "machine": {"gpu": "H"}, "checks": [check], "leftOut": {"suite": "x"},
            },
        }  # fmt: skip
        text = page.page("T", [said], ["several nodes"])
        assert "1,234 events" in text
        assert "a \\| b" in text
        assert text.endswith("- suite: x\n- forward, none: why\n- several nodes\n")

    def test_a_check_that_another_run_did_is_not_left_out(self) -> None:
        empty = {
            "subject": [],
            "predicate": {"configuration": [], "machine": {}, "checks": [], "leftOut": {"s": "x"}},
        }
        check = {
            "name": "s",
            "verdict": "passed",
            "counts": {"passed": 1, "failed": 0, "not run": 0},
            "cases": [],
        }
        other = json.loads(json.dumps(empty))
        other["predicate"].update(checks=[check], leftOut={})
        assert "Everything ran" in page.page("T", [empty, other])

    def test_a_case_that_another_run_of_the_tree_did_is_not_left_out(self) -> None:
        def run(tree: str, *cases: dict[str, Any]) -> dict[str, Any]:
            counts = {"passed": 0, "failed": 0, "not run": 0}
            check = {"name": "c", "verdict": "passed", "counts": counts, "cases": list(cases)}
            return {
                "subject": [{"name": "tree", "digest": {"gitTree": tree}}],
                "predicate": {
                    "configuration": [], "machine": {"gpu": "H"}, "checks": [check], "leftOut": {},
                },
            }  # fmt: skip

        text = page.page("T", [run("a"), run("b"), run("c")])
        assert text.index("## Run 1") < text.index("| tree | a |")  # no tree is the usual one
        bare = run("a")
        bare["predicate"]["machine"] = {}
        text = page.page("T", [run("a"), run("a"), bare])
        assert text.index("## Run 3") < text.index("| gpu | none |")
        text = page.page("T", [run("a"), run("a"), run("b")])
        assert [text.count(f"| tree | {tree} |") for tree in "ab"] == [1, 1]
        assert text.index("| tree | a |") < text.index("## Run 1") < text.index("| tree | b |")
        ended = {"name": "completed", "verdict": "passed", "figures": {"each": [[1, 2]]}}
        loads = run("a", ended)
        loads["predicate"]["checks"][0]["name"] = "throughput"
        assert "completed" not in page.page("T", [loads])

        late = {"name": "x", "verdict": "not run", "lines": ["no time"]}
        crash = {"name": "x", "verdict": "not run", "lines": ["a crash"]}
        done = {"name": "x", "verdict": "passed"}
        assert "Everything ran" in page.page("T", [run("a", late), run("a", done)])
        assert page.page("T", [run("a", late), run("b", done)]).endswith("- c, x: no time\n")
        text = page.page("T", [run("a", late), run("a", crash)])
        assert text.endswith("## What did not run\n\n- c, x: a crash\n")
        assert text.count("| gpu | H |") == 1  # what the runs have alike is told once


def test_a_pack_holds_what_runs_and_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("python/a.py", "docs/b.md", "python/__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    data = pack.pack(tmp_path)
    assert data == pack.pack(tmp_path)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getnames() == ["python/a.py"]
