"""Names of the packages' modules in strings: alone, put together from several, and inside of others."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from builder.graph.modules import Reference
from builder.graph.names import absolute
from builder.source.fields import constant_text, nodes

_TABLE = re.compile(rb"[\"'][A-Za-z_][\w.]*[\"']\s*:\s*[\[(]\s*[\"']")
_RELATIVE = re.compile(rb"[\"'](\.[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)[\"']")


def references(
    data: bytes, tree: ast.Module, module: str, parent: str, tops: tuple[str, ...]
) -> Iterator[Reference]:
    """Strings that are a dotted name of the packages, which `:name` may follow, sorted by line.

    `module` and `parent`: the name of the file's module and of its package.
    """
    if not tops:
        return
    names = "|".join(map(re.escape, tops))
    found = [*_whole(data, names), *_composed(data, tree, {"__name__": module, "__package__": parent}, names)]
    if module and module == parent and _TABLE.search(data):
        found += _table(tree, parent)
    yield from sorted(dict.fromkeys(found), key=lambda one: one.line)


def _whole(data: bytes, names: str) -> Iterator[Reference]:
    line, seen = 1, 0
    pattern = rf"[\"']((?:{names})(?:\.[A-Za-z_]\w*)+)(?::\w+)?[\"']".encode()
    for match in re.finditer(pattern, data):
        line += data.count(b"\n", seen, match.start())
        seen = match.start()
        yield Reference(match[1].decode(), line)


def _composed(data: bytes, tree: ast.Module, known: Mapping[str, str], names: str) -> Iterator[Reference]:
    """What f-strings and sums make of constants of the file: `f"{PACKAGE}.module:function"`."""
    constant = rf"\n\w+\s*(?::[^=\n]+)?=\s*\(?\s*[\"'](?:{names})[.\"']".encode()
    if not re.search(constant, b"\n" + data) and not re.search(rb"\{__(?:name|package)__\}", data):
        return
    values = {**known, **_constants(tree)}
    dotted = re.compile(rf"((?:{names})(?:\.[A-Za-z_]\w*)+)(?::\w+)?")
    for node in nodes(tree):
        if isinstance(node, (ast.JoinedStr, ast.BinOp)):
            match = dotted.fullmatch(constant_text(node, values.get) or "")
            if match:
                yield Reference(match[1], node.lineno)


def _table(tree: ast.Module, package: str) -> Iterator[Reference]:
    """What a package imports on demand, by a table: `{"module": ["Name", ...]}`."""
    for statement in tree.body:
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        for key, names in zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ():
            module = key.value if isinstance(key, ast.Constant) else None
            if isinstance(module, str) and isinstance(names, (ast.List, ast.Tuple)):
                for name in names.elts:
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        yield Reference(f"{package}.{module}.{name.value}", name.lineno)


def bindings(tree: ast.Module) -> Counter[str]:
    """How often each name is bound in a file, as a variable or as a parameter."""
    bound: Counter[str] = Counter()
    for node in nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
    return bound


def _constants(tree: ast.Module) -> dict[str, str]:
    """The strings that names at the top stand for, of those that are bound once in the file."""
    bound = bindings(tree)
    constants: dict[str, str] = {}
    for statement in tree.body:
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            continue
        text = statement.value.value if isinstance(statement.value, ast.Constant) else None
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Name) and bound[target.id] == 1 and isinstance(text, str):
                constants[target.id] = text
    return constants


def mentions(data: bytes, tree: ast.Module, tops: tuple[str, ...], parent: str) -> Iterator[Reference]:
    """Names of the packages' modules in strings: alone, in a command (`python -m a.b`), in a sentence, or
    relative to the package of the file (`".b"`)."""
    if not tops:
        return
    names = "|".join(map(re.escape, tops))
    # most lines that name a package import it: only the others can hold it in a string
    outside = re.compile(rf"(?!\s*(?:from|import)\s)[^#\n]*\b(?:{names})\.".encode())
    places = re.finditer(rf"(?:{names})\.".encode(), data)
    if any(outside.match(data, data.rfind(b"\n", 0, place.start()) + 1) for place in places):
        dotted = re.compile(rf"(?<![\w./-])(?:{names})(?:\.[A-Za-z_]\w*)+")
        for node in nodes(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for found in dotted.findall(node.value):
                    yield Reference(found, node.lineno)
    if parent:
        for match in _RELATIVE.finditer(data):
            line = data.count(b"\n", 0, match.start()) + 1
            yield Reference(absolute("." + match[1].decode().lstrip("."), parent), line)


def words(data: bytes, tops: tuple[str, ...]) -> Iterator[Reference]:
    """Every word of an unparsable file that may name a module, because the file may import it."""
    if not tops:
        return
    names = b"|".join(re.escape(t.encode()) for t in tops)
    for number, line in enumerate(data.splitlines(), 1):
        for match in re.finditer(rb"\b(?:" + names + rb")(?:\.[A-Za-z_]\w*)+", line):
            yield Reference(match[0].decode(), number)
            for name in re.findall(rb"[A-Za-z_]\w*", line[match.end() :]):
                yield Reference(f"{match[0].decode()}.{name.decode()}", number)
