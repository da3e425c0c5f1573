"""What answers are made of: the folders that a word stands for, and what a removed module needs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from builder.errors import Mark
from builder.graph.modules import Import, Summary
from builder.graph.reach import Edge
from builder.manifest.statements import BASE, Batch, Option, Word
from builder.pipeline.answers.names import named_paths
from builder.pipeline.answers.surface import removal_of_flag
from builder.pipeline.build import idle
from builder.pipeline.graph_answers import needs


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("acme.parts.inner", ["src/acme/parts/inner/"]),
        ("acme.parts", []),  # it has a file of its own, which the readings of names answer for
        ("acme", []),
        ("other.parts.inner", []),
    ],
)
def test_a_package_without_a_file_is_its_folder(what: str, found: list[str]) -> None:
    context: Any = SimpleNamespace(
        paths=frozenset({"src/acme/parts/__init__.py", "src/acme/parts/inner/one.py"}),
        folders=frozenset({"src", "src/acme", "src/acme/parts", "src/acme/parts/inner"}),
        manifest=SimpleNamespace(packages={"acme": "src/acme"}),
    )
    assert named_paths(context, what) == found


def cut_of(imports: dict[str, list[str]], rules: dict[str, tuple[str, str]]) -> Any:
    """A cut of modules with these imports, removed by these rules: (verdict, batch)."""
    modules = {
        name: Summary(name, name, False, tuple(Import(one, None, None, "eager", False, 1) for one in some))
        for name, some in imports.items()
    }
    removed = {name: SimpleNamespace(verdict=v, batch=b) for name, (v, b) in rules.items()}
    index = SimpleNamespace(modules=modules, internal=lambda name: name in modules)
    return SimpleNamespace(before=SimpleNamespace(index=index), decided=SimpleNamespace(removed=removed))


def test_a_removed_module_needs_what_it_imports_over_other_removed_ones() -> None:
    imports = {"a": ["b", "kept"], "b": ["c", "gone.part"], "c": ["a", "d"], "d": ["far"], "kept": ["far"]}
    rules = {"a": ("remove", "one"), "b": ("reach", BASE), "c": ("remove", "two"), "d": ("remove", BASE)}
    edges = {
        name: tuple(Edge(name, target, "eager", 1) for target in some if target in imports)
        for name, some in imports.items()
    }
    found = needs(cut_of(imports, rules), edges, frozenset({"gone", "far"}))
    # a cycle leads back to a module, which does not need itself; what reach decides comes back by itself
    assert found["a"] == {"c", "gone", "far"}
    assert found["b"] == {"a", "c", "gone", "far"}
    assert found["c"] == {"a", "gone", "far"}
    assert found["d"] == {"far"}
    assert "kept" not in found


def test_strings_and_packages_around_a_module_are_no_need() -> None:
    imports: dict[str, list[str]] = {"a": [], "b": []}
    rules = {"a": ("remove", "one"), "b": ("remove", "two")}
    edges = {"a": (Edge("a", "b", "string", 1), Edge("a", "b", "parent", 0))}
    assert needs(cut_of(imports, rules), edges, frozenset())["a"] == frozenset()


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--lora-paths", "`dist --with adapters`"),
        ("--old-mode", "`dist --with adapters`"),
        ("--awq-mode", "absent: [--awq-mode]"),  # of a batch that is off for this build only
        ("--port", "absent: [--port]"),
    ],
)
def test_a_flag_that_stays_says_what_would_remove_it(flag: str, said: str) -> None:
    mark = Mark("manifest.yaml", 1)

    def batch(name: str, word: str, *absent: str) -> Batch:
        options = (Option(("add_argument",), absent, name, mark=mark),)
        return Batch(name, "", words=(Word(word, mark=mark),), options=options, mark=mark)

    off = (batch("awq", "awq"), batch("adapters", "lora", "--old-mode"))
    manifest: Any = SimpleNamespace(words_given_back=off, off_by_default=frozenset(["adapters"]))
    assert said in removal_of_flag(manifest, flag)


def test_a_batch_whose_words_change_nothing_is_told() -> None:
    mark = Mark("manifest.yaml", 1)

    def row(verdict: str, batch: str, *also: str) -> Any:
        reasons = [SimpleNamespace(batch=name) for name in (batch, *also)]
        return SimpleNamespace(verdict=verdict, reason=reasons[0], also=tuple(reasons[1:]))

    figures: Any = SimpleNamespace(rows=(row("removed", "a"), row("edited", "b", "c"), row("kept", "d")))
    worded = [Batch(name, "", words=(Word(name, mark=mark),), mark=mark) for name in "abcd"]
    manifest: Any = SimpleNamespace(batches=(*worded, Batch("e", "", mark=mark)))
    assert idle(figures, manifest) == ["batch d has words, and changes no file of this upstream"]
