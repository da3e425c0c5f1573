"""What serving with each tree takes: seconds, bytes of memory, tokens a second."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from verification import gpu
from verification.real import compare, server
from verification.real.place import Place
from verification.results import NOT_RUN, PASSED, Case

_IMPORT = (
    "import time; t = time.perf_counter(); import sglang.srt.entrypoints.http_server; "
    "print(time.perf_counter() - t)"
)
_QUIET, _PATIENCE = 20.0, 120.0  # percent of all processors; seconds to wait for it
_BENCHED = (("output_throughput", False), ("mean_ttft_ms", True), ("mean_itl_ms", True))


def starts(
    places: Sequence[Place], model: Path, words: Sequence[str], work: Path, times: int, gpus: int,
    deadline: float,
) -> list[Case]:  # fmt: skip
    """What importing and starting a server takes, `times` times.

    In turns on one GPU; side by side on two, which the trees exchange each time. What was measured is kept,
    so that a second call on the same machine goes on where time ran out.
    """
    kept = work / "gains.json"
    rounds: list[dict[str, dict[str, Any]]] = json.loads(kept.read_text()) if kept.exists() else []

    def measure(number: int, index: int) -> dict[str, Any]:
        log = work / "servers" / f"gains-{places[index].role}.txt"
        return _started(places[index], model, words, log, (number + index) % gpus)

    with ThreadPoolExecutor(min(gpus, 2)) as pool:
        while len(rounds) < times and time.monotonic() < deadline:
            taken = pool.map(measure, [len(rounds)] * len(places), range(len(places)))
            rounds.append(dict(zip((place.role for place in places), taken, strict=True)))
            kept.write_text(json.dumps(rounds))
    theirs, mine = ([each[place.role] for each in rounds] for place in places)
    cases = [Case("gain rounds", *_enough(len(rounds), times))]
    cases += [
        compare.gain(name, [each[key] for each in theirs], [each[key] for each in mine])
        for name, key in (
            ("seconds to import the server", "import"), ("seconds to the first answer", "start"),
            ("bytes in memory, all processes", "rss in all"), ("bytes of GPU memory", "gpu"),
        )
    ]  # fmt: skip
    for name in sorted({row[0] for side in (theirs, mine) for each in side for row in each["rss"]}):
        one, two = (
            [sum(row[1] for row in each["rss"] if row[0] == name) for each in side] for side in (theirs, mine)
        )
        cases.append(compare.gain(f"bytes in memory of {name}", one, two))
    return cases


_SHIPPED = ("the wheel", "the kernel wheel", "the kernels, installed")


def sizes(places: Sequence[Place], packed: Mapping[str, Sequence[int]]) -> list[Case]:
    """Bytes of both trees and, from where the packs were made, of what is shipped; no GPU is needed."""
    told = {"Python's tree": [_size(place.tree / "python") for place in places], **packed}
    cases = [
        compare.gain(f"bytes of {name}", [float(one)], [float(two)], exact=True)
        for name, (one, two) in told.items()
        if one and two
    ]
    missing = [name for name in ("Python's tree", *_SHIPPED) if not all(told.get(name, (0,)))]
    return cases + [
        Case(f"gain bytes of {name}", NOT_RUN, ("the pack does not say them",)) for name in missing
    ]


def _enough(rounds: int, times: int) -> tuple[str, tuple[str, ...]]:
    if rounds >= times:
        return PASSED, ()
    return NOT_RUN, (f"{rounds} of {times}: there was no time left",)


def throughput(
    places: Sequence[Place], model: Path, words: Sequence[str], work: Path, times: int, gpus: int
) -> list[Case]:
    """What upstream's bench_serving measures of servers that were used before, `times` times or once more.

    Both run at once: on one GPU they are asked in turns, on two side by side, and they exchange these half
    way. Raises RuntimeError when one does not answer.
    """
    found: dict[str, list[Mapping[str, Any]]] = {place.role: [] for place in places}
    halves = min(gpus, 2)
    busy = [
        _loaded(places, model, words, work, -(-times // halves), gpus, half, found) for half in range(halves)
    ]
    cases = [compare.completed(*(found[place.role] for place in places))]
    for key, smaller in _BENCHED:
        theirs, mine = ([each[key] for each in found[place.role] if key in each] for place in places)
        case = compare.gain(f"bench_serving {key}", theirs, mine, smaller)
        cases.append(replace(case, figures={**case.figures, "processors busy before, percent": busy}))
    return cases


def _loaded(
    places: Sequence[Place], model: Path, words: Sequence[str], work: Path, times: int, gpus: int, half: int,
    found: Mapping[str, list[Mapping[str, Any]]],
) -> float:  # fmt: skip
    """Start both servers, and add what `times` loads of each give; how busy the machine was before."""
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(places)) as pool:

        def start(index: int) -> server.Server:
            place = _on(places[index], (index + half) % gpus)
            log = work / "servers" / f"throughput-{place.role}-{half}.txt"
            return stack.enter_context(server.running(place, model, words, log))

        def ask(running: server.Server) -> dict[str, Any]:
            out = work / f"throughput-{running.place.role}.jsonl"
            return server.bench(running, places[0], model, out, requests=512, length=128)

        servers = list(pool.map(start, range(len(places))))
        busy = _wait_until_quiet()
        for number in range(times + 1):
            measured = list(pool.map(ask, servers)) if gpus > 1 else [ask(each) for each in servers]
            if number:  # the first fills caches
                for place, each in zip(places, measured, strict=True):
                    found[place.role].append(each)
    return busy


def _started(place: Place, model: Path, words: Sequence[str], log: Path, number: int) -> dict[str, Any]:
    """One start of one tree on GPU `number`."""
    imported = _import_seconds(place)
    with server.running(_on(place, number), model, words, log) as running:
        taken = server.taken(running, gpu.visible()[number])
    return {"import": imported, "start": running.seconds, **taken}


def _on(place: Place, number: int) -> Place:
    return replace(place, more={**place.more, "CUDA_VISIBLE_DEVICES": gpu.visible()[number]})


def _wait_until_quiet() -> float:
    """Wait for a machine that computes nothing else; how busy it is, in percent of its processors."""
    import psutil

    end = time.monotonic() + _PATIENCE
    while (busy := psutil.cpu_percent(2.0)) > _QUIET and time.monotonic() < end:
        continue
    return float(busy)


def _import_seconds(place: Place) -> float:
    """The time to import the server in a fresh process. Raises CalledProcessError when it cannot be."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT], cwd=place.work, env=place.environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return round(float(done.stdout.splitlines()[-1]), 3)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
