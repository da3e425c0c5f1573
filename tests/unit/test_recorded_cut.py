"""A recorded cut gives what the cut gave, holds no text of upstream, and is believed in nothing."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_files import FILES, MANIFEST, OVERLAYS
from small_world import ROOT, World, small_world
from test_outcome import LINES, Step, run

from builder.emit import lock, record
from builder.emit.record import RecordedCut
from builder.manifest.load import load_default
from builder.pipeline import packing
from builder.pipeline.build import Build
from builder.pipeline.outcome import Outcomes
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.source.delta import applied, delta
from builder.tree import Tree
from builder.upstream.model import MemoryBlobs, Upstream

WORDS = st.lists(
    st.sampled_from([b"a", b"foo", b" ", b"\n", b"bar", b"(", b"    ", b"x1", b"\xff"]), max_size=40
)


@given(WORDS, WORDS)
def test_the_pieces_of_a_text_make_it(old: list[bytes], new: list[bytes]) -> None:
    before, after = b"".join(old), b"".join(new)
    assert applied(before, delta(before, after)) == after


def test_a_word_that_the_other_text_has_is_a_span_of_it_wherever_it_stands() -> None:
    old = b"if ready and wanted:\n    first(value)\n    second(value)\nlast = 1\n"
    new = b"if wanted:\n  second(value)\n  first(value)\nlast = brand_new\n"
    literals = [piece for piece in delta(old, new) if isinstance(piece, bytes)]
    assert applied(old, delta(old, new)) == new
    assert re.findall(rb"\w{4,}", b" ".join(literals)) == [b"brand_new"]


def recorded(step: Step) -> tuple[RecordedCut, str, dict[str, bytes]]:
    """The record of a build, the output's tree, and every file of the build."""
    done, upstream, manifest = run(step, Recalled())
    cut = Outcomes(upstream, manifest, about(upstream, manifest), Recalled()).record(done, "2026-01-02")
    output, _ = Build(upstream, manifest).assemble(done)
    return cut, done.cut.output.tree.id, dict(output.files)


def applied_record(step: Step, cut: RecordedCut, tree: str) -> dict[str, bytes] | None:
    upstream, manifest = step.upstream(), step.manifest()
    done = Outcomes(upstream, manifest, about(upstream, manifest), Recalled()).recorded(cut, tree)
    if done is None:
        return None
    assert done.record == cut
    return dict(Build(upstream, manifest).assemble(done)[0].files)


def test_a_record_gives_every_file_of_the_build() -> None:
    cut, tree, files = recorded(Step())
    assert applied_record(Step(), cut, tree) == files


@pytest.mark.parametrize("step", [Step(comments=LINES), Step([0]), Step([3])], ids=str)
def test_a_record_holds_for_other_comments_and_reasons(step: Step) -> None:
    cut, tree, _ = recorded(Step())
    assert applied_record(step, cut, tree) == recorded(step)[2]


@pytest.mark.parametrize("step", [Step([4]), Step(patches=[0])], ids=["fact", "upstream"])
def test_a_record_is_of_no_other_manifest_and_no_other_upstream(step: Step) -> None:
    cut, tree, _ = recorded(Step())
    assert applied_record(step, cut, tree) is None


def test_a_record_is_the_same_whenever_it_is_made() -> None:
    assert recorded(Step())[0] == recorded(Step())[0]


def test_a_record_with_another_tree_is_not_believed() -> None:
    cut, tree, _ = recorded(Step())
    assert applied_record(Step(), cut, "0" * 40) is None
    for old, new in (("100644", "100755"), (tree[:6], tree[:6])):
        changed = replace(cut, entries={k: text.replace(old, new) for k, text in cut.entries.items()})
        assert (applied_record(Step(), changed, tree) is None) == (old != new)


@given(st.data())
def test_a_record_with_another_text_is_not_believed(data: st.DataObject) -> None:
    cut, tree, _ = recorded_once()
    key = data.draw(st.sampled_from(sorted(cut.entries)))
    text = cut.entries[key]
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.sampled_from('0a"[{,')) + text[at + 1 :]
    done = applied_record_or_none(replace(cut, entries={**cut.entries, key: changed}), tree)
    assert done is None or done == tree


_ONCE: list[tuple[RecordedCut, str, dict[str, bytes]]] = []


def recorded_once() -> tuple[RecordedCut, str, dict[str, bytes]]:
    if not _ONCE:
        _ONCE.append(recorded(Step()))
    return _ONCE[0]


def applied_record_or_none(cut: RecordedCut, tree: str) -> str | None:
    upstream, manifest = Step().upstream(), Step().manifest()
    done = Outcomes(upstream, manifest, about(upstream, manifest), Recalled()).recorded(cut, tree)
    return done.cut.output.tree.id if done else None


def test_a_record_holds_no_text_of_upstream() -> None:
    cut, _, _ = recorded(Step())
    upstream = b"\n".join(data for data in FILES.values() if isinstance(data, bytes)).decode("latin-1")
    ours = b"\n".join(OVERLAYS.values()).decode() + MANIFEST
    lines = {line.strip() for line in upstream.splitlines() if len(line.strip()) > 24}
    lines = {line for line in lines if line not in ours}
    assert len(lines) > 30
    for text in cut.entries.values():
        held = [node for node in json.loads(text)["nodes"] if isinstance(node, str)]
        pieces = [
            piece
            for node in json.loads(text)["nodes"]
            if isinstance(node, list) and node[0] == "plain"
            for piece in node[1:]
            if isinstance(piece, str)
        ]
        assert not [line for line in lines if any(line in piece for piece in pieces)]
        assert not [line for line in lines if line in held]


# -- beside a manifest, through the command line ------------------------------------------------------


@pytest.fixture
def proven(tmp_path: Path) -> tuple[World, dict[str, str]]:
    """A world whose default pin was proven, and the sums of what it gave."""
    world = small_world(tmp_path)
    world.good("lock", "seed")
    world.good("dist", "--out", "cut", "--recut")
    return world, sums(world, "cut")


def sums(world: World, out: str) -> dict[str, str]:
    lines = (world.home / out / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def spoilt(world: World, change: Any) -> None:
    path = record.path_of(world.home, "seed")
    path.write_bytes(change(path.read_bytes()))


def test_dist_applies_what_the_lock_proves_and_says_so(proven: tuple[World, dict[str, str]]) -> None:
    world, files = proven
    done = world.good("dist", "--out", "applied", "--cache", "empty")
    assert "proven" in done.stderr and "--recut" in done.stderr
    assert "cutting" not in done.stderr
    assert sums(world, "applied") == files


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-20],
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: b"",
        lambda data: lzma.compress(b'{"proven": "2026-01-02"}'),
        lambda data: lzma.compress(lzma.decompress(data).replace(b"100644", b"100755")),
    ],
    ids=["truncated", "flipped", "empty", "other", "altered"],
)
def test_a_record_that_is_damaged_costs_time_and_nothing_else(
    proven: tuple[World, dict[str, str]], change: Any
) -> None:
    world, files = proven
    spoilt(world, change)
    done = world.good("dist", "--out", "again", "--cache", "empty")
    assert "applied" not in done.stderr
    assert sums(world, "again") == files


def test_a_record_that_the_lock_names_and_that_gives_another_tree_is_not_applied(
    proven: tuple[World, dict[str, str]],
) -> None:
    world, files = proven
    before = hashlib.sha256(record.path_of(world.home, "seed").read_bytes()).hexdigest()
    spoilt(world, lambda data: lzma.compress(lzma.decompress(data).replace(b"100644", b"100755")))
    after = hashlib.sha256(record.path_of(world.home, "seed").read_bytes()).hexdigest()
    lock = world.home / "manifest.lock"
    lock.write_text(lock.read_text().replace(before, after))
    done = world.good("dist", "--out", "again", "--cache", "empty")
    assert "applied" not in done.stderr
    assert sums(world, "again") == files


# -- the records of the repository ----------------------------------------------------------------


class Named(Tree):
    """A tree of which only the id is known."""

    def __init__(self, name: str) -> None:
        super().__init__({})
        self.__dict__["id"] = name


def locked() -> list[str]:
    return sorted(pin for pin, proof in lock.known(ROOT).items() if proof.record)


def test_the_default_pin_the_release_and_the_seed_have_records_and_no_other_file_is_there() -> None:
    pins = locked()
    assert {load_default(ROOT / "manifest.yaml").upstream.default, "release", "seed"} == set(pins)
    files = sorted((ROOT / record.FOLDER).iterdir())
    assert files == sorted(record.path_of(ROOT, pin) for pin in pins)
    assert sum(path.stat().st_size for path in files) <= 1_500_000


@pytest.mark.parametrize("pin", locked())
def test_a_record_of_the_repository_holds_for_its_manifest_and_this_builder(pin: str) -> None:
    """One that does not is passed over, and `dist` cuts for minutes: prove the pin again (`make lock`)."""
    manifest, proof = load_default(ROOT / "manifest.yaml"), lock.known(ROOT)[pin]
    cut = record.read(ROOT, pin, proof.record)
    assert cut is not None
    stated = manifest.upstream.pins[pin]
    kind: Literal["git", "wheel", "sdist"] = "git" if stated.commit else "wheel" if stated.wheel else "sdist"
    tree = Named(proof.upstream_tree)
    upstream = Upstream(pin, proof.commit, tree, "nowhere", 0, None, MemoryBlobs({}), kind=kind)
    assert set(Outcomes(upstream, manifest, about(upstream, manifest), Recalled()).keys) == cut.entries.keys()
    for text in cut.entries.values():
        assert json.loads(text)["format"] == packing.FORMAT
        for module, name, fields in json.loads(text)["classes"]:
            assert packing.class_of(module, name, fields)
