"""The checks that compare tests and broken trees, on answers made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from verification import mutation, suite
from verification.checks import mutations
from verification.checks import suite as suites
from verification.mutation import Copy, Mutation
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject


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
