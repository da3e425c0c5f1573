"""The real upstream: the seed pin from a mirror (SGLANG_MIRROR), else the release of the manifest."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from pins import MIRROR, PACKAGES, had, stated_sources

from builder.analysis.indexed_tree import IndexedTree, world
from builder.tree import Snapshot
from builder.upstream.model import snapshot

_ALONE = "PYTEST_XDIST_WORKER" not in os.environ
_fork = os.fork


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Collect no garbage within a test of this folder or its fixtures, as in the builder's verbs.

    A collection during a build walks millions of syntax nodes. And where several tests run at a time, a build
    does all in its own process: the others have the processors.
    """
    gc.disable()
    if not _ALONE:
        vars(os).pop("fork", None)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    gc.enable()
    gc.collect()
    os.fork = _fork


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that all processes of this run share, so that each upstream is cut cold only once."""
    base = tmp_path_factory.getbasetemp()
    return (base if _ALONE else base.parent) / "memory"


@pytest.fixture(scope="session")
def upstream_snapshot() -> Snapshot:
    """The files of python/ and sgl-kernel/ (the release has only the first)."""
    upstream = had("seed" if MIRROR else "release", stated_sources(MIRROR, offline=bool(MIRROR)))
    return snapshot(upstream, [p for p in upstream.tree if p.startswith(("python/", "sgl-kernel/"))])


@pytest.fixture(scope="session")
def upstream_world(upstream_snapshot: Snapshot) -> IndexedTree:
    return world(upstream_snapshot, PACKAGES)
