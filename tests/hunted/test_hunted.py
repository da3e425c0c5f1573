"""Runs the programs that hunts for unsound shapes found, before and after they are specialized.

A page has `programs`, and above them the `texts` that several of them have.
A program under `open` is one that still behaves otherwise, and names its shape in docs/soundness.md. Whoever
mends it takes the line out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from small_package import facts_of, without_layout

HERE = Path(__file__).parent
#: What is true on the target; a program may state more.
FACTS = """\
facts:
  predicates:
    plat.is_hip: {value: false, optional: not every program asks}
    plat.is_new: {value: true, optional: not every program asks}
"""
#: What the platform says at run time, as the facts have it.
PLATFORM = "def is_hip(): return False\ndef is_new(): return True\n"
DRIVER = "import pkg.mod as m\nprint(repr(m.main()))"


PAGES: dict[str, list[dict[str, Any]]] = {
    page.stem: yaml.load(page.read_text(encoding="utf-8"), yaml.CSafeLoader)["programs"]
    for page in sorted(HERE.glob("*.yaml"))
}


def test_the_page_of_soundness_has_the_shape_of_every_open_program() -> None:
    page = (HERE.parents[1] / "docs/soundness.md").read_text(encoding="utf-8")
    shapes = {case["open"] for cases in PAGES.values() for case in cases if "open" in case}
    assert [shape for shape in sorted(shapes) if f"**{shape}**" not in page] == []


def _cases() -> Iterator[Any]:
    for page, cases in PAGES.items():
        for case in cases:
            reason = case.get("open")
            marks = [pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)] if reason else []
            yield pytest.param(case, id=f"{page}: {case['name']}", marks=marks)


@pytest.mark.parametrize("case", list(_cases()))
def test_a_program_behaves_as_before_or_the_build_stops(
    case: Mapping[str, Any], programs: Programs, tmp_path: Path
) -> None:
    kept = {"pkg/__init__.py": b"", "pkg/mod.py": case["mod"].encode()}
    kept |= {path: text.encode() for path, text in case.get("files", {}).items()}
    gone = {path: text.encode() for path, text in case.get("gone", {}).items()}
    result = without_layout(kept, gone, facts_of(FACTS + case.get("facts", "")))
    if result.leftovers:
        return
    around = {"plat.py": PLATFORM.encode()}
    around |= {path: text.encode() for path, text in case.get("extra", {}).items()}
    before = {**kept, **gone} if case.get("ref_gone", True) else kept
    drive = dedent(case.get("drive", DRIVER))
    after = programs.behaviour(tmp_path / "after", {**kept, **result.files, **around}, drive)
    assert after == programs.behaviour(tmp_path / "before", {**before, **around}, drive)


class Programs:
    """Runs programs in forks of one process, each as if Python had just started."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-B", "-c", SERVER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip

    def behaviour(self, root: Path, files: Mapping[str, bytes], drive: str) -> tuple[str, str]:
        """What the driver prints, and the last line of its traceback."""
        for path, data in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        Path(f"{root}.drive").write_text(drive, "utf-8")
        assert self._server.stdin is not None and self._server.stdout is not None
        print(root, file=self._server.stdin, flush=True)
        status = int(self._server.stdout.readline())
        assert status >= 0, f"ended by signal {-status}"
        stdout, stderr = (Path(f"{root}.{name}").read_text("utf-8") for name in ("stdout", "stderr"))
        return stdout, stderr.strip().splitlines()[-1].replace(str(root), "") if status else ""

    def end(self) -> None:
        self._server.communicate()


#: The process that forks. It imports only what Python has imported when it starts.
SERVER = """\
import os, sys
from _signal import alarm

def serve():
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            return line.rstrip()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    os._exit(0)

root = serve()
alarm(60)
files = os.devnull, root + ".stdout", root + ".stderr"
for number, path in enumerate(files):
    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
os.chdir(root)
with open(root + ".drive", encoding="utf-8") as file:
    code = compile(file.read(), "<string>", "exec")
for name in ("serve", "alarm", "files", "number", "path", "name", "file", "os", "sys"):
    globals().pop(name)
exec(code)
"""


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    found = Programs()
    yield found
    found.end()
