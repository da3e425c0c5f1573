"""Within a process of a tree: records the lines that it executes, or runs with one edit.

It is imported before the tree is, by site/sitecustomize.py. A process may be ended at any time: each line is
written down when it is executed first.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

#: The tree whose lines are recorded and the folder where, as PATH:PATH; and the file of an edit.
LINES, EDIT = "VERIFICATION_LINES", "VERIFICATION_EDIT"


def begin() -> None:
    """Do what the variables say."""
    if said := os.environ.get(LINES):
        _record(*said.split(os.pathsep))
    if said := os.environ.get(EDIT):
        _edit(json.loads(Path(said).read_text()))


def recorded(folder: Path) -> dict[str, set[int]]:
    """file -> the lines that any process executed."""
    found: dict[str, set[int]] = {}
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            path, _, number = line.rpartition(":")
            if path and number:
                found.setdefault(path, set()).add(int(number))
    return found


def _record(tree: str, folder: str) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]  # since Python 3.12
    out = os.open(f"{folder}/{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def executed(code: CodeType, line: int) -> Any:
        if code.co_filename.startswith(tree):
            os.write(out, f"{code.co_filename}:{line}\n".encode())
        return monitoring.DISABLE

    monitoring.use_tool_id(monitoring.COVERAGE_ID, "verification")
    monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, executed)
    monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)


def _edit(said: dict[str, Any]) -> None:
    usual = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path != said["file"]:
            return usual(self, fullname)
        data = self.get_data(self.path)  # type: ignore[arg-type, unused-ignore]
        data = data[: said["start"]] + said["text"].encode() + data[said["end"] :]
        code: CodeType = self.source_to_code(data, said["file"])
        return code

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
