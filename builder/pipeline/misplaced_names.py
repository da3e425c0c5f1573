"""Qualified names are accountable: one that its module does not have says nothing, and is an error."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Set

from builder.errors import Problem
from builder.graph.names import folder_of, locate, module_of
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Fact
from builder.spelling import nearest
from builder.tree import Snapshot

#: Facts about something that is no definition of a module.
_OF_NO_MODULE = ("environment", "quiet-import")


def misplaced_names(upstream: Snapshot, manifest: Manifest, is_pin: bool = True) -> list[Problem]:
    """R009 for each fact and absent symbol that names something in a package of upstream whose module does
    not hold this name. A pattern of modules (`pkg.**.Class`) is left to its expansion.

    `is_pin`: whether upstream is a pin of the manifest. Any other may lack a module without an error where
    its package has no `__init__.py`: what is said of that module has no effect there.
    """
    problems = []
    folders = _folders(upstream)
    for what, name, one in _qualified(manifest):
        if found := _missing(name, upstream, manifest.packages, folders, is_pin):
            module, first = found
            message = f"{what} `{name}` names nothing: `{module}` has no `{first}`."
            # every module is read for the hint: nobody sees that of a statement that may match nothing
            hint = None if one.optional else _elsewhere(name, upstream, manifest.packages)
            problems.append(Problem("R009", message, one.mark, hint=hint, nothing=True))
    return problems


def _qualified(manifest: Manifest) -> Iterator[tuple[str, str, Fact | Absent]]:
    """(kind, qualified name, statement) of what the packages of the manifest should hold."""
    for batch in manifest.batches:
        for fact in batch.facts:
            # an attribute that is not there may be stated of what is there
            name = fact.name.rpartition(".")[0] if fact.kind == "attribute" else fact.name.partition(":")[0]
            if fact.kind not in _OF_NO_MODULE and folder_of(name, manifest.packages):
                yield f"The {fact.kind.replace('-', ' ')}", name, fact
            for name in str(fact.value).split() if fact.kind == "registry" else ():
                if folder_of(name, manifest.packages) and "." in name:
                    yield "The name of a registry", name, fact
        for absent in batch.absent:
            if absent.kind == "symbol" and folder_of(absent.name, manifest.packages):
                yield "The absent symbol", absent.name, absent


def _missing(
    name: str, upstream: Snapshot, packages: Mapping[str, str], folders: Set[str], is_pin: bool
) -> tuple[str, str] | None:
    """The module whose text does not hold the next part of the name, and this part; None if it does."""
    located = locate(name, packages, upstream)
    if located is None:
        folder = f"{folder_of(name.partition('.')[0], packages)}/"
        # a partial upstream does not have every package
        return (name.partition(".")[0], name) if any(path.startswith(folder) for path in upstream) else None
    path, module, rest = located
    first, _, below = rest.partition(".")
    folder = posixpath.dirname(path)
    # a folder may be a package without an __init__.py
    while path.endswith("__init__.py") and below and f"{folder}/{first}" in folders:
        folder, module = f"{folder}/{first}", f"{module}.{first}"
        first, _, below = below.partition(".")
    if not first or "**" in first:
        return None
    if folder != posixpath.dirname(path):
        return (module, first) if is_pin and "*" not in first else None
    holds = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(first).replace(r"\*", r"\w*").encode()).search
    texts = [upstream[path]]
    if b"import *" in texts[0]:
        beside = f"{posixpath.dirname(path)}/"
        texts += (upstream[one] for one in upstream if one.startswith(beside) and one.endswith(".py"))
    return None if any(map(holds, texts)) else (module, first)


def _folders(upstream: Snapshot) -> Set[str]:
    folders: set[str] = set()
    for path in upstream:
        while (path := posixpath.dirname(path)) and path not in folders:
            folders.add(path)
    return folders


def _elsewhere(name: str, upstream: Snapshot, packages: Mapping[str, str]) -> str:
    """Where the last part of the name is defined, or what else to do."""
    last = re.escape(name.rpartition(".")[2].encode())
    defines = re.compile(rb"^\s*(?:(?:async\s+)?def|class)\s+%b\b|^\s*%b\s*[:=]" % (last, last), re.M)
    homes = [
        module
        for path in upstream
        if (module := module_of(path, packages)) and defines.search(upstream[path])
    ]
    if len(homes) == 1:
        return f"`{name.rpartition('.')[2]}` is defined in `{homes[0]}`"
    close = nearest(name.rpartition(".")[0], homes)
    return close or "Remove it, or say by `since` or `until` which versions have it."
