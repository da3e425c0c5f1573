"""The closed set of architectures: those of model files that leave never occur.

Tables in upstream's code name the module of each architecture (`roots.models.tables`), or the files of the
models do. What a predicate over architectures (`is_hybrid_swa_model(["LlamaForCausalLM"])`) answers for one
is read from its code, if that only asks which names are in which lists.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from builder.adapter import ENTRY
from builder.errors import fail
from builder.graph.names import path_of
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.select.rules import package_folder
from builder.source.parse import parse
from builder.specialize.evaluating.facts import Facts
from builder.tree import Snapshot

#: Names under which functions of upstream take the architectures of a model.
PARAMETERS = frozenset(["architectures", "model_architectures"])


def rows(upstream: Snapshot, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield (architecture, path of its module) for every row of the manifest's tables.

    Raises BuildError R009 for a table that cannot be read.
    """
    package = manifest.roots.model_package
    for number, qualified in enumerate(manifest.roots.tables):
        module, _, name = qualified.rpartition(".")
        path = next((p for p in path_of(module, manifest.packages) or () if p in upstream), None)
        table = _table(upstream[path], path, name) if path is not None else None
        if table is None:
            message = f"`{qualified}` is no table of architectures that can be read in upstream's code."
            raise fail("R009", message, manifest.mark("roots", "models", "tables", number))
        for architecture, short in table:
            for full in (f"{package}.{short}", short):
                yield from (
                    (architecture, p) for p in path_of(full, manifest.packages) or () if p in upstream
                )


@remembered
def _table(data: bytes, path: str, name: str) -> list[tuple[str, str]] | None:
    """(key, module) of each row `key: (module, class)` of a table at the top of a file; None without one."""
    for value in values_of(data, path, name):
        if isinstance(value, ast.Dict):
            return [
                (key.value, texts[0])
                for key, row in zip(value.keys, value.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and (texts := _texts(row))
            ]
    return None


def values_of(data: bytes, path: str, name: str) -> Iterator[ast.expr]:
    """Yield what the statements at the top of a file assign to a name; nothing if it does not parse."""
    try:
        tree = parse(data, path).tree
    except SyntaxError:
        return
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.expr) and any(isinstance(t, ast.Name) and t.id == name for t in targets):
            yield value


def _texts(node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def facts_of(manifest: Manifest, upstream: Snapshot, kept: Iterable[str], removed: Iterable[str]) -> Facts:
    """Return the manifest's facts, with the architectures of the `removed` paths as absent values if it says
    so.

    One whose name is part of that of one that stays is left out: a test for a part (`"Llama" in name`) looks
    like one for the whole name.
    """
    facts = Facts.of(manifest)
    if not any(option.removed_models for option in facts.options):
        return facts
    staying = architectures(upstream, kept, manifest)
    removed_names = architectures(upstream, removed, manifest)
    absent = {name for name in removed_names if not any(name in other for other in staying)}
    options = (
        replace(option, values=(*option.values, *sorted(absent))) if option.removed_models else option
        for option in facts.options
    )
    return replace(facts, options=tuple(options))


def architectures(upstream: Snapshot, paths: Iterable[str], manifest: Manifest) -> frozenset[str]:
    """Return the names of the architectures of the model files among `paths`. Raises as `registered` does."""
    return frozenset().union(*registered(upstream, paths, manifest).values())


def registered(upstream: Snapshot, paths: Iterable[str], manifest: Manifest) -> dict[str, set[str]]:
    """path -> the architectures that the model file registers, for each that registers some.

    The others hold what models share. The manifest's tables say which, or the files do under the adapter's
    `ENTRY`. Raises BuildError R009 for a table that cannot be read.
    """
    named: dict[str, set[str]] = {}
    if manifest.roots.tables:
        chosen = set(paths)
        for name, path in rows(upstream, manifest):
            if path in chosen:
                named.setdefault(path, set()).add(name)
        return named
    folder = f"{package_folder(manifest, manifest.roots.model_package)}/"
    for path in paths:
        registers = path.startswith(folder) and path.endswith(".py") and ENTRY.encode() in upstream[path]
        if registers and (names := _entries(upstream[path], path)):
            named[path] = names
    return named


@remembered
def _entries(data: bytes, path: str) -> set[str]:
    values = values_of(data, path, ENTRY)
    return {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}


class _UnknownError(Exception):
    """The code does something that this evaluator does not know."""


def is_predicate(function: ast.stmt) -> bool:
    """Return whether a definition is a function whose only required argument is a model's architectures."""
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    required = len(names) - len(arguments.defaults)
    return required == 1 and names[0] in PARAMETERS and None not in arguments.kw_defaults


def answer(function: ast.FunctionDef, module: ast.Module, architecture: str) -> bool | None:
    """Return what a predicate answers for a model of this architecture; None where its code does not tell.

    Names of the module stand for what is assigned to them once; other arguments have their defaults.
    """
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    known: dict[str, object] = {names[0]: [architecture]}
    try:
        for name, default in zip(names[1:], arguments.defaults, strict=True):
            known[name] = _value(default, {}, module)
        result = next(_run(function.body, known, module), None)
    except _UnknownError:
        return None
    return result if isinstance(result, bool) else None


def _run(body: Sequence[ast.stmt], known: dict[str, object], module: ast.Module) -> Iterator[object]:
    """Yield the value that the statements return, if they return one."""
    for statement in body:
        match statement:
            case ast.Return(value=None):
                yield None
            case ast.Return(value=ast.expr() as value):
                yield _value(value, known, module)
            case ast.If():
                branch = statement.body if _value(statement.test, known, module) else statement.orelse
                yield from _run(branch, known, module)
            case ast.Assign(targets=[ast.Name(id=name)]):
                known[name] = _value(statement.value, known, module)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                raise _UnknownError


def _value(node: ast.expr, known: Mapping[str, object], module: ast.Module) -> object:
    def value(inner: ast.expr) -> object:
        return _value(inner, known, module)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name(id=name):
            return known[name] if name in known else _assigned(name, module)
        case ast.List() | ast.Tuple() | ast.Set():
            return [item for element in node.elts for item in _items(element, known, module)]
        case ast.UnaryOp(op=ast.Not()):
            return not value(node.operand)
        case ast.BoolOp():
            result: object = None
            for operand in node.values:
                result = value(operand)
                if bool(result) is isinstance(node.op, ast.Or):
                    break
            return result
        case ast.IfExp():
            return value(node.body if value(node.test) else node.orelse)
        case ast.Compare(ops=[operator], comparators=[other]):
            return _compare(operator, value(node.left), value(other))
        case ast.Call(
            func=ast.Name(id="any" | "all" as name), args=[ast.GeneratorExp() as made], keywords=[]
        ):
            results = [bool(item) for item in _generated(made, known, module)]
            return any(results) if name == "any" else all(results)
        case ast.Call(func=ast.Name(id="frozenset" | "list" | "set" | "tuple"), args=[inner], keywords=[]):
            return _items(ast.Starred(inner, ast.Load()), known, module)
        case _:
            raise _UnknownError


def _items(node: ast.expr, known: Mapping[str, object], module: ast.Module) -> list[object]:
    if not isinstance(node, ast.Starred):
        return [_value(node, known, module)]
    inner = _value(node.value, known, module)
    if not isinstance(inner, list):
        raise _UnknownError
    return inner


def _compare(operator: ast.cmpop, left: object, right: object) -> bool:
    if isinstance(operator, (ast.In, ast.NotIn)) and isinstance(right, (list, str)):
        if isinstance(right, str) and not isinstance(left, str):
            raise _UnknownError
        return (left in right) is isinstance(operator, ast.In)
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        return (left == right) is isinstance(operator, ast.Eq)
    if isinstance(operator, (ast.Is, ast.IsNot)) and (left is None or right is None):
        return (left is right) is isinstance(operator, ast.Is)
    raise _UnknownError


def _generated(made: ast.GeneratorExp, known: Mapping[str, object], module: ast.Module) -> Iterator[object]:
    if len(made.generators) != 1 or not isinstance(made.generators[0].target, ast.Name):
        raise _UnknownError
    generator = made.generators[0]
    source = _value(generator.iter, known, module)
    if not isinstance(source, list):
        raise _UnknownError
    for item in source:
        inner = {**known, made.generators[0].target.id: item}
        if all(_value(test, inner, module) for test in generator.ifs):
            yield _value(made.elt, inner, module)


def _assigned(name: str, module: ast.Module) -> object:
    """Return the value of a name that the module binds once, if nothing extends what it is bound to."""
    bound = [
        node.value
        for node in ast.walk(module)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    if len(bound) != 1 or bound[0] is None:
        raise _UnknownError
    return _value(bound[0], {}, module)
