"""Facts and absent names are accountable: one that upstream never mentions says nothing, and is an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from builder.errors import Mark, Problem
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.spelling import nearest
from builder.tree import Snapshot

_WORD = re.compile(rb"\w+")


def unused_facts(upstream: Snapshot, manifest: Manifest) -> list[Problem]:
    """R009 for each fact, option value, absent module and absent symbol whose name no Python file of
    upstream holds."""
    # what a word of a batch stands for is a name of upstream
    expanded = {word.mark for batch in manifest.batches for word in batch.words}
    names = list(_names(manifest))
    unused = _unused(frozenset(name for _, name, _ in names), upstream)
    return [
        Problem(
            "R009",
            f"{what} `{name}` occurs nowhere in upstream's Python.",
            mark,
            hint="Remove it, or say by `since` or `until` which versions have it.",
            nothing=True,
        )
        for what, name, mark in names
        if mark not in expanded and name in unused
    ]


def with_spelling(problems: Iterable[Problem], manifest: Manifest, upstream: Snapshot) -> list[Problem]:
    """The problems, those of `unused_facts` with the name of upstream that was probably meant."""
    names = {mark: name for _, name, mark in _names(manifest)}
    return [
        p if p.code != "R009" or p.mark not in names else _spelt(p, names[p.mark], upstream) for p in problems
    ]


def _spelt(problem: Problem, name: str, upstream: Snapshot) -> Problem:
    """The problem with the words of upstream's Python that begin or end as the name does, if one is close."""
    half = len(name) // 2
    if half < 2 or problem.mark is None:
        return problem
    begin, end = re.escape(name[:half].encode()), re.escape(name[half:].encode())
    alike = re.compile(rb"(?<![\w-])(?:" + begin + rb"[\w-]*|[\w-]*" + end + rb")(?![\w-])")
    words = {
        word.decode() for path in upstream if path.endswith(".py") for word in alike.findall(upstream[path])
    }
    near = nearest(name, words, cutoff=0.8)
    return replace(problem, hint=f"{near} {problem.hint}") if near else problem


def _unused(names: frozenset[str], upstream: Snapshot) -> frozenset[str]:
    """Those of the names that no Python file holds; the text is searched part by part."""
    parts: dict[str, list[str]] = {}
    for path in upstream:
        if path.endswith(".py"):
            parts.setdefault("/".join(path.split("/")[:4]), []).append(path)
    # most names are in the largest parts
    for paths in sorted(parts.values(), key=lambda paths: (-len(paths), paths)):
        if names:
            names -= _held(tuple(sorted(names)), tuple(upstream[path] for path in paths))
    return names


def _held(names: Sequence[str], texts: Sequence[bytes]) -> frozenset[str]:
    """Those of the names that a text holds."""
    # a name of word characters is a part of a word: the words, each once, are a tenth of the text
    words = _words(texts)
    return frozenset(
        name
        for name in names
        if (encoded := name.encode()) in words
        or (not _WORD.fullmatch(encoded) and any(encoded in text for text in texts))
    )


@remembered
def _words(texts: Sequence[bytes]) -> bytes:
    """The words of the texts, each once, a line each."""
    return b"\n".join(sorted({word for text in texts for word in _WORD.findall(text)}))


def _names(manifest: Manifest) -> Iterator[tuple[str, str, Mark]]:
    """(kind, the part of the name that source text must hold, where)."""
    for batch in manifest.batches:
        for fact in batch.facts:
            name = fact.name.rpartition(":")[2] if fact.kind == "default" else fact.name
            if fact.kind != "quiet-import":
                name = name.rpartition(".")[2]
            yield f"The {fact.kind.replace('-', ' ')}", name, fact.mark
        for option in batch.options:
            for pattern in option.names:
                if name := max(re.split(r"[*?\[\]]", pattern), key=len):
                    yield "The option name", name, option.mark
            for value in (*option.values, *option.among):
                if isinstance(value, str):
                    yield "The option value", value, option.mark
        for absent in batch.absent:
            name = absent.name.rpartition(".")[2] if absent.kind == "symbol" else absent.name
            yield f"The absent {absent.kind}", name, absent.mark
