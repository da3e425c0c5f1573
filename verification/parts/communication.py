"""Groups of processes: those of a process alone, those that meet at an address, and shares of a tensor."""

from __future__ import annotations

import socket
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
import torch.distributed as dist

from verification.machine.trace import digest_of
from verification.parts.registry import Found, part, refused
from verification.parts.versions import first

_RANKS = 2
_TOLD = {"number": 7, "list": [1, 2], "nothing": None}


@part("groups-alone")
def alone() -> Found:
    """The groups of one process: made once, of wanted sizes, another for a time, and gone at the end."""
    from sglang.srt.distributed import parallel_state as state

    ensure = first("ensure_model_parallel_initialized", state.__name__)
    with tempfile.TemporaryDirectory() as name:
        state.init_distributed_environment(1, 0, f"file://{Path(name, 'store')}", 0, "gloo")
        try:
            ensure(1, 1, 1)
            group = state.get_tp_group()
            ensure(1, 1, 1)
            facts = {"made once": state.get_tp_group() is group}
            facts["another size is refused"] = refused(lambda: ensure(2, 1, 1), AssertionError)
            made = state.create_custom_parallel_group([0])
            facts["a group of its own"] = dist.get_world_size(made) == 1
            with state.patch_tensor_parallel_group(state.get_pp_group()):
                facts["another group"] = state.get_tp_group() is state.get_pp_group()
            facts["the group is back"] = state.get_tp_group() is group
            facts["only itself"] = group.all_gather_object(_TOLD) == [_TOLD]
            group.barrier()
        finally:
            state.destroy_model_parallel()
            state.destroy_distributed_environment()
    gone = not state.model_parallel_is_initialized() and not dist.is_initialized()
    return Found({**facts, "all are gone": gone})


@part("groups-stateless")
def stateless() -> Found:
    """Ranks that meet at an address, without a group of processes, and exchange objects."""
    from sglang.srt.distributed.utils import StatelessProcessGroup

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with ThreadPoolExecutor(_RANKS) as ranks:
        one, two = ranks.map(
            lambda rank: StatelessProcessGroup.create("127.0.0.1", port, rank, _RANKS), range(_RANKS)
        )
        one.send_obj(_TOLD, 1)
        one.send_obj([1], 1)
        sent = [two.recv_obj(0), two.recv_obj(0)]
        all_of_them = list(ranks.map(lambda rank: rank.all_gather_obj(rank.rank), (one, two)))
        list(ranks.map(lambda rank: rank.barrier(), (one, two)))
    return Found({"in order": sent == [_TOLD, [1]], "all of all": all_of_them == [[0, 1]] * _RANKS})


@part("groups-split")
def split() -> Found:
    """A tensor is cut along its last dimension, into parts of one size, each in its own memory if wanted."""
    from sglang.srt.distributed.utils import split_tensor_along_last_dim

    given = torch.arange(24.0).reshape(2, 12)
    parts = split_tensor_along_last_dim(given, 3)
    own = split_tensor_along_last_dim(given, 3, contiguous_split_chunks=True)
    return Found(
        {
            "all of it": torch.equal(torch.cat(parts, -1), given) and len(parts) == 3,
            "views": all(each.data_ptr() == given[:, 4 * n :].data_ptr() for n, each in enumerate(parts)),
            "own memory": all(each.is_contiguous() for each in own),
            "parts of one size alone": refused(lambda: split_tensor_along_last_dim(given, 5), AssertionError),
        },
        {"parts": [digest_of(each) for each in own]},
    )
