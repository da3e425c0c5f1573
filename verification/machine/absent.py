"""Packages that are not here, as far as an import and an attribute go.

Every name of such a package is a class that stands for it. Calling one is an event, and raises
NotImplementedError unless this harness implements it (`implement`).
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_implemented: dict[str, Callable[..., Any]] = {}
#: Answers calls that nothing implements; None: they raise. Set by runs that have shapes only.
_otherwise: list[Callable[[str, tuple[Any, ...], dict[str, Any]], Any]] = []


#: Hears of calls; this module itself imports nothing, so that any process can begin with it.
_hears: list[Callable[[str, str, tuple[Any, ...], dict[str, Any]], None]] = []


def listen(hears: Callable[[str, str, tuple[Any, ...], dict[str, Any]], None]) -> None:
    """Let `hears("absent", name, args, kwargs)` know of every call."""
    _hears[:] = [hears]


def implement(name: str, function: Callable[..., Any]) -> None:
    """Let calls of `name` (package.module.attribute) give what `function` gives."""
    _implemented[name] = function


def otherwise(answer: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Let `answer(name, args, kwargs)` stand for all that is not implemented."""
    _otherwise[:] = [answer]


class _Name(type):
    """The class of the classes that stand for names of absent packages."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or "_stands_for" not in cls.__dict__:
            raise AttributeError(name)
        found = _named(f"{cls._stands_for}.{name}")
        setattr(cls, name, found)
        return found

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_stands_for" not in cls.__dict__:  # a class of the tree that inherits from an absent one
            return type.__call__(cls, *args, **kwargs)
        name: str = cls._stands_for
        for hears in _hears:
            hears("absent", name, args, kwargs)
        if name in _implemented:
            return _implemented[name](*args, **kwargs)
        for answer in _otherwise:
            return answer(name, args, kwargs)
        raise NotImplementedError(f"{name} is not in this environment")

    def __int__(cls) -> int:
        return 0  # a member of an enumeration whose number nobody knows

    def __or__(cls, other: object) -> Any:
        return object

    def __ror__(cls, other: object) -> Any:
        return object


def _named(name: str) -> Any:
    package, _, last = name.rpartition(".")
    body = {"_stands_for": name, "__module__": package, "__init__": lambda self, *args, **kwargs: None}
    return _Name(last, (), body)


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _named(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # a function and a module of the same name: the module came last
        return _named(self.__name__)(*args, **kwargs)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, packages: Iterable[str], versions: Mapping[str, str]) -> None:
        self._packages, self._versions = frozenset(packages), versions

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in self._packages or fullname.partition(".")[0] in self._packages:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__file__ = f"/absent/{module.__name__.replace('.', '/')}/__init__.py"
        module.__version__ = self._versions.get(module.__name__.split(".")[0], "0.0.0")  # type: ignore[attr-defined]


def install(packages: Iterable[str], versions: Mapping[str, str]) -> None:
    """Let `packages` (or single modules of one that is here) be imported; `versions` are those that
    importlib.metadata reports for them."""
    sys.meta_path.insert(0, _Finder(packages, versions))
    real = importlib.metadata.version
    # distributions are named otherwise than the packages in them
    packages_of = {
        "flashinfer_python": "flashinfer", "flashinfer_cubin": "flashinfer", "sglang_kernel": "sgl_kernel",
    }  # fmt: skip

    def version(distribution: str) -> str:
        name = distribution.replace("-", "_")
        package = packages_of.get(name, name)
        return versions[package] if package in versions else real(distribution)

    importlib.metadata.version = version
