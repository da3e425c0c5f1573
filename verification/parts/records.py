"""What a server writes down: requests, how long functions and transfers take, and profiles."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from verification.parts.events import clock, plain
from verification.parts.registry import Found, part
from verification.parts.versions import first


@dataclasses.dataclass
class _Said:
    """A request, as far as its record goes."""

    rid: str
    text: str
    more: Any = None


@part("records-of-requests")
def requests() -> Found:
    """A request becomes JSON: long texts and lists keep their ends, secrets stay out, objects become text."""
    from sglang.srt.utils import request_logger

    convert = request_logger._transform_data_for_logging
    long = "abcdefghij" * 3
    given = {
        "text": long, "list": list(range(30)), "pair": (1, "two"), "nothing": None, "flag": True, "half": 0.5,
        "inside": _Said("r", long, {"deep": [long]}), "object": torch.float32, "secret": 1,
    }  # fmt: skip
    short = convert(given, 8, {"secret"})
    whole = convert(given, skip_names={"text"})
    written: list[Any] = []
    with mock.patch.object(
        request_logger, "log_json", lambda targets, name, data: written.append([name, data])
    ):
        for level in range(4):
            logger = request_logger.RequestLogger(True, level, "json", None)
            request = _Said("one", "hello", [1, 2])
            logger.log_received_request(request)
            logger.log_finished_request(request, {"text": "bye", "meta_info": {"e2e_latency": 1.0}})
    texts = ["hello" in json.dumps(each) for each in written]
    return Found(
        {
            "both ends": short["text"] == "abcd...ghij"
            and short["list"] == [0, 1, 2, 3, "...", 26, 27, 28, 29],
            "no secret": "secret" not in short and "text" not in whole,
            "it is JSON": json.loads(json.dumps(short)) == short,
            "texts by level": texts == [False] * 4 + [True] * 4,
        },
        {"short": short, "whole": whole, "written": written},
    )


class _Histogram:
    """Keeps what is observed, by name."""

    seen: list[Any]

    def __init__(self, name: str, *args: Any, **more: Any) -> None:
        self.seen = []

    def labels(self, name: str) -> Any:
        return SimpleNamespace(observe=lambda seconds: self.seen.append([name, seconds]))


@part("records-of-times")
def times() -> Found:
    """How long a function takes, of either kind, with an error too, under its own name or another."""
    timed = first("time_func_latency", "sglang.srt.metrics.func_timer", "sglang.srt.observability.func_timer")
    module = sys.modules[timed.__module__]

    @timed
    def plainly(x: int) -> int:
        return 1 // x

    @timed(name="other")
    async def later(x: int) -> int:
        return 1 // x

    def failed(call: Any) -> bool:
        with contextlib.suppress(ZeroDivisionError):
            call()
            return False
        return True

    before = plainly(1), asyncio.run(later(1))
    unmeasured = mock.patch.multiple(module, enable_metrics=False, FUNC_LATENCY=None)
    with unmeasured, mock.patch("prometheus_client.Histogram", _Histogram):
        module.enable_func_timer()
        after = plainly(1), asyncio.run(later(1))
        errors = failed(lambda: plainly(0)), failed(lambda: asyncio.run(later(0)))
        seen = module.FUNC_LATENCY.seen
    return Found(
        {
            "the same answers": before == after == (1, 1), "the same errors": errors == (True, True),
            "all are timed": [name for name, _ in seen] == ["plainly", "other"] * 2,
            "no time is negative": all(seconds >= 0 for _, seconds in seen),
        }
    )  # fmt: skip


@part("records-before-a-crash")
def crash() -> Found:
    """What was asked lately and what is not finished goes to a file, once."""
    from sglang.srt.managers.tokenizer_manager import TokenizerManager

    def state(text: str, finished: bool, said: list[Any]) -> Any:
        times = SimpleNamespace(set_finished_time=lambda: None, created_time=1.0, finished_time=2.0)
        return SimpleNamespace(
            obj=text, finished=finished, out_list=said, created_time=1.0,
            time_stats=times, get_crash_dump_output=dict,
        )  # fmt: skip

    with tempfile.TemporaryDirectory() as name:
        told = SimpleNamespace(model="m", watermark_config=None)
        server = SimpleNamespace(
            crash_dump_folder="", crash_dump_performed=False, crash_dump_request_list=[], rid_to_state={},
            server_args=told, _server_args_for_dump=lambda: told, _config_updates={},
            _dump_config_snapshot=dict,
        )  # fmt: skip

        def files() -> list[Path]:
            """What is there after one more try."""
            TokenizerManager.dump_requests_before_crash(server, "host")
            return sorted(Path(name).rglob("*.pkl"))

        nowhere = files()
        server.crash_dump_folder = name
        nobody = files()
        server.crash_dump_performed = False
        server.crash_dump_request_list = [("a", {}, 1.0, 2.0)]
        server.rid_to_state = {
            "b": state("b", False, [{"text": "x"}, {"text": "xy"}]), "c": state("c", False, []),
            "d": state("d", True, [{}]),
        }  # fmt: skip
        (file,) = files()
        written = file.read_bytes()
        again = files()
        kept = pickle.loads(written)
        place = str(file.parent.relative_to(name))
    return Found(
        {
            "nowhere to write": not nowhere, "nobody asked": not nobody, "once": again == [file],
            "who": [each[0] for each in kept["requests"]] == ["a", "b", "c"], "where": place == "host",
            "the arguments": kept["server_args"] == told,
        },
        {"kept": plain([each[:2] for each in kept["requests"]])},
    )  # fmt: skip


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """The folder is where relative names begin."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@part("records-of-a-profile")
def profile() -> Found:
    """A function runs under torch's profiler; what it did and the size of its input go to files."""
    run = first("pytorch_profile", "sglang.srt.utils.common")
    common = sys.modules[run.__module__]
    with tempfile.TemporaryDirectory() as name, _inside(name), mock.patch.object(common, "step_counter", 7):
        answer = run("add", torch.add, torch.ones(2), torch.ones(2), data_size=3)
        step = common.step_counter
        files = sorted(each.name for each in Path("trace").iterdir())
        size = json.loads(Path("trace/size_7.json").read_text("utf-8"))
        seen = "aten::add" in Path("trace/add_7.json").read_text("utf-8")
    return Found(
        {"the answer": answer.tolist() == [2.0, 2.0], "the size": size == {"size": 3}, "what it did": seen},
        {"files": files, "next": step},
    )


class _Moment:
    """An event of a GPU, by a clock that goes on by one."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.at = 0.0

    def record(self) -> None:
        import time

        self.at = time.perf_counter()

    def synchronize(self) -> None:
        """It is over already."""

    def elapsed_time(self, other: _Moment) -> float:
        return other.at - self.at


@part("records-of-transfers")
def transfers() -> Found:
    """How many tokens go in a millisecond, where somebody wants to read it."""
    timed = first("debug_timing", "sglang.srt.utils.common")
    common = sys.modules[timed.__module__]
    lines: list[str] = []
    moved = timed(lambda self, indices=(): len(indices))
    loud = SimpleNamespace(isEnabledFor=lambda level: level >= logging.DEBUG, debug=lines.append)
    quiet = SimpleNamespace(isEnabledFor=lambda level: False, debug=lines.append)
    with clock(), mock.patch("torch.cuda.Event", _Moment):
        answers = []
        for logger in (quiet, loud):
            with mock.patch.object(common, "logger", logger):
                answers += [moved(None, [1, 2]), moved(None, indices=[1]), moved(None)]
    return Found({"answers": answers == [2, 1, 0] * 2, "once each": len(lines) == 3}, {"lines": lines})
