"""The cut as values: stages stop with all of their problems, and the output is a fixpoint."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from small_files import FILES
from small_world import World, commit_files

from builder.analysis.projects import projects
from builder.cli import options
from builder.emit import ledger
from builder.errors import BuildError, Problem
from builder.manifest.load import load
from builder.manifest.model import Manifest
from builder.manifest.switches import switch_off
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.names import path_answer
from builder.pipeline.cut import cut
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.pipeline.outcome import outcome_of
from builder.pipeline.prune import partial_paths
from builder.pipeline.verify import SHOWN, again, compare, verify
from builder.tree import Entry, Snapshot, Tree, blob_id
from builder.upstream.model import Upstream, snapshot


def resolved(world: World, manifest: Manifest, spec: str = "seed") -> Upstream:
    asked = options.Request(manifest, (), spec, world.repository.path, world.home / "cache", True, world.home)
    return options.resolve(asked, quiet=True)


def cut_of(world: World, without: Sequence[str] = (), spec: str = "seed") -> tuple[Cut, Manifest]:
    manifest = switch_off(load(world.manifest), without)
    return cut(snapshot(resolved(world, manifest, spec)), manifest), manifest


def problems(world: World) -> tuple[Problem, ...]:
    with pytest.raises(BuildError) as caught:
        cut_of(world)
    return caught.value.problems


def test_the_output_of_the_output_is_the_output(world: World) -> None:
    for without in ([], ["awk"], ["fancy"], ["models", "tests"]):
        done, _ = cut_of(world, without)
        assert compare(done.output.tree, again(done).tree) == []


def test_a_second_run_that_changes_something_is_told_path_by_path() -> None:
    def tree(**files: str) -> Tree:
        return Tree({name: Entry("100644", blob_id(text.encode())) for name, text in files.items()})

    found = compare(tree(a="1", b="2", c="3"), tree(a="1", b="x", d="4"))
    said = {"b": "changed again", "c": "removed", "d": "added"}
    assert [p.message for p in found] == [f"{name} is {how} by a second run" for name, how in said.items()]
    assert {p.code for p in found} == {"G009"} and compare(tree(a="1"), tree(a="1")) == []
    many = compare(tree(), tree(**{f"f{n}": str(n) for n in range(SHOWN + 5)}))
    assert len(many) == SHOWN + 1 and str(SHOWN + 5) in many[-1].message


def test_every_path_of_both_trees_has_a_reason_with_the_deciding_one_first(world: World) -> None:
    done, manifest = cut_of(world)
    found = reasons(done)
    assert {*done.upstream.tree, *done.output.tree} <= set(found)
    assert all(found.values())
    known = {batch.id for batch in manifest.batches} | {"root", "facts", "lockstep"}
    assert {reason.batch for listed in found.values() for reason in listed} <= known
    said = {path: (listed[0].batch, listed[0].rule) for path, listed in found.items()}
    assert said["python/acme/grpc/service.py"] == ("grpc", "python/acme/grpc/")
    assert said["python/acme/configs/deep.py"] == ("root", "acme.models.deep needs it")
    assert said["python/acme/models/shared.py"] == ("base", "a root reaches it")
    assert said["python/acme/models/other.py"] == ("models", "roots.models does not keep it")
    assert said["python/acme/orphan.py"] == ("base", "no root reaches it")
    assert said["python/acme/data/table.json"] == ("base", "it follows python/acme/__init__.py")
    assert said["python/acme/extra.py"] == ("parser", "file: our own parser")
    assert said["sgl-kernel/include/ops.h"] == ("fancy", "declaration fancy left with its source")
    # an edited file names the batches in the order of the manifest, whatever was carried out first
    hands = [reason.batch for reason in found["python/acme/server.py"]]
    assert hands[0] == "fancy" and hands.index("parser") > hands.index("fancy")
    rows = ledger.rows(done.upstream.tree, done.output.tree, found, {}, {})
    assert len(rows) == len({*done.upstream.tree, *done.output.tree})


def test_a_file_that_a_patch_removes_says_which_patch(world: World) -> None:
    patch = "--- a/docs/guide.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-A guide without a last newline\n"
    (world.home / "overlays/parser/odd.patch").write_text(patch + "\\ No newline at end of file\n")
    done, _ = cut_of(world)
    assert "docs/guide.md" not in done.output.tree
    assert reasons(done)["docs/guide.md"][0].rule == "patch: an example of the last resort"


def test_a_whole_file_of_ours_in_the_place_of_a_removed_one_says_so(world: World) -> None:
    old = blob_id(FILES["python/acme/test/test_server.py"])  # type: ignore[arg-type]
    world.change(
        "{path: python/acme/extra.py, from",
        f'{{path: python/acme/test/test_server.py, preimage: ["{old}"], from',
    )
    done, _ = cut_of(world)
    assert done.output["python/acme/test/test_server.py"].startswith(b'"""Ours too."""')
    assert reasons(done)["python/acme/test/test_server.py"][0].rule == "file: our own parser"


def test_patches_apply_to_what_upstream_has_whatever_other_batches_do(world: World) -> None:
    # batch fancy edits the same file above the hunk, and shifts its lines
    for without in ([], ["fancy"]):
        done, _ = cut_of(world, without)
        assert b'return "even"' in done.output["python/acme/server.py"]


def test_the_guarantees_of_a_batch_go_with_it_and_those_of_all_stay(world: World) -> None:
    manifest = load(world.manifest)
    assert len(manifest.guarantees.absent_text) == 1
    assert switch_off(manifest, ["fancy"]).guarantees.absent_text == ()
    assert switch_off(manifest, ["awk"]).guarantees == manifest.guarantees


def test_select_tells_all_of_its_problems_and_later_stages_wait(world: World) -> None:
    world.change("remove: [python/acme/test/]", "remove: [python/acme/tets/]")
    world.change("keep: [deep]", "keep: [deep, missing]")
    world.change("drop_entry: '\"fancy\"'", "drop_entry: '\"nothing\"'")
    assert [p.code for p in problems(world)] == ["R001", "R001"]


def test_the_overlay_stage_tells_the_problems_of_every_kind_of_edit_at_once(world: World) -> None:
    world.change("drop_entry: '\"fancy\"'", "drop_entry: '\"nothing\"'")
    world.change("block: WITH_ALIEN", "block: WITH_NOBODY")
    world.change("value: grpcio", "value: grpcoi")
    (world.home / "overlays/parser/odd.patch").write_bytes(b"nothing\n")
    world.change('preimage: ["' + blob_id(FILES["python/acme/parser.py"]), 'preimage: ["' + "0" * 40)  # type: ignore[arg-type]
    assert sorted({p.code for p in problems(world)}) == ["R004", "R006", "R007"]
    assert all(p.mark for p in problems(world))


def test_an_edit_of_a_removed_file_names_the_batch_that_removes_it(world: World) -> None:
    world.change("remove: [python/acme/test/]", "remove: [python/acme/test/, python/acme/server.py]")
    found = [p for p in problems(world) if p.code == "R005"]
    assert found and all("tests" in (p.hint or "") for p in found)


def test_a_release_that_holds_only_python_needs_no_rule_or_edit_elsewhere(world: World) -> None:
    only = {path: data for path, data in FILES.items() if path.startswith("python/")}
    only["python/acme/README.md"] = b"x\n"
    commit_files(world.repository, only, "refs/heads/release")
    world.change(
        "present: [python/acme/launch.py, acme.server.Server, LICENSE]", "present: [acme.server.Server]"
    )
    done, _ = cut_of(world, spec="release")
    whole, _ = cut_of(world)
    assert all(path.startswith("python/") for path in done.output)
    for path in done.output:
        if path != "python/acme/README.md":
            assert done.output[path] == whole.output[path], path


def test_a_module_in_which_nothing_is_left_leaves_where_nothing_names_it(world: World) -> None:
    alone = (
        "import logging\n\nfrom acme.platform import is_alien\n\nlogger = logging.getLogger(__name__)\n\n\n"
    )
    branch = "if is_alien():\n\n    def land():\n        return 1\n"
    new = {
        "left": alone + branch,
        "imported": alone + branch,
        "named": alone + branch,
        "ran": alone + branch,
        "offers": "from acme.layers.int8 import Int8Config\n" + alone + branch,
        "works": alone + branch + "\nprint(logger)\n",
        "user": (
            "import acme.ran\nfrom acme.imported import logger\n\nlogger.info('')\nLATER = ['acme.named']\n"
        ),
    }
    files = {f"python/acme/{name}.py": text.encode() for name, text in new.items()}
    commit_files(world.repository, {**FILES, **files}, "refs/heads/hollow")
    world.change("  - python/pyproject.toml\n", "  - python/pyproject.toml\n  - python/acme/*.py\n")
    done, manifest = cut_of(world, spec="hollow")
    assert {name for name in new if f"python/acme/{name}.py" not in done.output} == {"left", "ran"}
    assert done.output["python/acme/user.py"].startswith(b"from acme.imported import logger\n")
    context = Context(outcome_of(done, manifest), manifest)
    told = path_answer(context, "python/acme/left.py")
    assert told.headline == "python/acme/left.py is removed: nothing is left in it"
    assert reasons(done)["python/acme/left.py"][0].rule == "on the target acme.platform.is_alien() is False"
    assert compare(done.output.tree, again(done).tree) == []


def test_an_upstream_of_one_folder_is_partial_and_any_other_is_whole() -> None:
    assert partial_paths(["python/a.py", "python/b/c.py", "python/d/e.py"], "python") == ("python",)
    assert partial_paths(["python/a.toml", "python/b/c.py", "LICENSE"], "python") == ("python/b",)
    assert partial_paths(["python/a.py", "LICENSE"], "python") == ("python",)
    assert partial_paths(["python/a.py", "docs/x"], "python") == ()
    assert partial_paths([], "python") == ()
    assert partial_paths(["pkg/a.py", "setup.py"], "") == ()


def test_a_wheel_holds_its_packages_whatever_they_are_called() -> None:
    paths = ["LICENSE", "python/pyproject.toml", "python/b/c.py", "python/tools/d.py"]
    assert partial_paths(paths, "python", "wheel") == ("python/b", "python/tools")
    assert partial_paths(["LICENSE", "python/b/c.py"], "python", "wheel") == ("python/b",)


def test_a_cut_reads_nothing_but_its_arguments(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = load(world.manifest)
    files = snapshot(resolved(world, manifest))
    first = cut(Snapshot(files.tree, {e.blob: files[p] for p, e in files.tree.items()}), manifest)
    for name in ("manifest.yaml", "overlays"):
        (world.home / name).rename(world.home / f"{name}.away")
    world.repository.path.rename(world.repository.path.with_name("away.git"))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.chdir(world.home)
    assert cut(files, manifest).output.tree.id == first.output.tree.id


def with_import(world: World, path: str, text: bytes) -> None:
    """Another commit of upstream, which requires orjson, and whose file begins with a text."""
    project = "python/pyproject.toml"
    files = {**FILES, path: text + bytes(FILES[path])}
    files[project] = bytes(files[project]).replace(b'  "grpcio",', b'  "orjson",\n  "grpcio",')
    commit_files(world.repository, files, "refs/heads/importing")


def requirements(done: Cut) -> list[str]:
    (project,) = (p for p in projects(done.output, done.manifest.packages) if "acme" in p.packages)
    return [row.name for row in project.requirements]


class TestRequirements:
    """What a build asks for is what its files import; its gate sees upstream's pyproject.toml too."""

    @pytest.mark.parametrize(
        ("text", "stays"),
        [
            (b"import grpc\n", True),
            (b"def late():\n    from grpc import aio\n    return aio\n\n\n", True),
            (b"try:\n    import grpc\nexcept ImportError:\n    grpc = None\n", False),
        ],
    )
    def test_one_that_a_statement_removes_stays_where_a_kept_file_needs_it(
        self, world: World, text: bytes, stays: bool
    ) -> None:
        with_import(world, "python/acme/launch.py", b"import orjson\n" + text)
        done, _ = cut_of(world, spec="importing")
        assert ("grpcio" in requirements(done)) is stays
        verify(done)

    @pytest.mark.parametrize(
        ("path", "text", "stays"),
        [
            ("python/acme/launch.py", b"import orjson\n", True),
            ("python/acme/launch.py", b"try:\n    import orjson\nexcept ImportError:\n    pass\n", True),
            ("python/acme/grpc/service.py", b"import orjson\n", False),  # a file that leaves
        ],
    )
    def test_one_leaves_with_the_last_import_of_it(
        self, world: World, path: str, text: bytes, stays: bool
    ) -> None:
        with_import(world, path, text)
        done, _ = cut_of(world, spec="importing")
        assert ("orjson" in requirements(done)) is stays
        why = "Nothing imports it any more."
        assert [record.batch for record in done.records if record.why == why] == ([] if stays else ["grpc"])
        verify(done)

    def test_one_that_upstream_does_not_import_is_for_a_person_to_judge(self, world: World) -> None:
        with_import(world, "python/acme/launch.py", b"")
        done, _ = cut_of(world, spec="importing")
        with pytest.raises(BuildError, match=r"the dependency 'orjson' is imported nowhere"):
            verify(done)

    def test_one_of_a_file_that_is_no_project_of_a_package_leaves_as_stated(self, world: World) -> None:
        text = b'[project]\ndependencies = ["one", "two"]\n'
        commit_files(world.repository, {**FILES, "scripts/other.toml": text}, "refs/heads/importing")
        stated = "{file: scripts/other.toml, remove: project.dependencies, value: one}"
        edit = "{file: python/pyproject.toml, remove: project.dependencies, value: grpcio}"
        world.change(edit, f"{stated}\n      - {edit}")
        done, _ = cut_of(world, spec="importing")
        assert done.output["scripts/other.toml"] == text.replace(b'"one", ', b"")

    def test_why_names_the_rule_that_took_the_last_import(self, world: World) -> None:
        with_import(world, "python/acme/grpc/service.py", b"import orjson\n")
        said = world.good("why", "orjson", "--upstream", "importing").stdout
        assert "requirement orjson is removed." in said
        assert re.search(r"grpc +nothing imports it any more", said)
