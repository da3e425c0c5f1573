"""Which architectures a model file registers, and what upstream's predicates over them answer."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from gate_worlds import package
from manifest_text import HEAD, schema

from builder.errors import BuildError
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.pipeline import architectures
from builder.pipeline.architectures import answer, is_predicate
from builder.tree import Snapshot


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class A: pass\nEntryClass = A\n", {"A"}),
        ("EntryClass = [A, B]\n\n\ndef later():\n    return 1\n", {"A", "B"}),
        ("EntryClass = [\n    A,\n    B,\n]\n", {"A", "B"}),
        ("EntryClass = A\nEntryClass = [B]\n", {"A", "B"}),
        ('"""One\nEntryClass = Wrong\n"""\nEntryClass = A\n', {"A"}),
        ("x = '''\nEntryClass = Wrong\n'''\n", set()),
        ("x = (\nEntryClass\n)\nEntryClass = A\n", {"A"}),
        ("Model = EntryClass = A\nEntryClass = [B]\n", {"A", "B"}),
        ("x = 1; EntryClass = A\nEntryClass = [B]\n", {"A", "B"}),
        ("if True:\n    EntryClass = A\n", set()),
        ("EntryClasses = A\n", set()),
        ("EntryClass = A\ndef (:\n", set()),
    ],
)
def test_the_names_of_entry_class(text: str, names: set[str]) -> None:
    assert architectures._entries(text.encode(), "m.py") == names


REGISTRY = """\
TEXT = {
    "One": ("one", "One"),
    "OneMore": ("one", "One"),
    "Two": ("two", "Two"),
    **{k: v for k, v in OTHER.items()},
}
DRAFT: dict = {"Draft": ("pkg.models.two", "Draft"), "Missing": ("three", "Three"), 4: ("one", "X")}
LIST = ["One"]
"""


def with_tables(*names: str) -> Manifest:
    stated = f"keep: [one], tables: [{', '.join(names)}]"
    text = HEAD.replace("keep: [one]", stated) + "batches: []\n"
    return parse(text.encode(), "manifest.yaml", {}, schema())


def upstream() -> Snapshot:
    models = {f"models/{name}.py": f"# {name}\n" for name in ("one", "two")}
    return package({"registry.py": REGISTRY, **models})


def test_a_table_says_which_architectures_a_module_has() -> None:
    manifest, tree = with_tables("pkg.registry.TEXT", "pkg.registry.DRAFT"), upstream()
    one = architectures.architectures(tree, ["python/pkg/models/one.py"], manifest)
    two = architectures.architectures(tree, ["python/pkg/models/two.py"], manifest)
    assert (one, two) == ({"One", "OneMore"}, {"Two", "Draft"})


@pytest.mark.parametrize("name", ["pkg.registry.LIST", "pkg.registry.NONE", "pkg.nowhere.TEXT"])
def test_a_table_that_cannot_be_read_is_named_with_its_place(name: str) -> None:
    with pytest.raises(BuildError) as raised:
        architectures.architectures(upstream(), [], with_tables("pkg.registry.TEXT", name))
    (problem,) = raised.value.problems
    assert problem.code == "R009" and name in problem.message and problem.mark is not None


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
