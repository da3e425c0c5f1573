"""Times of the builder as multiples of reading and parsing alone, in processor time, measured in one run.

    SGLANG_MIRROR=/path/to/sglang.git python benchmarks/run.py [--runs 5] [--pin PIN ...] [--json] [--stages]

Every figure is the median of n runs; the cases take turns, so that a change of the machine's load meets
all of them. Each run writes into a folder of its own and nothing is deleted before the last one is
done: on ext4, writing where something was just deleted costs up to a second. "Cold" means that nothing is
remembered of earlier builds; upstream is there already, the modules are compiled, and the page cache is warm.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

_SETUP = """
import gc, os, sys, time
gc.disable()
from pathlib import Path
from builder.manifest.load import load_default
from builder.upstream.model import Sources, snapshot
from builder.upstream.resolve import resolve
manifest = load_default(Path("manifest.yaml"))
sources = Sources.of(manifest, Path(os.environ["SGLANG_MIRROR"]), Path(sys.argv[2]), False)
found = resolve(sys.argv[1], sources)
upstream = snapshot(found)
from builder.pipeline.ranges import about
known = about(found, manifest)
"""
_CUT = _SETUP + "from builder.pipeline.cut import cut\ncut(upstream, manifest, about=known)\n"
#: The least that a cut has to do with an empty cache: read upstream, and parse the Python that may stay.
_PARSE = (
    _SETUP
    + """
import ast, warnings
warnings.simplefilter("ignore")
from builder.pipeline.prune import staying_python
from builder.select.rules import select
for path in staying_python(select(upstream.tree, manifest)):
    ast.parse(upstream[path])
"""
)
_STAGES = (
    _SETUP
    + """
import functools, json
from builder.pipeline import cut
spent = {}
def timed(name):
    inner = getattr(cut, name)
    @functools.wraps(inner)
    def outer(*args, **kwargs):
        began = os.times()
        try:
            return inner(*args, **kwargs)
        finally:
            ended = os.times()
            spent[name] = spent.get(name, 0.0) + sum(ended[:4]) - sum(began[:4])
    setattr(cut, name, outer)
for name in ("select", "summaries", "prune", "expand", "overlay", "reduce", "compare", "with_tables"):
    timed(name)
done = cut.cut(upstream, manifest, about=known)
from builder.pipeline import verify
cut.verify = verify.verify
timed("verify")
cut.verify(done)
print(json.dumps(spent))
"""
)


@dataclass(frozen=True, slots=True)
class Taken:
    """What one run took: seconds on the clock, seconds of processor time, peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def timed(command: list[str], environment: dict[str, str]) -> Taken:
    """Run a command to its end; raises SystemExit with its output when it fails."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)[:200]}\n{said.read().decode(errors='replace')}")
    return Taken(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def cases(scratch: Path, mirror: Path, pin: str, commit: str | None) -> dict[str, Callable[[int], Taken]]:
    """name -> what one run of it does, given the number of the run; `commit`: of a pin that has one."""
    plain = {**os.environ, "SGLANG_MIRROR": str(mirror), "NO_COLOR": "1"}
    plain.pop("PYTHONDONTWRITEBYTECODE", None)

    def cache(name: str) -> str:
        """A cache that holds upstream and nothing else, or what it holds by now."""
        folder = scratch / f"cache-{name}"
        if not folder.exists():
            shutil.copytree(scratch / "upstream", folder)
        return str(folder)

    def cut(number: int) -> Taken:
        return timed([sys.executable, "-c", _CUT, pin, cache("upstream")], plain)

    def parse(number: int) -> Taken:
        return timed([sys.executable, "-c", _PARSE, pin, cache("upstream")], plain)

    def proven(number: int) -> Taken:
        environment = {**plain, "BUILDER_CACHE": cache(f"proven-{number}")}
        out = str(scratch / f"proven-{number}")
        return timed([sys.executable, "-m", "builder", "dist", pin, "--out", out], environment)

    def dist(number: int, upstream: str = pin, *more: str, project: Path = ROOT) -> Taken:
        environment = {**plain, "BUILDER_CACHE": cache(str(number)), "PYTHONPATH": str(ROOT)}
        out = scratch / f"dist-{number}"
        command = [sys.executable, "-m", "builder", "dist", upstream, "--out", str(out), *more]
        return timed([*command, "--manifest", str(project / "manifest.yaml")], environment)

    def ask(number: int, *words: str) -> Taken:
        environment = {**plain, "BUILDER_CACHE": cache(str(number))}
        return timed([sys.executable, "-m", "builder", *words], environment)

    def edited(kind: str) -> Callable[[int], Taken]:
        return lambda number: dist(number, project=edited_project(scratch / f"{kind}-{number}", kind))

    def patched(number: int) -> Taken:
        project = edited_project(scratch / f"patch-{number}", "patch")
        (project / "overlays/own").mkdir()
        text = (scratch / f"dist-{number}" / "tree" / _PATCHED).read_text().splitlines(keepends=True)[:3]
        hunk = "".join(f" {line}" for line in text)
        (project / "overlays/own/own.patch").write_text(
            f"--- a/{_PATCHED}\n+++ b/{_PATCHED}\n@@ -1,3 +1,4 @@\n+# a line of our own\n{hunk}"
        )
        return dist(number, project=project)

    following = successor(mirror, commit) if commit else None
    return {
        "read and parse alone": parse,
        "cut, nothing written": cut,
        "dist, proven": proven,
        "dist, cut, cold": lambda number: dist(number, pin, "--recut"),
        # the same run number: the output and what was found out are there already
        "dist, nothing changed": dist,
        "why, after a build": lambda number: ask(number, "why", _ASKED, "--upstream", pin),
        "plan, after a build": lambda number: ask(
            number, "plan", pin, "--out", str(scratch / f"dist-{number}")
        ),
        "dist, a batch off": lambda number: dist(number, pin, "--without", "awq"),
        "dist, a comment edited": edited("comment"),
        "dist, a reason edited": edited("reason"),
        "dist, a path rule edited": edited("rule"),
        "dist, a fact edited": edited("fact"),
        "dist, a patch of one file": patched,
        **({"dist, next commit": lambda number: dist(number, following)} if following else {}),
    }


#: What `why` is asked about, and what is patched: upstream's file is the output's.
_ASKED = "python/sglang/srt/server_args.py"
_PATCHED = "python/sglang/srt/utils/watchdog.py"
#: kind of edit -> a text of the manifest, and what it becomes
EDITS = {
    "comment": ("\nname: ", "\n# a comment\nname: "),
    "reason": ("why: MindSpore models run on Ascend only.", "why: MindSpore runs on Ascend only."),
    "rule": ("[docs/platforms/,", "[docs/platforms/, docs/get_started/,"),
    "fact": (
        "    sglang.srt.layers.quantization.fp8_kernel.is_fp8_fnuz: {value: false, until: 0.5.13}\n",
        "",
    ),
    "patch": (
        "\nbatches:\n",
        "\nbatches:\n  - id: own\n    why: a line of our own\n"
        "    patches: [{from: overlays/own/own.patch, why: an example}]\n",
    ),
}


def edited_project(folder: Path, kind: str) -> Path:
    """A copy of the manifest with its parts and all that belongs to it, with one edit."""
    for name in ("overlays", "schema", "records", "docs/scope.yaml", "manifest.lock", "LICENSE", "NOTICE"):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, target)
    old, new = EDITS[kind]
    shutil.copyfile(ROOT / "manifest.yaml", folder / "manifest.yaml")
    files = [folder / "manifest.yaml", *sorted((folder / "overlays").glob("*/facts.yaml"))]
    places = [file for file in files for _ in range(file.read_text().count(old))]
    if len(places) != 1:
        sys.exit(f"the manifest has {len(places)} times what the {kind} edit changes: {old!r}")
    places[0].write_text(places[0].read_text().replace(old, new))
    return folder


def successor(mirror: Path, commit: str) -> str:
    """The commit that follows one on the first-parent line of upstream's main branch."""
    log = ["git", f"--git-dir={mirror}", "rev-list", "--first-parent", "--reverse", f"{commit}..HEAD"]
    return subprocess.run(log, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0]


def stages(scratch: Path, pin: str) -> dict[str, float]:
    """Processor seconds per stage of the cut and of the gates, children included."""
    done = subprocess.run(
        [sys.executable, "-c", _STAGES, pin, str(scratch / "cache-upstream")],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def commit_of(pin: str) -> str | None:
    """The commit of a pin; None for a release, which lies in the cache afterwards."""
    from builder.manifest.load import load_default

    return load_default(ROOT / "manifest.yaml").upstream.pins[pin].commit


def measured(pin: str, asked: argparse.Namespace, mirror: Path) -> dict[str, Any]:
    """The figures of one pin."""
    from builder.upstream.cache import default_cache

    scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=asked.scratch))
    (scratch / "upstream").mkdir()
    for name in ("wheel", "sdist"):  # what was downloaded before
        if (default_cache() / name).is_dir():
            shutil.copytree(default_cache() / name, scratch / "upstream" / name)
    try:
        todo = cases(scratch, mirror, pin, commit_of(pin))
        todo["read and parse alone"](0)  # compiles the modules, fills the page cache
        taken: dict[str, list[Taken]] = {name: [] for name in todo}
        for number in range(1, asked.runs + 1):
            for name, run in todo.items():
                taken[name].append(run(number))
                print(f"{pin}: {name}: {taken[name][-1].cpu:.1f} s", file=sys.stderr, flush=True)
        spent = stages(scratch, pin) if asked.stages else {}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    rows = {
        name: Taken(*(median(getattr(t, field) for t in runs) for field in ("wall", "cpu", "memory")))
        for name, runs in taken.items()
    }
    parsed = rows["read and parse alone"]
    figures = [
        {"name": name, "wall_s": r.wall, "cpu_s": r.cpu, "peak_mb": r.memory, "ratio": r.cpu / parsed.cpu}
        for name, r in rows.items()
    ]
    return {"pin": pin, "cases": figures, "stages_cpu_s": list(spent.items())}


def tests() -> dict[str, float]:
    """What `make test` takes."""
    taken = timed(["make", "test"], dict(os.environ))
    return {"wall_s": taken.wall, "cpu_s": taken.cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--pin", action="append", help="a pin of the manifest (default: the seed and the default pin)"
    )
    parser.add_argument("--tests", action="store_true", help="also say what `make test` takes")
    parser.add_argument("--scratch", type=Path, help="where to write (a temporary folder by default)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stages", action="store_true", help="also say what each stage of a cut takes")
    asked = parser.parse_args()
    if "SGLANG_MIRROR" not in os.environ:
        parser.error("SGLANG_MIRROR names no git repository of SGLang")
    mirror = Path(os.environ["SGLANG_MIRROR"]).resolve()
    sys.path.insert(0, str(ROOT))
    from builder.manifest.load import load_default

    pins = asked.pin or ["seed", load_default(ROOT / "manifest.yaml").upstream.default]
    found = [measured(pin, asked, mirror) for pin in pins]
    report = {
        "runs": asked.runs,
        "cores": len(os.sched_getaffinity(0)),
        "pins": found,
        "tests": tests() if asked.tests else None,
    }
    if asked.json:
        print(json.dumps(report, indent=1))
        return
    for one in found:
        print(
            f"{one['pin']}, medians of {asked.runs}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        )
        print(f"{'':26}{'wall s':>8}{'cpu s':>8}{'MB':>6}{'x parse':>9}")
        for row in one["cases"]:
            print(
                f"{row['name']:26}{row['wall_s']:8.2f}{row['cpu_s']:8.2f}{row['peak_mb']:6.0f}{row['ratio']:9.1f}"
            )
        for name, seconds in one["stages_cpu_s"]:
            print(f"  {name:22}{'':8}{seconds:8.2f}")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
