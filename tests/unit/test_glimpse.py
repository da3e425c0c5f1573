"""A tree of a few lines has the nodes of the whole tree that span one of them, at the same places."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_source import Text

from builder.source.encoding import BOM
from builder.source.glimpse import extents, glimpse
from builder.source.parse import parse
from builder.specialize.text_index.text_search import glimpsed_on, lines_with, nodes_on
from builder.specialize.unit import Unit


def glimpsed(text: str, *lines: int) -> ast.Module | None:
    module = parse(text.encode(), "a.py")
    found = glimpse(module.data, extents(module), lines)
    return found[0] if found is not None else None


def said(nodes: Sequence[ast.AST]) -> list[str]:
    """Each node by its kind and place, and what it holds where that is on one line."""
    found = []
    for node in nodes:
        low, high = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        inside = ast.dump(node, include_attributes=True) if low and low == high else ""
        found.append(f"{type(node).__name__} {low} {getattr(node, 'col_offset', 0)} {inside}")
    return found


@given(st.integers(0, 2**32), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_random_programs(seed: int, chosen: int) -> None:
    random = Random(seed)
    modules = [Text(random, random.choice([2, 3, 6, 14])).module() for _ in range(4)]
    data = b"\n".join(module.removeprefix(BOM) for module in modules)
    whole = Unit("random.py", "random", data)
    names = sorted({node.id for node in ast.walk(whole.module.tree) if isinstance(node, ast.Name)})
    for name in Random(chosen).sample(names, min(3, len(names))):
        lines = sorted(lines_with(whole, [name.encode()]))
        found = glimpse(whole.module.data, extents(whole.module), lines)
        part = found[0] if found is not None else None
        alone = Unit("random.py", "random", data)
        alone.glimpse = lambda lines, part=part: part or whole.module.tree  # type: ignore[method-assign]
        assert said(list(glimpsed_on(alone, name))) == said(list(nodes_on(whole, name)))


FILLER = "".join(f"filler_{number} = {number}\n" for number in range(20))


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a = 1\nb = 2\n", 2, "b = 2"),
        ("a = 1; b = 2\nc = 3\n", 1, "a = 1\nb = 2"),
        ("a = (\n  1)\nb = 2\n", 2, "a = 1"),
        ("@one\n@two\ndef f():\n    pass\n", 1, "@one\n@two\ndef f():\n    pass"),
        ("class A:\n    '''It says.'''\n    x = 1\n    y = 2\n", 4, "class A:\n    y = 2"),
        ("class A:\n    x = 1\n    y = 2\n", 1, "class A:\n    x = 1"),
        ("class A(B,\n        C): x = 1\n", 2, "class A(B, C):\n    x = 1"),
        ("class A:\n    x = 1; y = 2\n    z = 3\n", 2, "class A:\n    x = 1\n    y = 2"),
        ("@one\nclass A:\n    @two\n    def f(self): pass\n    z = 3\n", 3,
         "@one\nclass A:\n\n    @two\n    def f(self):\n        pass"),
        ("class A:\n    z = 3\n    class B:\n        x = 1\n        y = 2\n", 4,
         "class A:\n\n    class B:\n        x = 1\n        y = 2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_what_is_there(text: str, line: int, expected: str, ending: str) -> None:
    tree = glimpsed((text + FILLER).replace("\n", ending), line)
    assert tree is not None and ast.unparse(tree) == expected


def test_a_statement_that_goes_on_after_a_semicolon_is_left_to_the_whole_tree() -> None:
    assert glimpsed("a = 1; \\\nb = 2\n" + FILLER, 1) is None


def test_most_of_a_file_is_left_to_the_whole_tree() -> None:
    assert glimpsed(FILLER, *range(1, 15)) is None


def test_a_file_whose_tree_is_there_is_not_parsed_again() -> None:
    unit = Unit("a.py", "a", b"a = 1\nb = 2\nc = 3\nd = 4\n")
    assert unit.glimpse([2]) is unit.module.tree


def test_a_file_is_parsed_once_its_glimpses_are_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.specialize.unit.parsed_lately", lambda raw, path: False)
    unit = Unit("a.py", "a", FILLER.encode())
    for _ in range(2):
        unit.release()
        asked = 0
        while not unit.releasable:
            unit.glimpse([3])
            asked += 1
        assert 15 < asked < 30
