"""A server of the tree, as a user starts it, on the pretended machine: what it replies to requests."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verification import servers
from verification.machine import processes
from verification.probes.request import Request, received
from verification.real import server as real

_PATIENCE = 300  # seconds for one reply
_ENDING = 60  # seconds that all processes have to write what they recorded
_METRIC = re.compile(r"^# TYPE (\S+)", re.MULTILINE)
#: Stands for the model's folder in a request.
_MODEL = "MODEL"


def main() -> None:
    request = received()
    asked = request.question
    folder = request.out.parent.resolve()
    # the same relative name in both trees' runs: paths are in the replies that are compared
    model = _model(asked, folder).relative_to(folder)
    with running(request, folder, model) as port:
        replies = {}
        for name, path, body, compared in asked["requests"]:
            request.alive()
            start = time.perf_counter()
            replies[name] = _reply(f"http://127.0.0.1:{port}{path}", _named(body, str(model)), compared)
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    request.answer({"replies": replies})


@contextlib.contextmanager
def running(request: Request, folder: Path, model: Path) -> Iterator[int]:
    """The port of a server that answers; its processes write what they recorded, and end.

    Raises RuntimeError when it ends before that.
    """
    end = folder / "end"
    end.unlink(missing_ok=True)
    port = real.free_port()
    command = [
        sys.executable, "-m", "sglang.launch_server", "--model-path", str(model), "--host", "127.0.0.1",
        "--port", str(port), *request.question["words"],
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=folder, env=processes.environment(request.tree, request.question, end),
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        _until_ready(process, port)
        yield port
        if process.poll() is not None:
            raise RuntimeError("the server ended while it was asked")
        end.touch()
        _until_ended(process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _model(asked: Mapping[str, Any], folder: Path) -> Path:
    from verification.models import configuration, tokenizer, weights

    dense = 0 if asked["experts"] else 1
    config = configuration.configuration(asked["architecture"], 1, dense, quantization=asked["quantization"])
    config.update(asked["config"])
    path = folder / f"model-{asked['architecture']}"
    configuration.write(config, path)
    weights.write(config, path)
    tokenizer.write(path)
    return path


def _until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/model_info", timeout=_PATIENCE).read()
            return
        time.sleep(0.2)
    raise RuntimeError("the server ended before it answered")


def _until_ended(group: int) -> None:
    """Wait until no process of a group is left, or for as long as they have."""
    for _ in range(_ENDING * 5):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(group, os.WNOHANG)
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.2)


def _named(value: Any, model: str) -> Any:
    """A body with the model's folder where it stands for it."""
    if isinstance(value, dict):
        return {key: _named(each, model) for key, each in value.items()}
    return model if value == _MODEL else value


def _reply(url: str, body: Any, compared: str) -> dict[str, Any]:
    reply = real.ask(url, body, _PATIENCE)
    if compared == servers.STATUS:
        return {"status": reply["status"]}
    if compared == servers.METRICS:
        return {"status": reply["status"], "body": sorted(set(_METRIC.findall(str(reply["body"]))))}
    return reply


if __name__ == "__main__":
    main()
