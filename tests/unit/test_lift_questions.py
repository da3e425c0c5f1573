"""What a lift asks: one question for one cause, closed by a decision on it or on all of its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_worlds import package
from manifest_text import manifest

from builder.errors import Mark, Problem
from builder.lift import versions
from builder.lift.arrivals import Arrival, _alike
from builder.lift.finding import Question, joined, merged
from builder.lift.insert import apply
from builder.lift.surface import asked
from builder.lift.sweep import releases_between
from builder.manifest.model import Pin
from builder.manifest.statements import Span
from builder.manifest.statements import stated as stated_in
from builder.tree import Snapshot

EMPTY = package({})
CONFIGS = "python/pkg/configs"


def new(path: str, *evidence: str, batch: str = "mamba") -> Arrival:
    return Arrival(path, (path,), (), evidence, "remove", batch, open=True)


@pytest.mark.parametrize(
    ("items", "other", "patterns"),
    [
        (
            [new(f"{CONFIGS}/conv1d_sm_{n}.json", "its name has `conv1d`") for n in (90, 95, 100)],
            f"{CONFIGS}/other.json",
            [(f"{CONFIGS}/conv1d_sm_*.json", 3)],
        ),
        (
            [new(f"{CONFIGS}/ssd_{n}.py", f"moved from old/{n}.py, which batch mamba removes") for n in "ab"],
            "other.py",
            [(f"{CONFIGS}/ssd_*.py", 2)],
        ),
        (
            [new(f"{CONFIGS}/conv1d_{n}.json", "its name has `conv1d`") for n in "ab"],
            f"{CONFIGS}/conv1d_kept.json",
            [(f"{CONFIGS}/conv1d_a.json", 1), (f"{CONFIGS}/conv1d_b.json", 1)],
        ),
    ],
    ids=["one reason", "moved from different places", "a pattern would match another path"],
)
def test_files_of_one_folder_with_one_reason_are_one_pattern_if_that_matches_no_other_path(
    items: list[Arrival], other: str, patterns: list[tuple[str, int]]
) -> None:
    every = frozenset([other, *(item.path for item in items)])
    assert [(pattern, len(alike)) for pattern, alike in _alike(items, every)] == patterns


def test_paths_of_another_folder_batch_or_reason_or_with_nothing_in_common_stay_apart() -> None:
    items = [
        new("a/conv1d_1.py", "x"),
        new("b/conv1d_2.py", "x"),
        new("a/conv1d_3.py", "x", batch="npu"),
        new("a/conv1d_4.py", "y"),
        new("a/one.py", "z"),
        new("a/two.py", "z"),
    ]
    assert [len(alike) for _, alike in _alike(items, {item.path for item in items})] == [1] * 6


def requirements(*names: str, kept: Snapshot = EMPTY) -> Question:
    return asked("python/pyproject.toml", [(name, f"{name}>=1") for name in names], kept)


def test_the_new_requirements_of_a_project_are_one_question_that_names_who_imports_them() -> None:
    lines = ("import yaml.nodes\n", "def f():\n    from yaml import x\n", "import yamlish\n")
    kept = package({f"{number}.py": text for number, text in enumerate(lines)})
    several = requirements("pyyaml", "attrs", kept=kept)
    assert (several.id, several.parts) == (
        "dependency:python/pyproject.toml", ("dependency:pyyaml", "dependency:attrs")
    )  # fmt: skip
    assert "'pyyaml>=1' (imported by python/pkg/0.py and 1 more), 'attrs>=1'," in several.problem.message
    one = requirements("pyyaml", kept=kept)
    assert one.id == "dependency:pyyaml"
    assert one.problem.hint == "remove it by a TOML edit, or `--decide 'dependency:pyyaml'`"


def test_a_question_is_closed_by_its_id_or_by_all_of_its_parts() -> None:
    question = requirements("c", "d")

    def decided(*patterns: str) -> bool:
        return question.decided(dict.fromkeys(patterns, "why")) is not None

    assert decided("dependency:python/*")
    assert decided("dependency:c", "dependency:d")
    assert decided("dependency:?")
    assert not decided("dependency:c")
    assert not decided("path:*")


def test_a_question_without_parts_is_closed_by_its_id_alone() -> None:
    question = Question("choice:x", requirements("c").problem)
    assert question.decided({"choice:*": "why"}) == "why"
    assert question.decided({"dependency:c": "why"}) is None


def test_a_sweep_over_releases_takes_those_after_the_first_up_to_the_last() -> None:
    known = ["0.5.9", "0.5.13", "0.5.12.post1", "0.5.12", "0.5.10rc0", "0.5.10", "0.6.0"]
    found = releases_between(known, "0.5.9", "v0.5.13")
    assert [commit.id for commit in found] == ["0.5.10", "0.5.12", "0.5.12.post1", "0.5.13"]
    assert found[0].subject == "release 0.5.10"


def test_pins_of_later_versions_than_the_new_one_are_known() -> None:
    pins = {name: Pin(name, Mark("m.yaml"), wheel=name) for name in ("1.0", "1.2", "1.3")}
    stated = manifest("keep: [python/]\nbatches: [{id: one, why: an example, remove: [docs/]}]\n")
    stated = replace(stated, upstream=replace(stated.upstream, pins=pins))
    assert versions.newer(Span(since="1.1", until="1.0"), stated) == ("1.2", "1.3")
    assert versions.newer(Span(since="1.3.dev1", until="1.2"), stated) == ("1.3",)
    assert versions.newer(Span(since="1.4", until="1.3"), stated) == ()


RANGED = """\
keep: [python/]
batches:
  - id: one
    why: an example
    remove: [{path: docs/, since: 1.2}, {path: tests/, until: 1.0}]
    drop:
      - name: pkg.m.f
        since: 1.3
"""


def test_the_range_of_what_matches_beyond_it_is_widened_unless_a_pin_lies_between() -> None:
    stated = manifest(RANGED)
    pins = {name: Pin(name, Mark("m.yaml"), wheel=name) for name in ("1.0", "1.2", "1.3")}
    stated = replace(stated, upstream=replace(stated.upstream, pins=pins))
    problems = [Problem("R011", "", one.mark) for one in stated_in(stated) if one.span]

    def widened(since: str) -> list[str]:
        between = Span(since=since, until="1.0")
        before = stated.texts[stated.file]
        text = apply(before, list(versions.widened(problems, stated, between)), between)
        return [line.strip() for line in text.splitlines() if line not in before.splitlines()]

    assert widened("1.1") == ['remove: [{path: docs/, since: "1.1"}, {path: tests/, until: "1.1"}]']
    assert widened("1.2.5") == ["since: 1.2.5"]
    assert widened("1.4") == []


def test_questions_of_one_cause_are_one_and_an_answer_to_it_answers_each() -> None:
    def choice(name: str, *causes: str) -> Question:
        return Question(f"choice:{name}", Problem("L002", f"`{name}` came."), causes=causes)

    questions = joined([
        choice("beam", "choice:--parser"), choice("sail"), choice("kimi", "choice:--tools", "text:kimi"),
        choice("muse", "choice:--parser", "choice:--tools"), choice("hcc", "text:hcc"),
    ])  # fmt: skip
    first, *alone = merged(questions)
    assert (first.id, first.parts) == ("choice:--parser", ("choice:beam", "choice:kimi", "choice:muse"))
    assert first.problem.message == "`beam` came. So did `kimi`, `muse`."
    assert "--decide 'choice:--parser'" in str(first.problem.hint)
    assert alone == [questions[1], questions[4]]
    why = "both are another model's"
    assert [one.decided({"choice:--parser": why}) for one in questions] == [why, None, why, why, None]
    assert questions[0].decided({"choice:beam": "it is"}) == "it is"
