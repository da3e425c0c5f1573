"""What attention costs by default, at full width: upstream's, ours, and backends that ours keeps."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verification.real import compare, process
from verification.real.matrix import V3, V32
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED, Case

_LAYERS, _DENSE, _EXPERTS = 4, 1, 64
#: Sequences, and tokens of each; the first few say most.
_DECODE = ((1, 4096), (64, 2048), (1, 16384), (8, 4096), (8, 16384), (1, 65536), (256, 1024))
_PREFILL = ((1, 4096), (32, 4096), (8, 16384))
#: Tokens of one chunk: up to 2^31 numbers of a result, at 128 heads of 512, and beyond.
_CHUNKS = (32768, 34816, 65536)
_CHUNK = "chunk of {} tokens, tilelang, 128 heads"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one engine runs; `arguments` are ServerArgs' fields."""

    name: str
    role: str  # "upstream" or "ours"
    architecture: str = V3
    quantization: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


_TRITON = {"attention_backend": "triton"}
CHOICES = (
    Choice("v3", "upstream"),
    Choice("v3", "ours"),
    Choice("v3-triton", "ours", arguments=_TRITON),
    Choice("v32", "upstream", V32),
    Choice("v32", "ours", V32),
    Choice("v3-fp8", "upstream", quantization="fp8"),
    Choice("v3-fp8", "ours", quantization="fp8"),
    Choice("v32-fp8", "upstream", V32, "fp8"),
    Choice("v32-fp8", "ours", V32, "fp8"),
)


def cases(
    places: Sequence[Place], work: Path, only: Sequence[str], times: int, sizes: int, seconds: int,
    deadline: float, keep: Callable[[Sequence[Case]], None],
) -> list[Case]:  # fmt: skip
    """Measure one engine after the other, and then what a chunk of sparse attention may hold."""
    of = {place.role: place for place in places}
    answers: dict[tuple[str, str], list[tuple[Choice, dict[str, Any]]]] = {}
    found: list[Case] = []
    for choice in CHOICES:
        if only and choice.name not in only:
            continue
        answer = _measured(choice, of[choice.role], work, times, sizes, seconds, deadline)
        answers.setdefault((choice.architecture, choice.quantization), []).append((choice, answer))
        found = [case for each in answers.values() for case in compared(each)]
        keep(found)
    if not only or "chunks" in only:
        for tokens in _CHUNKS:
            found.append(_chunk(of, tokens, work, seconds, deadline))
            keep(found)
    return found


def _measured(
    choice: Choice, place: Place, work: Path, times: int, sizes: int, seconds: int, deadline: float
) -> dict[str, Any]:
    if time.monotonic() > deadline:
        return {"error": ["there was no time left"], "late": True}
    question = {
        "model": str(_model(choice, work).resolve()), "arguments": dict(choice.arguments),
        "decode": _DECODE[:sizes], "prefill": _PREFILL[:sizes], "times": times,
    }  # fmt: skip
    folder = work / "defaults" / f"{choice.name}-{choice.role}"
    return process.ask(place, "verification.real.speed", question, folder, seconds)


def _model(choice: Choice, work: Path) -> Path:
    """A folder with a configuration of full width and few layers; the weights are made when it is loaded."""
    from verification.models import configuration

    folder = work / "models" / f"full-{choice.architecture}{choice.quantization}"
    config = configuration.configuration(choice.architecture, _LAYERS, _DENSE, True, choice.quantization)
    configuration.write({**config, "n_routed_experts": _EXPERTS}, folder)
    return folder


def compared(answers: Sequence[tuple[Choice, Mapping[str, Any]]]) -> list[Case]:
    """One case for each size: the medians, and each ratio to upstream's default."""
    model = answers[0][0].name
    measured = [(choice, answer) for choice, answer in answers if "error" not in answer]
    lines = [
        f"{choice.role}, {choice.name}: {' / '.join(answer['error'])[:600]}"
        for choice, answer in answers
        if "error" in answer
    ]
    failed = {c.role: answer for c, answer in answers if "error" in answer and not answer.get("late")}
    if len(failed) == 2 and not measured and not compare.declined(failed.values()):
        return [Case(f"{model} engines", FAILED, (compare.NEITHER, *lines))]
    found = [Case(f"{model} engines", NOT_RUN, tuple(lines))] if lines else []
    if not measured or measured[0][0].role != "upstream":
        return found  # a ratio would be to something else
    for kind, unit in (("decode", "ms a step"), ("prefill", "ms")):
        sizes = [tuple(row[:2]) for _, answer in measured[:1] for row in answer[kind]]
        for count, length in sizes:
            rows = [
                (
                    f"{choice.role} {_backend(answer['arguments'])}",
                    next(row[2] for row in answer[kind] if tuple(row[:2]) == (count, length)),
                )
                for choice, answer in measured
            ]
            found.append(_row(f"{model} {kind} {count} x {length}", unit, rows))
    return found


def _row(name: str, unit: str, rows: Sequence[tuple[str, Sequence[float]]]) -> Case:
    """Told, not judged: which backend is the default is decided in the manifest."""
    first = statistics.median(rows[0][1])
    told = [
        f"{backend} {statistics.median(each):.4g} {unit}"
        + (f", {statistics.median(each) / first:.3f} times" if index else "")
        for index, (backend, each) in enumerate(rows)
    ]
    return Case(name, PASSED, tuple(told), {backend: list(each) for backend, each in rows})


def _backend(arguments: Mapping[str, Any]) -> str:
    """What the engine chose for attention, by every name that says more than another."""
    names = (
        "attention_backend", "nsa_prefill_backend", "nsa_decode_backend", "dsa_prefill_backend",
        "dsa_decode_backend",
    )  # fmt: skip
    said = [str(arguments[name]) for name in names if arguments.get(name)]
    return "+".join(dict.fromkeys(said)) or "unknown"


def _chunk(of: Mapping[str, Place], tokens: int, work: Path, seconds: int, deadline: float) -> Case:
    if time.monotonic() > deadline:
        return Case(_CHUNK.format(tokens), NOT_RUN, ("there was no time left",))
    answers = {}
    for role, place in of.items():
        folder = work / "defaults" / f"chunk-{tokens}-{role}"
        answers[role] = process.ask(place, "verification.real.chunks", {"tokens": tokens}, folder, seconds)
    return chunk(tokens, answers)


def chunk(tokens: int, answers: Mapping[str, Mapping[str, Any]]) -> Case:
    """Ours must give for a chunk what it gives for the chunk's halves; what upstream does is told."""
    told = [f"{role}: {_chunked(answer)}" for role, answer in answers.items()]
    return Case(_CHUNK.format(tokens), PASSED if answers["ours"].get("equal") else FAILED, tuple(told))


def _chunked(answer: Mapping[str, Any]) -> str:
    if "error" in answer:
        return f"it ends with {answer['error'][-1][:200] if answer['error'] else 'no word'}"
    return "as its halves, bit for bit" if answer["equal"] else "not as its halves"
