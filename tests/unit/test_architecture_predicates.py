"""What upstream's predicates over architectures answer for a model."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from builder.pipeline.architectures import answer, is_predicate

MODULE = """
MORE = ["C", "D"]
TWICE = ["E"]
TWICE = ["F"]

def member(model_architectures):
    return "A" in model_architectures

def of_set(model_architectures):
    names = {"A", *MORE}
    return any(name in names for name in model_architectures)

def branch(model_architectures, is_embedding=False):
    \"\"\"Text.\"\"\"
    if "A" in model_architectures or "B" in model_architectures:
        return False
    else:
        return not is_embedding

def of_config(model_architectures, config=None):
    if "A" in model_architectures:
        return True
    if config is not None and getattr(config, "is_a", False):
        return True
    return False

FROZEN = frozenset({"A", "B"})

def of_frozen(model_architectures):
    names = {*FROZEN, *tuple(MORE)}
    return any(name in names for name in model_architectures)

def nothing(model_architectures):
    pass

def calls(model_architectures):
    return lookup(model_architectures)

def unclear(model_architectures):
    return model_architectures[0] in TWICE

def rebound(model_architectures):
    return any(name in TWICE for name in model_architectures)

def two(model_architectures, other):
    return True
"""
TREE = ast.parse(dedent(MODULE))
FUNCTIONS = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("name", "architecture", "expected"),
    [
        ("member", "A", True),
        ("member", "B", False),
        ("of_set", "D", True),
        ("of_set", "B", False),
        ("of_frozen", "B", True),
        ("of_frozen", "D", True),
        ("of_frozen", "E", False),
        ("branch", "B", False),
        ("branch", "C", True),
        ("of_config", "A", True),
        ("of_config", "B", False),
        ("nothing", "A", None),
        ("calls", "A", None),
        ("unclear", "A", None),
        ("rebound", "A", None),
    ],
)
def test_membership_in_lists_is_answered_and_what_is_not_understood_is_not(
    name: str, architecture: str, expected: bool | None
) -> None:
    assert answer(FUNCTIONS[name], TREE, architecture) is expected


def test_only_a_function_of_architectures_alone_is_a_predicate() -> None:
    assert [name for name, function in FUNCTIONS.items() if not is_predicate(function)] == ["two"]
