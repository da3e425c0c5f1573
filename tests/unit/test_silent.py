"""A statement that does nothing is told, and a search that would not end is stopped."""

from __future__ import annotations

import re
import time

import pytest
from small_world import World, codes, commit_files

from builder.gates.guarantees import time_limit


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("[acme.launch, acme.layers.*]", "[acme.lanch, acme.launch]", "R009", "did you mean `acme.launch`?"),
        ("programs: [acme.*]", "programs: [acme.*, akme.*]", "R009", "`akme.*` names no module"),
        (
            "[python/acme/test/]",
            "[python/acme/test/, python/acme/launch.py]",
            "R002",
            "The root `acme.launch`",
        ),
        (
            "[python/acme/test/]",
            "[python/acme/test/, python/acme/models/deep.py]",
            "R002",
            "`remove: python/acme/models/deep.py` (batch tests) removes nothing",
        ),
        ('names: ["*backend*"]', 'names: ["*backend*", bakcend]', "R009", "option name `bakcend`"),
        (
            "acme.platform.is_alien: false",
            "acme.platfrom.is_alien: false",
            "R009",
            "`acme` has no `platfrom`.",
        ),
        (
            "acme.platform.is_alien: false",
            "acme.models.deep.is_alien: false",
            "R009",
            "`is_alien` is defined in `acme.platform`",
        ),
        ("[acme.platform.warp]", "[acme.plattform.warp]", "R009", "`acme` has no `plattform`."),
        ("is_alien: false", "is_alien: maybe", "M004", "`maybe` would be the text"),
        ("is_alien: false", "is_alien: flase", "M004", "`flase` would be the text"),
        (
            "acme.platform.is_alien: false",
            "acme.platform.is_alein: false",
            "R009",
            "did you mean `is_alien`? Remove it",
        ),
        ("keep: [deep]", "keep: [deep, ohter]", "R001", "did you mean `other`?"),
        ("keep: [deep]", "keep: [deep, Other]", "R001", "named by their modules: write `other`"),
        ("why: our own parser", "why: Ours: better", "M001", "quote the text: it holds a colon"),
        ("why: our own parser", "why: ours\n    besides: x", "M005", "is not known in `batches[parser]`"),
        (
            "tables: removed-features}",
            "tables: removed-features}\n      - {path: python/acme/b.py, from: overlays/b.py}",
            "M008",
            "write the file, or",
        ),
        ("label: small", "label: small\nname: acme-small", "M002", "and delete the other"),
        ("keep: [deep]", "keep: deep", "M004", "write it in brackets: `[deep]`"),
        ("is_alien: false", "is_alien: yes", "M004", "`yes` would be the text"),
    ],
)
def test_a_statement_that_does_nothing_stops_the_build(
    world: World, old: str, new: str, code: str, said: str
) -> None:
    world.change(old, new)
    done = world.run("plan")
    assert codes(done.stderr) == [code] and said in done.stderr, done.stderr


_DROPPED = "- acme.server.helper_of_fancy\n"
_SET = "      - {set: acme.server"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "      - acme.grpc.service.serve_grpc\n",
            "removes the file: write `{name: acme.grpc.service.serve_grpc, without: grpc}`, or remove",
        ),
        (
            "      - {drop_statement: return server.name, in: acme.grpc.service}\n",
            "removes the file: add `without: grpc` to the edit, or remove the edit.",
        ),
        ("      - acme.layers.fancy.polish\n", "removes the file: remove the edit."),
        ("      - acme.orphan.forgotten\n", "The file is removed because no root reaches it"),
        ("      - acme.servers.helper_of_fancy\n", "`helper_of_fancy` is defined in `acme.server`."),
        ("      - acme.servers.Server.run\n", "`Server` is defined in `acme.server`."),
    ],
)
def test_an_edit_that_has_nothing_to_edit_says_what_to_write(world: World, more: str, said: str) -> None:
    world.change(*((_SET, f"{more}{_SET}") if "drop_statement" in more else (_DROPPED, f"{_DROPPED}{more}")))
    done = world.run("plan")
    assert codes(done.stderr) == ["R005"] and said in done.stderr, done.stderr


def test_a_patch_of_a_removed_file_says_what_to_write(world: World) -> None:
    patch = b"--- a/python/acme/grpc/service.py\n+++ b/python/acme/grpc/service.py\n@@ -1 +1 @@\n-a\n+b\n"
    (world.home / "overlays/parser/odd.patch").write_bytes(patch)
    done = world.run("plan")
    assert codes(done.stderr) == ["R007"] and "add `without: grpc` to the edit" in done.stderr, done.stderr


def test_the_wrong_repository_is_one_problem(world: World) -> None:
    commit_files(world.repository, {"setup.py": b"", "src/other/__init__.py": b""}, "refs/heads/other")
    for verb in ("dist", "rules"):
        done = world.run(verb, "other")
        assert done.returncode == 5 and "1 problem (R001)" in done.stderr
        assert "This is not the project of the manifest: none of its packages" in done.stderr


def test_an_edit_that_matches_nothing_shows_the_nearest_statement_and_how_to_write_it(world: World) -> None:
    world.change("{drop_statement: 'print(\"starting\")'", "{drop_statement: 'print(\"startin\")'")
    done = world.run("plan")
    assert codes(done.stderr) == ["R004"]
    assert "written `drop_statement: 'print(\"starting\")'` (line " in done.stderr, done.stderr


def test_a_use_that_cannot_leave_comes_with_the_edit_that_drops_it(world: World) -> None:
    world.change("  pure: [acme.server.report]\n", "")
    world.change("  defaults:\n    acme.server.report: {quiet: false}\n", "")
    world.change(
        "- acme.server.helper_of_fancy\n", "- acme.server.helper_of_fancy\n      - acme.server.report\n"
    )
    edit = "{drop_statement: 'report(self.name, quiet=False)', in: acme.server.Server.run}"
    done = world.run("plan")
    assert codes(done.stderr) == ["R008"] and f"To drop this one: {edit}." in done.stderr, done.stderr
    world.change("      - {drop_statement: 'print", f"      - {edit}\n      - {{drop_statement: 'print")
    assert world.run("plan").returncode == 3


def test_a_regular_expression_without_end_is_stopped() -> None:
    started = time.process_time()
    with pytest.raises(TimeoutError), time_limit(0.2):
        re.search(r"(a+)+$", "a" * 64 + "b")
    assert time.process_time() - started < 5


def test_a_search_that_ends_is_not_disturbed() -> None:
    with time_limit(5):
        assert re.search(r"(a+)+$", "aaa")
    with pytest.raises(KeyError), time_limit(5):
        raise KeyError
