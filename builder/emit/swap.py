"""Exchanges two folders, atomically where the system can."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux: renameat2
_RENAME_SWAP = 2  # macOS: renamex_np
_UNABLE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}

Exchange = Callable[[bytes, bytes], bool]


def exchange(one: bytes, other: bytes) -> bool:
    """Swap two folders of one file system atomically; False when system or file system cannot.

    Raises OSError when the exchange is supported but fails.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            status = libc.renamex_np(one, other, _RENAME_SWAP)
        else:
            status = libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
    except AttributeError:
        return False
    if status == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), os.fsdecode(one), None, os.fsdecode(other))
