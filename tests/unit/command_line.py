"""Runs the command line in the process of the tests: one of its own needs a second to start and to import."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

import click.formatting
from click.testing import CliRunner

from builder import __main__ as program
from builder.cli import output

#: Variables that Python or the C library read once, when a process starts.
READ_AT_START = ("PYTHON", "LANG", "LC_", "TZ")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def run_here(
    words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What `python -m builder WORDS` prints in this folder and environment, and its exit status.

    The streams are no terminal. Nothing of the run stays behind but what pure functions remember.
    """
    with (
        _restored(),
        CliRunner().isolation() as streams,
        patch.object(click.formatting, "FORCED_WIDTH", 78),  # as where there is no terminal
        patch.dict(os.environ, environment, clear=True),
        patch.object(sys, "argv", [program.__file__, *words]),
    ):
        wrappers = sys.stdout, sys.stderr  # the command line may replace them
        os.chdir(folder)
        status = program._run()
        for wrapper in wrappers:
            wrapper.flush()
        stdout, stderr = (stream.getvalue().decode("utf-8", "surrogateescape") for stream in streams[:2])
    return subprocess.CompletedProcess(list(words), status, stdout, stderr)


@contextlib.contextmanager
def _restored() -> Iterator[None]:
    """A command line as in a new process inside; afterwards what it changes in a process is as before."""
    folder, hook, tests = Path.cwd(), sys.unraisablehook, sys.modules["__main__"]
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    sys.modules["__main__"] = program  # usage errors name the program by its package
    gc.freeze()  # what the tests hold is not walked where a verb collects
    try:
        with (
            patch.object(output, "settings", output._Settings()),
            patch.object(output, "_sources", {}),
            patch.object(output, "_BEGAN", time.monotonic()),
        ):
            yield
    finally:
        os.chdir(folder)
        sys.unraisablehook = hook
        sys.modules["__main__"] = tests
        for number, handler in handlers.items():
            signal.signal(number, handler)
        gc.enable()  # the verbs collect no garbage by themselves
        gc.unfreeze()
