"""The kinds of structural edits: what each matches, and the operations that carry it out."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from builder.graph.names import imported_module, package_of
from builder.manifest.statements import Edit
from builder.overlay import matching
from builder.overlay.locate import Binding, Target
from builder.overlay.wording import reworded
from builder.source.ops import Body, DropItem, Op, Remove, Replace
from builder.source.parse import Module
from builder.spelling import nearest

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Wrong(Exception):
    """An edit that cannot be carried out; `absent`: only because its target is not there."""

    def __init__(
        self,
        code: str,
        message: str,
        node: ast.AST | None = None,
        hint: str | None = None,
        absent: bool = False,
    ) -> None:
        super().__init__(message)
        self.code, self.node, self.hint, self.absent = code, node, hint, absent


@dataclass(frozen=True, slots=True)
class Hit:
    """One place: the node whose text changes, the operations, and what stands there afterwards."""

    node: ast.AST
    ops: tuple[Op, ...]
    after: str | None = None


def drop(definitions: Iterable[Binding]) -> list[Hit]:
    """Definitions and assignments leave; a name among the targets of a tuple takes its value along."""
    return [_drop(binding) for binding in definitions]


def _drop(binding: Binding) -> Hit:
    statement, name = binding.statement, binding.name
    if not isinstance(statement, ast.Assign) or statement.targets == [name]:
        return Hit(statement, (Remove(statement),))
    target, value = statement.targets[0], statement.value
    if (
        len(statement.targets) == 1
        and isinstance(target, (ast.Tuple, ast.List))
        and isinstance(value, (ast.Tuple, ast.List))
        and len(target.elts) == len(value.elts)
        and name in target.elts
        and not any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts))
    ):
        at = target.elts.index(name)
        return Hit(name, (DropItem(target, "elts", at), DropItem(value, "elts", at)))
    message = "One name of this assignment cannot be removed without the others."
    hint = "Use `drop_statement` for the whole statement."
    raise Wrong("R008", message, statement, hint)


def stub(edit: Edit, target: Target, definitions: Iterable[Binding]) -> list[Hit]:
    """The body of a function becomes one `raise` that names the batch."""
    short = ".".join(target.path[-2:])
    text = f"{short} is not part of this distribution (manifest rule: {edit.batch})"
    source = f"raise NotImplementedError({_quoted(text)})"
    return [Hit(node, (Body(node, source),), source) for node in _functions(edit, definitions)]


def body(edit: Edit, definitions: Iterable[Binding], overlays: Mapping[str, bytes]) -> list[Hit]:
    """The body of a function becomes the content of an overlay; the signature stays."""
    if edit.by is None or edit.by not in overlays:
        raise Wrong("M008", f"The overlay `{edit.by}` of `{edit.target}` does not exist.")
    try:
        source = textwrap.dedent(overlays[edit.by].decode("utf-8").replace("\r\n", "\n")).strip("\n")
    except UnicodeDecodeError as error:
        raise Wrong("M008", f"The overlay `{edit.by}` is not UTF-8: {error.reason}.") from None
    hits = []
    for node in _functions(edit, definitions):
        _check_body(edit, node, source)
        hits.append(Hit(node, (Body(node, source),), source))
    return hits


def _check_body(edit: Edit, node: ast.FunctionDef | ast.AsyncFunctionDef, source: str) -> None:
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    try:
        statements = ast.parse(source).body
        if not statements:
            raise SyntaxError("it holds no statement")
        shell = ast.parse(f"{keyword} {node.name}(): pass\n")
        function = shell.body[0]
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        # a nonlocal name belongs to a scope outside this source
        function.body = [s for s in statements if not isinstance(s, ast.Nonlocal)] or [ast.Pass()]
        compile(ast.fix_missing_locations(shell), edit.by or "", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Wrong("M008", f"The overlay `{edit.by}` is not the body of a function: {error.msg}.") from None
    except ValueError as error:
        raise Wrong("M008", f"The overlay `{edit.by}` is not the body of a function: {error}.") from None


def assign(edit: Edit, target: Target, definitions: Iterable[Binding]) -> list[Hit]:
    """The value of an assignment, or the default of a parameter, becomes `by`."""
    by = _source(edit, edit.by, "by")
    if target.parameter:
        return [
            _replaced(_default(edit, node, target.parameter), by) for node in _functions(edit, definitions)
        ]
    hits = []
    for binding in definitions:
        statement = binding.statement
        plain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and (
            not isinstance(statement, ast.Assign) or binding.name in statement.targets
        )
        value = statement.value if plain and isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        if value is None:
            message = f"`{edit.target}` is not assigned a single value here."
            raise Wrong("R005", message, statement, "A parameter is written `function:parameter`.")
        hits.append(_replaced(value, by))
    return hits


def _default(edit: Edit, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr:
    arguments = node.args
    placed = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = list(
        zip(placed[len(placed) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for argument, default in pairs:
        if argument.arg == name and default is not None:
            return default
    every = [a.arg for a in (*placed, *arguments.kwonlyargs)]
    if name in every:
        raise Wrong("R005", f"The parameter `{name}` of `{edit.target}` has no default.", node)
    message = f"`{edit.target.partition(':')[0]}` has no parameter `{name}`."
    raise Wrong("R005", message, node, nearest(name, every, most=3), absent=True)


def reword(module: Module, edit: Edit, scopes: Sequence[ast.AST]) -> list[Hit]:
    """String literals that hold a phrase once get another in its place."""
    hits: dict[int, Hit] = {}
    for scope in scopes:
        for node, quoted in matching.walk(scope):
            if quoted or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if (edit.match or "") not in node.value:
                continue
            by = reworded(module.text(node), edit.match or "", edit.by or "")
            if by is None:
                raise Wrong("R008", "The phrase occurs here more than once, or not in plain literals.", node)
            hits[id(node)] = Hit(node, (Replace(node, by),), by)
    return list(hits.values())


def in_scope(edit: Edit, target: Target, scopes: Sequence[ast.AST]) -> list[Hit]:
    """The edits that search a scope: imports, entries, statements, expressions."""
    hits = [hit for scope in scopes for hit in _search(edit, target, scope)]
    seen: set[tuple[int, str]] = set()
    unique = []
    for hit in hits:  # one scope may lie inside another
        key = (id(hit.node), repr([getattr(op, "index", None) for op in hit.ops]))
        if key not in seen:
            seen.add(key)
            unique.append(hit)
    return unique


def _search(edit: Edit, target: Target, scope: ast.AST) -> Iterator[Hit]:
    if edit.match is None:
        raise Wrong("M004", f"`{edit.kind}` of `{edit.target}` needs `match`.")
    if edit.kind == "drop-import":
        yield from _imports(edit.match, package_of(target.file, target.module), scope)
    elif edit.kind == "drop-entry":
        yield from _entries(edit, scope)
    elif edit.kind == "drop-statement":
        try:
            wanted = matching.statement(edit.match)
        except SyntaxError as error:
            raise Wrong("M004", f"`match` of `{edit.target}` is not a statement: {error.msg}.") from None
        for node, _ in matching.walk(scope):
            if isinstance(node, ast.stmt) and node is not scope and matching.same(node, wanted):
                yield Hit(node, (Remove(node),))
    elif (pair := matching.assignments(edit.match, edit.by)) is not None:
        for node, _ in matching.walk(scope):
            if isinstance(node, ast.Assign) and matching.same(node, pair[0]):
                yield _replaced(node.value, ast.unparse(pair[1].value))
    else:
        sought = matching.expression(_source(edit, edit.match, "match"))
        by = _source(edit, edit.by, "by")
        for node, quoted in matching.walk(scope):
            if isinstance(node, ast.expr) and matching.same(node, sought):
                _refuse_quoted(node, quoted)
                yield _replaced(node, by)


def _imports(match: str, package: str, scope: ast.AST) -> Iterator[Hit]:
    """A name with dots is what is imported (a module, or one of its names); without, what is bound."""
    for node, _ in matching.walk(scope):
        if isinstance(node, ast.Import):
            for index, alias in enumerate(node.names):
                if match in (alias.name, alias.asname):
                    yield Hit(node, (DropItem(node, "names", index),))
        elif isinstance(node, ast.ImportFrom):
            module = imported_module(node, package)
            if match == module:
                yield Hit(node, (Remove(node),))
                continue
            for index, alias in enumerate(node.names):
                if match in (f"{module}.{alias.name}", alias.asname or alias.name):
                    yield Hit(node, (DropItem(node, "names", index),))


def _entries(edit: Edit, scope: ast.AST) -> Iterator[Hit]:
    try:
        entry = matching.Entry(edit.match or "")
    except SyntaxError as error:
        raise Wrong("M004", f"`match` of `{edit.target}` is not an entry: {error.msg}.") from None
    for node, quoted in matching.walk(scope):
        for op in entry.drops(node):
            _refuse_quoted(node, quoted)
            item = getattr(node, op.field)[op.index]
            yield Hit(item, (op,))


def near(module: Module, edit: Edit) -> str | None:
    """A hint for an edit that matched nothing: the most similar code of the file as it is to be written, or
    the literals that look alike."""
    if edit.match is None:
        return None
    if edit.kind in ("drop-statement", "replace", "drop-entry") and (hint := _nearest_code(module, edit)):
        return hint
    literals = {
        n.value for n in ast.walk(module.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }
    imported = {
        a.name for n in ast.walk(module.tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names
    }
    known = imported if edit.kind == "drop-import" else {repr(v) for v in literals if len(v) < 60}
    return nearest(
        edit.match.strip().rpartition(".")[2] if edit.kind == "drop-import" else edit.match, known, most=3
    )


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


def _functions(edit: Edit, definitions: Iterable[Binding]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = []
    for binding in definitions:
        if not isinstance(binding.statement, _FUNCTIONS):
            raise Wrong("R005", f"`{edit.target}` is not a function here.", binding.statement)
        nodes.append(binding.statement)
    return nodes


def _replaced(node: ast.expr, by: str) -> Hit:
    return Hit(node, (Replace(node, by),), by)


def _source(edit: Edit, source: str | None, key: str) -> str:
    if source is None:
        raise Wrong("M004", f"`{edit.kind}` of `{edit.target}` needs `{key}`.")
    try:
        matching.expression(source)
    except SyntaxError as error:
        raise Wrong("M004", f"`{key}` of `{edit.target}` is not an expression: {error.msg}.") from None
    return source.strip()


def _refuse_quoted(node: ast.AST, quoted: bool) -> None:
    if quoted:
        raise Wrong("R008", "The match is inside an f-string, where it cannot be edited.", node)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
