"""The fixed files of the random programs: what the predicates are, and the facts about them."""

from __future__ import annotations

#: Programs that are specialized together, since most of the time goes into what is around them.
BATCH = 5

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
stored = is_hip()


def read_stored():
    return "on" if stored else "off"


def use_slow(hint=None):
    """A function that the facts decide."""
    if is_hip():
        return True
    return _is_npu or _use_fast
'''

#: What a star import brings.
OVER = """\
over_flag = "over"


def over_function():
    return "over"
"""

#: The package around a program, in the order of its imports.
AROUND = {
    "pkg/__init__.py": "",
    "pkg/plat.py": PLATFORM,
    "pkg/consts.py": CONSTANTS,
    "pkg/over.py": OVER,
}

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
    "*.npu_comm": null
  environment:
    USE_HIP: false
    UNSET_FLAG: null
  attributes: [torch.npu]
  pure: [peek, get_bool_env_var, getenv]
  methods: ["pkg.*.Spelled*"]
  options:
    - names: ["backend*", "CHOICE*", "TABLE", "register_backend"]
      absent: [fa3, fa4, fa5, fa6, fa7, fa8, fa9]
    - {names: ["device"], absent: [npu]}
absent:
  modules: [aiter]
  symbols:
    - pkg.plat.Kind.OLD
"""
FACTS += "".join(f"    - pkg.prog{i}.{name}\n" for i in range(BATCH) for name in ("Mode.OLD", "Fields.old"))

#: A package that the programs use and that nobody specializes.
FRAMEWORK = """\
import contextlib

SEEN = []


class Plugin:
    def __init_subclass__(cls, key=None):
        SEEN.append(key or cls.__name__)


class Meta(type):
    def __init__(cls, name, bases, names):
        SEEN.append(name)


class Field:
    def __set_name__(self, owner, name):
        SEEN.append((owner.__name__, name))


class Node:
    def __rshift__(self, other):
        SEEN.append("edge")
        return other


class Free:
    def __getattr__(self, name):
        return lambda: True


class Module:
    def on_0(self):
        return "module"

    on_1 = on_2 = on_3 = on_4 = on_5 = on_0


class Model:
    def __init__(self, *values):
        self.__dict__.update(zip(type(self).__annotations__, values))


class Variable:
    def __init__(self, name, default):
        self.default = default

    def get(self):
        return self.default


class Counter:
    def __init__(self):
        self.calls = 0

    def get(self, *values):
        self.calls += 1
        return self.calls

    getenv = keys = items = values = split = is_available = get

    def replace(self, *values):
        self.calls += 1
        return self

    lower = upper = strip = lstrip = rstrip = replace

    def __len__(self):
        self.calls += 1
        return self.calls


def base(name):
    SEEN.append(name)
    return object


def cache(function):
    SEEN.append(function.__name__)
    return function


jit = cache


def drive(thing):
    hooks = [getattr(thing, "on_%d" % number, None) for number in range(30)]
    return [hook() for hook in hooks if hook is not None]


def fill(items):
    items.append(1)


def yes(*values):
    return True


def same(value):
    return value


def invert(function):
    return lambda: not function()


def lookup(owner, *parts):
    return getattr(owner, "".join(parts))


@contextlib.contextmanager
def swallow():
    try:
        yield
    except Exception:
        pass
"""
