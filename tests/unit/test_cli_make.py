"""The Makefile hands its variables to the builder whole, whatever is in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from small_world import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with a builder that prints its arguments, one to a line."""
    found = tmp_path / "a checkout, with spaces"
    (found / ".venv/bin").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, found / name)
    python = found / ".venv/bin/python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit ${STATUS:-0}\n')
    python.chmod(0o755)
    (found / ".venv/.installed").touch()
    return found


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR")}
    command = ["make", "--no-print-directory", "-s", *words]
    return subprocess.run(command, cwd=folder, env=kept | more, capture_output=True, text=True)


def made(folder: Path, *words: str, **more: str) -> tuple[int, list[str]]:
    done = run(folder, *words, **more)
    return done.returncode, done.stdout.splitlines()


BUILDER = ["-m", "builder"]


@pytest.mark.parametrize(
    "out", ["dist", "a b", "it's", 'say "so"', "$(touch x)", "`touch x`", "-o", "a;touch x", "*"]
)
def test_any_out_is_one_argument(folder: Path, out: str) -> None:
    out = out.replace("$", "$$")  # make's own sign for a dollar
    status, said = made(folder, "dist", f"OUT={out}")
    assert (status, said) == (0, [*BUILDER, "dist", "--out", out.replace("$$", "$"), "--", ""])
    assert not (folder / "x").exists()


@pytest.mark.parametrize("upstream", ["seed", "pypi:0.5.9", "/a path/repo@main", "-x", "a b", "'"])
@pytest.mark.parametrize("target", ["dist", "plan"])
def test_any_upstream_is_one_argument_and_never_an_option(folder: Path, target: str, upstream: str) -> None:
    _, said = made(folder, target, f"UPSTREAM={upstream}")
    assert said == [*BUILDER, target, "--out", "dist", "--", upstream]


@pytest.mark.parametrize("word", ["UPSTRAEM=x", "PIN=seed", "upstream=seed", "VERSION=", "OUTPUT=dist"])
def test_a_variable_that_nothing_reads_is_refused_and_names_those_that_are(folder: Path, word: str) -> None:
    done = run(folder, "dist", "UPSTREAM=seed", word)
    name = word.split("=")[0]
    assert done.returncode != 0 and done.stdout == ""
    assert f"no variable {name}. UPSTREAM names the pin, commit, tag, branch or release" in done.stderr
    assert " OUT SCOPE " in done.stderr and f"`{name}=... make`" in done.stderr


def test_a_word_that_is_no_target_builds_nothing(folder: Path) -> None:
    done = run(folder, "dist", "lora")
    assert done.returncode == 2 and done.stdout == ""
    assert "there is no target lora." in done.stderr and 'ARGS="--with lora"' in done.stderr


@pytest.mark.parametrize("name", ["UPSTREAM", "OUT", "SCOPE", "RANGE"])
def test_an_empty_variable_is_refused_on_the_command_line_alone(folder: Path, name: str) -> None:
    done = run(folder, "dist", f"{name}=")
    assert done.returncode != 0 and f"{name} is empty: give it a value, or leave it out" in done.stderr
    words = ("dist", "ARGS=", "KERNEL=", "SGLANG_MIRROR=", "PIP_INDEX_URL=x")
    assert made(folder, *words, PIN="x", **{name: ""} if name != "OUT" else {}) == made(folder, "dist")


@pytest.mark.parametrize(
    ("words", "handed_on"),
    [
        (["lock"], ["lock", "--", ""]),  # without an upstream, every pin
        (["lock", "UPSTREAM=a b", "ARGS=--offline"], ["lock", "--offline", "--", "a b"]),
        (["lift", "UPSTREAM=a b", "ARGS=--from seed"], ["lift", "--from", "seed", "--", "a b"]),
        (["verify", "OUT=a b"], ["verify", "--out", "a b"]),
        (["dist", "ARGS=--without awq -q"], ["dist", "--out", "dist", "--without", "awq", "-q", "--", ""]),
    ],
)
def test_a_verb_gets_the_upstream_the_out_and_its_own_options(
    folder: Path, words: list[str], handed_on: list[str]
) -> None:
    assert made(folder, *words)[1] == [*BUILDER, *handed_on]


@pytest.mark.parametrize("target", ["dist", "plan", "lock"])
def test_a_scope_is_handed_on(folder: Path, target: str) -> None:
    _, said = made(folder, target, "SCOPE=a b", "UPSTREAM=seed")
    assert said[said.index("--scope") + 1] == "a b" and said[-2:] == ["--", "seed"]


def test_variables_may_come_from_the_environment(folder: Path) -> None:
    _, said = made(folder, "dist", UPSTREAM="seed", OUT="else where")
    assert said == [*BUILDER, "dist", "--out", "else where", "--", "seed"]


@pytest.mark.parametrize(
    ("target", "passes", "fails"), [("plan", "03", "16"), ("lift", "03", "5"), ("dist", "0", "36")]
)
def test_changes_pending_are_no_failure_of_make_and_others_are(
    folder: Path, target: str, passes: str, fails: str
) -> None:
    for status in passes + fails:
        assert (made(folder, target, STATUS=status)[0] == 0) == (status in passes), status


def test_make_alone_says_what_there_is_and_builds_nothing(folder: Path) -> None:
    status, said = made(folder)
    named = {line.split()[1] for line in said if line.startswith("make ")}
    text = (ROOT / "Makefile").read_text("utf-8")
    targets = text.partition("TARGETS :=")[2].partition("\n#")[0].replace("\\\n", " ").split()
    assert status == 0 and named == set(targets) - {"help", "setup", "clean"}
