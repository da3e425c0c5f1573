"""What the pages say is so: generated ones are current, commands run, links lead somewhere."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from small_world import ROOT, small_world

from builder import errors, json_xz
from builder.cli import READER_GONE, VERBS, cli
from builder.cli.explain import page, verbs_page
from builder.emit.lock import every_scope
from builder.emit.scope_page import FIGURES, read_figures, scope_page
from builder.manifest.load import load
from builder.manifest.reference import markdown
from builder.manifest.switches import off_with

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)


def test_the_reference_of_the_manifest_is_that_of_the_schema() -> None:
    schema = json.loads(read("schema/manifest.schema.json"))
    assert read("docs/manifest.md") == markdown(schema), "run `make docs`"


def test_the_page_of_errors_is_that_of_the_table() -> None:
    assert read("docs/errors.md") == page(), "run `make docs`"


def test_the_page_of_the_verbs_is_that_of_the_command_line() -> None:
    assert read("docs/verbs.md") == verbs_page(cli), "run `make docs`"
    assert set(re.findall(r"^## (.*)$", read("docs/verbs.md"), re.M)) == set(VERBS)


def test_a_docstring_is_a_statement() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    asking = [
        f"{path}: {text}"
        for folder in ("builder", "verification", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, kinds) and re.match(r"[^.`\"]*\?", text := ast.get_docstring(node) or "")
    ]
    assert asking == []


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: run `make setup`")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "googleapis" not in (tmp_path / "site/index.html").read_text("utf-8")


def test_a_link_that_leaves_the_site_becomes_plain_text_and_others_stay() -> None:
    from types import SimpleNamespace

    from mkdocs_hooks import on_page_markdown

    page = SimpleNamespace(file=SimpleNamespace(src_uri="verification/README.md"))
    text = "[a](../../tests/x.py) [b](../lift.md#x) [c](https://x.org/../../y) [d](cpu-seed.md)"
    assert on_page_markdown(text, page) == "a " + text.split(" ", 1)[1]


def test_the_page_of_the_scope_is_that_of_the_manifest_its_lock_and_its_figures() -> None:
    figures = read_figures((ROOT / FIGURES).read_bytes())
    page = scope_page(load(ROOT / "manifest.yaml"), every_scope(ROOT), figures)
    assert read("docs/scope.md") == page, "run `make docs`"


def test_the_figures_of_batches_are_of_batches_and_of_what_goes_off_with_them() -> None:
    manifest = load(ROOT / "manifest.yaml")
    figures = read_figures((ROOT / FIGURES).read_bytes())
    for tried in (*figures["batches"].values(), *figures["pairs"].values()):
        for name, one in tried.items():
            off = off_with(manifest, name.split("+"), with_needs=True)
            assert one["off"] == list(off), f"run benchmarks/batches.py --batch {name}"


def test_every_batch_and_every_item_of_the_scope_is_a_row() -> None:
    manifest, text = load(ROOT / "manifest.yaml"), read("docs/scope.md")
    for batch in manifest.batches[1:]:
        assert f'| <a id="batch-{batch.id}"></a>{batch.id}' in text
    for item in manifest.scope:
        assert f"| **{item.id}** {item.what}" in text
    assert {f"D{n}" for n in range(1, 15)} | {f"G{n}" for n in range(1, 6)} <= {i.id for i in manifest.scope}


def test_every_test_that_the_scope_names_exists() -> None:
    for item in load(ROOT / "manifest.yaml").scope:
        for named in item.tests:
            path, _, function = named.partition("::")
            assert f"def {function}(" in read(path) if function else (ROOT / path).is_file(), named


def test_the_page_of_errors_has_every_code() -> None:
    assert sorted(re.findall(r"^\| ([A-Z]\d{3}) ", read("docs/errors.md"), re.M)) == sorted(errors.CODES)
    for code, (status, meaning) in errors.CODES.items():
        assert f"| {code} | {status} | {meaning} |" in read("docs/errors.md")


def test_the_reference_describes_every_key_of_the_schema() -> None:
    undescribed = re.findall(r"^\| `[^`]*`.*\| *\|$", read("docs/manifest.md"), re.M)
    assert undescribed == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_or_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, heading = target.partition("#")
        if target.startswith("https://"):
            continue
        linked = page.parent / path if path else page
        assert linked.is_file(), target
        if heading:
            text = linked.read_text("utf-8")
            titles = re.findall(r"^#+ (.*)$", text, re.M)
            anchors = re.findall(r'<a id="([^"]+)"', text)
            assert heading in [*(t.lower().replace(" ", "-") for t in titles), *anchors], target


# the paths on the page of the scope are upstream's; those of the repository are links there
@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "scope.md"], ids=lambda page: page.name)
def test_every_path_of_the_repository_that_is_named_exists(page: Path) -> None:
    named = re.findall(
        r"`((?:builder|tests|schema|overlays|docs|verification|benchmarks)/[^`*\s]*)`",
        page.read_text("utf-8"),
    )
    for path in named:
        # ID stands for any batch, NAME for a new module
        pattern = path.replace("/ID/", "/*/").replace("NAME", "*")
        assert list(ROOT.glob(pattern)), path


def test_the_stages_of_the_architecture_name_code_that_exists() -> None:
    table = read("docs/architecture.md").split("| stage |")[1].split("\n\n")[0]
    for path in re.findall(r"`([a-z/]+(?:\.py)?)`", table):
        assert (ROOT / "builder" / path).exists(), path
    for code in re.findall(r"\b([A-Z]\d{3})\b", read("docs/architecture.md")):
        assert code in errors.CODES


def test_the_layers_are_those_that_are_enforced() -> None:
    enforced = re.search(r"^layers =\n((?:    .*\n)+)", read(".importlinter"), re.M)
    assert enforced is not None
    layers = "".join(line[4:] + "\n" for line in enforced[1].splitlines())
    assert layers in blocks(read("docs/architecture.md"), "")
    described = re.search(r"^```\n(__main__\n.*?)^```$", read("CONTRIBUTING.md"), re.M | re.S)
    assert described is not None and re.sub(r"  +.*", "", described[1]) == layers


def test_the_exit_statuses_of_the_readme_are_those_of_the_builder() -> None:
    table = read("README.md").split("| exit status |")[1].split("\n\n")[0]
    listed = {int(n) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.M) for n in row.split(", ")}
    known = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    assert listed == known | {READER_GONE, 128 + 15}
    assert {status for status, _ in errors.CODES.values()} <= listed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_verbs_and_targets_that_a_page_uses_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    assert set(re.findall(r"python -m builder ([a-z-]+)", text)) <= set(VERBS)
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))
    commands = [line for block in blocks(text, "sh") for line in block.splitlines()]
    assert {m[1] for line in commands if (m := re.match(r"make ([a-z-]+)", line))} <= targets


def test_the_manifest_that_the_readme_shows_is_the_manifest() -> None:
    shown = re.search(r"keep: \[[^\]]*\]", blocks(read("README.md"), "yaml")[0])
    assert shown is not None and shown[0] in read("manifest.yaml")
    for batch in re.findall(r"--without ([a-z0-9-]+)", read("README.md")):
        assert f"\n  - id: {batch}\n" in read("manifest.yaml")


def test_the_page_on_speed_is_that_of_its_figures() -> None:
    from benchmarks.speed import page

    assert read("docs/speed.md") == page(json_xz.read(ROOT / "docs/speed.json.xz"))


def test_the_transcripts_are_of_the_manifest_and_of_the_default_pin_as_it_is_proven() -> None:
    from benchmarks.transcripts import pages, today

    manifest, proof = today()
    assert proof.output_tree in read("README.md")
    for path, change in pages(manifest, proof).items():
        text = path.read_text("utf-8")
        assert change(text) == text, f"{path.name}: `make docs` writes it anew"


def test_an_answer_of_another_day_gets_the_places_of_today() -> None:
    from benchmarks.transcripts import placed, today

    manifest, _ = today()
    keep = manifest.mark("roots", "models", "keep")
    answer = (
        "  other-models roots.models does not keep it  ({})\n  parser     our own text  (manifest.yaml:9:3)\n"
    )
    assert placed(answer.format("manifest.yaml:7:1"), manifest) == answer.format(keep)


def test_a_readme_without_a_place_for_the_transcript_is_an_error() -> None:
    from benchmarks.transcripts import readme, today

    with pytest.raises(ValueError, match="one block of code after <!-- transcript -->"):
        readme("# A page\n", *today())


def test_the_transcript_of_a_build_is_what_the_build_prints(tmp_path: Path) -> None:
    from benchmarks.transcripts import summary
    from builder.emit.lock import proof_in

    world = small_world(tmp_path)
    said = world.good("dist").stderr.splitlines()
    proof = proof_in(world.home / "dist")
    (wheel,) = (world.home / "dist").glob("*.whl")
    assert proof is not None
    for line in summary(proof, f"dist/{wheel.name}"):
        assert line in said


@pytest.mark.skipif(
    not all(shutil.which(tool) for tool in ("sha256sum", "unzip", "python3")), reason="a tool is missing"
)
def test_the_commands_of_the_page_on_the_output_check_a_real_output(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    world.good("dist")
    out = world.home / "dist"
    script = "set -eu\n" + "".join(blocks(read("docs/output.md"), "sh check"))

    def check() -> int:
        variables = {"OUT": str(out), "UPSTREAM_GIT": str(world.repository.path)}
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=world.environment(**variables), capture_output=True
        )
        return done.returncode

    assert check() == 0
    # each of the three checks can fail
    for path in ("tree/python/acme/server.py", "build.json", "upstream.diff", "SHA256SUMS"):
        before = (out / path).read_bytes()
        (out / path).write_bytes(before.replace(b"1", b"2"))
        assert check() != 0, path
        (out / path).write_bytes(before)
    assert check() == 0


def test_the_page_on_the_output_names_every_file_of_out(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    world.good("dist")
    table = read("docs/output.md").split("| file |")[1].split("\n\n")[0]
    rows = {
        name for row in re.findall(r"^\| (`[^|]*) \|", table, re.M) for name in re.findall(r"`([^`]+)`", row)
    }
    there = {
        "*.whl" if p.suffix == ".whl" else p.name + "/" * p.is_dir() for p in (world.home / "dist").iterdir()
    }
    assert rows == there


#: What a page says before commands that no test reads: they need another program, a GPU or a registry.
NOT_RUN = "ot run by the tests"


def shell_blocks(page: Path) -> list[tuple[str, list[str]]]:
    """The paragraph before each block of shell commands, and its commands without comments."""
    text = page.read_text("utf-8")
    found = []
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.M | re.S):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        lines = match[1].replace("\\\n", " ").splitlines()
        stripped = (re.sub(r"(^|\s+)#.*$", "", line).strip() for line in lines)
        found.append((before, [line for line in stripped if line]))
    return found


# the wrong commands on the page of errors are tried by tests/unit/test_examples.py
@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "errors.md"], ids=lambda page: page.name)
def test_every_command_of_a_page_is_one_or_the_page_says_that_it_is_not_tried(page: Path) -> None:
    variables = set(re.findall(r"\b([A-Z][A-Z_]+)\b", read("Makefile")))
    for before, commands in shell_blocks(page):
        if NOT_RUN in before:
            continue
        for command in commands:
            words = shlex.split(command)
            if words[0] == "make":
                given = {word.partition("=")[0] for word in words[2:]}
                assert given <= variables, command
            elif words[0] == "mkdir":
                continue
            else:
                program, *rest = words[:3]
                assert program in ("python", ".venv/bin/python") and rest == ["-m", "builder"], command
                group = click.Context(cli, **cli.context_settings)
                verb = cli.get_command(group, words[3])
                assert verb is not None, command
                verb.make_context(words[3], words[4:], parent=group)  # raises for an option that there is not


def test_the_command_that_checks_the_manifest_finds_it_in_order() -> None:
    assert ["python -m builder check", "python -m builder check seed"] in [
        commands for _, commands in shell_blocks(ROOT / "docs/how-to.md")
    ]
    done = subprocess.run(
        [sys.executable, "-m", "builder", "check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


MANIFESTS = [path for path in sorted((ROOT / "docs/examples").glob("*.yaml")) if ".batch" not in path.name]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_an_example_is_a_manifest_and_names_its_schema(path: Path) -> None:
    assert load(path).packages
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text("utf-8"))
    assert named is not None and (path.parent / named[1]).is_file()
