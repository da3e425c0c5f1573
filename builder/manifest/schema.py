"""Validates a document against the schema, with a message and a mark for each problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from builder.errors import Problem
from builder.manifest.nodes import Node, Path
from builder.manifest.values import shown
from builder.spelling import nearest

#: File -> its part of the schema, for the files in which a key may stand that does not here.
Elsewhere = Mapping[str, Mapping[str, Any]]
#: Returns the file in which a key at a path may stand.
_Home = Callable[[Path, str], str | None]

#: How messages and the reference name the types of JSON.
TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
    "object": "a mapping",
    "array": "a list",
}

#: Keys of older manifests, and what to write instead.
_FORMER = {
    "unreached": "delete it: in the packages a module is removed when no root reaches it; name what must "
    "stay all the same in `roots.modules` or `keep`",
}


def validate(
    document: Node,
    schema: Mapping[str, Any],
    part: Mapping[str, Any],
    elsewhere: Elsewhere,
) -> list[Problem]:
    """Return the problems of the document with this `part` of the schema.

    Unknown keys are M005, as are keys that belong `elsewhere`; the rest is M004.
    """
    from jsonschema import Draft7Validator

    def home(path: Path, key: str) -> str | None:
        for file, other in elsewhere.items():
            for step in path:
                other = other.get("properties", {}).get(step, {})
                other = schema.get("definitions", {}).get(other.get("$ref", "").rpartition("/")[2], other)
            if key in other.get("properties", {}):
                return file
        return None

    problems: list[Problem] = []
    validator: Any = Draft7Validator(dict(schema)).evolve(schema=dict(part))  # it may refer to all of them
    for error in validator.iter_errors(document.data):
        path = tuple(error.absolute_path)
        if not (node := document.nearest(path)).unknown:
            problems += _problems(node, error, path, _place(path, document.data), home)
    return _distinct(problems)


def _distinct(problems: list[Problem]) -> list[Problem]:
    """Return the problems without duplicates, and with one M005 for each key."""
    kept: dict[object, Problem] = {}
    for problem in problems:
        kept.setdefault(problem.mark if problem.code == "M005" else problem, problem)
    return list(kept.values())


def _problems(node: Node, error: Any, path: Path, place: str, home: _Home) -> Iterator[Problem]:
    """Yield the problems behind one error of the validator."""
    kind, instance, says = error.validator, error.instance, error.validator_value
    subject = place[:1].upper() + place[1:]
    if kind == "additionalProperties" and isinstance(instance, dict):
        known = error.schema.get("properties", {})
        for key in instance:
            if key not in known:
                yield _unknown_key(node, path, place, key, known, home)
    elif "propertyNames" in error.absolute_schema_path:
        # the validator names no path for a key: the instance is the key, below the mapping at `path`
        key, mark = shown(instance, 60), node.at(str(instance)).key_mark
        if kind == "enum":
            verb = next(one for one in says if one != "file")
            hint = nearest(str(instance), says) or f"the keys here are {_either(says)}"
            yield Problem("M005", f"The key `{key}` does not go with `{verb}`.", mark, hint=hint)
        else:
            yield Problem("M004", f"`{key}` is not a valid name here.", mark)
    elif kind == "type":
        wanted = _either([TYPES[one] for one in ([says] if isinstance(says, str) else says)], quote="")
        hint = None
        if says == "array" and isinstance(instance, str):
            hint = f"write it in brackets: `[{shown(instance, 60)}]`"
        message = f"{subject} must be {wanted}, and is {_is(instance)}."
        yield Problem("M004", message, node.mark, hint=hint)
    elif kind == "required":
        for key in says:
            if key not in instance:
                about = error.schema.get("properties", {}).get(key, {}).get("description")
                hint = f"{key}: {about}" if about else None
                yield Problem("M004", f"{subject} lacks the key `{key}`.", node.mark, hint=hint)
    elif kind in ("anyOf", "oneOf"):
        verbs = [k for choice in says for k in choice["required"]]
        number = "one" if kind == "anyOf" else "exactly one"
        yield Problem("M004", f"{subject} needs {number} of the keys {_either(verbs)}.", node.mark)
    else:
        message = f"{subject} {_complaint(kind, says, instance)}."
        yield Problem("M004", message, node.mark, hint=error.schema.get("description"))


def _unknown_key(
    node: Node, path: Path, place: str, key: str, known: Mapping[str, Any], home: _Home
) -> Problem:
    mark = node.at(key).key_mark
    if (file := home(path, key)) is not None:
        return Problem("M005", f"The key `{key}` does not belong here.", mark, hint=f"write it in {file}")
    hint = (
        _FORMER.get(key)
        # `{path: a.py, why: A, and b}`
        or ("if it is the rest of a text with a comma, quote the text" if " " in key else None)
        or nearest(key, known)
        or (f"the keys here are {_either(sorted(known))}" if known else None)
    )
    within = f" in {place}" if path else ""
    return Problem("M005", f"The key `{shown(key, 60)}` is not known{within}.", mark, hint=hint)


def _complaint(kind: str, says: Any, instance: Any) -> str:
    if kind == "pattern":
        return f"`{shown(instance, 60)}` is not written as it should be"
    if kind == "minLength":
        return "is empty"
    if kind in ("minItems", "minProperties"):
        return "holds nothing"
    if kind == "minimum":
        return f"must be at least {says}"
    return f"does not satisfy {kind} {shown(says, 60)}"


def _place(path: Path, document: Any) -> str:
    """Return a path such as `batches[grpc].remove[0]`, or the name of the whole document.

    An item is called by its id if it has one.
    """
    if not path:
        return "the manifest"
    text = ""
    for step in path:
        document = document[step]
        name = document.get("id", step) if isinstance(document, dict) else step
        text += f"[{shown(name, 60)}]" if isinstance(step, int) else f".{shown(step, 60)}"
    return f"`{text.removeprefix('.')}`"


def _is(instance: Any) -> str:
    if instance is None:
        return "nothing"
    if isinstance(instance, bool):
        return f"`{str(instance).lower()}`"
    if isinstance(instance, dict):
        return "a mapping"
    if isinstance(instance, list):
        return "a list"
    return f"the number {instance}" if isinstance(instance, int) else f"the text `{shown(instance, 60)}`"


def _either(words: Iterable[str], quote: str = "`") -> str:
    *most, last = [f"{quote}{word}{quote}" for word in words]
    return f"{', '.join(most)} or {last}" if most else last
