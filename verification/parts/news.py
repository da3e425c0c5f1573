"""News of the KV cache for others: batches of events are sent, kept, and sent again to those who ask."""

from __future__ import annotations

import atexit
import time
from typing import Any

from verification.parts.registry import Found, part, refused

_KEPT, _SENT = 3, 5
_PATIENCE = 10.0  # seconds
_PLACE = "inproc://verification-news"


def _until(done: Any) -> bool:
    """Wait for another thread, for a time."""
    end = time.monotonic() + _PATIENCE
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(done())


def _asked(client: Any, number: int) -> list[list[bytes]]:
    """What comes again, from a number to the mark of the end."""
    client.send_multipart([b"", number.to_bytes(8, "big")])
    found: list[list[bytes]] = []
    while not found or found[-1][-2] != b"\xff" * 8:
        if not client.poll(int(_PATIENCE * 1000)):
            break
        found.append(client.recv_multipart())
    return found


@part("news-of-the-cache")
def news() -> Found:
    """The last batches are kept by number; who asks from a number has them from there to the end."""
    import msgspec
    import zmq
    from sglang.srt.disaggregation import kv_events

    made = kv_events.ZmqEventPublisher(0, f"{_PLACE}-all", f"{_PLACE}-again", buffer_steps=_KEPT, topic="kv")
    atexit.unregister(made.shutdown)  # it happens below
    client = zmq.Context.instance().socket(zmq.DEALER)
    client.connect(f"{_PLACE}-again")
    try:
        for number in range(_SENT):
            stored = kv_events.BlockStored(
                block_hashes=[number], parent_block_hash=None, token_ids=[1, 2], block_size=2, lora_id=None
            )
            events = [stored, kv_events.BlockRemoved(block_hashes=[7]), kv_events.AllBlocksCleared()]
            made.publish(kv_events.KVEventBatch(ts=float(number), events=events))
        kept = _until(lambda: [number for number, _ in made._buffer] == list(range(_SENT - _KEPT, _SENT)))
        client.send_multipart([b"no question"])
        some, everything, none = (_asked(client, number) for number in (3, 0, _SENT))
    finally:
        client.close(linger=0)
        made.shutdown()
    over = refused(lambda: made.publish(kv_events.KVEventBatch(ts=0.0, events=[])), RuntimeError)
    numbers = [int.from_bytes(each[-2], "big") for each in some[:-1]]
    read = [msgspec.msgpack.decode(each[-1], type=kv_events.KVEventBatch) for each in some[:-1]]
    return Found(
        {
            "the last are kept": kept, "from a number": numbers == [3, 4],
            "all that are kept": len(everything) == _KEPT + 1, "only the end": len(none) == 1,
            "as they were": [each.ts for each in read] == [3.0, 4.0], "no more after the end": over,
            "the thread is over": not made._thread.is_alive(),
        },
        {"bytes": [each[-1].hex() for each in everything]},
    )  # fmt: skip


@part("news-places")
def places() -> Found:
    """Each rank that has a cache of its own tells its news at its own place."""
    from sglang.srt.disaggregation.kv_events import ZmqEventPublisher

    given = [(None, 1), ("tcp://*:5557", 0), ("tcp://*:5557", 3), ("inproc://cache", 2)]
    found = [ZmqEventPublisher.offset_endpoint_port(place, rank) for place, rank in given]
    no_next = refused(lambda: ZmqEventPublisher.offset_endpoint_port("ipc://file", 1), ValueError)
    first = found[1] == given[1][0]
    return Found({"the first is as told": first, "a file has no next": no_next}, {"places": found})
