"""Each verb knows named scopes: what is built, how it is called, and what the lock holds of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_world import World, codes, schema, small_world

SCOPES = """\
scopes:
  with-fancy:
    why: Somebody wants it.
    without: [fancy]
    pins: [seed]
  one-architecture:
    why: A smaller kernel wheel.
    architectures: [sm90]
    pins: [seed]

kernel:
"""
BACK = "python/acme/layers/fancy.py"


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = small_world(tmp_path)
    found.change("kernel:\n", SCOPES)
    return found


def test_dist_builds_a_scope_and_names_it_in_the_version_and_the_evidence(world: World) -> None:
    world.good("dist", "seed", "--scope", "with-fancy")
    out = world.home / "dist"
    assert (out / "tree" / BACK).exists()
    (built,) = out.glob("*.whl")
    assert "+small.with.fancy.g" in built.name
    record = json.loads((out / "build.json").read_bytes())
    assert (record["manifest"]["scope"], record["manifest"]["without"]) == ("with-fancy", [])
    assert list(schema("build").iter_errors(record)) == []
    provenance = json.loads((out / "provenance.intoto.json").read_bytes())
    assert provenance["predicate"]["buildDefinition"]["externalParameters"]["scope"] == "with-fancy"
    # another scope is another output
    assert "up to date" not in world.good("dist", "seed").stderr
    assert not (out / "tree" / BACK).exists()
    assert "up to date" in world.good("dist", "seed").stderr


def test_an_unknown_scope_is_an_error_with_its_place_and_a_suggestion(world: World) -> None:
    done = world.run("dist", "seed", "--scope", "with-fancie")
    assert (done.returncode, codes(done.stderr)) == (4, ["M015"])
    assert "did you mean `with-fancy`?" in done.stderr and "manifest.yaml:" in done.stderr
    assert not (world.home / "dist").exists()


def test_a_batch_of_one_scope_is_off_in_the_others_and_in_their_locks(world: World) -> None:
    world.change("scopes:\n", "scopes:\n  small: {why: Less of it., with: [fancy], pins: [seed]}\n")
    world.change("    without: [fancy]\n", "    models: [two]\n")
    world.good("dist", "seed")
    assert (world.home / "dist/tree" / BACK).exists()
    done = world.run("why", "fancy", "--upstream", "seed")
    assert codes(done.stderr) == ["C001"] and "`dist --with fancy` removes it" in done.stderr
    assert world.good("why", "small").stdout.startswith("small is a scope with the decision fancy.")
    done = world.run("dist", "seed", "--without", "fancy")
    assert codes(done.stderr) == ["C001"] and "is off in the scope `default` already" in done.stderr
    assert "`--with fancy` switches it on" in done.stderr and "manifest.yaml:" in done.stderr
    world.good("dist", "seed", "--scope", "small")
    assert not (world.home / "dist/tree" / BACK).exists()
    assert world.run("lock", "--offline").returncode == 6  # the pin `gone` cannot be had
    held = json.loads((world.home / "manifest.lock").read_bytes())
    small, default = held["scopes"]["small"]["seed"], held["pins"]["seed"]
    assert small["output_tree"] != default["output_tree"] and small["manifest"] != default["manifest"]
    # what the batch did is known where it is on, and the page of the scope says so
    assert list(small["figures"]["batches"]) == ["fancy"] and "fancy" not in default["figures"]["batches"]
    row = next(line for line in world.good("scope").stdout.splitlines() if 'id="batch-fancy"' in line)
    assert "seed, scope small: files" in row


def test_a_batch_that_is_off_by_default_is_switched_on(world: World) -> None:
    world.change("scopes:\n", "scopes:\n  small: {why: Less of it., with: [fancy], pins: [seed]}\n")
    world.change("    without: [fancy]\n", "    models: [two]\n")
    world.good("lock", "seed")
    assert (world.home / "manifest.lock").exists()
    out = world.home / "dist"
    done = world.good("dist", "seed", "--with", "fancy")
    assert "this is a build with fancy: no proof is of it" in done.stderr
    assert not (out / "tree" / BACK).exists()
    (built,) = out.glob("*.whl")
    assert "+small.with.fancy.g" in built.name
    record = json.loads((out / "build.json").read_bytes())["manifest"]
    assert (record["scope"], record["with"], record["without"]) == ("default", ["fancy"], [])
    assert "up to date" in world.good("dist", "seed", "--with", "fancy").stderr
    assert world.run("plan", "seed", "--with", "fancy").returncode == 0
    assert world.run("plan", "seed").returncode == 3
    said = world.good("why", "fancy", "--with", "fancy").stdout
    assert "to switch it off: leave out `--with fancy`" in said
    assert "proves no pin" in world.good("lock", "seed", "--with", "fancy").stderr
    assert "up to date" not in world.good("dist", "seed").stderr
    assert (out / "tree" / BACK).exists()


def test_a_batch_that_cannot_be_switched_on_is_told(world: World) -> None:
    done = world.run("dist", "seed", "--with", "awk")
    assert (done.returncode, codes(done.stderr)) == (2, ["C001"])
    assert "The batch `awk` is on in the scope `default` already." in done.stderr
    done = world.run("dist", "seed", "--with", "awc")
    assert (done.returncode, codes(done.stderr)) == (4, ["M006"]) and "did you mean `awk`?" in done.stderr
    done = world.run("dist", "seed", "--with", "fancy", "--without", "fancy")
    assert done.returncode == 2 and "`--without fancy` contradict each other" in done.stderr


def test_plan_and_why_answer_for_a_scope(world: World) -> None:
    record = world.run("plan", "seed", "--scope", "with-fancy", "--format", "json", "--paths")
    rows = {row["path"]: row["verdict"] for row in json.loads(record.stdout)["paths"]}
    assert rows[BACK] == "kept"
    assert "is kept" in world.good("why", BACK, "--scope", "with-fancy").stdout
    assert "is removed" in world.good("why", BACK).stdout
    said = world.good("why", "with-fancy").stdout
    assert said.startswith("with-fancy is a scope without fancy.")
    assert "why        Somebody wants it." in said and "to build it: `dist --scope with-fancy`" in said


def test_lock_proves_each_scope_at_its_pins_and_a_build_must_reproduce_it(world: World) -> None:
    done = world.run("lock", "--offline")  # the pin `gone` cannot be had, and the rest can
    assert (done.returncode, codes(done.stderr)) == (6, ["U001"])
    lock = json.loads((world.home / "manifest.lock").read_bytes())
    assert list(lock["pins"]) == ["seed"] and sorted(lock["scopes"]) == ["one-architecture", "with-fancy"]
    trees = {name: proofs["seed"]["output_tree"] for name, proofs in lock["scopes"].items()}
    assert trees["one-architecture"] == lock["pins"]["seed"]["output_tree"] != trees["with-fancy"]
    assert list(schema("lock").iter_errors(lock)) == []
    assert "manifest.lock" not in world.good("dist", "seed", "--scope", "with-fancy").stderr
    text = (world.home / "manifest.lock").read_text("utf-8")
    (world.home / "manifest.lock").write_text(text.replace(trees["with-fancy"], "0" * 40), "utf-8")
    done = world.run("dist", "seed", "--scope", "with-fancy")
    assert (done.returncode, codes(done.stderr)) == (1, ["G012"])
    world.good("lock", "--scope", "with-fancy")
    assert (world.home / "manifest.lock").read_text("utf-8") == text
