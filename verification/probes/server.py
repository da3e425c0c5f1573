"""A server of the tree, as a user starts it, on the pretended machine: what it replies to requests."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

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
    replies = {}
    with _asking(request, folder, model) as ask:
        for name, path, body, compared in asked["requests"]:
            request.alive()
            start = time.perf_counter()
            replies[name] = _compared(ask(path, _named(body, str(model))), compared)
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    request.answer({"replies": replies})


@contextlib.contextmanager
def _asking(request: Request, folder: Path, model: Path) -> Iterator[Callable[[str, Any], dict[str, Any]]]:
    """A function that asks the server, or the pair of servers."""
    words = [_named(word, str(model)) for word in request.question["words"]]
    if not request.question["pair"]:
        with running(request, folder, model, words) as url:
            yield lambda path, body: real.ask(url + path, body, _PATIENCE)
        return
    bootstrap = real.free_port()
    modes = [
        [*words, "--disaggregation-mode", mode, "--disaggregation-bootstrap-port", str(bootstrap)]
        for mode in ("prefill", "decode")
    ]
    rooms = itertools.count(1)  # room 0 stands for "nothing has arrived"

    with contextlib.ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        prefill, decode = pool.map(
            lambda words: stack.enter_context(running(request, folder, model, words)), modes
        )

        def ask(path: str, body: Any) -> dict[str, Any]:
            placed = _in_a_room(body, bootstrap, rooms)
            first = pool.submit(real.ask, prefill + path, placed, _PATIENCE)
            reply = real.ask(decode + path, placed, _PATIENCE)
            return reply | {"prefill": first.result()["status"]}

        yield ask


def _in_a_room(body: Any, port: int, rooms: Iterator[int]) -> Any:
    """A request as both servers of a pair get it: each of its texts has a room of its own."""
    if not isinstance(body, dict):
        return body
    texts = body.get("text")
    count = len(texts) if isinstance(texts, list) else 0
    found = {"bootstrap_host": "127.0.0.1", "bootstrap_port": port}
    if not count:
        return {**body, **found, "bootstrap_room": next(rooms)}
    lists = {key: [value] * count for key, value in found.items()}
    return {**body, **lists, "bootstrap_room": list(itertools.islice(rooms, count))}


@contextlib.contextmanager
def running(request: Request, folder: Path, model: Path, words: Sequence[str]) -> Iterator[str]:
    """The URL of a server that answers; in the end its processes write what they recorded.

    Raises RuntimeError when it ends before that.
    """
    port = real.free_port()
    end = folder / f"end-{port}"
    program = "verification.machine.engine_server" if request.question["engine"] else "sglang.launch_server"
    command = [
        sys.executable, "-m", program, "--model-path", str(model), "--host", "127.0.0.1",
        "--port", str(port), *words,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=folder, env=processes.environment(request.tree, request.question, end),
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        _until_ready(process, port)
        yield f"http://127.0.0.1:{port}"
        if process.poll() is not None:
            raise RuntimeError("the server ended while it was asked")
        end.touch()
        _until_ended(process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _model(asked: Mapping[str, Any], folder: Path) -> Path:
    from verification.models import adapter, configuration, tokenizer, weights

    dense = asked["layers"] - bool(asked["experts"])
    config = configuration.configuration(
        asked["architecture"], asked["layers"], dense, quantization=asked["quantization"]
    )
    config.update(asked["config"])
    path = folder / f"model-{asked['architecture']}"
    configuration.write(config, path)
    weights.write(config, path)
    tokenizer.write(path)
    for name, content in asked["files"].items():
        (folder / name).write_text(json.dumps(content))
    if asked["adapter"]:
        adapter.write(config, folder / "adapter")
    return path


def _until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/model_info", timeout=_PATIENCE).read()
            return
        time.sleep(0.2)
    raise RuntimeError("the server ended before it answered")


def _until_ended(group: int) -> None:
    """Wait until no process of a group runs, or for as long as they have."""
    for _ in range(_ENDING * 5):
        if not any(_runs(each, group) for each in psutil.process_iter()):
            return
        time.sleep(0.2)


def _runs(process: psutil.Process, group: int) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ProcessLookupError):
        return False


def _named(value: Any, model: str) -> Any:
    """A body with the model's folder where it stands for it."""
    if isinstance(value, dict):
        return {key: _named(each, model) for key, each in value.items()}
    return model if value == _MODEL else value


def _uncached(value: Any) -> Any:
    """A reply without how much of each text was cached before."""
    if isinstance(value, dict):
        return {key: _uncached(each) for key, each in value.items() if not key.startswith("cached_tokens")}
    return [_uncached(each) for each in value] if isinstance(value, list) else value


def _compared(reply: dict[str, Any], what: str) -> dict[str, Any]:
    """What is compared of a reply."""
    if what == servers.STATUS:
        return {"status": reply["status"]}
    if what == servers.TOGETHER:
        return {**reply, "body": _uncached(reply["body"])}
    if what == servers.METRICS:
        return {**reply, "body": sorted(set(_METRIC.findall(str(reply["body"]))))}
    return reply


if __name__ == "__main__":
    main()
