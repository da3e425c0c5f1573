"""Runs the command line again and again, each time in a fork, with a fault at one of its system calls.

Reads a case in JSON from each line of stdin, and prints what came of it; its argument is a folder for
the output of the runs. A fork spares the start of Python
and the imports, so that hundreds of cases are affordable.

A case has `words` (the command line), `folder` (where it runs), `at` (the number of the call, from 0; -1
for none), `fault` (a signal or an errno, by name), and `swap` (whether folders can be exchanged).
"""

from __future__ import annotations

import builtins
import errno
import functools
import importlib
import io
import json
import mmap
import os
import pkgutil
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Case = dict[str, Any]

_MAKE = ("mkdir", "link", "symlink", "rename", "replace", "write", "open")
_REST = ("unlink", "rmdir", "chmod", "fchmod", "scandir", "listdir", "close", "pipe", "fork")
CALLS = (*_MAKE, *_REST)
#: which calls an error can come from; those that are not here can fail with any
_FROM = {
    "ENOSPC": _MAKE,
    "EROFS": (*_MAKE, "unlink", "rmdir", "chmod", "fchmod"),
    "EXDEV": ("link", "rename", "replace"),
    "EMFILE": ("open", "scandir", "listdir", "pipe"),
    "EACCES": (*_MAKE, "unlink", "rmdir", "scandir", "listdir"),
    "EIO": tuple(name for name in CALLS if name not in ("close", "fork")),
    "EAGAIN": ("fork",),
}
#: errors that stay: what fails once for the lack of room or rights fails again
_LASTING = ("ENOSPC", "EROFS", "EMFILE")

_counter = mmap.mmap(-1, 8)


def _number() -> int:
    found: int = struct.unpack("q", _counter[:8])[0]
    return found


def _count(number: int) -> None:
    _counter[:8] = struct.pack("q", number)


def _install(case: Case) -> None:
    """Count the calls of this process, and let the fault happen at the one that the case names."""
    at, fault = case["at"], case["fault"]
    done = [False]

    def before(name: str) -> None:
        number = _number()
        _count(number + 1)
        if at < 0 or number < at:
            return
        if fault.startswith("SIG"):
            if number == at:
                os.kill(os.getpid(), getattr(signal, fault))
        elif name in _FROM[fault] and (not done[0] or fault in _LASTING):
            done[0] = True
            code = getattr(errno, fault)
            raise OSError(code, os.strerror(code))

    def wrap(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def counted(*args: Any, **more: Any) -> Any:
            if name == "open" and fault in ("ENOSPC", "EROFS") and not _writes(args, more):
                return call(*args, **more)
            if os.getpid() == own:  # a process that the builder forked has faults of its own
                before(name)
            return call(*args, **more)

        return counted

    own = os.getpid()
    for name in CALLS:
        setattr(os, name, wrap(name, getattr(os, name)))
    io.open = builtins.open = wrap("open", io.open)  # type: ignore[assignment]


def _writes(args: tuple[Any, ...], more: dict[str, Any]) -> bool:
    how = args[1] if len(args) > 1 else more.get("mode", more.get("flags", "r"))
    return bool(how & (os.O_WRONLY | os.O_RDWR)) if isinstance(how, int) else not str(how).startswith("r")


def _run(case: Case) -> None:
    """Become the builder of this case."""
    from builder import cli
    from builder.emit import write as writing

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(case[name], os.O_WRONLY | os.O_TRUNC), number)
    os.chdir(case["folder"])
    sys.argv = ["builder", *case["words"]]
    if not case["swap"]:
        writing.write = functools.partial(writing.write, swap=lambda one, other: False)
    _install(case)
    cli.main()


def _serve(folder: Path) -> Case | None:
    """Answer the cases; None at the end of them, or the case, in the process that is to run it."""
    files = {name: str(folder / f".said.{name}") for name in ("stdout", "stderr")}
    for line in sys.stdin:
        case = json.loads(line) | files
        for path in files.values():
            Path(path).write_bytes(b"")
        _count(0)
        pid = os.fork()
        if pid == 0:
            return case
        _, status = os.waitpid(pid, 0)
        answer = {"status": os.waitstatus_to_exitcode(status), "calls": _number()}
        said = {name: Path(path).read_text("utf-8", "replace") for name, path in files.items()}
        print(json.dumps(answer | said), flush=True)
    return None


def _preload() -> None:
    import builder

    for module in pkgutil.walk_packages(builder.__path__, "builder."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


if __name__ == "__main__":
    _preload()
    mine = _serve(Path(sys.argv[1]))
    if mine is not None:
        _run(mine)
