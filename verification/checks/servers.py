"""Servers as a user starts them, with real numbers on the CPU: the same requests get the same replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from verification.probe_runner import Answer, ProbeRunner, side_by_side
from verification.real import compare
from verification.results import FAILED, NOT_RUN, Case, Check
from verification.servers import TOGETHER, Server
from verification.subjects import Subject


def check(
    asker: ProbeRunner,
    upstream: Subject,
    ours: Subject,
    servers: Iterable[Server],
    jobs: int,
    left_out: Mapping[str, str],
) -> Check:
    """Start every server with both trees, `jobs` at a time: one case for each request of each.

    A server that is left out, with the reason, is a case that has not run.
    """

    def one(server: Server) -> tuple[Case, ...]:
        name, question = f"server-{server.name}", server.question()

        def ask(subject: Subject, again: bool = False) -> Answer:
            return asker.ask("server", subject, name, question, again)

        together = frozenset(each.name for each in server.requests if each.compare == TOGETHER)
        theirs, mine = [ask(upstream)], [ask(ours)]
        if _differ(theirs[0], mine[0], together):  # what a tree does not repeat is no difference
            theirs.append(ask(upstream, again=True))
            mine.append(ask(ours, again=True))
        return tuple(cases(server.name, theirs, mine, together))

    with side_by_side(jobs) as pool:
        found = [case for each in pool.map(one, servers) for case in each]
    found += (Case(name, NOT_RUN, (why,)) for name, why in left_out.items())
    return Check("servers", tuple(found))


def _differ(theirs: Answer, mine: Answer, together: frozenset[str]) -> bool:
    if theirs.values is None or mine.values is None:
        return False
    said, ours = theirs.values["replies"], mine.values["replies"]
    return any(not _same(name, said[name], ours.get(name), together) for name in said)


def _same(request: str, one: Any, two: Any, together: frozenset[str]) -> bool:
    return compare.alike(one, two) if request in together else bool(one == two)


def cases(
    name: str, theirs: Sequence[Answer], mine: Sequence[Answer], together: frozenset[str] = frozenset()
) -> Iterator[Case]:
    """What came of one server: of its start where one tree did not start it, else of each request.

    `together`: the requests whose replies may differ by rounding.
    """
    first, ours = theirs[0], mine[0]
    if first.values is None:
        also = "" if ours.values is None else "; ours can"
        yield Case(name, NOT_RUN, (f"upstream cannot run it here{also}", *first.lines[-4:]))
    elif ours.values is None:
        yield Case(name, FAILED, ("upstream runs it, ours fails", *ours.lines))
    else:
        replies = [[dict(each.values["replies"]) for each in side if each.values] for side in (theirs, mine)]
        for request in together:
            known = [each[request] for each in replies[0]]
            for said in replies[1]:
                found = said.get(request)
                said[request] = next((each for each in known if compare.alike(each, found)), found)
        for case in compare.replies(replies[0][0], replies[0][-1], replies[1][0]):
            request = case.name.removeprefix("reply ")
            known = [each.get(request) for each in replies[0]]
            if case.verdict == FAILED and replies[1][-1].get(request) in known:
                case = replace(case, verdict=NOT_RUN, lines=("ours does not repeat itself", *case.lines))
            yield replace(case, name=f"{name}: {request}")
