"""Which arguments a Triton kernel may write to, by its source."""

from __future__ import annotations

import textwrap
from types import SimpleNamespace
from typing import Any

import pytest

from verification.machine import stores


def kernel(source: str, *names: str) -> Any:
    return SimpleNamespace(src=textwrap.dedent(source), arg_names=list(names))


def written(text: str, /, **given: Any) -> Any:
    return stores.written(kernel(text, *given), (), given)


COPY = """
    @triton.jit
    def copy(source, target, size, BLOCK: tl.constexpr):
        where = tl.arange(0, BLOCK)
        value = tl.load(source + where, mask=where < size)
        tl.store(target + where, value, mask=where < size)
"""


class TestWritten:
    def test_what_is_stored_to_is_written_and_what_is_loaded_from_is_not(self) -> None:
        found = written(COPY, source="s", target="t", size=3, BLOCK=4)
        assert "t" in found
        assert "s" not in found

    def test_positions_and_names_give_the_same(self) -> None:
        one = kernel(COPY, "source", "target", "size", "BLOCK")
        assert "t" in stores.written(one, ("s", "t"), {"size": 3, "BLOCK": 4})
        assert "s" not in stores.written(one, ("s", "t"), {"size": 3, "BLOCK": 4})

    def test_a_pointer_keeps_what_it_was_made_of_also_through_a_loop(self) -> None:
        source = """
            def walk(first, second, steps):
                at = first
                for step in range(steps):
                    tl.store(at, step)
                    at = before
                    before = second + step
        """
        assert set(written(source, first="f", second="s", steps="n")) >= {"f", "s"}

    @pytest.mark.parametrize("call", ["tl.atomic_add(target, 1)", "tl.store(target, 1)", "helper(target)"])
    def test_atomics_and_functions_of_which_nothing_is_known_may_write(self, call: str) -> None:
        assert written(f"def one(target):\n    {call}\n", target="t") == ["t"]

    def test_functions_of_numbers_and_methods_of_values_write_nothing(self) -> None:
        source = "def one(target):\n    x = min(tl.load(target), 1)\n    y = x.to(tl.float32)\n"
        assert written(source, target="t") == []

    @pytest.mark.parametrize("source", ["no python (", "x = 1"])
    def test_without_a_source_that_tells_everything_may_be_written(self, source: str) -> None:
        assert written(source, target="t") == ((), {"target": "t"})

    def test_so_may_everything_of_a_kernel_that_has_no_source(self) -> None:
        assert stores.written(SimpleNamespace(), ("t",), {"n": 1}) == (("t",), {"n": 1})
