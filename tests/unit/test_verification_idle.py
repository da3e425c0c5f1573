"""Where nothing was compared the harness fails, and names are asked of the trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verification import gpu, names, pack
from verification.evidence import statement
from verification.real import compare, defaults, options, pair, process, run
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check, idle
from verification.subjects import Output, Subject

DECLINES = """Traceback (most recent call last):
  File "/x/verification/real/engine.py", line 20, in main
    engine = sglang.Engine()
  File "{tree}/python/sglang/srt/server_args.py", line 3, in check
    {code}
ValueError: not on this GPU
"""


class TestNothingRan:
    def test_a_check_without_a_case_that_ran_is_named_in_one_sentence(self) -> None:
        late = Case("v3", NOT_RUN, ("there was no time left",))
        ran = Check("server", (late, Case("chat", PASSED)))
        assert idle([Check("engines", (late,)), ran]) == ["no case of engines ran: there was no time left"]
        assert idle([Check("engines", ())]) == ["no case of engines ran: there is none"]

    @pytest.mark.parametrize(("verdict", "status"), [(PASSED, 0), (NOT_RUN, 1), (FAILED, 1)])
    def test_the_exit_status_is_0_only_if_something_was_compared(
        self, verdict: str, status: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as stop:
            gpu.end([Check("server", (Case("chat", PASSED),)), Check("engines", (Case("v3", verdict),))])
        assert int(stop.value.code or 0) == status
        assert ("no case of engines ran" in capsys.readouterr().out) == (verdict == NOT_RUN)

    def test_stages_that_lack_a_gpu_or_a_wheel_are_left_out_by_default(self) -> None:
        assert set(run.unfit(1, {})) == {"pair", "installed"}
        whole = {f"{kind}-{role}": "" for kind in ("kernel", "wheel") for role in ("upstream", "ours")}
        assert run.unfit(2, whole) == {}


class TestBothFail:
    def test_a_tree_declines_where_its_own_code_raises(self, tmp_path: Path) -> None:
        declines = DECLINES.format(tree=tmp_path, code='raise ValueError("not on this GPU")')
        assert process.refused(declines, tmp_path)
        assert process.refused(DECLINES.format(tree=tmp_path, code="assert major > 9"), tmp_path)
        others = (
            "",  # it was killed
            "error: unrecognized arguments: --x",
            DECLINES.format(tree=tmp_path, code="import typing_inspection"),
            DECLINES.format(tree="/site/torch", code="raise RuntimeError()"),
            DECLINES.format(tree="/site/torch", code="raise RuntimeError()") + declines,
        )
        assert not any(process.refused(log, tmp_path) for log in others)

    def test_what_ends_both_and_is_in_neither_is_a_failure(self) -> None:
        fault: dict[str, Any] = {"error": ["TypeError: no dataclass"], "refused": False}
        declines = {"error": ["ValueError: not on this GPU"], "refused": True}
        case = compare.engines("v3", [fault, fault], [fault], 1)
        assert (case.verdict, case.lines[0]) == (FAILED, compare.NEITHER)
        assert compare.engines("v3", [declines, declines], [declines], 1).verdict == NOT_RUN
        assert compare.engines("v3", [declines, fault], [declines], 1).verdict == FAILED

    def test_so_it_is_of_pairs_and_of_defaults(self) -> None:
        turns = ("upstream", "ours", "upstream again")
        for refused, verdict in ((False, FAILED), (True, NOT_RUN)):
            fault = {"error": ("RuntimeError", "boom"), "refused": refused}
            (case,) = pair._compared("nixl-v3", dict.fromkeys(turns, fault))
            assert case.verdict == verdict
            (case,) = defaults.compared([(choice, fault) for choice in defaults.CHOICES[:3]])
            assert case.verdict == verdict
        late = {"error": ["there was no time left"], "late": True}
        (case,) = defaults.compared([(choice, late) for choice in defaults.CHOICES[:3]])
        assert case.verdict == NOT_RUN

    def test_a_process_that_is_too_slow_declines_nothing(self, tmp_path: Path) -> None:
        place = Place("ours", tmp_path, None, tmp_path)
        answer = process.ask(place, "verification.real.chunks", {}, tmp_path / "asked", 0.01)
        assert answer["error"][-1] == "it was ended after 0.01 seconds" and not answer["refused"]


class TestNames:
    def test_an_argument_is_given_by_the_name_that_the_tree_has(self) -> None:
        given = {"cuda_graph_bs": [1], "tp_size": 2, "enforce_disable_flashinfer_allreduce_fusion": True}
        later = {"cuda_graph_bs_decode", "cuda_graph_bs_prefill", "tp_size"}
        assert names.named(given, later) == {"cuda_graph_bs_decode": [1], "tp_size": 2}
        assert names.named(given, set(given)) == given
        words = ("--dtype", "bfloat16", "--cuda-graph-bs", "1", "--nsa-prefill-backend", "tilelang")
        assert names.worded(words, {"--dtype", "--cuda-graph-bs-decode", "--dsa-prefill-backend", "-h"}) == [
            "--dtype", "bfloat16", "--cuda-graph-bs-decode", "1", "--dsa-prefill-backend", "tilelang",
        ]  # fmt: skip
        assert names.worded(words, {word for word in words if word.startswith("--")}) == list(words)

    def test_one_that_the_tree_has_by_no_name_is_said(self) -> None:
        with pytest.raises(LookupError, match="cuda_graph_bs or cuda_graph_bs_decode"):
            names.worded(("--cuda-graph-bs", "1"), {"--dtype"})
        with pytest.raises(LookupError, match="mistyped"):
            names.named({"mistyped": 1}, {"tp_size"})

    def test_the_tree_s_parser_is_asked_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        arguments = tmp_path / "python/sglang/srt/server_args.py"
        arguments.parent.mkdir(parents=True)
        arguments.write_text(
            "class ServerArgs:\n    @staticmethod\n    def add_cli_args(parser):\n"
            "        parser.add_argument('--cuda-graph-bs-decode')\n"
        )
        place = Place("ours", tmp_path, None, tmp_path)
        for _ in range(2):
            assert options.worded(place, ("--cuda-graph-bs", "1")) == ["--cuda-graph-bs-decode", "1"]
            arguments.write_text("raise ValueError('asked again')")
        (tmp_path / "options-ours.json").unlink()
        with pytest.raises(RuntimeError, match="asked again"):
            options.worded(place, ("--cuda-graph-bs", "1"))


class TestEvidence:
    def test_it_names_the_commit_and_each_wheel_and_no_digest_of_nothing(self, tmp_path: Path) -> None:
        said = pack.harness()
        wheels = {"torch-2-py3-none-any.whl": "ab" * 32}
        for digest in (said["digest"], "another"):
            told = {"harness": {"digest": digest, "commit": "c" * 40}, "packages": wheels}
            (tmp_path / "subjects.json").write_text(json.dumps(told))
            harness = gpu.harness("m", tmp_path)
            assert ("commit" in harness) == (digest == said["digest"])
            trees = [Subject(role, tmp_path, role) for role in ("upstream", "ours")]
            output = Output("u", "t", "t", "", "")
            data = statement(output, trees[0], trees[1], [], {}, harness, gpu.packages(tmp_path))
            rows = {each["name"]: each["digest"] for each in json.loads(data)["predicate"]["configuration"]}
            assert rows["torch-2-py3-none-any.whl"] == {"sha256": "ab" * 32}
            assert rows["harness"].get("gitCommit", "") == harness.get("commit", "")
            assert b"e3b0c44298fc1c14" not in data
