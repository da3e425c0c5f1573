"""The statements of a batch as frozen dataclasses, each with its mark.

These classes and those of `model` are the tables that `reading` goes by. A field stands in YAML under the key
of its own name, or under the one that its annotation names; it is read as its type says, or by the function
in its annotation. `schema/manifest.schema.json` describes the same keys for people and editors.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from builder.errors import Mark
from builder.manifest import values
from builder.manifest.nodes import Node

Scalar = bool | int | float | str | None

#: The id of the implicit first batch, and of the rules that keep the root models.
BASE = "base"


class Note(enum.Enum):
    """What the annotation of a field may say besides its key and how it is read."""

    VERB = "the one of its words that is a key of the item"
    OBJECT = "it stands under the key that is the verb"
    ALONE = "an item that is plain text is this field alone"
    SEVERAL = "a list stands for several statements that share the rest"
    PLACE = "the statement is placed here, and not where the item begins"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something changed: a batch, its rule (a pattern, or a statement in words) and the rule's place."""

    batch: str
    rule: str
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The range of upstream versions, both ends inclusive, in which a statement must match; it is applied
    wherever it matches.

    `beyond`: describes the pin being built if it lies outside the range; filled in for one upstream.
    `without`: batches of which one must be off, or the statement is withdrawn.
    """

    since: str | None = None
    until: str | None = None
    beyond: str | None = None
    without: Annotated[tuple[str, ...], Node.words] = ()

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None


ALWAYS = Span()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement about upstream, which may or may not match it.

    `optional`: why it may match nothing. `models`: it is withdrawn if one of them stays.
    """

    #: the field with its subject, if there is one
    about: ClassVar[str] = "name"

    mark: Mark
    optional: str | None = None
    span: Span = ALWAYS
    models: tuple[Models, ...] = ()

    @property
    def subject(self) -> str:
        """Its subject, in one word of the manifest."""
        return str(getattr(self, self.about))


@dataclass(frozen=True, slots=True)
class Rule(Statement):
    """One path pattern (gitignore syntax, strict last match wins) and what it decides.

    `keep` and `remove` decide; `prune` removes unless a kept model needs the module. No manifest states
    the other two, which hold in the packages where no rule says anything: `reach` removes a module unless
    a root reaches it, `follow` a data file unless a module beside it stays; `pattern` is then a clause.
    """

    about = "pattern"

    pattern: Annotated[str, "path", values.rule, Note.ALONE, Note.PLACE]
    verdict: Literal["keep", "remove", "prune", "reach", "follow"]
    batch: str
    word: str | None = None  # the word of the batch that is in the name of what the pattern matches
    defines: str | None = None  # of the files that match, only those are meant that bind this name

    @property
    def stated(self) -> str:
        """The pattern or the word of the manifest."""
        return self.word or self.pattern


#: Key of a list of rules -> the fields that they share. The last match wins: `keep` overrides the others.
RULES = {key: {"verdict": key} for key in ("remove", "prune", "keep")}


@dataclass(frozen=True, slots=True)
class Models(Statement):
    """Models for which a statement is not true: it is withdrawn if one of them stays.

    kind            name                              the models
    name            a module of the model package, or an fnmatch pattern of such
    architectures   the qualified name of a list of architectures in upstream's code, or of a function that
                    answers True for an architecture
    defines         a name that the model's file defines, at any depth
    parameter       a name that a function in the model's file has as a parameter
    """

    name: Annotated[str, Note.OBJECT, Note.ALONE, Note.PLACE]
    kind: Annotated[Literal["name", "architectures", "defines", "parameter"], Note.VERB] = "name"


@dataclass(frozen=True, slots=True)
class Option(Statement):
    """Absent values of an option: in an expression whose last name matches `names`
    (fnmatch patterns: `*attention_backend*`), or anywhere for `*`, `values` never occur.

    `removed_models`: the values are the architectures of the removed model files. `parts`: parts of
    the names of such, which never occur unless an architecture that stays contains one. `among`: if given,
    every other text never occurs under these names.
    """

    about = ""

    names: tuple[str, ...]
    values: Annotated[tuple[Scalar, ...], "absent"]
    batch: str
    removed_models: bool = False
    among: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        values = (*self.values, *self.parts, *self.among)
        return ", ".join(str(value) for value in values) or ", ".join(self.names)

    def has_not(self, value: Scalar) -> bool:
        """Return whether this value never occurs."""
        if any(type(one) is type(value) and one == value for one in self.values):
            return True
        return bool(self.among) and isinstance(value, str) and value not in self.among


@dataclass(frozen=True, slots=True)
class Configuration:
    """The `keys` that the configurations of these models have; it holds while no other model stays.

    `types`: their `model_type`. `objects`: (pattern of the names of such, paths in which it means one).
    """

    of: tuple[str, ...]
    types: tuple[str, ...]
    objects: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        lambda node: tuple((item.one("name").word(), item.at("in").texts()) for item in node.each()),
    ]
    keys: tuple[str, ...]
    mark: Mark


FactKind = Literal[
    "predicate",
    "value",
    "environment",
    "default",
    "attribute",
    "pure",
    "environment-reader",
    "quiet-import",
    "declaration",
    "methods",
    "runner",
    "base",
    "registry",
    "uncalled",
]
#: key of a mapping from names to values -> the kind of fact
VALUES: Mapping[str, FactKind] = {
    "predicates": "predicate",
    "values": "value",
    "environment": "environment",
}
#: key of a list of names -> the fields that its facts share
NAMES: Mapping[str, Mapping[str, Any]] = {
    "attributes": {"kind": "attribute", "value": False},
    "pure": {"kind": "pure", "value": True},
    "environment_readers": {"kind": "environment-reader", "value": True},
    "quiet_imports": {"kind": "quiet-import", "value": True},
    "declarations": {"kind": "declaration", "value": True},
    "methods": {"kind": "methods", "value": True},
    "runners": {"kind": "runner", "value": True},
    "bases": {"kind": "base", "value": True},
}


@dataclass(frozen=True, slots=True)
class Fact(Statement):
    """One thing that is true on the target.

    kind        name                                value
    predicate   qualified function (a.b.is_hip)     what a call returns
    value       qualified name (torch.version.hip)  what reading it gives
    environment variable name                       what reading it gives
    attribute   qualified owner.attribute           False: hasattr() says no
    pure        qualified or bare function          True: calling it has no effect
    default     callable:keyword                    the keyword's default, so that it may go
    environment-reader  qualified or bare function  True: reads the variable that its first argument names
    quiet-import        external module             True: importing it only defines names
    uncalled            qualified function or method  True: only a name in the code calls it
    declaration         qualified class, collection   True: what it declares is read by names spelled out
    methods             qualified class           True: a method is called by its name, which code spells out
    runner              qualified function        True: it does nothing but call a function that it is given
    base                qualified class of another package  the methods that it may call, by spaces
    registry    qualified class of a row            what else `registries` states, by spaces
    """

    kind: FactKind
    name: Annotated[str, Note.ALONE, Note.SEVERAL, Note.PLACE]
    value: Scalar
    batch: str
    exact: bool = True  # False: only the truth of the value is known, not the value


@dataclass(frozen=True, slots=True)
class Absent(Statement):
    """A module (with everything below it) or a symbol that does not exist in the distribution."""

    kind: Literal["module", "symbol"]
    name: Annotated[str, Note.ALONE, Note.SEVERAL, Note.PLACE]
    batch: str


#: Key of a list of names -> the fields that its statements share.
ABSENT = {"absent.modules": {"kind": "module"}, "absent.symbols": {"kind": "symbol"}}

#: key of an edit -> how what it matches is read (None: what it is about stands there, and not under `in`),
#: the key of its replacement, and how that is read
EDITS: Mapping[str, tuple[Callable[[Node], str] | None, str, Callable[[Node], str | None]]] = {
    "set": (None, "to", values.expression),
    "drop_import": (Node.word, "", Node.optional),
    "add_import": (Node.word, "", Node.optional),
    "drop_entry": (Node.word, "", Node.optional),
    "drop_statement": (values.statement, "", Node.optional),
    "replace": (values.value, "by", values.value),
    "body": (None, "from", values.overlay),
}


@dataclass(frozen=True, slots=True)
class Edit(Statement):
    """A structural edit of Python by qualified name.

    kind            target                          match                    by
    drop            definition or assignment        -                        -
    stub            function or method              -                        -  (raises NotImplementedError)
    set             assigned name or parameter      -                        new value, as source
    drop-import     module or scope                 imported dotted name     -
    add-import      module                          imported dotted name     -
    drop-entry      scope                           entry, as source         -
    drop-statement  scope                           statement, as source     -
    replace         scope                           expression, as source    expression, as source
    body            function or method              -                        overlay file with the new body
    """

    about = "target"

    kind: Literal[
        "drop",
        "stub",
        "set",
        "drop-import",
        "add-import",
        "drop-entry",
        "drop-statement",
        "replace",
        "body",
    ]
    target: Annotated[str, "name", Note.ALONE, Note.SEVERAL, Note.PLACE]
    batch: str
    why: str
    match: str | None = None
    by: str | None = None
    count: int = 1  # 0: however many there are


@dataclass(frozen=True, slots=True)
class WholeFile(Statement):
    """A file of ours that replaces an upstream file or is new.

    `preimage`: blob ids of what is replaced, any of them. `definitions`: instead of these, the names at
    the top of upstream's file that ours has too, with the blob id of the source of each. Neither: it is
    new. `tables`: the builder fills in the removed part of the surface.
    """

    about = "path"

    path: Annotated[str, values.file]
    overlay: Annotated[str, "from", values.overlay]
    preimage: tuple[str, ...]
    batch: str
    why: str
    tables: Annotated[bool, lambda node: node.data is not None] = False
    definitions: Mapping[str, str] = field(default_factory=dict)

    @property
    def replaces(self) -> bool:
        """Whether it replaces an upstream file."""
        return bool(self.preimage or self.definitions)


@dataclass(frozen=True, slots=True)
class Patch(Statement):
    """A unified diff, the last resort; applied exactly or not at all."""

    about = "overlay"

    overlay: Annotated[str, "from", values.overlay]
    why: str
    batch: str


#: Where pyproject.toml lists requirements.
_REQUIREMENTS = ("project.dependencies", "project.optional-dependencies.", "tool.poetry.extras.")


@dataclass(frozen=True, slots=True)
class TomlEdit(Statement):
    """remove: a key, or the array items equal to or (requirements) named `value`, with the text `by` in
    their place; a requirement stays where a file of the output imports what it provides and would fail
    without it. set: a key; add: an array item."""

    about = "file"

    file: Annotated[str, values.file]
    op: Annotated[Literal["remove", "set", "add"], Note.VERB]
    key: Annotated[str, Note.OBJECT]
    value: object
    batch: str
    why: str
    by: str | None = None

    @property
    def requirement(self) -> str | None:
        """The requirement that it removes from a list of such, as it is written; None for any other edit."""
        if self.op != "remove" or self.by is not None or not self.key.startswith(_REQUIREMENTS):
            return None
        return self.value if isinstance(self.value, str) else None


@dataclass(frozen=True, slots=True)
class AnchoredEdit(Statement):
    """A text edit of CMake or C++, located by syntax, never by line number.

    drop: statement   C/C++: from the anchor to its `;`, parentheses balanced
          command     CMake: the command that starts with the anchor
          argument    CMake: the argument equal to the anchor, in any command
          block       CMake: if(<anchor>) ... endif(); C++: #if <anchor> ... #endif
    replace: the anchor text by `by`
    """

    about = "file"

    file: Annotated[str, values.file]
    kind: Annotated[Literal["statement", "command", "argument", "block", "replace"], Note.VERB]
    anchor: Annotated[str, Note.OBJECT]
    batch: str
    why: str
    by: str | None = None
    count: int = 1  # 0: however many there are


@dataclass(frozen=True, slots=True)
class Word(Statement):
    """A word of a platform's or feature's names: every path and name that contains it is removed.

    `text` is in lower case; words that follow one another are joined by `_`.
    """

    about = "text"

    text: Annotated[str, "word", Note.ALONE, Note.PLACE]


@dataclass(frozen=True, slots=True)
class WordException(Statement):
    """An exception to the words of a batch: a path pattern (with `text`: only lines that hold it), or an
    fnmatch pattern of names."""

    about = "pattern"

    kind: Annotated[Literal["name", "path"], Note.VERB]
    pattern: Annotated[str, Note.OBJECT, values.path_or_name]
    why: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One decision: what is removed, edited and added, and why.

    `models`: the whole batch is switched off if one of them stays. `words`: everything with one of them in
    its name is removed, but for the `exceptions`. `needs`: batches that must be off wherever this one is;
    `follows`: this one is off if one of these is.
    """

    id: str
    why: str
    mark: Mark
    kind: Literal["feature", "housekeeping"] = "feature"
    needs: Annotated[tuple[tuple[str, Mark], ...], values.related] = ()
    follows: Annotated[tuple[tuple[str, Mark], ...], values.related] = ()
    models: tuple[Models, ...] = ()
    words: tuple[Word, ...] = ()
    exceptions: Annotated[tuple[WordException, ...], "except"] = ()
    rules: Annotated[tuple[Rule, ...], RULES] = ()
    facts: tuple[Fact, ...] = ()
    options: Annotated[tuple[Option, ...], "facts.options"] = ()
    configuration: Annotated[Configuration | None, "facts.configuration"] = None
    absent: Annotated[tuple[Absent, ...], ABSENT] = ()
    edits: tuple[Edit, ...] = ()
    files: tuple[WholeFile, ...] = ()
    patches: tuple[Patch, ...] = ()
    toml: tuple[TomlEdit, ...] = ()
    anchored: tuple[AnchoredEdit, ...] = ()


# -- all of them

#: Fields of statements that are not in force, or that stand in another field as well.
_BESIDE = frozenset(["given_back", "words_given_back", "toml_given_back", "everywhere"])


_Whole = TypeVar("_Whole")


def changed(whole: _Whole, change: Callable[[Any], Any]) -> _Whole:
    """Return a manifest, or a part of one, with `change` applied to every statement and its models, without
    those that it turns into None."""

    def one(part: Any) -> Any:
        part = change(part) if isinstance(part, Statement) else part
        if part is None:
            return None
        changes: dict[str, Any] = {}
        for name, value in _parts(part):
            several = isinstance(value, tuple)
            changes[name] = (
                tuple(new for v in value if (new := one(v)) is not None) if several else one(value)
            )
        return replace(part, **changes) if changes else part

    return one(whole)  # type: ignore[no-any-return]


def stated(whole: Any) -> Iterator[Statement]:
    """Yield the statements of a manifest, or of a part of one, each followed by its models; several may share
    a mark."""
    if isinstance(whole, Statement):
        yield whole
    for _, value in _parts(whole):
        for part in value if isinstance(value, tuple) else (value,):
            yield from stated(part)


def _parts(whole: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields that may hold statements: dataclasses, and tuples of them."""
    for name in ("models",) if isinstance(whole, Statement) else (one.name for one in fields(whole)):
        value = getattr(whole, name)
        if name not in _BESIDE and is_dataclass(value[0] if value and isinstance(value, tuple) else value):
            yield name, value
