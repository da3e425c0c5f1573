"""Random mutants: what is drawn, how it is told, and the code that live functions get."""

from __future__ import annotations

import json
import sys
import time
import types
from functools import partial
from pathlib import Path

import pytest

from verification import corpus, mutants
from verification.checks import mutants as checks
from verification.probes import mutants as probe
from verification.results import FAILED, NOT_RUN, PASSED
from verification.subjects import Subject

TEXT = '''\
import logging
LIMIT = 3


def fits(size, limit=4):
    """How it is said."""
    logging.info("asked %d", 7)
    assert size > 0
    if size < limit and not size == 2:
        return size + 1
    total: int = 0
    for each in range(size):
        if each in (1, 5):
            continue
        total += each
    return None


class Box:
    def __init__(self):
        self.full = False
        self.names = [
            "a",
            len(
                "b"
            ),
        ]


@jit
def kernel(size):
    return size + 1
'''
EVERY = range(1, 40)
NEEDS_3_11 = pytest.mark.skipif(sys.version_info < (3, 11), reason="probes run on Python 3.11 or newer")


def edits(line: int) -> set[str]:
    return {one.shown for one in mutants.of_file("a.py", TEXT, EVERY) if one.line == line}


class TestDraw:
    def test_every_operator_edits_its_statement(self) -> None:
        assert edits(9) == {
            "size < limit -> (size <= limit)", "size == 2 -> (size != 2)", "2 -> (3)",
            "not size == 2 -> (size == 2)",
            "size < limit and not size == 2 -> (size < limit or not size == 2)",
            "size < limit and not size == 2 -> (not (size < limit and (not size == 2)))",
        }  # fmt: skip
        assert edits(10) == {"return size + 1 -> return None", "size + 1 -> (size - 1)", "1 -> (2)"}
        assert edits(14) == {"continue -> break"}
        assert edits(15) == {"total += each -> pass", "total += each -> total -= each"}
        assert "self.full = False -> pass" in edits(21)

    def test_messages_assertions_defaults_kernels_and_what_stands_outside_functions_stay(self) -> None:
        lines = {one.line for one in mutants.of_file("a.py", TEXT, EVERY)}
        assert lines.isdisjoint({1, 2, 5, 6, 7, 8, 16, 32, 33})

    def test_only_executed_lines_are_edited(self) -> None:
        assert {one.line for one in mutants.of_file("a.py", TEXT, [9, 33])} == {9}

    def test_each_is_a_program_whose_lines_have_their_numbers(self) -> None:
        for one in mutants.of_file("a.py", TEXT, EVERY):
            changed = one.apply(TEXT)
            compile(changed, "a.py", "exec")
            assert changed != TEXT
            assert changed.count("\n") == TEXT.count("\n"), one.name

    def test_a_seed_draws_the_same_again_and_a_line_once(self) -> None:
        sources, executed = {"a.py": TEXT, "b.py": TEXT}, {"a.py": EVERY, "b.py": [9]}
        first = mutants.drawn(sources, executed, 5, seed=1)
        assert first == mutants.drawn(sources, executed, 5, seed=1)
        assert first != mutants.drawn(sources, executed, 5, seed=2)
        all_of_them = mutants.drawn(sources, executed, 500, seed=1)
        places = [(one.path, one.line) for one in all_of_them]
        assert len(set(places)) == len(places) < 20
        assert ("b.py", 9) in places

    def test_another_is_drawn_for_one_that_is_known_to_be_equivalent(self) -> None:
        draw = partial(mutants.drawn, {"a.py": TEXT}, {"a.py": EVERY}, 3, 0)
        first, *others = draw()
        again = draw(equivalent=lambda one: one == first)
        assert again[:2] == others
        assert len(again) == 3
        assert first not in again


@NEEDS_3_11
class TestCode:
    def test_live_functions_and_methods_get_the_mutated_code(self) -> None:
        text = TEXT.replace("@jit\n", "")
        module = types.ModuleType("mutated")
        exec(compile(text, "/mutated/a.py", "exec", dont_inherit=True), module.__dict__)
        bound, box = module.fits, module.Box()
        (one,) = (m for m in mutants.of_file("a.py", text, [10]) if m.text == "(size - 1)")
        assert bound(1) == 2
        assert probe.replace("/mutated/a.py", one.apply(text)) == 1
        assert bound(1) == 0
        (other,) = (m for m in mutants.of_file("a.py", text, [21]) if m.text == "(True)")
        assert probe.replace("/mutated/a.py", other.apply(text)) == 2  # the first is mended
        assert (bound(1), box.full, module.Box().full) == (2, False, True)

    def test_what_has_no_live_function_changes_nothing(self) -> None:
        assert probe.replace("/nowhere/a.py", TEXT.replace("@jit\n", "")) == 0


class TestForks:
    def test_what_a_fork_gives_comes_back_and_what_it_leaves_behind_does_not(self) -> None:
        kept: list[int] = []
        assert probe.in_fork(lambda: kept.append(1) or [kept, "x" * 100_000], 20) == [
            "done",
            [[1], "x" * 100_000],
        ]
        assert kept == []

    def test_an_error_and_an_exit_are_told_apart_from_an_answer(self) -> None:
        def wrong() -> None:
            raise SystemExit("over")

        assert probe.in_fork(wrong, 20) == ["failed", "SystemExit: over"]

    def test_one_that_never_ends_is_late(self) -> None:
        assert probe.in_fork(lambda: time.sleep(60), 0.2) == ["late"]

    def test_the_first_trial_that_sees_it_kills_it(self, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / "a.py").write_text("x = 1\n")
        monkeypatch.setattr(probe, "replace", lambda file, text: text == "x = 2\n")
        normal = {"a": ["done", {"n": 1}], "b": ["done", {"n": 1}], "c": ["done", {"n": 2}]}
        trials = {name: lambda: {"n": 1} for name in "abc"}
        mutant = {"name": "m", "path": "a.py", "start": 4, "end": 5, "text": "2", "trials": ["c", "a", "z"]}
        quick = {"a": 0.1, "b": 0.2, "c": 0.3}
        said = probe._tried(mutant, trials, normal, quick, tmp_path)
        assert said == {"killed by": "c", "how": {"differs": ["n"], "error": ""}}
        said = probe._tried({**mutant, "trials": ["a"]}, trials, normal, quick, tmp_path)
        assert said == {"survived": ["a"]}
        said = probe._tried({**mutant, "text": "3"}, trials, normal, quick, tmp_path)
        assert set(said) == {"not applied"}


class TestCheck:
    @pytest.fixture
    def ours(self, tmp_path: Path) -> Subject:
        file = tmp_path / "python/sglang/srt/a.py"
        file.parent.mkdir(parents=True)
        file.write_text(TEXT)
        return Subject("ours", tmp_path, "t")

    def test_lines_of_all_trials_are_drawn_from_and_each_mutant_has_its_trials(self, ours: Subject) -> None:
        path = "python/sglang/srt/a.py"
        lines = {"parts": {"p": {path: [9]}, "q": {path: [9, 10]}, "r": {"python/x.py": [1]}}}
        chosen = checks.draw(ours, lines, 10, 0)
        assert [one.line for one in sorted(chosen, key=lambda one: one.line)] == [9, 10]
        told = {each["name"].split(":")[1]: each["trials"] for each in checks.told(chosen, lines["parts"])}
        assert told == {"9": ["p", "q"], "10": ["q"]}
        json.dumps(checks.told(chosen, lines["parts"]))

    def test_killed_is_passed_and_a_survivor_has_its_reason(self, ours: Subject) -> None:
        path = "python/sglang/srt/a.py"
        chosen = mutants.drawn({path: TEXT}, {path: [10, 14, 15, 21]}, 9, 0)
        killed, late, survived, none = chosen
        how = {"differs": ["events"], "error": ""}
        parts = {
            killed.name: {"killed by": "queue", "how": how}, survived.name: {"survived": ["queue"]},
            none.name: {"not applied": "x"},
        }  # fmt: skip
        answers = {"parts": parts, "v3": {late.name: {"killed by": "forward", "how": {"ended": ["late"]}}}}
        reason = checks.Survivor("a.py", survived.function[:2] + "*", "*", "it is the same")
        found = {case.name: case for case in checks.judged(chosen, answers, [reason]).cases}
        assert found[killed.name.removeprefix("python/sglang/srt/")].verdict == PASSED
        assert "killed by v3, which takes too long" in str(found)
        assert "survives queue: it is the same" in str(found)
        assert [case.verdict for case in found.values()].count(NOT_RUN) == 2
        assert "nobody has looked at it" in str(checks.judged(chosen, answers, []).cases)

    def test_launch_commands_of_one_machine_are_tried_none_that_is_refused(self) -> None:
        asked = checks._launched()["arguments"]
        known = {one.name: one for one in corpus.read()}
        assert len(asked["commands"]) >= 15
        assert asked["capability"] == [9, 0]
        assert not any(known[name].refused for name in asked["commands"])
        assert all(known[name].model in asked["models"] for name in asked["commands"])

    def test_what_a_command_kills_is_told_by_its_name(self, ours: Subject) -> None:
        (one,) = mutants.drawn({"a.py": TEXT}, {"a.py": [14]}, 1, 0)
        dead = {"killed by": "v3-default", "how": {"differs": ["arguments"], "error": ""}}
        case = checks.judged([one], {"parts": {}, "arguments": {one.name: dead}}, ()).cases[0]
        assert case.lines == ("continue -> break: killed by v3-default, whose arguments differ",)

    def test_too_few_that_are_killed_fail_whatever_was_not_tried(self) -> None:
        chosen = mutants.drawn({"a.py": TEXT}, {"a.py": EVERY}, 6, 0)
        dead = {"killed by": "p", "how": {"differs": [], "error": ""}}
        alive, never = {"survived": ["p"]}, {"not applied": "x"}
        answers = {one.name: said for one, said in zip(chosen, [dead] * 4 + [alive, never], strict=True)}
        assert checks.judged(chosen, {"parts": answers}, ()).verdict == PASSED
        answers[chosen[0].name] = alive
        check = checks.judged(chosen, {"parts": answers}, ())
        assert (check.verdict, check.lines) == (FAILED, ("3 of 5 mutants are killed: less than 80%",))

    def test_one_that_nothing_can_tell_apart_does_not_count(self) -> None:
        one, other, last = mutants.drawn(
            {"python/sglang/srt/a.py": TEXT}, {"python/sglang/srt/a.py": EVERY}, 3, 0
        )
        dead = {"killed by": "p", "how": {"differs": [], "error": ""}}
        answers = {one.name: dead, other.name: {"survived": ["p"]}, last.name: {"survived": ["p"]}}
        reasons = [checks.Survivor("a.py", each.function, "*", "the same", True) for each in (other, last)]
        check = checks.judged([one, other, last], {"parts": answers}, reasons)
        assert check.verdict == PASSED
        assert "is equivalent: the same" in str(check.cases)
        assert checks.judged([one, other, last], {"parts": answers}, ()).lines == (
            "1 of 3 mutants are killed: less than 80%",
        )

    def test_reasons_of_this_repository_name_a_file_and_say_why(self) -> None:
        assert all(one.path.endswith(".py") and one.why for one in checks.survivors())
