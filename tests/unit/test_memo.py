"""Remembered functions: what equal arguments gave is given again, whoever remembered it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore

from builder import memo, parallel
from builder.memo import Shelf, digest, remembered

CALLS: list[object] = []


@remembered
def length(data: bytes, more: int = 0) -> list[int]:
    CALLS.append((data, more))
    return [len(data) + more]


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def test_a_function_runs_once_for_equal_arguments() -> None:
    with memo.using(MemoryStore()):
        assert [length(b"abc"), length(b"abc"), length(b"abc", more=1), length(b"abcd")] == [
            [3], [3], [4], [4],
        ]  # fmt: skip
    assert CALLS == [(b"abc", 0), (b"abc", 1), (b"abcd", 0)]


def test_without_a_store_nothing_is_remembered() -> None:
    with memo.using(MemoryStore()), memo.using(None):
        assert length(b"abc") == length(b"abc") == [3]
    assert len(CALLS) == 2


def test_a_result_belongs_to_whoever_gets_it() -> None:
    with memo.using(MemoryStore()):
        length(b"abc").append(7)
        assert length(b"abc") == [3]


def test_what_a_second_process_finds_out_is_remembered() -> None:
    with memo.using(MemoryStore()):
        assert parallel.Future(lambda: length(b"in a child")).result() == [10]
        assert CALLS == []  # this process did not call it
        assert length(b"in a child") == [10]
        assert CALLS == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_values_have_equal_digests_only_where_they_are_the_same(one: object, other: object) -> None:
    assert (digest(one) == digest(other)) is (repr(one) == repr(other))


def test_a_value_without_a_digest_is_refused() -> None:
    for value in ({1}, object(), b"x".decode):
        with pytest.raises(TypeError, match="has no digest"):
            digest(value)


def test_a_shelf_reads_what_is_asked_for_and_forgets_nothing_by_itself() -> None:
    store = MemoryStore()
    shelf: Shelf[str, list[int]] = Shelf(store, "kind")
    shelf["a"] = [1]
    later: Shelf[str, list[int]] = Shelf(store, "kind")
    assert later  # though nothing was asked for
    assert "b" not in later
    assert later["a"] is later["a"]
    assert dict(later) == {"a": [1]}
    puts = store.puts
    later["a"] = later.pop("a")  # as one moves an entry to the end of a dictionary
    assert (dict(later), store.puts) == ({"a": [1]}, puts)
    assert Shelf(store, "other kind").get("a") is None
