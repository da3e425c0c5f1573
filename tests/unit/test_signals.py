"""A request to end is not lost where Python swallows exceptions."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: A finalizer swallows the exception; the hook that schedules it again takes longer than the timer.
PROGRAM = """
import os, signal, sys, time
from builder.cli import signals

signals.listen()
hook, timer = sys.unraisablehook, signal.setitimer

def slow(*args):
    signal.setitimer = timer
    timer(*args)
    time.sleep({delay})

signal.setitimer = slow

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass

try:
    one = Swallows()
    del one
    time.sleep(5)
except signals.Ended as ended:
    signals.ignore_signals()
    print("ended by", ended.args[0])
else:
    print("lost")
"""


@pytest.mark.parametrize("delay", [0, 0.1])
def test_a_request_in_a_finalizer_comes_again_however_long_the_hook_takes(delay: float) -> None:
    command = [sys.executable, "-c", PROGRAM.format(delay=delay)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "ended by 15\n", done.stderr
