"""The fields that a walk of a syntax tree may leave out hold no node with a text of its own."""

from __future__ import annotations

import ast
import re

from builder.source.fields import INNER_FIELDS, nodes

_WITHOUT_TEXT = {
    "constant",
    "identifier",
    "int",
    "string",
    "expr_context",
    "operator",
    "boolop",
    "unaryop",
    "cmpop",
}


def kinds() -> list[type[ast.AST]]:
    every = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
    return [kind for kind in every if kind._fields and re.match(rf"{kind.__name__}\(", kind.__doc__ or "")]


def test_a_field_that_is_left_out_holds_a_word_a_number_or_an_operator() -> None:
    left_out = set()
    for kind in kinds():
        types = dict(reversed(pair.split()) for pair in re.findall(r"[\w?*]+ \w+", kind.__doc__ or ""))
        for name in set(kind._fields) - set(INNER_FIELDS[kind]):
            assert types[name].rstrip("?*") in _WITHOUT_TEXT, (kind, name)
            left_out.add(types[name].rstrip("?*"))
    assert left_out == _WITHOUT_TEXT


def test_all_nodes_come_in_the_order_of_the_standard_library_without_contexts_and_operators() -> None:
    tree = ast.parse(
        "@d(1)\nclass A(B, k=c):\n x: int = -y[0:1]\n def f(self, *a, b=2): return [i for i in a if i > b]\n"
    )
    kinds_left_out = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
    assert [*nodes(tree)] == [node for node in ast.walk(tree) if not isinstance(node, kinds_left_out)]
