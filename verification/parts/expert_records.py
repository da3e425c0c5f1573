"""Choices of experts that are recorded token by token."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import torch

from verification.parts.events import plain
from verification.parts.registry import Found, part
from verification.parts.versions import takes

_LAYERS, _EXPERTS, _TOKENS, _CHOSEN = 2, 16, 4, 8


@part("records-of-experts")
def experts() -> Found:
    """The experts of every token in every layer, pass by pass, go to a file."""
    from sglang.srt.eplb.expert_distribution import ExpertDistributionRecorder

    if not takes(ExpertDistributionRecorder.init_new, "server_args"):
        raise ImportError("a recorder reads its arguments from a context")
    told = SimpleNamespace(
        expert_distribution_recorder_mode="per_token", expert_distribution_recorder_buffer_size=4,
        chunked_prefill_size=_TOKENS, device="cuda", enable_two_batch_overlap=False,
        enable_expert_distribution_metrics=False, moe_a2a_backend="none", deepep_mode="auto",
    )  # fmt: skip
    known = SimpleNamespace(
        num_layers=_LAYERS, num_physical_experts=_EXPERTS, num_local_physical_experts=_EXPERTS, ep_size=1,
        physical_to_logical_map=torch.arange(_EXPERTS).expand(_LAYERS, _EXPERTS).clone(),
    )  # fmt: skip
    draw = torch.Generator().manual_seed(6)
    recorder = ExpertDistributionRecorder.init_new(told, known, 0)
    chosen = []
    with tempfile.TemporaryDirectory() as name:
        with mock.patch.dict(os.environ, {"SGLANG_EXPERT_DISTRIBUTION_RECORDER_DIR": name}):
            recorder.start_record()
            for number in range(2):
                batch = SimpleNamespace(
                    input_ids=torch.arange(_TOKENS), positions=torch.arange(_TOKENS) + number,
                    extend_seq_lens_cpu=[_TOKENS], forward_mode=SimpleNamespace(value=1),
                )  # fmt: skip
                with recorder.with_forward_pass(number, batch):
                    for layer in range(_LAYERS):
                        ids = torch.rand(_TOKENS, _EXPERTS, generator=draw).topk(_CHOSEN).indices.int()
                        chosen.append(ids)
                        with recorder.with_current_layer(layer):
                            recorder.on_select_experts(topk_ids=ids)
            recorder.stop_record()
            recorder.dump_record()
        (file,) = Path(name).iterdir()
        kept = torch.load(file, weights_only=False)["records"]
    written = torch.cat([each["topk_ids_of_layer"] for each in kept])
    counts = sum(int(each["global_physical_count"].sum()) for each in kept)
    return Found(
        {
            "every choice": torch.equal(written, torch.stack(chosen)),
            "every choice is counted": counts == sum(map(torch.Tensor.numel, chosen)),
        },
        {"records": plain(kept)},
    )
