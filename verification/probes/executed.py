"""Records which lines of the tree a probe executes, where VERIFICATION_COVERAGE names a folder."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import Any

VARIABLE = "VERIFICATION_COVERAGE"
#: What the data files of all processes are called, before a suffix of their own.
DATA = "lines"

_recordings: list[Any] = []


def begin(tree: Path) -> None:
    """Record from now on, if the folder is named."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    if sys.version_info >= (3, 12):  # costs next to nothing there
        os.environ.setdefault("COVERAGE_CORE", "sysmon")
    import coverage

    recording = coverage.Coverage(
        data_file=str(Path(folder) / DATA),
        data_suffix=True,
        config_file=False,
        source=[str(tree / "python")],
        messages=False,
    )
    recording.start()
    _recordings.append(recording)
    atexit.register(end)


def end() -> None:
    """Write what was recorded; a process that leaves with `os._exit` calls it before."""
    while _recordings:
        recording = _recordings.pop()
        recording.stop()
        recording.save()
