"""Asks probes, each in a process of its own, and keeps upstream's answers."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from verification.probes import executed
from verification.subjects import Subject

_ROOT = Path(__file__).parent
_LINES = 12  # of a log that are shown


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe said; `values` is None when it failed, and `lines` is the end of its log."""

    values: Mapping[str, Any] | None
    lines: tuple[str, ...] = ()
    seconds: float = 0.0
    kept: bool = False  # an answer of an earlier run


#: What runs in a probe's process.
_ANSWERS = ("kernels", "libraries", "machine", "models", "parts", "probes")


def digest(parts: tuple[str, ...] = ()) -> str:
    """SHA-256 over the harness itself, or over these folders of it."""
    found = hashlib.sha256()
    for path in sorted(_ROOT.rglob("*")):
        name = path.relative_to(_ROOT)
        if path.is_file() and "__pycache__" not in name.parts and (not parts or name.parts[0] in parts):
            found.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def digest_of_answers() -> str:
    """SHA-256 over what answers: a kept answer is good for as long as it stays as it is."""
    return digest(_ANSWERS)


_running: set[subprocess.Popen[bytes]] = set()


@contextlib.contextmanager
def side_by_side(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads that ask probes; an interruption ends these, and no other begins."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in tuple(_running):
            process.kill()
        raise
    finally:
        pool.shutdown()


def _status(command: Sequence[str], log: BinaryIO, environment: Mapping[str, str]) -> int:
    """The exit status of a probe's process."""
    with subprocess.Popen(
        command, cwd=_ROOT.parent, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        env=environment,
    ) as process:  # fmt: skip
        _running.add(process)
        try:
            return process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)


@dataclass(frozen=True, slots=True)
class ProbeRunner:
    """Runs probes with one Python, in folders under `work`."""

    python: Path
    work: Path  # logs, questions and answers of this run
    kept: Path  # upstream's answers of earlier runs
    harness: str  # digest_of_answers()
    seconds: int = 600  # for one probe, or for one part of one that says when a part is done
    passed: frozenset[str] = frozenset()  # variables that probes get of this environment, besides the usual
    coverage: Path | None = None  # the lines that probes execute go there, into a folder for each role

    def ask(
        self, probe: str, subject: Subject, name: str, question: Mapping[str, Any], again: bool = False
    ) -> Answer:
        """Ask `probe` about a tree. Upstream's answers are kept: they depend on nothing but the inputs.

        `again`: ask whatever is kept.
        """
        text = json.dumps(question, sort_keys=True)
        key = hashlib.sha256(f"{probe}\0{subject.tree}\0{self.harness}\0{text}".encode()).hexdigest()
        stored = self.kept / f"{key}.json.gz"
        if again:
            return self._run(probe, subject, f"{name}-again", text)
        if subject.role == "upstream" and stored.exists() and self.coverage is None:
            return Answer(json.loads(gzip.decompress(stored.read_bytes())), kept=True)
        answer = self._run(probe, subject, name, text)
        settled = answer.values is not None and not answer.values.get("unsettled")
        if subject.role == "upstream" and settled:
            stored.parent.mkdir(parents=True, exist_ok=True)
            partial = stored.with_suffix(f".{os.getpid()}")
            partial.write_bytes(gzip.compress(json.dumps(answer.values).encode(), 3, mtime=0))
            partial.replace(stored)
        return answer

    def both(
        self, probe: str, subjects: Sequence[Subject], question: Mapping[str, Any], what: str
    ) -> tuple[list[Any], tuple[str, ...]]:
        """The values of upstream and ours, and lines on which of them broke off in `what`."""
        answers = [self.ask(probe, subject, probe, question) for subject in subjects]
        lines: list[str] = []
        for answer, subject in zip(answers, subjects, strict=True):
            if answer.values is None:
                lines += [f"{what} {subject.role} broke off", *answer.lines]
        return [answer.values for answer in answers], tuple(lines)

    def _run(self, probe: str, subject: Subject, name: str, question: str) -> Answer:
        folder = self.work / name / subject.role
        shutil.rmtree(folder, ignore_errors=True)  # an earlier run's files, which servers would find again
        folder.mkdir(parents=True)
        asked, said, log = folder / "question.json", folder / "answer.json", folder / "log.txt"
        asked.write_text(question)
        command = [
            str(self.python), "-m", f"verification.probes.{probe}", "--tree", str(subject.folder),
            "--out", str(said), "--question", str(asked), "--seconds", str(self.seconds),
        ]  # fmt: skip
        start = time.monotonic()
        with log.open("wb") as lines:
            status = _status(command, lines, self._environment(subject))
        spent = round(time.monotonic() - start, 1)
        if status == 0 and said.exists():
            return Answer(json.loads(said.read_text()), seconds=spent)
        text = log.read_text(errors="replace").replace(str(subject.folder), "<tree>").rstrip()
        for folder, name in ((self.python.parents[1], "<environment>"), (_ROOT.parent, "<harness>")):
            text = text.replace(str(folder), name)
        return Answer(None, tuple(text.splitlines()[-_LINES:]), spent)

    def _environment(self, subject: Subject) -> dict[str, str]:
        """Nothing of the caller's that upstream reads, one thread, and no bytecode beside the trees."""
        passed = {"HOME", "LANG", "LC_ALL", "PATH", "TMPDIR"} | self.passed
        recorded = {executed.VARIABLE: str(self.coverage / subject.role)} if self.coverage else {}
        return {
            **recorded,
            **{key: value for key, value in os.environ.items() if key in passed},
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONPYCACHEPREFIX": str(self.kept.parent / "bytecode"),
        }
