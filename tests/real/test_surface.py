"""The surface of the real trees, counted a second time by plain means, and losses that nobody declared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from pins import PIN_PARAMS, ROOT, upstream

from builder.analysis.indexed_tree import world
from builder.analysis.removals import index_removals
from builder.analysis.surface_diff import compare
from builder.cli.cache_file import recalled
from builder.emit.surface_json import surface_json
from builder.errors import Problem
from builder.gates.surface import problems
from builder.manifest.load import load_default
from builder.manifest.model import Manifest
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.surface.extract import surface as surface_of
from builder.surface.model import Item, Surface
from builder.tree import Snapshot
from builder.upstream.model import snapshot

SERVER_ARGS = "python/sglang/srt/server_args.py"
HTTP_SERVER = "python/sglang/srt/entrypoints/http_server.py"
ENVIRON = "python/sglang/srt/environ.py"
TABLES = "python/sglang/srt/removed_features.py"


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return load_default(ROOT / "manifest.yaml")


@pytest.fixture(scope="session", params=PIN_PARAMS)
def done(request: pytest.FixtureRequest, manifest: Manifest, memory: Path) -> Cut:
    with recalled(memory) as recall:
        return cut(snapshot(upstream(request.param, manifest)), manifest, recall=recall)


def both(done: Cut, path: str) -> list[tuple[str, Surface]]:
    """The text of a file with the surface of its tree, upstream's and ours."""
    return [
        (done.upstream[path].decode(), done.surfaces.before),
        (done.output[path].decode(), done.surfaces.after),
    ]


def of(surface: Surface, kind: str, group: str = "") -> dict[str, Item]:
    return {k.name: item for k, item in surface.items() if k.kind == kind and k.group == group}


# -- the same figures by plain means ------------------------------------------------------------------


def test_the_servers_flags_are_those_that_a_text_search_finds(done: Cut) -> None:
    for text, surface in both(done, SERVER_ARGS):
        calls = re.findall(r"\.add_argument\(\s*((?:[\"'][-\w]+[\"'],\s*)+)", text)
        assert len(calls) == text.count(".add_argument(") > 250
        first = {re.findall(r"--[-\w]+", call)[0] for call in calls}
        found = of(surface, "flag", "sglang.srt.server_args")
        assert set(found) == first
        spelt = {name for call in calls for name in re.findall(r"[\"'](-[-\w]+)[\"']", call)}
        aliases = {a for item in found.values() for a in item.details.get("aliases", ())}  # type: ignore[union-attr]
        assert set(found) | aliases == spelt


def test_the_servers_routes_are_those_that_a_text_search_finds(done: Cut) -> None:
    for text, surface in both(done, HTTP_SERVER):
        decorators = re.findall(r"^@app\.(\w+)\((.*?)\)\nasync def|^@app\.(\w+)\(", text, re.M | re.S)
        found = of(surface, "route", "sglang.srt.entrypoints.http_server")
        simple = re.findall(r"^@app\.(get|post|put|delete)\(\s*\"(/[^\"]*)\"", text, re.M)
        assert len(simple) > 30
        assert {f"{verb.upper()} {path}" for verb, path in simple} <= set(found)
        several = re.findall(r"^@app\.api_route\(\s*\"(/[^\"]*)\",\s*methods=\[([^]]*)\]", text, re.M)
        more = {f"{verb} {path}" for path, verbs in several for verb in re.findall(r"[A-Z]+", verbs)}
        assert more <= set(found)
        rest = set(found) - more - {f"{verb.upper()} {path}" for verb, path in simple}
        # what is left gets its path from the environment, and says so where it stands
        assert len(rest) == len(re.findall(r"^@app\.\w+\(\s*os\.environ", text, re.M))
        assert decorators


def test_the_declared_variables_are_those_that_a_text_search_finds(done: Cut) -> None:
    for text, surface in both(done, ENVIRON):
        declared = set(re.findall(r"^    (\w+) = Env[A-Z]\w+\(", text, re.M))
        assert len(declared) > 100
        found = of(surface, "environment")
        assert {n for n, i in found.items() if any(p.path == ENVIRON for p in i.places)} == declared


def test_every_variable_that_a_text_search_finds_is_there(done: Cut) -> None:
    pattern = r"(?:getenv|environ\.get|get_bool_env_var|get_int_env_var)\(\s*[\"'](\w+)[\"']"
    for tree, surface in ((done.upstream, done.surfaces.before), (done.output, done.surfaces.after)):
        found = of(surface, "environment")
        for path in tree:
            if path.startswith("python/sglang/") and path.endswith(".py"):
                text = re.sub(r"^\s*#.*$|\"{3}.*?\"{3}", "", tree[path].decode(), flags=re.M | re.S)
                assert set(re.findall(pattern, text)) <= set(found), path


def test_the_architectures_are_those_of_the_model_files(done: Cut) -> None:
    for tree, surface in ((done.upstream, done.surfaces.before), (done.output, done.surfaces.after)):
        names: set[str] = set()
        for path in tree:
            if re.fullmatch(r"python/sglang/srt/models/\w+\.py", path):
                for value in re.findall(r"^EntryClass = (\[[^]]*\]|\w+)", tree[path].decode(), re.M):
                    names.update(re.findall(r"\w+", value))
        assert set(of(surface, "registry", "sglang.srt.models")) == names
        assert len(names) >= 5


# -- what is kept and what is told --------------------------------------------------------------------


def test_every_difference_is_explained_by_a_batch_of_the_manifest(done: Cut) -> None:
    assert problems(done.surfaces, done.after) == []
    batches = {b.id for b in done.manifest.batches}
    for difference in done.surfaces.differences:
        assert {c.batch for c in difference.causes} <= batches, difference.key
        assert all(c.mark is not None for c in difference.causes), difference.key


def test_the_file_fits_its_schema(done: Cut) -> None:
    schema = json.loads((ROOT / "schema/surface.schema.json").read_text())
    jsonschema.validate(json.loads(surface_json(done.surfaces)), schema)


def declared_flags(manifest: Manifest) -> set[str]:
    """What the manifest names: flags that never occur, and dropped fields of the class that flags fill."""
    absent = {
        str(value)
        for batch in manifest.batches
        for option in batch.options
        if "add_argument" in option.names
        for value in option.values
    }
    fields = {
        edit.target.removeprefix("sglang.srt.server_args.ServerArgs.")
        for batch in manifest.batches
        for edit in batch.edits
        if edit.kind == "drop"
    }
    return absent | {"--" + field.replace("_", "-") for field in fields}


def test_only_declared_flags_and_no_routes_of_the_server_leave(done: Cut) -> None:
    lost = {d.key for d in done.surfaces.differences if d.change == "lost"}
    group = "sglang.srt.server_args"
    offered = set(of(done.surfaces.before, "flag", group))
    left = {k.name for k in lost if k.group == group}
    assert left == declared_flags(done.manifest) & offered
    assert left
    assert not [k for k in lost if k.group == "sglang.srt.entrypoints.http_server"]


def test_no_option_of_the_server_is_left_without_a_choice(done: Cut) -> None:
    for name, item in of(done.surfaces.after, "flag", "sglang.srt.server_args").items():
        choices, default = item.details.get("choices", ("x",)), item.details.get("default")
        assert choices, name
        assert not isinstance(default, str) or "choices" not in item.details or default in choices, name  # type: ignore[operator]


def test_the_emitted_module_knows_every_architecture_that_left(done: Cut, tmp_path: Path) -> None:
    (tmp_path / "removed_features.py").write_bytes(done.output[TABLES])
    before, after = (
        set(of(s, "registry", "sglang.srt.models")) for s in (done.surfaces.before, done.surfaces.after)
    )
    script = (
        "import json, sys; from removed_features import explain;"
        "print(json.dumps([n for n in json.load(sys.stdin) if explain('model', n) is None]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, input=json.dumps(sorted(before)), text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert set(json.loads(run.stdout)) == after


def test_the_emitted_parser_says_why_a_choice_is_gone(done: Cut, tmp_path: Path) -> None:
    (tmp_path / "removed_features.py").write_bytes(done.output[TABLES])
    script = (
        "from removed_features import ArgumentParser; p = ArgumentParser();"
        "p.add_argument('--attention-backend', choices=['triton']); p.parse_args()"
    )
    for arguments, told in (
        (["--attention-backend", "fa3"], "--without fa3-fa4"),
        (["--grpc-mode"], "--without grpc"),
        (["--attention-backend", "nothing"], None),
    ):
        run = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert run.returncode == 2
        assert (told in run.stderr) if told else ("--without" not in run.stderr)


# -- losses that nobody declared ----------------------------------------------------------------------


def after(done: Cut, path: str, old: str, new: str, whole: bool = False) -> list[Problem]:
    """What the gate says of the output with one text replaced; of that file alone, or of the whole tree."""
    manifest = done.manifest  # its patterns of absent names are names here
    text = done.output[path].decode()
    assert len(re.findall(old, text, re.S)) == 1, (old, path)
    changed = done.output.replace({path: re.sub(old, new, text, flags=re.S).encode()})
    before: Snapshot = done.upstream
    if whole:
        projects = [p for p in before if p.endswith("/pyproject.toml")]
        before = before.restrict(sorted({*done.before.snapshot, *projects}))
    else:
        before, changed = before.restrict([path]), changed.restrict([path])
    removals = index_removals(manifest, done.decided.removed, done.specialized.lost)
    found = compare(
        before, surface_of(before, manifest.packages), changed, manifest, removals, lambda _: None
    )
    return problems(found, world(changed.restrict([path]), manifest.packages))


def test_a_flag_that_is_lost_turns_the_gate_red(done: Cut) -> None:
    flag = r'        parser\.add_argument\(\s*"--tokenizer-mode",.*?\n        \)\n'
    (problem,) = after(done, SERVER_ARGS, flag, "", whole=True)
    assert problem.code == "G006"
    assert "flag --tokenizer-mode vanished and no rule names it" in problem.message
    assert problem.upstream is not None
    line = done.upstream[SERVER_ARGS].decode().splitlines()[problem.upstream.line - 1 :][:2]
    assert "add_argument" in line[0] and "--tokenizer-mode" in line[1]


def test_a_choice_that_is_lost_turns_the_gate_red(done: Cut) -> None:
    found = after(done, SERVER_ARGS, r'(?<=\n)    "trtllm_mla",\n', "")
    names = {"--attention-backend", "--decode-attention-backend", "--prefill-attention-backend"}
    assert {re.search(r"flag (--[-\w]+)", p.message)[1] for p in found} == names  # type: ignore[index]
    assert all("the choice 'trtllm_mla'" in p.message for p in found)


def test_a_default_that_changes_turns_the_gate_red(done: Cut) -> None:
    (problem,) = after(done, SERVER_ARGS, r"    port: int = 30000\n", "    port: int = 30001\n")
    assert "default of flag --port was 30000 and is 30001" in problem.message


def test_a_route_that_is_lost_turns_the_gate_red(done: Cut) -> None:
    (problem,) = after(done, HTTP_SERVER, r'@app\.get\("/v1/models/\{model:path\}"[^\n]*\)\n', "")
    assert "route GET /v1/models/{model:path} vanished" in problem.message


def test_a_variable_that_is_lost_turns_the_gate_red(done: Cut) -> None:
    (problem,) = after(done, ENVIRON, r"    SGLANG_LOG_MS = EnvBool\(False\)\n", "")
    assert "environment variable SGLANG_LOG_MS vanished" in problem.message


def test_an_attention_backend_that_is_lost_turns_the_gate_red(done: Cut) -> None:
    path = "python/sglang/srt/layers/attention/attention_registry.py"
    (problem,) = after(done, path, r'@register_attention_backend\("cutlass_mla"\)\n', "")
    assert "entry 'cutlass_mla' of " in problem.message


def test_a_flag_of_our_own_making_turns_the_gate_red(done: Cut) -> None:
    (problem,) = after(done, SERVER_ARGS, '"--tokenizer-mode"', '"--tokenizer-mode", "--tm"')
    assert "aliases of flag --tokenizer-mode was None and is ('--tm',)" in problem.message
