"""Splicing the text and editing the tree are two routes to one program, whatever the layout."""

from __future__ import annotations

import ast
import warnings
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_ops import random_ops
from random_source import Text

from builder.source.ops import Op, Remove
from builder.source.oracle import agree, expected
from builder.source.parse import Module, parse
from builder.source.splice import splice
from builder.specialize.polish import format_files, polish

LONG = settings.get_current_profile_name() == "long"


def sample(seed: int) -> tuple[Module, list[Op]]:
    """A random module and random operations on it."""
    random = Random(seed)
    text = Text(random, random.choice([1, 2, 3, 6, 14])).module()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the random programs compare literals with `is`
        module = parse(text, "random.py")
    return module, random_ops(module, random, random.choice([0.02, 0.05, 0.1, 0.3]))


@given(st.integers(0, 2**32))
@settings(max_examples=100_000 if LONG else 400)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_the_text_after_any_operations_parses_to_the_tree_after_them(seed: int) -> None:
    module, ops = sample(seed)
    after = parse(splice(module, ops), "after.py")
    assert agree(after.tree, expected(module.tree, ops)), ast.unparse(
        ast.fix_missing_locations(expected(module.tree, ops))
    )


@given(st.integers(0, 2**32))
@settings(max_examples=20_000 if LONG else 150)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_lines_outside_a_removed_statement_stay_byte_for_byte(seed: int) -> None:
    module, _ = sample(seed)
    body = module.tree.body
    gone = body[seed % len(body)]
    if len(body) == 1:
        return
    after = splice(module, [Remove(gone)])
    data = module.data
    low, high = module.start(gone), module.end(gone)
    before, rest = data[:low], data[high:]
    left = after[3:] if module.bom else after
    shared = len(_common(before, left))
    kept = data[:shared] + data[len(data) - (len(left) - shared) :]
    assert left == kept
    assert shared <= low
    assert len(left) - shared <= len(rest) + len(before) - shared


def _common(one: bytes, two: bytes) -> bytes:
    at = 0
    while at < min(len(one), len(two)) and one[at] == two[at]:
        at += 1
    return one[:at]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_what_is_left_of_formatted_files_is_formatted() -> None:
    seeds = range(2_000 if LONG else 60)
    once = format_files({str(seed): sample(seed)[0].data for seed in seeds})
    twice = format_files(once)
    first = {path: data for path, data in once.items() if twice[path] == data}  # it has slips of its own
    assert len(first) > len(once) * 0.9
    edited: dict[str, bytes] = {}
    for path, data in first.items():
        module = parse(data, path)
        edited[path] = splice(module, random_ops(module, Random(int(path)), 0.05))
    formatted = format_files(edited)
    polished = {path: polish(first[path], data, formatted[path]) for path, data in edited.items()}
    assert format_files(polished) == polished


def test_a_hunk_that_only_another_one_makes_necessary_is_taken_in_the_same_run() -> None:
    before = b"class A:\n\n    def f(self):\n        assert x, (\n            'long'\n        )\n"
    after = b"class A:\n\n    def f(self):\n        assert x, ('long')\n"
    formatted = b"class A:\n    def f(self):\n        assert x, 'long'\n"
    once = polish(before, after, formatted)
    assert polish(before, once, formatted) == once
