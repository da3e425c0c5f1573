"""Careless users and hostile input: a stated exit status, coded problems, the old output intact.

`World.run` itself fails on a traceback and on E070.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from small_files import FILES
from small_world import ROOT, World, codes, commit_files, folder_bytes, place
from surroundings import harmless_without, quiet_without_reader, same_output
from upstream_repo import git


def refused(world: World, status: int, code: str, *words: str, **more: str | None) -> str:
    """The builder refuses, changes nothing in the manifest's folder, and leaves nothing beside it."""
    before = folder_bytes(world.home)
    done = world.run(*words, **more)
    assert (done.returncode, codes(done.stderr)) == (status, [code]), done.stderr
    assert folder_bytes(world.home) == before
    return done.stderr


# -- the manifest


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("name: acme-small", "name: [acme-small", "M001"),
        ("name: acme-small", "name: acme-small\nname: again", "M002"),
        ("label: small", "label: &a small", "M003"),
        ("label: small", "label: 3", "M004"),
        ("label: small", "lable: small", "M005"),
        ("batches: [fancy]", "batches: [fanzy]", "M006"),
        ("default: seed", "default: sed", "M010"),
        ("remove: [python/acme/test/]", "remove: [../outside/]", "M007"),
        ("remove: [python/acme/test/]", "remove: [python/acme/tset/]", "R001"),
        ("drop_entry: '\"fancy\"'", "drop_entry: '\"other\"'", "R004"),
        ("- sgl_kernel.fancy\n", "- sgl_kernel.fanzy\n", "R005"),
        ("present: [python/acme/launch.py,", "present: [python/acme/lunch.py,", "G007"),
    ],
)
def test_each_mistake_in_the_manifest_has_its_code(world: World, old: str, new: str, code: str) -> None:
    world.good("dist")
    world.change(old, new)
    before = folder_bytes(world.home)
    done = world.run("dist")
    assert code in codes(done.stderr), done.stderr
    assert done.returncode == {"M": 4, "R": 5, "G": 1}[code[0]]
    assert folder_bytes(world.home) == before
    if code != "M001":
        assert " manifest.yaml:" in done.stderr


def test_several_mistakes_are_told_in_one_run(world: World) -> None:
    world.change("label: small", "lable: small")
    world.change("default: seed", "default: sed")
    world.change("from: overlays/parser/extra.py", "from: overlays/parser/extr.py")
    done = world.run("dist")
    assert done.returncode == 4
    assert {"M004", "M005", "M008", "M010"} <= set(codes(done.stderr))
    assert done.stderr.count("did you mean") >= 3


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"[]",
        b"{" * 5000,
        b"x: " + b"a" * 3_000_000,
        b"name: \x1b[31mred\n",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_a_manifest_of_rubbish_is_refused(world: World, data: bytes) -> None:
    world.manifest.write_bytes(data)
    done = world.run("dist")
    assert done.returncode == 4 and codes(done.stderr)
    assert "\x1b" not in done.stderr and len(done.stderr) < 20_000


def test_a_manifest_that_is_not_there_or_no_file_is_refused(world: World) -> None:
    refused(world, 4, "M001", "dist", "--manifest", "missing.yaml")
    refused(world, 4, "M001", "dist", "--manifest", "overlays")
    refused(world, 4, "M001", "dist", "--manifest", "a" * 300)


def test_a_missing_an_unused_and_a_linked_overlay_are_told(world: World) -> None:
    kept = world.home / "overlays/parser/extra.py"
    kept.rename(world.home / "overlays/parser/renamed.py")
    done = world.run("dist")
    assert codes(done.stderr) == ["M008", "M009"]
    (world.home / "overlays/parser/renamed.py").unlink()
    kept.symlink_to("/etc/passwd")
    assert codes(world.run("dist").stderr) == ["M008"]
    kept.unlink()
    os.mkfifo(kept)
    assert codes(world.run("dist").stderr) == ["M008"]


@pytest.mark.parametrize(
    ("path", "data", "code"),
    [
        ("overlays/parser/odd.patch", b"not a patch\n", "R007"),
        ("overlays/parser/odd.patch", b"", "R007"),
        ("overlays/fancy/slow_path.pybody", b"return (\n", "M008"),
        ("overlays/parser/parser.py", b"def f(:\n", "G001"),
        ("overlays/parser/parser.py", b"\xff\xfe", "G001"),
        (
            "overlays/parser/parser.py",
            b"from acme.nowhere import x\n\n\ndef parse(t):\n    return x\n",
            "G002",
        ),
        ("overlays/parser/parser.py", b"def parse(t):\n    return undefined_name\n", "G003"),
        ("overlays/parser/parser.py", b'"""Empty."""\n', "R008"),
    ],
)
def test_a_broken_overlay_is_found_before_anything_is_written(
    world: World, path: str, data: bytes, code: str
) -> None:
    (world.home / path).write_bytes(data)
    done = world.run("dist")
    assert code in codes(done.stderr), done.stderr
    assert done.returncode in (1, 4, 5) and not (world.home / "dist").exists()


def test_a_use_of_something_gone_is_told_with_its_line_upstream_and_who_took_it(world: World) -> None:
    (world.home / "overlays/parser/parser.py").write_bytes(b'"""Empty."""\n')
    said = world.run("dist").stderr
    lines = FILES["python/acme/launch.py"].decode().splitlines()  # type: ignore[union-attr]
    line, text = next((n, t) for n, t in enumerate(lines, 1) if "parse(" in t)
    assert f"upstream python/acme/launch.py:{line}:{text.index('parse(') + 1}" in said
    assert "batch parser replaces its file by overlays/parser/parser.py" in said
    assert place("{path: python/acme/parser.py") in said
    assert text.strip() in said


def test_an_unknown_batch_gets_the_nearest_name(shared: World) -> None:
    said = refused(shared, 4, "M006", "dist", "--without", "fanzy", "--without", "nothing-like-it")
    assert "did you mean `fancy`?" in said and "nothing-like-it" in said
    refused(shared, 4, "M006", "plan", "--without", "base")
    refused(shared, 4, "M006", "dist", "--without", "")


# -- the command line


@pytest.mark.parametrize(
    "words",
    [
        ("dist", "--format", "xml"),
        ("dist", "one", "two"),
        ("dist", "--nope"),
        ("dits",),
        ("dist", "--out"),
        ("why",),
        ("explain", "X999"),
        ("--nope",),
        ("dist", "--without"),
    ],
)
def test_a_command_line_that_is_not_understood_is_usage(shared: World, words: tuple[str, ...]) -> None:
    done = shared.run(*words)
    assert done.returncode == 2 and "Error:" in done.stderr and done.stdout == ""
    assert ("Did you mean 'dist'?" in done.stderr) is (words == ("dits",))


def test_a_usage_error_is_data_where_data_was_asked_for(shared: World) -> None:
    done = shared.run("dist", "--nope", "--format=json")
    assert done.returncode == 2 and done.stderr == ""
    assert [p["code"] for p in json.loads(done.stdout)["problems"]] == ["C001"]
    assert shared.run("dist", "--nope", "--format", "github").stdout.startswith("::error title=C001::")


def test_problems_come_as_data_or_as_annotations_when_asked_for(world: World) -> None:
    world.change("default: seed", "default: sed")
    done = world.run("dist", "--format", "json")
    problem = json.loads(done.stdout)["problems"][0]
    assert (done.returncode, problem["code"], problem["mark"]["line"]) == (4, "M010", 8)
    done = world.run("dist", "--format", "github")
    assert done.stdout.startswith("::error col=12,file=manifest.yaml,line=8,title=M010::")


# -- the upstream


@pytest.mark.parametrize("name", ["0" * 40, "abcdef1", "no-such-branch", "v9.9.9"])
def test_an_unknown_commit_or_name_says_what_was_tried(shared: World, name: str) -> None:
    said = refused(shared, 6, "U001", "dist", name)
    for where in ("mirror:", "cache:", "remote:"):
        assert where in said
    assert str(shared.repository.path) in said


def test_without_mirror_network_or_cache_the_error_names_a_command_that_works(world: World) -> None:
    said = refused(world, 6, "U001", "dist", SGLANG_MIRROR=None)
    assert "mirror: none given (--mirror)" in said
    assert "`dist --mirror /path/to/clone.git" in said
    assert len([line for line in said.splitlines() if line.startswith("error")]) == 1


def test_a_fresh_clone_without_network_and_cache_says_how_to_go_on(tmp_path: Path) -> None:
    kept = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BUILDER_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "builder", "dist", "--offline", "--out", str(tmp_path / "dist")]
    for words in ([], ["seed"]):
        done = subprocess.run([*command, *words], cwd=ROOT, env=kept, capture_output=True, text=True)
        assert (done.returncode, codes(done.stderr)) == (6, ["U001"]), done.stderr
        assert "(offline)" in done.stderr and "`dist --mirror /path/to/clone.git" in done.stderr
    assert not (tmp_path / "dist").exists()


def test_a_mirror_that_is_no_repository_is_named(world: World) -> None:
    assert "nowhere" in refused(world, 6, "U001", "dist", "--mirror", "/nowhere")
    refused(world, 6, "U001", "dist", SGLANG_MIRROR=str(world.home))


@pytest.mark.parametrize(
    "name",
    [
        "-x",
        "\x1b[31m",
        "pypi:not a version",
    ],
)
def test_a_name_that_can_be_no_upstream_is_usage(shared: World, name: str) -> None:
    done = shared.run("dist", "--", name)
    assert (done.returncode, codes(done.stderr)) == (2, ["U002"]), done.stderr
    assert "\x1b" not in done.stderr


def test_the_id_of_a_blob_or_tree_is_no_commit(shared: World) -> None:
    tree = shared.repository.git("rev-parse", f"{shared.commit}^{{tree}}")
    assert "is a tree, not a commit" in refused(shared, 2, "U002", "dist", tree)


def test_an_edit_of_a_file_that_does_not_parse_is_a_problem_with_its_place(world: World) -> None:
    broken = {path: FILES[path] + b"\ndef f(:\n" for path in ("python/acme/server.py",)}  # type: ignore[operator]
    commit_files(world.repository, {**FILES, **broken}, "refs/heads/bad")
    done = world.run("dist", "bad")
    assert done.returncode == 5
    assert "R005" in codes(done.stderr) and "python/acme/server.py" in done.stderr


# -- the output folder


def test_an_output_folder_with_foreign_files_is_left_alone(world: World) -> None:
    for name in ("mine", "dist"):
        (world.home / name).mkdir()
        (world.home / name / "thesis.tex").write_text("years of work")
        assert "thesis.tex" in refused(world, 7, "E001", "dist", "--out", name)
    refused(world, 7, "E001", "dist", "--out", ".")
    refused(world, 7, "E001", "dist", "--out", "overlays")


def test_a_hand_edited_output_is_not_overwritten(world: World) -> None:
    world.good("dist")
    (world.home / "dist/tree/python/acme/server.py").write_text("mine = 1\n")
    (world.home / "dist/tree/notes.txt").write_text("mine\n")
    said = refused(world, 7, "E001", "dist")
    assert "server.py" in said and "notes.txt" in said and "overlays/" in said


def test_an_output_with_spaces_newlines_and_leading_dashes_works(world: World) -> None:
    for name in ("a b ünï", "-dist\n$(touch x)"):
        world.good("dist", "--out", name)
        assert (world.home / name / "build.json").exists()
    assert not (world.home / "x").exists()


def test_an_output_inside_a_git_repository_with_its_own_settings_is_the_same(world: World) -> None:
    world.good("dist")
    git("init", "-q", str(world.home))
    (world.home / ".gitattributes").write_text("* text eol=crlf\n")
    (world.home / ".gitignore").write_text("*\n")
    (world.home / "ruff.toml").write_text('line-length = 20\nexclude = ["*"]\n')
    (world.home / "pyproject.toml").write_text('[tool.ruff]\nextend-exclude = ["*"]\n')
    world.good("dist", "--out", "again")
    one, other = (folder_bytes(world.home / n, [".sglang-deepseek.index"]) for n in ("dist", "again"))
    assert one == other


@pytest.mark.skipif(shutil.which("setpriv") is None and os.geteuid() == 0, reason="cannot drop rights")
def test_a_read_only_parent_is_told_before_the_work(world: World) -> None:
    parent = world.home / "locked"
    parent.mkdir()
    parent.chmod(0o555)
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    at = world.home
    while os.geteuid() == 0 and at != at.parent:
        if not at.stat().st_mode & stat.S_IXOTH:
            at.chmod(at.stat().st_mode | 0o055)
        at = at.parent
    done = subprocess.run(
        [*drop, *world.command("dist", "--out", "locked/dist")],
        cwd=world.home, env=world.environment(HOME="/nowhere"), capture_output=True, text=True,
    )  # fmt: skip
    parent.chmod(0o755)
    assert (done.returncode, codes(done.stderr)) == (7, ["E002"]), done.stderr
    assert "Permission denied" in done.stderr and list(parent.iterdir()) == []


def test_a_lock_that_cannot_be_written_is_an_environment_problem(world: World) -> None:
    (world.home / ".manifest.lock.new").mkdir()
    done = world.run("lock", "seed")
    assert (done.returncode, codes(done.stderr)) == (7, ["E002"])


# -- terminals


@pytest.mark.parametrize(
    "more",
    [
        {"HOME": None},
        {"HOME": None, "BUILDER_CACHE": None},
        {"COLUMNS": "40", "TERM": "dumb"},
        {"TERM": ""},
        {"PATH": "/usr/bin:/bin"},
    ],
    ids=lambda more: " ".join(f"{k}={v}" for k, v in more.items()),
)
def test_a_bare_environment_gives_the_same_output(
    shared: World, tmp_path: Path, more: dict[str, str | None]
) -> None:
    shared.good("dist", "--out", str(tmp_path / "out"), **more)
    one = folder_bytes(tmp_path / "out", [".sglang-deepseek.index"])
    assert one == folder_bytes(shared.home / "dist", [".sglang-deepseek.index"])
    assert "docs/a name with " in shared.good("why", "docs/logo.bin", **more).stdout


@pytest.mark.parametrize(
    "more",
    [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONOPTIMIZE": "2"}],
    ids=lambda more: " ".join(f"{k}={v}" for k, v in more.items()),
)
def test_a_python_with_other_settings_gives_the_same_output(
    shared: World, tmp_path: Path, more: dict[str, str]
) -> None:
    """tests/long/test_cli_surroundings.py has more of them."""
    same_output(shared, tmp_path, more)


def test_a_terminal_of_40_columns_gets_every_problem_whole(world: World) -> None:
    world.change("default: seed", "default: sed")
    done = world.run("dist", COLUMNS="40", LINES="5")
    assert "error[M010]: The pin `sed` is not defined." in done.stderr


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_closed_stream_harms_nothing(shared: World, number: int) -> None:
    harmless_without(shared, number, "why", "acme.launch")


def test_a_reader_that_goes_away_ends_the_builder_quietly(shared: World) -> None:
    for words in (("plan", "--paths"), ("schema",)):
        quiet_without_reader(shared, *words)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_behind_stdout_is_told(shared: World) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            shared.command("rules"), cwd=shared.home, env=shared.environment(), stdout=full,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert (done.returncode, codes(done.stderr)) == (7, ["E002"]), done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_explain_need_no_manifest_and_no_upstream(tmp_path: Path) -> None:
    for words in (["--help"], ["--version"], ["explain"], ["schema"], ["schema", "--reference"]):
        done = subprocess.run(
            [sys.executable, "-m", "builder", *words], cwd=tmp_path, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "") or os.getcwd()},
        )  # fmt: skip
        assert done.returncode == 0 and done.stderr == "", done.stderr
