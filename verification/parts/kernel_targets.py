"""The registry of kernels of later versions: what the tree asks of it can be loaded."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from verification.parts.registry import Found, part

_ASKED = re.compile(r"\b(?:get|select)_kernel\(\s*\"([\w.]+)\"")


@part("kernel-targets")
def kernel_targets() -> Found:
    """A kernel is loaded by the name of its module and function, when it is called for the first time.

    The registry is an inventory too: entries that nothing asks for may name what left.
    """
    if find_spec("sglang.kernels") is None:
        return Found({"versions without a registry load kernels by imports": True}, {})
    import sglang
    from sglang.kernels import registry

    root = Path(sglang.__path__[0])
    asked = {op for file in root.rglob("*.py") for op in _ASKED.findall(file.read_text("utf-8"))}
    targets = {each.op: each.target for each in registry.all_specs() if each.target.startswith("sglang.")}
    missing = [op for op in sorted(asked & {*targets}) if not _there(root.parent, targets[op])]
    return Found({"some are asked for": bool(asked), "all of them are there": not missing}, {})


def _there(root: Path, target: str) -> bool:
    """Is there a module, and does its text have the name that is asked of it?"""
    module, _, name = target.partition(":")
    place = root / module.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    word = rf"\b{re.escape(name.partition('.')[0])}\b"
    return file.is_file() and re.search(word, file.read_text("utf-8")) is not None
