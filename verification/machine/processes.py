"""Processes that SGLang starts by itself: each enters the pretended machine when it imports SGLang."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

_HERE = Path(__file__).resolve().parent
_VARIABLE = "VERIFICATION_WORLD"
_BETWEEN = 0.2  # seconds between two looks for the end
_WORKERS = 300  # seconds that a server waits for its workers
_CHILDREN = 60  # seconds that a process's children have to write what they recorded


def environment(tree: Path, question: Mapping[str, Any], end: Path) -> dict[str, str]:
    """The variables with which processes enter the machine of a question, with real numbers on the CPU.

    They leave when the file `end` is there, or when this process has ended.
    """
    world = {
        "tree": str(tree), "capability": question["capability"], "devices": question["devices"],
        "end": str(end), "asks": os.getpid(),
    }  # fmt: skip
    given = os.environ.get("PYTHONPATH", "")
    paths = [str(_HERE / "site"), str(tree / "python"), *(part for part in given.split(os.pathsep) if part)]
    return {
        **os.environ,
        **question.get("environment", {}),
        "TORCH_EXTENSIONS_DIR": str(end.parent / "extensions"),
        "PYTHONPATH": os.pathsep.join(paths),
        "VERIFICATION_ROOT": str(_HERE.parents[1]),
        _VARIABLE: json.dumps(world),
    }


def enter_with_sglang(world: Mapping[str, Any]) -> None:
    """Enter `world` as soon as this process looks for the package sglang; most of its helpers never do."""
    sys.meta_path.insert(0, _AtFirst("sglang", lambda: _enter(world)))


class _AtFirst(importlib.abc.MetaPathFinder):
    """Finds nothing, and calls a function the first time that a package is looked for."""

    def __init__(self, package: str, call: Callable[[], None]) -> None:
        self._package, self._call = package, call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == self._package:
            sys.meta_path.remove(self)
            self._call()
        return None


def _wait_for_workers() -> None:
    """Workers of a server import SGLang before they answer; that takes longer than uvicorn waits."""
    from uvicorn.supervisors.multiprocess import Process

    name = "_healthcheck" if hasattr(Process, "_healthcheck") else "ping"
    answers = getattr(Process, name)
    setattr(Process, name, lambda self, timeout=0: answers(self, max(timeout, _WORKERS)))


def _enter(world: Mapping[str, Any]) -> None:
    from verification.machine import setup
    from verification.probes import executed

    tree = Path(world["tree"])
    executed.begin(tree)
    threading.Thread(target=_leave_at, args=(Path(world["end"]), world["asks"]), daemon=True).start()
    setup.pretend(tree, tuple(world["capability"]), world["devices"], numbers=True)

    import torch

    from verification.libraries import mooncake
    from verification.machine import absent, distributed, interpreter, recording
    from verification.machine.cuda import Placed
    from verification.machine.trace import TRACE

    _wait_for_workers()
    absent.install(("mooncake",), {})
    mooncake.install()
    torch.set_num_threads(1)  # sums do not depend on how many cores are free
    interpreter.install()
    distributed.alone()
    recording.capture_custom_operators()
    recording.capture_launches(None, run=True)
    TRACE.values = True  # memory that is not written yet is zero

    def begin() -> None:
        """Modes are a thread's own, and stay for as long as it lives."""
        Placed("cpu").__enter__()
        recording.Recording(None).__enter__()
        torch.set_grad_enabled(False)

    begin()
    _in_threads(begin)


def _in_threads(begin: Callable[[], None]) -> None:
    real = threading.Thread.run

    def run(self: threading.Thread) -> None:
        begin()
        real(self)

    threading.Thread.run = run  # type: ignore[method-assign]


def _leave_at(end: Path, asks: int) -> None:
    from verification.probes import executed

    while not end.exists() and _lives(asks):
        time.sleep(_BETWEEN)
    executed.end()
    # SGLang has a process killed when its parent ends: the parent leaves last
    patience = time.monotonic() + _CHILDREN
    while time.monotonic() < patience and _children_live():
        time.sleep(_BETWEEN)
    os._exit(0)


def _children_live() -> bool:
    """Return whether one runs that does not wait for this one's end, as the tracker of resources does."""
    for child in psutil.Process().children():
        try:
            if _lives(child.pid) and not any("resource_tracker" in word for word in child.cmdline()):
                return True
        except psutil.Error:
            continue
    return False


def _lives(process: int) -> bool:
    """Return whether it runs. One that ended may keep its number until somebody asks what came of it."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
