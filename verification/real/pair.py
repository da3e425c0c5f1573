"""Prefill on one GPU, decode on another, of one tree: the keys and values travel between two servers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
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


PAIRS = (
    Pair("v3", V3, ("--attention-backend", "triton")),
    Pair("v32", V32, upstream=_TILELANG, environment=SPARSE),  # its index of keys travels too
)


def name(backend: str, served: Pair) -> str:
    """What carries keys and values, and what is served."""
    return f"{backend}-{served.name}"


def cases(
    places: Sequence[Place], asked: Sequence[tuple[str, Pair]], models: Mapping[str, Path],
    words: Sequence[str], logs: Path,
) -> list[Case]:  # fmt: skip
    """Upstream's two servers, ours, and upstream's again, for every backend and model, all at once."""
    upstream, ours = places
    turns = ((upstream, ""), (ours, ""), (upstream, "-again"))
    with ThreadPoolExecutor(max(1, len(turns) * len(asked))) as pool:

        def told(place: Place, again: str, backend: str, served: Pair) -> dict[str, Any] | tuple[str, ...]:
            log = logs / f"pair-{name(backend, served)}-{place.role}{again}"
            try:
                return answers(place, served, models[served.architecture], words, backend, log)
            except (RuntimeError, OSError) as error:
                return tuple(str(error).splitlines())

        started = [[pool.submit(told, *turn, *each) for turn in turns] for each in asked]
        return [
            case
            for each, three in zip(asked, started, strict=True)
            for case in _compared(name(*each), *(one.result() for one in three))
        ]


def _compared(title: str, first: Any, mine: Any, second: Any) -> list[Case]:
    """One case for each request; or one for the pair, where lines say why it did not serve."""
    failed = next((each for each in (first, second) if isinstance(each, tuple)), None)
    if failed is not None:
        also = "ours runs" if isinstance(mine, dict) else "ours likewise"
        return [Case(title, NOT_RUN, ("upstream cannot run it here", *failed, also))]
    if isinstance(mine, tuple):
        return [Case(title, FAILED, ("upstream runs it, ours fails", *mine))]
    return [replace(case, name=f"{title}, {case.name}") for case in compare.replies(first, second, mine)]


def answers(
    place: Place, served: Pair, model: Path, words: Sequence[str], backend: str, logs: Path
) -> dict[str, Any]:
    """What the decoding server answers. Raises RuntimeError when one of the two does not serve or refuses."""
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
        asked_for = [(number, text) for number in range(_ROUNDS) for text in _TEXTS]
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
    }  # fmt: skip
