"""What a batch that is off gives back outside the packages leaves again where it uses what is gone.

Such a file is a program of its own (a benchmark, an example, a test): nothing that is delivered imports it,
and no edit keeps it in step. One about something that another batch removes cannot run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.pipeline.cut import Cut, cut
from builder.pipeline.ranges import UNKNOWN, About
from builder.pipeline.run import Recalled, Stop
from builder.pipeline.verify import output_world, problems
from builder.tree import Snapshot

BROKEN = "it uses what is gone"


def cut_to_fit(
    upstream: Snapshot,
    manifest: Manifest,
    stop: Stop | None = None,
    recall: Recalled | None = None,
    about: About = UNKNOWN,
) -> Cut:
    """Cut upstream, and again without the files given back in which a gate finds something, until none is.

    Raises BuildError as `cut` does.
    """
    leaving: dict[str, Rule] = {}
    while True:
        done = cut(upstream, manifest, stop, recall, about, leaving)
        more = _broken(done)
        if not more:
            return done
        leaving |= more


def _broken(done: Cut) -> Mapping[str, Rule]:
    """The files given back outside the packages in which a gate finds something, each with the rule by
    which it leaves."""
    back = {rule.mark: rule for rule in done.manifest.given_back}
    folders = tuple(f"{folder.rstrip('/')}/" for folder in done.manifest.packages.values())
    given = {
        path: back[decision.rule.mark]
        for path, decision in done.decided.selection.decisions.items()
        if decision.rule.mark in back and path in done.output and not path.startswith(folders)
    }
    if not given:
        return {}
    found = problems(done, output_world(done, done.manifest))
    leaving: dict[str, Rule] = {}
    for problem in (p for one in found for p in (one, *one.also)):
        path = problem.upstream.file if problem.upstream else ""
        if path in given and path not in leaving:
            reason = f"{BROKEN} ({problem.code} {problem.message})"
            leaving[path] = replace(given[path], pattern=reason, verdict="follow", batch=BASE)
    return leaving
