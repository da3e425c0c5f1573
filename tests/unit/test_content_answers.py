"""Answers about contents are found out once, and no tree outlives its run."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from builder.source import parse as parsing
from builder.source.parse import Module
from builder.specialize.evaluating.facts import Facts
from builder.specialize.fixpoint import specialize
from builder.specialize.program import Memo, Policy, Program
from builder.specialize.text_index.content import Contents, Question
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.text_search import loads
from builder.specialize.unit import Unit

BEFORE = b"from pkg.b import gone, kept\n\n\ndef f():\n    gone()\n    return kept()\n"
AFTER = b"from pkg.b import gone, kept\n\n\ndef f():\n    return kept()\n"
HOME = b"def gone():\n    return 1\n\n\ndef kept():\n    return 2\n"


def run(memo: Memo) -> dict[str, bytes]:
    upstream = {"pkg/a.py": BEFORE, "pkg/b.py": HOME, "lib/c.py": b"print('It is gone!')\n"}
    names = {"pkg/a.py": "pkg.a", "pkg/b.py": "pkg.b", "lib/c.py": "lib.c"}
    program = Program({**upstream, "pkg/a.py": AFTER}, upstream, names)
    return specialize(program, Policy(Facts(), prune_symbols=lambda path: True), memo).files


def keep(monkeypatch: Any, most: int) -> None:
    """Begin with nothing parsed, and keep files of so many bytes parsed that nobody holds."""
    monkeypatch.setattr(parsing, "_RECENT", parsing._Recent(most))
    monkeypatch.setattr(parsing, "_HELD", weakref.WeakValueDictionary())


def test_an_answer_is_found_out_once_for_equal_contents() -> None:
    cache = Contents()
    asked: list[str] = []
    for data in (b"x = 1\n", bytes(bytearray(b"x = 1\n")), b"y = 1\n"):
        cache.of(data).get(("question",), lambda: asked.append("once"))
    assert len(asked) == 2


def test_a_run_with_remembered_answers_parses_less_and_gives_the_same(monkeypatch: Any) -> None:
    kept: dict[str, dict[Question, Any]] = {}
    cold = run(Memo(answers=kept))
    assert cold["pkg/b.py"].count(b"def") == 1
    parsed: list[str] = []
    original = Module.__init__

    def counted(self: Module, path: str, raw: bytes) -> None:
        parsed.append(path)
        original(self, path, raw)

    monkeypatch.setattr(Module, "__init__", counted)
    keep(monkeypatch, 1000)
    plain = run(Memo())
    without, parsed[:] = len(parsed), []
    keep(monkeypatch, 1000)
    assert run(Memo(answers=kept)) == cold == plain
    assert len(parsed) < without


def test_what_leaves_is_not_remembered() -> None:
    cache = Contents()
    unit = Unit("a.py", "a", cache.of(b"x = 1\nprint(x)\n"))
    assert loads(unit, "x")
    unit.hidden.append((2, 2))
    assert not loads(unit, "x")
    unit.hidden.clear()
    assert loads(unit, "x")


def test_a_file_that_is_no_python_is_told_each_time() -> None:
    cache = Contents()
    for _ in range(2):
        with pytest.raises(SyntaxError):
            Unit("a.py", "a", cache.of(b"x = (\n"))


def test_a_run_holds_no_tree_when_it_has_ended(monkeypatch: Any) -> None:
    keep(monkeypatch, 0)
    trees: list[weakref.ref[Module]] = []
    original = Module.__init__

    def noted(self: Module, path: str, raw: bytes) -> None:
        original(self, path, raw)
        trees.append(weakref.ref(self))

    monkeypatch.setattr(Module, "__init__", noted)
    gc.collect()
    gc.disable()  # as in a build: a cycle would never be freed
    try:
        run(Memo(folds={}))
        assert trees
        assert not [tree for tree in trees if tree() is not None]
    finally:
        gc.enable()


def test_the_latest_trees_are_kept_and_those_that_somebody_holds(monkeypatch: Any) -> None:
    keep(monkeypatch, 20)
    held = parsing.parse(b"first = 1\n", "a.py")
    second = weakref.ref(parsing.parse(b"second = 2\n", "a.py"))
    third = weakref.ref(parsing.parse(b"t = 3\n", "a.py"))
    assert second() is not None
    assert third() is not None
    fourth = weakref.ref(parsing.parse(b"fourth = 4\n", "a.py"))
    assert second() is None
    assert third() is not None
    assert fourth() is not None
    assert parsing.parse(b"first = 1\n", "a.py") is held


def test_identifiers_that_hold_a_text_are_found() -> None:
    words = IdentifierIndex({"a.py": b"one_two two three", "b.py": b"two_2"})
    assert set(words.containing(b"two")) == {b"one_two", b"two", b"two_2"}
    assert set(words.containing(b"")) == {b"one_two", b"two", b"three", b"two_2"}
    assert not set(words.containing(b"two\nthree"))
    words.replace("b.py", b"four")
    assert set(words.containing(b"t")) == {b"one_two", b"two", b"three"}
    assert set(words.containing(b"our")) == {b"four"}
