"""The servers of servers.yaml, and the requests that each is sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("servers.yaml")
#: What of a reply is compared: all that lasts, its status alone, the names of metrics, or, of texts that are
#: computed in one batch or in two as they happen to arrive, all but what that changes.
ALL, STATUS, METRICS, TOGETHER = "all", "status", "metrics", "together"

_COLD = ("--skip-server-warmup",)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: a body is posted; without one the path is read."""

    name: str
    path: str
    body: Any = None
    compare: str = ALL


@dataclass(frozen=True, slots=True)
class Server:
    """A server of one model, as its command line starts it."""

    name: str
    words: tuple[str, ...]
    requests: tuple[Request, ...]
    architecture: str = "DeepseekV3ForCausalLM"
    layers: int = 1
    quantization: str = ""
    experts: bool = False  # in its last layer, whose kernels take most of the time
    pair: bool = False  # one server prefills, and another decodes
    adapter: bool = False  # of LoRA, in the folder `adapter`
    warms_up: bool = False  # it asks itself before it is asked
    engine: bool = False  # `sglang.Engine`, whose methods are asked
    config: Mapping[str, Any] = field(default_factory=dict)  # of the model, instead of its usual
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)  # JSON beside the model, by name

    def without(self, flags: Collection[str], paths: Collection[str]) -> Server:
        """It without these flags and their values, and without requests to these paths."""
        words, taken = [], False
        for word in self.words:
            if word.startswith("--"):
                taken = word in flags
            if not taken:
                words.append(word)
        kept = tuple(each for each in self.requests if each.path not in paths)
        return replace(self, words=tuple(words), requests=kept)

    @property
    def needs(self) -> tuple[str, ...]:
        """The flags without which it tests nothing that it is there for."""
        return ("--disaggregation-mode",) * self.pair + ("--lora-paths",) * self.adapter

    def question(self) -> dict[str, Any]:
        """What the probe `server` is asked."""
        return {
            "capability": [9, 0], "devices": 8, "architecture": self.architecture,
            "layers": self.layers, "quantization": self.quantization, "experts": self.experts,
            "pair": self.pair, "engine": self.engine, "adapter": self.adapter, "config": dict(self.config),
            "environment": dict(self.environment), "files": dict(self.files),
            "words": [*self.words, *(() if self.warms_up else _COLD)],
            "requests": [[each.name, each.path, each.body, each.compare] for each in self.requests],
        }  # fmt: skip


def read(file: Path = FILE) -> tuple[Server, ...]:
    """The servers of a file. Raises KeyError for a group that it does not have, TypeError for a key."""
    said = yaml.safe_load(file.read_text("utf-8"))
    always = tuple(said["always"].split())
    groups = {
        group: tuple(Request(name, **each) for name, each in requests.items())
        for group, requests in said["requests"].items()
    }
    found = []
    for name, each in said["servers"].items():
        others = {key: value for key, value in each.items() if key not in ("words", "groups")}
        requests = tuple(request for group in each["groups"] for request in groups[group])
        found.append(Server(name, (*always, *each["words"].split()), requests, **others))
    return tuple(found)


def chosen(names: tuple[str, ...] = ()) -> tuple[Server, ...]:
    """The servers with these names, or with a name that starts so; all without names."""
    return tuple(each for each in read() if not names or each.name.startswith(names))


def fitting(
    servers: Iterable[Server], flags: Collection[str], paths: Collection[str]
) -> tuple[list[Server], dict[str, str]]:
    """The servers for an output without these flags and paths, and why others are left out, by name.

    A server starts without these flags, with both trees alike. One that is then the same as
    another, or that is there for the sake of one of them, is left out.
    """
    kept: dict[str, Server] = {}
    left = {}
    for server in servers:
        lost = [word for word in (*server.needs, *server.words) if word in flags]
        fitted = replace(server.without(flags, paths), name="")
        if lost and (lost[0] in server.needs or fitted in kept.values()):
            left[server.name] = f"the output has no {lost[0]}"
        else:
            kept[server.name] = fitted
    return [replace(each, name=name) for name, each in kept.items()], left
