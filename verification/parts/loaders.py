"""Loaders of models: from shards of a rank, layer by layer, and in eight bits from a trainer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from verification.parts.drawn import digests
from verification.parts.registry import Found, part, refused
from verification.parts.versions import in_group

_WIDTH, _ROWS = 128, 4


def _config() -> SimpleNamespace:
    """What a loader wants to know of a model."""
    return SimpleNamespace(
        model_path="", revision=None, dtype=torch.float32, hf_config=SimpleNamespace(), quantization=None
    )


def _empty(loader: Any, kind: type[torch.nn.Module]) -> Any:
    """A loader makes a model of this kind, whatever is told of it."""
    return mock.patch.multiple(
        loader,
        _initialize_model=lambda *args, **more: kind(),
        get_model_architecture=lambda config: (kind, ""),
    )


class _Small(torch.nn.Module):
    """A model of three parameters, two of which are in the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Parameter(torch.zeros(4, 3), requires_grad=False)
        self.b = torch.nn.Parameter(torch.zeros(5, 3), requires_grad=False)
        self.same = self.a
        self.register_buffer("rows", self.b.data[1:3])


@part("weights-shards")
def shards() -> Found:
    """A model goes to files of one rank, in parts of a size, and comes back."""
    from sglang.srt import distributed
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.model_loader import loader

    draw = torch.Generator().manual_seed(5)
    given = _Small()
    for each in (given.a, given.b):
        each.copy_(torch.randn(each.shape, generator=draw))
    sharded = loader.ShardedStateLoader
    kept = sorted(sharded._filter_subtensors(given.state_dict()))
    made = sharded(LoadConfig(load_format="sharded_state", model_loader_extra_config={}))
    config = _config()
    alone = in_group(0, 1, distributed)
    empty = _empty(loader, _Small)
    with tempfile.TemporaryDirectory() as name, alone, empty:
        config.model_path = name
        sharded.save_model(given, name, max_size=60)
        written = sorted(each.name for each in Path(name).iterdir())
        load = partial(made.load_model, model_config=config, device_config=SimpleNamespace(device="cpu"))
        loaded = load()
        Path(name, written[0]).unlink()
        without = refused(load, ValueError)
    return Found(
        {
            "memory is kept once": kept == ["a", "b"],
            "all comes back": digests(given.state_dict().items()) == digests(loaded.state_dict().items()),
            "it is for use": not loaded.training,
            "not without a file": without,
        },
        {"files": written},
    )


class _Layers(torch.nn.Module):
    """A model of two layers that takes its weights module by module."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 3)
        self.inner = torch.nn.Sequential(torch.nn.Linear(3, 2))
        self.given: dict[str, torch.Tensor] = {}
        self.asked: list[str] = []

    def load_weights_to_module(self, place: str, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        self.given.update(weights)
        self.asked.append(place)
        module = self.get_submodule(place)
        for name, parameter in module.named_parameters(recurse=False):
            parameter.data.copy_(self.given[f"{place}.{name}"])


@part("weights-layers")
def layers() -> Found:
    """A model without memory gets it layer by layer, the innermost first, each with its weights."""
    from safetensors.torch import save_file
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.model_loader import loader

    torch.manual_seed(7)
    given = {name: value.detach().clone() for name, value in _Layers().named_parameters()}
    config = _config()
    made = loader.LayeredModelLoader(LoadConfig(load_format="layered", model_loader_extra_config={}))
    empty = _empty(loader, _Layers)
    with tempfile.TemporaryDirectory() as name, empty:
        config.model_path = name
        save_file(given, Path(name) / "model.safetensors")
        loaded = made.load_model(model_config=config, device_config=SimpleNamespace(device="cpu"))
    return Found(
        {
            "all weights": digests(loaded.named_parameters()) == digests(given.items()),
            "the innermost first": loaded.asked == ["first", "inner.0", "inner", ""],
            "it is for use": not loaded.training,
        }
    )


class _Halves:
    """Quantization of one layer: each row in eight bits with its own scale; the matrix lies on its side."""

    def process_weights_after_loading(self, layer: Any) -> None:
        whole = layer.weight.data.float()
        scale = whole.abs().amax(1, keepdim=True) / torch.finfo(torch.float8_e4m3fn).max
        layer.weight = torch.nn.Parameter((whole / scale).to(torch.float8_e4m3fn).t(), requires_grad=False)
        layer.weight_scale = torch.nn.Parameter(scale.t().contiguous(), requires_grad=False)


class _Trained(torch.nn.Module):
    """A layer of two matrices in one, and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_up_proj = torch.nn.Module()
        self.gate_up_proj.weight = torch.nn.Parameter(torch.zeros(2 * _ROWS, _WIDTH), requires_grad=False)
        self.gate_up_proj.quant_method = _Halves()
        self.input_layernorm = torch.nn.Module()
        self.input_layernorm.weight = torch.nn.Parameter(torch.zeros(_WIDTH), requires_grad=False)
        self.start_layer, self.end_layer = 0, 1
        self.config = SimpleNamespace(tie_word_embeddings=False)

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        for name, weight in weights:
            if "layernorm" in name:
                self.input_layernorm.weight.data.copy_(weight)
            elif "proj" in name:
                start = _ROWS * ("up_proj" in name)
                self.gate_up_proj.weight.data[start : start + _ROWS] = weight.to(
                    self.gate_up_proj.weight.dtype
                )


def _of_a_trainer(seed: int) -> list[tuple[str, torch.Tensor]]:
    draw = torch.Generator().manual_seed(seed)
    return [
        ("gate_proj.weight", torch.randn(_ROWS, _WIDTH, generator=draw)),
        ("up_proj.weight", torch.randn(_ROWS, _WIDTH, generator=draw)),
        ("input_layernorm.weight", torch.randn(_WIDTH, generator=draw)),
    ]


def _far(model: Any, weights: list[tuple[str, torch.Tensor]]) -> float:
    """How far the matrix of a model is from what it was given, as a part of the largest number."""
    whole = torch.cat([weight for _, weight in weights[:2]])
    back = model.gate_up_proj.weight.data.float().t() * model.gate_up_proj.weight_scale.data.t()
    return float((back - whole).abs().max() / whole.abs().max())


@part("weights-of-a-trainer")
def trainer() -> Found:
    """Weights in eight bits, and newer ones in the same memory with scales of their own."""
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.model_loader import loader

    kind = loader.QuantizedRLModelLoader
    made = kind(LoadConfig(load_format="flash_rl", model_loader_extra_config={}))
    model = _Trained()
    with in_group(0, 1, loader):
        before = kind.is_reload_scenario(model)
        made.load_weights_and_postprocess(model, _of_a_trainer(1), torch.device("cpu"))
        first = _far(model, _of_a_trainer(1)), kind.is_reload_scenario(model)
        place = model.gate_up_proj.weight.data_ptr()
        model.load_weights(_of_a_trainer(2))
    names = ["layers.9.q_proj.weight", "layers.0.k_proj.weight", "lm_head.weight", "layers.0.v_proj.bias"]
    asked, last = kind._get_updated_params([(name, None) for name in names], model)
    return Found(
        {
            "near at first": first[0] < 0.07, "near again": _far(model, _of_a_trainer(2)) < 0.07,
            "it knows": (before, first[1]) == (False, True), "last": last,
            "the same memory": model.gate_up_proj.weight.data_ptr() == place,
            "the norm is not quantized": torch.equal(model.input_layernorm.weight, _of_a_trainer(2)[2][1]),
            "of its own layers": "layers.9.qkv_proj.weight" not in asked,
        },
        {"asked": sorted(asked), "weights": digests(model.state_dict().items())},
    )  # fmt: skip


@part("weights-scales-of-a-rank")
def scales() -> Found:
    """Each rank takes its share of the scales of every matrix in one; one without scales is passed over."""
    from sglang.srt.model_loader import loader

    kind = loader.QuantizedRLModelLoader
    if not hasattr(kind, "_store_quantized_scale"):
        raise ImportError("no scales are kept apart from their weights")
    facts: dict[str, bool] = {}
    full = [torch.arange(4.0)[:, None] + 10 * number for number in range(3)]
    for rank in range(2):
        taken = {
            f"a.{name}.weight_scale": torch.nn.Parameter(torch.zeros(1, 2 * count), requires_grad=False)
            for name, count in (("qkv_proj", 3), ("gate_up_proj", 2), ("down_proj", 2))
        }
        with in_group(rank, 2, loader):
            stored: dict[str, Any] = {}
            names = ["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"]
            for name, scale in zip(names, [*full, *full], strict=False):
                kind._store_quantized_scale(stored, f"a.{name}.weight", scale)
            kind._store_quantized_scale(stored, "a.down_proj.weight", full[1])
            for name, info in [*stored.items(), ("a.nobody.weight", full[0]), ("a.down_proj.weight", None)]:
                kind._apply_scale_update(taken, name, info)
        share = slice(2 * rank, 2 * rank + 2)
        right = [torch.cat([each[share, 0] for each in full[:count]]) for count in (3, 2)] + [full[1][:, 0]]
        facts[f"rank {rank}"] = all(torch.equal(a[0], b) for a, b in zip(taken.values(), right, strict=True))
    facts["two in one"] = kind._is_stacked_param("a.qkv_proj.weight") and not kind._is_stacked_param(
        "a.o_proj"
    )
    return Found(facts)
