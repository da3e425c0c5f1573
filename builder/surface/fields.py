"""Recognises flags that the fields of a class declare: `port: Annotated[int, Arg(help="...")] = 1`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from builder.source.fields import last_name
from builder.surface.model import Expression, Value, destination
from builder.surface.scan import Sight
from builder.surface.values import Reader

#: `typing.Annotated`, and the name by which it is imported where every line of a class has it.
_ANNOTATED = frozenset(["Annotated", "A"])
#: What `Arg` says of the flag itself.
_OF_THE_FLAG = ("no_cli", "cli_name", "aliases")
#: What `Arg` says of an option -> the detail of `add_argument` that it stands for.
_DETAILS = {
    "action": "action", "choices": "choices", "const": "const", "nargs": "nargs", "required": "required",
    "type_parser": "type",
}  # fmt: skip


class Option(NamedTuple):
    """What a field declares. `origins`: detail -> the names that it is read from."""

    field: str
    flag: str
    details: dict[str, Value]
    origins: dict[str, tuple[str, ...]]


def field_option(sight: Sight, reader: Reader) -> Option | None:
    """The option that an annotated field declares.

    None for any other statement, and for a field that says of itself that it is no option (`no_cli`).
    """
    field = sight.node
    if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
        return None
    if sight.around.owner is None or (parts := _annotated(field.annotation)) is None:
        return None
    if not _declares_options(reader):
        return None  # texts beside a type mean something else there
    stated = next((part for part in parts[1:] if _is_help(part) or _is_argument(part)), None)
    if stated is None:
        return None
    keywords = {k.arg: k.value for k in stated.keywords if k.arg} if isinstance(stated, ast.Call) else {}
    values = {word: reader.value(keywords[word]) for word in _OF_THE_FLAG if word in keywords}
    if values.get("no_cli") is True:
        return None
    name = field.target.id
    spelt = values.get("cli_name")
    flag = spelt if isinstance(spelt, str) else "--" + name.replace("_", "-")
    details: dict[str, Value] = {}
    sources: dict[str, ast.expr] = {}
    if destination(flag) != name:
        details["dest"] = name
    aliases = values.get("aliases")
    if isinstance(aliases, tuple) and not isinstance(aliases, Expression):
        details["aliases"] = aliases
    if (choices := _literal(parts[0])) is not None:
        sources["choices"] = choices
    else:
        details["type"] = reader.text(parts[0])
    sources.update({_DETAILS[word]: value for word, value in keywords.items() if word in _DETAILS})
    if field.value is not None:
        sources["default"] = field.value
    details.update({detail: reader.value(value) for detail, value in sources.items()})
    return Option(name, flag, details, reader.origins_of(sources))


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
    return node.slice.elts if last_name(node.value) in _ANNOTATED and len(node.slice.elts) > 1 else None


def _is_help(node: ast.expr) -> bool:
    """The text of the help alone; a sum of texts or an f-string is one too."""
    if isinstance(node, ast.BinOp):
        return _is_help(node.left) and _is_help(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_argument(node: ast.expr) -> bool:
    """`Arg(...)`."""
    return isinstance(node, ast.Call) and last_name(node.func) == "Arg"


def _literal(node: ast.expr) -> ast.expr | None:
    """The values of `Literal[...]`, also within `Optional[...]`."""
    if not isinstance(node, ast.Subscript):
        return None
    name = last_name(node.value)
    if name == "Optional":
        return _literal(node.slice)
    if name != "Literal":
        return None
    return node.slice if isinstance(node.slice, ast.Tuple) else ast.Tuple([node.slice], ast.Load())
