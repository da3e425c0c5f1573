"""G007: apart from the exceptions, no code asks for what a family's words name.

A name or a short string asks if it is a word of a family by itself (`npu`, `"NPU"`) or with `is_` before it.
Names that only contain a word (`npu_stream`), comments and messages ask for nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from builder.analysis.indexed_tree import IndexedTree
from builder.errors import Mark, Problem
from builder.graph.modules import python_paths
from builder.graph.names import module_of
from builder.manifest.model import Manifest
from builder.manifest.statements import Batch, Word, WordException
from builder.memo import remembered
from builder.select.families import Families
from builder.select.patterns import PatternSet
from builder.source.fields import last_name, nodes
from builder.source.parse import parse

_HINT = "remove it by a rule or an edit, or except it under `except` with a reason"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: Turns letters into small ones, and all but letters and digits into spaces.
_RUNS = bytes(c if c in b"abcdefghijklmnopqrstuvwxyz0123456789" else 32 for c in bytes(range(256)).lower())
_ASKS = "_*(?:is_)?"
#: A line, a name or string in it, and the whole line.
_Named = tuple[int, str, str]
#: A comment, a string or a name; the tokenizer of the library takes ten times as long.
_TOKEN = re.compile(
    r"#[^\n]*|(?P<string>(?:\b[rbuf]{1,2})?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'))|(?P<name>\w+)",
    re.DOTALL | re.IGNORECASE,
)


def check(after: IndexedTree, manifest: Manifest) -> list[Problem]:
    """Problems for names and strings that remain, and for exceptions that excuse nothing."""
    problems: list[Problem] = []
    everywhere = PatternSet([exception.path for exception in manifest.guarantees.everywhere])
    paths = [
        path
        for path in python_paths(after.snapshot)
        if module_of(path, manifest.packages) is not None and not everywhere.any(path)
    ]
    batches = [batch for batch in manifest.batches if batch.words]
    asking = [_pattern(batch.words) for batch in batches]
    named: list[list[tuple[str, list[_Named]]]] = [[] for _ in batches]
    for path in paths:
        runs = _runs(after.snapshot[path])
        may = [n for n, batch in enumerate(batches) if any(_may_hold(runs, word) for word in batch.words)]
        known = _names([asking[number] for number in may], after.snapshot[path]) if may else ()
        for number, names in zip(may, known, strict=True):
            named[number].append((path, names))
    for batch, places in zip(batches, named, strict=True):
        excuses = _Excuses(batch, after.snapshot, manifest)
        words = Families([batch])
        found: list[tuple[Problem, str]] = []
        for path, names in places:
            seen = 0
            for line, name, text in names:
                if not excuses.excuse(path, name, text) and line != seen:
                    seen = line  # a line is one place
                    message = f"{path}:{line}: `{name}` is named by a word of batch {batch.id}"
                    excerpt, cause = text.strip()[:200], f"the words of batch {batch.id}"
                    mark, place = batch.words[0].mark, Mark(path, line)
                    problem = Problem("G007", message, mark, place, excerpt, cause=cause)
                    found.append((problem, _edit(after, path, line, name, words)))
        edits = ", ".join(dict.fromkeys(edit for _, edit in found if edit))
        hint = f"{_HINT}; where nothing needs it: {edits}" if edits else _HINT
        problems += (replace(problem, hint=hint) for problem, _ in found)
        problems += excuses.unused()
    return problems


def _edit(after: IndexedTree, path: str, line: int, name: str, words: Families) -> str:
    """The edit that drops the assignment to such a name in this line or the field of a class, or the stub of
    the function around it that is named so; empty where there is none of them."""
    try:
        tree = parse(after.snapshot[path], path).tree
    except SyntaxError:
        return ""
    kinds = (ast.Assign, ast.AnnAssign, *_DEFINITIONS)
    inside = [n for n in nodes(tree) if isinstance(n, kinds) and n.lineno <= line <= (n.end_lineno or 0)]
    scope = [after.summaries[path].module, *(n.name for n in inside if isinstance(n, _DEFINITIONS))]
    for node in inside:
        if isinstance(node, ast.Assign) and [last_name(target) for target in node.targets] == [name]:
            return f"{{drop_statement: {ast.unparse(node.targets[0])} = ..., in: {'.'.join(scope)}}}"
    innermost = next((node for node in reversed(inside) if isinstance(node, _DEFINITIONS)), None)
    if isinstance(innermost, ast.ClassDef) and isinstance(inside[-1], ast.AnnAssign):
        return (
            f"`drop: [{'.'.join((*scope, name))}]` in the batch"
            if last_name(inside[-1].target) == name
            else ""
        )
    if innermost is None or isinstance(innermost, ast.ClassDef) or not words.member(innermost.name):
        return ""
    return f"`stub: [{'.'.join(scope)}]` in the batch"


def _runs(data: bytes) -> frozenset[bytes]:
    """Every run of letters and digits in a text, in lower case: a name is made of these."""
    return frozenset(data.translate(_RUNS).split())


def _may_hold(runs: frozenset[bytes], word: Word) -> bool:
    """Return whether a text with these runs may have a name that asks for a word; most need no tokenizing."""
    parts = word.text.lower().encode().split(b"_")
    if parts[-1][-1:].isdigit():  # more digits may follow
        return any(run.startswith((parts[-1], b"".join(parts))) for run in runs)
    return runs.issuperset(parts) or b"".join(parts) in runs


def _pattern(words: Iterable[Word]) -> str:
    """The pattern of a name or short string that asks for one of the words, in any case."""
    spellings = "|".join(
        "[_-]?".join(map(re.escape, word.text.split("_"))) + "[0-9]*" * word.text[-1].isdigit()
        for word in words
    )
    return rf"{_ASKS}(?:{spellings})"


@remembered
def _names(asking: list[str], data: bytes) -> list[list[_Named]]:
    """The names and strings that each of the patterns matches."""
    found: list[list[_Named]] = [[] for _ in asking]
    tests = [
        (re.compile(one, re.IGNORECASE).fullmatch, some) for one, some in zip(asking, found, strict=True)
    ]
    text = data.decode("utf-8", "replace")
    line = at = 0
    for token in _TOKEN.finditer(text):
        name = token["name"] or token["string"].lstrip("rRbBuUfF").strip("\"'") if token.lastgroup else ""
        for asks, some in tests:
            if name and asks(name):
                line += text.count("\n", at, token.start())
                at = token.start()
                some.append((line + 1, name, text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]))
    return found


class _Excuses:
    """The exceptions of one batch, and which of them excused something: of whole files, by being of one."""

    def __init__(self, batch: Batch, paths: Iterable[str], manifest: Manifest) -> None:
        self._excepted = [one for one in batch.exceptions if one.kind == "path"]
        self._patterns = PatternSet([one.pattern for one in self._excepted])
        self._names = tuple(one.pattern for one in batch.exceptions if one.kind == "name")
        whole = any(one.text is None for one in self._excepted)
        staying = {path: found for path in paths if (found := self._for(path, ""))} if whole else {}
        # who imports an excepted module names the folders in which it is
        self._modules = tuple(filter(None, (module_of(path, manifest.packages) for path in staying)))
        # what a batch that is off by default removes needs its exception where that is off
        others = (b for b in manifest.batches if b.id in manifest.off_by_default and b is not batch)
        removed = [rule.pattern for b in others for rule in b.rules if rule.verdict == "remove"]
        self._may_leave = PatternSet(removed)
        self._used = {one for found in staying.values() for one in found}

    def _for(self, path: str, text: str) -> list[WordException]:
        """The exceptions for this line of this file."""
        found = [self._excepted[number] for number in self._patterns.matching(path)]
        return [one for one in found if one.text is None or one.text in text]

    def excuse(self, path: str, name: str, text: str) -> bool:
        """Return whether the name in this line of this file is excepted."""
        here = self._for(path, text)
        self._used.update(here)
        return (
            bool(here)
            or any(fnmatchcase(name, pattern) for pattern in self._names)
            or any(name in module.split(".") and module in text for module in self._modules)
        )

    def unused(self) -> Iterator[Problem]:
        """Exceptions of paths that excuse nothing in the output."""
        for one in self._excepted:
            if one in self._used or self._may_leave.any(one.pattern):
                continue
            text = f" with {one.text!r}" if one.text is not None else ""
            message = f"the exception {one.pattern}{text} excuses nothing"
            yield Problem("G007", message, one.mark, hint="remove it", nothing=True)
