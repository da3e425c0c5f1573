"""Engines of both trees in every configuration, so many at a time; what upstream says is kept."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from verification.real import compare, models, process, server
from verification.real.matrix import Configuration
from verification.real.place import Place
from verification.results import NOT_RUN, Case, Check

PROMPTS = 64
LATE = "there was no time left"

Answer = Mapping[str, Any]


class Asker:
    """Starts engines, `jobs` at a time, and none after the deadline.

    Upstream's answers lie in `kept` and serve for every output that is made from it. `machine` is what else
    they depend on: upstream's files, the harness, the packages, the GPU.
    """

    def __init__(
        self, work: Path, kept: Path, machine: str, jobs: int, seconds: int, deadline: float
    ) -> None:
        self._work, self._kept, self._machine = work, kept, machine
        self._seconds, self._deadline = seconds, deadline
        self._slots = _Slots(jobs)
        self._writing = threading.Lock()

    def upstream(self, place: Place, one: Configuration, again: bool = False) -> Answer:
        """Upstream's answer, or that of an earlier call."""
        asked = [self._machine, one.name, _question(place, one, ""), dict(one.environment), again]
        kept = self._kept / f"{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]}.json"
        if kept.exists():
            found: Answer = json.loads(kept.read_text())
            return found
        answer = self.ask(place, one, "upstream-again" if again else "upstream", begun=again)
        if "error" not in answer:
            self._kept.mkdir(parents=True, exist_ok=True)
            partial = kept.with_suffix(f".{os.getpid()}")
            partial.write_text(json.dumps(answer))
            partial.rename(kept)
        return answer

    def ask(
        self, place: Place, one: Configuration, name: str, more: Mapping[str, str] | None = None,
        begun: bool = True,
    ) -> Answer:  # fmt: skip
        """What one engine says; `more` are variables. What is `begun` is gone on with first."""
        with self._slots.one(begun):
            if time.monotonic() > self._deadline:
                return {"error": [LATE], "late": True}
            question = _question(place, one, str(self.model(one)))
            # data parallelism counts its ports from it
            question["arguments"]["port"] = server.free_port()
            place = replace(place, more={**place.more, **one.environment, **(more or {})})
            folder = self._work / "engines" / one.name / name
            return process.ask(place, "verification.real.engine", question, folder, self._seconds)

    def model(self, one: Configuration) -> Path:
        """The folder of a configuration's model, which is written once."""
        with self._writing:
            folder = self._work / "models" / f"{one.architecture}{one.quantization}{one.experts or ''}"
            return models.write(one.architecture, one.quantization, folder, one.experts).resolve()


class _Slots:
    """So many at a time; those with something begun go first, else as they came."""

    def __init__(self, free: int) -> None:
        self._free, self._numbers = free, itertools.count()
        self._waiting: list[tuple[bool, int]] = []
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def one(self, begun: bool) -> Iterator[None]:
        with self._changed:
            mine = (not begun, next(self._numbers))
            heapq.heappush(self._waiting, mine)
            self._changed.wait_for(lambda: self._free > 0 and self._waiting[0] == mine)
            heapq.heappop(self._waiting)
            self._free -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()


def _question(place: Place, one: Configuration, model: str) -> dict[str, Any]:
    arguments = {**one.arguments, **(one.upstream if place.role == "upstream" else {})}
    if one.adapter:
        arguments["lora_paths"] = [f"{models.ADAPTER}={model}/{models.ADAPTER}"]
    return {
        "model": model, "arguments": arguments, "prompts": PROMPTS, "long": one.long,
        "structured": one.structured, "again": one.again, "adapter": one.adapter,
    }  # fmt: skip


def check(
    asker: Asker, places: Sequence[Place], configurations: Sequence[Configuration], at_once: bool,
    keep: Callable[[Check], None],
) -> Check:  # fmt: skip
    """Upstream, then ours and upstream again side by side, in every configuration; or all `at_once`."""
    found: dict[str, Case] = {}

    def one(configuration: Configuration) -> None:
        case = _compared(asker, places, configuration, at_once)
        print(f"{case.verdict:8} {case.name} {' | '.join(case.lines)[:500]}", flush=True)
        found[case.name] = case
        keep(Check("engines", tuple(found[each.name] for each in configurations if each.name in found)))

    with ThreadPoolExecutor(max(1, len(configurations))) as pool:
        list(pool.map(one, configurations))
    return Check("engines", tuple(found[each.name] for each in configurations))


def _compared(asker: Asker, places: Sequence[Place], one: Configuration, at_once: bool) -> Case:
    upstream, ours = places
    with ThreadPoolExecutor(3) as three:
        first = three.submit(asker.upstream, upstream, one)
        if not at_once:
            first.result()  # it compiles what the others find compiled
        mine = three.submit(asker.ask, ours, one, "ours")
        second = three.submit(asker.upstream, upstream, one, True)
    theirs, emitted = (first.result(), second.result()), mine.result()
    if any(answer.get("late") for answer in (*theirs, emitted)):
        return Case(one.name, NOT_RUN, (LATE,))
    return compare.engines(one.name, theirs, (emitted,), PROMPTS + one.long, one.other_kernels)
