"""What later versions of upstream call otherwise: each part says what it wants, and finds it here."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any
from unittest import mock


def first(name: str, *modules: str) -> Any:
    """The function of this name in the first of some modules that has it.

    Raises ImportError where none has.
    """
    for module in modules:
        found = getattr(importlib.import_module(module), name, None) if _exists(module) else None
        if found is not None:
            return found
    raise ImportError(f"{name} is in none of {', '.join(modules)}")


def _exists(module: str) -> bool:
    """Return whether there is such a module, in a package that is there."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def fp8_kernel(name: str) -> Any:
    """One of upstream's functions that launch kernels for FP8. Raises ImportError where there is none."""
    return first(name, "sglang.srt.layers.quantization.fp8_kernel", *_later("fp8_kernel"))


def int8_kernel(name: str) -> Any:
    """One of upstream's functions that launch kernels for INT8. Raises ImportError where there is none."""
    return first(name, "sglang.srt.layers.quantization.int8_kernel", *_later("int8_kernel"))


def experts_kernel(name: str) -> Any:
    """One of upstream's kernels for tokens of experts. Raises ImportError where there is none."""
    return first(name, "sglang.srt.layers.moe.ep_moe.kernels", "sglang.kernels.ops.moe.ep_moe_kernels")


def _later(module: str) -> tuple[str, ...]:
    return tuple(f"sglang.kernels.ops.{kind}.{module}" for kind in ("quantization", "gemm"))


def no_drafts() -> Any:
    """The algorithm of a batch for which nothing is drafted, which is None in a tree that drafts nothing."""
    if not _exists("sglang.srt.speculative.spec_info"):
        return None
    return first("SpeculativeAlgorithm", "sglang.srt.speculative.spec_info").from_string(None)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name."""
    return name in inspect.signature(function).parameters


def accepted(function: Callable[..., Any], **given: Any) -> dict[str, Any]:
    """Those of some arguments that a function takes."""
    return {name: value for name, value in given.items() if takes(function, name)}


@contextmanager
def configured(**fields: Any) -> Iterator[None]:
    """The arguments of the server have other values inside.

    Later versions keep what is resolved in a context and let nobody write to the arguments.
    """
    before = {name: configuration_of(name) for name in fields}
    _configure(fields)
    try:
        yield
    finally:
        _configure(before)


def arguments() -> Any:
    """The arguments of the server, as they were given."""
    context = _context()
    if context is not None and hasattr(context, "config_leaf"):
        from sglang.srt.runtime_context import get_server_args

        return get_server_args()
    from sglang.srt.server_args import get_global_server_args

    return get_global_server_args()


def configuration_of(name: str) -> Any:
    """What is in effect for an argument of the server."""
    context = _context()
    if context is not None and hasattr(context, "config_leaf"):
        return context.config_leaf(name)
    return getattr(arguments(), name)


def _configure(fields: dict[str, Any]) -> None:
    context = _context()
    if context is not None:
        context.override("verification", **fields)
        return
    for name, value in fields.items():
        setattr(arguments(), name, value)


def _context() -> Any:
    """What holds the configuration in effect; None in versions whose arguments are written to."""
    if find_spec("sglang.srt.runtime_context") is None:
        return None
    from sglang.srt.runtime_context import get_context

    found = get_context()
    return found if hasattr(found, "override") else None


@contextmanager
def ranked(**values: Any) -> Iterator[None]:
    """Sizes and ranks of groups of processes that nobody made, where upstream asks its context for them."""
    if find_spec("sglang.srt.runtime_context") is None:
        yield
        return
    from sglang.srt.runtime_context import get_parallel

    with get_parallel().override(**values):
        yield


@contextmanager
def in_group(rank: int, ranks: int, *modules: Any) -> Iterator[None]:
    """Some modules of upstream believe in a rank of a group that nobody made."""
    sizes: dict[str, int] = {}
    told = {"get_tensor_model_parallel_rank": rank, "get_tensor_model_parallel_world_size": ranks}
    with ExitStack() as stack:
        for kind in ("tp", "attn_tp", "moe_tp"):
            sizes[f"{kind}_rank"], sizes[f"{kind}_size"] = rank, ranks
        stack.enter_context(ranked(**sizes))
        for module in modules:
            for name in told.keys() & vars(module).keys():
                answer = mock.Mock(return_value=told[name])
                stack.enter_context(mock.patch.object(module, name, answer))
        yield


def alone(module: Any, group: Any) -> Any:
    """A context in which `group` is the group of processes that a module of upstream asks for."""
    if hasattr(module, "get_tp_group"):
        return mock.patch.object(module, "get_tp_group", lambda: group)
    from sglang.srt.runtime_context import ParallelContext

    return mock.patch.object(ParallelContext, "tp_group", group, create=True)
