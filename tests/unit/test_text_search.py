"""Seeking a name where the text holds it finds what a walk of the whole tree finds."""

from __future__ import annotations

import ast
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_source import Text

from builder.specialize.evaluating.scopes import Scopes
from builder.specialize.text_index.content import Content
from builder.specialize.text_index.text_search import (
    classes_called,
    lines_with,
    loads,
    nodes_like,
    refers,
    statements,
)
from builder.specialize.unit import Unit


def unit_of(text: str) -> Unit:
    return Unit("pkg/a.py", "pkg.a", Content(text.encode()))


def random_unit(seed: int) -> Unit:
    random = Random(seed)
    return Unit("random.py", "random", Content(Text(random, random.choice([2, 3, 6, 14])).module()))


def names_of(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}


@given(st.integers(0, 2**32))
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_every_name_that_is_read_is_found(seed: int) -> None:
    unit = random_unit(seed)
    for name in names_of(unit.module.tree):
        assert loads(unit, name)


@given(st.integers(0, 2**32))
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_functions_read_when_asked_for_have_the_scopes_of_those_read_at_once(seed: int) -> None:
    unit = random_unit(seed)
    whole = Scopes(unit.module.tree)
    for node, scope in whole.by_node.items():
        late = unit.scopes.of(node)
        assert late.names == scope.names
        assert (late.qualname, late.kind, late.outer) == (scope.qualname, scope.kind, scope.outer)


@pytest.mark.parametrize(
    "text",
    [
        "x = [0for y in z]\n",
        "x = f(\n    lambda:y,\n    z,\n)\n",
        "print(f'{[a for a in b]} {(c:=d)}')\n",
        "if (a:=b): c\n",
        "while f(a := b):\n    pass\nelse:\n    (c := 1)\n",
        "def f(a=(b:=1), *, c: {d for d in e} = lambda: g) -> (h := 2):\n    return (i := j)\n",
        "@f(lambda: a)\nclass C((b for b in c)):\n    d: (e := 1) = (g := 2)\n",
        "x = (\n    'one'\n    f'{(lambda a: a)(1)}'\n)\n",
    ],
)
def test_an_expression_that_opens_a_scope_or_binds_a_name_is_not_passed_over(text: str) -> None:
    unit = Unit("m.py", "m", Content(text.encode()))
    whole = Scopes(unit.module.tree)
    found = {scope.node: scope for scope in unit.scopes.every()}
    assert found.keys() == {scope.node for scope in whole.every()}
    for scope in whole.every():
        assert found[scope.node].names == scope.names


def test_classes_are_found_by_name() -> None:
    text = "class A: pass\ndef f():\n    class A: pass\n    A.b\nclass B(A): pass\nx = 1\n" * 3
    unit = Unit("m.py", "m", Content(text.encode()))
    assert [node.lineno for node in classes_called(unit, "A")] == [1, 3, 7, 9, 13, 15][::-1]
    assert list(classes_called(unit, "x")) == []


def test_a_file_known_to_have_no_such_node_is_not_parsed() -> None:
    text = b"def f():\n    return a.b\n"
    content = Content(text)

    def found(kind: type[ast.AST]) -> tuple[Unit, int]:
        unit = Unit("pkg/a.py", "pkg.a", content)
        return unit, len(list(nodes_like(unit, "b", kind.__name__, lambda node: isinstance(node, kind))))

    for kind, count in ((ast.Lambda, 0), (ast.Return, 1)):
        assert found(kind)[1] == count
        unit, again = found(kind)
        assert again == count
        assert (unit._module is None) is (count == 0)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=30), st.sets(st.integers(1, 60), max_size=8))
def test_the_statements_on_some_lines_are_those_that_span_one(heights: list[int], asked: set[int]) -> None:
    text = "".join("f(" + "\n" * (height - 1) + "); g()\n" for height in heights)
    suite = ast.parse(text).body
    lines = sorted(asked)
    spanning = [s for s in suite if any(s.lineno <= line <= (s.end_lineno or 0) for line in lines)]
    assert list(statements(suite, lines)) == spanning


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("print(name)\n", True),
        ("x.name = 1\n", True),
        ("from m import name\n", True),
        ("from m import a as name\n", True),
        ("import m.name\n", True),
        ("def f():\n    global name\n", True),
        ("x = 'm.name'\n", True),
        ("x: 'list[name]' = []\n", True),
        ("@name\ndef name():\n    pass\n", True),
        ("print(f'{name} and {x}')\n", True),
        ("print(f'''\n{x!r:>{name}}\n''')\n", True),
        ("name = 1\n", False),
        ("def name():\n    return name()\n", False),
        ("class name:\n    def f(self):\n        return name\n", False),
        ("# name\n", False),
        ("'''Prose about name.'''\n", False),
        ("f(name=1)\n", False),
        ("names = rename\n", False),
    ],
)  # fmt: skip
def test_what_refers_to_a_name(text: str, found: bool) -> None:
    assert refers(unit_of(text), "name") is found


def test_a_word_has_nothing_of_a_word_around_it() -> None:
    unit = unit_of("a_b = ab\nb = 'é b'\nab = b_\n")
    assert lines_with(unit, [b"b"]) == {2}
    assert lines_with(unit, [b""]) == set()


def test_lines_that_leave_at_the_end_of_the_round_hold_nothing() -> None:
    unit = unit_of("import a\n\n\ndef f():\n    return a\n")
    assert loads(unit, "a")
    unit.hidden.append((4, 5))
    assert not loads(unit, "a")
    assert refers(unit, "a")
    unit.leaving.add(unit.module.tree.body[0].names[0])  # type: ignore[attr-defined]
    assert not refers(unit, "a")
