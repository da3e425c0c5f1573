"""Kernels that write, read and move what a server keeps of its tokens, and that find where it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from verification.parts.drawn import draw, error, told, whole
from verification.parts.registry import Found, part
from verification.parts.versions import first

_PAGE, _KEY, _SCALE = 64, 128, 4  # tokens of a page; bytes of a key of the index, and of its scale
_PAGES = 3
_REQUESTS, _CONTEXT = 4, 256
_CHOSEN_TOKENS = 2048  # how many tokens sparse attention reads


def _index(name: str, file: str) -> Any:
    return first(name, f"sglang.srt.layers.attention.nsa.{file}", f"sglang.kernels.ops.attention.dsa.{file}")


def _pages() -> tuple[SimpleNamespace, torch.Tensor]:
    """What the accessors ask of a pool, and its pages: the keys of a page, then their scales."""
    pool = SimpleNamespace(page_size=_PAGE, index_head_dim=_KEY, quant_block_size=_KEY, device="cuda")
    return pool, torch.zeros(_PAGES, _PAGE * (_KEY + _SCALE), dtype=torch.uint8).to("cuda")


def _slots() -> torch.Tensor:
    """Where tokens are kept: in each page, and in no order."""
    return torch.randperm(_PAGES * _PAGE, generator=torch.Generator().manual_seed(1))[:70].to("cuda")


def _table(page: int = 1) -> torch.Tensor:
    """Where the tokens of each request are: pages in no order."""
    count = _REQUESTS * _CONTEXT // page
    order = torch.randperm(count, generator=torch.Generator().manual_seed(2))
    slots = order[:, None] * page + torch.arange(page)
    return slots.reshape(_REQUESTS, _CONTEXT).to(torch.int32).to("cuda")


@part("keys-of-the-index-are-kept")
def keys_are_kept() -> Found:
    """One kernel for keys and scales writes what each of the other ways writes."""
    set_keys, set_scales, set_both = (
        _index(name, "index_buf_accessor") for name in ("SetK", "SetS", "SetKAndS")
    )
    slots = _slots()
    keys = draw(len(slots), _KEY, seed=3).to(torch.float8_e4m3fn)
    scales = draw(len(slots), 1, seed=4, dtype=torch.float32)
    pool, kept = _pages()
    set_both.execute(pool=pool, buf=kept, loc=slots, index_k=keys, index_k_scale=scales)
    facts = {}
    for way in ("slow", "torch_fast"):
        _, apart = _pages()
        getattr(set_keys, way)(pool=pool, buf=apart, loc=slots, index_k=keys)
        getattr(set_scales, way)(pool=pool, buf=apart, loc=slots, index_k_scale=scales)
        facts[f"{way}: the same"] = torch.equal(kept, apart)
    _, together = _pages()
    set_both.vanilla(pool=pool, buf=together, loc=slots, index_k=keys, index_k_scale=scales)
    return Found({**facts, "together: the same": torch.equal(kept, together)}, {"kept": told(kept)})


@part("keys-of-the-index-are-read")
def keys_are_read() -> Found:
    """Each way reads the same keys and scales, of pages that are in no order."""
    get_keys, get_scales, get_both = (
        _index(name, "index_buf_accessor") for name in ("GetK", "GetS", "GetKAndS")
    )
    pool, kept = _pages()
    kept = torch.randint(0, 256, kept.shape, generator=torch.Generator().manual_seed(5)).to(torch.uint8)
    given = (pool, kept.to("cuda"), _PAGE + 6, whole(2, 0))
    keys, scales = get_both.execute(*given)
    facts = {
        f"{name}, {way}: the same": torch.equal(getattr(get, way)(*given), found)
        for name, get, found in (("keys", get_keys, keys), ("scales", get_scales, scales))
        for way in ("execute", "slow", "torch_fast", "triton")
    }
    return Found(facts, {"keys": told(keys), "scales": told(scales)})


@part("numbers-of-the-index")
def numbers_of_the_index() -> Found:
    """Keys in FP8 by groups, also where the scales are powers of two and the last rows fill no block."""
    quantize = _index("act_quant", "triton_kernel")
    x = draw(2, 20, 2 * _KEY, seed=6)
    facts, values = {}, {}
    for name, form in (("scales", None), ("powers of two", "ue8m0")):
        numbers, scales = quantize(x, _KEY, form)
        back = (numbers.float().unflatten(-1, (-1, _KEY)) * scales[..., None]).flatten(-2)
        facts[f"{name}: it is near"] = error(back, x) < 0.07
        values[name] = told(numbers, scales)
        exponents = torch.log2(scales)
    return Found({**facts, "powers of two": torch.equal(exponents, exponents.round())}, values)


@part("chosen-tokens")
def chosen_tokens() -> Found:
    """Where the tokens are that sparse attention reads, by the kernel and by the code that says how."""
    table = _table()
    chosen = torch.randint(
        -1, _CONTEXT, (_REQUESTS, _CHOSEN_TOKENS), generator=torch.Generator().manual_seed(7)
    ).to("cuda")
    file = "transform_index"
    found = _index("transform_index_page_table_decode_fast", file)(table, chosen)
    prefill = {"page_table": table, "topk_indices": chosen, "extend_lens_cpu": [1] * _REQUESTS}
    plain = torch.where(chosen < 0, -1, table.gather(1, chosen.clamp(min=0)))
    # with more than one token of a request the fast way reads the rows of those that follow
    several = {
        "page_table": table[:2], "topk_indices": chosen, "extend_lens_cpu": [3, 1],
    }  # fmt: skip
    slow = _index("transform_index_page_table_prefill", file)(**several)
    return Found(
        {
            "one token each": torch.equal(found, plain),
            "by the slow way": torch.equal(
                _index("transform_index_page_table_decode", file)(page_table=table, topk_indices=chosen),
                found,
            ),
            "of prompts": torch.equal(
                _index("transform_index_page_table_prefill_fast", file)(**prefill), found
            ),
            "the tokens of one request": torch.equal(
                slow[:3], torch.where(chosen[:3] < 0, -1, table[0][chosen[:3].clamp(min=0)])
            ),
        },
        {"found": told(found), "of prompts": told(slow)},
    )


@part("pages-of-requests")
def pages_of_requests() -> Found:
    """The pages of each request, from its beginning and from a later page, as latent attention reads them."""
    find = first(
        "create_flashmla_kv_indices_triton",
        "sglang.srt.layers.attention.utils",
        "sglang.kernels.ops.kvcache.kv_indices",
        "sglang.kernels.ops.attention.kv_indices",
    )
    table, requests, lengths = _table(_PAGE), (3, 0, 1), (_CONTEXT, 70, 1)
    widest = _CONTEXT // _PAGE
    facts, values = {}, {}
    for name, starts in (("all", None), ("from a page", (0, _PAGE, 2 * _PAGE))):
        found = torch.full((len(requests), widest), -1, dtype=torch.int32).to("cuda")
        find[(len(requests),)](
            table, whole(*requests), whole(*lengths), None if starts is None else whole(*starts), found,
            table.stride(0), found.stride(0), _PAGE,
        )  # fmt: skip
        wanted = []
        for request, length, start in zip(requests, lengths, starts or (0, 0, 0), strict=True):
            pages = (table[request, start : start + length : _PAGE] // _PAGE).tolist()
            wanted.append(pages + [-1] * (widest - len(pages)))
        facts[name] = found.tolist() == wanted
        values[name] = found.tolist()
    return Found(facts, values)


@part("tokens-of-a-chunk")
def tokens_of_a_chunk() -> Found:
    """Where the tokens of a chunk of each request's prefix are."""
    find = first(
        "create_chunked_prefix_cache_kv_indices",
        "sglang.srt.model_executor.forward_batch_info",
        "sglang.srt.model_executor.forward_batch_deepseek_mha_mixin",
        "sglang.kernels.ops.kvcache.kv_indices",
        "sglang.kernels.ops.attention.kv_indices",
    )
    table, requests, starts, lengths = _table(), (2, 0, 3), (10, 0, 50), (5, 0, 200)
    ends = [sum(lengths[:count]) for count in range(len(lengths) + 1)]
    found = torch.full((ends[-1],), -1, dtype=torch.int32).to("cuda")
    find[(len(requests),)](
        table, whole(*requests), whole(*starts), whole(*lengths), whole(*ends), found, table.stride(0)
    )
    wanted = [
        table[request, start : start + length]
        for request, start, length in zip(requests, starts, lengths, strict=True)
    ]
    return Found({"they are right": torch.equal(found, torch.cat(wanted))}, {"found": told(found)})


def _last_tokens(function: str) -> Found:
    """Where the last token of each prefix is; -1 where there is none."""
    find = first(function, "sglang.srt.mem_cache.common", "sglang.kernels.ops.memory.common")
    table = _table()
    found = find(table, whole(2, 0, 3, dtype=torch.int64), whole(5, 0, _CONTEXT, dtype=torch.int64))
    return Found({"they are right": found.tolist() == [int(table[2, 4]), -1, int(table[3, -1])]})


@part("last-tokens")
def last_tokens() -> Found:
    return _last_tokens("get_last_loc_triton")


@part("last-tokens-by-torch")
def last_tokens_by_torch() -> Found:
    return _last_tokens("get_last_loc_torch")


@part("scales-of-latent-keys")
def scales_of_latent_keys() -> Found:
    """Scales of latent keys and of their positions are written side by side."""
    write = first(
        "set_mla_kv_scale_buffer_triton",
        "sglang.srt.mem_cache.utils",
        "sglang.kernels.ops.kvcache.mla_buffer",
    )
    slots = whole(5, 1, 2, dtype=torch.int64)  # later versions leave the first one alone
    nope, rope = draw(3, 1, 128, seed=8), draw(3, 1, 16, seed=9)
    kept = torch.zeros(8, 1, 144, dtype=torch.bfloat16).to("cuda")
    write(kept, slots, nope, rope)
    wanted = torch.zeros_like(kept)
    wanted[slots] = torch.cat([nope, rope], -1)
    return Found({"they are right": torch.equal(kept, wanted)}, {"kept": told(kept)})


@part("moved-keys-and-values")
def moved() -> Found:
    """All layers at once, for a few tokens and for more than one launch takes; and in plain torch."""
    from sglang.srt.environ import envs
    from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool

    layers, heads, width, tokens = 2, 2, 24, 700
    pool = MHATokenToKVPool(
        tokens, 1, torch.bfloat16, heads, width, layers, "cuda", False, enable_kv_cache_copy=True
    )
    facts = {}
    for count in (3, 300):
        slots = torch.randperm(tokens, generator=torch.Generator().manual_seed(count)).to("cuda")
        targets, sources = slots[:count], slots[count : 2 * count]
        for way, native in (("by a kernel", False), ("by torch", True)):
            wanted = []
            for layer, buffer in enumerate([*pool.k_buffer, *pool.v_buffer]):
                buffer.copy_(draw(*buffer.shape, seed=layer))
                wanted.append(buffer.clone())
                wanted[-1][targets] = buffer[sources]
            with envs.SGLANG_NATIVE_MOVE_KV_CACHE.override(native):
                pool.move_kv_cache(targets, sources)
            found = [*pool.k_buffer, *pool.v_buffer]
            facts[f"{count} {way}"] = all(torch.equal(*pair) for pair in zip(found, wanted, strict=True))
    return Found(facts)
