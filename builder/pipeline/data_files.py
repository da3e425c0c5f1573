"""Data files inside packages: they follow the modules beside them, or stay where something names them.

Files that are opened only by their names are sources that are compiled when a kernel is called first. One
stays when Python that stays has its name, or a file of its kind that stays; a document names nothing. A name
may be made at run time: `f"topk_{size}.cuh"` is the name of every file that it fits.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from builder.errors import Problem
from builder.graph.modules import Summary
from builder.manifest.model import Manifest
from builder.manifest.statements import Rule
from builder.memo import remembered
from builder.native.cpp import SUFFIXES, scan
from builder.pipeline.ranges import matches_nothing
from builder.select.patterns import PatternSet
from builder.source.fields import nodes
from builder.tree import Snapshot

_DOCUMENT = re.compile(r"\.(?:md|rst)$|(?<!CMakeLists)\.txt$")
_PLAIN = re.compile(r"[\w./-]+")

#: Stands in a name for what is put in at run time.
HOLE = "\0"

#: The open places of a template. A longer text in braces or brackets is none, and may hold names itself.
_TEMPLATE = re.compile(
    r"""\{(?:[^{}\s"',]|\{\w*\})*\} | \{[^{}\n"'.]*\}
      | %(?:\(\w+\))?[-+#0-9.]*[a-zA-Z] | \[[\w!^-]*\] | [*?]""",
    re.VERBOSE,
)
_INCLUDE = re.compile(r"#[ \t]*include[ \t]*([\"<])([^\">\n]+)[\">]")
_COMPUTED = re.compile(r"(?m)^[ \t]*#[ \t]*include[ \t]+(?![\"<])")
#: Names of constants, each with the ending that it is or contains.
Constants: TypeAlias = tuple[tuple[str, str], ...]


def followed(data: Iterable[str], modules: Iterable[str], staying: Iterable[Summary]) -> dict[str, str]:
    """Return data file -> the path of a module that it follows; a file that follows none is not in it.

    A file follows the modules in and below its package: the nearest folder above it in which upstream has
    modules (`modules`: their paths). An empty `__init__.py` reads nothing.
    """
    # a folder that no import statement can name, like `fast-transform`, belongs to no package
    folders = {posixpath.dirname(path) for path in modules}
    packages = {folder for folder in folders if folder.rpartition("/")[2].isidentifier()}
    readers: dict[str, str] = {}
    for path in sorted(s.path for s in staying if not s.package or s.imports or s.names or s.error):
        folder = path
        while folder := posixpath.dirname(folder):
            readers.setdefault(folder, path)
    follows: dict[str, str] = {}
    for path in data:
        folder = posixpath.dirname(path)
        while folder and folder not in packages:
            folder = posixpath.dirname(folder)
        # where there is no package above a file, nothing can be said about it
        if reader := readers.get(folder) if folder else path:
            follows[path] = reader
    return follows


def unnamed(
    data: Iterable[str], python: Mapping[str, bytes], sources: Mapping[str, bytes], manifest: Manifest
) -> tuple[dict[str, Rule], dict[str, str]]:
    """Return the data files that nothing names, with the statement that they are opened by name; and for each
    of the others that such a statement covers, the place that names it.

    `python`: the texts of the modules that stay, by path; `sources`: those of the data files.
    """
    opened = _opened(data, manifest.named_files)
    named: dict[str, str] = {}
    if not opened:
        return opened, named
    endings = tuple(sorted({_ending(path) for path in opened}))
    paths: dict[str, list[str]] = {}
    for path in opened:
        paths.setdefault(path.rpartition("/")[2], []).append(path)
    todo = deque(_in_modules(python, endings))
    while todo:
        place, names = todo.popleft()
        for name in names:
            for path in _meant(name, place, paths):
                if path not in named:
                    named[path] = f"{place}:{name.line}"
                    todo.append((path, in_source(sources.get(path, b""), endings, path.endswith(SUFFIXES))))
    return {path: rule for path, rule in opened.items() if path not in named}, named


def _in_modules(
    python: Mapping[str, bytes], endings: tuple[str, ...]
) -> Iterator[tuple[str, tuple[FileName, ...]]]:
    """Yield the file names in each module, then those that it makes with constants of any module."""
    constants: set[tuple[str, str]] = set()
    for path, text in sorted(python.items()):
        names, made = in_python(text, endings)
        constants.update(made)
        yield path, names
    for path, text in sorted(python.items()):
        read = tuple(sorted(one for one in constants if one[0].encode() in text))
        if read:
            yield path, in_python(text, endings, read)[0]


def _meant(name: FileName, place: str, paths: Mapping[str, list[str]]) -> list[str]:
    """Return the files that a name in the file at `place` stands for; `paths`: last name -> paths.

    Their paths end in the name. If there is none, a program may use a part of the name: their paths end in as
    much of it as any does.
    """
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(place), name.name))
    if name.sign == '"' and beside in paths.get(beside.rpartition("/")[2], ()):
        return [beside]
    parts = [part for part in posixpath.normpath(name.name).split("/") if part not in ("", ".", "..")]
    while HOLE in parts[:-1]:  # any folder, or none, or the one above
        parts = parts[parts.index(HOLE) + 1 :]
    for start in range(len(parts))[: 1 if name.sign else None]:
        shape = re.compile(".*/" + re.escape("/".join(parts[start:])).replace(re.escape(HOLE), ".*"))
        alike = paths.values() if HOLE in parts[-1] else [paths.get(parts[-1], [])]
        if ends := [path for some in alike for path in some if shape.fullmatch(f"/{path}")]:
            return ends
    return []


def unused_paths(upstream: Snapshot, manifest: Manifest) -> list[Problem]:
    """Return R009 for each statement of `named_files` or `prune_symbols` that matches no path."""
    stated = (("named_files", manifest.named_files), ("prune_symbols", manifest.prune_symbols))
    patterns = PatternSet([rule.pattern for _, rules in stated for rule in rules])
    matched = {n for path in upstream if _openable(path) for n in patterns.matching(path)}
    return [
        matches_nothing(f"`{key}: {rule.pattern}` matches no path.", rule.mark, None)
        for number, (key, rule) in enumerate((key, rule) for key, rules in stated for rule in rules)
        if number not in matched
    ]


def _opened(paths: Iterable[str], rules: tuple[Rule, ...]) -> dict[str, Rule]:
    patterns = PatternSet([rule.pattern for rule in rules])
    matched = {path: patterns.matching(path) for path in paths if _openable(path)}
    return {path: rules[found[0]] for path, found in matched.items() if found}


def _openable(path: str) -> bool:
    return bool(_ending(path) and _PLAIN.fullmatch(path) and not _DOCUMENT.search(path))


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rindex(".") :] if "." in name else ""


class FileName(NamedTuple):
    """A name and its line; `sign`: the quote or bracket around it in an `#include`."""

    name: str
    line: int
    sign: str = ""


@remembered
def in_python(
    data: bytes, endings: tuple[str, ...], constants: Constants = ()
) -> tuple[tuple[FileName, ...], Constants]:
    """Return the names of files with one of the endings in a module, and the constants that hold endings.

    An ending, or a constant that is one, names nothing where it is only compared. Elsewhere it may be joined
    to anything, and stands for every file that has it. `constants`: those of any module that occur here.
    """
    if not constants and not re.search(f"(?:{_either(endings)})\\b".encode(), data):
        return (), ()
    try:
        every = list(nodes(ast.parse(data)))
    except (SyntaxError, ValueError):
        return tuple(FileName(HOLE + ending, 1) for ending in endings), ()
    compared, named, known = _uses(every)
    shown: set[ast.AST] = set()
    names: set[FileName] = set()
    made: set[tuple[str, str]] = set()
    for node in every:  # from the outside in: a whole text tells its parts
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            shown.add(node.value)  # a docstring opens nothing
        if node in shown or not isinstance(node, (ast.expr, ast.alias)):
            continue
        if node not in compared:
            read = _read(node)
            names |= {FileName(HOLE + ending, node.lineno) for name, ending in constants if name == read}
        if isinstance(node, ast.Name):
            continue
        text = _text(node, known, shown)
        if not isinstance(node, ast.Constant) or text not in endings:
            names.update(_words(text, endings, node.lineno))
        elif node in named:
            made.add((named[node], text))
        elif node not in compared:
            names.add(FileName(HOLE + text, node.lineno))
    return tuple(sorted(names)), tuple(sorted(made))


@remembered
def in_source(data: bytes, endings: tuple[str, ...], is_c: bool) -> tuple[FileName, ...]:
    """The names of files with one of the endings in a source that is not Python."""
    text = data.decode("utf-8", "replace")
    included = [
        FileName(match[2], text.count("\n", 0, match.start()) + 1, match[1])
        for match in _INCLUDE.finditer(text)
    ]
    code = _INCLUDE.sub("", scan(text).bare if is_c else text)
    computed = [FileName(HOLE + ending, 1) for ending in endings if _COMPUTED.search(code)]
    return (*included, *computed, *_words(code, endings))


def _either(endings: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, endings))


def _words(text: str, endings: tuple[str, ...], first: int = 0) -> Iterator[FileName]:
    """Yield the names in a text; what looks like the end of a name stands for all names with this end."""
    if not any(ending in text for ending in endings):
        return
    bare = text.startswith(endings)
    for match in re.finditer(rf"([\w./{HOLE}-]*)(?:{_either(endings)})\b", text):
        if match[1] or bare:
            name = HOLE + match[0] if match[0][0] in "._-" else match[0]
            yield FileName(name, first or text.count("\n", 0, match.start()) + 1)


def _uses(every: Iterable[ast.AST]) -> tuple[set[ast.expr], dict[ast.expr, str], dict[str, str]]:
    """Return what a module only compares, what it assigns to a name, and the names bound once, to a text."""
    compared: set[ast.expr] = set()
    named: dict[ast.expr, str] = {}
    texts: dict[str, str] = {}
    times: Counter[object] = Counter()
    for node in every:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                named.update((each, name) for each in _members([value]))
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    texts[name] = value.value
            case ast.Compare(left, _, others):
                compared.update(_members([left, *others]))
            case ast.Call(ast.Attribute(_, "endswith"), values):
                compared.update(_members(values))
            case ast.Name(name, ast.Store() | ast.Del()):
                times[name] += 1
            case ast.stmt() | ast.arg() | ast.alias() | ast.ExceptHandler() | ast.pattern():
                times.update(getattr(node, field, None) for field in ("name", "asname", "arg", "rest"))
    once = {name: text for name, text in texts.items() if times[name] == 1 and not times["*"]}
    return compared, named, once


def _members(values: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for value in values:
        match value:
            case ast.Tuple(inner) | ast.List(inner) | ast.Set(inner):
                yield from _members(inner)
            case ast.Call(ast.Name("frozenset" | "set" | "tuple"), inner):
                yield from _members(inner)
            case _:
                yield value


def _read(node: ast.AST) -> object:
    """Return the name that a node reads or renames, of this module or of another."""
    match node:
        case ast.Name(name, ast.Load()) | ast.Attribute(_, name, ast.Load()):
            return name
        case ast.alias(name, str()) | ast.Constant(name):
            return name
    return None


def _text(node: ast.AST, known: Mapping[str, str], shown: set[ast.AST]) -> str:
    """Return the text that an expression makes, as far as it is known; `shown` gets the parts that are."""

    def joined(parts: Iterable[ast.AST], between: str = "/") -> str:
        return between.join(_text(part, known, shown) for part in parts)

    match node:
        case ast.Constant(str(value)):
            made = _TEMPLATE.sub(HOLE, value)
        case ast.Name(name) if name in known:
            made = known[name]
        case ast.JoinedStr(parts):
            made = joined(parts, "")
        case ast.BinOp(left, ast.Add(), right):
            made = joined([left, right], "")
        case ast.BinOp(left, ast.Div(), right):
            made = joined([left, right])
        case ast.FormattedValue(value, -1 | 115, None) | ast.BinOp(value, ast.Mod()):
            made = _text(value, known, shown)
        case ast.Call(ast.Attribute(value, "join"), [ast.Tuple(parts) | ast.List(parts)]):
            made = joined(parts, _text(value, known, shown))
        case ast.Call(ast.Attribute(value, "joinpath"), parts):
            made = joined([value, *parts])
        case ast.Call(ast.Attribute(_, "join") | ast.Name("Path"), [_, _, *_] as parts):
            made = joined(parts)
        case _:
            return HOLE
    shown.add(node)
    return made
