"""A whole specialization is recalled where nothing that it depends on changed, and only there."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_store import MemoryStore
from test_reached import BASIC, HEAD, stated, upstream

from builder import memo
from builder.errors import Mark
from builder.manifest.statements import Option
from builder.pipeline import reduce, request_key
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.pipeline.run import Recalled, digest_of
from builder.specialize.evaluating.facts import Facts, KnownValue

FILES = {
    **BASIC,
    "main.py": "from pkg.models.registry import load\nfrom pkg.tool import fast\n\nload('one')\nfast()\n",
    "tool.py": (
        "from pkg.here import is_far, is_near\n\n\ndef fast():\n    if is_far():\n        return far()\n"
        "    return near() if is_near() else None\n\n\n"
        "def far():\n    return 1\n\n\ndef near():\n    return 2\n"
    ),
    "here.py": "def is_far():\n    return probe()\n\n\ndef is_near():\n    return probe()\n",
    "extra.py": "import pkg.tool\n",
}
FAR = "facts: {predicates: {pkg.here.is_far: false}}\n"
BATCHES = "batches:\n  - {id: a, why: w, remove: [python/pkg/extra.py]}\n"
#: texts of the manifest after its roots
MANIFESTS = [
    FAR + BATCHES,
    "# a comment\n" + FAR + BATCHES,
    FAR + BATCHES.replace("why: w", "why: another reason"),
    FAR.replace("false", "true") + BATCHES,
    "facts: {predicates: {pkg.here.is_near: false}}\n" + BATCHES,
    "prune_symbols: [python/pkg/]\n" + FAR + BATCHES,
    FAR + "keep: [python/pkg/extra.py]\nbatches: []\n",
]


def run(rest: str, store: MemoryStore | None) -> Cut:
    recalled = Recalled.of(store) if store is not None else None
    with memo.using(store):
        return cut(upstream(FILES), stated(rest, HEAD), lambda _: None, recalled)


def everything(done: Cut) -> tuple[object, ...]:
    found = done.specialized
    return (
        done.output.tree.id, done.decided.removed, found.lost, found.leftovers, found.uncertain, found.rounds,
    )  # fmt: skip


@cache
def cold(rest: str) -> tuple[object, ...]:
    return everything(run(rest, None))


@pytest.fixture
def specialized(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was specialized."""
    calls: list[object] = []
    real = reduce.specialize

    def specialize(*given: Any) -> Any:
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(reduce, "specialize", specialize)
    return calls


@settings(max_examples=settings().max_examples // 5)  # an example is a dozen cuts
@given(st.lists(st.sampled_from(MANIFESTS), min_size=2, max_size=6))
def test_what_is_recalled_is_what_specializing_gives(manifests: list[str]) -> None:
    store = MemoryStore()
    for rest in manifests:
        assert everything(run(rest, store)) == cold(rest)


@pytest.mark.parametrize("rest", MANIFESTS)
def test_any_change_but_a_comment_or_a_reason_specializes(rest: str, specialized: list[object]) -> None:
    store = MemoryStore()
    run(MANIFESTS[0], store)
    specialized.clear()
    run(rest, store)
    assert bool(specialized) is (rest not in MANIFESTS[:3])


def test_another_formatter_specializes(specialized: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    run(MANIFESTS[0], store)
    monkeypatch.setattr(request_key, "versions", lambda: {"ruff": "another"})
    specialized.clear()
    run(MANIFESTS[0], store)
    assert specialized


def test_a_result_belongs_to_whoever_recalls_it() -> None:
    store = MemoryStore()
    first = run(MANIFESTS[0], store)
    first.specialized.lost["changed"] = "by its owner"
    assert "changed" not in run(MANIFESTS[0], store).specialized.lost


def test_a_digest_is_of_what_is_stated_and_not_of_where() -> None:
    def facts(line: int, value: object) -> Facts:
        option = Option(("x",), ("y",), "a", mark=Mark("manifest.yaml", line, 1))
        return Facts(predicates={"p.is_x": KnownValue(value)}, options=(option,), pure=frozenset(["a", "b"]))  # type: ignore[arg-type]

    assert digest_of(facts(1, True)) == digest_of(facts(2, True))
    assert len({digest_of(facts(1, value)) for value in (True, False, 1, 0, None, "1")}) == 6
