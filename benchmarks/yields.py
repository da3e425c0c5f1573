"""What each answer of the engine is worth: the output when a function always says yes, and always no.

    SGLANG_MIRROR=/path/to/sglang.git python benchmarks/yields.py seed [--only counting] [--jobs 8]
        [--seconds 500] [--same earlier.tsv]

Prints a line for each function of builder/specialize that gives a bool, and for each answer: the function,
its lines, the answer, and how many lines the output has more, `same` where it is the same tree, or the codes
of the problems that stop the build. Where the careful answer changes no pin, the function may leave. `--only`
takes functions whose names have a text, `--same` those answers that gave the same tree in an earlier run.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from builder.emit import figures
from builder.errors import BuildError
from builder.manifest.load import load_default
from builder.pipeline import cut, reduce
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.tree import Snapshot
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, snapshot
from builder.upstream.resolve import resolve

ROOT = Path(__file__).resolve().parents[1]

#: The module, the name in it, how many lines the function has, and the answer.
Case = tuple[str, str, int, bool]


def cases() -> Iterator[Case]:
    """Every function and method that gives a bool, with both answers."""
    for path in sorted((ROOT / "builder/specialize").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for owner in (tree := ast.parse(path.read_text("utf-8")), *tree.body):
            if not isinstance(owner, (ast.Module, ast.ClassDef)):
                continue
            for node in owner.body:
                if isinstance(node, ast.FunctionDef) and getattr(node.returns, "id", "") == "bool":
                    name = f"{owner.name}.{node.name}" if isinstance(owner, ast.ClassDef) else node.name
                    size = (node.end_lineno or node.lineno) - node.lineno + 1
                    yield from ((module, name, size, answer) for answer in (True, False))


def _name(case: Case) -> str:
    return f"{case[0].removeprefix('builder.specialize.')}:{case[1]}"


def force(module: str, name: str, answer: bool) -> None:
    """From now on the function gives this answer, by whatever name a module has it."""

    def forced(*args: Any, **keywords: Any) -> bool:
        return answer

    owner, _, last = name.rpartition(".")
    place = importlib.import_module(module)
    if owner:
        setattr(getattr(place, owner), last, forced)
        return
    before = getattr(place, last)
    for other in list(sys.modules.values()):
        if other.__name__.startswith("builder.") and vars(other).get(last) is before:
            setattr(other, last, forced)


def outcome(work: Callable[[], Snapshot]) -> str:
    """The tree and its lines of code, or the codes of the problems."""
    try:
        output = work()
    except BuildError as error:
        return "+".join(
            f"{count}{code}" for code, count in sorted(Counter(p.code for p in error.problems).items())
        )
    except Exception as error:
        return type(error).__name__
    data = b"".join(path.encode() + b"\0" + output[path] + b"\0" for path in sorted(output))
    lines = figures.by_extension(figures.line_counts(output))[figures.CODE]
    return f"{lines} {hashlib.sha256(data).hexdigest()}"


def child(case: Case | None, work: Callable[[], Snapshot], told: Path) -> int:
    """Start a process that writes the outcome with one answer forced."""
    pid = os.fork()
    if pid == 0:
        if case is not None:
            force(case[0], case[1], case[3])
        told.write_text(outcome(work), "utf-8")
        os._exit(0)
    return pid


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pin")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT")
    parser.add_argument("--same", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    wanted = [c for c in cases() if not given.only or any(text in _name(c) for text in given.only)]
    wanted.sort(key=lambda case: -case[2])
    if given.same:
        rows = [line.split("\t") for line in given.same.read_text("utf-8").splitlines()]
        same = {(row[0], row[2]) for row in rows if row[3] == "same"}
        wanted = [c for c in wanted if (_name(c), str(c[3])) in same]
    os.environ["BUILDER_JOBS"] = "1"
    manifest = load_default(ROOT / "manifest.yaml")
    mirror = os.environ.get("SGLANG_MIRROR")
    upstream = resolve(
        given.pin, Sources.of(manifest, Path(mirror) if mirror else None, default_cache(), False)
    )
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"yields-{os.getpid()}"
    folder.mkdir()
    real = reduce.reduce

    def spread(*arguments: Any) -> Any:
        """Where a cut begins to specialize, one process for each case goes on."""

        def work() -> Snapshot:
            return real(*arguments).output

        running: dict[int, tuple[Case | None, Path]] = {}
        todo: list[Case | None] = [None, *wanted]
        base = ""
        while todo or running:
            while todo and len(running) < given.jobs and time.monotonic() < end and (base or not running):
                told = folder / str(len(todo))
                case = todo.pop(0)
                running[child(case, work, told)] = case, told
            if not running:
                break
            while not (pid := next((one for one in running if os.waitpid(one, os.WNOHANG)[0]), 0)):
                time.sleep(0.1)
            case, told = running.pop(pid)
            found = told.read_text("utf-8") if told.exists() else "died"
            base = base or found
            shown = "same" if found == base else found.split()[0]
            if shown.isdigit():
                shown = f"{int(shown) - int(base.split()[0]):+}"
            if case is not None:
                print(_name(case), case[2], case[3], shown, sep="\t", flush=True)
        os._exit(0)  # the cut does not go on

    vars(cut)["reduce"] = spread
    gc.disable()
    cut.cut(snapshot(upstream), manifest, recall=Recalled(), about=about(upstream, manifest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
