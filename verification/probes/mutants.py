"""Tries mutants of a tree on trials: parts of a server, and one forward pass.

The tree is imported once. Each trial of each mutant runs in a fork of its own, in which the functions of the
mutated file got the code of the mutated text: so nothing that one trial leaves behind is seen by another.

The question has `forward` or `arguments`, what the probe of that name is asked, or else parts are tried. It
has `record` (which lines does each trial execute?) or `mutants`, each with its file, edit and trials.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import select
import signal
import sys
import time
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from verification.machine import world
from verification.probes.request import Request, received

_SLACK = 10  # a mutant may take so much longer than the tree itself, and a second

Trial = Callable[[], Any]


def main() -> None:
    request = received()
    trials, described = _trials(request)
    if request.question.get("record"):
        request.answer({"lines": _recorded(request, trials)})
        return
    _import(request.question["mutants"])
    normal = {}
    seconds = {}
    for name, trial in trials.items():
        request.alive()
        start = time.monotonic()
        first, again = in_fork(trial, request.seconds), in_fork(trial, request.seconds)
        seconds[name] = (time.monotonic() - start) / 2
        # what is not the same twice decides nothing, and neither does what fails anyway
        if first == again and first[0] == "done" and not first[1].get("error"):
            normal[name] = first
    found = {}
    for mutant in request.question["mutants"]:
        request.alive()
        found[mutant["name"]] = _tried(mutant, trials, normal, seconds, request.tree)
        print(mutant["name"], found[mutant["name"]], flush=True)  # how far it is, in the log
    unstable = sorted(set(trials) - set(normal))
    request.answer({"mutants": found, "unstable": unstable, "world": described})


def _trials(request: Request) -> tuple[dict[str, Trial], dict[str, Any]]:
    """The trials by name, and what is to be known of the world that they run in."""
    if "arguments" in request.question:
        from verification.probes import arguments

        commands = arguments.prepare(request.question["arguments"], request)
        return {name: functools.partial(arguments.parsed, command, str(request.tree))
                for name, command in commands.items()}, {}  # fmt: skip
    from verification.machine.trace import TRACE

    entered = world.enter(request)
    if "forward" in request.question:
        from verification.probes import forward

        def passes() -> Any:
            said = forward.report(request.question["forward"], request.out.parent, entered)
            return {"outcome": said["outcome"], "events": said["events"]}

        return {"forward": passes}, entered.describe()
    from verification.probes import parts

    registered = parts.prepare(request)
    TRACE.values = True

    def trial(part: Any) -> Trial:
        def run() -> Any:
            with entered.inside():
                return parts.attempt(part, str(request.tree))

        return run

    wanted = request.question.get("only", registered)
    return {name: trial(registered[name]) for name in wanted}, entered.describe()


def _import(mutants: Iterable[Mapping[str, Any]]) -> None:
    """Functions of modules that only a trial imports have to live before it."""
    for path in sorted({mutant["path"] for mutant in mutants}):
        name = path.removeprefix("python/").removesuffix(".py").removesuffix("/__init__")
        importlib.import_module(name.replace("/", "."))


def _recorded(request: Request, trials: Mapping[str, Trial]) -> dict[str, dict[str, list[int]]]:
    """trial -> file of the tree -> lines that it executes, for those that run through."""
    import coverage

    recording = coverage.Coverage(
        data_file=None, config_file=False, source=[str(request.tree / "python")], messages=False
    )
    recording.start()
    for name, trial in trials.items():
        request.alive()
        recording.switch_context(name)
        trial()
    recording.stop()
    data = recording.get_data()
    found: dict[str, dict[str, list[int]]] = {name: {} for name in trials}
    for file in data.measured_files():
        path = Path(file).relative_to(request.tree).as_posix()
        for line, contexts in data.contexts_by_lineno(file).items():
            for name in contexts:
                if name in found:
                    found[name].setdefault(path, []).append(line)
    return found


def _tried(
    mutant: Mapping[str, Any], trials: Mapping[str, Trial], normal: Mapping[str, Any],
    seconds: Mapping[str, float], tree: Path,
) -> dict[str, Any]:  # fmt: skip
    """Which trial tells the mutant from the tree first, the fastest ones before the others."""
    file = tree / mutant["path"]
    data = file.read_bytes()
    text = (data[: mutant["start"]] + mutant["text"].encode() + data[mutant["end"] :]).decode()
    ran = []
    for name in sorted((each for each in mutant["trials"] if each in normal), key=seconds.__getitem__):

        def run(trial: Trial = trials[name]) -> Any:
            if not replace(str(file), text):
                raise LookupError("no function has this code")
            return trial()

        said = in_fork(run, _SLACK * (seconds[name] + 1))
        if said[0] == "failed" and "no function has this code" in said[1]:
            return {"not applied": said[1]}
        ran.append(name)
        if said != normal[name]:
            return {"killed by": name, "how": _how(normal[name], said)}
    return {"survived": ran}


def _how(normal: Any, said: Any) -> Any:
    """What differs, for the check to describe."""
    if said[0] != "done":
        return {"ended": said}
    theirs, mine = normal[1], said[1]
    if "facts" in mine and "facts" in theirs:
        theirs, mine = theirs["values"] | theirs["facts"], mine["values"] | mine["facts"]
    names = [name for name in sorted({*theirs, *mine}) if theirs.get(name) != mine.get(name)]
    return {"differs": names[:1], "error": mine.get("error", "")}


def replace(file: str, text: str) -> int:
    """Give the live functions of a file the code that a text has for them. How many have other code now."""
    made: dict[tuple[str, int], types.CodeType] = {}

    def collect(code: types.CodeType) -> None:
        for each in code.co_consts:
            if isinstance(each, types.CodeType):
                made[each.co_qualname, each.co_firstlineno] = each
                collect(each)

    collect(compile(text, file, "exec", dont_inherit=True))
    changed = 0
    for one in gc.get_objects():
        if not isinstance(one, types.FunctionType) or one.__code__.co_filename != file:
            continue
        new = made.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
        if new is not None and new != one.__code__ and len(new.co_freevars) == len(one.__code__.co_freevars):
            one.__code__ = new
            changed += 1
    return changed


def in_fork(work: Trial, seconds: float) -> list[Any]:
    """["done", what it gives] of work in a fork; ["failed", why], or ["late"] when it takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(work, writing)
    os.close(writing)
    data, until = b"", time.monotonic() + seconds
    late = False
    with os.fdopen(reading, "rb", 0) as answers:
        while True:
            ready, _, _ = select.select([answers], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
                late = True
                break
            piece = answers.read(1 << 20)
            if not piece:
                break
            data += piece
    _, status = os.waitpid(child, 0)
    if late:
        return ["late"]
    return json.loads(data) if data else ["failed", f"ended with {status}"]


def _work(work: Trial, writing: int) -> None:
    """In the fork: it never returns."""
    try:
        said: list[Any] = ["done", work()]
    except BaseException as error:
        said = ["failed", f"{type(error).__name__}: {error}"[:300]]
    try:
        sys.stdout.flush()
        with os.fdopen(writing, "wb") as out:
            out.write(json.dumps(said).encode())
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
