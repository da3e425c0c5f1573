"""A text that something may take out of a collection leaves no other one, and the report says so."""

from __future__ import annotations

import pytest
from small_package import run

from builder.errors import Mark
from builder.manifest.statements import Option
from builder.specialize.evaluating.facts import Facts

FACTS = Facts(options=(Option(("*backend*",), ("fa3",), "one", mark=Mark("manifest.yaml")),))
TABLE = 'backend_table = {"fa3": 1, "triton": 2}\n'


def table(texts: dict[str, str]) -> str:
    done = run({"pkg/a.py": TABLE, **texts}, facts=FACTS)
    return done.files["pkg/a.py"].decode() if "pkg/a.py" in done.files else TABLE


def test_a_loop_in_any_file_keeps_the_entries_of_what_it_goes_through() -> None:
    loop = 'for backend in backend_order:\n    print(backend)\nbackend_order = ["fa3", "triton"]\n'
    assert table({"pkg/b.py": loop}) == TABLE


@pytest.mark.parametrize(
    "use",
    [
        'order = ["fa3", "triton"]\nfor name in order:\n    print(name)\n',
        'flags = ["-k", "fa3"]\nprint(*flags)\n',
    ],
)
def test_a_collection_of_no_option_counts_in_its_own_file_alone(use: str) -> None:
    assert '"fa3"' not in table({"pkg/b.py": use})
    done = run({"pkg/a.py": TABLE + use}, facts=FACTS)
    assert "pkg/a.py" not in done.files


@pytest.mark.parametrize(
    "use",
    [
        'known = ["fa3", "triton"]\n\n\ndef ask(name):\n    return name in known, known.index(name)\n',
        'first, second = "fa3", "triton"\n',
        'weights = {"fa3": 1, "triton": 2}\n\n\ndef ask(name):\n    return weights[name]\n',
        'def make():\n    return "fa3", object()\n',
    ],
)
def test_what_gives_no_text_away_keeps_nothing(use: str) -> None:
    done = run({"pkg/a.py": TABLE + use}, facts=FACTS)
    assert done.files["pkg/a.py"].decode().startswith('backend_table = {"triton": 2}\n')


def test_the_report_names_the_place_where_a_text_stays() -> None:
    done = run({"pkg/a.py": TABLE + 'for name in ["fa3", "triton"]:\n    print(name)\n'}, facts=FACTS)
    assert ("pkg/a.py", 1, "'fa3' stays: something may take it out of a collection") in done.uncertain


CHOICES = """\
import argparse


def make():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", choices=["fa3", "triton"])
    return parser
"""


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        (
            "def names(p):\n    return [a.dest for a in p._actions]\n\n\ndef here(x):\n    return dir(x)\n",
            False,
        ),
        ("def names(p):\n    return [vars(a) for a in p._actions]\n", True),
        ("def names(p):\n    return [a.choices for a in p._actions]\n", True),
    ],
)
def test_a_file_shows_choices_that_takes_them_from_the_actions_of_a_parser(other: str, stays: bool) -> None:
    done = run({"pkg/a.py": CHOICES, "pkg/b.py": other}, facts=FACTS)
    text = done.files.get("pkg/a.py", CHOICES.encode()).decode()
    assert ('"fa3"' in text) is stays
    assert done.mismatches == []
