"""What a predicate over architectures answers for a model: `is_hybrid_swa_model(["LlamaForCausalLM"])`.

Only code that asks which names are in which lists is understood; about any other the answer is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

#: Names under which functions of upstream take the architectures of a model.
PARAMETERS = frozenset(["architectures", "model_architectures"])


class _UnknownError(Exception):
    """The code does something that is not understood."""


def is_predicate(function: ast.stmt) -> bool:
    """Whether a definition is a function whose one required argument is the architectures of a model."""
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    required = len(names) - len(arguments.defaults)
    return required == 1 and names[0] in PARAMETERS and None not in arguments.kw_defaults


def answer(function: ast.FunctionDef, module: ast.Module, architectures: Sequence[str]) -> object:
    """What the function returns for these architectures; the function itself where that is unknown.

    Names of the module are followed to what is assigned to them once; other arguments have their defaults.
    """
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    known: dict[str, object] = {names[0]: list(architectures)}
    try:
        for name, default in zip(names[1:], arguments.defaults, strict=True):
            known[name] = _value(default, {}, module)
        for value in _run(function.body, known, module):
            return value
    except _UnknownError:
        return function
    return None


def _run(body: Sequence[ast.stmt], known: dict[str, object], module: ast.Module) -> Iterator[object]:
    """The value that is returned, if the statements return one."""
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
    """The value of a name that the module binds once, where nothing extends what it is bound to."""
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
