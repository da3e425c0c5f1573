from __future__ import annotations

import re

import pytest
from gate_worlds import manifest, worlds
from hypothesis import given
from hypothesis import strategies as st

from builder.analysis.removals import Removals
from builder.errors import Mark, Problem, by_cause
from builder.gates import guarantees
from builder.gates.guarantees import _matching_lines
from builder.manifest.model import AbsentText, Guarantees, Kept, TextException
from builder.report import also

HERE = Mark("manifest.yaml", 8, 5)
THERE = Mark("manifest.yaml", 9, 9)
FILES = {"a.py": "x = 1\nbackend = 'fa3'  # Ascend\n", "b.py": "def f(): ...\n", "c/d.py": "fa3 = 1\n"}


def run(stated: Guarantees) -> list[Problem]:
    before, after = worlds(FILES, {})
    return guarantees.check(before, after, manifest(stated), Removals())


def absent(pattern: str, *exceptions: TextException, paths: tuple[str, ...] = ("python/**",)) -> Guarantees:
    return Guarantees((AbsentText(pattern, paths, HERE, exceptions),))


def test_forbidden_text_is_found_with_file_line_and_text() -> None:
    first, second = run(absent(r"\bfa3\b"))
    assert first.message.startswith("python/pkg/a.py:2: ")
    assert first.mark == HERE
    assert first.excerpt == "backend = 'fa3'  # Ascend"
    assert second.message.startswith("python/pkg/c/d.py:1: ")


def test_patterns_are_case_sensitive_unless_they_say_otherwise() -> None:
    assert run(absent(r"\bascend\b")) == []
    assert len(run(absent(r"(?i)\bascend\b"))) == 1


def test_paths_are_patterns() -> None:
    assert len(run(absent("fa3", paths=("python/pkg/c/",)))) == 1
    assert len(run(absent("fa3", paths=("python/**", "!python/pkg/a.py")))) == 1


def test_paths_that_match_nothing_are_a_problem() -> None:
    (problem,) = run(absent("zzz", paths=("pyhton/**",)))
    assert "match no file" in problem.message


def test_an_exception_excuses_its_path_and_text_only() -> None:
    excused = TextException("python/pkg/a.py", "backend", "public name", mark=THERE)
    (problem,) = run(absent("fa3", excused))
    assert "python/pkg/c/d.py" in problem.message


@pytest.mark.parametrize(
    "exception",
    [
        TextException("python/pkg/b.py", None, "w", mark=THERE),
        TextException("python/pkg/a.py", "no such text", "w", mark=THERE),
        TextException("python/pkg/nope.py", None, "w", mark=THERE),
    ],
)
def test_an_exception_that_excuses_nothing_is_a_problem(exception: TextException) -> None:
    found = [p for p in run(absent("fa3", exception)) if p.mark == THERE]
    assert len(found) == 1
    assert "excuses nothing" in found[0].message


def test_two_exceptions_for_one_line_are_both_used() -> None:
    both = [TextException("python/pkg/**", t, "w", mark=THERE) for t in (None, "fa3")]
    assert run(absent("fa3", *both)) == []


def test_a_bad_expression_is_a_problem_and_not_a_crash() -> None:
    (problem,) = run(absent("fa(3"))
    assert "not a regular expression" in problem.message


def test_many_occurrences_are_one_problem_with_its_places() -> None:
    before, after = worlds({"a.py": "bad = 1\n" * 50}, {})
    found = guarantees.check(before, after, manifest(absent("bad")), Removals())
    (problem,) = by_cause(found)
    assert problem.upstream == Mark("python/pkg/a.py", 1)
    assert [one.upstream.line for one in problem.also if one.upstream] == list(range(2, 51))
    assert "python/pkg/a.py:2" in also(problem) and also(problem).endswith(" and 25 more")


def test_what_must_be_present_is_a_path_or_a_name() -> None:
    names = ["python/pkg/a.py", "python/pkg/c/", "pkg.b.f", "pkg.c", "pkg.b.nope", "python/pkg/gone.py"]
    found = run(Guarantees(present=tuple(Kept(n, mark=HERE) for n in names)))
    assert [p.message.split()[0] for p in found] == ["pkg.b.nope", "python/pkg/gone.py"]


_ATOMS = r"fa3 Ab x _ \b [34] [^a] \w \. . | (?:a|b) (?: ) ? * + {2} {0} (?!io) (?<!_) ^ $ \( -"
_ATOM = st.sampled_from([*_ATOMS.split(), " "])


_PATTERN = st.builds(
    lambda flag, atoms: flag + "".join(atoms), st.sampled_from(["", "(?i)"]), st.lists(_ATOM)
)


@given(_PATTERN, st.text("fa34Abx_.(io- \n", max_size=12))
def test_a_search_of_the_whole_text_hides_no_line(pattern: str, text: str) -> None:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error:
        return
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if compiled.search(line)]
    assert list(_matching_lines(compiled, text)) == lines
