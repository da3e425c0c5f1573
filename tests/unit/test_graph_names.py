"""Arithmetic on Python names: modules, paths, packages, relative imports."""

from __future__ import annotations

import ast

import pytest

from builder.graph.names import absolute, folder_of, imported_module, locate, package_of, path_of

PACKAGES = {"pkg": "python/pkg", "pkg.kernel": "kernel/python/"}


def test_the_inner_of_two_stated_packages_gives_the_folder() -> None:
    assert folder_of("pkg.a.b", PACKAGES) == "python/pkg/a/b"
    assert folder_of("pkg.kernel.ops", PACKAGES) == "kernel/python/ops"
    assert folder_of("other.a", PACKAGES) is None
    assert path_of("other.a", PACKAGES) is None
    assert path_of("pkg.a", PACKAGES) == ("python/pkg/a.py", "python/pkg/a/__init__.py")


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("pkg.a.C.m", ("python/pkg/a.py", "pkg.a", "C.m")),
        ("pkg.a", ("python/pkg/a.py", "pkg.a", "")),
        ("pkg.gone.C", ("python/pkg/__init__.py", "pkg", "gone.C")),
        ("other.a", None),
    ],
)
def test_a_qualified_name_is_split_at_its_longest_module(
    name: str, where: tuple[str, str, str] | None
) -> None:
    assert locate(name, PACKAGES, {"python/pkg/__init__.py", "python/pkg/a.py"}) == where


@pytest.mark.parametrize(
    ("written", "package", "module"),
    [
        ("a.b", "pkg.x", "a.b"),
        (".b", "pkg.x", "pkg.x.b"),
        ("..b", "pkg.x", "pkg.b"),
        (".", "pkg.x", "pkg.x"),
        ("..", "pkg.x", "pkg"),
        (".b", "", ".b"),
    ],
)
def test_a_relative_name_becomes_absolute(written: str, package: str, module: str) -> None:
    assert absolute(written, package) == module
    (statement,) = ast.parse(f"from {written} import c").body
    assert isinstance(statement, ast.ImportFrom)
    assert imported_module(statement, package) == module


def test_the_package_of_a_module_is_itself_only_for_a_package() -> None:
    assert package_of("python/pkg/a/__init__.py", "pkg.a") == "pkg.a"
    assert package_of("python/pkg/a.py", "pkg.a") == "pkg"
