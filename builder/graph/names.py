"""Arithmetic on Python names: module to path and back, packages, relative imports.

`packages` maps import names to folders, as the manifest states them. A folder in one of them is a package
whether it has an `__init__.py` or not.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping
from functools import cache


def module_of(path: str, packages: Mapping[str, str]) -> str | None:
    """The module name of a .py file inside one of the packages; None for any other path."""
    if not path.endswith(".py"):
        return None
    for name, folder in packages.items():
        prefix = folder.rstrip("/") + "/"
        if path.startswith(prefix):
            parts = path[len(prefix) : -3].split("/")
            if parts[-1] == "__init__":
                parts.pop()
            return ".".join([name, *parts])
    return None


def folder_of(package: str, packages: Mapping[str, str]) -> str | None:
    """The folder of a package by its import name; None outside the packages.

    Where one stated package holds another, the inner one counts.
    """
    parts = package.split(".")
    for length in range(len(parts), 0, -1):
        if folder := packages.get(".".join(parts[:length])):
            return "/".join([folder.rstrip("/"), *parts[length:]])
    return None


def path_of(module: str, packages: Mapping[str, str]) -> tuple[str, str] | None:
    """The two paths a module can have, as a file and as a package; None outside the packages."""
    base = folder_of(module, packages)
    return None if base is None else (f"{base}.py", f"{base}/__init__.py")


def locate(name: str, packages: Mapping[str, str], paths: Container[str]) -> tuple[str, str, str] | None:
    """Split a qualified name: the path and name of its longest prefix that is a module, and the rest.

    None where no prefix has a file among `paths`.
    """
    module, rest = name, ""
    while module:
        for path in path_of(module, packages) or ():
            if path in paths:
                return path, module, rest
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}" if rest else last
    return None


@cache
def packages_around(module: str) -> tuple[str, ...]:
    """The packages that a module lies in, from the inside out."""
    parts = module.split(".")
    return tuple(".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1))


def package_of(path: str, module: str) -> str:
    """The package from which the relative imports of a module start."""
    return module if path.endswith("/__init__.py") else module.rpartition(".")[0]


def absolute(written: str, package: str) -> str:
    """The absolute name of a module as an import in `package` writes it, with leading dots or without.

    Outside any package (`package` empty) the dots stay, so that the name matches no module.
    """
    module = written.lstrip(".")
    level = len(written) - len(module)
    if not level or not package:
        return written
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *([module] if module else [])])


def imported_module(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of the module that `from X import ...` in `package` names."""
    return absolute("." * node.level + (node.module or ""), package)


def is_test(path: str) -> bool:
    """Whether a path inside a package is a test. A test names symbols without needing them."""
    return "/test/" in path or "/tests/" in path
