"""`python -m sglang.launch_server --help` ends well in a process of its own, as a user starts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verification.probe_runner import ProbeRunner, side_by_side
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject

#: Modules with a command line, which must at least print their help.
PROGRAMS = (
    "sglang.launch_server",
    "sglang.bench_one_batch",
    "sglang.bench_serving",
    "sglang.bench_offline_throughput",
    "sglang.bench_one_batch_server",
    "sglang.benchmark.one_batch",
    "sglang.benchmark.offline_throughput",
    "sglang.compile_deep_gemm",
    "sglang.check_env",
    "sglang.cli.main",
)


def check(asker: ProbeRunner, upstream: Subject, ours: Subject, jobs: int) -> Check:
    """Every program of both trees prints its help, `jobs` processes at a time."""

    def one(program: str) -> Case:
        question = {"capability": [9, 0], "devices": 8, "program": program, "words": ["--help"]}
        name = f"help-{program.rpartition('.')[2]}"
        answers = [asker.ask("launch", subject, name, question) for subject in (upstream, ours)]
        theirs, mine = (answer.values or {"status": list(answer.lines)} for answer in answers)
        return case(program, theirs, mine)

    with side_by_side(jobs) as pool:
        return Check("launch", tuple(pool.map(one, PROGRAMS)))


def case(program: str, theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> Case:
    """Compare exit statuses; what fails in upstream's tree may do better in ours."""
    if mine["status"] == 0:
        return Case(program, PASSED, (), {"lines": mine["lines"]})
    if mine["status"] == theirs["status"]:
        return Case(program, NOT_RUN, (f"fails in both trees: {mine['status']}",))
    return Case(program, FAILED, (f"upstream: {theirs['status']}", f"ours: {mine['status']}"))
