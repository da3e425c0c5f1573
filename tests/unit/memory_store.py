"""A store of results in memory, for tests."""

from __future__ import annotations

from builder.memo import Entries


class MemoryStore:
    """Keeps what is put."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, bytes], bytes] = {}
        self.puts = 0

    def get(self, kind: str, key: bytes) -> bytes | None:
        return self._entries.get((kind, key))

    def put(self, kind: str, key: bytes, data: bytes) -> None:
        self.puts += 1
        self._entries[kind, key] = data

    def added(self) -> Entries:
        return self._entries
