"""What no name refers to but something else needs stays; what nothing needs still leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from small_package import output
from test_cut_pages import expect_texts, stated, upstream
from yaml_cases import cases

from builder.specialize.dead_code.dynamic_names import FormedNames, fits, formed, runs_text
from builder.specialize.evaluating.facts import Facts
from builder.specialize.text_index.content import Contents
from builder.specialize.text_index.text_search import possible_names


@pytest.mark.parametrize("case", list(cases("cleaning.yaml", "unseen.yaml")))
def test_specialization_leaves_what_the_page_shows(case: Mapping[str, Any]) -> None:
    """The pages are like those of `cuts/`; of a cut they need no other stage."""
    files, asked = upstream(case), stated(case)
    texts = {path.removeprefix("python/"): files[path].decode() for path in files}
    python = {path: text for path, text in texts.items() if path.endswith(".py")}
    removed = [rule.pattern for batch in asked.batches for rule in batch.rules if rule.verdict == "remove"]
    after = output(
        python,
        facts=Facts.of(asked),
        without=[path for path in python if f"python/{path}".startswith(tuple(removed))],
        prune_symbols=lambda path: bool(asked.prune_symbols),
        extra=[text.encode() for path, text in texts.items() if path not in python],
    )
    kept = {f"python/{path}": text for path, text in after.items() if text or not texts.get(path)}
    expect_texts(case, kept)


@pytest.mark.parametrize(
    ("text", "name", "may"),
    [
        ('f"run_{x}"', "run_fast", True),
        ('f"run_{x}"', "rerun_fast", False),
        ('f"{x}_hip_{y}"', "is_hip_on", True),
        ('f"pkg.{x}.run_{y}"', "run_fast", True),
        ('f"Error in {x}"', "Error", False),
        ('f"do{x}"', "dozen", False),
        ('f"do_{x}"', "do_quit", True),
        ('f"do_{x}"', "redo_quit", False),
        ('f"d_{x}"', "d_quit", False),
        ('f"{x}_go"', "let_go", True),
        ('f"{x}_v2"', "run_v2", False),
        ('f"{x}go{y}"', "let_go", False),
        ('x + "_go"', "let_go", True),
        ('"_".join(["do", x])', "do_quit", True),
        ('PREFIX = "do_"', "do_quit", False),
        ('"run_%(kind)s"', "run_fast", True),
        ('"run_${kind}_now"', "run_fast_now", True),
        ('x + "_now"', "run_now", True),
        ('"run" + x', "running", True),
        ('PREFIX = "run_"', "run_fast", True),
        ('NAME = "run"', "run_fast", False),
        ('"_".join(["run", x])', "run_fast", True),
        ('"/".join(["run", x])', "run_fast", False),
        ('f"RUN_{x}".lower()', "run_fast", True),
        ('[n for n in dir(x) if n.endswith("_test")]', "a_test", True),
        ('x.endswith("_tests.py")', "a_test", False),
        ('eval(f"1 + run_{x}()")', "run_fast", True),
        ('model.eval("run()")', "run", False),
    ],
)
def test_what_a_text_may_form(text: str, name: str, may: bool) -> None:
    names = FormedNames(Contents())
    names.look("a.py", text.encode())
    assert names.holds(name) is may
    names.look("a.py", b"")
    assert not names.holds(name)


def test_the_literal_parts_of_a_pattern_do_not_overlap() -> None:
    assert fits("abcabc", ("abc", "abc"))
    assert not fits("abc", ("abc", "abc"))
    assert not fits("ab_cd", ("ab_", "_cd"))
    assert fits("a_mid_b", ("a", "mid", "b"))
    assert not formed(b'"for {x}"')


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("eval(x)", True),
        ("run = exec\n", True),
        ("builtins.eval", True),
        ("model.eval()", False),
        ("re.compile(x)", False),
        ('("builtins", "eval")', False),
    ],
)
def test_what_runs_text_as_code(text: str, runs: bool) -> None:
    assert runs_text(text.encode()) is runs


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("purge", {"purge"}),
        ("purge abort", {"purge", "abort"}),
        ("a.b:c|d", {"a", "b", "c", "d"}),
        ('{"method": "purge", "then": "the end."}', {"method", "purge", "then", "the", "end"}),
        ("call purge() now!", {"purge"}),
        ("Prose, and more of it.", set()),
        ("x" * 300, set()),
    ],
)
def test_the_names_that_a_string_may_stand_for(value: str, names: set[str]) -> None:
    assert set(possible_names(value)) == names
