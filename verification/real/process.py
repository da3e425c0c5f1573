"""Asks a module of the harness a question, in a process that imports one tree."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verification.real.place import Place


def ask(
    place: Place, module: str, question: Mapping[str, Any], folder: Path, seconds: float
) -> dict[str, Any]:
    """The answer of `python -m MODULE QUESTION ANSWER`, or `error` with the end of its log.

    The process and all that it started are ended then, or after `seconds`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked, answer, log = folder / "question.json", folder / "answer.json", folder / "log.txt"
    asked.write_text(json.dumps(question))
    answer.unlink(missing_ok=True)
    command = place.command(module, str(asked.resolve()), str(answer.resolve()))
    process = place.start(command, log)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    with contextlib.suppress(ProcessLookupError):  # an engine has processes of its own
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if answer.exists():
        found: dict[str, Any] = json.loads(answer.read_text())
        return found
    return {"error": log.read_text(errors="replace").replace(str(place.tree), "<tree>").splitlines()[-12:]}
