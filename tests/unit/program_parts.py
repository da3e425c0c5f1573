"""The fixed files of the random programs: what the predicates are, and the facts about them."""

from __future__ import annotations

PLATFORM = """\
import enum
from probe import probe


def is_hip():
    return probe("hip")


def is_npu() -> bool:
    return probe("npu")


def is_new():
    return probe("new")


def is_cuda():
    return probe("cuda")


def some():
    return probe("some")


def none():
    return probe("none")


def get_name():
    return probe("name")


class Kind(enum.Enum):
    A = "a"
    OLD = "old"

    def is_old(self):
        return self == Kind.OLD


DERIVED = is_hip() or is_npu()
"""

CONSTANTS = '''\
from pkg.plat import is_cuda, is_hip, is_npu, none
from effects import get_bool_env_var

_is_hip = is_hip()
_is_cuda = is_cuda()
try:
    _is_npu = is_npu()
except RuntimeError:
    _is_npu = False
star_flag = _is_hip or is_npu()
_use_fast = get_bool_env_var("USE_FAST") and _is_hip


def use_slow(hint=None):
    """A function that the facts decide."""
    if is_hip():
        return True
    return _is_npu or _use_fast
'''

#: The package around a program, in the order of its imports.
AROUND = {"pkg/__init__.py": "", "pkg/plat.py": PLATFORM, "pkg/consts.py": CONSTANTS}

#: In the manifest's own words. `some` and `none` are known by their truth alone.
FACTS = """\
facts:
  predicates:
    pkg.plat.is_hip: false
    pkg.plat.is_npu: false
    pkg.plat.is_new: true
    pkg.plat.some: truthy
    pkg.plat.none: falsy
    pkg.plat.get_name: dev
  values:
    torch.version.hip: null
  environment:
    USE_HIP: false
  attributes: [torch.npu]
  pure: [peek, get_bool_env_var, getenv]
  options:
    - {names: ["backend*", "CHOICE*", "TABLE", "register_backend"], absent: [fa3, fa4]}
    - {names: ["device"], absent: [npu]}
absent:
  modules: [aiter]
  symbols: [pkg.plat.Kind.OLD]
"""
