"""Runs the checks that were asked for, in order of cost."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from builder.errors import fail
from verification import (
    corpus,
    coverage,
    declared,
    environment,
    matrix,
    mutation,
    probe_runner,
    servers,
    suite,
)
from verification.checks import arguments, forward, imports, launch, mutants, mutations, parts
from verification.checks import servers as started
from verification.checks import suite as suites
from verification.results import FAILED, PASSED, Case, Check
from verification.servers import Server
from verification.subjects import Output, Subject

CHECKS = (
    "output",
    "parts",
    "arguments",
    "launch",
    "imports",
    "forward",
    "servers",
    "suite",
    "imports-fresh",
    "mutations",
    "mutants",
)
#: Not asked for, they do not run: they take long. Fresh imports find only what depends on the order of
#: imports; mutations and mutants test the other checks, not the tree.
SLOW = ("imports-fresh", "mutations", "mutants")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run."""

    checks: tuple[str, ...]
    configurations: tuple[matrix.Configuration, ...]
    servers: tuple[Server, ...]
    jobs: int
    cache: Path
    work: Path | None  # where logs stay; None: a folder that is removed
    python: str
    coverage: bool = False  # record what the checks execute of the output
    mutants: int = 200  # how many are drawn
    seed: int = 0  # which


def left_out(plan: Plan) -> dict[str, str]:
    """What the plan does not run, with the reason."""
    found = {name: "slow; by name only" if name in SLOW else "not asked for" for name in CHECKS}
    found = {name: why for name, why in found.items() if name not in plan.checks}
    sets = (
        ("forward", "configurations", plan.configurations, matrix.CONFIGURATIONS),
        ("servers", "servers", plan.servers, servers.read()),
    )
    for name, what, asked, every in sets:
        missing = len(every) - len(asked)
        if name in plan.checks and missing:
            found[f"{name}: {what}"] = f"{missing} of {len(every)} not asked for"
    return found


def run(
    plan: Plan, output: Output, upstream: Subject, ours: Subject, tell: Callable[[Check], None]
) -> tuple[list[Check], dict[str, str], dict[str, Any] | None]:
    """The checks' results, each told as soon as it is there, what is to be known of the harness, and what the
    checks executed of the output, where that is asked.

    Raises BuildError E003 when the harness's environment cannot be made, or its recordings cannot be read.
    """
    pins = environment.requirements(upstream.folder)
    python = environment.prepare(plan.cache, pins, plan.python)
    harness = probe_runner.digest()
    requirements = hashlib.sha256(pins.read_bytes()).hexdigest()
    with tempfile.TemporaryDirectory(prefix="verification-") as temporary:
        work = plan.work or Path(temporary)
        recorded = Path(temporary).resolve() / "executed" if plan.coverage else None
        if recorded:
            for one in (upstream, ours):
                (recorded / one.role).mkdir(parents=True)
        asker = probe_runner.ProbeRunner(
            python,
            work.resolve(),
            plan.cache / "answers" / requirements[:16],
            probe_runner.digest_of_answers(),
            coverage=recorded,
        )
        results = []
        for name in CHECKS:
            if name in plan.checks:
                results.append(_one(name, plan, asker, output, upstream, ours, tell))
                tell(results[-1])
        ran = _executed(asker, upstream, ours, recorded) if recorded else None
    return results, {"digest": harness, "requirements": requirements, **machine()}, ran


def _executed(
    asker: probe_runner.ProbeRunner, upstream: Subject, ours: Subject, folder: Path
) -> dict[str, Any]:
    answers, sources = [], []
    for one in (upstream, ours):
        question = {"folder": str(folder / one.role), "package": coverage.PACKAGE}
        answer = replace(asker, coverage=None).ask("lines", one, f"lines-{one.role}", question, again=True)
        if answer.values is None:
            last = answer.lines[-1] if answer.lines else "it says nothing"
            raise fail("E003", f"What the checks executed cannot be read: {last}")
        answers.append(answer.values)
        sources.append({path: (one.folder / path).read_text("utf-8") for path in answer.values["files"]})
    lost = coverage.lost(answers[0], *sources)
    return {**coverage.statement(answers[1], sources[1], coverage.reasons()), "lost": lost}


def _one(
    name: str,
    plan: Plan,
    asker: probe_runner.ProbeRunner,
    output: Output,
    upstream: Subject,
    ours: Subject,
    tell: Callable[[Check], None],
) -> Check:
    if name == "output":
        return _output(output, upstream, ours)
    if name in ("launch", "parts"):
        stated = declared.read(ours.folder.parent)
        if name == "launch":
            return stated.excused(launch.check(asker, upstream, ours, plan.jobs), output.batches)
        lost = stated.lost_choices.get("--tool-call-parser", frozenset())
        return stated.excused(parts.check(asker, upstream, ours, lost=lost), output.batches)
    if name == "forward":
        return forward.check(asker, upstream, ours, plan.configurations, plan.jobs)
    if name == "servers":
        stated = declared.read(ours.folder.parent)
        fitting, left = servers.fitting(plan.servers, stated.optional_flags, stated.optional_paths)
        return started.check(asker, upstream, ours, fitting, plan.jobs, left)
    if name == "mutants":
        return mutants.check(asker, ours, plan.mutants, plan.seed)
    if name.startswith("imports"):
        return imports.check(asker, upstream, ours, fresh=name == "imports-fresh")
    stated = declared.read(ours.folder.parent)
    if name == "arguments":
        return arguments.check(asker, upstream, ours, corpus.read(), stated)
    if name == "suite":
        return suites.check(asker, upstream, ours, suite.read(), stated)
    return mutations.check(
        asker, upstream, ours, mutation.read(), stated, plan.configurations, plan.cache,
        lambda case: tell(Check(case.name, (case,))),
    )  # fmt: skip


def _output(output: Output, upstream: Subject, ours: Subject) -> Check:
    """The folders hold what build.json names."""

    def case(name: str, said: str, found: str) -> Case:
        lines = () if said == found else (f"build.json says {said}, the files give {found}",)
        return Case(name, FAILED if lines else PASSED, lines)

    cases = (
        case("tree", output.tree, ours.tree),
        case("upstream", output.upstream_tree, upstream.tree),
    )
    return Check("output", cases)


def machine() -> dict[str, str]:
    """The system and Python that run the checks."""
    import platform

    return {"system": platform.system(), "processor": platform.machine(), "python": platform.python_version()}


def problems(checks: Sequence[Check]) -> list[str]:
    """One line for each thing that is wrong, ready to print."""
    found = []
    for check in checks:
        found += [f"{check.name}: {line}" for line in check.lines]
        found += [
            f"{check.name} {case.name}: {line}"
            for case in check.cases
            if case.verdict == FAILED
            for line in case.lines
        ]
    return found
