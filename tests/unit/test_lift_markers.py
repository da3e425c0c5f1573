"""Words that tell to which batch a path belongs."""

from __future__ import annotations

import pytest
from manifest_text import manifest

from builder.errors import Mark
from builder.lift.evidence import learn, words
from builder.manifest.statements import BASE, Rule

FACTS = """\
keep: [python/, csrc/]
batches:
  - id: alien
    why: not a target
    facts:
      predicates: {pkg.is_martian: false, pkg.cpu_has_wings: false}
      options:
        - {names: ["*"], absent: [saucer, "two words", x]}
        - {names: [kind], absent: [plain]}
    absent:
      modules: [venus, pkg.inner]
"""


def rule(pattern: str, batch: str = "alien") -> Rule:
    return Rule(pattern, "remove", batch, mark=Mark("manifest.yaml", 1, 1))


A, B, OTHER = rule("csrc/a/"), rule("csrc/b/"), rule("docs/", "docs")


def test_the_words_of_a_path_are_its_parts_and_each_two_joined() -> None:
    assert words("a/flash_attn-v2.py") == {
        "a", "flash", "attn", "v2", "flash_attn", "flashattn", "attn_v2", "attnv2",
    }  # fmt: skip
    assert words(".hidden") == {"hidden"}


@pytest.mark.parametrize("word", ["martian", "saucer", "venus", "alien"])
def test_what_a_fact_or_a_batch_states_is_a_marker_before_any_path_has_it(word: str) -> None:
    found = learn(manifest(FACTS), {}, ["python/plain.py"]).of(f"python/{word}_ops.py")
    assert found is not None
    assert (found.word, found.batch, found.stated) == (word, "alien", True)


@pytest.mark.parametrize("word", ["plain", "wings", "inner", "x", "cpu"])
def test_what_only_holds_somewhere_is_no_marker(word: str) -> None:
    assert learn(manifest(FACTS), {}, []).of(f"python/{word}.py") is None


def test_a_word_that_a_kept_path_has_says_nothing() -> None:
    assert learn(manifest(FACTS), {"csrc/a/saucer.cu": A}, ["python/saucer.py"]).of("saucer.py") is None


def test_several_rules_of_one_batch_make_a_word_telling() -> None:
    one = {"csrc/a/warp.cu": A, "csrc/a/warp.h": A}
    assert learn(manifest(FACTS), one, []).of("python/warp.py") is None  # one folder's own word
    two = {"csrc/a/warp.cu": A, "csrc/b/warp.cu": B}
    found = learn(manifest(FACTS), two, []).of("python/warp.py")
    assert found is not None
    assert (found.word, found.batch, found.paths, found.stated) == ("warp", "alien", 2, False)
    mixed = {**two, "docs/warp.md": OTHER}
    assert learn(manifest(FACTS), mixed, []).of("python/warp.py") is None  # it left for two reasons


def test_what_nothing_reaches_teaches_nothing() -> None:
    alone = {"csrc/a/row.cu": rule("no root reaches it", BASE), "b/row.h": rule("it follows", BASE)}
    assert learn(manifest(FACTS), alone, []).of("csrc/page_row.cuh") is None


def test_tests_teach_nothing() -> None:
    removed = {"test/a/warp.py": A, "x/tests/warp.py": B}
    assert learn(manifest(FACTS), removed, []).of("python/warp.py") is None


def test_a_text_is_judged_by_its_code_and_by_what_facts_state() -> None:
    found = learn(manifest(FACTS), {}, [])
    assert found.in_text(b"# saucer\nx = is_martian()\ny = Martian\n") == ("martian", 2)
    assert found.in_text(b"alien = 1  # a batch's id is no fact\n") is None
    assert found.in_text(b"saucers = 1\n") is None
