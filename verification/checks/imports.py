"""Every module of the emitted tree is imported in both trees; none may import worse than upstream's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verification.probe_runner import ProbeRunner
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject

#: Imported by the parent before the children start; everything imports them.
HUBS = (
    "sglang.srt.server_args",
    "sglang.srt.managers.scheduler",
    "sglang.srt.entrypoints.http_server",
    "sglang.srt.models.deepseek_v2",
)
_MACHINE = {"capability": [9, 0], "devices": 8}


def check(asker: ProbeRunner, upstream: Subject, ours: Subject, fresh: bool = False) -> Check:
    """Compare imports. `fresh`: each module in a process that has imported nothing of the tree (minutes)."""
    modules = ours.modules()
    question = {**_MACHINE, "modules": modules, "hubs": list(HUBS), "fresh": fresh}
    name = "imports-fresh" if fresh else "imports"
    answers = [asker.ask("imports", subject, name, question) for subject in (upstream, ours)]
    for answer, subject in zip(answers, (upstream, ours), strict=True):
        if answer.values is None:
            return Check(name, (), (f"the sweep of {subject.role} broke off", *answer.lines))
    theirs, mine = (answer.values or {} for answer in answers)
    known = set(upstream.modules())
    cases = [
        case(module, theirs["modules"][module] if module in known else None, mine["modules"][module])
        for module in modules
    ]
    return Check(name, tuple(cases), _registry(theirs["registry"], mine["registry"]))


def case(module: str, theirs: Sequence[str] | None, mine: Sequence[str]) -> Case:
    """Compare [verdict, message, place] of one module; `theirs` is None for a module that we add."""
    verdict, message, place = mine
    if verdict == "ok":
        return Case(module, PASSED)
    said = f"{message} ({place})" if place else message
    if theirs is not None and theirs[0] != "ok":
        # neither can be imported here: what is missing must be the same thing
        same = theirs[1] == message
        return Case(
            module, NOT_RUN if same else FAILED, (said,) if same else (said, f"upstream: {theirs[1]}")
        )
    return Case(
        module, FAILED, (said, "upstream imports it" if theirs is not None else "upstream has no such module")
    )


def _registry(theirs: Any, mine: Any) -> tuple[str, ...]:
    """Our registry must load, and offer nothing that upstream's does not."""
    if not isinstance(mine, list):
        return (f"the model registry does not load: {mine}",)
    more = sorted(set(mine) - set(theirs)) if isinstance(theirs, list) else []
    found = [f"the model registry offers {name}, upstream's does not" for name in more]
    deepseek = [name for name in theirs if name.startswith("Deepseek")] if isinstance(theirs, list) else []
    kept = [name for name in deepseek if name in mine]
    return tuple(found) if kept else (*found, "the model registry offers no DeepSeek model")
