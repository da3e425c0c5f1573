"""Which architectures a model file registers."""

from __future__ import annotations

import pytest
from gate_worlds import package
from manifest_text import HEAD, schema

from builder.errors import BuildError
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.pipeline import architectures
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
