"""The servers that are started on a CPU: what they are asked, and how their replies are compared."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from verification import probe_runner, servers
from verification.checks import servers as check
from verification.libraries import mooncake
from verification.machine import engine_server, processes
from verification.probe_runner import Answer
from verification.probes import server as probe
from verification.real import server as real
from verification.results import FAILED, NOT_RUN, PASSED

ROOT = Path(__file__).resolve().parents[2]


def said(**replies: str) -> Answer:
    return Answer({"replies": {name: {"status": 200, "body": body} for name, body in replies.items()}})


class TestServers:
    def test_each_has_its_words_and_the_requests_of_its_groups(self, tmp_path: Path) -> None:
        file = tmp_path / "servers.yaml"
        file.write_text(
            "always: --device cuda\n"
            "servers:\n  one: {words: --dp-size 2, groups: [a], experts: true}\n"
            "requests:\n  a: {first: {path: /x}, second: {path: /y, body: {n: 1}, compare: status}}\n"
        )
        (one,) = servers.read(file)
        assert one.words == ("--device", "cuda", "--dp-size", "2")
        question = one.question()
        assert question["words"] == [*one.words, "--skip-server-warmup"]
        assert replace(one, warms_up=True).question()["words"] == [*one.words]
        assert question["requests"] == [["first", "/x", None, "all"], ["second", "/y", {"n": 1}, "status"]]
        assert question["experts"] is True

    def test_a_group_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        file = tmp_path / "servers.yaml"
        file.write_text("always: ''\nservers: {one: {words: '', groups: [b]}}\nrequests: {a: {}}\n")
        with pytest.raises(KeyError):
            servers.read(file)

    def test_those_of_the_file_are_chosen_by_the_start_of_their_names(self) -> None:
        names = [each.name for each in servers.read()]
        assert len(set(names)) == len(names)
        assert [each.name for each in servers.chosen(("v3-",))] == [n for n in names if n.startswith("v3-")]
        assert servers.chosen(("v9",)) == ()

    def test_what_lies_beside_the_model_is_part_of_the_question(self) -> None:
        by_name = {each.name: each.question() for each in servers.read()}
        assert by_name["v1-adapters"]["adapter"]
        assert not by_name["v1"]["adapter"]
        assert set(by_name["v1-cache-in-3fs"]["files"]) == {"hf3fs.json"}
        assert by_name["v1"]["files"] == {}

    def test_a_server_starts_without_the_flags_that_the_output_lost(self) -> None:
        requests = (servers.Request("a", "/a"), servers.Request("b", "/b"))
        watched = servers.Server("watched", ("--metrics", "--level", "-1", "--tp-size", "2"), requests)
        plain = servers.Server("plain", ("--tp-size", "2"), requests)
        adapted = servers.Server("adapted", ("--lora-paths", "a"), requests, adapter=True)
        paired = servers.Server("paired", (), requests, pair=True)
        every = (watched, plain, adapted, paired)
        assert servers.fitting(every, (), ()) == (list(every), {})
        kept, left = servers.fitting(every, {"--metrics", "--level", "--disaggregation-mode"}, {"/a"})
        assert [(each.name, each.words) for each in kept] == [
            ("watched", ("--tp-size", "2")),
            ("plain", ("--tp-size", "2")),
            ("adapted", ("--lora-paths", "a")),
        ]
        assert all(each.requests == requests[1:] for each in kept)
        assert left == {"paired": "the output has no --disaggregation-mode"}
        assert set(servers.fitting(every[::-1], {"--metrics", "--level"}, ())[1]) == {"watched"}
        assert set(servers.fitting(every, {"--lora-paths"}, ())[1]) == {"adapted"}

    def test_no_request_of_a_server_takes_the_place_of_another(self) -> None:
        for server in servers.read():
            names = [each.name for each in server.requests]
            assert len(set(names)) == len(names), server.name


class TestStore:
    """Mooncake's store, by the addresses of what is written to it and read from it."""

    def test_what_was_written_is_read_and_what_was_not_is_told(self) -> None:
        store = mooncake._Store()
        given, taken = ctypes.create_string_buffer(b"page", 4), ctypes.create_string_buffer(4)
        assert store.batch_put_from(["a"], [ctypes.addressof(given)], [4]) == [0]
        assert store.batch_is_exist(["a", "b"]) == [1, 0]
        place = ctypes.addressof(taken)
        assert store.batch_get_into(["b", "a"], [place, place], [4, 4]) == [-1, 4]
        assert taken.raw == b"page"
        assert store.remove_all() == 1
        assert store.is_exist("a") == 0


class TestTools:
    """What stands for the compiler of a machine."""

    NINJA = Path(servers.__file__).parent / "machine" / "tools" / "ninja"

    def _make(self, folder: Path, **environment: str) -> str:
        (folder / "a.ninja").write_text("build made.so: link a.o\ndefault made.so\n")
        real = folder / "bin" / "ninja"
        real.parent.mkdir()
        real.write_text("#!/bin/sh\necho compiled > made.so\n")
        real.chmod(0o755)
        path = f"{self.NINJA.parent}:{self.NINJA.parent}:{real.parent}:{os.environ['PATH']}"
        subprocess.run(["ninja", "-f", "a.ninja"], cwd=folder, env={"PATH": path, **environment}, check=True)
        assert {each.name for each in folder.iterdir()} == {"a.ninja", "bin", "made.so"}
        return (folder / "made.so").read_text()

    def test_what_would_be_compiled_is_there_and_empty(self, tmp_path: Path) -> None:
        assert self._make(tmp_path) == ""

    def test_a_server_may_compile(self, tmp_path: Path) -> None:
        assert self._make(tmp_path, VERIFICATION_COMPILES="1") == "compiled\n"


class TestEngine:
    """The engine of a program, behind HTTP."""

    class Engine:
        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self.loop = loop

        def plain(self, number: int) -> int:
            return number + 1

        def stream(self) -> Iterator[int]:
            yield from (1, 2)

        async def awaited(self, number: int) -> int:
            return number + 1

        async def awaited_stream(self) -> AsyncIterator[int]:
            async def parts() -> AsyncIterator[int]:
                yield 1
                yield 2

            return parts()

    @pytest.fixture
    def engine(self) -> Iterator[Engine]:
        with contextlib.closing(asyncio.new_event_loop()) as loop:
            yield self.Engine(loop)

    def test_a_method_gets_the_keys_of_the_body(self, engine: Engine) -> None:
        assert engine_server.call(engine, "plain", {"number": 1}) == 2

    def test_a_stream_is_the_list_of_its_parts(self, engine: Engine) -> None:
        assert engine_server.call(engine, "stream", {}) == [1, 2]

    def test_what_must_be_awaited_is(self, engine: Engine) -> None:
        assert engine_server.call(engine, "awaited", {"number": 1}) == 2
        assert engine_server.call(engine, "awaited_stream", {}) == [1, 2]


def test_the_folder_of_the_model_stands_for_its_name_in_words_and_bodies() -> None:
    words = ["--draft", "MODEL", {"model_path": "MODEL", "other": "MODELS", "n": 1}]
    named = ["--draft", "m", {"model_path": "m", "other": "MODELS", "n": 1}]
    assert [probe._named(word, "m") for word in words] == named


class TestCases:
    def test_the_same_replies_pass_and_another_fails(self) -> None:
        theirs, mine = said(a="x", b="y"), said(a="x", b="z")
        verdicts = {case.name: case.verdict for case in check.cases("v3", [theirs], [mine])}
        assert verdicts == {"v3: a": PASSED, "v3: b": FAILED}

    def test_what_upstream_does_not_repeat_has_not_run(self) -> None:
        (case,) = check.cases("v3", [said(a="x"), said(a="y")], [said(a="z")] * 2)
        assert case.verdict == NOT_RUN

    def test_what_ours_does_not_repeat_has_not_run_and_what_it_repeats_fails(self) -> None:
        upstream = [said(a="x")] * 2
        (once,) = check.cases("v3", upstream, [said(a="z"), said(a="x")])
        assert (once.verdict, once.lines[0]) == (NOT_RUN, "ours does not repeat itself")
        (always,) = check.cases("v3", upstream, [said(a="z"), said(a="z")])
        assert always.verdict == FAILED

    def test_only_texts_that_are_asked_together_may_differ_and_only_by_rounding(self) -> None:
        def numbers(number: float) -> Answer:
            return Answer({"replies": {"a": {"status": 200, "body": [{"logprobs": [[number, 7]]}]}}})

        for other, together, verdict in (
            (-4.2933, {"a"}, PASSED), (-4.2933, set(), FAILED), (-4.4, {"a"}, FAILED)
        ):  # fmt: skip
            upstream, ours = [numbers(-4.2936)] * 2, [numbers(other)] * 2
            (case,) = check.cases("v3", upstream, ours, frozenset(together))
            assert case.verdict == verdict

    def test_a_server_that_ours_alone_does_not_start_fails(self) -> None:
        none = Answer(None, ("it ended",))
        (failed,) = check.cases("v3", [said(a="x")], [none])
        assert (failed.verdict, failed.lines[-1]) == (FAILED, "it ended")
        (not_run,) = check.cases("v3", [none], [said(a="x")])
        assert not_run.verdict == NOT_RUN


def test_a_line_of_a_tree_in_a_reply_is_told_by_its_path_alone() -> None:
    one = real.lasting({"message": 'File "/a/b/python/sglang/srt/x.py", line 12, in f'})
    two = real.lasting({"message": 'File "/c/python/sglang/srt/x.py", line 9, in f'})
    assert one == two == {"message": "sglang/srt/x.py, in f"}


def test_an_identifier_within_a_message_is_no_difference() -> None:
    one, two = (real.lasting(f"no room: rid='{each * 32}'") for each in "ab")
    assert one == two == "no room: rid='ID'"


def test_a_process_enters_the_machine_when_it_imports_sglang_and_not_before(tmp_path: Path) -> None:
    (tmp_path / "python" / "sglang").mkdir(parents=True)
    (tmp_path / "python" / "sglang" / "__init__.py").write_text("print('imported')")
    code = (
        "from verification.machine import processes\n"
        "processes._enter = lambda world: print('entered', world['devices'])\n"
        "import json, os\n"
        "processes.enter_with_sglang(json.loads(os.environ['VERIFICATION_WORLD']))\n"
        "import csv; print('began'); import sglang\n"
    )
    question = {"capability": [9, 0], "devices": 8}
    end = tmp_path / "end"
    environment = processes.environment(tmp_path, question, end)
    del environment["VERIFICATION_ROOT"]  # its own beginning would enter a real one
    environment["PYTHONPATH"] = f"{tmp_path / 'python'}:{ROOT}"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["began", "entered 8", "imported"]


class TestRequests:
    def test_each_text_of_a_pair_has_a_room_of_its_own(self) -> None:
        rooms = itertools.count(1)
        one = probe._in_a_room({"text": "a"}, 7, rooms)
        assert (one["bootstrap_room"], one["bootstrap_port"]) == (1, 7)
        two = probe._in_a_room({"text": ["a", "b"]}, 7, rooms)
        assert (two["bootstrap_room"], two["bootstrap_port"]) == ([2, 3], [7, 7])
        assert probe._in_a_room(None, 7, rooms) is None

    def test_of_metrics_their_names_are_compared(self) -> None:
        said = {"status": 200, "body": "# HELP a x\n# TYPE b gauge\nb 1.0\n# TYPE a counter\na 2\n"}
        assert probe._compared(said, servers.METRICS)["body"] == ["a", "b"]
        assert probe._compared(said, servers.STATUS) == {"status": 200}
        assert probe._compared(said, servers.ALL) == said

    def test_of_texts_that_may_be_computed_together_what_was_cached_is_not_compared(self) -> None:
        body = [{"cached_tokens": 4, "cached_tokens_details": {}, "text": "x"}]
        assert probe._compared({"status": 200, "body": body}, "together")["body"] == [{"text": "x"}]


@pytest.mark.skipif(sys.platform != "linux", reason="process_vm_writev is Linux's")
def test_the_stand_in_for_mooncake_writes_into_another_process() -> None:
    code = (
        "import ctypes, sys\n"
        "from verification.libraries.mooncake import _Engine\n"
        "engine = _Engine(); engine.initialize()\n"
        "memory = ctypes.create_string_buffer(3000)\n"
        "print(engine.get_rpc_port(), ctypes.addressof(memory), flush=True)\n"
        "sys.stdin.readline(); print(memory.raw[:3] + memory.raw[-3:])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin and other.stdout
        port, address = map(int, other.stdout.readline().split())
        given = ctypes.create_string_buffer(b"abc" * 1000, 3000)
        here = ctypes.addressof(given)
        # more pieces than the system takes at once
        steps = range(0, 3000, 2)
        done = mooncake._Engine().batch_transfer_sync_write(
            f"127.0.0.1:{port}", [here + n for n in steps], [address + n for n in steps], [2] * len(steps)
        )
        told = other.communicate("\n")[0]
    assert done == 0
    assert told.strip() == repr(b"abcabc")


def test_processes_leave_when_what_asks_them_has_ended(tmp_path: Path) -> None:
    asks = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    code = (
        "import threading, time\nfrom pathlib import Path\nfrom verification.machine import processes\n"
        f"processes._leave_at(Path({str(tmp_path / 'end')!r}), {asks.pid})\n"
    )
    leaves = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={**os.environ})
    time.sleep(1)
    assert leaves.poll() is None
    asks.kill()  # and nobody asks what came of it
    assert leaves.wait(20) == 0
    asks.wait()


def test_a_probe_leaves_when_who_asked_it_has_ended(tmp_path: Path) -> None:
    probe_code = (
        "import os, sys, threading, time\nfrom verification.probes import request\nrequest._BETWEEN = 0.1\n"
        "threading.Thread(target=request._leave_with, args=(os.getppid(),), daemon=True).start()\n"
        "print(os.getpid(), flush=True)\ntime.sleep(60)\n"
    )
    asks_code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {probe_code!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", asks_code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as asks:
        assert asks.stdout
        probe_id = int(asks.stdout.readline())
        asks.kill()
    for _ in range(100):
        if not psutil.pid_exists(probe_id) or psutil.Process(probe_id).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.1)
    pytest.fail("it still runs")


def test_an_interrupted_run_ends_its_probes_and_begins_no_other(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def one(number: int) -> int:
        with (tmp_path / f"log-{number}").open("wb") as log:
            begun.touch()
            command = [sys.executable, "-c", "import time; time.sleep(60)"]
            return probe_runner._status(command, log, dict(os.environ))

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), probe_runner.side_by_side(1) as pool:
        waiting = [pool.submit(one, number) for number in range(3)]
        while not begun.exists() or not probe_runner._running:
            time.sleep(0.05)
        raise KeyboardInterrupt
    assert time.monotonic() - start < 30
    assert waiting[0].result() < 0
    assert waiting[1].cancelled() and waiting[2].cancelled()


def test_a_process_leaves_after_its_children_have_written_what_they_recorded(tmp_path: Path) -> None:
    end, written = tmp_path / "end", tmp_path / "written"
    code = (
        "import os, time\nfrom pathlib import Path\nfrom verification.machine import processes\n"
        f"if not os.fork():\n    time.sleep(1)\n    Path({str(written)!r}).touch()\n    os._exit(0)\n"
        f"processes._leave_at(Path({str(end)!r}), os.getppid())\n"
    )
    end.touch()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
    assert written.exists()


def test_a_process_does_not_wait_for_the_tracker_of_its_resources(tmp_path: Path) -> None:
    end = tmp_path / "end"
    code = (
        "import os\nfrom multiprocessing import resource_tracker\nfrom pathlib import Path\n"
        "from verification.machine import processes\nresource_tracker.ensure_running()\n"
        f"processes._leave_at(Path({str(end)!r}), os.getppid())\n"
    )
    end.touch()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=processes._CHILDREN / 2)
