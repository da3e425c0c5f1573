"""The kinds of structural edits: what each matches, and the operations that carry it out."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from builder.graph.names import imported_module, package_of
from builder.manifest.statements import Edit
from builder.overlay import matching
from builder.overlay.locate import Binding, Scope, Target, bindings, find, imports
from builder.overlay.record import Wrong
from builder.source.ops import Body, DropItem, Op, Remove, Replace
from builder.source.parse import Module
from builder.spelling import nearest

T = TypeVar("T")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Hit:
    """One place: the node whose text changes, the operations, and what stands there afterwards."""

    node: ast.AST
    ops: tuple[Op, ...]
    after: str | None = None


def hits(module: Module, edit: Edit, target: Target, overlays: Mapping[str, bytes]) -> list[Hit]:
    """The places of one edit in a file. Raises Wrong."""
    if target.parameter and edit.kind != "set":
        raise Wrong("R005", f"`{edit.target}` names a parameter, which only `set` can edit.")
    define = _OF_DEFINITIONS.get(edit.kind)
    scopes: Iterable[ast.AST] = [module.tree]
    if target.path:
        definitions, searched = find(module.tree, target.path)
        if not definitions:
            message = f"`{target.module}` has no `{'.'.join(target.path)}`."
            # an optional edit that does not match is not reported, and the search for a similar name is slow
            hint = None if edit.optional else _similar(target.path[-1], searched)
            raise Wrong("R005", message, hint=hint, absent=True)
        if define:
            return [define(edit, target, binding, overlays) for binding in definitions]
        scopes = dict.fromkeys(binding.statement for binding in definitions)
    elif define:
        message = f"`{edit.target}` is a module; `{edit.kind}` needs a name inside it."
        raise Wrong("R005", message, hint=f"The file is {target.file}.")
    search = _IN_SCOPES[edit.kind]
    walked = [matching.walk(scope) for scope in scopes]
    first = 1 if edit.kind == "drop-statement" else 0  # a scope is no statement of itself
    places = list(search(edit, target, [node for plain, _ in walked for node in plain[first:]]))
    for hit in search(edit, target, [node for _, quoted in walked for node in quoted]):
        message = "The match is inside an f-string, where it cannot be edited."
        hint = (
            "Match what holds the f-string: `replace` the call or assignment (`...` stands for its arguments "
            "or value), or drop the statement."
        )
        raise Wrong("R008", message, getattr(hit.node, "lineno", 0), hint)
    return places


def _similar(name: str, scopes: Sequence[Scope]) -> str | None:
    """A hint for a name that none of the scopes defines."""
    if any(imports(scope, name) for scope in scopes):
        return "It is imported there: use `drop-import`, or edit it where it is defined."
    return nearest(name, {bound for scope in scopes for bound, _ in bindings(scope)}, most=3)


def _drop(edit: Edit, target: Target, binding: Binding, overlays: Mapping[str, bytes]) -> Hit:
    """Remove a definition or assignment; of a tuple of targets, one name with its value."""
    statement, name = binding.statement, binding.name
    if not isinstance(statement, ast.Assign) or statement.targets == [name]:
        return Hit(statement, (Remove(statement),))
    names, value = statement.targets[0], statement.value
    if (
        len(statement.targets) == 1
        and isinstance(names, (ast.Tuple, ast.List))
        and isinstance(value, (ast.Tuple, ast.List))
        and len(names.elts) == len(value.elts)
        and name in names.elts
        and not any(isinstance(e, ast.Starred) for e in (*names.elts, *value.elts))
    ):
        at = names.elts.index(name)
        return Hit(name, (DropItem(names, "elts", at), DropItem(value, "elts", at)))
    message = "One name of this assignment cannot be removed without the others."
    raise Wrong("R008", message, statement.lineno, "Use `drop_statement` for the whole statement.")


def _stub(edit: Edit, target: Target, binding: Binding, overlays: Mapping[str, bytes]) -> Hit:
    """Replace the body of a function by one `raise` that names the batch."""
    text = f"{'.'.join(target.path[-2:])} is not part of this distribution (manifest rule: {edit.batch})"
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    source = f'raise NotImplementedError("{quoted}")'
    node = _function(edit, binding)
    return Hit(node, (Body(node, source),), source)


def _body(edit: Edit, target: Target, binding: Binding, overlays: Mapping[str, bytes]) -> Hit:
    """Replace the body of a function by the content of an overlay; the signature stays."""
    if edit.by is None or edit.by not in overlays:
        raise Wrong("M008", f"The overlay `{edit.by}` of `{edit.target}` does not exist.")
    try:
        source = textwrap.dedent(overlays[edit.by].decode("utf-8").replace("\r\n", "\n")).strip("\n")
    except UnicodeDecodeError as error:
        raise Wrong("M008", f"The overlay `{edit.by}` is not UTF-8: {error.reason}.") from None
    node = _function(edit, binding)
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    try:
        statements = ast.parse(source).body
        if not statements:
            raise SyntaxError("it holds no statement")
        shell = ast.parse(f"{keyword} {node.name}(): pass\n")
        function = shell.body[0]
        assert isinstance(function, _FUNCTIONS)
        # a nonlocal name belongs to a scope outside this source
        function.body = [s for s in statements if not isinstance(s, ast.Nonlocal)] or [ast.Pass()]
        compile(ast.fix_missing_locations(shell), edit.by or "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", error)
        raise Wrong("M008", f"The overlay `{edit.by}` is not the body of a function: {reason}.") from None
    return Hit(node, (Body(node, source),), source)


def _set(edit: Edit, target: Target, binding: Binding, overlays: Mapping[str, bytes]) -> Hit:
    """Replace the value of an assignment, or the default of a parameter, by `by`."""
    by, statement = _source(edit, edit.by, "by"), binding.statement
    if target.parameter:
        return _replaced(_default(edit, _function(edit, binding), target.parameter), by)
    value = None
    if isinstance(statement, ast.AnnAssign) or (
        isinstance(statement, ast.Assign) and binding.name in statement.targets
    ):
        value = statement.value
    if value is None:
        message = f"`{edit.target}` is not assigned a single value here."
        raise Wrong("R005", message, statement.lineno, "A parameter is written `function:parameter`.")
    return _replaced(value, by)


def _default(edit: Edit, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr:
    arguments = node.args
    placed = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(placed) - len(arguments.defaults))
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]
    known = {a.arg: d for a, d in zip((*placed, *arguments.kwonlyargs), defaults, strict=True)}
    if default := known.get(name):
        return default
    if name in known:
        raise Wrong("R005", f"The parameter `{name}` of `{edit.target}` has no default.", node.lineno)
    message = f"`{edit.target.partition(':')[0]}` has no parameter `{name}`."
    raise Wrong("R005", message, node.lineno, nearest(name, known, most=3), absent=True)


def _drop_import(edit: Edit, target: Target, nodes: Iterable[ast.AST]) -> Iterator[Hit]:
    """A name with dots is what is imported (a module, or one of its names); without, what is bound."""
    match, package = edit.match, package_of(target.file, target.module)
    for node in nodes:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        home = imported_module(node, package) if isinstance(node, ast.ImportFrom) else None
        if match == home:
            yield Hit(node, (Remove(node),))
            continue
        for index, alias in enumerate(node.names):
            names = (alias.name, alias.asname)
            if home is not None:
                names = (f"{home}.{alias.name}", alias.asname or alias.name)
            if match in names:
                yield Hit(node, (DropItem(node, "names", index),))


def _drop_entry(edit: Edit, target: Target, nodes: Iterable[ast.AST]) -> Iterator[Hit]:
    """Remove members of displays and calls, bases and decorators."""
    entry = _parsed(edit, matching.entry, edit.match or "", "match", "an entry")
    for op in (op for node in nodes for op in matching.drops(node, entry)):
        yield Hit(getattr(op.node, op.field)[op.index], (op,))


def _drop_statement(edit: Edit, target: Target, nodes: Iterable[ast.AST]) -> Iterator[Hit]:
    wanted = _parsed(edit, matching.statement, edit.match or "", "match", "a statement")
    for node in nodes:
        if isinstance(node, ast.stmt) and matching.same(node, wanted):
            yield Hit(node, (Remove(node),))


def _replace(edit: Edit, target: Target, nodes: Iterable[ast.AST]) -> Iterator[Hit]:
    """Replace an expression by another; of an assignment only the value changes, of an `if` the condition."""
    wanted: ast.AST
    if pair := matching.statements(edit.match or "", edit.by):
        wanted, by = pair[0], ast.unparse(pair[1])
    else:
        wanted = matching.expression(_source(edit, edit.match, "match"))
        by = _source(edit, edit.by, "by")
    for node in nodes:
        if isinstance(wanted, ast.If):  # whatever its body and its `else` are
            if isinstance(node, ast.If) and matching.same(node.test, wanted.test):
                yield _replaced(node.test, by)
        elif isinstance(node, (ast.expr, ast.Assign)) and matching.same(node, wanted):
            yield _replaced(node.value if isinstance(node, ast.Assign) else node, by)


_OF_DEFINITIONS = {"drop": _drop, "stub": _stub, "body": _body, "set": _set}
_IN_SCOPES = {
    "drop-import": _drop_import,
    "drop-entry": _drop_entry,
    "drop-statement": _drop_statement,
    "replace": _replace,
}


def near(module: Module, edit: Edit) -> str | None:
    """A hint for an edit that matched nothing: the most similar code of the file, or similar literals."""
    if edit.match is None:
        return None
    if edit.kind in ("drop-statement", "replace", "drop-entry") and (hint := _nearest_code(module, edit)):
        return hint
    nodes = list(ast.walk(module.tree))
    if edit.kind == "drop-import":
        imported = {a.name for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
        return nearest(edit.match.strip().rpartition(".")[2], imported, most=3)
    values = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return nearest(edit.match, {repr(value) for value in values if len(value) < 60}, most=3)


def _nearest_code(module: Module, edit: Edit) -> str | None:
    """The statement or expression of the file that is most like the one that an edit names."""
    wanted = " ".join((edit.match or "").split())
    sort = ast.stmt if edit.kind == "drop-statement" else ast.expr
    lines: dict[str, int] = {}
    for node in ast.walk(module.tree):
        # what spans lines is longer than what it is compared with, or not written like it
        if isinstance(node, sort) and node.lineno == node.end_lineno:
            text = module.text(node)
            if len(wanted) / 2 <= len(text) <= len(wanted) * 2:
                lines.setdefault(text, node.lineno)
    close = get_close_matches(wanted, sorted(lines), 1, 0.75)
    if not close:
        return None
    key = edit.kind.replace("-", "_")
    quoted = close[0].replace("'", "''")
    return f"the most similar is written `{key}: '{quoted}'` (line {lines[close[0]]})"


def _function(edit: Edit, binding: Binding) -> ast.FunctionDef | ast.AsyncFunctionDef:
    if not isinstance(binding.statement, _FUNCTIONS):
        raise Wrong("R005", f"`{edit.target}` is not a function here.", binding.statement.lineno)
    return binding.statement


def _replaced(node: ast.expr, by: str) -> Hit:
    return Hit(node, (Replace(node, by),), by)


def _source(edit: Edit, source: str | None, key: str) -> str:
    _parsed(edit, matching.expression, source or "", key, "an expression")
    return (source or "").strip()


def _parsed(edit: Edit, parse: Callable[[str], T], source: str, key: str, what: str) -> T:
    try:
        return parse(source)
    except SyntaxError as error:
        raise Wrong("M004", f"`{key}` of `{edit.target}` is not {what}: {error.msg}.") from None
