"""The main job on real upstreams: what `dist` emits is whole, provable and the same everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock
from pins import MIRROR, PIN_PARAMS, ROOT, upstream

from builder.manifest.load import load_default
from builder.tree import SYMLINK, Snapshot
from builder.upstream.cache import default_cache
from builder.upstream.model import snapshot
from verification import mutation

COUNTED = ("py", "cu", "cuh", "h", "hpp", "cpp", "cc")


@dataclass(frozen=True)
class Built:
    pin: str
    out: Path
    upstream: Snapshot
    record: dict


def dist(pin: str, out: Path, *more: str, umask: str = "022", **environment: str) -> None:
    """Run the verb in a process of its own, in another folder, from a shell with this umask."""
    command = [sys.executable, "-m", "builder", "dist", pin, "--out", str(out), *more]
    command += ["--manifest", str(ROOT / "manifest.yaml")]
    script = f'umask {umask}; exec "$@"'
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    subprocess.run(["sh", "-c", script, "sh", *command], check=True, env=env, cwd=out.parent, timeout=900)


@pytest.fixture(scope="session", params=PIN_PARAMS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    pin = request.param
    out = tmp_path_factory.mktemp("dist") / "out"
    dist(pin, out)
    before = snapshot(upstream(pin, load_default(ROOT / "manifest.yaml")))
    return Built(pin, out, before, json.loads((out / "build.json").read_text()))


def lines_of(data: bytes) -> int:
    return len(data.split(b"\n")) - (data.endswith(b"\n") or not data)


def test_the_lines_in_build_json_are_those_of_the_trees(built: Built) -> None:
    before, after = Counter(), Counter()
    for path in built.upstream:
        if built.upstream.tree[path].mode != SYMLINK:
            before[path.rpartition(".")[2]] += lines_of(built.upstream[path])
    for path in (built.out / "tree").rglob("*"):
        if path.is_file() and not path.is_symlink():
            after[path.suffix[1:]] += lines_of(path.read_bytes())
    for name in COUNTED:
        assert built.record["lines"][name] == {"before": before[name], "after": after[name]}


def test_the_branch_has_a_commit_for_each_batch_that_edits_and_each_of_its_trees_parses(
    built: Built, tmp_path: Path
) -> None:
    if built.pin != "seed":
        pytest.skip("a release has no commit to build on")
    folder = tmp_path / "branch.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    (folder / "objects/info/alternates").write_text(f"{Path(MIRROR or '').resolve()}/objects\n")
    git = ["git", f"--git-dir={folder}"]
    dist("seed", built.out, "--branch", "cut", "--repo", str(folder))

    def said(*words: str) -> str:
        return subprocess.run([*git, *words], check=True, capture_output=True, text=True).stdout

    upstream = built.record["upstream"]["commit"]
    commits = said("rev-list", "--reverse", f"{upstream}..cut").split()
    rows = [json.loads(line) for line in (built.out / "ledger.jsonl").read_text().splitlines()]
    doing = {row["batch"] for row in rows if row["verdict"] != "kept"}
    assert {c["id"] for c in built.record["batches"]} >= doing and "facts" not in doing
    assert [said("log", "-1", "--format=%s", c).strip() for c in commits] == [
        f"Cut {batch['id']}" for batch in built.record["batches"] if batch["id"] in doing
    ]
    assert said("rev-parse", "cut^{tree}").strip() == built.record["output"]["tree"]
    for commit in commits:
        for line in said("diff-tree", "-r", "--no-commit-id", "--diff-filter=AM", commit).splitlines():
            facts, path = line.split("\t")
            if path.endswith(".py"):
                compile(said("cat-file", "blob", facts.split()[3]), path, "exec", dont_inherit=True)


def test_plain_git_turns_the_pin_and_the_diff_into_the_same_tree(built: Built, tmp_path: Path) -> None:
    def git(*arguments: str, data: bytes | None = None) -> str:
        done = subprocess.run(["git", *arguments], cwd=tmp_path, input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()

    git("init", "--quiet")
    if built.pin == "seed":
        (tmp_path / ".git/objects/info/alternates").write_text(f"{MIRROR}/objects\n")
    else:
        for path, entry in built.upstream.tree.items():
            assert git("hash-object", "-w", "--stdin", data=built.upstream[path]) == entry.blob
    rows = [f"{e.mode} {e.blob}\t{p}\0" for p, e in built.upstream.tree.items()]
    git("update-index", "-z", "--index-info", data="".join(rows).encode())
    assert git("write-tree") == built.record["upstream"]["tree"]
    git("apply", "--cached", "--whitespace=nowarn", str(built.out / "upstream.diff"))
    assert git("write-tree") == built.record["output"]["tree"]


def test_the_tree_on_disk_has_the_tree_id_that_build_json_states(built: Built, tmp_path: Path) -> None:
    env = {**os.environ, "GIT_DIR": str(tmp_path / "git"), "GIT_WORK_TREE": str(built.out / "tree")}
    for command in (["init", "--quiet"], ["add", "--all", "--force", "."]):
        subprocess.run(
            ["git", "-c", "core.autocrlf=false", *command], env=env, check=True, capture_output=True
        )
    done = subprocess.run(["git", "write-tree"], env=env, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == built.record["output"]["tree"]


def test_the_checksums_hold(built: Built) -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=built.out, check=True)


def test_another_folder_umask_zone_locale_and_hash_seed_give_the_same(built: Built, tmp_path: Path) -> None:
    """This one is cut also where the other applied the record of a proven cut."""
    out = tmp_path / "an other" / "out"
    out.parent.mkdir()
    dist(
        built.pin, out, "--recut", umask="077", TZ="Asia/Kathmandu", LC_ALL="C", PYTHONHASHSEED="7",
        HOME=str(tmp_path), BUILDER_CACHE=str(default_cache()),
    )  # fmt: skip
    again = json.loads((out / "build.json").read_text())
    assert again == built.record
    names = {p.name for p in built.out.iterdir() if p.is_file() and not p.name.endswith(".index")}
    for name in sorted(names):
        assert (out / name).read_bytes() == (built.out / name).read_bytes(), name


def test_the_record_of_the_default_pin_gives_every_byte_of_a_cut(tmp_path: Path) -> None:
    pin = load_default(ROOT / "manifest.yaml").upstream.default
    for name, words in {"applied": (), "cut": ("--recut",)}.items():
        dist(pin, tmp_path / name, *words, BUILDER_CACHE=str(tmp_path / "cache"))
    sums = [(tmp_path / name / "SHA256SUMS").read_text() for name in ("applied", "cut")]
    assert sums[0] == sums[1]
    assert (
        len(sums[0].splitlines()) == len(os.listdir(tmp_path / "cut")) - 4
    )  # itself, the tree, the two markers


def test_nothing_of_the_removed_features_is_left_to_import(built: Built) -> None:
    """A search that knows nothing of the gates: plain text of import statements."""
    gone = r"sglang\.(srt\.hardware_backend|multimodal_gen|srt\.layers\.attention\.fla|srt\.grpc)\b"
    pattern = re.compile(rf"^\s*(?:from|import)\s+{gone}", re.M)
    for path in (built.out / "tree/python").rglob("*.py"):
        assert not pattern.search(path.read_text(encoding="utf-8-sig")), path


REQUIREMENTS = Path(__file__).with_name("import-requirements.txt")


@pytest.fixture(scope="session")
def clean_environment() -> Path:
    """A virtual environment with the pinned requirements and nothing of ours, kept in the cache."""
    name = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = default_cache() / "environments" / name
    python = folder / "bin/python"
    with FileLock(f"{folder}.lock"):
        if not (folder / "complete").exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(REQUIREMENTS)]
            subprocess.run(install, check=True, timeout=1500)
            (folder / "complete").touch()
    return python


def test_the_wheel_installs_and_the_server_arguments_import(
    built: Built, clean_environment: Path, tmp_path: Path
) -> None:
    wheel = next(built.out.glob("*.whl"))
    target = tmp_path / "site"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run([str(clean_environment), *install], check=True)
    script = (
        "import sglang, sglang.srt.server_args as s; print(sglang.__file__); print(sglang.__version__);"
        "print(s.ATTENTION_BACKEND_CHOICES)"
    )
    env = {**os.environ, "PYTHONPATH": str(target), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [str(clean_environment), "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    where, version, choices = done.stdout.strip().splitlines()[-3:]
    assert Path(where).is_relative_to(target)
    assert "+deepseek" in version
    assert "flashinfer" in choices
    assert "fa3" not in choices


def test_no_edited_file_needs_formatting_that_upstreams_did_not_need(built: Built, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (built.out / "ledger.jsonl").read_text().splitlines()]
    edited = [r["path"] for r in rows if r["verdict"] == "edited" and r["path"].endswith(".py")]
    assert len(edited) > 100
    misfits: dict[str, set[str]] = {}
    for side in ("upstream", "output"):
        for path in edited:
            target = tmp_path / side / path
            target.parent.mkdir(parents=True, exist_ok=True)
            data = built.upstream[path] if side == "upstream" else (built.out / "tree" / path).read_bytes()
            target.write_bytes(data)
        ruff = [str(Path(sys.executable).with_name("ruff")), "format", "--isolated", "--check", "--no-cache"]
        said = subprocess.run(
            [*ruff, "--target-version=py310", "."], cwd=tmp_path / side, capture_output=True
        )
        misfits[side] = set(re.findall(r"^Would reformat: (.*)$", said.stdout.decode(), re.MULTILINE))
    assert misfits["output"] - misfits["upstream"] == set()


def test_every_mutation_of_the_verification_finds_what_it_breaks(built: Built) -> None:
    """One that fits nothing is told as not run, among much else; here it is not overlooked."""
    root = built.out / "tree" / "python" / "sglang" / "srt"
    lost = []
    for each in mutation.read():
        try:
            each.apply((root / each.path).read_text())
        except (OSError, ValueError) as error:
            lost.append(str(error))
    assert lost == []
