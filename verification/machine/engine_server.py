"""`sglang.Engine` behind HTTP: `python -m verification.machine.engine_server` and the words of a server.

`POST /METHOD` calls a method with the keys of the body, one call after the other, in the engine's own thread.
In a body `tensors` are names with the shapes of tensors of ones, which are handed over as `named_tensors`.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

_REFUSED = 400


def main() -> None:
    from sglang import Engine
    from sglang.srt.server_args import prepare_server_args

    arguments = prepare_server_args(sys.argv[1:])
    engine = Engine(server_args=arguments)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(200, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                self._reply(200, call(engine, self.path.removeprefix("/"), body))
            except Exception as error:  # what a method raises is its reply
                self._reply(_REFUSED, {"type": type(error).__name__, "message": str(error)})

        def _reply(self, status: int, said: Any) -> None:
            text = json.dumps(said, default=str).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    HTTPServer(("127.0.0.1", arguments.port), Handler).serve_forever()


def call(engine: Any, method: str, body: Mapping[str, Any]) -> Any:
    """What a method answers; a stream as the list of its parts."""
    given = dict(body)
    shapes = given.pop("tensors", None)
    if shapes is not None:
        given["named_tensors"] = _ones(shapes)
    said = getattr(engine, method)(**given)
    if inspect.isawaitable(said):
        said = engine.loop.run_until_complete(said)
    if inspect.isasyncgen(said):
        said = engine.loop.run_until_complete(_all(said))
    return list(said) if inspect.isgenerator(said) else said


async def _all(stream: Any) -> list[Any]:
    return [part async for part in stream]


def _ones(shapes: Mapping[str, list[int]]) -> list[tuple[str, Any]]:
    import torch

    return [(name, torch.ones(shape, dtype=torch.bfloat16)) for name, shape in shapes.items()]


if __name__ == "__main__":
    main()
