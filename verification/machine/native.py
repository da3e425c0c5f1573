"""sgl_kernel without its binaries: the tree's own Python package over operators defined here.

The operators' schemas are read from the `m.def` calls of the tree's own extension, so that a tree which
no longer binds an operator no longer has it.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from verification.kernels import registry

_EXTENSIONS = ("common_extension.cc", "flash_extension.cc", "flashmla_extension.cc", "spatial_extension.cc")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINITION = re.compile(r'm\.def\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
#: Operators whose schema upstream leaves to C++ to infer.
_INFERRED = {
    "cutlass_mla_get_workspace_size": "cutlass_mla_get_workspace_size(int a, int b, int c, int d) -> int",
    "meta_size": "meta_size() -> int",
}
_WORKSPACE = 1 << 20  # bytes
_kept: list[Any] = []  # libraries of operators vanish when nobody holds them


def schemas(source: str) -> Iterator[str]:
    """The text of each `m.def`, in order: a schema, or a bare name."""
    for found in _DEFINITION.finditer(_COMMENT.sub("", source)):
        yield "".join(_STRING.findall(found.group(1)))


def install(kernel: Path, keys: tuple[str, ...] = ("CPU",)) -> int:
    """Make `import sgl_kernel` work from the folder `kernel` (a tree's sgl-kernel/). The number of operators.

    `keys` are the dispatch keys under which reference implementations are registered.
    """
    sys.path.insert(0, str(kernel / "python"))
    library = torch.library.Library("sgl_kernel", "FRAGMENT")
    _kept.append(library)
    defined: dict[str, str] = {}
    for file in _EXTENSIONS:
        path = kernel / "csrc" / file
        for schema in schemas(path.read_text()) if path.exists() else ():
            name = schema.split("(")[0]
            if name in defined:
                continue
            defined[name] = schema if "(" in schema else _INFERRED.get(name, f"{name}() -> int")
            library.define(defined[name])
    for name, schema in defined.items():
        if "Tensor" not in schema and schema.endswith("-> int"):  # a size, which no tensor decides
            library.impl(name, lambda *sizes: _WORKSPACE, "CompositeExplicitAutograd")
        for key in keys if name in registry.REFERENCES else ():
            library.impl(name, registry.REFERENCES[name], key)
        if name in registry.SHAPES:
            library._register_fake(name, registry.SHAPES[name])
        elif schema.rstrip().endswith("-> ()"):
            library._register_fake(name, lambda *args, **kwargs: None)
    _overridable()
    if not defined:
        _unknown()
    _no_binaries()
    return len(defined)


def _overridable() -> None:
    """Let the tree's own Python state the shapes of operators again: newer versions of torch allow it."""
    original = torch.library.register_fake
    if inspect.signature(original).parameters["allow_override"].default is False:
        torch.library.register_fake = functools.partial(original, allow_override=True)


def _unknown() -> None:
    """Let shapes be stated for operators that nothing here defines."""
    original = torch.library.register_fake

    def register(op: Any, func: Any = None, /, **more: Any) -> Any:
        if isinstance(op, str) and op.startswith("sgl_kernel::"):
            return func if func is not None else lambda function: function
        return original(op, func, **more) if func is not None else original(op, **more)

    torch.library.register_fake = register  # type: ignore[assignment]


def _no_binaries() -> None:
    loader = types.ModuleType("sgl_kernel.load_utils")
    loader._load_architecture_specific_ops = lambda: None  # type: ignore[attr-defined]
    loader._preload_cuda_library = lambda: None  # type: ignore[attr-defined]
    sys.modules[loader.__name__] = loader
    for name in ("flash_ops", "flashmla_ops", "spatial_ops"):
        sys.modules[f"sgl_kernel.{name}"] = types.ModuleType(f"sgl_kernel.{name}")
