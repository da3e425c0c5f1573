"""Recognises surface in a file: flags, routes, environment variables, registries."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from builder.adapter import ENTRY
from builder.source.fields import dotted_name, last_name
from builder.surface.model import Expression, Item, Key, Value, destination
from builder.surface.scan import Around, Sight, place
from builder.surface.values import Reader, members_of

_METHODS = frozenset(["get", "post", "put", "delete", "patch", "head", "options"])
_READERS = re.compile(r"(?:get_\w*)?getenv|get_\w*env_var\w*")
_ENVIRON = re.compile(r"(?:os\.)?environ")
_DECLARATIONS = re.compile(r"Env[A-Z]\w*")
#: Details of an option that change what a command line means; help is text.
_FLAG_DETAILS = ("action", "choices", "const", "default", "dest", "nargs", "required", "type")
_REGISTER = re.compile(r"register(?:_\w+)?")
#: Registering functions of frameworks: nobody chooses what they name.
_NOT_REGISTRIES = frozenset(
    ["register_parameter", "register_buffer", "register_fake", "register_forward_hook", "register_hook"]
)

Items = Iterator[Item]


def recognise(sight: Sight, reader: Reader) -> Items:
    """The items of the surface that one sight states."""
    for kind in _RECOGNISERS:
        yield from kind(sight, reader)


def _item(sight: Sight, reader: Reader, kind: str, group: str, name: str, **details: Value) -> Item:
    key = Key(kind, group, name)  # type: ignore[arg-type]
    return Item(key, (place(sight, reader.path, reader.name),), details)


# -- flags ------------------------------------------------------------------------------------------


def flags(sight: Sight, reader: Reader) -> Items:
    """`parser.add_argument("--name", "-n", default=..., choices=...)`, positionals too."""
    call = sight.node
    if not isinstance(call, ast.Call) or last_name(call.func) != "add_argument" or not call.args:
        return
    names = [reader.value(a.value if isinstance(a, ast.Starred) else a) for a in call.args]
    spelt = (n.text if isinstance(n, Expression) else n for n in names)
    literals = [n for n in spelt if isinstance(n, str)]
    if not literals:
        return
    first = next((n for n in literals if n.startswith("--")), literals[0])
    details: dict[str, Value] = {}
    if len(literals) > 1:
        details["aliases"] = tuple(n for n in literals if n != first)
    stated = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in _FLAG_DETAILS}
    details.update({detail: reader.value(value) for detail, value in stated.items()})
    item = _item(sight, reader, "flag", reader.home, first, **details)
    yield replace(item, origins=reader.origins_of(stated))


#: A list of classes, in a file that has a parser.
_GATHERED = re.compile(rb"^\w+ = [\[(]\s*[A-Z]\w*,", re.MULTILINE)


def gathered_flags(reader: Reader) -> Items:
    """The flags that the fields of other files' classes declare for the parser of this file, which lists the
    classes: `_SECTIONS = [Model, Memory]`."""
    data = reader.sources.snapshot[reader.path]
    if b"add_argument(" not in data or not _GATHERED.search(data):
        return
    whole = reader.sources.parsed(reader.path)
    for stmt in whole.tree.body if whole is not None else ():
        if isinstance(stmt, ast.Assign) and isinstance(stmt.value, (ast.List, ast.Tuple)):
            for element in stmt.value.elts:
                owner, cls = (isinstance(element, ast.Name) and reader.find(element)) or (reader, None)
                if isinstance(cls, ast.ClassDef) and owner.path != reader.path:
                    around = Around(scope=(cls.name,), owner=cls)
                    for field in cls.body:
                        yield from field_flags(Sight(field, around), owner, reader.home)


# -- routes -----------------------------------------------------------------------------------------


def routes(sight: Sight, reader: Reader) -> Items:
    """`@app.get("/x")`, `@app.api_route("/x", methods=[...])`, `app.add_api_route("/x", f)`."""
    call = sight.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    verb = call.func.attr
    if verb in ("add_route", "add_api_route", "mount"):
        # aiohttp gives the method first
        method = reader.value(call.args[0]) if len(call.args) > 2 else "*"
        path = reader.value(call.args[-2]) if len(call.args) > 1 else None
        if isinstance(path, str) and path.startswith("/") and isinstance(method, str):
            yield _route(sight, reader, method, path)
        return
    if sight.decorated is None:
        return
    stated = next((k.value for k in call.keywords if k.arg == "path"), call.args[0] if call.args else None)
    if stated is None:
        return
    path = _path(stated, reader)
    if not path.startswith("/") or (verb not in _METHODS and verb not in ("api_route", "websocket", "route")):
        return
    path = _prefix(call.func.value, reader) + path
    for method in _methods(verb, call, reader):
        yield _route(sight, reader, method, path, handler=sight.decorated.name)


def _route(sight: Sight, reader: Reader, method: str, path: str, **details: Value) -> Item:
    return _item(sight, reader, "route", reader.home, f"{method.upper()} {path}", **details)


def _methods(verb: str, call: ast.Call, reader: Reader) -> list[str]:
    if verb in _METHODS or verb == "websocket":
        return [verb]
    methods = next((reader.value(k.value) for k in call.keywords if k.arg == "methods"), ("GET",))
    return [m for m in methods if isinstance(m, str)] if isinstance(methods, tuple) else ["*"]


def _path(node: ast.expr, reader: Reader) -> str:
    """A path may be the default of an environment variable: `os.environ.get("X", "/x")`."""
    if isinstance(node, ast.Call) and len(node.args) == 2:
        node = node.args[1]
    value = reader.value(node)
    return value if isinstance(value, str) else ""


def _prefix(application: ast.expr, reader: Reader) -> str:
    """`APIRouter(prefix="/v1")`."""
    target = reader.find(application)
    if target is not None and isinstance(target[1], ast.Call):
        prefix = next((target[0].value(k.value) for k in target[1].keywords if k.arg == "prefix"), "")
        return prefix if isinstance(prefix, str) else ""
    return ""


# -- environment variables --------------------------------------------------------------------------


def environment(sight: Sight, reader: Reader) -> Items:
    """Variables that are declared (`X = EnvBool(False)`) or read, whatever reads them."""
    match sight.node:
        case ast.Assign(targets=[ast.Name(id=variable)], value=ast.Call(func=kind, args=values)):
            if sight.around.owner is not None and _DECLARATIONS.fullmatch(last_name(kind)):
                details: dict[str, Value] = {"type": last_name(kind)}
                if values:
                    details["default"] = reader.value(values[0])
                yield _item(sight, reader, "environment", "", variable, **details)
            return
        case ast.Call(func=function, args=[name, *_]) if _READERS.fullmatch(last_name(function)):
            pass
        case (
            ast.Call(func=ast.Attribute(value=owner, attr="get" | "pop" | "setdefault"), args=[name, *_])
            | ast.Subscript(value=owner, slice=name, ctx=ast.Load())
            | ast.Compare(left=name, ops=[ast.In() | ast.NotIn(), *_], comparators=[owner, *_])
        ) if _ENVIRON.fullmatch(dotted_name(owner)):
            pass
        case _:
            return
    value = reader.value(name)
    if isinstance(value, str) and value and "{" not in value:
        yield _item(sight, reader, "environment", "", value)


# -- registries -------------------------------------------------------------------------------------


def models(sight: Sight, reader: Reader) -> Items:
    """`EntryClass = [A, B]` of a model file: the architectures it serves."""
    node = sight.node
    if not isinstance(node, ast.Assign) or sight.around.scope:
        return
    if not any(isinstance(t, ast.Name) and t.id == ENTRY for t in node.targets):
        return
    package = reader.home.rpartition(".")[0]
    for name in node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]:
        if isinstance(name, ast.Name):
            yield _item(sight, reader, "registry", package, name.id, value=f"{reader.home}.{name.id}")


def registered(sight: Sight, reader: Reader) -> Items:
    """`@register_backend("x")`, `register_backend("x", ...)`, `Factory.register("x", ...)`."""
    call = sight.node
    if not isinstance(call, ast.Call) or not _REGISTER.fullmatch(last_name(call.func)) or not call.args:
        return
    function = last_name(call.func)
    if function in _NOT_REGISTRIES or function.startswith("register_forward"):
        return
    keys = []
    for argument in call.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            break
        keys.append(argument.value)
    # a name that is a parameter of the enclosing function is registered at run time, by its callers
    if not keys or (len(call.args) == len(keys) and sight.decorated is None):
        return
    if sight.decorated is None:
        keys = keys[:1]
    yield _item(
        sight, reader, "registry", _where(call.func, reader), " ".join(keys),
        **({"value": sight.decorated.name} if sight.decorated is not None else {}),
    )  # fmt: skip


def _where(node: ast.expr, reader: Reader) -> str:
    """The qualified name of a called function, as far as it can be followed."""
    target = reader.find(node)
    if target is not None and isinstance(target[1], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if isinstance(node, ast.Attribute):
            owner = reader.find(node.value)
            if owner is not None and isinstance(owner[1], ast.ClassDef):
                return f"{owner[0].home}.{owner[1].name}.{target[1].name}"
        return f"{target[0].home}.{target[1].name}"
    return f"{reader.home}.{dotted_name(node) or last_name(node)}"


def tables(sight: Sight, reader: Reader) -> Items:
    """`NAME = {"key": Class, ...}` of a module or class, and what is added to it at module level."""
    if sight.around.function is not None:
        return
    match sight.node:
        case ast.Assign(targets=[ast.Subscript(value=table, slice=ast.Constant(value=key))], value=entry):
            rows = [(key, entry, sight)]
        case (
            ast.Assign(targets=[table], value=ast.Dict() as entries)
            | ast.AnnAssign(target=table, value=ast.Dict() as entries)
            | ast.Call(func=ast.Attribute(value=table, attr="update"), args=[ast.Dict() as entries])
        ):
            pairs = zip(entries.keys, entries.values, strict=True)
            rows = [(k.value, v, Sight(v, sight.around)) for k, v in pairs if isinstance(k, ast.Constant)]
        case _:
            return
    name = dotted_name(table)
    # by convention a table to choose from is spelled as a constant or as a type
    if name.lstrip("_")[:1].isupper() and all(isinstance(key, str) and _chooses(v) for key, v, _ in rows):
        group = ".".join([reader.home, *sight.around.scope, name])
        for key, value, at in rows:
            yield _item(at, reader, "registry", group, str(key), value=reader.text(value))


def _chooses(node: ast.expr) -> bool:
    """Return whether a value can be an entry of a registry: a class, a function, a member."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Lambda)) or (
        isinstance(node, ast.Call) and not node.keywords and len(node.args) <= 1
    )


def enumerations(sight: Sight, reader: Reader) -> Items:
    """Members of an `Enum`: chosen by their value where it is a text, else by their name."""
    node = sight.node
    if not isinstance(node, ast.ClassDef) or not any(
        last_name(b).endswith(("Enum", "Flag")) for b in node.bases
    ):
        return
    group = ".".join([reader.home, *sight.around.scope])
    for name, value in members_of(node):
        text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else name
        if not name.startswith("_"):
            yield _item(Sight(value, sight.around), reader, "registry", group, text, member=name)


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


_RECOGNISERS: tuple[Callable[[Sight, Reader], Items], ...] = (
    flags, field_flags, routes, environment, models, registered, tables, enumerations,
)  # fmt: skip
