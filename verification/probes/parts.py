"""Runs parts of a server on their own, each with what it gives or how it fails.

The question may name those that are wanted, under `only`.
"""

from __future__ import annotations

import os
import re
from typing import Any

from verification.machine import world
from verification.probes.request import Request, place_of, received


def main() -> None:
    request = received()
    entered = world.enter(request)
    registered = prepare(request)

    from verification.machine.trace import TRACE

    TRACE.values = True  # what memory held before is no behaviour
    found = {}
    with entered.inside():
        for name in request.question.get("only", registered):
            found[name] = attempt(registered[name], str(request.tree))
    request.answer({"parts": found, "world": entered.describe()})


def prepare(request: Request) -> dict[str, Any]:
    """Every part by its name, with the arguments of a server for those that read them."""
    os.chdir(request.out.parent)

    from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler

    from verification.models import configuration
    from verification.parts import registry

    configuration.write(configuration.configuration("DeepseekV3ForCausalLM"), request.out.parent / "model")
    set_global_server_args_for_scheduler(ServerArgs(model_path="model", device="cuda", random_seed=1))
    registry.load()
    return registry.PARTS


def attempt(part: Any, tree: str) -> dict[str, Any]:
    try:
        said = part()
    except Exception as error:
        # a folder that is made to compile in has a name of its own each time
        message = re.sub(r"\.staging-[0-9a-f]+", ".staging", str(error)).replace(tree, "<tree>")
        return {"error": f"{type(error).__name__}: {message}"[:300], "place": place_of(error, tree)}
    return {"facts": said.facts, "values": said.values}


if __name__ == "__main__":
    main()
