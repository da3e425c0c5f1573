"""check: what is wrong with a manifest and the files beside it, without a build; the hook and the action."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from small_world import ROOT, World, codes, place

from builder.cli import VERBS
from builder.manifest import load


def test_a_manifest_in_order_is_said_to_be_so_without_an_upstream(world: World) -> None:
    said = world.good("check", SGLANG_MIRROR="/nowhere", BUILDER_CACHE="/dev/null/none").stderr
    assert re.fullmatch(r"manifest\.yaml: 9 batches, \d+ path rules and \d+ edits are in order\n", said)
    assert json.loads(world.good("check", "--format", "json").stdout)["batches"] == 9
    assert sorted(path.name for path in world.home.iterdir()) == ["manifest.yaml", "overlays"]


@pytest.mark.parametrize(
    ("path", "text", "code", "where"),
    [
        ("overlays/parser/extra.py", b"x = 1\ndef (:\n", "G001", "overlays/parser/extra.py:2"),
        (
            "overlays/fancy/slow_path.pybody",
            b"a = 1\nreturn (\n",
            "G001",
            "overlays/fancy/slow_path.pybody:2",
        ),
        (
            "overlays/parser/odd.patch",
            b"--- a/x\n+++ b/x\n@@ broken\n",
            "R007",
            "overlays/parser/odd.patch:3",
        ),
    ],
)
def test_a_file_of_ours_that_cannot_be_read_is_told_with_its_line(
    world: World, path: str, text: bytes, code: str, where: str
) -> None:
    (world.home / path).write_bytes(text)
    done = world.run("check")
    assert (codes(done.stderr), where in done.stderr) == ([code], True), done.stderr


def test_a_body_of_a_generator_or_a_coroutine_is_in_order(world: World) -> None:
    body = b'"""Ours."""\nfor x in y:\n    yield await x\n'
    (world.home / "overlays/fancy/slow_path.pybody").write_bytes(body)
    world.good("check")


def test_all_problems_of_the_files_come_at_once(world: World) -> None:
    (world.home / "overlays/parser/extra.py").write_bytes(b"(\n")
    (world.home / "overlays/parser/odd.patch").write_bytes(b"")
    assert codes(world.run("check").stderr) == ["G001", "R007"]


def test_a_path_rule_that_matches_nothing_is_found_with_an_upstream_alone(world: World) -> None:
    world.change("remove: [python/acme/test/]", "remove: [python/acme/tests/]")
    world.good("check")
    done = world.run("check", "seed")
    assert codes(done.stderr) == ["R001"] and "did you mean `python/acme/test/`" in done.stderr


def test_a_lock_that_cannot_be_read_is_told(world: World) -> None:
    (world.home / "manifest.lock").write_text("{")
    done = world.run("check")
    assert (done.returncode, codes(done.stderr)) == (4, ["M008"])


def test_an_annotation_names_the_file_as_seen_from_the_top_of_the_repository(world: World) -> None:
    world.change("label: small", "label: SMALL")
    line = place("label: small").split(":")[1]
    top = str(world.home.parent)
    done = world.run("check", "--format", "github", GITHUB_WORKSPACE=top)
    assert f"file=home/manifest.yaml,line={line}," in done.stdout
    done = world.run("check", "--format", "github", GITHUB_WORKSPACE=None)
    assert f"file=manifest.yaml,line={line}," in done.stdout
    (world.home / "overlays/parser/extra.py").write_bytes(b"(\n")
    world.change("label: SMALL", "label: small")
    done = world.run("check", "--format", "github", GITHUB_WORKSPACE=top)
    assert "file=home/overlays/parser/extra.py,line=1," in done.stdout


def test_an_installed_builder_has_its_schema_below_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "lib/site/builder/manifest/load.py"
    share = tmp_path / "share/sglang-deepseek/schema"
    share.mkdir(parents=True)
    (share / "manifest.schema.json").write_text('{"title": "installed"}')
    monkeypatch.setattr(load, "__file__", str(own))
    monkeypatch.setattr(load.sys, "prefix", str(tmp_path))
    assert load.read_schema(tmp_path / "elsewhere") == {"title": "installed"}


def test_the_hook_and_the_action_use_verbs_that_exist_and_files_that_are_there() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, verb = hook["entry"].split()
    assert program in (ROOT / "pyproject.toml").read_text("utf-8") and verb in VERBS
    for name in ("manifest.yaml", "manifest.lock", "overlays/awq/edits.yaml", "docs/scope.yaml"):
        assert re.search(hook["files"], name)
    text = (ROOT / "action.yml").read_text("utf-8")
    steps = yaml.safe_load(text)["runs"]["steps"]
    assert set(re.findall(r"bin/sglang-deepseek\" ([a-z]+)", text)) <= set(VERBS)
    assert all("shell" in step for step in steps if "run" in step)
    # what a person states reaches the shell through the environment alone
    assert not any("${{" in step["run"] for step in steps if "run" in step)
