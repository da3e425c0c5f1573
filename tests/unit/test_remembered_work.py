"""Work on single files that is remembered gives what doing it again gives, whatever changed beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gate_worlds import PACKAGES, manifest, package, snapshot
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore

from builder import memo
from builder.errors import Mark
from builder.manifest.statements import AnchoredEdit, Batch, Option, Span
from builder.overlay.anchored import edit
from builder.overlay.recalled_edits import edit_or_recall
from builder.overlay.record import Edited
from builder.pipeline.expand import names_nowhere
from builder.surface.extract import surface
from builder.surface.model import Surface

#: file -> texts that it may have; the flags of some rest on names of others
TEXTS = {
    "args.py": [
        "from pkg.names import NAMES\n\nparser.add_argument('--mode', choices=NAMES)\n",
        "from pkg.other import NAMES\n\nparser.add_argument('--mode', choices=NAMES)\n",
        "from pkg.names import *\n\nparser.add_argument('--mode', choices=[*NAMES, 'z'])\n",
    ],
    "names.py": ["NAMES = ['a']\n", "NAMES = ['a', 'b']\n", "from pkg.other import NAMES\n", "", "def\n"],
    "other.py": ["NAMES = ['c']\n", "NAMES = make()\n", "from pkg.names import NAMES\n"],
}
TREES = st.fixed_dictionaries(
    {path: st.none() | st.sampled_from(texts) for path, texts in TEXTS.items()}
).map(lambda files: {path: text for path, text in files.items() if text is not None})


@given(st.lists(TREES, min_size=2, max_size=5))
def test_a_surface_rests_on_every_file_that_was_asked_for(trees: list[Mapping[str, str]]) -> None:
    store = MemoryStore()

    def found(files: Mapping[str, str]) -> Surface:
        return surface(package(files), PACKAGES)

    for files in trees:
        with memo.using(store):
            warm = found(files)
        assert warm == found(files)


def anchored(line: int, anchor: str, why: str = "w") -> AnchoredEdit:
    return AnchoredEdit("a.cc", "replace", anchor, "b", why, by="X", mark=Mark("manifest.yaml", line, 3))


def test_remembered_edits_are_of_the_statements_at_hand() -> None:
    store = MemoryStore()
    calls: list[object] = []

    def run(edits: Sequence[AnchoredEdit]) -> Edited:
        def work(given: Sequence[AnchoredEdit]) -> Edited:
            calls.append(given)
            return edit("a.cc", b"int one; int two;\n", given)

        with memo.using(store):
            return edit_or_recall("anchored", ("a.cc", b"int one; int two;\n"), edits, work)

    first = run([anchored(5, "one"), anchored(9, "two")])
    second = run([anchored(70, "one"), anchored(80, "two")])
    assert len(calls) == 1
    assert first[0] == second[0] == b"int X; int X;\n"
    assert [record.mark.line for record in first[2]] == [5, 9]
    assert [record.mark.line for record in second[2]] == [70, 80]
    assert run([anchored(70, "one", "another reason"), anchored(80, "two")])[2][0].why == "another reason"
    run([replace(anchored(7, "one"), optional="made for other versions", span=Span("0.5.9"))])
    run([replace(anchored(8, "one"), optional="another reason", span=Span("0.5.12"))])
    assert len(calls) == 2  # neither the reason nor the versions change what an edit does


def test_edits_with_a_problem_name_the_statement_at_hand() -> None:
    store = MemoryStore()
    for line in (5, 70):
        with memo.using(store):
            _, (problem,), _ = edit_or_recall(
                "anchored", (), [anchored(line, "three")], lambda edits: edit("a.cc", b"int one;\n", edits)
            )
        assert problem.mark == Mark("manifest.yaml", line, 3)


def test_edits_that_match_nothing_are_remembered_and_those_with_another_problem_are_not() -> None:
    store = MemoryStore()
    for anchor, times in (("three", 1), ("int", 2)):
        calls: list[object] = []

        def work(edits: Sequence[AnchoredEdit], calls: list[object] = calls) -> Edited:
            calls.append(edits)
            return edit("a.cc", b"int one; int two;\n", edits)

        for line in (5, 70):
            wanted = [anchored(line, anchor), anchored(line + 1, "two")]
            with memo.using(store):
                data, (problem,), (record,) = edit_or_recall("anchored", (anchor,), wanted, work)
            assert data == b"int one; int X;\n"
            assert (problem.nothing, problem.mark) == (times == 1, Mark("manifest.yaml", line, 3))
            assert record.mark == Mark("manifest.yaml", line + 1, 3)
        assert (len(calls) == 1) is (times == 1)


@given(
    st.frozensets(
        st.sampled_from(
            ["is_npu", "is_hip", "AwkConfig", "x", "nowhere", "Config", "is_npu(", "hip = 1", "1"]
        )
    ),
    st.dictionaries(
        st.sampled_from(["python/pkg/a.py", "python/pkg/sub/b.py", "test/c.py", "docs/d.md"]),
        st.sampled_from(["def is_npu(): x\n", "AwkConfig\n", "is_hip = 1\n", ""]),
    ),
)
def test_names_are_searched_in_all_of_the_python(asked: frozenset[str], files: Mapping[str, str]) -> None:
    tree = snapshot(files)
    text = "\n".join(text for path, text in files.items() if path.endswith(".py"))
    here = Mark("manifest.yaml", 1, 1)
    stated = Batch("b", "because", here, options=(Option(("*",), tuple(asked), "b", mark=here),))
    assert names_nowhere(tree, manifest(batches=(stated,))) == {name for name in asked if name not in text}
