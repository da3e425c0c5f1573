"""A platform is stated by its words: every name that is made of them follows, and no other."""

from __future__ import annotations

import pytest
from manifest_text import HEAD, manifest, problems

from builder.pipeline.expand_families import FamilyMatches
from builder.select.families import Families, words_of

BATCH = """\
keep: [python/]
prune_symbols: [python/]
batches:
  - id: npu
    why: NPUs are not a target.
    words: [npu]
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("npu_communicator", ("npu", "communicator")),
        ("NPUCommunicator", ("npu", "communicator")),
        ("NPUW8A8Method", ("npu", "w8", "a8", "method")),
        ("_is_npu", ("is", "npu")),
        ("--enable-npu-graph", ("enable", "npu", "graph")),
        ("SGLANG_NPU_USE_MLAPO", ("sglang", "npu", "use", "mlapo")),
        ("ascending", ("ascending",)),
        ("LOG_INPUT", ("log", "input")),
    ],
)
def test_a_name_is_read_as_the_words_that_it_is_made_of(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("words", "members", "others"),
    [
        (
            "npu, ascend, fa3, flash_mla",
            "npu NPUGraph kernel_ascend torch-npu FA3Backend flash_mla_kv",
            "input ascending DESCEND LOG_INPUT flash_lamla fa3x FA3X npu2 mla_flash",
        ),
        (  # a word that ends in a digit stands before more digits, and before nothing else
            "npu, gfx9, flash_mla2",
            "gfx9 is_gfx942 kernel_gfx950.py Gfx950Indexer IS_GFX950 GFX950_KERNEL _GFX9Kernel",
            "gfx gfx1250 gfx90a agfx950 flash_mla flash_2 flash20_mla2",
        ),
    ],
)
def test_a_name_that_has_a_word_is_of_the_family_and_a_word_is_never_a_part_of_another(
    words: str, members: str, others: str
) -> None:
    families = Families(manifest(BATCH.replace("[npu]", f"[{words}]")).batches)
    names = [*members.split(), *others.split()]
    assert [name for name in names if families.member(name) is not None] == members.split()


def test_what_the_words_matched_is_one_line_for_the_lock() -> None:
    one, other = FamilyMatches({"path": ("a", "b"), "flag": ("c",)}), FamilyMatches({"path": ("a", "c")})
    assert str(one).startswith("path 2, flag 1; sha256 ") and "\n" not in str(one)
    assert str(one) != str(other)


@pytest.mark.parametrize("word", ["NPU", "flash-mla", "", "a b"])
def test_a_word_is_written_in_lower_case_and_joined_by_underscores(word: str) -> None:
    said = problems(HEAD + BATCH.replace("[npu]", f'["{word}"]'))
    assert [p.code for p in said] == ["M004"]
