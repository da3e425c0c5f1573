"""What a batch of the manifest decides: its statements as frozen dataclasses, each with its mark.

Each class is one mapping of manifest.yaml, or of a file that is a part of it (see `documents`);
`schema/manifest.schema.json` describes the same keys for people and editors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from builder.errors import Mark

Scalar = bool | int | float | str | None
FactKind = Literal[
    "predicate",
    "value",
    "environment",
    "attribute",
    "pure",
    "default",
    "environment-reader",
    "quiet-import",
    "base",
    "registry",
    "uncalled",
    "declaration",
]

#: The id of the implicit first batch, and of the rules that keep the root models.
BASE = "base"


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
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None


ALWAYS = Span()


@dataclass(frozen=True, slots=True)
class Rule:
    """One path pattern (gitignore syntax, strict last match wins) and what it decides.

    `keep` and `remove` decide; `prune` removes unless a kept model needs the module. No manifest states
    the other two, which hold in the packages where no rule says anything: `reach` removes a module unless
    a root reaches it, `follow` a data file unless a module beside it stays; `pattern` is then a clause.
    """

    pattern: str
    verdict: Literal["keep", "remove", "prune", "reach", "follow"]
    batch: str
    mark: Mark
    optional: str | None = None  # why the pattern may match nothing
    span: Span = ALWAYS
    word: str | None = None  # the word of the batch that is in the name of what the pattern matches
    defines: str | None = None  # of the files that match, only those are meant that bind this name

    @property
    def stated(self) -> str:
        """What the manifest states: a pattern, or a word."""
        return self.word or self.pattern


@dataclass(frozen=True, slots=True)
class Models:
    """Models because of which a statement would not hold: where one of them stays, it is withdrawn.

    kind            name                              the models
    module          a module of the model package, or an fnmatch pattern of such
    architectures   the qualified name of a list of architectures in upstream's code, or of a function that
                    answers True for an architecture
    defines         a name that the model's file defines, at any depth
    parameter       a name that a function in the model's file has as a parameter
    """

    name: str
    mark: Mark
    optional: str | None = None  # why upstream may have no such model
    kind: Literal["module", "architectures", "defines", "parameter"] = "module"
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class Option:
    """Absent values of an option: in an expression whose last name matches `names`
    (fnmatch patterns: `*attention_backend*`), or anywhere for `*`, `values` never occur.

    `removed_models`: the values are the architectures of the model files that leave. `parts`: parts of
    the names of such, which never occur unless an architecture that stays contains one. `among`: if given,
    every other text never occurs under these names.
    """

    names: tuple[str, ...]
    values: tuple[Scalar, ...]
    mark: Mark
    batch: str
    optional: str | None = None
    removed_models: bool = False
    among: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    models: tuple[Models, ...] = ()
    span: Span = ALWAYS

    def has_not(self, value: Scalar) -> bool:
        """Whether this value never occurs."""
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
    objects: tuple[tuple[str, tuple[str, ...]], ...]
    keys: tuple[str, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Fact:
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
    base                qualified class of another package  the methods that it may call, by spaces
    registry    qualified class of a row            what else `registries` states, by spaces
    """

    kind: FactKind
    name: str
    value: Scalar
    mark: Mark
    batch: str
    exact: bool = True  # False: only the truth of the value is known, not the value
    optional: str | None = None
    models: tuple[Models, ...] = ()
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class Absent:
    """A module (with everything below it) or a symbol that does not exist in the distribution."""

    kind: Literal["module", "symbol"]
    name: str
    mark: Mark
    batch: str
    optional: str | None = None
    models: tuple[Models, ...] = ()
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class Edit:
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
    reword          scope                           phrase of a string       phrase
    body            function or method              -                        overlay file with the new body
    """

    kind: Literal[
        "drop",
        "stub",
        "set",
        "drop-import",
        "add-import",
        "drop-entry",
        "drop-statement",
        "replace",
        "reword",
        "body",
    ]
    target: str
    mark: Mark
    batch: str
    why: str
    match: str | None = None
    by: str | None = None
    count: int = 1  # 0: however many there are
    optional: str | None = None
    models: tuple[Models, ...] = ()
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file of ours that replaces an upstream file or is new.

    `preimage`: blob ids of what is replaced, any of them. `definitions`: instead of these, the names at
    the top of upstream's file that ours has too, with the blob id of the source of each. Neither: it is
    new. `tables`: the builder fills in what was left out of the surface.
    """

    path: str
    overlay: str
    preimage: tuple[str, ...]
    mark: Mark
    batch: str
    why: str
    optional: str | None = None
    tables: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)
    span: Span = ALWAYS

    @property
    def replaces(self) -> bool:
        """Whether it replaces an upstream file."""
        return bool(self.preimage or self.definitions)


@dataclass(frozen=True, slots=True)
class Patch:
    """A unified diff, the last resort; applied exactly or not at all."""

    overlay: str
    why: str
    mark: Mark
    batch: str
    optional: str | None = None
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class TomlEdit:
    """remove: a key, or the array items equal to or (requirements) named `value`, with the text `by` in
    their place; `unused`: only where nothing of the output needs what the requirement provides.
    set: a key; add: an array item."""

    file: str
    op: Literal["remove", "set", "add"]
    key: str
    value: object
    mark: Mark
    batch: str
    why: str
    optional: str | None = None
    by: str | None = None
    unused: bool = False
    models: tuple[Models, ...] = ()
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class AnchoredEdit:
    """A text edit of CMake or C++ that is found by its syntax, never by line number.

    drop: statement   C/C++: from the anchor to its `;`, parentheses balanced
          command     CMake: the command that starts with the anchor
          argument    CMake: the argument equal to the anchor, in any command
          block       CMake: if(<anchor>) ... endif(); C++: #if <anchor> ... #endif
    replace: the anchor text by `by`
    """

    file: str
    kind: Literal["statement", "command", "argument", "block", "replace"]
    anchor: str
    mark: Mark
    batch: str
    why: str
    by: str | None = None
    count: int = 1  # 0: however many there are
    optional: str | None = None
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a platform's or feature's names: every path and name that is made of it leaves.

    `text` is in lower case; words that follow one another are joined by `_`.
    """

    text: str
    mark: Mark
    optional: str | None = None
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class Spared:
    """An exception to the words of a batch: a path pattern (with `text`: only lines that hold it), or an
    fnmatch pattern of names."""

    kind: Literal["path", "name"]
    pattern: str
    why: str
    mark: Mark
    text: str | None = None
    optional: str | None = None
    span: Span = ALWAYS


@dataclass(frozen=True, slots=True)
class Batch:
    """One decision: what is removed, edited and added, and why.

    `models`: where one of them stays, the whole batch is switched off. `words`: whatever is named by one
    of them is part of it, but for what is `spared`. `needs`: batches that must be off wherever this one
    is; `follows`: batches of which one that is off takes this one with it.
    """

    id: str
    why: str
    mark: Mark
    kind: Literal["feature", "housekeeping"] = "feature"
    needs: tuple[tuple[str, Mark], ...] = ()
    follows: tuple[tuple[str, Mark], ...] = ()
    models: tuple[Models, ...] = ()
    words: tuple[Word, ...] = ()
    spared: tuple[Spared, ...] = ()
    rules: tuple[Rule, ...] = ()
    facts: tuple[Fact, ...] = ()
    options: tuple[Option, ...] = ()
    configuration: Configuration | None = None
    absent: tuple[Absent, ...] = ()
    edits: tuple[Edit, ...] = ()
    files: tuple[WholeFile, ...] = ()
    patches: tuple[Patch, ...] = ()
    toml: tuple[TomlEdit, ...] = ()
    anchored: tuple[AnchoredEdit, ...] = ()
