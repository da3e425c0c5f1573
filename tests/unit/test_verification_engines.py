"""Engines of both trees, so many at a time; upstream's answers are kept, and mutants of ours are tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verification.real import edited, engines, models, mutants, process, run
from verification.real.matrix import CONFIGURATIONS, Configuration
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED

_CONFIGURATION = Configuration("c", arguments={"tp_size": 1})
_SOURCE = "def scale(value):\n    return value * 2\n\n\ndef unused(value):\n    return value + 1\n"
_FILE = "python/sglang/srt/layers/scale.py"


def answer(number: float) -> dict[str, Any]:
    output = {"text": "", "ids": [1], "logprobs": [float(number).hex()], "top": []}
    one = {"alone": [output], "structured": [], "together": [output], "mixed": []}
    return {"rounds": [one, one], "digest": f"{number}", "arguments": {}, "seconds": {}}


class Machine:
    """Stands for the processes of engines: each runs `scale` of its tree, as an edit leaves it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.most = self._now = 0
        self._lock = threading.Lock()
        monkeypatch.setattr(process, "ask", self.ask)
        monkeypatch.setattr(models, "write", lambda architecture, quantization, folder, experts: folder)

    def ask(
        self, place: Place, module: str, question: Mapping[str, Any], folder: Path, seconds: float
    ) -> dict[str, Any]:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.asked.append(folder.name)
        time.sleep(0.01)
        with self._lock:
            self._now -= 1
        source = (place.tree / _FILE).read_text() if (place.tree / _FILE).exists() else _SOURCE
        if said := place.more.get(edited.EDIT):
            edit = json.loads(Path(said).read_text())
            assert edit["file"] == str(place.tree / _FILE)
            source = source[: edit["start"]] + edit["text"] + source[edit["end"] :]
        if said := place.more.get(edited.LINES):
            tree, _, lines = said.partition(os.pathsep)
            (Path(lines) / "1").write_text(f"{tree}/{_FILE}:1\n{tree}/{_FILE}:2\n{tree}/cut sho")
        names: dict[str, Any] = {}
        exec(source, names)
        try:
            return answer(names["scale"](3.0))
        except TypeError as error:
            return {"error": [f"TypeError: {error}"], "refused": False}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def places(folder: Path) -> tuple[Place, Place]:
    file = folder / "ours" / _FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_SOURCE)
    return Place("upstream", folder / "theirs", None, folder), Place("ours", folder / "ours", None, folder)


def asker(folder: Path, jobs: int = 2, machine: str = "m", seconds: float = 60) -> engines.Asker:
    return engines.Asker(folder / "work", folder / "kept", machine, jobs, 9, time.monotonic() + seconds)


def checked(folder: Path, one: engines.Asker, count: int = 1) -> engines.Check:
    configurations = [Configuration(f"c{number}") for number in range(count)]
    return engines.check(one, places(folder), configurations, False, lambda check: None)


class TestEngines:
    def test_no_more_run_at_a_time_than_asked(self, tmp_path: Path, machine: Machine) -> None:
        assert checked(tmp_path, asker(tmp_path), 4).counts == {PASSED: 4, FAILED: 0, NOT_RUN: 0}
        assert machine.most == 2 and len(machine.asked) == 12

    def test_what_upstream_said_serves_for_another_output(self, tmp_path: Path, machine: Machine) -> None:
        checked(tmp_path, asker(tmp_path))
        assert sorted(machine.asked) == ["ours", "upstream", "upstream-again"]
        assert checked(tmp_path, asker(tmp_path)).verdict == PASSED
        assert machine.asked[3:] == ["ours"]
        checked(tmp_path, asker(tmp_path, machine="another GPU"))
        assert len(machine.asked) == 7

    def test_after_its_time_nothing_starts(self, tmp_path: Path, machine: Machine) -> None:
        check = checked(tmp_path, asker(tmp_path, seconds=-1))
        assert check.verdict == NOT_RUN and not machine.asked

    def test_what_is_begun_is_gone_on_with_first(self) -> None:
        slots, order = engines._Slots(1), []

        def wait(name: str, begun: bool) -> None:
            with slots.one(begun):
                order.append(name)

        with slots.one(False):
            threads = []
            for each in (("new", False), ("newer", False), ("begun", True)):
                threads.append(threading.Thread(target=wait, args=each))
                threads[-1].start()
                time.sleep(0.05)
        for thread in threads:
            thread.join()
        assert order == ["begun", "new", "newer"]


class TestConfigurations:
    def test_they_are_asked_of_the_outputs_that_have_what_they_ask_for(self) -> None:
        def names(*batches: str) -> set[str]:
            return {each.name for each in CONFIGURATIONS if each.fits(frozenset(batches))}

        usual = names("fa3-fa4", "flashmla")
        assert {"v3-flashinfer-default", "v32", "v3-hicache", "v1-lora", "v3-nextn-triton"} <= usual
        assert not {"v3-default", "v32-default"} & usual
        hopper = names("lora", "speculative-decoding")
        assert {"v3-default", "v32-default", "v3-triton"} <= hopper
        assert not {each for each in hopper if "lora" in each or "nextn" in each}
        assert not {"v3-flashinfer-default", "v32", "v32-sparse"} & hopper

    def test_they_run_in_the_order_that_was_asked_for(self) -> None:
        names = [each.name for each in run.chosen(CONFIGURATIONS, ["v32", "v2", "v3-t"])]
        assert names[0].startswith("v32") and len(set(names)) == len(names)
        assert names.index("v2-triton") < names.index("v3-triton")
        assert run.chosen(CONFIGURATIONS, ()) == list(CONFIGURATIONS)

    def test_each_has_a_name_of_its_own(self) -> None:
        assert len({each.name for each in CONFIGURATIONS}) == len(CONFIGURATIONS)

    def test_adapters_are_named_by_their_folder(self, tmp_path: Path) -> None:
        upstream, _ = places(tmp_path)
        question = engines._question(upstream, Configuration("c", adapter=True), "/m")
        assert question["arguments"] == {"lora_paths": ["adapter=/m/adapter"]} and question["adapter"]


class TestMutants:
    @pytest.fixture(autouse=True)
    def _monitors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mutants, "_MONITORS", True)

    @staticmethod
    def check(folder: Path, upstream: str = _SOURCE) -> engines.Check:
        theirs = folder / "theirs" / _FILE
        theirs.parent.mkdir(parents=True, exist_ok=True)
        theirs.write_text(upstream)
        return mutants.check(
            asker(folder, 4), places(folder), [_CONFIGURATION], folder / "work", mutants.Draw(5, 1),
            lambda check: None,
        )  # fmt: skip

    def test_what_an_engine_tells_from_upstream_s_is_killed(self, tmp_path: Path, machine: Machine) -> None:
        check = self.check(tmp_path)
        assert check.verdict == PASSED and len(check.cases) == 1  # of the one line that is executed
        assert "killed by c" in check.cases[0].lines[0]
        assert "ours-among-mutants" in machine.asked
        assert self.check(tmp_path) == check  # another call goes on from there
        assert machine.asked.count("mutant-0") == machine.asked.count("ours-recorded") == 1

    def test_ours_has_to_pass_as_it_is(self, tmp_path: Path, machine: Machine) -> None:
        check = self.check(tmp_path, _SOURCE.replace("* 2", "* 3"))
        assert check.verdict == FAILED and "ours as it is, among mutants: c failed" in check.lines[-1]

    def test_without_upstream_s_answer_nothing_is_tried(self, tmp_path: Path, machine: Machine) -> None:
        check = self.check(tmp_path, _SOURCE.replace("* 2", "* None"))
        assert not check.cases and "c: TypeError" in check.lines[0]
        assert sorted(machine.asked) == ["ours-recorded", "upstream", "upstream-again"]

    def test_what_survives_is_tried_in_the_configurations_beside(
        self, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mutants, "judged", lambda case, answer, name: {"survived": [name]})
        theirs = tmp_path / "theirs" / _FILE
        theirs.parent.mkdir(parents=True)
        theirs.write_text(_SOURCE)
        both = [_CONFIGURATION, replace(_CONFIGURATION, name="d")]
        for beside, drawn in ((frozenset({"d"}), 1), (frozenset({"c", "d"}), 0)):
            check = mutants.check(
                asker(tmp_path, 4), places(tmp_path), both, tmp_path / f"work{drawn}",
                mutants.Draw(5, 1, beside), lambda check: None,
            )  # fmt: skip
            assert len(check.cases) == drawn
        assert machine.asked.count("mutant-0") == 2

    def test_what_no_time_is_left_for_is_said(self, tmp_path: Path) -> None:
        (tmp_path / _FILE).parent.mkdir(parents=True)
        (tmp_path / _FILE).write_text(_SOURCE)
        chosen = mutants.draw(tmp_path, {"c": {_FILE: {2, 6}}}, mutants.Draw(2, 1))
        check = mutants._told(chosen, {"c": {chosen[0].name: {"killed by": "c", "how": {"differs": []}}}})
        assert [case.verdict for case in check.cases] == [PASSED, NOT_RUN]
        assert check.cases[1].lines == (engines.LATE,)

    def test_another_python_is_said(
        self, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mutants, "_MONITORS", False)
        assert self.check(tmp_path).verdict == NOT_RUN


class TestEdited:
    @staticmethod
    def run(folder: Path, **variables: str) -> str:
        """What a process prints that imports a module of a tree, begun as servers are."""
        (folder / "tree").mkdir()
        (folder / "tree/m.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 3\n")
        site = Path(edited.__file__).parent / "site"
        environment = {
            "PYTHONPATH": f"{site}{os.pathsep}{folder / 'tree'}", "VERIFICATION_ROOT": str(site.parents[2]),
            **variables,
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-c", "import m; print(m.f())"], env=environment, capture_output=True, text=True,
            check=True,
        ).stdout  # fmt: skip

    def test_a_module_is_imported_with_the_edit(self, tmp_path: Path) -> None:
        said = {"file": str(tmp_path / "tree/m.py"), "start": 20, "end": 21, "text": "7"}
        (tmp_path / "edit.json").write_text(json.dumps(said))
        assert self.run(tmp_path, VERIFICATION_EDIT=str(tmp_path / "edit.json")) == "7\n"

    @pytest.mark.skipif(sys.version_info < (3, 12), reason="it takes sys.monitoring")
    def test_the_lines_that_are_executed_are_written_down(self, tmp_path: Path) -> None:
        (tmp_path / "lines").mkdir()
        tree = tmp_path / "tree"
        self.run(tmp_path, VERIFICATION_LINES=f"{tree}{os.pathsep}{tmp_path / 'lines'}")
        assert edited.recorded(tmp_path / "lines") == {str(tree / "m.py"): {1, 2, 5}}


def test_a_model_is_written_once_with_its_adapter(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = models.write("DeepseekForCausalLM", "", tmp_path / "model")
    assert (folder / "adapter/adapter_config.json").exists()
    assert "q_lora_rank" not in json.loads((folder / "config.json").read_text())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
