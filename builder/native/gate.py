"""G011: bindings, their implementations, the build files and the Python that calls them agree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.errors import Mark, Problem
from builder.memo import remembered
from builder.native import cmake
from builder.native.layout import SOURCES, Package
from builder.native.symbols import symbols
from builder.source.fields import dotted_name, nodes
from builder.source.parse import parse

LIBRARY = "sgl_kernel"
_FETCHED = re.compile(r"\$\{([\w.-]+?)_SOURCE_DIR\}")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A disagreement. `key` stays the same when lines move."""

    kind: str
    file: str
    name: str
    line: int
    message: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.file, self.name


def check(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Every finding in a tree (path -> bytes), sorted. Upstream has some of its own."""
    package = Package(files)
    findings = {*_sources(package), *_fetched(package), *_operators(package), *_includes(package)}
    return tuple(sorted(findings.union(_python(package))))


def new(output: Iterable[Finding], upstream: Iterable[Finding]) -> list[Problem]:
    """The findings of the output that upstream does not have, as problems."""
    upstream_keys = {finding.key for finding in upstream}
    return [
        Problem("G011", f.message, upstream=Mark(f.file, f.line))
        for f in sorted(output)
        if f.key not in upstream_keys
    ]


def _sources(package: Package) -> Iterator[Finding]:
    for path in package.cmakes:
        for one in package.named(path, package.text(path)):
            line = package.line(path, one.token.start)
            if one.command.name == "add_subdirectory" and f"{one.path}/CMakeLists.txt" not in package.files:
                message = f"{path} adds the folder {one.path}, and it has no CMakeLists.txt."
                yield Finding("source", path, one.path, line, message)
            elif one.path.endswith((*SOURCES, ".cmake")) and one.path not in package.files:
                message = f"{path} names {one.path}, and it does not exist."
                yield Finding("source", path, one.path, line, message)


def _fetched(package: Package) -> Iterator[Finding]:
    """The fetched repositories that CMake files read from, and none fetches."""
    commands = [(path, c) for path in package.cmakes for c in cmake.scan(package.text(path)).commands]
    declared = {c.arguments[0].value for _, c in commands if c.name == "fetchcontent_declare" and c.arguments}
    for path, command in commands:
        for token in command.arguments:
            for name in _FETCHED.findall(token.value):
                if name not in declared and name not in ("PROJECT", "CMAKE", "CMAKE_CURRENT"):
                    line = package.line(path, token.start)
                    message = f"{path} reads from the repository {name}, and nothing fetches it."
                    yield Finding("fetched", path, name, line, message)


def _operators(package: Package) -> Iterator[Finding]:
    compiled = package.compiled()
    built: set[str] = set()
    declared: set[str] = set()
    for path in package.natives:
        functions = symbols(package.text(path)).functions
        declared.update(f.name for f in functions)
        if path in compiled or not path.endswith(SOURCES):
            built.update(f.name for f in functions if f.defined)
    rows = package.bindings()
    defs = {b.key for _, b in rows if b.verb == "def"}
    impls = {b.key for path, b in rows if b.verb == "impl" or b.function}
    for path, b in rows:
        statement = package.files[path][b.start : b.end]
        if all(part in statement for part in (b"[", b"{", b"return")):  # a lambda
            impls.add(b.key)
    for path, b in rows:
        name, function = b.operator, b.function
        line = package.line(path, b.start)
        if b.verb == "impl" and b.key not in defs:
            message = f"{path} implements `{name}`, and no m.def defines it."
            yield Finding("undefined", path, name, line, message)
        if b.verb == "def" and b.key not in impls:
            message = f"{path} defines `{name}`, and no m.impl implements it."
            yield Finding("unbound", path, name, line, message)
        if function and function not in declared:
            message = f"{path} binds `{name}` to `{function}`, which no file declares."
            yield Finding("undeclared", path, function, line, message)
        elif function and function not in built:
            message = f"{path} binds `{name}` to `{function}`, which no compiled file of the package defines."
            yield Finding("undelivered", path, function, line, message)


def _includes(package: Package) -> Iterator[Finding]:
    for path in package.natives:
        for text, line, paths in package.includes(path):
            if not any(p in package.files for p in paths):
                message = f'{path} includes "{text}", and it does not exist.'
                yield Finding("include", path, text, line, message)


def _python(package: Package) -> Iterator[Finding]:
    registered = {b.operator for _, b in package.bindings() if b.verb == "def" and b.library == LIBRARY}
    needle = f"torch.ops.{LIBRARY}".encode()
    for path in package.files:
        if path.endswith(".py") and needle in package.files[path]:
            for name, line in _called(package.files[path], path):
                if name not in registered:
                    message = f"{path} uses torch.ops.{LIBRARY}.{name}, which nothing registers."
                    yield Finding("operator", path, name, line, message)


@remembered
def _called(data: bytes, path: str) -> list[tuple[str, int]]:
    """(operator, line) of every `torch.ops.<library>.<operator>`, an alias of the library included."""
    try:
        tree = parse(data, path).tree
    except (SyntaxError, ValueError):
        return []  # G001 reports it
    owners, every = {f"torch.ops.{LIBRARY}"}, list(nodes(tree))
    owners |= {
        target.id
        for node in every
        if isinstance(node, ast.Assign) and dotted_name(node.value) in owners
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    operators = (n for n in every if isinstance(n, ast.Attribute) and dotted_name(n.value) in owners)
    return sorted({(node.attr, node.lineno) for node in operators})
