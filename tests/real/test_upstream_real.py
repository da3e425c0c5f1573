"""The real release and the real history: what the other tests assume about upstream."""

from __future__ import annotations

import pytest
from pins import MIRROR, SEED, had, stated_sources

from builder.tree import GITLINK
from builder.upstream.model import Sources, Upstream, snapshot
from builder.upstream.resolve import resolve

#: The commit of main that is nearest to the release; the release itself is on a branch of its own.
NEAREST = "f2ae066a6"
LINK = "python/sglang/srt/mem_cache/cpp_radix_tree/.clang-format"
CHANGED_FOR_THE_RELEASE = [
    "python/pyproject.toml",
    "python/pyproject_cpu.toml",
    "python/pyproject_other.toml",
    "python/pyproject_xpu.toml",
    "python/sglang/multimodal_gen/runtime/platforms/interface.py",
    "python/sglang/multimodal_gen/runtime/platforms/rocm.py",
    "python/sglang/multimodal_gen/runtime/server_args.py",
    "python/sglang/srt/distributed/parallel_state.py",
    "python/sglang/srt/layers/attention/nsa/nsa_indexer.py",
    "python/sglang/srt/layers/communicator.py",
    LINK,
    "python/sglang/srt/models/gpt_oss.py",
    "python/sglang/srt/multimodal/processors/base_processor.py",
    "python/sglang/srt/server_args.py",
]


@pytest.fixture(scope="module")
def release() -> Upstream:
    return had("release", stated_sources())


@pytest.fixture(scope="module")
def mirror() -> Sources:
    if not MIRROR:
        pytest.skip("SGLANG_MIRROR is not set")
    return stated_sources(MIRROR, offline=True)


def test_the_release_is_the_same_tree_on_every_machine(release: Upstream) -> None:
    assert release.tree.id == "151ed9431ec939ddbcabcb19947e28c3b3de106e"
    assert release.commit == "b3624b61b76a54f4a38927837c3e4b9fbd466635"
    assert release.version == "0.5.8"
    again = resolve("pypi:0.5.8", stated_sources(offline=True))
    assert (again.commit, again.tree.id) == (release.commit, release.tree.id)
    assert len(snapshot(again)) == len(release.tree)


def test_nothing_of_the_release_is_generated(release: Upstream) -> None:
    assert {"README.md", "LICENSE", "python/pyproject.toml", "python/sglang/launch_server.py"} <= set(
        release.tree
    )
    generated = ("PKG-INFO", "setup.cfg", "_version.py", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py")
    assert [p for p in release.tree if p.endswith(generated) or ".egg-info/" in p] == []


def test_the_blobs_of_the_release_are_those_of_git(release: Upstream, mirror: Sources) -> None:
    main = resolve(NEAREST, mirror)
    nearest = {p: e for p, e in main.tree.items() if p.startswith("python/") or p in ("README.md", "LICENSE")}
    differ = sorted(p for p in release.tree if p in nearest and release.tree[p] != nearest[p])
    assert set(nearest) == set(release.tree)
    # what upstream changed on its release branch, and one link that setuptools stored as a file
    assert differ == CHANGED_FOR_THE_RELEASE
    assert [p for p in differ if release.tree[p].mode != nearest[p].mode] == [LINK]


def test_the_seed_is_read_whole_from_a_mirror(mirror: Sources) -> None:
    seed = resolve("seed", mirror)
    assert (seed.commit, seed.tree.id) == (SEED, "d26d1a753c78dfa3b26b5f382e375e94be8d44ae")
    assert len(seed.tree) == 3450
    files = snapshot(seed)
    assert sum(p.endswith(".py") for p in files) == 1945
    assert not [p for p in seed.tree if seed.tree[p].mode == GITLINK]
    assert resolve(SEED[:9], mirror).tree == seed.tree
