"""A device guard for CUDA in a torch that was built without it.

Tensors that say `cuda:0` need a guard in torch's table of devices; Meta's does nothing and fits.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

_TABLE = "_ZN3c104impl26device_guard_impl_registryE"
_CPU, _CUDA, _META, _DEVICES = 0, 1, 14, 21


def install() -> None:
    """Put Meta's guard where CUDA's is missing. Raises RuntimeError when torch's table is another."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    table = (ctypes.c_void_p * _DEVICES).in_dll(library, _TABLE)
    if not table[_CPU] or not table[_META]:
        raise RuntimeError("torch's table of device guards is not as expected")
    if not table[_CUDA]:
        table[_CUDA] = table[_META]
