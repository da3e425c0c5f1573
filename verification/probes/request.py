"""What a probe is asked, and where its answer goes."""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.probes import executed

_BETWEEN = 1.0  # seconds between two looks for who asks


@dataclass(frozen=True, slots=True)
class Request:
    """One run of one probe on one tree."""

    tree: Path
    out: Path
    question: dict[str, Any]
    seconds: int = 0  # without an answer or a sign of life before the probe gives up; 0: never

    def alive(self) -> None:
        """Begin the seconds anew: a part of the work is done, however slow the machine is."""
        if self.seconds:
            # the tracebacks of all threads are worth more than a silent kill
            faulthandler.dump_traceback_later(self.seconds, exit=True)

    def answer(self, values: dict[str, Any]) -> None:
        """Write the answer, whole or not at all."""
        partial = self.out.with_suffix(".partial")
        partial.write_text(json.dumps(values))
        partial.replace(self.out)


def received() -> Request:
    """The request on the command line: --tree, --out, --question FILE, --seconds before it gives up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--question", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=0)
    given = parser.parse_args()
    # classes that models bring are copied there before they are imported
    os.environ["HF_MODULES_CACHE"] = str(given.out.parent.resolve() / "modules")
    os.environ["SGLANG_JIT_CACHE_DIR"] = str(given.out.parent.resolve() / "kernels")
    request = Request(given.tree.resolve(), given.out, json.loads(given.question.read_text()), given.seconds)
    request.alive()
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    executed.begin(request.tree)
    return request


def place_of(error: BaseException, tree: str) -> str:
    """`FILE:LINE` where the code of a tree met an error last; empty where none of its code did."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(tree)]
    return f"{frames[-1].filename[len(tree) + 1 :]}:{frames[-1].lineno}" if frames else ""


def _leave_with(asks: int) -> None:
    """Nobody reads the answer when who asked has ended."""
    while os.getppid() == asks:
        time.sleep(_BETWEEN)
    os._exit(1)
