"""Asks a module of the harness a question, in a process that imports one tree."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verification.real.place import Place

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^ *File "([^"]+)", line \d+.*\n *(.*)$', re.MULTILINE)


def ask(
    place: Place, module: str, question: Mapping[str, Any], folder: Path, seconds: float
) -> dict[str, Any]:
    """The answer of `python -m MODULE QUESTION ANSWER`, or `error` with the end of its log, and `refused`.

    The process and all that it started are ended then, or after `seconds`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked, answer, log = folder / "question.json", folder / "answer.json", folder / "log.txt"
    asked.write_text(json.dumps(question))
    answer.unlink(missing_ok=True)
    command = place.command(module, str(asked.resolve()), str(answer.resolve()))
    process = place.start(command, log)
    late = []
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        late = [f"it was ended after {seconds:g} seconds"]
    with contextlib.suppress(ProcessLookupError):  # an engine has processes of its own
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if answer.exists():
        found: dict[str, Any] = json.loads(answer.read_text())
        return found
    text = log.read_text(errors="replace")
    lines = text.replace(str(place.tree), "<tree>").splitlines()[-12:]
    return {"error": [*lines, *late], "refused": not late and refused(text, place.tree)}


def refused(log: str, tree: Path) -> bool:
    """Return whether a tree itself declines: each traceback of the log ends at its own `raise` or `assert`.

    Whatever else ends a process is for the harness or the machine to mend: a name that the tree does not
    have, a package that is missing, a time that is too short.
    """
    frames = [_FRAME.findall(part) for part in log.split(_TRACEBACK)[1:]]
    return bool(frames) and all(
        found and Path(found[-1][0]).is_relative_to(tree) and found[-1][1].startswith(("raise", "assert"))
        for found in frames
    )
