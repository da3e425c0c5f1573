"""NCCL as upstream calls it through ctypes: every call is an event, and nothing is sent."""

from __future__ import annotations

from typing import Any

from verification.machine.trace import TRACE


class Library:
    """Takes the place of upstream's NCCLLibrary."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(*args: Any) -> None:
            # buffers, communicators and streams are addresses; counts, types and operations are numbers
            TRACE.add("absent", f"nccl.{function}", [each for each in args if isinstance(each, int)])

        return call

    def ncclGetUniqueId(self) -> Any:
        from sglang.srt.distributed.device_communicators.pynccl_wrapper import ncclUniqueId

        return ncclUniqueId()

    def ncclGetVersion(self) -> str:
        return "2.27.3"


def install() -> None:
    """Put the library in place of upstream's; call it when SGLang is imported."""
    from sglang.srt.distributed.device_communicators import pynccl

    pynccl.NCCLLibrary = Library
