"""Recognises flags that the fields of a class declare: `port: Annotated[int, Arg(help="...")] = 1`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from builder.source.fields import last_name
from builder.surface.model import Expression, Item, Key, Value, destination
from builder.surface.scan import Sight, place
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


def field_flags(sight: Sight, reader: Reader, parser: str = "") -> Iterator[Item]:
    """The flag that a field of a class declares: `name: Annotated[int, Arg(choices=...)] = 1`.

    It is one of the module `parser`, by default of the field's own. A field that says of itself that it is no
    option (`no_cli`) declares none.
    """
    match sight.node:
        case ast.AnnAssign(
            target=ast.Name(id=name),
            annotation=ast.Subscript(value=annotated, slice=ast.Tuple(elts=[kind, *notes])),
            value=default,
        ) if last_name(annotated) in _ANNOTATED and sight.around.owner is not None:
            pass
        case _:
            return
    modules = filter(None, (reader.file, reader.exporter("A")))
    if not any("Arg" in reader.bindings(module.tree) for module in modules):
        return  # texts beside a type mean something else there
    arguments = [note for note in notes if isinstance(note, ast.Call) and last_name(note.func) == "Arg"]
    stated = next((note for note in notes if _is_help(note) or note in arguments), None)
    if stated is None:
        return
    keywords = {k.arg: k.value for k in stated.keywords if k.arg} if isinstance(stated, ast.Call) else {}
    values = {word: reader.value(keywords[word]) for word in _OF_THE_FLAG if word in keywords}
    if values.get("no_cli") is True:
        return
    spelt = values.get("cli_name")
    flag = spelt if isinstance(spelt, str) else "--" + name.replace("_", "-")
    details: dict[str, Value] = {}
    sources: dict[str, ast.expr] = {}
    if destination(flag) != name:
        details["dest"] = name
    aliases = values.get("aliases")
    if isinstance(aliases, tuple) and not isinstance(aliases, Expression):
        details["aliases"] = aliases
    if (choices := _literal(kind)) is not None:
        sources["choices"] = choices
    else:
        details["type"] = reader.text(kind)
    sources.update({_DETAILS[word]: value for word, value in keywords.items() if word in _DETAILS})
    if default is not None:
        sources["default"] = default
    details.update({detail: reader.value(value) for detail, value in sources.items()})
    # the field is the statement's own name: what removes it removes the flag
    inside = replace(sight, around=sight.around._replace(scope=(*sight.around.scope, name)))
    places = (place(inside, reader.path, reader.name),)
    yield Item(Key("flag", parser or reader.home, flag), places, details, reader.origins_of(sources))


def _is_help(node: ast.expr) -> bool:
    """The text of the help alone; a sum of texts or an f-string is one too."""
    if isinstance(node, ast.BinOp):
        return _is_help(node.left) and _is_help(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


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
