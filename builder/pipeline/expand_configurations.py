"""What the configurations of the kept models lack: an absent attribute for each key that only others have."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Set
from dataclasses import replace
from fnmatch import fnmatchcase

from builder.manifest.model import Manifest
from builder.manifest.statements import Batch, Configuration, Fact
from builder.memo import remembered
from builder.select.patterns import matches
from builder.source.fields import last_name, nodes
from builder.source.parse import parse
from builder.source.words import file_counts
from builder.tree import Snapshot

_ASKED = re.compile(rb"\b(?:get|has)attr\(\s*(?:[\w.]*\.)?([A-Za-z_]\w*)\s*,\s*[\"']([A-Za-z_]\w*)[\"']")
#: Calls that only read the key that a text names.
_READS = frozenset(["getattr", "hasattr", "get", "pop"])
#: Calls that make a configuration, or what may stand for one, from keywords.
_MAKES = frozenset(["PretrainedConfig", "PreTrainedConfig", "SimpleNamespace", "from_dict"])
#: A file with one of these may write a key that a text names.
_WRITES = re.compile(
    rb"\bsetattr\(|\bfrom_(?:dict|pretrained|json)\b|config\.(?:update\(|__dict__)|override_args"
)
#: Names of what may be a configuration when something is stored in it.
_CALLED = re.compile("config|cfg")
_DERIVED = re.compile(rb"\bclass\s+(\w+)\s*\([^)]*Config\b[^)]*\)\s*:")


def expand_configurations(manifest: Manifest, upstream: Snapshot, staying: Snapshot) -> Manifest:
    """Return the manifest with the facts that follow from the keys that it states.

    `staying`: the Python that stays. A key that no removed file names stays: it may be new in the engine, and
    a kept model's.
    """

    def expanded(batch: Batch) -> Batch:
        stands = batch.configuration
        if stands is None:
            return batch
        lacking = _lacking(stands, upstream, staying)
        facts = (Fact("attribute", f"*.{one}", False, batch.id, mark=stands.mark) for one in lacking)
        return replace(batch, facts=(*batch.facts, *facts))

    return replace(manifest, batches=tuple(map(expanded, manifest.batches)))


def _lacking(stands: Configuration, upstream: Snapshot, staying: Snapshot) -> list[str]:
    """Return `object.key` for each key that the program reads from a configuration that lacks it."""
    asked: set[tuple[str, str]] = set()
    elsewhere: set[tuple[str, str]] = set()  # of something else of that name
    for path in staying:
        for owner, key in _ASKED.findall(staying[path]):
            one = (owner.decode(), key.decode())
            if one[1] not in stands.keys:
                (asked if _means(stands, one[0], path) else elsewhere).add(one)
    asked -= elsewhere
    others = (upstream[path] for path in upstream.tree if path.endswith(".py") and path not in staying.tree)
    keys = frozenset().union(*_held(others, {key for _, key in asked}))
    keys -= _given(keys, stands, staying)
    return sorted(f"{owner}.{key}" for owner, key in asked if key in keys)


def _means(stands: Configuration, owner: str, path: str) -> bool:
    """Return whether an object of this name in this file is a configuration."""
    return any(
        fnmatchcase(owner, name) and (not paths or any(matches(each, path) for each in paths))
        for name, paths in stands.objects
    )


def _held(texts: Iterable[bytes], words: Collection[str]) -> Iterable[Set[str]]:
    """Yield the words that each text contains."""
    wanted = {word.encode() for word in words}
    return ({word.decode() for word in wanted.intersection(file_counts(text))} for text in texts)


def _given(keys: Set[str], stands: Configuration, staying: Snapshot) -> Set[str]:
    """Return the keys that the program itself may store in a configuration."""
    texts = [staying[path] for path in staying]
    makers = _MAKES.union(name.decode() for text in texts for name in _DERIVED.findall(text))
    given = (
        _gives(text, tuple(sorted(held & keys)), tuple(sorted(held & makers)), stands.types)
        for text, held in zip(texts, _held(texts, keys | makers), strict=True)
        if not held.isdisjoint(keys)
    )
    return frozenset().union(*given)


@remembered
def _gives(data: bytes, keys: tuple[str, ...], makers: tuple[str, ...], types: tuple[str, ...]) -> Set[str]:
    """Return the keys that a text stores in what is named like a configuration, names other than to read
    them, or defines in a class that inherits from a configuration."""
    try:
        tree, writes = parse(data, "").tree, _WRITES.search(data)
    except SyntaxError:
        return set(keys)
    every = list(nodes(tree))
    reading = (node for node in every if isinstance(node, ast.Call) and last_name(node.func) in _READS)
    read = {id(argument) for call in reading for argument in call.args}
    given: set[str] = set()
    for node in every:
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store(), value=owner) if _CALLED.search(last_name(owner)):
                given.add(name)
            case ast.Constant(value=str(said)) if writes and id(node) not in read:
                given.update(key for key in keys if said == key or f'"{key}"' in said)
            case ast.Call(func=func, keywords=keywords):
                owner = func.value if isinstance(func, ast.Attribute) and func.attr == "update" else func
                fills = owner is not func and _CALLED.search(last_name(owner))
                if fills or last_name(func) in makers:
                    given.update(keyword.arg or "" for keyword in keywords)
            case ast.ClassDef(bases=bases) if any(last_name(base).endswith("Config") for base in bases):
                if _model_type(node) in (None, *types):
                    for inner in nodes(node):
                        given.update(getattr(inner, part, "") or "" for part in ("attr", "name", "id", "arg"))
    return given.intersection(keys)


def _model_type(node: ast.ClassDef) -> str | None:
    """The kind of checkpoint that a class of configurations is for, where it says so."""
    for stmt in node.body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id="model_type")], value=ast.Constant(value=str(said))):
                return said
    return None
