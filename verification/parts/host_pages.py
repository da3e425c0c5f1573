"""Pages of the KV cache on the host: they are read as they were written, at the addresses that are told."""

from __future__ import annotations

import ctypes
import os
import tempfile
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from verification.machine.trace import digest_of
from verification.parts.registry import Found, part, refused
from verification.parts.versions import accepted, first

_SIZE, _PAGE, _LAYERS = 16, 4, 2
_RATIO = 2.0
#: Where the pools of the host are.
_PLACES = tuple(
    f"sglang.srt.mem_cache.{name}" for name in ("memory_pool_host", "pool_host.mha", "pool_host.mla")
)
_LAYOUTS = ("layer_first", "page_first", "page_first_direct", "page_head")
_FREE = SimpleNamespace(available=1 << 40)  # bytes: upstream leaves 10 GB of the host to others
_STORAGE = "SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"


def _separate() -> Any:
    """A pool of separate keys and values."""
    from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool

    return MHATokenToKVPool(
        size=_SIZE, page_size=_PAGE, dtype=torch.bfloat16, head_num=2, head_dim=8, layer_num=_LAYERS,
        device="cuda", enable_memory_saver=False,
    )  # fmt: skip


def _latent() -> Any:
    from sglang.srt.mem_cache.memory_pool import MLATokenToKVPool

    return MLATokenToKVPool(
        size=_SIZE, page_size=_PAGE, dtype=torch.bfloat16, kv_lora_rank=16, qk_rope_head_dim=8,
        layer_num=_LAYERS, device="cuda", enable_memory_saver=False,
    )  # fmt: skip


def _host(kind: str, device: Any, layout: str) -> Any:
    """The pool on the host that belongs to a pool of the GPU."""
    made = first(kind, *_PLACES)
    more = accepted(
        made, device_capacity_tokens=_SIZE, start_layer=0, end_layer=_LAYERS, target_layer_num=_LAYERS
    )
    with mock.patch("psutil.virtual_memory", lambda: _FREE):
        return made(device, _RATIO, 0, _PAGE, layout, pin_memory=False, **more)


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()


def _pages(kind: str, pool: Any, separate: bool) -> Found:
    """Pages drawn at random, into the pool and out of it, by slots and by addresses."""
    facts: dict[str, bool] = {}
    values: dict[str, Any] = {}
    draw = torch.Generator().manual_seed(3)
    for layout in _LAYOUTS if separate else _LAYOUTS[:3]:
        host = _host(kind, pool, layout)
        host.kv_buffer.zero_()
        empty = host.get_dummy_flat_data_page()
        slots = host.alloc(2 * _PAGE)
        starts = slots[::_PAGE].tolist()
        pages = [torch.randn(len(empty), generator=draw).to(torch.bfloat16) for _ in starts]
        for start, page in zip(starts, pages, strict=True):
            host.set_from_flat_data_page(start, page)
        read = [host.get_data_page(start) for start in starts]
        addresses, sizes = host.get_page_buffer_meta(slots)
        pieces = [ctypes.string_at(place, size) for place, size in zip(addresses, sizes, strict=True)]
        if separate:  # keys and values take turns
            half = len(pieces) // 2
            pieces = [
                piece
                for begin in (0, half)
                for turn in (0, 1)
                for piece in pieces[begin + turn : begin + half : 2]
            ]
        facts |= {
            f"{layout}: as written": all(map(torch.equal, read, pages)),
            f"{layout}: and nowhere else": int(host.kv_buffer.count_nonzero())
            == sum(int(page.count_nonzero()) for page in pages),
            f"{layout}: at its address": b"".join(pieces) == b"".join(map(_bytes, pages)),
            f"{layout}: an empty page": not empty.any(),
        }
        shape = list(host.get_data_page(starts[0], flat=False).shape)
        values[layout] = [shape, sizes, host.get_ksize_per_token(), host.size, digest_of(host.kv_buffer)]
        host.free(slots)
        facts[f"{layout}: all slots are back"] = host.available_size() == host.size
    return Found(facts, values)


@part("host-pages")
def host_pages() -> Found:
    """Separate keys and values."""
    return _pages("MHATokenToKVPoolHost", _separate(), True)


@part("host-pages-latent")
def host_pages_latent() -> Found:
    """Latent attention has one vector for each token and layer."""
    return _pages("MLATokenToKVPoolHost", _latent(), False)


def _config(**more: Any) -> Any:
    from sglang.srt.mem_cache.hicache_storage import HiCacheStorageConfig

    given: dict[str, Any] = {
        "tp_rank": 0, "tp_size": 2, "pp_rank": 0, "pp_size": 1, "is_mla_model": False,
        "is_page_first_layout": False, "model_name": "some/model", "extra_config": None,
        "attn_cp_rank": 0, "attn_cp_size": 1, "enable_storage_metrics": False,
    }  # fmt: skip
    return HiCacheStorageConfig(**accepted(HiCacheStorageConfig, **{**given, **more}))


@part("stored-pages")
def stored_pages() -> Found:
    """Pages in files: one for each key of a rank, written once, read into memory, and gone when cleared."""
    from sglang.srt.mem_cache.storage.backend_factory import StorageBackendFactory

    draw = torch.Generator().manual_seed(4)
    pages = [torch.randn(6, generator=draw).to(torch.bfloat16) for _ in range(3)]
    keys = ["one", "two", "three"]
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {_STORAGE: f"{name}/new"}):
        made = StorageBackendFactory.create_backend("file", _config(), None)
        other = StorageBackendFactory.create_backend("file", _config(tp_rank=1), None)
        latent = StorageBackendFactory.create_backend("file", _config(is_mla_model=True), None)
        facts = {"written": made.set(keys[0], pages[0]) and made.batch_set(keys[1:], pages[1:])}
        facts["written once"] = made.set(keys[0], pages[1])
        read = made.batch_get(keys, [torch.zeros_like(page) for page in pages])
        facts["as written"] = all(map(torch.equal, read, pages))
        facts["of another rank"] = not other.exists(keys[0])
        facts["of nobody"] = other.get(keys[0], torch.zeros_like(pages[0])) is None
        facts["how many"] = made.batch_exists([*keys[:2], "nobody", keys[2]]) == 2
        latent.set(keys[0], pages[0])
        facts["a short file"] = refused(
            lambda: made.get(keys[0], torch.zeros(7, dtype=torch.bfloat16)), OSError
        )
        files = sorted(os.listdir(f"{name}/new"))
        made.clear()
        facts["cleared"] = not os.listdir(f"{name}/new")
    return Found(facts, {"files": files})


@part("stored-pages-by-name")
def by_name() -> Found:
    """A storage whose class is told by its name, and what cannot be one."""
    from sglang.srt.mem_cache import hicache_storage
    from sglang.srt.mem_cache.storage.backend_factory import StorageBackendFactory

    told = {"backend_name": "own", "module_path": hicache_storage.__name__, "class_name": "HiCacheFile"}
    wrong = {
        "no module": {**told, "module_path": "nobody.has.this"}, "no class": {**told, "class_name": "Nobody"},
        "no storage": {**told, "class_name": "HiCacheStorageConfig"}, "no name": {"backend_name": "own"},
    }  # fmt: skip
    values = {}
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {_STORAGE: name}):
        made = StorageBackendFactory.create_backend("dynamic", _config(extra_config=told), None)
        for case, extra in [*wrong.items(), ("nothing told", None)]:
            try:
                StorageBackendFactory.create_backend("dynamic", _config(extra_config=extra), None)
                values[case] = "made"
            except (ImportError, AttributeError, TypeError, ValueError) as error:
                values[case] = type(error).__name__
    return Found(
        {
            "made": type(made) is hicache_storage.HiCacheFile,
            "the others are not": "made" not in values.values(),
        },
        values,
    )
