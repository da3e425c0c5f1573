"""Imports every module that it is given, each in a child of its own, with the large ones loaded before.

The parent imports the hubs, which everything imports; children then need milliseconds. With `fresh`, the
parent imports only other people's packages, and every module starts from nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from verification.machine import setup
from verification.probes import executed
from verification.probes.request import received

_LIBRARIES = ("torch", "transformers", "triton", "numpy", "fastapi", "pydantic", "zmq", "openai", "xgrammar")
_CHILDREN = 2
_PATIENCE = 300  # seconds for one module: some compile C++


def main() -> None:
    request = received()
    asked = request.question
    setup.pretend(request.tree, tuple(asked["capability"]), asked["devices"], numbers=False)
    for name in _LIBRARIES:
        importlib.import_module(name)
    results: dict[str, list[str]] = {}
    for name in [] if asked["fresh"] else asked["hubs"]:
        # a hub that fails must not take the others along
        results[name] = _attempt(name, str(request.tree))
        request.alive()
    rest = [name for name in asked["modules"] if name not in results]
    results.update(_in_children(rest, str(request.tree), request.alive))
    # a busy machine decides what takes too long: such an answer is not kept
    unsettled = any(each[0] in ("timeout", "crash") for each in results.values())
    answer = {"modules": dict(sorted(results.items())), "registry": _registry(), "unsettled": unsettled}
    request.answer(answer)


def _attempt(name: str, tree: str) -> list[str]:
    """[verdict, message, place] of one import."""
    try:
        importlib.import_module(name)
        return ["ok", "", ""]
    except SystemExit as error:
        return ["exit", str(error), ""]
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{f.filename[len(tree) + 1 :]}:{f.lineno}" for f in frames if f.filename.startswith(tree)]
        message = f"{type(error).__name__}: {error}"
        message = message.replace(tree, "<tree>").replace(sys.prefix, "<environment>")
        return ["fail", message[:300], places[-1] if places else ""]


def _in_children(names: list[str], tree: str, alive: Callable[[], None]) -> dict[str, list[str]]:
    """[verdict, message, place] of each module; says after each that the sweep is `alive`."""
    waiting, results = list(names), {}
    running: dict[int, tuple[str, int, float]] = {}  # by pipe: module, process, start
    killed: set[str] = set()
    while waiting or running:
        while waiting and len(running) < _CHILDREN:
            name = waiting.pop(0)
            pipe, process = _start(name, tree)
            running[pipe] = (name, process, time.monotonic())
        ready, _, _ = select.select(list(running), [], [], 1.0)
        for pipe in ready:
            name, process, _ = running.pop(pipe)
            data = b"".join(iter(lambda pipe=pipe: os.read(pipe, 65536), b""))  # type: ignore[misc]
            os.close(pipe)
            status = os.waitpid(process, 0)[1]
            late = ["timeout", f"{_PATIENCE} s", ""] if name in killed else ["crash", f"status {status}", ""]
            results[name] = json.loads(data) if data else late
            alive()
        for name, process, start in running.values():
            if time.monotonic() - start > _PATIENCE:
                os.kill(process, signal.SIGKILL)  # its pipe ends, and it is counted above
                killed.add(name)
    return results


def _start(name: str, tree: str) -> tuple[int, int]:
    pipe, end = os.pipe()
    process = os.fork()
    if process:
        os.close(end)
        return pipe, process
    os.close(pipe)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.write(end, json.dumps(_attempt(name, tree)).encode())
    executed.end()
    os._exit(0)


def _registry() -> Any:
    """Architectures that the model registry offers; upstream's registry swallows errors of imports."""
    try:
        from sglang.srt.models.registry import ModelRegistry
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return sorted(ModelRegistry.get_supported_archs())


if __name__ == "__main__":
    main()
