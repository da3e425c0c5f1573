"""The launch commands of commands.txt, and the models that they name."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

MACHINES = {"sm90": (9, 0), "sm100": (10, 0)}
_NAME = re.compile(r"\[([a-z0-9-]+)\]")


@dataclass(frozen=True, slots=True)
class Command:
    """One launch command."""

    name: str
    words: tuple[str, ...] = ()
    machines: tuple[str, ...] = tuple(MACHINES)
    refused: str = ""  # the feature that this distribution does not have

    @property
    def model(self) -> str:
        """The model that it serves, as the hub names it."""
        flags = ("--model-path", "--model")
        return next(word for flag, word in zip(self.words, self.words[1:], strict=False) if flag in flags)

    def gives(self, flag: str) -> bool:
        """Return whether `flag` is on the command line."""
        return any(word == flag or word.startswith(f"{flag}=") for word in self.words)


def parse(text: str) -> tuple[Command, ...]:
    """Read commands. Raises ValueError, with the line, for what is not one."""
    commands: list[Command] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if found := _NAME.fullmatch(line):
            if any(command.name == found.group(1) for command in commands):
                raise ValueError(f"line {number}: there are two commands '{found.group(1)}'")
            commands.append(Command(found.group(1)))
            continue
        if not commands:
            raise ValueError(f"line {number}: words before the first [name]")
        commands[-1] = _with(commands[-1], line, number)
    return tuple(commands)


def _with(command: Command, line: str, number: int) -> Command:
    key, colon, value = line.partition(":")
    if colon and key == "machine":
        machines = tuple(value.split())
        if not machines or not set(machines) <= set(MACHINES):
            raise ValueError(f"line {number}: machines are {', '.join(MACHINES)}")
        return replace(command, machines=machines)
    if colon and key == "refused":
        return replace(command, refused=value.strip())
    return replace(command, words=(*command.words, *shlex.split(line)))


def read() -> tuple[Command, ...]:
    """The commands of this repository."""
    return parse((Path(__file__).parent / "commands.txt").read_text())


def model(name: str) -> dict[str, Any]:
    """Arguments of `models.configuration.configuration` for a model of the hub, by its name."""
    quantization = ""
    if "FP4" in name:
        quantization = "nvfp4"
    elif not re.search(r"V2|moe-16b|bf16|INT8", name):
        quantization = "fp8"
    if "V3.2" in name:
        architecture = "DeepseekV32ForCausalLM"
    elif "V2" in name:
        architecture = "DeepseekV2ForCausalLM"
    elif "moe-16b" in name:
        architecture = "DeepseekForCausalLM"
    else:
        architecture = "DeepseekV3ForCausalLM"
    layers = (
        (27, 1) if "Lite" in name else (28, 1) if "moe-16b" in name else (60, 1) if "V2" in name else (61, 3)
    )
    return {
        "architecture": architecture,
        "layers": layers[0],
        "dense": layers[1],
        "full": True,
        "quantization": quantization,
    }
