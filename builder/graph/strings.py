"""Names of the packages' modules in strings: alone, put together from several, and inside of others.

Whoever hands over the name of a module of the program spells it out, and that string leads to the module. A
name that a function puts together, or finds in a folder, leads nowhere.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from builder.graph.modules import Reference
from builder.graph.names import absolute
from builder.source.fields import constant_text, last_name, nodes

#: Methods of texts and tables that give a part of what they are asked of.
_PARTS = frozenset([
    "get", "items", "keys", "lstrip", "partition", "pop", "removeprefix", "removesuffix", "rpartition",
    "rsplit", "rstrip", "split", "strip", "values",
])  # fmt: skip
#: Functions that give an option, or what they are asked of.
_GIVES = frozenset(["getattr", "getenv", "str", "sorted", "list", "tuple"])
#: Functions that list modules or files.
_LISTS = frozenset([
    "glob", "iglob", "iter_modules", "iterdir", "listdir", "rglob", "scandir", "walk", "walk_packages",
])  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
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


class Callers:
    """Answers about one file."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        #: call -> the functions around it, the innermost first
        self._around: dict[ast.AST, list[ast.AST]] = {}
        for function in nodes(tree):
            if isinstance(function, _FUNCTIONS):
                for inner in nodes(function):
                    if isinstance(inner, ast.Call):
                        self._around.setdefault(inner, []).insert(0, function)

    def name(self, call: ast.Call) -> bool:
        """Whether a caller gives the module's name that a call gets."""
        around = [*self._around.get(call, ()), self._tree]
        return bool(call.args) and self._given(call.args[0], around, frozenset())

    def _given(self, node: ast.expr, around: list[ast.AST], busy: frozenset[str]) -> bool:
        match node:
            case ast.Name(id=name):
                return name in busy or self._name_given(name, around, busy | {name})
            case ast.Constant():
                return True
            case ast.Attribute(value=ast.Name(id=name)):
                # an object has the name from somewhere else, unless a loop found it in a folder
                return not any(_lists_files(found) for function in around for found in _loops(function, name))
            case ast.Attribute(value=inner):
                return self._given(inner, around, busy)
            case ast.Subscript(value=inner):
                return self._given(inner, around, busy)
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _PARTS:
                return self._given(inner, around, busy)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value="."), attr="join"), args=[inner]):
                return self._given(inner, around, busy)
            case ast.Call(func=called, args=[inner, *_]) if last_name(called) in _GIVES:
                return self._given(inner, around, busy)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
                return all(self._given(part, around, busy) for part in parts)
            case ast.Dict(values=parts):
                return all(self._given(part, around, busy) for part in parts)
            case ast.IfExp(body=one, orelse=other):
                return self._given(one, around, busy) and self._given(other, around, busy)
        return False

    def _name_given(self, name: str, around: list[ast.AST], busy: frozenset[str]) -> bool:
        for place, function in enumerate(around):
            values = list(_stored(function, name))
            if values or (isinstance(function, _FUNCTIONS) and name in _parameters(function.args)):
                return all(value is not None and self._given(value, around[place:], busy) for value in values)
        return False


def _parameters(args: ast.arguments) -> set[str]:
    return {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}


def _loops(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """What the loops of a function go through that bind a name."""
    for node in nodes(function):
        if isinstance(node, (ast.For, ast.comprehension)) and _binds(node.target, name):
            yield node.iter


def _lists_files(values: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) and last_name(part.func) in _LISTS for part in nodes(values))


def _stored(function: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """What each statement of a function binds to a name or takes it from; None where that cannot be seen."""
    yield from _loops(function, name)
    for node in nodes(function):
        match node:
            case ast.For() | ast.comprehension():
                pass
            case ast.Assign():
                if any(_binds(target, name) for target in node.targets):
                    yield node.value
            case ast.AnnAssign() | ast.NamedExpr():
                if _binds(node.target, name):
                    yield node.value
            case ast.AugAssign(target=target) | ast.withitem(optional_vars=ast.expr() as target):
                if _binds(target, name):
                    yield None
            case ast.alias() if (node.asname or node.name) == name:
                yield None
            case ast.FunctionDef() | ast.ClassDef() | ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                if node.name == name and node is not function:
                    yield None


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in nodes(target))
