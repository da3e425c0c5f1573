"""Reads the manifest's dataclasses from documents; the annotations of their fields are the tables.

It never fails (see `Node`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from builder.adapter import SERVER_PARSER
from builder.errors import Mark
from builder.manifest.documents import Documents
from builder.manifest.model import (
    AbsentText,
    Guarantees,
    Item,
    Manifest,
    Project,
    TextException,
)
from builder.manifest.nodes import Node
from builder.manifest.statements import (
    BASE,
    EDITS,
    NAMES,
    VALUES,
    Batch,
    Edit,
    Fact,
    FactKind,
    Models,
    Note,
    Scalar,
    Span,
    Statement,
)
from builder.manifest.values import TRUTH, pattern, scalar

_Read = Callable[[Node], Any]
_Value = Callable[[Node, Mapping[str, str]], Any]
_Kind = TypeVar("_Kind")
_Stated = TypeVar("_Stated", bound=Statement)

_NO_BATCH: Mapping[str, str] = {}
#: The parts of docs/scope.yaml.
_SECTIONS = ("decisions", "removed", "kept", "guarantees")
#: How a value of each type is read.
_BY_TYPE: Mapping[Any, _Read] = {
    str: Node.word,
    str | None: Node.optional,
    bool: lambda node: node.data is True,
    int: lambda node: 0 if node.data == "all" else node.data,
    object: lambda node: node.data,
    tuple[str, ...]: Node.texts,
    tuple[Scalar, ...]: lambda node: tuple(scalar(one) for one in node.each()),
    tuple[tuple[str, Mark], ...]: lambda node: tuple((one.word(), one.mark) for one in node.each()),
    Mapping[str, str]: lambda node: {name: one.word() for name, one in node.entries()},
    Mapping[str, int]: lambda node: {name: one.data for name, one in node.entries()},
}
#: What is read from all of an item.
_WHOLE: Mapping[Any, _Read] = {Mark: lambda item: item.mark, Span: lambda item: read(Span, item)}


@dataclass(frozen=True, slots=True)
class _Column:
    """A field of a table. `value`: its value for an item of a batch; `key`, `how`: where the value stands in
    the item, and how it is read."""

    key: Callable[[Node], str]
    how: _Read
    value: _Value
    notes: tuple[Any, ...]


@cache
def _table(kind: type) -> Mapping[str, _Column]:
    """Return the columns of a class by its fields, from their annotations."""
    types, hints = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    notes = {name: hint.__metadata__ if get_origin(hint) is Annotated else () for name, hint in hints.items()}
    verbs = next((get_args(types[name]) for name in types if Note.VERB in notes[name]), ())

    def verb(item: Node) -> str:
        return next((one for one in verbs if item.has(one)), str(verbs[0]))

    def column(field: Field[Any]) -> _Column:
        of, noted = types[field.name], notes[field.name]
        fixed = next((note for note in noted if isinstance(note, str)), field.name)
        key: Callable[[Node], str] = verb if Note.OBJECT in noted else lambda item: fixed
        how = next((note for note in noted if callable(note)), None) or _by_type(of)

        def value(item: Node, batch: Mapping[str, str]) -> Any:
            node = item.below(key(item))
            if node.data is None and field.default is not MISSING:
                return field.default
            return how(node)

        if Note.VERB in noted:
            return _Column(key, how, lambda item, batch: verb(item), noted)
        if of in _WHOLE:
            return _Column(key, how, lambda item, batch: _WHOLE[of](item), noted)
        items = _items(of, next((note for note in noted if isinstance(note, dict)), {fixed: {}}))
        return _Column(key, how, items or value, noted)

    return {one.name: column(one) for one in fields(kind)}


def _by_type(of: Any) -> _Read:
    words = get_args(of)
    if get_origin(of) is Literal:
        return lambda node: node.data if node.data in words else words[0]
    if is_dataclass(of) or (type(None) in words and is_dataclass(words[0])):
        return lambda node: read(words[0] if words else of, node)
    if get_origin(of) is Mapping and is_dataclass(words[1]):
        return lambda node: {
            name: read(words[1], one, name=name, mark=one.key_mark) for name, one in node.entries()
        }
    return _BY_TYPE.get(of, lambda node: None)


def _items(of: Any, lists: Mapping[str, Mapping[str, Any]]) -> _Value | None:
    """Return how lists of statements are read that share fields; None for another type.

    `lists`: key of a list -> the fields that its statements share.
    """
    kind = get_args(of)[0] if get_origin(of) is tuple else None
    if get_origin(kind) is not None or not isinstance(kind, type) or not issubclass(kind, Statement):
        return None  # before Python 3.11, `tuple[str]` is a `type`, too

    def all_of(item: Node, batch: Mapping[str, str]) -> tuple[Statement, ...]:
        nodes = [(item.below(key), given) for key, given in lists.items()]
        if kind is Models and isinstance(nodes[0][0].data, str):
            return (Models(nodes[0][0].data, "architectures", mark=nodes[0][0].mark),)
        return tuple(one for node, given in nodes for one in statements(kind, node, batch, **given))

    return all_of


def read(kind: type[_Kind], item: Node, batch: Mapping[str, str] = _NO_BATCH, /, **given: Any) -> _Kind:
    """Read a dataclass from a mapping; fields that are `given` are not read.

    `batch`: the fields that its statements take from their batch.
    """
    table = _table(kind)  # type: ignore[arg-type]
    return kind(**{name: given[name] if name in given else table[name].value(item, batch) for name in table})


def statements(
    kind: type[_Stated], node: Node, batch: Mapping[str, str] = _NO_BATCH, /, **given: Any
) -> Iterator[_Stated]:
    """Read the statements of a list. `batch`: the `batch` of each, and the `why` of those that state none."""
    about = _table(kind).get(kind.about)  # type: ignore[arg-type]
    for item in node.each():
        given |= {"mark": item.mark, **batch}
        if batch:
            given["why"] = item.text("why") or batch["why"]
        if about is None:
            yield read(kind, item, **given)
            continue
        key = about.key(item)
        subject = item.one(key) if Note.ALONE in about.notes else item.at(key)
        if Note.PLACE in about.notes:
            given["mark"] = subject.mark
        for one in subject.several() if Note.SEVERAL in about.notes else [subject]:
            yield read(kind, item, **{**given, kind.about: about.how(one)})


def manifest(documents: Documents) -> Manifest:
    """Read the manifest as far as possible; digests, texts and overlays are still missing."""
    root = documents.root
    documents.findings.batches = [name for name in documents.ids if name != BASE]
    for stray in documents.strays:
        _batch(stray)  # for its problems
    base = {"batch": BASE, "why": "No root reaches it, or the top of the manifest states it."}
    batches = (_batch(root.only("keep", "facts", "absent"), base), *map(_batch, documents.batches))
    rows = (
        [] if documents.scope is None else [(s, row) for s in _SECTIONS for row in documents.scope.items(s)]
    )
    whole = read(
        Manifest,
        root,
        base,
        file=documents.manifest.mark.file,
        batches=batches,
        guarantees=_guarantees(documents),
        marks={path: node.mark for path, node in documents.manifest.walk()},
        scope=tuple(read(Item, row, section=section) for section, row in rows),
    )
    kernel = whole.kernel
    if kernel is not None:  # a rule without a reason has that of its batch
        reasons = {batch.id: batch.why for batch in batches}
        rules = (replace(rule, why=rule.why or reasons.get(rule.batch, "")) for rule in kernel.remove)
        kernel = replace(kernel, remove=tuple(rules))
    parser = whole.roots.command_line or f"{next(iter(whole.packages), '')}.{SERVER_PARSER}"
    return replace(
        whole,
        upstream=replace(whole.upstream, project=_project(root.at("upstream"), whole.packages)),
        roots=replace(whole.roots, command_line=parser),
        kernel=kernel,
    )


def _project(node: Node, packages: Mapping[str, str]) -> Project:
    """Read the project; by default it has the name of the first package, which lies beside its pyproject.toml
    or in `src/` there."""
    name, folder = next(iter(packages.items()), ("", ""))
    above = folder.strip("/").split("/")[: -len(name.split("."))]
    beside = "/".join(above[:-1] if above[-1:] == ["src"] else above)
    stated = node.at("folder").optional()
    return Project(
        node.text("project") or name.partition(".")[0].replace("_", "-"),
        beside if stated is None else stated.strip("./"),
    )


def _batch(node: Node, batch: Mapping[str, str] | None = None) -> Batch:
    """Read a batch. `batch`: its id and reason, if the node does not state them."""
    batch = batch or {"batch": node.text("id"), "why": node.text("why")}
    facts, edits = tuple(_facts(node.at("facts"), batch)), tuple(_edits(node, batch))
    return read(Batch, node, batch, id=batch["batch"], why=batch["why"], facts=facts, edits=edits)


def _facts(node: Node, batch: Mapping[str, str]) -> Iterator[Fact]:
    values: list[tuple[FactKind, str, Node]] = [
        (kind, name, item) for key, kind in VALUES.items() for name, item in node.at(key).entries()
    ]
    for function, keywords in node.at("defaults").entries():
        values += [("default", f"{function}:{keyword}", item) for keyword, item in keywords.entries()]
    for kind, name, item in values:
        text = item.one("value")
        value = scalar(text, doubtful=True)
        exact = not (text.plain and value in TRUTH)
        known = {"value": value if exact else TRUTH[str(value)], "exact": exact}
        yield read(Fact, item, kind=kind, name=name, mark=item.key_mark, batch=batch["batch"], **known)
    for key, given in NAMES.items():
        yield from statements(Fact, node.at(key), batch, **given)
    for item in node.items("registries"):
        names = [item.text(key) for key in ("key", "target", "registered_by", "held_by")]
        value = " ".join([*names, *item.at("asked_by").texts()])
        row = item.text("row")
        yield read(Fact, item, kind="registry", name=row, value=value, batch=batch["batch"])


def _edits(node: Node, batch: Mapping[str, str]) -> Iterator[Edit]:
    for kind in ("drop", "stub"):
        yield from statements(Edit, node.at(kind), batch, kind=kind)
    for item in node.items("edits"):
        key = next((key for key in EDITS if item.has(key)), "body")
        matching, where, how = EDITS[key]
        target = item.at(key if matching is None else "in")
        given = {
            "kind": key.replace("_", "-"),
            "match": None if matching is None else matching(item.at(key)),
            "by": how(item.at(where)),
            "mark": item.mark,
            "batch": batch["batch"],
            "why": item.text("why") or batch["why"],
        }
        for one in target.several():  # they share a mark
            yield read(Edit, item, target=one.word(), **given)


def _guarantees(documents: Documents) -> Guarantees:
    own = documents.manifest.at("guarantees")
    # these files name what was removed, which decides which of the patterns match there
    everywhere = tuple(
        TextException(pattern(one.at("path")), None, one.text("why"), mark=one.mark, optional=one.text("why"))
        for one in own.items("except")
    )
    added = [
        text for base in documents.parts.get(BASE, ()) for text in base.at("guarantees").items("absent_text")
    ]
    absent = []
    for text in own.items("absent_text"):
        more = [one.at("except") for one in added if one.text("pattern") == text.text("pattern")]
        exceptions = statements(TextException, text.at("except").with_others(more))
        absent.append(read(AbsentText, text, exceptions=(*everywhere, *exceptions)))
    return read(Guarantees, documents.root.at("guarantees"), absent_text=tuple(absent), everywhere=everywhere)
