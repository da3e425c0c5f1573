"""G007 looks at the code of a file, and at a file only if its text may hold a word in code."""

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

from builder.errors import Mark
from builder.gates.words import _may_hold, _names, _pattern, _runs
from builder.manifest.statements import Word

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
