"""The verbs beside `dist`: what they print, and the exit status they give."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from small_files import FILES, MANIFEST
from small_world import ROOT, World, codes, commit_files, folder_bytes, place, schema, small_world
from yaml_cases import lacking, load

from builder.cli import VERBS
from builder.errors import CODES

GRPC_RULE = place("python/acme/grpc/")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world that tests only read."""
    return small_world(tmp_path_factory.mktemp("world"))


# -- plan


def test_plan_says_three_until_the_output_is_there_and_zero_after(world: World) -> None:
    before = folder_bytes(world.home)
    assert world.run("plan").returncode == 3
    assert folder_bytes(world.home) == before
    world.good("dist")
    assert world.run("plan").returncode == 0
    assert world.run("plan", "--without", "awk").returncode == 3
    assert world.run("plan", "--out", "elsewhere").returncode == 3
    (world.home / "dist/tree/README.md").write_bytes(b"edited\n")
    assert world.run("plan").returncode == 3


def test_a_batch_that_needs_others_off_says_so_and_takes_them_along_on_request(world: World) -> None:
    alone = world.run("plan", "--without", "spare")
    assert alone.returncode == 2 and codes(alone.stdout + alone.stderr) == ["C002"]
    assert "--without spare --without fancy" in alone.stdout + alone.stderr
    both = world.run("plan", "--without", "spare", "--with-needs")
    assert both.returncode == 3 and "also off: fancy" in both.stderr
    assert "also off: spare" in world.run("plan", "--without", "fancy").stderr


def test_plan_shows_the_same_figures_as_the_build(world: World) -> None:
    planned = json.loads(world.run("plan", "--format", "json").stdout)
    world.good("dist")
    built = json.loads((world.home / "dist/build.json").read_bytes())
    assert planned["output_tree"] == built["output"]["tree"]
    for key in ("lines", "verdicts", "batches"):
        assert planned[key] == built[key]
    assert planned["pending"] is True
    assert json.loads(world.run("plan", "--format", "json").stdout)["pending"] is False


def test_plan_lists_batches_and_with_paths_every_path(shared: World) -> None:
    short, long = shared.run("plan").stdout, shared.run("plan", "--paths").stdout
    assert long.startswith(short.rpartition("Plan:")[0])
    assert "Plan: " in short and "holds no build." in short
    assert [w.split()[0] for w in short.splitlines()[1:9]] == [
        "base",
        "furniture",
        "tests",
        "models",
        "grpc",
        "fancy",
        "awk",
        "parser",
    ]
    assert "removed python/acme/grpc/service.py  [grpc: python/acme/grpc/]" in long
    assert len(long.splitlines()) - len(short.splitlines()) == len(
        {*FILES, "python/acme/extra.py", "python/acme/removed.py"}
    )


def test_plan_of_a_broken_build_tells_the_problems_not_three(world: World) -> None:
    world.change("{drop_entry: '\"fancy\"'", "{drop_entry: '\"funky\"'")
    done = world.run("plan")
    assert (done.returncode, codes(done.stderr)) == (5, ["R004"])


def test_plan_is_the_difference_from_the_output(world: World) -> None:
    world.good("dist")
    done = world.run("plan")
    assert (done.returncode, done.stdout) == (0, "No changes.\n")
    world.change("remove: [.github/, docs/]", "remove: [docs/]")
    (world.home / "overlays/parser/extra.py").write_bytes(b'"""Ours too."""\n\nEXTRA = 2\n')
    world.change('project.dependencies, value: "numpy>=1"', 'project.dependencies, value: "numpy>=2"')
    done = world.run("plan", "--paths")
    *lines, last = done.stdout.splitlines()
    assert (done.returncode, lines) == (
        3,
        [
            "+ .github/workflow.yml  [furniture]",
            "~ python/acme/extra.py  [parser]",
            "~ python/pyproject.toml  [grpc]",
            "- requirement numpy>=1 of python/pyproject.toml  [grpc: add project.dependencies, "
            f"{place('{file: python/pyproject.toml, add')}]",
            "+ requirement numpy>=2 of python/pyproject.toml",
        ],
    )
    assert last.startswith("Plan: 1 file to add, 0 to remove, 2 to change; the surface gains 1 and loses 1;")
    short = world.run("plan").stdout.splitlines()
    assert [line.split() for line in short[:2]] == [["batch", "+", "-", "~"], ["furniture", "1", "0", "0"]]
    (world.home / "dist/tree/README.md").write_bytes(b"edited\n")
    assert "is not as it was written: tree/README.md" in world.run("plan").stdout


def test_plan_has_a_row_for_each_new_batch_and_a_cause_for_each_loss(world: World) -> None:
    world.good("dist")
    world.change(
        "  - id: parser\n",
        "  - {id: nothing, why: an example}\n"
        "  - {id: int8, why: an example, remove: [python/acme/layers/int8.py]}\n  - id: parser\n",
    )
    rows = [line.split() for line in world.run("plan").stdout.splitlines()]
    assert ["nothing", "0", "0", "0"] in rows and ["int8", "0", "1", "1"] in rows
    said = world.run("plan").stdout
    rule = "int8: python/acme/layers/int8.py is removed, manifest.yaml:"
    assert f"- entry 'int8' of acme.layers.quant.METHODS  [{rule}" in said, said
    lost = json.loads(world.run("plan", "--format", "json").stdout)["changes"]["surface"]
    assert all(one["sign"] == "+" or one["why"] for one in lost)


# -- why


WHY = load("why.yaml")


@pytest.mark.parametrize("what", WHY["answers"])
def test_why_names_rule_reason_and_way(shared: World, what: str) -> None:
    said = shared.good("why", what).stdout
    wanted = [re.sub(r"\{(.+)\}", lambda text: place(text[1]), text) for text in WHY["answers"][what]]
    assert lacking([said], [wanted]) == [], said


@pytest.mark.parametrize(
    ("what", "meant"),
    [
        ("python/acme/servr.py", "python/acme/server.py"),
        ("acme.servr", "acme.server"),
        ("acme.server.Servr", "python/acme/server.py:Server"),
        ("python/acme/server.py:Server.limit", "python/acme/server.py:Server.limits"),
    ],
)
def test_why_of_something_unknown_suggests_what_was_meant(shared: World, what: str, meant: str) -> None:
    done = shared.run("why", what)
    assert (done.returncode, codes(done.stderr), done.stdout) == (2, ["C001"], "")
    assert f"did you mean {meant}" in done.stderr


@pytest.mark.parametrize("what", ["", ":", "..", "a:b:c", "acme.", "*", "\\", "-", "acme..x"])
def test_why_of_nonsense_is_a_usage_error(shared: World, what: str) -> None:
    assert shared.run("why", "--", what).returncode == 2


def test_why_as_data_has_the_way_and_the_marks(shared: World) -> None:
    found = json.loads(shared.good("why", "acme.models.shared", "--format", "json").stdout)
    assert [(s["from"], s["to"]) for s in found["answers"][0]["way"]] == [
        ("acme.models.deep", "acme.configs.deep"),
        ("acme.configs.deep", "acme.models.shared"),
    ]
    found = json.loads(shared.good("why", "docs/logo.bin", "--format", "json").stdout)["answers"][0]
    assert (found["state"], found["way"], found["also"]) == (
        "removed",
        None,
        ["docs/a name with ä and spaces.md"],
    )
    assert found["reasons"] == [{"batch": "furniture", "rule": "docs/", "mark": place("docs/", "docs/]")}]


@pytest.mark.parametrize("what", WHY["written"])
def test_why_takes_what_people_write_and_answers_in_its_first_line(shared: World, what: str) -> None:
    said = shared.good("why", "--", what).stdout.splitlines()[0]
    assert said.startswith(WHY["written"][what]), said


def test_why_takes_what_it_is_asked_in_several_words_without_quotes(shared: World) -> None:
    at_once, apart = shared.run("why", "--backend fancy"), shared.run("why", "--backend", "fancy")
    assert "'--backend fancy' is unknown" in apart.stderr
    assert (apart.returncode, apart.stderr) == (at_once.returncode, at_once.stderr)


def test_why_of_a_part_of_names_tells_which_stay_and_which_left(shared: World) -> None:
    assert shared.good("why", "helper_of").stdout == (
        "the word `helper_of` is in no name of the output; 1 name with it left.\n"
        "  removed  1 definition: acme.server.helper_of_fancy\n"
    )
    assert shared.good("why", "backend").stdout == (
        "the word `backend` is in 1 name of the output.\n"
        "  kept     1 other name: backend (python/acme/server.py)\n"
    )
    assert shared.good("why", "limits").stdout.endswith(
        "the word `limits` is in 1 name of the output.\n  kept     1 definition: acme.server.Server.limits\n"
    )
    assert shared.run("why", "no_such_word").returncode == 2


def test_why_gives_every_reading_of_a_word_and_how_to_change_each(shared: World) -> None:
    said = shared.good("why", "grpc").stdout.split("\n\n")
    subjects = ["grpc", "python/acme/grpc/__init__.py", "the word `grpc`"]
    assert [part.partition(" is ")[0] for part in said] == subjects
    assert "to switch it off: `dist --without grpc`" in said[0]
    assert "to switch it off: `dist --without spare --with-needs`" in shared.good("why", "spare").stdout
    assert "to bring it back: `dist --without grpc`" in said[1]
    # an option of another verb is no part of a name
    assert "did you mean grpc?" in shared.run("why", "grpc", "--out", "folder").stderr


# -- rules, schema, explain, doctor


def test_rules_lists_what_each_rule_matches_and_alone_decides(shared: World) -> None:
    rules = json.loads(shared.good("rules", "--format", "json").stdout)["rules"]
    by_pattern = {r["pattern"]: r for r in rules}
    assert (by_pattern["docs/"]["matches"], len(rules)) == (4, len(by_pattern) + 2)  # two patterns twice
    grpc = by_pattern["python/acme/grpc/"]
    assert (grpc["verdict"], grpc["batch"], grpc["radius"]) == ("remove", "grpc", 2)
    text = shared.good("rules").stdout
    assert len(text.splitlines()) == len(rules) + 1 and GRPC_RULE in text
    one = json.loads(shared.good("rules", "--batch", "grpc", "--format", "json").stdout)["rules"]
    assert one == [rule for rule in rules if rule["batch"] == "grpc"] != []
    assert "did you mean `grpc`?" in shared.run("rules", "--batch", "grcp").stderr


def test_rules_shows_the_table_and_then_what_is_wrong_with_it(world: World) -> None:
    world.change("remove: [python/acme/grpc/]", "remove: [python/acme/grcp/]")
    done = world.run("rules")
    assert (done.returncode, codes(done.stderr)) == (5, ["R001"])
    assert "did you mean" in done.stderr and "python/acme/grcp/" in done.stdout
    done = world.run("rules", "--format", "json")
    said = json.loads(done.stdout)
    assert done.returncode == 5 and [p["code"] for p in said["problems"]] == ["R001"] and said["rules"]


def test_schema_is_a_draft_7_schema_and_its_reference_names_every_definition(shared: World) -> None:
    loaded = json.loads(shared.good("schema").stdout)
    Draft7Validator.check_schema(loaded)
    reference = shared.good("schema", "--reference").stdout
    assert all(f"## {name}\n" in reference for name in loaded["definitions"])


def test_explain_knows_every_code(shared: World) -> None:
    text = shared.good("explain").stdout
    assert [line[:4] for line in text.splitlines()] == list(CODES)
    assert "Another builder" in shared.good("explain", "e004").stdout
    done = shared.run("explain", "G01")
    assert done.returncode == 2 and "Did you mean G01" in done.stderr
    assert json.loads(shared.good("explain", "M001", "--format", "json").stdout)["codes"]["M001"]


def test_doctor_tells_all_that_is_missing(world: World) -> None:
    done = world.run("doctor", "--offline")
    assert done.returncode == 7
    missing = [line for line in done.stdout.splitlines() if line.startswith("NO")]
    assert len(missing) == 1 and "upstream gone" in missing[0]
    assert world.good("doctor", "seed").stdout.count("ok ") == 6
    world.change("name: acme-small", "nmae: acme-small")
    done = world.run("doctor", "--format", "json")
    assert done.returncode == 7
    wrong = [c["what"] for c in json.loads(done.stdout)["checks"] if not c["ok"]]
    assert [w for w in wrong if "nmae" in w] and [w for w in wrong if "`name`" in w]


def test_help_names_every_verb_and_every_verb_has_help(shared: World) -> None:
    text = shared.good("--help").stdout
    for verb in VERBS:
        assert f"\n  {verb} " in text
        assert "Usage:" in shared.good(verb, "--help").stdout
    modules = {p.stem for p in (ROOT / "builder/cli").glob("*.py")} - {
        "__init__",
        "options",
        "output",
        "building",
        "cache_file",
        "signals",
        "stages",
    }
    assert modules == {verb.replace("-", "_") for verb in VERBS}


def test_a_manifest_that_lies_elsewhere_can_be_named(shared: World, tmp_path: Path) -> None:
    done = shared.run("why", "x", "--manifest", str(tmp_path / "manifest.yaml"))
    assert done.returncode == 4 and "--manifest FILE" in done.stderr


# -- report


def test_report_writes_the_page_that_dist_puts_beside_the_tree(shared: World, tmp_path: Path) -> None:
    shared.good("dist", "--out", str(tmp_path / "dist"))
    page = tmp_path / "page.html"
    assert f"{page}  " in shared.good("report", "--to", str(page)).stderr
    assert page.read_bytes() == (tmp_path / "dist/report.html").read_bytes()
    assert shared.good("report", "--to", "-").stdout == page.read_text("utf-8")
    assert [p.name for p in tmp_path.iterdir() if "part" in p.name] == []


def test_report_names_a_file_that_cannot_be_written_and_leaves_nothing(shared: World, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = shared.run("report", "--to", str(tmp_path / "folder"))
    assert (done.returncode, codes(done.stderr)) == (7, ["E002"])
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


# -- verify


def test_verify_refuses_at_once_to_write_into_a_folder_that_is_missing(world: World) -> None:
    world.good("dist")
    done = world.run("verify", "--evidence", "none/found.json")
    assert done.returncode == 7 and codes(done.stderr) == ["E002"]
    assert f"mkdir -p {world.home / 'none'}" in done.stderr
    (world.home / "none").write_bytes(b"")
    assert "is a file, not a folder" in world.run("verify", "--evidence", "none/found.json").stderr


# -- lock


def test_a_locked_pin_that_does_not_reproduce_is_refused_and_the_output_kept(world: World) -> None:
    world.good("lock", "seed")
    lock = world.home / "manifest.lock"
    loaded = json.loads(lock.read_bytes())
    assert list(schema("lock").iter_errors(loaded)) == [] and list(loaded["pins"]) == ["seed"]
    done = world.good("dist")
    assert "manifest.lock" not in done.stderr  # it reproduced: nothing to say
    before = folder_bytes(world.home / "dist", ())
    good = lock.read_text("utf-8")
    tree = loaded["pins"]["seed"]["output_tree"]
    lock.write_text(good.replace(tree, "0" * 40), "utf-8")
    for words in (("dist",), ("dist", "--out", "new")):
        done = world.run(*words)
        assert (done.returncode, codes(done.stderr)) == (1, ["G012"]), done.stderr
        assert tree in done.stderr and "0" * 40 in done.stderr
    assert folder_bytes(world.home / "dist", ()) == before and not (world.home / "new").exists()
    world.good("dist", "--update-lock")
    assert lock.read_text("utf-8") == good


def test_a_comment_in_the_manifest_changes_no_byte_of_the_lock(world: World) -> None:
    world.good("lock", "seed")
    before = (world.home / "manifest.lock").read_bytes()
    world.change("name: acme-small", "# what it is\n\nname: acme-small  # in short")
    done = world.good("dist")
    assert "was locked with another manifest" not in done.stderr
    world.good("lock", "seed")
    assert (world.home / "manifest.lock").read_bytes() == before


def test_a_build_without_a_batch_proves_nothing(world: World) -> None:
    done = world.good("lock", "seed", "--without", "awk")
    assert "proves no pin" in done.stderr and not (world.home / "manifest.lock").exists()


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"schema_version": 9, "pins": {}}'])
def test_a_lock_that_cannot_be_read_stops_the_build(world: World, text: bytes) -> None:
    (world.home / "manifest.lock").write_bytes(text)
    done = world.run("dist")
    assert (done.returncode, codes(done.stderr)) == (4, ["M008"])
    assert not (world.home / "dist").exists()


def wheel_of(out: Path) -> str:
    (wheel,) = out.glob("*.whl")
    return wheel.name.removeprefix("acme-1.2.3+small").removesuffix("-py3-none-any.whl")


def test_outputs_that_differ_have_wheels_of_other_names(world: World) -> None:
    world.good("lock", "seed")
    commit, out = f".g{world.commit[:9]}", world.home / "dist"
    for words, name in (
        (("seed",), ""),
        (("main",), ""),  # a branch gives the wheel of its commit
        (("--without", "awk"), ".without.awk"),
        (("--without", "fancy", "--without", "awk"), ".without.awk.fancy.spare"),
    ):
        world.good("dist", *words)
        assert wheel_of(out) == name + commit
    for path in (world.manifest, world.home / "overlays/parser/extra.py"):  # an edited manifest, an own file
        path.write_text(path.read_text().replace("to: '\"plain\"'", "to: '\"wide\"'") + "# own\n")
        done = world.good("dist")
        statements = json.loads((out / "build.json").read_bytes())["manifest"]["statements"]
        assert wheel_of(out) == f".m{statements[:8]}{commit}"
        assert "was locked with another manifest: the output tree, the wheel's" in done.stderr
        assert "up to date" in world.good("dist").stderr
        world.good("dist", "main")
        assert wheel_of(out) == f".m{statements[:8]}{commit}"
        world.good("dist", "--without", "awk")
        assert wheel_of(out) == f".without.awk.m{statements[:8]}{commit}"


@pytest.mark.parametrize("words", [("lock", "seed"), ("dist", "--update-lock", "--out", "new")])
def test_a_manifest_that_is_proven_again_gives_the_plain_name(world: World, words: tuple[str, ...]) -> None:
    world.good("lock", "seed")
    world.change("to: '\"plain\"'", "to: '\"wide\"'")
    world.good("dist")
    assert ".m" in wheel_of(world.home / "dist")
    world.good(*words)
    assert "manifest.lock" not in world.good("dist").stderr  # another name: it is written again, as locked
    assert wheel_of(world.home / "dist") == f".g{world.commit[:9]}"
    assert "up to date" in world.good("dist").stderr


def test_an_output_that_is_still_the_locked_one_keeps_its_name(world: World) -> None:
    world.good("lock", "seed")
    world.good("dist")
    before = wheel_of(world.home / "dist")
    world.change("why: importlib", "why: it is imported by its name")
    for words in ((), ("main",)):
        done = world.good("dist", *words)
        assert wheel_of(world.home / "dist") == before
        assert ("with another manifest: the output is the same" in done.stderr) is not bool(words)
    assert world.good("plan", "main").returncode == 0


def test_a_commit_that_is_no_pin_says_where_its_version_comes_from(world: World) -> None:
    assert "\nversion " not in world.good("dist", "main").stderr
    files = {**FILES, "python/pyproject.toml": FILES["python/pyproject.toml"].replace(b"1.2.3", b"1.2.4")}
    commit_files(world.repository, files, "refs/heads/next", parent=world.commit)
    done = world.good("dist", "next")
    assert "\nversion 1.2.4: python/pyproject.toml, project.version\n" in done.stderr


# -- upstreams


def test_a_new_upstream_commit_with_an_unknown_path_is_unclassified_with_a_proposal(world: World) -> None:
    commit_files(world.repository, {**FILES, "rust/src/lib.rs": b"fn main() {}\n"}, "refs/heads/next")
    done = world.run("dist", "next")
    assert (done.returncode, codes(done.stderr)) == (5, ["R003"])
    assert "rust/" in done.stderr and not (world.home / "dist").exists()


@pytest.mark.parametrize("name", ["main", "v1.2.3", "refs/heads/main"])
def test_a_branch_or_tag_builds_the_same_tree_as_the_pin(shared: World, tmp_path: Path, name: str) -> None:
    shared.good("dist", "--out", str(tmp_path / "a"))
    shared.good("dist", name, "--out", str(tmp_path / "b"))
    for file in ("upstream.diff", "ledger.jsonl", "sbom.cdx.json", "REMOVED.md"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    loaded = [json.loads((tmp_path / x / "build.json").read_bytes()) for x in "ab"]
    assert loaded[0]["wheel"] == loaded[1]["wheel"] and loaded[0]["output"] == loaded[1]["output"]
    assert loaded[1]["upstream"]["spec"] == name


def test_a_short_sha_and_a_repository_path_name_the_commit_too(shared: World, tmp_path: Path) -> None:
    for number, name in enumerate((shared.commit[:10], f"{shared.repository.path}@main")):
        out = tmp_path / str(number)
        shared.good("dist", name, "--out", str(out), SGLANG_MIRROR=str(shared.repository.path))
        assert json.loads((out / "build.json").read_bytes())["upstream"]["commit"] == shared.commit


def test_a_comment_with_a_word_of_a_family_is_listed_with_the_batch(tmp_path: Path) -> None:
    manifest = MANIFEST.replace("  - id: spare\n", "  - id: spare\n    words: [alien]\n")
    world = small_world(tmp_path, manifest=manifest)
    more = b'ONE = "# alien"  # not so alien\nTWO = 2  # an alienated one\n# IS_ALIEN decides\n'
    path = "python/acme/version.py"
    files = {**FILES, path: b'__version__ = "1.2.3"\n' + more}
    commit_files(world.repository, files, "refs/heads/more")
    lines = world.good("report", "--mentions", "more").stdout.splitlines()
    assert [line for line in lines if line.startswith(path)] == [
        f"{path}:2: spare: # not so alien",
        f"{path}:4: spare: # IS_ALIEN decides",
    ]
