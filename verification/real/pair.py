"""Prefill on one GPU, decode on another, of one tree: the keys and values travel between two servers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

from verification import gpu
from verification.real import compare, server
from verification.real.matrix import SPARSE, V3, V32
from verification.real.place import Place
from verification.real.server import Server
from verification.results import FAILED, NOT_RUN, Case

_TEXTS = ("Hello", "Is it sunny in Paris?", "Once upon a time " * 12, "One, two, three, " * 40)
_SAMPLING = {"temperature": 0, "max_new_tokens": 16, "ignore_eos": True}
_ROUNDS = 2
#: Both are on this machine, which may have no other network, and no InfiniBand for Mooncake.
_LOOPBACK = {"SGLANG_HOST_IP": "127.0.0.1", "MC_FORCE_TCP": "1"}
_TILELANG = ("--nsa-prefill-backend", "tilelang", "--nsa-decode-backend", "tilelang")


@dataclass(frozen=True, slots=True)
class Pair:
    """A model and how both trees serve it; `upstream` are words that only upstream needs, to do the same."""

    name: str
    architecture: str
    words: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()  # texts


PAIRS = (
    Pair("v3", V3, ("--attention-backend", "triton")),
    # Its index of keys travels too, and selects only from more than 2,048 tokens.
    Pair("v32", V32, upstream=_TILELANG, environment=SPARSE, more=("One, two, three, " * 160,)),
)


def name(backend: str, served: Pair) -> str:
    """What carries keys and values, and what is served."""
    return f"{backend}-{served.name}"


def cases(
    places: Sequence[Place], asked: Sequence[tuple[str, Pair]], models: Mapping[str, Path],
    words: Sequence[str], logs: Path, jobs: int, deadline: float, keep: Callable[[list[Case]], None],
) -> list[Case]:  # fmt: skip
    """Every backend with every model, `jobs` at a time; `keep` gets what is known so far.

    Upstream's two servers, ours, and upstream's again run at once.
    """
    upstream, ours = places
    turns = {"upstream": upstream, "ours": ours, "upstream again": upstream}
    found: dict[str, list[Case]] = {}

    def one(each: tuple[str, Pair]) -> None:
        backend, served = each
        title = name(*each)
        if time.monotonic() > deadline:
            found[title] = [Case(title, NOT_RUN, ("there was no time left",))]
        else:
            with ThreadPoolExecutor(len(turns)) as pool:
                told = {
                    turn: pool.submit(
                        _told, place, served, models[served.architecture], words, backend,
                        logs / f"pair-{title}-{turn.replace(' ', '-')}",
                    )
                    for turn, place in turns.items()
                }  # fmt: skip
            said = {"environment": {**_LOOPBACK, **served.environment}}
            found[title] = [
                replace(case, figures={**case.figures, **said})
                for case in _compared(title, {turn: each.result() for turn, each in told.items()})
            ]
        keep([case for title in found for case in found[title]])

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, asked))
    return [case for each in asked for case in found[name(*each)]]


def _told(
    place: Place, served: Pair, model: Path, words: Sequence[str], backend: str, logs: Path
) -> dict[str, Any]:
    """The answers; or, under `error`, why there are none."""
    try:
        return answers(place, served, model, words, backend, logs)
    except (RuntimeError, OSError, HTTPException, LookupError, TypeError, ValueError) as error:
        lines = (type(error).__name__, *str(error).splitlines())
        return {"error": lines, "refused": getattr(error, "refused", False)}


def _compared(title: str, told: Mapping[str, Any]) -> list[Case]:
    """One case for each request; or one for the pair, whose lines say why it did not serve."""
    failed = {turn: each for turn, each in told.items() if "error" in each}
    if failed:
        lines = tuple(f"{turn}: {' / '.join(each['error'])}" for turn, each in failed.items())
        if set(failed) == {"ours"}:
            return [Case(title, FAILED, lines)]
        if "ours" in failed and not compare.declined(failed.values()):
            return [Case(title, FAILED, (compare.NEITHER, *lines))]
        return [Case(title, NOT_RUN, lines)]
    return [
        replace(case, name=f"{title}, {case.name}")
        for case in compare.replies(told["upstream"], told["upstream again"], told["ours"])
    ]


def answers(
    place: Place, served: Pair, model: Path, words: Sequence[str], backend: str, logs: Path
) -> dict[str, Any]:
    """What the decoding server answers.

    Raises RuntimeError when one of the two does not serve or refuses, OSError or HTTPException when a reply
    does not come, LookupError, TypeError or ValueError for one that is no answer.
    """
    port = server.free_port()
    # Both see both GPUs: what copies between these opens the other one's memory.
    devices = {"CUDA_VISIBLE_DEVICES": ",".join(gpu.visible()[:2])}
    place = replace(place, more={**place.more, **_LOOPBACK, **served.environment, **devices})
    words = (*words, *served.words, *(served.upstream if place.role == "upstream" else ()))
    asked = [
        (
            [*words, "--disaggregation-mode", mode, "--disaggregation-transfer-backend", backend,
             "--disaggregation-bootstrap-port", str(port), "--base-gpu-id", str(number)],
            logs.with_name(f"{logs.name}-{mode}.txt"),
        )
        for number, mode in enumerate(("prefill", "decode"))
    ]  # fmt: skip
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        prefill, decode = pool.map(
            lambda each: stack.enter_context(server.running(place, model, *each)), asked
        )
        found = {}
        asked_for = [(number, text) for number in range(_ROUNDS) for text in (*_TEXTS, *served.more)]
        for room, (number, text) in enumerate(asked_for, 1):  # room 0 stands for "nothing has arrived"
            body = {
                "text": text, "sampling_params": _SAMPLING, "return_logprob": True,
                "bootstrap_host": "127.0.0.1", "bootstrap_port": port, "bootstrap_room": room,
            }  # fmt: skip
            found[f"{len(text)} characters, round {number + 1}"] = _both(pool, prefill, decode, body)
    return found


def _both(pool: ThreadPoolExecutor, prefill: Server, decode: Server, body: dict[str, Any]) -> Any:
    """Both servers get the request; the reply is the decoding one's: its tokens and log-probabilities."""
    asked = pool.submit(server.ask, f"{prefill.url}/generate", body)
    answer = server.ask(f"{decode.url}/generate", body)
    for each in (asked.result(), answer):
        if each["status"] != 200:
            raise RuntimeError(f"status {each['status']}\n{str(each['body'])[:400]}")
    said, meta = answer["body"], answer["body"]["meta_info"]
    return {
        "status": answer["status"], "text": said["text"], "ids": said["output_ids"],
        "logprobs": [float(each[0]).hex() for each in meta["output_token_logprobs"]],
        "finish": meta["finish_reason"],
    }  # fmt: skip
