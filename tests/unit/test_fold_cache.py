"""What is recalled is what would have been found out again, whatever changed since."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_package import FACTS, module_of, run
from test_fixpoint import FILES
from yaml_cases import load

from builder.specialize import fixpoint
from builder.specialize import unit as unit_module
from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.fold_cache import FoldRecord, RecordingWorld
from builder.specialize.text_index.content import Contents, Question
from builder.specialize.world import KnownOfFiles, Memory, SpecializerWorld

#: one thing that can be another way: path, text, other text
CHANGES = [
    ("pkg/flags.py", "_is_npu = is_npu()", "_is_npu = choose()"),
    ("pkg/flags.py", "_is_npu = is_npu()", "_is_npu = not is_npu()"),
    ("pkg/flags.py", "return _is_npu", "return True"),
    ("pkg/flags.py", "def fast():", "def slow():"),
    ("pkg/flags.py", "from pkg.platform import is_npu", "from pkg.other import is_npu"),
    ("pkg/models.py", "from pkg.flags import _is_npu, fast", "from pkg.flags import *"),
    ("pkg/models.py", "return prepare(x)", "return x"),
    ("pkg/models.py", 'kinds = {"plain": dict, "kernel": Kernel}', "kinds = {}"),
    ("pkg/main.py", "if tune is not None:", "if tune:"),
    ("pkg/main.py", "return Model().forward(x)", "return Model().forward_npu(x)"),
    ("pkg/main.py", "from pkg.models import Model, tune", "from pkg.models import Model, fast, tune"),
]
GONE = ["pkg/gone/__init__.py", "pkg/gone/extra.py", "pkg/flags.py"]
MORE: dict[str, str] = load("folding.yaml")["more"]
ALL = {**FILES, **MORE}


def texts(changes: Sequence[int]) -> dict[str, str]:
    found = dict(ALL)
    for index in changes:
        path, old, new = CHANGES[index]
        found[path] = found[path].replace(old, new)
    return found


WORLDS = st.tuples(
    st.lists(st.integers(0, len(CHANGES) - 1), max_size=3, unique=True),
    st.sets(st.sampled_from(GONE)),
    st.sampled_from([FACTS, Facts(predicates={"pkg.platform.is_npu": KnownValue(True)}), Facts()]),
)


def everything(done: Any) -> tuple[Any, ...]:
    return (
        done.files, done.formatted, done.lost, done.emptied, done.leftovers, done.mismatches,
        done.uncertain, done.rounds, done.decided,
    )  # fmt: skip


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that were folded."""
    paths: list[str] = []
    real = fixpoint.fold

    def fold(unit: Any, *more: Any) -> Any:
        paths.append(unit.path)
        return real(unit, *more)

    monkeypatch.setattr(fixpoint, "fold", fold)
    return paths


@settings(max_examples=settings().max_examples // 2)  # an example is ten cuts
@given(st.lists(WORLDS, min_size=2, max_size=5))
def test_recalling_gives_what_folding_gives(worlds: list[Any]) -> None:
    recall: dict[str, FoldRecord] = {}
    for changes, gone, facts in worlds:
        fresh = run(texts(changes), without=gone, facts=facts)
        recalled = run(texts(changes), without=gone, facts=facts, recall=recall)
        assert everything(recalled) == everything(fresh)
        recall = pickle.loads(pickle.dumps(recall))


def test_the_same_text_binds_other_names_in_another_package() -> None:
    kept: dict[str, dict[Question, Any]] = {}
    for place, target in 2 * [("pkg/sub/__init__.py", "pkg.sub.a"), ("pkg/sub.py", "pkg.a")]:
        files = {place: b"from . import a\n", "pkg/a.py": b"", "pkg/sub/a.py": b""}
        names = {path: module_of(path) for path in files if path != "pkg/sub/a.py" or "__init__" in place}
        kept_files = {path: files[path] for path in names}
        known = KnownOfFiles.of(kept_files, names, Contents(kept))
        world = SpecializerWorld(kept_files, names, (), Facts(), Memory(), known)
        assert world.canonical("pkg.sub", "a") == target
        known.contents.save()


def test_what_a_file_binds_is_known_without_its_syntax_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        b"import a.b\nimport c.d as e\nfrom .f import *\ntry:\n    from g import h\nexcept E:\n    h = None\n"
    )
    files = {"pkg/x.py": text, "pkg/f.py": b"i = 1\n"}
    names = {p: module_of(p) for p in files}
    kept: dict[str, dict[Question, Any]] = {}
    asked = ("a", "e", "h", "i", "j")

    def answers() -> list[Any]:
        known = KnownOfFiles.of(files, names, Contents(kept))
        world = SpecializerWorld(files, names, (), Facts(), Memory(), known)
        found = [world.canonical("pkg.x", name) for name in asked]
        known.contents.save()
        return found

    first = answers()
    assert first == ["a", "c.d", "pkg.x.h", "pkg.f.i", "pkg.x.j"]
    monkeypatch.setattr(unit_module, "parse", lambda data, path: pytest.fail(f"{path} is parsed"))
    assert answers() == first


def test_whether_a_package_is_a_file_is_a_question_of_who_imports_a_module_of_it() -> None:
    main = "pkg/main.py"
    files = {main: b"import pkg.deep.flags as flags\n", "pkg/deep/flags.py": b""}
    for package in ([], ["pkg/deep/__init__.py"]):
        every = {**files, **dict.fromkeys(package, b"")}
        names = {path: module_of(path) for path in every}
        world = SpecializerWorld(
            every, names, (), Facts(), Memory(), KnownOfFiles.of(every, names, Contents())
        )
        asked = RecordingWorld(world)
        (binding,) = asked.unit(main).scopes.root.names["flags"]
        assert asked.imported(asked.unit(main), binding) == "pkg.deep.flags"
        assert asked.answers["has_file", "pkg.deep"] is bool(package)


def test_only_what_can_see_a_change_is_folded_again(folded: list[str]) -> None:
    recall: dict[str, FoldRecord] = {}
    first = run(ALL, without=GONE[:2], recall=recall)
    folded.clear()
    assert everything(run(ALL, without=GONE[:2], recall=recall)) == everything(first)
    assert folded == []
    run(texts([6]), without=GONE[:2], recall=recall)
    assert set(folded) == {"pkg/models.py"}


@pytest.mark.parametrize("changed", [KnownValue(True), KnownValue(0), None])
def test_a_fact_that_changed_concerns_the_files_that_asked_for_it(
    changed: KnownValue | None, folded: list[str]
) -> None:
    files = {
        "pkg/asks.py": "from pkg.platform import is_npu\nif is_npu():\n    x = 1\nelse:\n    x = 2\n",
        "pkg/other.py": "from pkg.platform import is_hip\nif is_hip():\n    x = 1\n",
    }
    hip = {"pkg.platform.is_hip": KnownValue(False)}
    npu = {"pkg.platform.is_npu": KnownValue(False)}
    recall: dict[str, FoldRecord] = {}
    run(files, facts=Facts(predicates={**hip, **npu}), recall=recall)
    folded.clear()
    facts = Facts(predicates={**hip, **({"pkg.platform.is_npu": changed} if changed else {})})
    again = run(files, facts=facts, recall=recall)
    assert set(folded) <= {"pkg/asks.py", "pkg/platform.py"}
    assert ("pkg/asks.py" in folded) is (changed is not None)  # without a fact there is nothing to fold
    assert everything(again) == everything(run(files, facts=facts))
