"""Runs upstream's own tests against a tree, each file in a child, and tells how each test ended.

The files are laid out as in upstream's repository, with the tree's own folders beside them. What tests
share, sglang.test, is upstream's. A name that a test imports and that the tree does not have is there, and
fails when it is used: so tests of what is left run.
"""

from __future__ import annotations

import ast
import asyncio
import faulthandler
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from verification.machine import world
from verification.probes import executed
from verification.probes.request import received

_PATIENCE = 120  # seconds for one file
_LIBRARIES = ("transformers", "fastapi", "pydantic", "zmq", "openai", "IPython", "xgrammar")


def main() -> None:
    request = received()
    asked = request.question
    entered = world.enter(request, ("server_args", "managers.schedule_batch", "entrypoints.openai.protocol"))
    for name in _LIBRARIES:
        importlib.import_module(name)
    source = Path(asked["source"])
    sys.meta_path.insert(0, _TestsOfUpstream(source / "python"))
    root = request.out.parent.resolve() / "repository"
    _lay_out(root, request.tree, source, asked["files"])
    _stand_in((root / file["path"] for file in asked["files"] if (root / file["path"]).exists()), load=True)
    _stand_in((source / "python/sglang/test").rglob("*.py"), load=False)
    _tokenizer_for_any(request.out.parent.resolve() / "tokenizer")
    results: dict[str, dict[str, list[str]]] = {}
    for file in asked["files"]:
        if (root / file["path"]).exists():
            results[file["path"]] = _in_child(root, file, request.out.parent)
    ended = {how for file in results.values() for how, _ in file.values()}
    unsettled = bool(ended & {"timed out", "crashed"})
    request.answer({"files": results, "world": entered.describe(), "unsettled": unsettled})


def _tokenizer_for_any(folder: Path) -> None:
    """A tokenizer and a configuration of ours stand for those that tests would fetch."""
    from transformers import AutoConfig, AutoTokenizer

    from verification.models import configuration, tokenizer

    configuration.write(configuration.configuration("DeepseekV3ForCausalLM"), folder)
    tokenizer.write(folder)
    for kind in (AutoTokenizer, AutoConfig):
        kind.from_pretrained = _local(kind.from_pretrained, folder)


def _local(real: Any, folder: Path) -> Any:
    def from_pretrained(name: Any, *args: Any, **kwargs: Any) -> Any:
        return real(name if Path(str(name)).exists() else str(folder), *args, **kwargs)

    return from_pretrained


class _TestsOfUpstream(importlib.abc.MetaPathFinder):
    """Finds sglang.test in upstream's tree: what tests share belongs to the tests."""

    def __init__(self, python: Path) -> None:
        self._python = python

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "sglang.test" and not name.startswith("sglang.test."):
            return None
        base = self._python / name.replace(".", "/")
        if base.with_suffix(".py").exists():
            return importlib.util.spec_from_file_location(name, base.with_suffix(".py"))
        if not base.is_dir():
            return None
        if (base / "__init__.py").exists():
            return importlib.util.spec_from_file_location(
                name, base / "__init__.py", submodule_search_locations=[str(base)]
            )
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(base)]
        return spec


class _Gone:
    """A name that is gone from the tree. Predicates of other platforms are false, all else fails."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> bool:
        if self._name.rpartition(".")[2].startswith("is_"):
            return False
        raise AssertionError(f"{self._name} is gone")


def _stand_in(paths: Iterable[Path], load: bool) -> None:
    """Put what files import and modules lack into the modules; without `load`, into those that are loaded."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sglang.srt")):
                continue
            try:
                module = (
                    importlib.import_module(node.module or "") if load else sys.modules[node.module or ""]
                )
            except (ImportError, KeyError):
                continue  # the test says so itself
            for name in node.names:
                if not hasattr(module, name.name):
                    setattr(module, name.name, _Gone(f"{node.module}.{name.name}"))


def _lay_out(root: Path, tree: Path, source: Path, files: list[dict[str, str]]) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "examples").symlink_to(tree / "examples")
    for file in files:
        target = root / file["path"]
        if (source / file["path"]).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file["path"], target)


class _Outcomes:
    """A plugin of pytest that keeps how each test ended: by its phase that went worst."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool | None:
        """Coroutines are run to their end."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        names = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.found[report.nodeid or "collection"] = ["error", _last(report.longreprtext)]

    def pytest_runtest_logreport(self, report: Any) -> None:
        before = self.found.get(report.nodeid, ["", ""])[0]
        if (report.when == "call" or report.outcome != "passed") and before != "failed":
            why = "" if report.outcome == "passed" else _last(report.longreprtext)
            self.found[report.nodeid] = [report.outcome, why]


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("E ")] or text.splitlines()
    return lines[0][:300] if lines else ""


def _in_child(root: Path, file: dict[str, str], folder: Path) -> dict[str, list[str]]:
    said = folder / "file.json"
    said.unlink(missing_ok=True)
    process = os.fork()
    if not process:
        _run(root, file, said, folder / "suite.log")
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        done, _ = os.waitpid(process, os.WNOHANG)
        if done:
            return json.loads(said.read_text()) if said.exists() else {"all": ["crashed", ""]}
        time.sleep(0.05)
    os.kill(process, signal.SIGUSR1)  # where it hangs
    time.sleep(0.5)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return {"all": ["timed out", f"{_PATIENCE} s"]}


def _run(root: Path, file: dict[str, str], said: Path, log: Path) -> None:
    os.setpgid(0, 0)
    faulthandler.register(signal.SIGUSR1, file=log.with_suffix(".hung").open("w"))
    with log.open("ab") as lines:
        os.dup2(lines.fileno(), 1)
        os.dup2(lines.fileno(), 2)
    import pytest

    from verification.machine.cuda import Placed

    os.chdir(root)
    outcomes = _Outcomes()
    words = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:faulthandler",
        "--rootdir",
        str(root),
        "-c",
        "pytest.ini",
    ]
    if file["without"]:
        words += ["-k", f"not {file['without']}"]
    with Placed("cpu"):
        pytest.main([*words, file["path"]], plugins=[outcomes])
    said.write_text(json.dumps(outcomes.found))
    executed.end()
    os._exit(0)


if __name__ == "__main__":
    main()
