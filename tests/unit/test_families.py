"""A platform is stated by its words: every name that is made of them follows; G007 finds the rest."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifest_text import HEAD, manifest, problems

from builder.errors import Mark
from builder.gates.words import _may_hold, _names, _pattern, _runs
from builder.manifest.statements import Word
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


HERE = Mark("manifest.yaml", 1, 1)
NPU = Word("npu", mark=HERE)
PATTERN = _pattern([NPU])

PIECES = [
    "npu",
    "is_npu",
    "NPU",
    "'npu'",
    '"',
    "'",
    '"""',
    "#",
    "\n",
    " ",
    "x",
    "=",
    "(",
    ")",
    "# npu",
    "npu_stream",
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = npu\n", ["npu"]),
        ("x = is_npu()  # npu\n", ["is_npu"]),
        ("x = 1  # npu\n", []),
        ("x = '#npu' or 'npu'\n", ["'npu'"]),
        ("x = '''\n# npu''' or npu\n", ["npu"]),
        ('"""speaks of\n# npu\n"""\n', []),
        ("npu_stream = 1\n", []),
    ],
)
def test_names_and_short_strings_of_code_are_found(text: str, found: list[str]) -> None:
    tokens = [name for _, name, _ in _names([PATTERN], text.encode())[0]]
    assert tokens == [name.strip("'") for name in found]


@pytest.mark.parametrize(
    ("text", "found"), [("x = is_gfx942\n", ["is_gfx942"]), ("x = gfx9 + gfx9x + gfx950_kernel\n", ["gfx9"])]
)
def test_a_word_that_ends_in_a_digit_is_found_before_more_digits(text: str, found: list[str]) -> None:
    word = replace(NPU, text="gfx9")
    assert _may_hold(_runs(text.encode()), word)
    assert [name for _, name, _ in _names([_pattern([word])], text.encode())[0]] == found


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_the_shortcuts_never_hide_a_name(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = list(_tokenized(PATTERN, text))
    if found:
        assert _may_hold(_runs(text.encode()), NPU)
    with suppress(SyntaxError):
        ast.parse(text)  # what is no Python is told by G001
        assert [name for _, name, _ in _names([PATTERN], text.encode())[0]] == found


def _tokenized(pattern: str, text: str) -> list[str]:
    """The names that the tokens of a whole text give."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.NAME, tokenize.STRING):
                name = token.string
                if token.type == tokenize.STRING:
                    name = name.lstrip("rRbBuUfF").strip("\"'")
                if re.fullmatch(pattern, name, re.IGNORECASE):
                    found.append(name)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found
