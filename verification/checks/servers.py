"""Servers as a user starts them, with real numbers on the CPU: the same requests get the same replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from verification.probe_runner import Answer, ProbeRunner
from verification.real import compare
from verification.results import FAILED, NOT_RUN, Case, Check
from verification.servers import Server
from verification.subjects import Subject


def check(
    asker: ProbeRunner, upstream: Subject, ours: Subject, servers: Iterable[Server], jobs: int
) -> Check:
    """Start every server with both trees, `jobs` at a time: one case for each request of each."""

    def one(server: Server) -> tuple[Case, ...]:
        name, question = f"server-{server.name}", server.question()

        def ask(subject: Subject, again: bool = False) -> Answer:
            return asker.ask("server", subject, name, question, again)

        theirs, mine = ask(upstream), ask(ours)
        repeated = None
        if _differ(theirs, mine):  # what upstream does not repeat is no difference
            repeated = ask(upstream, again=True)
        return tuple(cases(server.name, theirs, repeated or theirs, mine))

    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(one, servers)
        return Check("servers", tuple(case for each in found for case in each))


def _differ(theirs: Answer, mine: Answer) -> bool:
    return bool(theirs.values and mine.values and theirs.values["replies"] != mine.values["replies"])


def cases(name: str, theirs: Answer, repeated: Answer, mine: Answer) -> Iterator[Case]:
    """What came of one server: of its start where one tree did not start it, else of each request."""
    if theirs.values is None:
        also = "" if mine.values is None else "; ours can"
        yield Case(name, NOT_RUN, (f"upstream cannot run it here{also}", *theirs.lines[-4:]))
    elif mine.values is None:
        yield Case(name, FAILED, ("upstream runs it, ours fails", *mine.lines))
    else:
        again = (repeated.values or theirs.values)["replies"]
        for case in compare.replies(theirs.values["replies"], again, mine.values["replies"]):
            yield Case(f"{name}: {case.name.removeprefix('reply ')}", case.verdict, case.lines, case.figures)
