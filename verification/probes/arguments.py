"""Parses launch commands with the tree's own parser, each in a child, and describes the parser itself.

The model's folders with their config.json are made in the working folder under the names of the hub.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

from verification.machine import setup
from verification.probes import executed, server_args
from verification.probes.request import Request, place_of, received

_SEED = 1  # a seed that is not given is drawn


def main() -> None:
    request = received()
    commands = prepare(request.question, request)
    results = {name: _in_child(command, str(request.tree)) for name, command in commands.items()}
    request.answer({"commands": results, "flags": _flags()})


def prepare(asked: dict[str, Any], request: Request) -> dict[str, list[str]]:
    """The commands by name, in a world in which they can be parsed."""
    setup.pretend(request.tree, tuple(asked["capability"]), asked["devices"], numbers=False)
    os.chdir(request.out.parent)
    _models(asked["models"])
    # what parsing imports is imported once, not in every child
    for name in ("server_args", "configs.model_config"):
        importlib.import_module(f"sglang.srt.{name}")
    return dict(asked["commands"])


def _models(models: dict[str, dict[str, Any]]) -> None:
    from verification.models import configuration

    for name, config in models.items():
        configuration.write(configuration.configuration(**config), Path(name))


def _in_child(command: list[str], tree: str) -> dict[str, Any]:
    """What a command gives; parsing changes the environment and caches, so each has its own process."""
    pipe, end = os.pipe()
    process = os.fork()
    if process:
        os.close(end)
        data = b"".join(iter(lambda: os.read(pipe, 65536), b""))
        os.close(pipe)
        os.waitpid(process, 0)
        return json.loads(data) if data else {"crash": True}  # type: ignore[no-any-return]
    os.close(pipe)
    with os.fdopen(end, "wb") as answer:
        answer.write(json.dumps(parsed(command, tree)).encode())
    executed.end()
    os._exit(0)


def parsed(command: list[str], tree: str) -> dict[str, Any]:
    from sglang.srt.server_args import prepare_server_args

    before = dict(os.environ)
    try:
        args = prepare_server_args([*command, "--random-seed", str(_SEED)])
        server_args.resolve(args)
        args.check_server_args()
    except SystemExit as stop:
        return {"refused": f"exit status {stop.code}"}
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:400], "place": place_of(error, tree)}
    changed = {key: value for key, value in os.environ.items() if before.get(key) != value}
    return {
        "arguments": _plain(server_args.resolved(args)),
        "attention": _plain(server_args.attention(args)),
        "environment": dict(sorted(changed.items())),
    }


def _plain(value: Any) -> Any:
    """A value as JSON, the same in every process."""
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return f"{type(value).__name__}"


def _flags() -> dict[str, Any]:
    """Every flag of the parser: where it goes, its type, default and choices."""
    import argparse

    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return {
        " ".join(action.option_strings) or action.dest: {
            "dest": action.dest,
            "kind": type(action).__name__,
            "type": getattr(action.type, "__name__", None),
            "nargs": action.nargs,
            "required": action.required,
            "default": _plain(action.default),
            "choices": sorted(map(str, action.choices)) if action.choices is not None else None,
            "help": action.help,
        }
        for action in parser._actions
    }


if __name__ == "__main__":
    main()
