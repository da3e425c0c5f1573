"""What is recalled under other facts is what folding under these facts gives, whichever facts changed."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_package import run
from test_fold_cache import everything
from yaml_cases import load

from builder.errors import Mark
from builder.manifest.statements import Absent, Option
from builder.specialize import fixpoint
from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.fold_cache import TABLES, FoldRecord, RecordingFacts

FILES: dict[str, str] = load("folding.yaml")["facts"]
HERE = Mark("manifest.yaml", 1, 1)
TRUTHS = st.sampled_from(
    [KnownValue(True), KnownValue(False), KnownValue(1), KnownValue(0), KnownValue(None)]
)


def table(values: st.SearchStrategy[Any], *names: Any) -> st.SearchStrategy[dict[Any, Any]]:
    """Some of the names, each with a value."""
    return st.dictionaries(st.sampled_from(names), values, max_size=len(names))


def names(*listed: str) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(listed))


OPTIONS = [
    Option(("backend",), ("slow",), "a", mark=HERE),
    Option(("*",), ("odd",), "a", mark=HERE),
    Option(("other",), ("odd",), "a", mark=HERE),
]
MODULE, SYMBOL = (Absent(kind, "absent", "a", mark=HERE) for kind in ("module", "symbol"))  # type: ignore[arg-type]
FACTS = st.builds(
    Facts,
    predicates=table(TRUTHS, "pkg.platform.is_npu", "pkg.flags.quick"),
    values=table(TRUTHS, "*.is_odd", "*.has_tables", "pkg.flags.DEVICE", "pkg.flags.LIMIT"),
    environment=table(st.sampled_from([KnownValue(value) for value in ("1", None, False)]), "FAST", "LIMIT"),
    attributes=names("*.hip"),
    pure=names("log", "start"),
    environment_readers=names("read_int"),
    quiet_imports=names("quiet_library", "enum"),
    defaults=table(st.sampled_from(["plain", "other", None, False]), ("start", "mode")),
    options=st.lists(st.sampled_from(OPTIONS), unique=True).map(tuple),
    modules=table(st.just(MODULE), "absent_library", "quiet_library"),
    symbols=table(st.just(SYMBOL), "pkg.base.Kind.ODD", "pkg.base.helper"),
    uncalled=names("pkg.layers.Layer.forward_npu"),
    bases=st.frozensets(st.sampled_from(["pkg.base.Base", "enum.Enum"])),
)


@settings(max_examples=settings().max_examples * 2 // 5)  # an example is eight cuts
@given(st.lists(FACTS, min_size=2, max_size=4))
def test_recalling_under_other_facts_gives_what_folding_gives(listed: list[Facts]) -> None:
    recall: dict[str, FoldRecord] = {}
    for facts in listed:
        fresh = run(FILES, facts=facts)
        assert everything(run(FILES, facts=facts, recall=recall)) == everything(fresh)


def test_a_fact_that_no_file_asks_for_folds_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recall: dict[str, FoldRecord] = {}
    known = {"pkg.platform.is_npu": KnownValue(False)}
    run(FILES, facts=Facts(predicates=known), recall=recall)
    monkeypatch.setattr(fixpoint, "fold", lambda unit, *more: pytest.fail(f"{unit.path} is folded"))
    more = Facts(predicates={**known, "pkg.elsewhere.is_hip": KnownValue(True)}, pure=frozenset(["unheard"]))
    run(FILES, facts=more, recall=recall)


def test_every_table_of_the_facts_writes_down_what_it_is_asked() -> None:
    asked: dict[tuple[Any, ...], Any] = {}
    recording = RecordingFacts(SimpleNamespace(facts=Facts()), asked)  # type: ignore[arg-type]
    fields = {field.name for field in dataclasses.fields(Facts)}
    # a new kind of fact must be recorded too; of these no fold asks anything
    assert fields == {*TABLES, "options", "registries", "declarations", "methods"}
    for name in TABLES:
        assert "x" not in getattr(recording, name)
        with pytest.raises(TypeError):
            iter(getattr(recording, name))
    assert not recording.never_has(("a",), "b")
    assert len(asked) == len(TABLES) + 1
