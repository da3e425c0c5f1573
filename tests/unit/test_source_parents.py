"""The parents of syntax nodes, found as they are asked for, are those that a walk of the whole tree finds."""

from __future__ import annotations

import ast
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_source import Text

from builder.source.parents import Parents

#: Python uses one node of each of these kinds for a whole module.
SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def check(text: str | bytes, random: Random) -> None:
    tree = ast.parse(text)
    expected = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    nodes = [node for node in expected if not isinstance(node, SHARED)]
    random.shuffle(nodes)
    parents = Parents(tree)
    for node in nodes:
        assert parents.get(node) is expected[node]
        assert parents[node] is expected[node]
        assert node in parents


@given(st.integers(0, 2**32))
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_each_node_has_the_parent_that_a_whole_walk_finds(seed: int) -> None:
    random = Random(seed)
    check(Text(random, random.choice([2, 3, 6, 14])).module(), random)


@pytest.mark.parametrize(
    "text",
    [
        "@a\n@b(\n 1)\nclass C(\n  D, m=E): x = f(1)\n",
        "class C:\n    @p\n    def f(self): return [x for x in self]\n    y = 1; z = {2: 3}\n",
        "x = 1; y = f(x); z = [\n  y]\n",
        'def f():\n    return f"""\n{a + b}\n{c!r:{d}}"""\n',
        "if a:\n    class C:\n        def f(self): pass\nelse:\n    with b as c: pass\n",
        "",
    ],
)
def test_parents_of_statements_that_share_lines_are_found(text: str) -> None:
    for seed in range(20):
        check(text, Random(seed))


def test_a_module_and_a_foreign_node_have_no_parent() -> None:
    tree = ast.parse("x = 1\n")
    parents = Parents(tree)
    foreign = ast.parse("y").body[0]
    assert parents.get(tree) is None
    assert parents.get(None) is None
    assert foreign not in parents
    with pytest.raises(KeyError):
        parents[foreign]
