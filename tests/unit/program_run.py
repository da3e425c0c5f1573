"""Runs a random program with every effect on record."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from random import Random
from types import MappingProxyType
from typing import Any

from random_program import page
from small_package import module_of

#: What is around the programs: files, facts, and a framework that nobody specializes.
PAGE = page("around")

#: What the platform says at run time: as the facts have it, and what only the facts' truth tells of.
WORLD = {
    "hip": False, "npu": False, "new": True, "cuda": "12.4", "some": "yes", "none": "", "name": "dev",
}  # fmt: skip
#: Where an object is in memory, as its representation has it.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Exhausted(BaseException):
    """A program that runs for too long."""


@dataclass
class Outcome:
    """What a run did: its effects in order, and how it ended."""

    effects: list[str] = field(default_factory=list)
    end: str = ""


class _Effects:
    """What the programs call. Choices come from a seed and the number of the call."""

    def __init__(self, seed: int, outcome: Outcome) -> None:
        self.random = Random(seed)
        self.outcome = outcome
        self.backends: dict[str, object] = {}

    def note(self, text: str) -> None:
        self.outcome.effects.append(_ADDRESS.sub("", text))
        if len(self.outcome.effects) > 300:
            raise Exhausted

    def names(self) -> dict[str, Any]:
        return {
            "record": self.record, "choose": self.choose, "boom": self.boom, "echo": self.echo,
            "tick": self.tick, "context": self.context, "note": self.decorator, "BACKENDS": self.backends,
            "register_backend": self.register, "unregister_backend": self.unregister, "peek": lambda: 3,
            "get_bool_env_var": lambda name, default=False: bool(default),
            "get_int_env_var": lambda name, default=0: default,
            "getenv": lambda name, default=None: default, "backend_of": lambda value: "triton",
            "envs": types.SimpleNamespace(
                USE_HIP=types.SimpleNamespace(get=lambda: False),
                UNSET_FLAG=lambda default: types.SimpleNamespace(get=lambda: default),
            ),
            "Other": type("Other", (), {}),
        }  # fmt: skip

    def record(self, value: object) -> object:
        self.note(f"record {value!r}")
        return value

    def choose(self) -> object:
        self.note("choose")
        return self.random.choice([True, False, 0, 2, "s", None])

    def boom(self) -> object:
        self.note("boom")
        kind = self.random.choice([None, None, None, ValueError, KeyError, ImportError])
        if kind is not None:
            raise kind("boom")
        return self.random.choice([True, False])

    def echo(self, *values: object, **named: object) -> object:
        self.note(f"echo {values!r} {named!r}")
        return values[0] if values else None

    def tick(self) -> bool:
        self.note("tick")
        return self.random.random() < 0.6

    @contextmanager
    def context(self, value: object) -> Iterator[None]:
        self.note(f"enter {value!r}")
        try:
            yield
        except ValueError:
            if value:
                raise
        finally:
            self.note("exit")

    def decorator(self, flag: object) -> Any:
        self.note(f"decorate {flag!r}")
        return lambda function: function

    def unregister(self, name: str) -> None:
        self.note(f"unregister {name}")

    def register(self, name: str, *values: object) -> Any:
        def decorate(function: Any) -> Any:
            self.backends[name] = function()
            return function

        return decorate if not name.startswith("fa") else (lambda function: function)


class _Later:
    """Finds modules that run when they are imported, and not before."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.paths = {module_of(path): path for path in files}
        self.files = files

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        path = self.paths.get(name)
        package = path is not None and path.endswith("__init__.py")
        return None if path is None else spec_from_loader(name, self, is_package=package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        path = self.paths[module.__name__]
        exec(_code(self.files[path], path), module.__dict__)


def run(
    files: Mapping[str, str], seed: int, gone: bool, later: Mapping[str, str] = MappingProxyType({})
) -> Outcome:
    """Run `entry` of the last file.

    `gone`: the removed module exists still, as upstream has it. `later`: path -> source of what is imported
    only where a file does so.
    """
    outcome = Outcome()
    effects = _Effects(seed, outcome)
    modules = _modules(effects, gone)
    names = (*modules, *map(module_of, (*files, *later)), "aiter", "pkg.gone")
    before = {name: sys.modules.get(name) for name in names}
    finder = _Later(later)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        for name in before:
            sys.modules.pop(name, None)
        sys.modules.update(modules)
        outcome.end = _enter(files, effects)
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
    return outcome


def _enter(files: Mapping[str, str], effects: _Effects) -> str:
    try:
        for path, text in files.items():
            module = types.ModuleType(module_of(path))
            if path.endswith("__init__.py"):
                module.__path__ = []
            sys.modules[module.__name__] = module
            parent, _, last = module.__name__.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, module)
            exec(_code(text, path), module.__dict__)
        entry = module.entry
        obj = types.SimpleNamespace(is_hip=effects.random.choice([True, 0]), is_npu=effects.tick)
        x, y = effects.random.choice([0, 1, 2]), effects.random.choice([True, None, 5])
        backend, device = effects.random.choice(["triton", "other"]), effects.random.choice(["cuda", "cpu"])
        return _ADDRESS.sub("", "returns " + repr(entry(x, y, backend, ["triton"], device, obj)))
    except Exhausted:
        return "exhausted"
    except NameError:  # UnboundLocalError is one
        return "raises NameError"
    except Exception as error:
        return f"raises {type(error).__name__}"


@lru_cache(maxsize=64)
def _code(text: str, path: str) -> types.CodeType:
    return compile(text, path, "exec")


def _modules(effects: _Effects, gone: bool) -> dict[str, types.ModuleType]:
    def module(name: str, **names: Any) -> types.ModuleType:
        made = types.ModuleType(name)
        made.__dict__.update(names)
        return made

    version = types.SimpleNamespace(hip=None)
    found = {
        "probe": module("probe", probe=lambda name: WORLD[name]),
        "torch": module("torch", version=version),
        "effects": module("effects", **effects.names()),
        "framework": module("framework"),
        "framework_over": module("framework_over", over_flag="outer", over_function=lambda: "outer"),
    }
    exec(_code(PAGE["framework"], "framework.py"), found["framework"].__dict__)
    if gone:
        classes = {"Gone": type("Gone", (), {}), "GoneError": type("GoneError", (Exception,), {})}
        found["pkg.gone"] = module("pkg.gone", **classes)
    return found
