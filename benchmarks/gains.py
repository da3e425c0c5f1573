"""What the distribution saves over upstream, both sides measured in one run on one machine.

    SGLANG_MIRROR=/path/to/sglang.git python benchmarks/gains.py release seed --python PYTHON [--path FOLDER]

PYTHON is one in which both trees can be imported, with FOLDER before its packages if one is given; no GPU is
needed. An upstream that needs another one has it with `--python PIN=PYTHON`. Runs take turns, upstream's tree
and the output, with compiled modules; figures are medians. Both wheels are made by the same writer from the
same kind of tree, so that their bytes compare. A summary that `kernel-wheel --format json` printed is taken
in with --kernel. The figures of other upstreams and kernels stay. Writes docs/gains.json.xz and its page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from builder.manifest.model import Manifest
    from builder.tree import Snapshot

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from builder import json_xz  # noqa: E402

PINS = ["release", "release-0.5.17", "release-0.5.23"]
SIDES = ("upstream", "output")
MODULE = "sglang.srt.server_args"
TIMEOUT_S = 900
#: What is run: an import, and the start of a server as far as it goes without a GPU.
RUNS = {
    "import": f"import {MODULE}",
    "start": "sys.argv[1:] = ['--help']; runpy.run_module('sglang.launch_server', run_name='__main__')",
}
#: How many packages are named of those that take the largest part of an import.
LARGEST = 5
#: Peak memory is asked of Linux for this program alone: getrusage counts the process that started it, too.
_RUN = r"""
import contextlib, io, json, re, runpy, sys, time
began = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    {}
taken = time.perf_counter() - began
own = sum(name.partition(".")[0] == "sglang" for name in sys.modules)
peak = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
print(json.dumps({{"seconds": taken, "mb": peak / 1024, "modules": len(sys.modules), "own": own}}))
"""


def ran(
    python: str, what: str, folders: Iterable[Path], scratch: Path, *options: str
) -> tuple[dict[str, float], str]:
    """The figures of one run in a process of its own, and what it wrote to stderr. Raises SystemExit with
    that when it fails."""
    path = os.pathsep.join(map(str, folders))
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env |= {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore", "PYTHONPYCACHEPREFIX": str(scratch / "compiled")}
    done = subprocess.run(
        [python, *options, "-c", _RUN.format(RUNS[what])],
        capture_output=True, text=True, env=env, cwd=scratch, timeout=TIMEOUT_S,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"`{RUNS[what]}` fails with {path}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def largest(said: str) -> dict[str, float]:
    """The packages that take the largest part of an import, in seconds, from what `-X importtime` says."""
    spent: Counter[str] = Counter()
    for microseconds, name in re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$", said, re.MULTILINE):
        spent[name.partition(".")[0]] += int(microseconds)
    return {name: taken / 1e6 for name, taken in spent.most_common(LARGEST)}


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: median(run[key] for run in runs) for key in runs[0]}


def measure(pin: str, python: str, more: Sequence[Path], runs: int) -> dict[str, Any]:
    """The figures of one upstream: lines, files, wheels, and what an import takes on both sides."""
    from builder.manifest.load import load_default
    from builder.pipeline.build import Build
    from builder.upstream.cache import default_cache
    from builder.upstream.model import Sources, snapshot
    from builder.upstream.resolve import resolve

    manifest = load_default(ROOT / "manifest.yaml")
    mirror = os.environ.get("SGLANG_MIRROR")
    place = Path(mirror) if mirror else None
    upstream = resolve(pin, Sources.of(manifest, place, default_cache(), False))
    before = snapshot(upstream)
    version = Build(upstream, manifest).version
    theirs = wheel(before, version, upstream.commit, manifest)
    with tempfile.TemporaryDirectory(prefix="gains-") as name:
        scratch = Path(name)
        out = scratch / "dist"
        subprocess.run(
            [sys.executable, "-m", "builder", "dist", pin, "--out", str(out)], cwd=ROOT, check=True
        )
        built = json.loads((out / "build.json").read_bytes())
        folders = {"upstream": scratch / "upstream/python", "output": out / "tree/python"}
        for path in (p for p in before if p.startswith("python/") and p.endswith(".py")):
            (scratch / "upstream" / path).parent.mkdir(parents=True, exist_ok=True)
            (scratch / "upstream" / path).write_bytes(before[path])
        taken: dict[str, dict[str, Any]] = {what: {} for what in RUNS}
        for what in RUNS:
            sides: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
            for number in range(runs + 1):
                for side in SIDES:
                    one, _ = ran(python, what, [folders[side], *more], scratch)
                    if number:  # the first run compiles
                        sides[side].append(one)
            taken[what] = {side: medians(found) for side, found in sides.items()}
        for side in SIDES:
            _, said = ran(python, "import", [folders[side], *more], scratch, "-X", "importtime")
            taken["import"][side]["largest"] = largest(said)
    return {
        "pin": pin,
        "version": version.partition("+")[0],
        "output_tree": built["output"]["tree"],
        "lines": {"upstream": built["lines"]["code"]["before"], "output": built["lines"]["code"]["after"]},
        "files": {"upstream": len(before), "output": built["output"]["files"]},
        "wheel": {"upstream": theirs, "output": {key: built["wheel"][key] for key in ("bytes", "files")}},
        **taken,
    }


def pins(
    before: Iterable[dict[str, Any]], wanted: Sequence[str], made: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The figures of the upstreams that are wanted, in the place of earlier ones; those of others stay."""
    found = {one["pin"]: one for one in before} | {pin: made(pin) for pin in wanted}
    return list(found.values())


def python_of(pin: str, given: Iterable[str]) -> str:
    """The last Python that is given for an upstream, or for all of them."""
    found = sys.executable
    for one in given:
        name, _, python = one.rpartition("=")
        if name in ("", pin):
            found = python
    return found


def python_version(python: str) -> str:
    return subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]


def wheel(tree: Snapshot, version: str, commit: str | None, manifest: Manifest) -> dict[str, int]:
    """The size of the wheel of one side."""
    from builder.emit.wheel import build_wheel

    made = build_wheel(tree, version, commit, project=manifest.upstream.project)
    return {"bytes": len(made.data), "files": made.files}


def kernel(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of a summary of `kernel-wheel`."""
    return {
        "from": summary["from"],
        "wheel": {key: summary["wheel"][key] for key in ("name", "bytes", "sha256", "content_sha256")},
        "members": summary["members"],
        "unpacked_bytes": summary["unpacked_bytes"],
    }


def page(found: Mapping[str, Any]) -> str:
    """docs/gains.md from docs/gains.json.xz."""
    machine = found["machine"]
    parts = [
        "# What the distribution saves\n",
        "<!-- Made by benchmarks/gains.py from docs/gains.json.xz: run it again, do not edit. -->\n",
        f"Both sides in one run, imports taking turns, medians of {found['runs']}: Python "
        f"{machine['python']} on {machine['system']}, {machine['cores']} cores, no GPU. Only the ratios "
        "mean anything elsewhere.\n",
    ]
    parts += [note + "\n" for note in found["notes"]]
    for pin in found["pins"]:
        parts += [f"## {pin['pin']} ({pin['version']})\n", _table(_rows(pin))]
        parts += [
            f"The largest parts of the import, {side}: {_named(pin['import'][side]['largest'])}.\n"
            for side in SIDES
            if "largest" in pin["import"][side]
        ]
    if found["kernels"]:
        parts += ["## The published kernel wheel, repacked\n", _table(_kernels(found["kernels"]))]
    return "\n".join(parts)


def _named(packages: Mapping[str, float]) -> str:
    by_seconds = sorted(packages.items(), key=lambda one: -one[1])
    return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in by_seconds)


def _rows(pin: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    yield "", "upstream", "output", "ratio"
    for title, figures, show in (
        ("lines of code", pin["lines"], _count),
        ("files of the tree", pin["files"], _count),
        ("files of the wheel", _of(pin["wheel"], "files"), _count),
        ("bytes of the wheel", _of(pin["wheel"], "bytes"), _count),
        (f"`import {MODULE}`, seconds", _of(pin["import"], "seconds"), "{:.2f}".format),
        ("its peak memory, MB", _of(pin["import"], "mb"), "{:.0f}".format),
        ("modules it loads", _of(pin["import"], "modules"), _count),
        ("of these, SGLang's own", _of(pin["import"], "own"), _count),
        *(
            (f"`sglang.launch_server --help`, {title}", _of(pin["start"], key), show)
            for title, key, show in (
                ("seconds", "seconds", "{:.2f}".format),
                ("peak memory, MB", "mb", "{:.0f}".format),
            )
            if "start" in pin
        ),
    ):
        before, after = figures["upstream"], figures["output"]
        yield title, show(before), show(after), f"{after / before:.2f}"


def _kernels(kernels: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    yield "wheel", "bytes before", "after", "ratio", "installed before", "after", "members before", "after"
    for one in kernels:
        before, after = one["from"]["bytes"], one["wheel"]["bytes"]
        sizes = (
            _count(one[key][side]) for key in ("unpacked_bytes", "members") for side in ("before", "after")
        )
        yield f"`{one['wheel']['name']}`", _count(before), _count(after), f"{after / before:.2f}", *sizes


def _of(sides: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, Any]:
    return {side: sides[side][key] for side in SIDES}


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _table(rows: Iterable[Sequence[str]]) -> str:
    head, *body = rows
    lines = [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "pins", nargs="*", default=["release", "release-0.5.17", "release-0.5.23"], help="upstreams"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        help="a Python that can import both trees, or PIN=PYTHON",
    )
    parser.add_argument("--path", type=Path, action="append", default=[], help="a folder before its packages")
    parser.add_argument("--note", action="append", default=[], help="what is special about it, for the page")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kernel", type=Path, action="append", default=[], help="a summary of kernel-wheel")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/gains.md")
    parser.add_argument("--render", action="store_true", help="keep the figures, but for those of --kernel")
    given = parser.parse_args()
    figures = given.out.with_suffix(".json.xz")
    before = json_xz.read(figures) if figures.exists() else {"kernels": []}
    more = [kernel(json.loads(path.read_bytes())) for path in given.kernel]
    again = {one["wheel"]["name"] for one in more}
    kernels = [one for one in before["kernels"] if one["wheel"]["name"] not in again] + more
    if not given.render:
        pythons = {pin: python_of(pin, given.python) for pin in given.pins}
        machine = {
            "python": ", ".join(sorted({python_version(python) for python in pythons.values()})),
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
        }
        record = {
            "runs": given.runs,
            "machine": machine,
            "notes": given.note,
            "pins": pins(
                before.get("pins", ()),
                given.pins,
                lambda pin: measure(pin, pythons[pin], given.path, given.runs),
            ),
            "kernels": kernels,
        }
    else:
        record = {**before, "kernels": kernels}
    json_xz.write(figures, record)
    given.out.write_text(page(record))
    print(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
