"""Expands the words of a family for one upstream: a fact or an absent name for each name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, NamedTuple

from builder.errors import Problem
from builder.graph.names import path_of
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Batch, Fact, FactKind, Option, Scalar
from builder.memo import remembered
from builder.pipeline.ranges import matches_nothing
from builder.select.families import Families, Member
from builder.source.words import class_constants, file_counts
from builder.tree import Snapshot

#: Names of questions, which code asks before it does something: the answer is true or false.
_QUESTION = re.compile(
    r"_*(?:is|are|use|uses|using|has|have|enable|enables|enabled|support|supports|should|can)_"
)
_SWITCH = re.compile(r"(?:^|_)(?:IS|USE|ENABLE|ENABLED)(?:_|$)")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_STRING = re.compile(rb"[\"']((?:--)?[A-Za-z_][\w:-]*)[\"']")
#: A field that is an option (`surface/recognise.py`), in a file that names `Arg` or imports it as `A`.
_FIELD = re.compile(rb"^ +([A-Za-z_]\w*): (?:A|(?:\w+\.)?Annotated)\[", re.MULTILINE)
_OPTIONS = re.compile(rb" Arg\b|\bimport (?:\(\s*)?A\b")
_ATTRIBUTE = re.compile(rb"\.([A-Za-z_]\w*)")
_LOOKED_UP = re.compile(rb"\b(?:hasattr|getattr)\(\s*([A-Za-z_][\w.]*)\s*,\s*[\"']([A-Za-z_]\w*)[\"']")
_AVAILABLE = re.compile(rb"\b((?:[A-Za-z_]\w*\.)+([A-Za-z_]\w*)\.is_available)\b")


class _Names(NamedTuple):
    """Names in a text that may be of families, sorted."""

    strings: tuple[str, ...]
    fields: tuple[str, ...]
    attributes: tuple[str, ...]
    looked_up: tuple[tuple[str, str], ...]  # object, attribute
    available: tuple[tuple[str, str], ...]  # what is called, the part of it that may be of a family


@remembered
def _names_with(data: bytes, present: tuple[str, ...]) -> _Names:
    """The names in a text that hold one of these needles, each of which the text has."""

    def found(pattern: re.Pattern[bytes], name: int = 0) -> Any:
        matches = {match if isinstance(match, tuple) else (match,) for match in pattern.findall(data)}
        texts = (tuple(part.decode() for part in match) for match in matches)
        return sorted(one for one in texts if any(needle in one[name].lower() for needle in present))

    options = (b"A[" in data or b"Annotated[" in data) and _OPTIONS.search(data)
    return _Names(
        tuple(name for (name,) in found(_STRING)),
        tuple(name for (name,) in found(_FIELD)) if options else (),
        tuple(name for (name,) in found(_ATTRIBUTE)),
        tuple(found(_LOOKED_UP, 1)) if b"attr(" in data else (),
        tuple(found(_AVAILABLE, 1)) if b".is_available" in data else (),
    )


@dataclass(frozen=True, slots=True)
class FamilyMatches:
    """The names that the words of a batch matched: kind (path, predicate, value, ...) -> names, sorted."""

    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        """How many names of each kind there are, and a digest of all of them."""
        counts = ", ".join(f"{kind} {len(names)}" for kind, names in self.names.items())
        text = json.dumps({kind: list(names) for kind, names in self.names.items()}, sort_keys=True)
        return f"{counts or 'nothing'}; sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def expand_families(
    manifest: Manifest, upstream: Snapshot, staying: Snapshot, index: Index
) -> tuple[Manifest, Mapping[str, FamilyMatches], list[Problem]]:
    """Return the manifest with a fact or an absent name for each name of a family in the files that stay.

    `staying`: the Python that no rule removes; `index` is over it. A name about which the manifest states
    something itself is left alone. R009 for a word that no name of upstream contains.
    """
    families = Families(manifest.batches)
    if not families:
        return manifest, {}, []
    expansion = _Expansion(manifest, families, upstream, index)
    expansion.definitions()
    expansion.imports()
    for path in staying:
        expansion.text(path, staying[path])
    batches = tuple(expansion.batch(batch) for batch in manifest.batches)
    matches = {batch.id: FamilyMatches(expansion.names(batch)) for batch in manifest.batches if batch.words}
    return replace(manifest, batches=batches), matches, list(expansion.unmatched(staying))


class _Expansion:
    """Collects the statements, by batch."""

    def __init__(self, manifest: Manifest, families: Families, upstream: Snapshot, index: Index) -> None:
        self._manifest = manifest
        self._families = families
        self._upstream = upstream
        self._index = index
        self._stated: set[tuple[FactKind, str]] = {
            (f.kind, f.name) for b in manifest.batches for f in b.facts
        }
        self._digits = any(needle[0].isdigit() for needle in families.needles)
        self._members: dict[str, Member | None] = {}
        self._facts: dict[tuple[FactKind, str], Fact] = {}
        self._absent: dict[tuple[str, str], Absent] = {}
        self._values: dict[tuple[str, str], Member] = {}  # ("*" or a name of options, value)
        members = [
            (name.rpartition(".")[2], item)
            for summary in index.modules.values()
            for name, item in summary.members.items()
        ]
        self._methods = {name for name, item in members if item.kind == "function"}
        self._fields = {name for name, item in members if item.kind == "constant" and not name.isupper()}
        self._stored: dict[str, set[str]] = {}  # name of an attribute -> the files that store it
        for summary in index.modules.values():
            for name in {*summary.stores, *(n for names in summary.attributes.values() for n in names)}:
                self._stored.setdefault(name, set()).add(summary.path)

    def _member(self, name: str) -> Member | None:
        if name not in self._members:
            self._members[name] = self._families.member(name)
        return self._members[name]

    def definitions(self) -> None:
        """State functions, classes, constants and members of classes."""
        for module, summary in sorted(self._index.modules.items()):
            for name, item in summary.definitions.items():
                owner, _, last = name.rpartition(".")
                member = self._member(last)
                if member is None or self._families.excepts(member.batch, summary.path):
                    continue
                if any(self._member(part) for part in owner.split(".") if part):
                    continue  # it leaves with its class
                qualified = f"{module}.{name}"
                if _QUESTION.match(last):
                    self._question(member, item.kind, module, owner, last)
                elif item.kind in ("function", "class"):
                    # code that never asks for the platform may call it or inherit from it
                    self._fact("uncalled", member, qualified, True)
                elif owner and last.isupper():  # a member of an enumeration
                    self._symbol(member, qualified)

    def _question(self, member: Member, kind: str, module: str, owner: str, name: str) -> None:
        """State that the answer to a question about the family is no."""
        qualified = ".".join(part for part in (module, owner, name) if part)
        if kind == "function":
            self._fact("predicate", member, f"*.{name}" if owner else qualified, False)
        elif owner:
            self._fact("value", member, f"*.{name}", False)
            self._symbol(member, qualified)
        else:
            self._fact("value", member, qualified, False)

    def imports(self) -> None:
        """State what is imported from absent modules, and what is asked of modules that are removed."""
        for summary in self._index.modules.values():
            for item in summary.imports:
                member = self._member(item.name) if item.name else None
                if item.name and member is not None and _QUESTION.match(item.name):
                    self._fact("predicate", member, f"{item.target}.{item.name}", False)
                    if self._is_constant_elsewhere(item.target, item.name):
                        self._fact("value", member, f"{item.target}.{item.name}", False)
                parts = item.target.split(".")
                for number, part in enumerate(parts, 1):
                    module = ".".join(parts[:number])
                    member = self._member(part) if part else None
                    if member is None or module in self._index.modules or module in self._index.folders:
                        continue
                    if any(path in self._upstream for path in path_of(module, self._manifest.packages) or ()):
                        break  # a rule decides about the file
                    self._absent.setdefault(
                        ("module", module), Absent("module", module, member.batch, mark=member.word.mark)
                    )
                    break

    def _is_constant_elsewhere(self, module: str, name: str) -> bool:
        """Return whether a module only passes on a name that another one binds to the answer."""
        origin = self._index.origin(module, name)
        if origin is None or not origin.qualname or origin.module == module:
            return False
        return self._index.modules[origin.module].names[origin.qualname].kind == "constant"

    def text(self, path: str, data: bytes) -> None:
        """State the strings and attributes in the text of a file."""
        # the names are a fifth of the text, but none of them begins with a digit
        lowered = (data if self._digits else b"\n".join(file_counts(data))).lower()
        present = tuple(needle for needle in self._families.needles if needle.encode() in lowered)
        if not present:
            return
        written = _names_with(data, present)
        for name, member in self._named(written.strings):
            if self._families.excepts(member.batch, path):
                continue  # a text of an excepted file is no value of an option
            if name.startswith("--"):
                self._values.setdefault(("add_argument", name), member)
                self._parsed(path, member, name[2:].replace("-", "_"))
            elif name not in self._fields or name == member.word.text:
                self._values.setdefault(("*", name), member)
        for name, member in self._named(written.fields):
            self._parsed(path, member, name)
        for name, member in self._named(written.attributes):
            if _QUESTION.match(name):
                self._fact("value", member, f"*.{name}", False)
            elif name not in self._methods and any(
                not self._families.excepts(member.batch, path) for path in self._stored.get(name, ())
            ):  # a file that the batch does not except stores such an attribute
                self._fact("value", member, f"*.{name}", self._unset(name))
        for owner, name in written.looked_up:
            attribute = self._member(name)
            if attribute is not None and owner != "self":
                self._fact("attribute", attribute, f"{owner}.{name}", False)
        for asked, name in written.available:
            argument = self._member(name)
            if argument is not None:
                self._fact("predicate", argument, asked, False)

    def _named(self, names: Iterable[str]) -> Iterator[tuple[str, Member]]:
        """Yield the names that are of families; environment variables are stated here."""
        for name in names:
            member = self._member(name)
            if member is not None and _VARIABLE.fullmatch(name):
                self._fact("environment", member, name, False if _SWITCH.search(name) else None)
            elif member is not None:
                yield name, member

    def _unset(self, name: str) -> Scalar:
        """Return what an attribute that nothing sets holds: False if that is its default in every class."""
        defaults = [
            value
            for path in self._stored[name]
            for _, _, field, value in class_constants(self._upstream[path])
            if field == name
        ]
        return False if defaults and all(value is False for value in defaults) else None

    def _parsed(self, path: str, member: Member, name: str) -> None:
        """Remove a flag: what it would have set is the default of its field, and its declaration is removed.

        Where no class of the file states a default, what is known of it is that it is false.
        """
        constants = class_constants(self._upstream[path])
        defaults = {(type(value), value) for _, _, field, value in constants if field == name}
        (_, default), *others = defaults or {(object, ...)}
        if not others and isinstance(default, (bool, int, float, str, NoneType)):
            self._fact("value", member, f"*.{name}", default)
        else:
            self._fact("value", member, f"*.{name}", False, exact=False)
        for module, summary in self._index.modules.items():
            if summary.path == path:
                for field_name in summary.members:
                    if field_name.rpartition(".")[2] == name:
                        self._symbol(member, f"{module}.{field_name}")

    def _symbol(self, member: Member, name: str) -> None:
        self._absent.setdefault(("symbol", name), Absent("symbol", name, member.batch, mark=member.word.mark))

    def _fact(self, kind: FactKind, member: Member, name: str, value: Scalar, exact: bool = True) -> None:
        if (kind, name) not in self._stated:
            fact = Fact(kind, name, value, member.batch, exact, mark=member.word.mark)
            self._facts.setdefault((kind, name), fact)

    def batch(self, batch: Batch) -> Batch:
        """The batch with what its words stand for."""
        if not batch.words:
            return batch
        values: dict[str, list[str]] = {}
        for (names, value), member in sorted(self._values.items()):
            if member.batch == batch.id:
                values.setdefault(names, []).append(value)
        mark = batch.words[0].mark
        options = [Option((names,), tuple(texts), batch.id, mark=mark) for names, texts in values.items()]
        facts = [fact for _, fact in sorted(self._facts.items()) if fact.batch == batch.id]
        stated = {(a.kind, a.name) for a in batch.absent}
        absent = [a for k, a in sorted(self._absent.items()) if a.batch == batch.id and k not in stated]
        return replace(
            batch,
            facts=(*batch.facts, *facts),
            options=(*batch.options, *options),
            absent=(*batch.absent, *absent),
        )

    def names(self, batch: Batch) -> dict[str, tuple[str, ...]]:
        """What the words of a batch matched, by kind."""
        marks = {word.mark for word in batch.words}
        matched = [("path", r.pattern.removeprefix("/"), r.batch) for r in batch.rules if r.mark in marks]
        matched += ((kind, name, fact.batch) for (kind, name), fact in self._facts.items())
        matched += ((kind, name, absent.batch) for (kind, name), absent in self._absent.items())
        for (names, value), member in self._values.items():
            matched.append(("option value" if names == "*" else "flag", value, member.batch))
        kinds: dict[str, set[str]] = {}
        for kind, name, owner in matched:
            if owner == batch.id:
                kinds.setdefault(kind, set()).add(name)
        return {kind: tuple(sorted(names)) for kind, names in sorted(kinds.items())}

    def unmatched(self, staying: Snapshot) -> Iterator[Problem]:
        """Yield R009 for each word that no name contains.

        A name in Python that another batch removes, or that nothing reaches any more, counts.
        """
        used = {member.word for member in self._members.values() if member is not None}
        marks = {rule.mark for batch in self._manifest.batches for rule in batch.rules}
        words = [(batch.id, word) for batch in self._manifest.batches for word in batch.words]
        unused = [(id, word) for id, word in words if word not in used and word.mark not in marks]
        # a range of versions is about what stays
        sought = {word for _, word in unused if not word.span}
        gone = [path for path in self._upstream if path.endswith(".py") and path not in staying]
        names = frozenset().union(*(file_counts(self._upstream[path]) for path in gone if sought))
        needles = [max(word.text.split("_"), key=len).encode() for word in sought]
        near = (name for name in names if any(needle in name.lower() for needle in needles))
        sought -= {member.word for name in near if (member := self._member(name.decode()))}
        for batch, word in unused:
            if word in sought or word.span:
                message = f"Nothing of upstream is named by the word `{word.text}` (batch {batch})."
                yield matches_nothing(message, word.mark)
