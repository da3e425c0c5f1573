"""Reads documents as the manifest's dataclasses, by the tables that these are; never fails (see `view`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from builder.adapter import SERVER_PARSER
from builder.errors import Mark
from builder.manifest.documents import Documents
from builder.manifest.model import (
    AbsentText,
    Guarantees,
    Item,
    Kernel,
    Manifest,
    NamedScope,
    Pin,
    Project,
    Roots,
    TextException,
    Upstream,
)
from builder.manifest.statements import (
    BASE,
    EDITS,
    NAMES,
    REPLACEMENTS,
    VALUES,
    Batch,
    Edit,
    Fact,
    FactKind,
    Models,
    Note,
    Rule,
    Scalar,
    Span,
    Statement,
)
from builder.manifest.view import TRUTH, View

_Read = Callable[[View], Any]
_Value = Callable[[View, Mapping[str, str]], Any]
_Kind = TypeVar("_Kind")
_Stated = TypeVar("_Stated", bound=Statement)

_NO_BATCH: Mapping[str, str] = {}
#: The parts of docs/scope.yaml.
_SECTIONS = ("decisions", "removed", "kept", "guarantees")
#: How a value of each type is read.
_BY_TYPE: Mapping[Any, _Read] = {
    str: View.word,
    str | None: View.optional,
    bool: View.is_true,
    int: View.count,
    object: lambda view: view.data,
    tuple[str, ...]: View.texts,
    tuple[Scalar, ...]: lambda view: tuple(one.scalar() for one in view.each()),
    tuple[tuple[str, Mark], ...]: lambda view: tuple((one.word(), one.mark) for one in view.each()),
    Mapping[str, str]: View.mapping,
    Mapping[str, int]: View.numbers,
}
#: What is read from all of an item.
_WHOLE: Mapping[Any, _Read] = {Mark: lambda item: item.mark, Span: lambda item: read(Span, item)}


@dataclass(frozen=True, slots=True)
class _Column:
    """A field of a table. `value`: what it holds for an item of a batch; `key`, `how`: where in the item that
    stands, and how it is read."""

    key: Callable[[View], str]
    how: _Read
    value: _Value
    notes: tuple[Any, ...]


@cache
def _table(kind: type) -> Mapping[str, _Column]:
    """The columns of a class by its fields, from their annotations."""
    types, hints = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    notes = {name: hint.__metadata__ if get_origin(hint) is Annotated else () for name, hint in hints.items()}
    verbs = next((get_args(types[name]) for name in types if Note.VERB in notes[name]), ())

    def verb(item: View) -> str:
        return next((one for one in verbs if item.has(one)), str(verbs[0]))

    def column(name: str) -> _Column:
        of, noted = types[name], notes[name]
        fixed = next((note for note in noted if isinstance(note, str)), name)
        key: Callable[[View], str] = verb if Note.OBJECT in noted else lambda item: fixed
        how = next((note for note in noted if callable(note)), None) or _by_type(of)
        if Note.VERB in noted:
            return _Column(key, how, lambda item, batch: verb(item), noted)
        if of in _WHOLE:
            return _Column(key, how, lambda item, batch: _WHOLE[of](item), noted)
        if items := _items(of, next((note for note in noted if isinstance(note, dict)), {fixed: {}})):
            return _Column(key, how, items, noted)
        return _Column(key, how, lambda item, batch: how(item.below(key(item))), noted)

    return {one.name: column(one.name) for one in fields(kind)}


def _by_type(of: Any) -> _Read:
    words = get_args(of)
    if get_origin(of) is Literal:
        return lambda view: view.data if view.data in words else words[0]
    if type(None) in words and is_dataclass(words[0]):
        return lambda view: read(words[0], view) if view.data is not None else None
    return _BY_TYPE.get(of, lambda view: None)


def _items(of: Any, lists: Mapping[str, Mapping[str, Any]]) -> _Value | None:
    """How lists of statements are read, of each of which all have something; None for another type."""
    kind = get_args(of)[0] if get_origin(of) is tuple else None
    if get_origin(kind) is not None or not isinstance(kind, type) or not issubclass(kind, Statement):
        return None  # before Python 3.11, `tuple[str]` is a `type`, too

    def all_of(item: View, batch: Mapping[str, str]) -> tuple[Statement, ...]:
        views = [(item.below(key), given) for key, given in lists.items()]
        if kind is Models and isinstance(views[0][0].data, str):
            return (Models(views[0][0].data, "architectures", mark=views[0][0].mark),)
        return tuple(one for view, given in views for one in statements(kind, view, batch, **given))

    return all_of


def read(kind: type[_Kind], item: View, batch: Mapping[str, str] = _NO_BATCH, /, **given: Any) -> _Kind:
    """The dataclass that a mapping states; fields that are `given` are not read.

    `batch`: what the statements in it take from their batch.
    """
    table = _table(kind)  # type: ignore[arg-type]
    return kind(**{name: given[name] if name in given else table[name].value(item, batch) for name in table})


def statements(
    kind: type[_Stated], view: View, batch: Mapping[str, str] = _NO_BATCH, /, **given: Any
) -> Iterator[_Stated]:
    """The statements of a list. `batch`: the `batch` of each, and the `why` of those that state none."""
    about = _table(kind).get(kind.about)  # type: ignore[arg-type]
    for item in view.each():
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
        several = list(subject.several()) if Note.SEVERAL in about.notes else []
        for one in several or [subject]:
            yield read(kind, item, **{**given, kind.about: about.how(one)})


def manifest(documents: Documents) -> Manifest:
    """The manifest that the documents state, as far as they can be read; without digest, texts, overlays."""
    root = documents.root
    documents.findings.batches = [name for name in documents.ids() if name != BASE]
    packages = {name: folder.file() for name, folder in root.at("packages").entries()}
    for stray in documents.strays():
        _batch(stray)  # for what is wrong in it
    base = {"batch": BASE, "why": "No root reaches it, or the top of the manifest states it."}
    batches = (_batch(root.only("keep", "facts", "absent"), base), *map(_batch, documents.batches()))
    scopes = root.at("scopes").alone().entries()
    return Manifest(
        file=documents.manifest.file,
        name=root.text("name"),
        label=root.text("label"),
        upstream=_upstream(root.at("upstream"), packages),
        packages=packages,
        roots=_roots(root.at("roots"), next(iter(packages), "")),
        batches=batches,
        guarantees=_guarantees(root.at("guarantees")),
        marks=documents.manifest.values,
        prune_symbols=tuple(statements(Rule, root.at("prune_symbols"), base, verdict="keep")),
        named_files=tuple(statements(Rule, root.at("named_files"), base, verdict="keep")),
        kernel=_kernel(root.at("kernel"), batches) if root.has("kernel") else None,
        scope=tuple(_scope(documents.view(documents.scope))),
        scopes={name: read(NamedScope, one, name=name, mark=one.key_mark) for name, one in scopes},
        wheel=root.at("wheel").data is not False,
    )


def _upstream(view: View, packages: Mapping[str, str]) -> Upstream:
    pins = {name: read(Pin, pin, name=name, mark=pin.key_mark) for name, pin in view.at("pins").entries()}
    return read(Upstream, view, pins=pins, project=_project(view, packages))


def _project(view: View, packages: Mapping[str, str]) -> Project:
    """As stated, or as the first package tells: it has the project's name, and lies beside its pyproject.toml
    or in `src/` there."""
    name, folder = next(iter(packages.items()), ("", ""))
    above = folder.strip("/").split("/")[: -len(name.split("."))]
    beside = "/".join(above[:-1] if above[-1:] == ["src"] else above)
    stated = view.at("folder").optional()
    return Project(
        view.text("project") or name.partition(".")[0].replace("_", "-"),
        beside if stated is None else stated.strip("./"),
    )


def _roots(view: View, package: str) -> Roots:
    """The roots; `package` is the first package, in which the adapter has defaults."""
    return read(Roots, view, command_line=view.text("command_line") or f"{package}.{SERVER_PARSER}")


def _batch(view: View, batch: Mapping[str, str] | None = None) -> Batch:
    """A batch; `batch`: its id and reason, if they are not stated in the view."""
    batch = batch or {"batch": view.text("id"), "why": view.text("why")}
    facts, edits = tuple(_facts(view.at("facts"), batch)), tuple(_edits(view, batch))
    return read(Batch, view, batch, id=batch["batch"], why=batch["why"], facts=facts, edits=edits)


def _facts(view: View, batch: Mapping[str, str]) -> Iterator[Fact]:
    for key, kind in VALUES.items():
        for name, stated in view.at(key).entries():
            yield _fact(kind, name, stated, batch["batch"])
    for function, keywords in view.at("defaults").entries():
        for keyword, stated in keywords.entries():
            yield _fact("default", f"{function}:{keyword}", stated, batch["batch"])
    for key, given in NAMES.items():
        yield from statements(Fact, view.at(key), batch, exact=True, **given)
    for item in view.items("registries"):
        names = [item.text(key) for key in ("key", "target", "registered_by", "held_by")]
        value = " ".join([*names, *item.at("asked_by").texts()])
        row = item.text("row")
        yield read(Fact, item, kind="registry", name=row, value=value, exact=True, batch=batch["batch"])


def _fact(kind: FactKind, name: str, item: View, batch: str) -> Fact:
    stated = item.one("value")
    value = stated.scalar(doubtful=True)
    exact = not (stated.plain() and value in TRUTH)
    if not exact:
        value = TRUTH[str(value)]
    return read(Fact, item, kind=kind, name=name, value=value, exact=exact, mark=item.key_mark, batch=batch)


def _edits(view: View, batch: Mapping[str, str]) -> Iterator[Edit]:
    for kind in ("drop", "stub"):
        yield from statements(Edit, view.at(kind), batch, kind=kind, match=None, by=None)
    for item in view.items("edits"):
        key = next((key for key in EDITS if item.has(key)), "body")
        matching = EDITS[key]
        target = item.at(key if matching is None else "in")
        where, how = REPLACEMENTS.get(key, ("", View.optional))
        given = {
            "kind": key.replace("_", "-"),
            "match": None if matching is None else matching(item.at(key)),
            "by": how(item.at(where)),
            "mark": item.mark,
            "batch": batch["batch"],
            "why": item.text("why") or batch["why"],
        }
        for one in [*target.several()] or [target]:  # they share a mark
            yield read(Edit, item, target=one.word(), **given)


def _guarantees(view: View) -> Guarantees:
    # these say what left by name: which of the patterns that meets depends on what left
    everywhere = [
        TextException(
            one.at("path").pattern(), None, one.text("why"), mark=one.mark, optional=one.text("why")
        )
        for one in view.alone().items("except")
    ]
    past = [added for other in view.others for added in other.items("absent_text")]
    absent = []
    for text in view.alone().items("absent_text"):
        added = (one.at("except") for one in past if one.text("pattern") == text.text("pattern"))
        own = statements(TextException, text.at("except").with_others(added))
        absent.append(read(AbsentText, text, exceptions=(*everywhere, *own)))
    return read(Guarantees, view, absent_text=tuple(absent), everywhere=tuple(everywhere))


def _kernel(view: View, batches: Iterable[Batch]) -> Kernel:
    """The kernel wheel; the reason of a rule is that of its batch, if it has none of its own."""
    reasons = {batch.id: batch.why for batch in batches}
    kernel = read(Kernel, view)
    rules = (replace(rule, why=rule.why or reasons.get(rule.batch, "")) for rule in kernel.remove)
    return replace(kernel, remove=tuple(rules))


def _scope(view: View) -> Iterator[Item]:
    for section in _SECTIONS:
        for item in view.items(section):
            yield read(Item, item, section=section)
