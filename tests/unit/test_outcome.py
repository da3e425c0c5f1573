"""An outcome that is recalled is the one that would be made: whatever changed, and whatever is remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from gate_worlds import snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_text import schema
from memory_store import MemoryStore
from small_files import FILES, MANIFEST, OVERLAYS, PARSER

from builder import memo
from builder.errors import BuildError, Mark
from builder.manifest.digests import places
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.statements import Reason
from builder.manifest.switches import switch_off
from builder.pipeline import outcome
from builder.pipeline.answers import readings
from builder.pipeline.answers.answer import sentences
from builder.pipeline.answers.context import Context
from builder.pipeline.build import Build
from builder.pipeline.outcome import Outcome, Outcomes
from builder.pipeline.packing import Packing
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.tree import blob_id
from builder.upstream.model import MemoryBlobs, Upstream, deferred

COMMIT = "1" * 40
TEXT = MANIFEST.replace("@COMMIT@", COMMIT).replace("@PARSER@", blob_id(PARSER))
#: changes of the manifest: a text of it, and what stands there instead
CHANGES = [
    ("    why: not part of the distribution\n", "    why: nobody needs it\n"),
    ("to: '\"plain\"', why: the next best}", "to: '\"plain\"', why: a better reason}"),
    ("why: an example of the last resort", "why: the last resort"),
    ("why: one model is kept", "why: one is enough"),  # the tables of what left quote it
    ("acme.platform.is_alien: false", "acme.platform.is_alien: true"),
    ("acme.platform.GALAXY: {value: falsy}", "acme.platform.GALAXY: {value: truthy}"),
    ("    remove: [.github/, docs/]\n", "    remove: [docs/, .github/]\n"),
    ("    remove: [.github/, docs/]\n", "    remove: [.github/, docs/, scripts/]\n"),
    ("    remove: [python/acme/layers/awk.py]\n", "    remove: []\n"),
    ("  pure: [acme.server.report]\n", ""),
    ("  - {path: benchmark/, since: 2.0.0}\n", ""),
    ("prune_symbols: [python/acme/**]\n", ""),
    ("      - acme.server.helper_of_fancy\n", ""),
    ("      - {drop_entry: '\"fancy\"', in: acme.server.BACKENDS}\n", ""),
    ("tool.acme.mode, value: small}", "tool.acme.mode, value: tiny}"),
    ("by: version = 2}", "by: version = 3}"),
    ("      - {path: python/acme/extra.py, from: overlays/parser/extra.py}\n", ""),
    ("    stub: [acme.layers.attention.Plain.forward_fancy]\n", ""),
    (
        "  models:\n    package: acme.models\n    keep: [deep]\n",
        "  models: {keep: [deep], package: acme.models}\n",
    ),
    ("absent: [fancy]}", "absent: [fancy, wide]}"),
    ("label: small", "label: other"),
]
#: changes of upstream: a file, a text of it, and what stands there instead
PATCHES = [
    ("python/acme/server.py", "TIMEOUT_S = 30", "TIMEOUT_S = 60"),
    (
        "python/acme/server.py",
        "def helper_of_fancy():\n    return 1\n",
        "def helper_of_fancy():\n    return 2\n",
    ),
    ("python/acme/launch.py", "import sys\n", "import sys\nimport acme.layers.awk\n"),
    ("sgl-kernel/csrc/add.cu", "void add", "void more() {}\nvoid add"),
    ("README.md", "Serves", "Served"),
]
LINES = [
    n
    for n, line in enumerate(TEXT.splitlines())
    if line.startswith(("  - id", "facts", "name", "keep", "up"))
]


@dataclass(frozen=True)
class Step:
    """One build: what is changed, which batches are off, and before which lines comments stand."""

    changes: Sequence[int] = ()
    without: Sequence[str] = ()
    comments: Sequence[int] = ()
    patches: Sequence[int] = ()

    def manifest(self) -> Manifest:
        text = TEXT
        for index in self.changes:
            text = text.replace(*CHANGES[index])
        lines = text.splitlines(keepends=True)
        for number in sorted(self.comments, reverse=True):
            lines.insert(number, "# a comment\n")
        overlays = {p: d for p, d in OVERLAYS.items() if p in text}
        return switch_off(parse("".join(lines).encode(), "manifest.yaml", overlays, schema()), self.without)

    def upstream(self) -> Upstream:
        files: dict[str, Any] = dict(FILES)
        for index in self.patches:
            path, old, new = PATCHES[index]
            files[path] = files[path].replace(old.encode(), new.encode())
        made = snapshot(files)
        return Upstream("seed", COMMIT, made.tree, "memory", 0, "1.2.3", MemoryBlobs(made.contents))


STEPS = st.builds(
    Step,
    st.lists(st.integers(0, len(CHANGES) - 1), max_size=3, unique=True),
    st.lists(st.sampled_from(["awk", "fancy", "furniture", "told"]), max_size=1),
    st.lists(st.sampled_from(LINES), max_size=3),
    st.lists(st.integers(0, len(PATCHES) - 1), max_size=2, unique=True),
)


def run(step: Step, recall: Recalled) -> tuple[Outcome, Upstream, Manifest]:
    upstream, manifest = step.upstream(), step.manifest()
    known = about(upstream, manifest, step.without)
    outcomes = Outcomes(upstream, manifest, known, recall)
    return outcomes.recall() or outcomes.make(), upstream, manifest


def everything(step: Step, store: MemoryStore) -> Any:
    """Every byte of what a build writes, and what `why` says of each path; or its problems."""
    with memo.using(store):
        try:
            done, upstream, manifest = run(step, Recalled.of(store))
            output, proof = Build(upstream, manifest, step.without).assemble(done)
        except BuildError as error:
            return list(error.problems)
    told = {}
    context = Context(done, manifest)
    for path in [*upstream.tree, "acme.server.Server", "acme.layers.awk.AwkConfig"]:
        told[path] = [sentences(one) for one in readings.answers(context, path)]
    return dict(output.files), output.key, output.tree.tree.id, dict(output.tree), proof, told


@given(st.lists(STEPS, min_size=2, max_size=4))
@settings(max_examples=max(5, settings().max_examples // 20))
def test_a_warm_build_gives_every_byte_that_a_cold_build_gives(steps: list[Step]) -> None:
    store = MemoryStore()
    for step in steps:
        assert everything(step, store) == everything(step, MemoryStore())


def test_most_of_the_changes_can_be_built() -> None:
    outcomes = [everything(Step([number]), MemoryStore()) for number in range(len(CHANGES))]
    assert sum(isinstance(one, tuple) for one in outcomes) > len(CHANGES) / 2
    assert isinstance(everything(Step(), MemoryStore()), tuple)


def fresh_cut(*_: Any, **__: Any) -> Any:
    pytest.fail("cut again")


@pytest.mark.parametrize(
    "step", [Step(), Step(comments=[LINES[0], LINES[-1]]), Step([1, 2], comments=LINES), Step([3])], ids=str
)
def test_a_comment_or_a_reason_cuts_nothing(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    everything(Step(), store)
    cold = everything(step, MemoryStore())
    monkeypatch.setattr(outcome, "cut", fresh_cut)
    assert everything(step, store) == cold


@pytest.mark.parametrize("index", range(4, len(CHANGES)))
def test_any_statement_that_changes_is_asked_again(index: int) -> None:
    assert places(Step([index]).manifest()).stated != places(Step().manifest()).stated


def test_a_batch_that_is_off_and_another_upstream_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    everything(Step(), store)
    cuts: list[object] = []
    real: Callable[..., Any] = outcome.cut

    def counted(*given: Any, **more: Any) -> Any:
        cuts.append(given)
        return real(*given, **more)

    monkeypatch.setattr(outcome, "cut", counted)
    for step in (Step(without=["awk"]), Step(patches=[0]), Step()):
        everything(step, store)
    assert len(cuts) == 2


def test_the_tables_of_a_remembered_output_quote_the_reasons_that_are_stated_now() -> None:
    store = MemoryStore()
    everything(Step(), store)
    outputs = everything(Step([3]), store)[3]
    assert b"one is enough" in outputs["python/acme/removed.py"]


def test_a_reason_is_stated_in_no_named_scope_either() -> None:
    scoped = [
        replace(Step([index]).manifest(), scope_statements={"large": digest})
        for index, digest in ((1, "1" * 64), (2, "2" * 64))
    ]
    assert len({places(manifest).stated for manifest in scoped}) == 1


def test_a_packed_reason_that_quotes_a_statement_quotes_what_it_says_now() -> None:
    before, after = Step().manifest(), Step([1]).manifest()
    edit = next(edit for batch in before.batches for edit in batch.edits if edit.why == "the next best")
    told = Reason("fancy", f"set: {edit.why}", edit.mark), Reason("fancy", edit.why, edit.mark)
    first, second = (Packing(one, places(one), deferred(Step().upstream())) for one in (before, after))
    packed = first.pack(told)
    assert packed is not None
    assert [one.rule for one in second.unpack(packed)] == ["set: a better reason", "the next best"]


def test_a_proof_uses_nothing_that_is_remembered() -> None:
    store = MemoryStore()
    upstream, manifest = Step().upstream(), Step().manifest()
    with memo.using(store):
        Outcomes(upstream, manifest, about(upstream, manifest)).prove()
    assert not store.added()


def test_an_outcome_is_read_without_the_bytes_of_upstream() -> None:
    store = MemoryStore()
    run(Step(), Recalled.of(store))

    class Unreadable(MemoryBlobs):
        def read(self, ids: Any) -> Mapping[str, bytes]:  # type: ignore[override]
            pytest.fail("the bytes of upstream are read")

    upstream, manifest = replace(Step().upstream(), blobs=Unreadable({})), Step().manifest()
    done = Outcomes(upstream, manifest, about(upstream, manifest), Recalled.of(store)).recall()
    assert done is not None
    context = Context(done, manifest)
    (answer, *_) = readings.answers(context, "python/acme/layers/fancy.py")
    assert answer.state == "removed"


def test_a_statement_keeps_its_own_reason_where_two_share_a_place() -> None:
    manifest = Step().manifest()
    batch = manifest.batches[1]
    shared = replace(
        manifest, batches=(*manifest.batches, replace(batch, id="twin", why="another reason, same place"))
    )
    other = replace(
        manifest, batches=(*manifest.batches, replace(batch, id="twin", why="a third reason, same place"))
    )
    assert places(shared).stated != places(other).stated
    packed = Packing(shared, places(shared), deferred(Step().upstream())).pack(shared)
    assert packed is not None
    assert Packing(shared, places(shared), deferred(Step().upstream())).unpack(packed) == shared


def test_a_place_at_which_nothing_is_stated_is_not_remembered() -> None:
    manifest = Step().manifest()
    packing = Packing(manifest, places(manifest), deferred(Step().upstream()))
    assert packing.pack(Mark("manifest.yaml", 99_999, 1)) is None
    elsewhere = Mark("overlays/parser/odd.patch", 3)
    packed = packing.pack(elsewhere)
    assert packed is not None
    assert packing.unpack(packed) == elsewhere
