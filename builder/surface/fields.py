"""Recognises flags that the fields of a class declare: `port: Annotated[int, Arg(help="...")] = 1`."""

from __future__ import annotations

import ast

from builder.surface.model import Expression, Value
from builder.surface.scan import Sight
from builder.surface.values import Reader

#: `typing.Annotated`, and the name by which it is imported where every line of a class has it.
_ANNOTATED = frozenset(["Annotated", "A"])
_LITERAL = "Literal"
#: What `Arg` says of an option -> the detail of `add_argument` that it stands for.
_DETAILS = {
    "action": "action", "choices": "choices", "const": "const", "nargs": "nargs", "required": "required",
    "type_parser": "type",
}  # fmt: skip


def field_flag(
    sight: Sight, reader: Reader
) -> tuple[str, str, dict[str, Value], dict[str, tuple[str, ...]]] | None:
    """The flag that an annotated field declares: field, spelling, details, and where these are read from.

    None for any other statement, and for a field that says of itself that it is no option (`no_cli`).
    """
    field = sight.node
    if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
        return None
    if sight.around.owner is None or (parts := _annotated(field.annotation)) is None:
        return None
    if not _declares_options(reader):
        return None  # texts beside a type mean something else there
    stated = next((part for part in parts[1:] if _is_help(part) or _argument(part) is not None), None)
    if stated is None:
        return None
    call = _argument(stated)
    keywords = {k.arg: k.value for k in call.keywords if k.arg} if call is not None else {}
    if "no_cli" in keywords and reader.value(keywords["no_cli"]) is True:
        return None
    name = field.target.id
    spelt = reader.value(keywords["cli_name"]) if "cli_name" in keywords else None
    flag = spelt if isinstance(spelt, str) else "--" + name.replace("_", "-")
    details: dict[str, Value] = {}
    sources: dict[str, ast.expr] = {}
    if flag.lstrip("-").replace("-", "_") != name:
        details["dest"] = name
    aliases = reader.value(keywords["aliases"]) if "aliases" in keywords else None
    if isinstance(aliases, tuple) and not isinstance(aliases, Expression):
        details["aliases"] = aliases
    if (values := _literal(parts[0])) is not None:
        sources["choices"] = values
    else:
        details["type"] = reader.text(parts[0])
    sources.update({_DETAILS[said]: value for said, value in keywords.items() if said in _DETAILS})
    if field.value is not None:
        sources["default"] = field.value
    details.update({detail: reader.value(value) for detail, value in sources.items()})
    origins = {
        detail: tuple(names)
        for detail, value in sources.items()
        if detail in ("choices", "default") and (names := reader.origins(value))
    }
    return name, flag, details, origins


def _declares_options(reader: Reader) -> bool:
    """Does the file know `Arg`, or does the module that it has its `A` from?"""
    own = reader.sources.parsed(reader.path)
    return any(
        module is not None and "Arg" in reader.bindings(module.tree) for module in (own, reader.exporter("A"))
    )


def _annotated(node: ast.expr) -> list[ast.expr] | None:
    """The parts of `Annotated[type, ...]`; None for anything else."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    base = node.value
    name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
    return node.slice.elts if name in _ANNOTATED and len(node.slice.elts) > 1 else None


def _is_help(node: ast.expr) -> bool:
    """The text of the help alone; a sum of texts or an f-string is one too."""
    if isinstance(node, ast.BinOp):
        return _is_help(node.left) and _is_help(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _argument(node: ast.expr) -> ast.Call | None:
    """`Arg(...)`."""
    if not isinstance(node, ast.Call):
        return None
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return node if name == "Arg" else None


def _literal(node: ast.expr) -> ast.expr | None:
    """The values of `Literal[...]`, also within `Optional[...]`."""
    if not isinstance(node, ast.Subscript):
        return None
    base = node.value
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    if name == "Optional":
        return _literal(node.slice)
    if name != _LITERAL:
        return None
    return node.slice if isinstance(node.slice, ast.Tuple) else ast.Tuple([node.slice], ast.Load())
