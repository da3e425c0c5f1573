"""Splicing the text and editing the tree are two routes to one program, whatever the layout."""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_ops import random_ops
from random_source import Text

from builder.source.ops import (
    Body,
    Decide,
    DropGuard,
    DropItem,
    Op,
    Remove,
    Replace,
    Unwrap,
    irrefutable,
)
from builder.source.oracle import expected
from builder.source.parse import Module, documentation, parse
from builder.source.splice import splice
from builder.specialize.final_texts import format_edits, format_files

LONG = settings.get_current_profile_name() == "long"


def agree(left: object, right: object) -> bool:
    """Return whether two trees are the same program (positions and the indentation of docstrings aside)."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        assert isinstance(right, list)
        return len(left) == len(right) and all(map(agree, left, right))
    if isinstance(left, ast.Expr) and isinstance(right, ast.Expr) and documentation(left) is not None:
        return documentation(left) == documentation(right)
    if isinstance(left, ast.AST):
        return all(agree(getattr(left, name, None), getattr(right, name, None)) for name in left._fields)
    return left == right


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
    seeds = range(60, 2_000 if LONG else 120)
    once = format_files({str(seed): sample(seed)[0].data for seed in seeds})
    twice = format_files(once)
    first = {path: data for path, data in once.items() if twice[path] == data}  # it has slips of its own
    edited: dict[str, bytes] = {}
    for path, data in first.items():
        with contextlib.suppress(SyntaxError):  # it puts some comments between `if` and what is before it
            module = parse(data, path)
            edited[path] = splice(module, random_ops(module, Random(int(path)), 0.05))
    assert len(edited) > len(once) * 0.9
    formatted = format_files(edited)
    polished = {path: format_edits(first[path], data, formatted[path]) for path, data in edited.items()}
    assert format_files(polished) == polished


def test_a_hunk_that_only_another_one_makes_necessary_is_taken_in_the_same_run() -> None:
    before = b"class A:\n\n    def f(self):\n        assert x, (\n            'long'\n        )\n"
    after = b"class A:\n\n    def f(self):\n        assert x, ('long')\n"
    formatted = b"class A:\n    def f(self):\n        assert x, 'long'\n"
    once = format_edits(before, after, formatted)
    assert format_edits(before, once, formatted) == once


def edited(source: str, choose: Callable[[ast.Module], list[Op]]) -> str:
    """The text after operations; the tree after them agrees."""
    module = parse(source.encode(), "text.py")
    ops = choose(module.tree)
    after = splice(module, ops)
    assert agree(parse(after, "after.py").tree, expected(module.tree, ops))
    return after.decode()


def test_a_string_leaves_where_it_would_become_a_docstring() -> None:
    source = "def f():\n    {}\n    'a'\n    'b'\n    return 1\n"
    assert edited(source.format("x()"), lambda t: [Remove(t.body[0].body[0])]) == "def f():\n    return 1\n"  # type: ignore[attr-defined]
    kept = edited(source.format("'real'; x()"), lambda t: [Remove(t.body[0].body[1])])  # type: ignore[attr-defined]
    assert kept == "def f():\n    'real'\n    'a'\n    'b'\n    return 1\n"
    assert edited("x\n'a'\ny = 1\n", lambda t: [Remove(t.body[0])]) == "y = 1\n"
    assert (
        edited("class A:\n    x\n    'a'\n", lambda t: [Remove(t.body[0].body[0])]) == "class A:\n    pass\n"
    )  # type: ignore[attr-defined]


def test_a_part_that_begins_where_a_replaced_expression_begins_is_not_written() -> None:
    def choose(tree: ast.Module) -> list[Op]:
        total = tree.body[0].value  # type: ignore[attr-defined]
        return [Replace(total, "-7"), Replace(total.left, total.left.func)]

    assert edited("x = (\n  a\n).real() + c\n", choose) == "x = -7\n"


def test_a_continuation_that_is_indented_by_less_than_two_suites_move_it_keeps_its_words() -> None:
    def choose(tree: ast.Module) -> list[Op]:
        outer = tree.body[0]
        return [Decide(outer, True), Unwrap(outer.body[0], tuple(outer.body[0].body))]  # type: ignore[attr-defined]

    source = (
        "if x:\n        with y:\n            match z:\n             case 1 \\\n   if a:\n              b\n"
    )
    assert edited(source, choose) == "match z:\n case 1 \\\nif a:\n  b\n"


def test_a_choice_that_becomes_a_string_is_no_docstring() -> None:
    source = "def f():\n    'a' if x else y\n    return 1\n"

    def choose(tree: ast.Module) -> list[Op]:
        node = tree.body[0].body[0].value  # type: ignore[attr-defined]
        return [Replace(node, node.body)]

    assert edited(source, choose) == "def f():\n    return 1\n"


def test_a_new_body_may_begin_with_a_docstring() -> None:
    source = "def f():\n    return 1\n"
    after = edited(source, lambda t: [Body(t.body[0], "'why'\nreturn 2")])  # type: ignore[arg-type]
    assert after == "def f():\n    'why'\n    return 2\n"


@pytest.mark.parametrize(
    ("case", "left"),
    [
        ("case int() if x:", "case int():"),
        ("case (1 | 2) if(x):", "case (1 | 2):"),
        ("case a, if (\n  x  # )\n  ):", "case a,:"),
        ("case {} \\\n  if x :", "case {} :"),
    ],
)
def test_a_case_loses_its_guard(case: str, left: str) -> None:
    after = edited(f"match y:\n  {case}\n    pass\n", lambda t: [DropGuard(t.body[0].cases[0])])  # type: ignore[attr-defined]
    assert after == f"match y:\n  {left}\n    pass\n"


def test_which_patterns_match_everything() -> None:
    source = "match y:\n" + "".join(
        f" case {pattern} if x: pass\n"
        for pattern in ("_", "a", "(_ as b)", "1 | c", "[*_]", "1 as d", "A()")
    )
    match = ast.parse(source).body[0]
    assert isinstance(match, ast.Match)
    assert [irrefutable(case.pattern) for case in match.cases] == [True] * 4 + [False] * 3


def test_starred_members_leave_like_others() -> None:
    def drop(*which: tuple[str, int]) -> Callable[[ast.Module], list[Op]]:
        return lambda tree: [DropItem(tree.body[0].value, *each) for each in which]  # type: ignore[attr-defined]

    assert edited("[*(), a]\n", drop(("elts", 0))) == "[a]\n"
    assert edited("[*(\n ())]\n", drop(("elts", 0))) == "[]\n"
    assert edited("{*(())}\n", drop(("elts", 0))) == "set()\n"
    assert edited("*(), a\n", drop(("elts", 0))) == "a,\n"
    assert edited("(*(), a, *())\n", drop(("elts", 0), ("elts", 2))) == "(a,)\n"
    assert edited("f(*(()), a, **({}))\n", drop(("args", 0), ("keywords", 0))) == "f(a)\n"
    assert edited("f(*(), **{})\n", drop(("args", 0), ("keywords", 0))) == "f()\n"
    assert edited("{**(a), 1: 2, **({})}\n", drop(("keys", 2))) == "{**(a), 1: 2}\n"
    assert edited("{**(a), 1: 2}\n", drop(("keys", 1))) == "{**(a)}\n"


def test_a_suite_behind_tabs_moves_out() -> None:
    decide = lambda tree: [Decide(tree.body[0].body[0], True)]  # type: ignore[attr-defined] # noqa: E731
    tabs = edited("def f():\n  if x:\n  \ty = 1\n  \tif y:\n  \t  z\n  return 2\n", decide)
    assert tabs == "def f():\n  y = 1\n  if y:\n    z\n  return 2\n"
    feeds = edited("def f():\n\f  if x:\n      y = 1\n \f      z\n  return 2\n", decide)
    assert feeds == "def f():\n  y = 1\n \f  z\n  return 2\n"


@pytest.mark.parametrize(
    "head", ["# -*- coding: latin-1 -*-\n", "#!python\n# coding=koi8_r\n", "# coding: martian\n"]
)
def test_only_what_is_in_utf_8_is_python(head: str) -> None:
    with pytest.raises(SyntaxError):
        parse(head.encode() + b"x = 1\n", "a.py")
    for known in ("# coding: utf-8\n", "# coding: UTF_8\n", "x = 1\n# coding: latin-1\n", "\n\n" + head):
        assert parse(known.encode(), "a.py")
