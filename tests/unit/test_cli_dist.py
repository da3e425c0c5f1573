"""`dist` from end to end on a small upstream: every file of OUT, checked without the builder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_files import FILES
from small_world import ROOT, World, codes, schema, small_world
from upstream_repo import git

from builder.errors import GATE_FAILED
from builder.tree import blob_id


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world with a distribution in home/dist; tests only read it."""
    found = small_world(tmp_path_factory.mktemp("world"))
    found.good("dist", "--paranoid")
    return found


def build(world: World) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((world.home / "dist/build.json").read_bytes())
    return loaded


def ledger(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world.home / "dist/ledger.jsonl").read_bytes().splitlines()]


def read(world: World, path: str) -> str:
    return (world.home / "dist/tree" / path).read_text("utf-8")


def test_the_small_manifest_uses_every_key_of_the_schema(world: World) -> None:
    def mappings(value: object) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            yield value
            value = list(value.values())
        for one in value if isinstance(value, list) else ():
            yield from mappings(one)

    stated = mappings(schema("manifest").schema)
    known = {key for one in stated for key in one.get("properties", {})}
    used = {key for one in mappings(yaml.safe_load(world.manifest.read_text("utf-8"))) for key in one}
    # a release pin needs a package index; a count above one is tested where edits are, closed
    # sets of values where facts are, definitions with the files that replace them, words where families are,
    # named scopes with the verbs that know them, walks for kept models where models return, modules that
    # are made of models where reach decides, files that are opened by name with their rules, registries and
    # configurations with what they take away, and the rows of the scope with the page that they make
    scope = {"decisions", "removed", "kept", "what", "decision", "statements", "keeps", "gates"}
    scope |= {
        "tests",
        "lines",
        "definitions",
        "word",
        "words",
        "scopes",
        "with",
        "of_kept_models",
        "command_line",
    }
    scope |= {"named_files", "used_by", "declarations", "methods", "runners"}
    scope |= {"registries", "row", "key", "target", "registered_by", "held_by", "asked_by"}
    scope |= {"configuration", "of", "types", "objects", "keys"}
    assert known - used == {"sdist", "wheel", "python", "sha256", "count", "among"} | scope


def test_out_holds_exactly_what_is_promised(world: World) -> None:
    out = world.home / "dist"
    wheel = build(world)["wheel"]["name"]
    assert {p.name for p in out.iterdir()} == {
        "tree",
        wheel,
        "ledger.jsonl",
        "build.json",
        "upstream.diff",
        "REMOVED.md",
        "report.html",
        "SHA256SUMS",
        "sbom.cdx.json",
        "provenance.intoto.json",
        "uncertain.json",
        "surface.json",
        ".sglang-deepseek",
        ".sglang-deepseek.index",
    }
    assert [p.name for p in world.home.iterdir() if "sglang-deepseek" in p.name] == []


def test_build_json_surface_json_and_every_ledger_line_fit_their_schemas(world: World) -> None:
    assert list(schema("build").iter_errors(build(world))) == []
    loaded = json.loads((world.home / "dist/surface.json").read_bytes())
    assert list(schema("surface").iter_errors(loaded)) == []
    rows = ledger(world)
    row = schema("ledger")
    assert [error.message for line in rows for error in row.iter_errors(line)] == []
    assert [line["path"] for line in rows] == sorted(line["path"] for line in rows)


def test_git_apply_turns_the_upstream_commit_into_the_output_tree(world: World, tmp_path: Path) -> None:
    work = tmp_path / "work"
    git("clone", "-q", str(world.repository.path), str(work))
    git("-C", str(work), "checkout", "-q", world.commit)
    git("-C", str(work), "apply", "--index", str(world.home / "dist/upstream.diff"))
    assert git("-C", str(work), "write-tree") == build(world)["output"]["tree"]
    assert build(world)["upstream"]["tree"] == world.repository.git("rev-parse", f"{world.commit}^{{tree}}")


def test_git_gives_the_tree_folder_the_id_that_build_json_states(world: World, tmp_path: Path) -> None:
    git("init", "-q", str(tmp_path / "r"))
    where = (f"--git-dir={tmp_path / 'r/.git'}", f"--work-tree={world.home / 'dist/tree'}")
    git(*where, "-c", "core.autocrlf=false", "add", "-A", "-f", ".")
    assert git(*where, "write-tree") == build(world)["output"]["tree"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum")
def test_sha256sum_confirms_every_file_beside_the_tree(world: World) -> None:
    out = world.home / "dist"
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=out, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    named = {line.split(": ")[0] for line in done.stdout.splitlines()}
    beside = {p.name for p in out.iterdir() if p.is_file() and not p.name.startswith(".")}
    assert named == beside - {"SHA256SUMS"}


def test_the_ledger_accounts_for_every_path_of_both_trees(world: World) -> None:
    rows = {row["path"]: row for row in ledger(world)}
    after = {
        os.fspath(p.relative_to(world.home / "dist/tree"))
        for p in (world.home / "dist/tree").rglob("*")
        if p.is_symlink() or p.is_file()
    }
    before = {os.fsdecode(name.encode()) for name in FILES}
    assert set(rows) == before | after
    for path, row in rows.items():
        assert (row["before"] is not None) == (path in before), path
        assert (row["after"] is not None) == (path in after), path
        if row["after"] is not None:
            place = world.home / "dist/tree" / path
            data = os.fsencode(os.readlink(place)) if place.is_symlink() else place.read_bytes()
            assert blob_id(data) == row["after"], path
    assert Counter(row["verdict"] for row in rows.values()) == build(world)["verdicts"]


def test_lines_are_what_wc_counts_on_both_sides(world: World) -> None:
    after: Counter[str] = Counter()
    for path in (world.home / "dist/tree").rglob("*.*"):
        if path.is_file() and not path.is_symlink():
            after[path.suffix[1:]] += path.read_bytes().count(b"\n")
    before: Counter[str] = Counter()
    for name, value in FILES.items():
        if isinstance(value, bytes):
            before[Path(name).suffix[1:]] += value.count(b"\n")
    lines = build(world)["lines"]
    for kind in ("py", "cu", "h", "cc"):
        assert lines[kind] == {"before": before[kind], "after": after[kind]}, kind
    assert lines["code"]["after"] == sum(after[k] for k in ("py", "cu", "cuh", "h", "hpp", "cpp", "cc"))


def test_modes_and_symlinks_are_kept(world: World) -> None:
    tree = world.home / "dist/tree"
    assert os.access(tree / "scripts/run.sh", os.X_OK)
    assert os.readlink(tree / "docs/latest.md") == "guide.md"
    assert (tree / "docs/guide.md").read_bytes() == FILES["docs/guide.md"]


def test_every_kind_of_edit_left_its_trace(world: World) -> None:
    server = read(world, "python/acme/server.py")
    assert 'backend="plain"' in server  # set
    assert "# the default is upstream's" in server  # comments beside edits stay
    assert 'BACKENDS = ["plain", "wide"]' in server  # drop_entry
    assert "starting" not in server  # drop_statement
    assert "1 << 16" in server  # replace
    assert "        # our own\n        return 3\n" in server  # body
    assert 'return "even"' in server  # patch
    assert "helper_of_fancy" not in server  # drop
    attention = read(world, "python/acme/layers/attention.py")
    assert "raise NotImplementedError" in attention and "manifest rule: fancy" in attention  # stub
    assert "import" not in attention  # drop_import
    cmake, cpp = read(world, "sgl-kernel/CMakeLists.txt"), read(world, "sgl-kernel/csrc/ext.cc")
    assert "ALIEN)\n  add" not in cmake and "-DFANCY" not in cmake and "message" not in cmake  # anchored
    assert "hello" not in cpp and "version = 2" in cpp
    project = read(world, "python/pyproject.toml")
    assert "grpcio" not in project and '"numpy>=1"' in project and 'mode = "small"' in project  # toml
    assert read(world, "python/acme/parser.py").startswith('"""Ours."""')  # a whole file
    assert read(world, "python/acme/extra.py").startswith('"""Ours too."""')


def test_a_file_with_tables_names_what_left_and_why(world: World) -> None:
    tables: dict[str, Any] = {}
    exec(read(world, "python/acme/removed.py"), tables)
    assert tables["DISTRIBUTION"] == "acme-small"
    assert tables["MODELS"] == {"Other": ("other", "models")}
    assert tables["DECISIONS"] == {"models": "one model is kept"}
    launch = read(world, "python/acme/launch.py")
    assert "from acme.removed import checked\n" in launch and "main(checked(sys.argv[1:]))" in launch


def test_facts_and_what_is_absent_leave_by_cascade(world: World) -> None:
    server = read(world, "python/acme/server.py")
    for gone in ("alien", "ALIEN", "warp", "GALAXY", "grpc", "import os", "an other"):
        assert gone not in server, gone
    quant = read(world, "python/acme/layers/quant.py")
    assert quant == 'from acme.layers.int8 import Int8Config\n\nMETHODS = {"int8": Int8Config}\n'
    assert "Fancy" not in read(world, "python/acme/layers/attention.py")
    # the native side: source, declaration and binding left with the removed file
    for path in ("sgl-kernel/CMakeLists.txt", "sgl-kernel/csrc/ext.cc", "sgl-kernel/include/ops.h"):
        assert "fancy" not in read(world, path), path


def test_a_module_stays_when_a_kept_model_or_a_root_needs_it(world: World) -> None:
    tree = world.home / "dist/tree/python/acme"
    assert (tree / "models/shared.py").exists() and (tree / "configs/deep.py").exists()
    assert (tree / "version.py").exists() and not (tree / "orphan.py").exists()
    assert not (tree / "models/other.py").exists() and not (tree / "configs/other.py").exists()


def test_the_wheel_holds_the_tree_s_packages_the_version_and_the_bill(world: World) -> None:
    described = build(world)["wheel"]
    data = (world.home / "dist" / described["name"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == described["sha256"]
    with zipfile.ZipFile(world.home / "dist" / described["name"]) as wheel:
        names = wheel.namelist()
        assert wheel.testzip() is None
        assert "acme/data/table.json" in names and "acme/test/test_server.py" not in names
        assert not any("grpc" in n or "fancy" in n for n in names)
        for name in names:
            if name.startswith("acme/"):
                assert wheel.read(name) == (world.home / "dist/tree/python" / name).read_bytes()
        about = f"acme-1.2.3+small.g{world.commit[:9]}.dist-info"
        metadata = wheel.read(f"{about}/METADATA").decode()
        assert f"Version: 1.2.3+small.g{world.commit[:9]}\n" in metadata
        assert "Requires-Dist: numpy>=1" in metadata and "grpcio" not in metadata
        assert wheel.read(f"{about}/sboms/sbom.cdx.json") == (world.home / "dist/sbom.cdx.json").read_bytes()
    assert described["files"] == len(names) and described["bytes"] == len(data)


def test_the_bill_and_the_provenance_name_the_trees_and_the_inputs(world: World) -> None:
    described = build(world)
    bill = json.loads((world.home / "dist/sbom.cdx.json").read_bytes())
    assert bill["bomFormat"] == "CycloneDX"
    assert {c["name"] for c in bill["components"]} == {"numpy", "packaging"}
    statement = json.loads((world.home / "dist/provenance.intoto.json").read_bytes())
    digests = {s["name"]: s["digest"] for s in statement["subject"]}
    assert digests.pop("tree") == {"gitTree": described["output"]["tree"]}
    assert digests[described["wheel"]["name"]] == {"sha256": described["wheel"]["sha256"]}
    stated = (world.home / "dist/SHA256SUMS").read_text().splitlines()
    sums = {name: {"sha256": digest} for digest, _, name in (line.partition("  ") for line in stated)}
    assert sums.pop("provenance.intoto.json") and digests == sums
    inputs = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    named = {i.get("name", "upstream"): i["digest"] for i in inputs}
    assert named["upstream"] == {"gitTree": described["upstream"]["tree"], "gitCommit": world.commit}
    for path in sorted(world.home.rglob("overlays/*/*")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert named[path.relative_to(world.home).as_posix()] == {"sha256": digest}
    assert named["manifest.yaml"] == {"sha256": hashlib.sha256(world.manifest.read_bytes()).hexdigest()}


def test_removed_md_has_a_section_and_the_reason_of_every_batch_that_did_something(world: World) -> None:
    page = (world.home / "dist/REMOVED.md").read_text("utf-8")
    for batch in ("furniture", "tests", "base", "models", "grpc", "fancy", "awk", "parser", "told"):
        assert f"\n## {batch}\n" in page
    assert "the gRPC entry point is not part of this distribution" in page
    lines = build(world)["lines"]["code"]
    assert f"{lines['before']:,} before, {lines['after']:,} after" in page


def test_no_file_of_the_output_names_a_place_of_this_machine(world: World) -> None:
    needles = [os.fsencode(p) for p in (world.home, world.repository.path, ROOT, Path.home())]
    for path in (world.home / "dist").rglob("*"):
        if path.is_file() and not path.name.endswith((".index", ".whl")):
            data = path.read_bytes()
            assert not any(needle in data for needle in needles if len(needle) > 6), path


def test_a_second_build_writes_nothing_and_says_so(world: World) -> None:
    def stats() -> dict[Path, tuple[int, int]]:
        return {p: (s.st_ino, s.st_mtime_ns) for p in (world.home / "dist").rglob("*") if (s := p.lstat())}

    before = stats()
    done = world.good("dist")
    assert "up to date" in done.stderr and stats() == before


def test_dist_as_json_prints_build_json_and_nothing_else(world: World, tmp_path: Path) -> None:
    done = world.good("dist", "--format", "json", "--out", str(tmp_path / "other"))
    assert json.loads(done.stdout)["output"] == build(world)["output"]
    assert done.stderr == ""


@pytest.mark.parametrize("batch", ["furniture", "tests", "models", "grpc", "fancy", "awk"])
def test_a_batch_that_is_off_gives_its_paths_back_whole(world: World, tmp_path: Path, batch: str) -> None:
    out = tmp_path / "out"
    world.good("dist", "--without", batch, "--out", str(out), "--paranoid")
    mine = [row["path"] for row in ledger(world) if row["batch"] == batch and row["verdict"] == "removed"]
    assert mine
    # what no root reaches and no kept model imports leaves in any case
    alone = ("python/acme/test/", "python/acme/configs/other.py", "python/acme/models/other.py")
    for path in mine:
        if path.startswith(alone):
            assert not (out / "tree" / path).exists()
        else:
            assert (out / "tree" / path).read_bytes() == FILES[path]
    off = {"fancy": ["fancy", "spare"]}.get(batch, [batch])  # what follows it is off with it
    assert json.loads((out / "build.json").read_bytes())["manifest"]["without"] == off


def test_awk_comes_back_with_its_users(world: World, tmp_path: Path) -> None:
    world.good("dist", "--without", "awk", "--out", str(tmp_path / "out"))
    for path in ("python/acme/layers/quant.py", "python/acme/layers/awk.py"):
        assert (tmp_path / "out/tree" / path).read_bytes() == FILES[path]


def test_the_emitted_package_imports_and_runs(world: World) -> None:
    code = "import acme.launch as l; s = l.Server(['deep']); s.run(); print(s.name, s.backend, s.odd())"
    done = subprocess.run(
        [shutil.which("python3") or "python3", "-IB", "-c", f"import sys; sys.path[:0] = ['.']; {code}"],
        cwd=world.home / "dist/tree/python",
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "acme plain even"


def test_a_pin_with_more_lines_than_its_scope_allows_stops(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    world.good("dist")
    lines = json.loads((world.home / "dist/build.json").read_bytes())["lines"]["code"]["after"]
    item = "{id: small, what: Size, decision: Small., lines: {seed: %d}}"
    scope = world.home / "docs/scope.yaml"
    scope.parent.mkdir()
    scope.write_text(f"guarantees:\n  - {item % lines}\n", "utf-8")
    world.good("dist")
    scope.write_text(f"guarantees:\n  - {item % (lines - 1)}\n", "utf-8")
    failed = world.run("dist")
    assert failed.returncode == GATE_FAILED and codes(failed.stderr) == ["G007"]
    assert f"{lines:,}" in failed.stderr
    # a batch that is switched off gives lines back, which nobody promised away
    world.good("dist", "--without", "tests")
