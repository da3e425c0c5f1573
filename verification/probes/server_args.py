"""ServerArgs across releases: names of fields that changed, and what the server makes of what it is given."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
from collections.abc import Mapping
from typing import Any

#: Fields by the names of the first pins, with those that later releases have instead.
_LATER_NAMES = {
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
    "nsa_prefill_backend": "dsa_prefill_backend",
    "nsa_decode_backend": "dsa_decode_backend",
}


def make(values: Mapping[str, Any]) -> Any:
    """A ServerArgs of the tree that is imported, with everything resolved.

    Raises what upstream raises; TypeError for a field that it has by neither name.
    """
    from sglang.srt.server_args import ServerArgs

    fields = inspect.signature(ServerArgs).parameters
    named = {name if name in fields else _LATER_NAMES.get(name, name): it for name, it in values.items()}
    return resolve(ServerArgs(**named))


def resolve(args: Any) -> Any:
    """The same arguments, resolved: later versions leave that to whoever launches."""
    if hasattr(args, "resolve_once"):
        args.resolve_once()
    return args


def resolved(args: Any) -> dict[str, Any]:
    """What the server has made of each argument."""
    if hasattr(args, "resolved_dict"):  # later versions keep what was given, and this beside it
        return dict(args.resolved_dict())
    return {field.name: getattr(args, field.name) for field in dataclasses.fields(args)}


def attention(args: Any) -> list[Any]:
    """The attention backends of prefill and decode."""
    if hasattr(args, "get_attention_backends"):
        return list(args.get_attention_backends())
    made = resolved(args)
    return [
        made[f"{phase}_attention_backend"] or made["attention_backend"] for phase in ("prefill", "decode")
    ]


def publish(args: Any) -> None:
    """Let the first rank's arguments be known, where a version keeps them beside the rank."""
    if importlib.util.find_spec("sglang.srt.runtime_context") is None:
        return
    context = importlib.import_module("sglang.srt.runtime_context")
    ranks = {}
    if hasattr(context, "SpawnRanks"):  # later versions: with the ranks, which the scheduler is not given
        rank = context.spawn_world_rank(args, tp_rank=0, pp_rank=0)
        ranks["ranks"] = context.SpawnRanks(world_rank=rank, gpu_id=0)
    context.publish(args, role="scheduler", **ranks)
