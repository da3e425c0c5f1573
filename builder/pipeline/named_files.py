"""Files that are opened only by their names: sources that are compiled when a kernel is called first.

One stays when Python that stays has its name, or a file of its kind that stays. A name may be made at run
time: `f"topk_{size}.cuh"` is the name of every file that it fits, and `name + ".cuh"` that of every `.cuh`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from builder.errors import Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import Rule
from builder.memo import remembered
from builder.select.patterns import PatternSet
from builder.tree import Snapshot

_HOLE = re.compile(r"\{[^{}\n\"']*\}|%[sdr]|\*")


def unnamed(
    data: Iterable[str], python: Iterable[bytes], upstream: Snapshot, manifest: Manifest
) -> dict[str, Rule]:
    """Those of the data files that nothing names, with the statement that they are opened by name.

    `python`: the text of the modules that stay.
    """
    opened = _opened(data, manifest.named_files)
    if not opened:
        return {}
    endings = tuple(sorted({_ending(path) for path in opened}))
    paths: dict[str, list[str]] = {}
    for path in opened:
        paths.setdefault(path.rpartition("/")[2], []).append(path)
    names: set[str] = set()
    todo = list(python)
    while todo:
        found = {name for text in todo for name in _named(text, endings)} - names
        names |= found
        fitting = {file for name in found for file in _fitting(name, paths)}
        todo = [upstream[path] for file in sorted(fitting) for path in paths.pop(file)]
    return {path: opened[path] for left in paths.values() for path in left}


def unused_named_files(upstream: Snapshot, manifest: Manifest) -> list[Problem]:
    """R009 for each statement about files that are opened by name which matches no path."""
    return [
        Problem("R009", f"`named_files: {rule.pattern}` matches no path.", rule.mark, nothing=True)
        for rule in manifest.named_files
        if not _opened(upstream, (rule,))
    ]


def _opened(paths: Iterable[str], rules: tuple[Rule, ...]) -> dict[str, Rule]:
    sets = [(rule, PatternSet([rule.pattern])) for rule in rules]
    found: dict[str, Rule] = {}
    for path in paths:
        rule = next((rule for rule, patterns in sets if patterns.matching(path)), None)
        if rule is not None and _ending(path):
            found[path] = rule
    return found


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rindex(".") :] if "." in name else ""


@remembered
def _named(data: bytes, endings: tuple[str, ...]) -> tuple[str, ...]:
    """The names with one of the endings in a text, sorted; `*` stands for what is put in at run time."""
    if not any(ending.encode() in data for ending in endings):
        return ()
    # a name stands on one line, and most lines have no ending: the pattern is slow where it does not match
    text = "\n".join(
        line
        for line in data.decode("utf-8", "replace").split("\n")
        if any(ending in line for ending in endings)
    )
    ending = "|".join(re.escape(one) for one in endings)
    name = re.compile(rf"((?:[\w-]|{_HOLE.pattern})+)({ending})\b")
    whole = {_HOLE.sub("*", stem) + end for stem, end in name.findall(text)}
    alone = {f"*{end}" for end in re.findall(rf"[\"']({ending})\b", text)}
    return tuple(sorted(whole | alone))


def _fitting(name: str, files: Mapping[str, object]) -> list[str]:
    if "*" not in name:
        return [name] if name in files else []
    return [file for file in files if fnmatchcase(file, name)]
