"""mooncake: its transfer engine, which writes into another process of this machine, and its store."""

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


class _Store:
    """Values by key, in the memory of this process: a buffer is read and written by its address."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def setup(self, *given: object) -> int:
        """There is nothing to be reached."""
        return 0

    setup_dummy = register_buffer = setup

    def put(self, key: str, value: bytes) -> int:
        self._values[key] = bytes(value)
        return 0

    def get(self, key: str) -> bytes:
        return self._values.get(key, b"")

    def is_exist(self, key: str) -> int:
        return int(key in self._values)

    def batch_is_exist(self, keys: Sequence[str]) -> list[int]:
        return [self.is_exist(key) for key in keys]

    def batch_put_from(self, keys: Sequence[str], buffers: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """0 for each."""
        return [
            self.put(key, ctypes.string_at(buffer, size))
            for key, buffer, size in zip(keys, buffers, sizes, strict=True)
        ]

    def batch_get_into(self, keys: Sequence[str], buffers: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """The bytes that were read for each, -1 where there are none."""
        found = []
        for key, buffer, size in zip(keys, buffers, sizes, strict=True):
            value = self._values.get(key)
            if value is not None:
                ctypes.memmove(buffer, value, min(size, len(value)))
            found.append(-1 if value is None else len(value))
        return found

    def remove_all(self) -> int:
        count = len(self._values)
        self._values.clear()
        return count


class _Allocator:
    """Memory of the host, which lives as long as the process."""

    def __init__(self) -> None:
        self._held: list[Any] = []

    def alloc(self, size: int) -> int:
        """The address."""
        self._held.append(ctypes.create_string_buffer(size))
        return ctypes.addressof(self._held[-1])


def install() -> None:
    """Implement the engine, the store and its memory."""
    implement("mooncake.engine.TransferEngine", _Engine)
    implement("mooncake.store.MooncakeDistributedStore", _Store)
    implement("mooncake.store.MooncakeHostMemAllocator", _Allocator)
