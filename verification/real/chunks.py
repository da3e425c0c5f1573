"""Runs the sparse attention of one tree on tilelang with chunks of given lengths.

In a process of its own: `python -m verification.real.chunks QUESTION ANSWER`. A token's attention depends on
no other query, so that a chunk as a whole must give, bit for bit, what its halves give.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

_BACKENDS = (
    ("sglang.srt.layers.attention.dsa_backend", "DeepseekSparseAttnBackend"),
    ("sglang.srt.layers.attention.nsa_backend", "NativeSparseAttnBackend"),
)
_HEADS, _WIDTH, _VALUES, _SELECTED, _KEYS = 128, 576, 512, 2048, 65536  # of DeepSeek V3.2, undivided


def main() -> None:
    import torch

    tokens = json.loads(Path(sys.argv[1]).read_text())["tokens"]
    forward = _forward()
    torch.manual_seed(0)
    make = {"device": "cuda", "dtype": torch.bfloat16}
    keys = torch.randn(_KEYS, 1, _WIDTH, **make)
    queries = torch.randn(tokens, _HEADS, _WIDTH, **make)
    pages = torch.randint(0, _KEYS, (tokens, _SELECTED), device="cuda", dtype=torch.int32)

    def attend(begin: int, end: int) -> Any:
        found = forward(None, queries[begin:end], keys, _VALUES, pages[begin:end], _WIDTH**-0.5)
        torch.cuda.synchronize()
        return found.reshape(end - begin, _HEADS, _VALUES)

    whole, half = attend(0, tokens), tokens // 2
    equal = all(
        bool(torch.equal(whole[begin:end], attend(begin, end)))
        for begin, end in ((0, half), (half, tokens))
    )  # fmt: skip
    Path(sys.argv[2]).write_text(json.dumps({"equal": equal}))


def _forward() -> Any:
    for module, name in _BACKENDS:
        try:
            return getattr(importlib.import_module(module), name)._forward_tilelang
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    raise ModuleNotFoundError("no backend of sparse attention")


if __name__ == "__main__":
    main()
