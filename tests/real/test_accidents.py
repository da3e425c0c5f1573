"""Cuts that once went wrong by hand, made again on the real tree: each must fail, and say where and why."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest
from pins import PACKAGES

from builder.analysis.indexed_tree import IndexedTree, world
from builder.analysis.removals import Removals, index_removals
from builder.errors import Mark, Problem
from builder.graph.modules import known_of
from builder.manifest.model import Manifest, Roots, Upstream
from builder.manifest.statements import Rule
from builder.pipeline.verify import TREE_GATES

SRT = "python/sglang/srt/"
RULE = Mark("manifest.yaml", 42, 7)
MANIFEST = Manifest("manifest.yaml", "x", "x", Upstream("r", {}, "d"), PACKAGES, Roots((), (), ""), ())
#: The gates that read the Python sources.
STATIC = ("G001", "G002", "G003", "G004", "G005")


def cut(before: IndexedTree, changes: Mapping[str, bytes | None], pattern: str = "") -> list[Problem]:
    """The findings of the gates on upstream with these files changed or, for None, removed."""
    after = before.snapshot.replace(changes)
    known = known_of(before.snapshot, before.summaries)
    rule = Rule(pattern, "remove", "models", mark=RULE)
    removals = index_removals(MANIFEST, {p: rule for p, data in changes.items() if data is None}, {})
    changed = world(after, PACKAGES, known=known)
    return [p for code in STATIC for p in TREE_GATES[code](before, changed, MANIFEST, removals)]


def said(problems: list[Problem], *parts: str) -> list[Problem]:
    return [p for p in problems if all(part in p.message for part in parts)]


def without(data: bytes, name: str) -> bytes:
    """The source without one class or function of its module level."""
    node = next(n for n in ast.parse(data).body if getattr(n, "name", "") == name)
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: node.lineno - 1] + lines[node.end_lineno or 0 :])


def test_upstream_itself_has_no_findings_but_those_of_its_packaging(upstream_world: IndexedTree) -> None:
    nothing = Removals()
    found = [p for g in TREE_GATES.values() for p in g(upstream_world, upstream_world, MANIFEST, nothing)]
    assert {p.code for p in found} <= {"G008"}
    # what upstream's own pyproject.toml leaves out of the wheel, or requires without importing it
    told = ("is used at run time", "is imported nowhere")
    assert [p.message for p in found if not any(words in p.message for words in told)] == []


@pytest.mark.parametrize("clean", [False, True], ids=["inside a statement", "at the end of a function"])
def test_a_truncated_parallel_state_is_found(upstream_world: IndexedTree, clean: bool) -> None:
    path = SRT + "distributed/parallel_state.py"
    lines = upstream_world.snapshot[path].splitlines(keepends=True)
    keep = len(lines) - 1716
    body = ast.parse(upstream_world.snapshot[path]).body
    if clean:
        keep = max(node.end_lineno or 0 for node in body if (node.end_lineno or 0) <= keep)
    else:
        keep = next(n for n in range(keep, 0, -1) if lines[n - 1].rstrip().endswith((b":", b"(")))
    found = cut(upstream_world, {path: b"".join(lines[:keep])})
    assert said(found, path, "it looks truncated")[0].code == "G005"
    first = said(found, path, "get_tp_group", "vanished and no rule names it")
    assert first
    assert first[0].upstream is not None
    assert first[0].upstream.line > keep
    assert said(found, "does not parse") if not clean else said(found, "cannot import name 'get_tp_group'")


def test_a_deleted_column_parallel_linear_is_found(upstream_world: IndexedTree) -> None:
    path = SRT + "layers/linear.py"
    found = cut(upstream_world, {path: without(upstream_world.snapshot[path], "ColumnParallelLinear")})
    (lost,) = (p for p in found if p.code == "G005")
    assert "class ColumnParallelLinear vanished and no rule names it" in lost.message
    assert "drop: [sglang.srt.layers.linear.ColumnParallelLinear]" in (lost.hint or "")
    assert said(found, path, "'ColumnParallelLinear' is used and not defined")
    users = said(found, "cannot import name 'ColumnParallelLinear' from sglang.srt.layers.linear")
    assert len(users) > 10
    assert all(p.upstream is not None and p.upstream.line for p in users)


def test_configs_removed_without_the_second_ring_are_found_ring_by_ring(upstream_world: IndexedTree) -> None:
    folder = SRT + "configs/"
    names = ("chatglm", "dbrx", "exaone", "kimi_vl")
    gone: dict[str, bytes | None] = {f"{folder}{name}.py": None for name in names}
    first = cut(upstream_world, gone, folder + "*.py")
    ring = said(first, folder + "__init__.py:", "no module named sglang.srt.configs.chatglm")
    assert len(ring) == 1
    reason = "removed by rule 'python/sglang/srt/configs/*.py' of batch models (manifest.yaml:42:7)"
    assert reason in ring[0].message
    assert ring[0].mark == RULE

    init = upstream_world.snapshot[folder + "__init__.py"]
    tree = ast.parse(init)
    lines = init.splitlines(keepends=True)
    for node in reversed(tree.body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(names):
            del lines[node.lineno - 1 : node.end_lineno]
    second = cut(upstream_world, {**gone, folder + "__init__.py": b"".join(lines)}, folder + "*.py")
    hub = said(second, "hf_transformers_utils.py:", "cannot import name 'ChatGLMConfig'")
    assert len(hub) == 1
    assert "manifest.yaml:42:7" in hub[0].message
    assert hub[0].excerpt is not None
    assert "ChatGLMConfig" in hub[0].excerpt


def test_nsa_removed_without_its_imports_is_found(upstream_world: IndexedTree) -> None:
    folder = SRT + "layers/attention/nsa/"
    found = cut(
        upstream_world,
        {p: None for p in upstream_world.snapshot if p.startswith(folder)},
        "**/attention/nsa/",
    )
    users = said(found, "no module named sglang.srt.layers.attention.nsa.")
    assert said(users, SRT + "layers/attention/nsa_backend.py:")
    assert said(users, SRT + "models/deepseek_v2.py:")
    assert all(p.mark == RULE and "'**/attention/nsa/' of batch models" in p.message for p in users)
    assert all("sglang.srt.layers.attention.nsa" in p.message and p.code == "G002" for p in found)


def test_awq_removed_without_its_users_is_found(upstream_world: IndexedTree) -> None:
    path = SRT + "layers/quantization/awq.py"
    found = cut(upstream_world, {path: None}, "**/awq.py")
    assert said(found, SRT + "layers/quantization/__init__.py:", "sglang.srt.layers.quantization.awq")
    assert said(found, SRT + "layers/quantization/moe_wna16.py:", "sglang.srt.layers.quantization.awq")
    assert {p.mark for p in found} == {RULE}


def test_a_removed_enum_member_and_a_removed_field_are_found_at_their_uses(
    upstream_world: IndexedTree,
) -> None:
    formats, args = SRT + "configs/load_config.py", SRT + "server_args.py"
    text = upstream_world.snapshot
    lines = [x for x in text[args].splitlines(keepends=True) if not x.startswith(b"    grpc_mode:")]
    found = cut(
        upstream_world,
        {formats: text[formats].replace(b'    GGUF = "gguf"\n', b""), args: b"".join(lines)},
    )
    uses = [p for p in found if p.code == "G004"]
    assert said(uses, SRT + "model_loader/loader.py:", "LoadFormat.GGUF needs 'GGUF'")
    assert said(uses, "python/sglang/launch_server.py:", "needs 'grpc_mode'")
    assert {p.code for p in found} == {"G004", "G005"}
