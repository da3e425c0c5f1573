"""mooncake: its transfer engine, which writes into the memory of another process of this machine."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

from verification.machine.absent import implement

_AT_ONCE = 1024  # pieces that the system takes in one call (IOV_MAX)
_SET_TRACER, _ANY = 0x59616D61, -1  # PR_SET_PTRACER, PR_SET_PTRACER_ANY


class _Piece(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("address", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Engine:
    """An engine is known by the process that it is in."""

    def __init__(self) -> None:
        self._system = ctypes.CDLL(None, use_errno=True)
        self._system.process_vm_writev.restype = ctypes.c_ssize_t

    def initialize(self, *given: object) -> int:
        """Let others write here, where the system asks for that."""
        self._system.prctl(_SET_TRACER, ctypes.c_long(_ANY), 0, 0, 0)
        return 0

    def get_rpc_port(self) -> int:
        """What follows the host in the name of a session."""
        return os.getpid()

    def register_memory(self, *given: object) -> int:
        """All memory can be read."""
        return 0

    unregister_memory = batch_register_memory = batch_unregister_memory = register_memory

    def transfer_sync_write(self, session: str, buffer: int, peer: int, length: int) -> int:
        """0, or -1 where the system refuses."""
        return self.batch_transfer_sync_write(session, [buffer], [peer], [length])

    def batch_transfer_sync_write(
        self, session: str, buffers: Sequence[int], peers: Sequence[int], lengths: Sequence[int]
    ) -> int:
        """0, or -1 where the system refuses."""
        process = int(session.rpartition(":")[2])
        for start in range(0, len(lengths), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            here = _pieces(buffers[part], lengths[part])
            there = _pieces(peers[part], lengths[part])
            wanted = sum(int(each) for each in lengths[part])
            done = self._system.process_vm_writev(process, here, len(here), there, len(there), 0)
            if done != wanted:
                return -1
        return 0


def _pieces(addresses: Sequence[int], lengths: Sequence[int]) -> Any:
    made = [_Piece(int(address), int(length)) for address, length in zip(addresses, lengths, strict=True)]
    return (_Piece * len(made))(*made)


def install() -> None:
    """Implement the engine."""
    implement("mooncake.engine.TransferEngine", _Engine)
