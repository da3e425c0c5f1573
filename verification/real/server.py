"""A server of one tree on loopback: what it answers, and what it takes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.real import options
from verification.real.place import Place
from verification.real.process import refused

_PATIENCE = 240  # seconds until it answers
_PASSING = (
    "id", "created", "rid", "decode_throughput", "prefill_launch_delay", "last_gen_throughput",
    "weight_version", "sglang_version", "version", "port", "nccl_port", "model_path", "tokenizer_path",
    "served_model_name", "model", "root", "owned_by",
)  # fmt: skip
#: How names of points and lengths of time end.
_TIMES = ("_ts", "_at", "_time", "_latency", "_duration")
#: A line of the tree's code, as a message of FastAPI names it.
_PLACE = re.compile(r'File "[^"]*/python/([^"]*)", line \d+')
_IDENTIFIER = re.compile(r"\b[0-9a-f]{32}\b")
_PROCESSES = ("scheduler", "detokenizer", "launch_server", "tracker")
_TOOL = {
    "type": "function",
    "function": {
        "name": "weather", "strict": True,
        "parameters": {"type": "object", "properties": {"sunny": {"type": "boolean"}}, "required": ["sunny"]},
    },
}  # fmt: skip
_SCHEMA = {
    "type": "json_schema",
    "json_schema": {"name": "city", "schema": {
        "type": "object", "properties": {"sunny": {"type": "boolean"}}, "required": ["sunny"]}},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    place: Place
    process: subprocess.Popen[bytes]
    port: int
    seconds: float  # from its start to its first answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class NoServer(RuntimeError):
    """A server that does not answer: whose it is, and the end of its log."""

    def __init__(self, said: str, refused: bool) -> None:
        super().__init__(said)
        self.refused = refused  # by its tree


_given: set[int] = set()
_giving = threading.Lock()


def free_port() -> int:
    """A port that nobody listens on, so low that what servers add to it is a port too; given once."""
    while True:
        port = random.randrange(20000, 30000)
        with _giving, socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port


@contextlib.contextmanager
def running(place: Place, model: Path, words: Sequence[str], log: Path) -> Iterator[Server]:
    """Start a server, and end it with all its processes.

    Raises NoServer when it does not answer, RuntimeError when it has ended before it was asked for the last
    time or its parser cannot be asked, LookupError when that has none of a word's names.
    """
    port = free_port()
    words = options.worded(place, words)
    command = place.command(
        "sglang.launch_server", "--model-path", str(model), "--host", "127.0.0.1", "--port", str(port), *words
    )
    log.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    started = place.start(command, log)
    try:
        while True:
            ended = started.poll() is not None
            if ended or time.perf_counter() - start > _PATIENCE:
                text = log.read_text(errors="replace")
                said = [f"the server of {place.role} does not answer", *text.splitlines()[-15:]]
                raise NoServer("\n".join(said), ended and refused(text, place.tree))
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health_generate", timeout=5).read()
                if _listens(started.pid, port):  # and not a server that was faster to take the port
                    break
            time.sleep(0.1)
        yield Server(place, started, port, round(time.perf_counter() - start, 2))
        if started.poll() is not None:
            raise RuntimeError(f"the server of {place.role} ended while it was asked")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        time.sleep(1)  # until the driver has the memory back


def _listens(root: int, port: int) -> bool:
    """Whether a process or one below it listens on a port."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(root)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                # its name before psutil 6
                asked = each.net_connections if hasattr(each, "net_connections") else each.connections
                if any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in asked("inet")):
                    return True
    return False


def corpus() -> list[tuple[str, str, dict[str, Any] | None]]:
    """Requests: a name, a path, and a body to post."""
    greedy = {"temperature": 0, "max_tokens": 24}
    talk = [{"role": "user", "content": "Is it sunny in Paris?"}]
    chat = {"model": "m", "messages": talk, **greedy}
    sampling = {"temperature": 0, "max_new_tokens": 16}
    found: list[tuple[str, str, dict[str, Any] | None]] = [
        ("health", "/health", None),
        ("model info", "/get_model_info", None),
        ("models", "/v1/models", None),
        ("generate", "/generate", {"text": "Hello", "sampling_params": sampling, "return_logprob": True}),
        ("generate two", "/generate", {"text": ["Hello", "World, hello"], "sampling_params": sampling}),
        ("generate stream", "/generate", {"text": "Hello", "sampling_params": sampling, "stream": True}),
        ("regex", "/generate", {"text": "Yes?", "sampling_params": {**sampling, "regex": "(yes|no)!"}}),
        ("completion", "/v1/completions", {"model": "m", "prompt": "Once upon", "logprobs": 2, **greedy}),
        ("chat", "/v1/chat/completions", chat),
        ("chat logprobs", "/v1/chat/completions", {**chat, "logprobs": True, "top_logprobs": 2}),
        ("chat stream", "/v1/chat/completions", {**chat, "stream": True}),
        ("thoughts apart", "/v1/chat/completions", {**chat, "separate_reasoning": True}),
        ("thoughts within", "/v1/chat/completions", {**chat, "separate_reasoning": False}),
        ("schema", "/v1/chat/completions", {**chat, "response_format": _SCHEMA, "max_tokens": 64}),
        ("tool required", "/v1/chat/completions",
         {**chat, "tools": [_TOOL], "tool_choice": "required", "max_tokens": 96}),
        ("tool named", "/v1/chat/completions",
         {**chat, "tools": [_TOOL], "max_tokens": 96,
          "tool_choice": {"type": "function", "function": {"name": "weather"}}}),
        ("tool stream", "/v1/chat/completions",
         {**chat, "tools": [_TOOL], "tool_choice": "required", "max_tokens": 96, "stream": True}),
        ("no such model length", "/v1/completions", {"model": "m", "prompt": "x" * 9000, **greedy}),
        ("not a body", "/v1/chat/completions", {"messages": "nothing"}),
        ("flush", "/flush_cache", {}),
    ]  # fmt: skip
    return found


def answers(server: Server) -> dict[str, Any]:
    """What the server answers to the corpus, without what passes: times, names, identifiers."""
    return {name: ask(server.url + path, body) for name, path, body in corpus()}


def ask(url: str, body: dict[str, Any] | None, patience: float = 60) -> dict[str, Any]:
    """The status and the lasting part of a reply. Raises OSError when there is none in so many seconds."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=patience) as reply:
            status, text = reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    return {"status": status, "body": lasting(_parsed(text))}


def _parsed(text: str) -> Any:
    if text.startswith("data:"):
        parts = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
        return [json.loads(part) if part.startswith("{") else part for part in parts]
    try:
        return json.loads(text)
    except ValueError:
        return text


def lasting(value: Any) -> Any:
    """A reply without what differs from run to run or with a tree's place and lines: identifiers, times."""
    if isinstance(value, str):
        return _IDENTIFIER.sub("ID", _PLACE.sub(r"\1", value))
    if isinstance(value, dict):
        kept = (key for key in sorted(value) if key not in _PASSING and not key.endswith(_TIMES))
        return {key: lasting(value[key]) for key in kept}
    if isinstance(value, list):
        return [lasting(each) for each in value]
    return value


def taken(server: Server, device: str) -> dict[str, Any]:
    """Bytes of memory of every process of the server, and of a GPU (its index) by all processes."""
    import psutil

    root = psutil.Process(server.process.pid)
    processes: list[list[Any]] = []
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            words = " ".join(process.cmdline())
            name = next(
                (n for n in ("scheduler", "detokenizer", "launch_server", "tracker") if n in words), "other"
            )
            processes.append([name, process.memory_info().rss])
    asked = ["nvidia-smi", f"--id={device}", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    used = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    return {
        "rss": sorted(processes), "rss in all": sum(each[1] for each in processes),
        "gpu": int(used[0]) << 20,
    }  # fmt: skip


def bench(
    server: Server, client: Place, model: Path, out: Path, requests: int = 128, length: int = 64
) -> dict[str, Any]:
    """What upstream's own bench_serving measures against the server; the client is always upstream's.

    Each request has 256 tokens and asks for `length`.
    """
    command = client.command(
        "sglang.bench_serving", "--backend", "sglang", "--host", "127.0.0.1", "--port", str(server.port),
        "--dataset-name", "random-ids", "--random-input-len", "256", "--random-output-len", str(length),
        "--random-range-ratio", "1.0", "--num-prompts", str(requests), "--seed", "1",
        "--tokenizer", str(model), "--model", str(model), "--output-file", str(out), "--disable-tqdm",
        "--warmup-requests", "4",
    )  # fmt: skip
    out.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            command, cwd=client.work, env=client.environment(), capture_output=True, text=True, timeout=240
        )
    except subprocess.TimeoutExpired:
        return {"error": ["it took more than 240 seconds"]}
    if not out.exists():
        return {"error": (done.stderr or done.stdout).splitlines()[-8:]}
    said = json.loads(out.read_text().splitlines()[-1])
    kept = (
        "completed", "total_input_tokens", "total_output_tokens", "request_throughput", "input_throughput",
        "output_throughput", "mean_ttft_ms", "mean_itl_ms", "mean_e2e_latency_ms",
    )  # fmt: skip
    return {key: said[key] for key in kept if key in said}
