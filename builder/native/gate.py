"""G011: bindings, their implementations, the build files and the Python that calls them agree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.errors import Mark, Problem
from builder.memo import remembered
from builder.native import layout
from builder.native.lockstep import ROOT
from builder.native.symbols import bindings, defined, symbols
from builder.native.text import decode
from builder.source.fields import nodes
from builder.source.parse import parse

LIBRARY = "sgl_kernel"


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


def check(files: Mapping[str, bytes], root: str = ROOT, library: str = LIBRARY) -> tuple[Finding, ...]:
    """Every finding in a tree (path -> bytes), sorted. Upstream has some of its own."""
    findings = [*_sources(files, root), *_operators(files, root), *_includes(files, root)]
    findings += _python(files, root, library)
    return tuple(sorted(set(findings)))


def new(output: Iterable[Finding], upstream: Iterable[Finding]) -> list[Problem]:
    """The findings of the output that upstream does not have, as problems."""
    upstream_keys = {finding.key for finding in upstream}
    return [
        Problem("G011", f.message, upstream=Mark(f.file, f.line))
        for f in sorted(output)
        if f.key not in upstream_keys
    ]


def _sources(files: Mapping[str, bytes], root: str) -> Iterator[Finding]:
    declared = {name for path in layout.cmakes(files, root) for name in layout.declared(files[path])}
    for path in layout.cmakes(files, root):
        data = files[path]
        scanned = layout.listing(decode(data)).scanned
        for one in layout.named(path, data, files, root):
            line = scanned.line(one.token.start)
            if one.command.name == "add_subdirectory" and f"{one.path}/CMakeLists.txt" not in files:
                message = f"{path} adds the folder {one.path}, and it has no CMakeLists.txt."
                yield Finding("source", path, one.path, line, message)
            elif one.path.endswith((*layout.SOURCES, ".cmake")) and one.path not in files:
                yield Finding(
                    "source", path, one.path, line, f"{path} names {one.path}, and it does not exist."
                )
        for name, token in layout.fetched(data):
            if name not in declared:
                message = f"{path} reads from the repository {name}, and nothing fetches it."
                yield Finding("fetched", path, name, scanned.line(token.start), message)


def _operators(files: Mapping[str, bytes], root: str) -> Iterator[Finding]:
    natives = list(layout.natives(files, root))
    compiled = layout.compiled(files, root)
    headers = [p for p in natives if not p.endswith(layout.SOURCES)]
    built = {n for p in (*headers, *(q for q in natives if q in compiled)) for n in defined(decode(files[p]))}
    declared = {f.name for p in natives for f in symbols(decode(files[p])).functions}
    rows = [(p, b) for p in natives for b in bindings(decode(files[p]))]
    defs = {(b.library, b.operator) for _, b in rows if b.verb == "def"}
    impls = {(b.library, b.operator) for _, b in rows if b.verb == "impl" or b.function}
    impls |= {
        (b.library, b.operator) for p, b in rows if b.verb == "def" and _is_lambda(files[p], b.start, b.end)
    }
    for path, binding in rows:
        name, line = binding.operator, files[path].count(b"\n", 0, binding.start) + 1
        key = (binding.library, name)
        if binding.verb == "impl" and key not in defs:
            yield Finding(
                "undefined", path, name, line, f"{path} implements `{name}`, and no m.def defines it."
            )
        if binding.verb == "def" and key not in impls:
            yield Finding(
                "unbound", path, name, line, f"{path} defines `{name}`, and no m.impl implements it."
            )
        function = binding.function
        if function and function not in declared:
            message = f"{path} binds `{name}` to `{function}`, which no file declares."
            yield Finding("undeclared", path, function, line, message)
        elif function and function not in built:
            message = f"{path} binds `{name}` to `{function}`, which no compiled file of the package defines."
            yield Finding("undelivered", path, function, line, message)


def _is_lambda(data: bytes, start: int, end: int) -> bool:
    return b"[" in data[start:end] and b"{" in data[start:end] and b"return" in data[start:end]


def _includes(files: Mapping[str, bytes], root: str) -> Iterator[Finding]:
    for path in layout.natives(files, root):
        for text, line, paths in layout.includes(path, files[path], root):
            if not any(p in files for p in paths):
                yield Finding(
                    "include", path, text, line, f'{path} includes "{text}", and it does not exist.'
                )


def _python(files: Mapping[str, bytes], root: str, library: str) -> Iterator[Finding]:
    registered = {
        b.operator
        for p in layout.natives(files, root)
        for b in bindings(decode(files[p]))
        if b.verb == "def" and b.library == library
    }
    needle = f"torch.ops.{library}".encode()
    for path in sorted(files):
        if not path.endswith(".py") or needle not in files[path]:
            continue
        for name, line in _called(files[path], path, library):
            if name not in registered:
                message = f"{path} uses torch.ops.{library}.{name}, which nothing registers."
                yield Finding("operator", path, name, line, message)


@remembered
def _called(data: bytes, path: str, library: str) -> list[tuple[str, int]]:
    try:
        tree = parse(data, path).tree
    except (SyntaxError, ValueError):
        return []  # G001 reports it
    return sorted(set(_calls(tree, library)))


def _calls(tree: ast.Module, library: str) -> Iterator[tuple[str, int]]:
    """(operator, line) of every `torch.ops.<library>.<operator>`, an alias of the library included."""
    aliases = {
        target.id
        for node in nodes(tree)
        if isinstance(node, ast.Assign) and _is_library(node.value, library, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and _is_library(node.value, library, frozenset(aliases)):
            yield node.attr, node.lineno


def _is_library(node: ast.expr, library: str, aliases: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    return (
        isinstance(node, ast.Attribute)
        and node.attr == library
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "ops"
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id == "torch"
    )
