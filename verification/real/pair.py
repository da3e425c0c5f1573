"""Prefill on one GPU, decode on another, of one tree: the keys and values travel between two servers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from verification import gpu
from verification.real import server
from verification.real.matrix import SPARSE, V3, V32
from verification.real.place import Place
from verification.real.server import Server

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


def answers(
    place: Place, served: Pair, model: Path, words: Sequence[str], backend: str, logs: Path
) -> dict[str, Any]:
    """What the decoding server answers. Raises RuntimeError when either of the two does not serve."""
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
    asked.result()
    said, meta = answer["body"], answer["body"].get("meta_info", {})
    return {
        "status": answer["status"], "text": said.get("text"), "ids": said.get("output_ids"),
        "logprobs": [float(each[0]).hex() for each in meta.get("output_token_logprobs", ())],
    }  # fmt: skip
