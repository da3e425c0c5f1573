"""Whatever is in an overlay, the build succeeds or gives coded problems that blame this overlay alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from gate_worlds import snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_files import FILES, OVERLAYS
from small_world import small_world

from builder.errors import BuildError, Mark, Problem
from builder.manifest.load import load
from builder.manifest.model import Manifest
from builder.pipeline.cut import cut
from builder.pipeline.run import Recalled
from builder.pipeline.verify import verify
from builder.tree import Snapshot

RECALL = Recalled()


@dataclass(frozen=True, repr=False)
class Small:
    """The small world; its repr would be long."""

    upstream: Snapshot
    manifest: Manifest


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    world = small_world(tmp_path_factory.mktemp("world"))
    return Small(snapshot(FILES), load(world.manifest))


def damaged(data: bytes) -> st.SearchStrategy[bytes]:
    """An overlay as a person, an editor or a file system damages it."""
    lines = data.splitlines(keepends=True)
    text = data.decode()
    number = st.integers(0, len(lines) - 1)
    return st.one_of(
        st.binary(max_size=64),
        st.sampled_from(
            [b"", b"\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n")]
        ),
        st.sampled_from([text.encode("utf-16"), text.encode("utf-32"), data + "\xe4".encode("latin-1")]),
        number.map(lambda n: b"".join(lines[:n] + lines[n + 1 :])),
        number.map(lambda n: b"".join([*lines[:n], lines[n], *lines[n:]])),
        st.tuples(number, st.binary(max_size=8)).map(
            lambda one: b"".join([*lines[: one[0]], one[1] + b"\n", *lines[one[0] :]])
        ),
        st.integers(0, len(data)).map(lambda n: data[:n]),
    )


def statements(manifest: Manifest, overlay: str) -> Iterator[Mark]:
    """Where the manifest names an overlay."""
    for batch in manifest.batches:
        yield from (one.mark for one in (*batch.files, *batch.patches) if one.overlay == overlay)
        yield from (edit.mark for edit in batch.edits if edit.kind == "body" and edit.by == overlay)


def blames(problem: Problem, manifest: Manifest, overlay: str) -> bool:
    places = (problem.mark, problem.overlay)
    return problem.mark in set(statements(manifest, overlay)) or any(
        place is not None and place.file == overlay for place in places
    )


@settings(
    max_examples=400 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(sorted(OVERLAYS)).flatmap(lambda o: st.tuples(st.just(o), damaged(OVERLAYS[o]))))
def test_a_damaged_overlay_is_blamed_and_nothing_else(small: Small, change: tuple[str, bytes]) -> None:
    overlay, data = change
    manifest = replace(small.manifest, overlays={**small.manifest.overlays, overlay: data})
    try:
        verify(cut(small.upstream, manifest, recall=RECALL))
    except BuildError as error:
        for problem in error.problems:
            assert problem.code != "E070"
            assert blames(problem, manifest, overlay), problem
