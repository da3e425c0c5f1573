"""Kernels by name and by key: what the tree asks of the registry can be loaded, and one is compiled once."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from verification.parts.registry import Found, part, refused

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
    rows = (row for op in registry.ops() for row in registry.get(op))
    targets = {row.op: row.target for row in rows if row.target.startswith("sglang.")}
    missing = [op for op in sorted(asked & {*targets}) if not _there(root.parent, targets[op])]
    return Found({"some are asked for": bool(asked), "all of them are there": not missing}, {})


def _there(root: Path, target: str) -> bool:
    """Return whether there is a module whose text has the name that is asked of it."""
    module, _, name = target.partition(":")
    place = root / module.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    word = rf"\b{re.escape(name.partition('.')[0])}\b"
    return file.is_file() and re.search(word, file.read_text("utf-8")) is not None


@part("kernels-once")
def once() -> Found:
    """A kernel is compiled once for each key, for grids of any size, and finds its arguments by name."""
    import triton
    from sglang.srt.utils.common import CachedKernel

    seen: list[Any] = []

    class Kernel(triton.runtime.jit.JITFunction):  # type: ignore[misc]
        """Compiles nothing: tells how it is called, and is called in the same way once compiled."""

        fn = staticmethod(lambda x, y, BLOCK: None)

        def __init__(self) -> None:
            """Nothing is read of its text."""

        def __getitem__(self, grid: Any) -> Any:
            return lambda *given, **named: seen.append(["new", grid, given, named]) or _Compiled(seen)

    made = CachedKernel(Kernel(), lambda args, kwargs: kwargs["BLOCK"])
    for grid, block in (((2,), 8), ((3, 4), 8), ((2,), 16), ((1, 1, 1), 16)):
        made[grid]("x", y="y", BLOCK=block)
    incomplete = refused(lambda: made[(1,)]("x", BLOCK=8), ValueError)
    made._clear_cache()
    made[(5,)]("x", "y", BLOCK=8)
    kinds = [each[0] for each in seen]
    return Found(
        {
            "once for each key": kinds == ["new", "again", "new", "again", "new"],
            "all in order": all(
                each[2] == ("x", "y", (8, 16)[number // 2])
                for number, each in enumerate(seen[:4])
                if each[0] == "again"
            ),
            "nothing is missing": incomplete,
        },
        {"calls": seen},
    )


class _Compiled:
    """A kernel that is compiled: it takes all arguments by place."""

    def __init__(self, seen: list[Any]) -> None:
        self._seen = seen

    def __getitem__(self, grid: Any) -> Any:
        return lambda *given: self._seen.append(["again", grid, given])
