"""G001: every Python file of the output parses, and every edited one compiles.

A kept file that does not parse in upstream either (syntax newer than the running Python, a template) cannot
be read. It stays byte for byte, and every word of it counts as a use. If it holds a name that a fact decides,
or imports something that the output lacks, it would have to be edited: a problem before anything is cut.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.graph.modules import Summary
from builder.graph.names import absolute, module_of, package_of
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.specialize.evaluating.facts import Facts
from builder.specialize.text_index.content import imports
from builder.tree import Snapshot


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """One problem for each file that does not parse or compile, unless upstream's does not either.

    A file may parse and not compile: a `nonlocal` whose only binding is gone, for instance.
    """
    problems: list[Problem] = []
    for path, summary in after.summaries.items():
        old = before.summaries.get(path)
        if old is summary or (old is not None and old.error is not None):
            continue
        data = after.snapshot[path]
        error = summary.error or _error(data)
        if error is not None and (old is None or _error(before.snapshot[path]) is None):
            verb = "parse" if summary.error else "compile"
            problems.append(does_not_parse(path, error, data, manifest, old is not None, verb))
    return problems


@remembered
def _error(data: bytes) -> tuple[int, str] | None:
    """The line and text of the error that compiling a file gives, if any."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's text has some
            compile(data, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return getattr(error, "lineno", None) or 1, getattr(error, "msg", None) or str(error)
    return None


def does_not_parse(
    path: str, error: tuple[int, str], data: bytes, manifest: Manifest, upstream: bool, verb: str = "parse"
) -> Problem:
    """The problem of one file; `upstream`: upstream has it, and there it parses."""
    line, text = error
    edited = [f.overlay for b in manifest.batches for f in b.files if f.path == path]
    what = "the edits of this file give text that does" if upstream else "this file does"
    what = f"the overlay {edited[-1]} does" if edited else what
    message = f"{path}:{line}: {what} not {verb}: {text}"
    return Problem("G001", message, upstream=Mark(path, line), excerpt=_line(data, line))


def _line(data: bytes, number: int) -> str | None:
    lines = data.decode("utf-8", "replace").splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else None


_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
_HINT = "Build with a Python that knows its syntax, or remove or replace the file."


def uneditable(
    errors: Mapping[str, tuple[int, str]],
    files: Snapshot,
    staying: Mapping[str, Summary],
    removed: Iterable[str],
    manifest: Manifest,
) -> Iterator[Problem]:
    """Yield G001 for each file that does not parse, and parses in upstream or would have to be edited.

    `errors`: path -> line and message; `staying`: the summaries of upstream's files.
    """
    facts = Facts.of(manifest)
    lacking = {m for p in removed if (m := module_of(p, manifest.packages))} | {*facts.symbols}
    lacking |= {e.target for b in manifest.batches for e in b.edits if e.kind == "drop"}
    # a file holds the last part of a name, also of a method that a fact calls `*.name`
    names = {n.rpartition(".")[2] for n in (*facts.predicates, *facts.values, *facts.symbols)}
    names |= {*facts.environment}
    for path, error in errors.items():
        old = staying.get(path)
        if old is None or old.error is None:
            yield does_not_parse(path, error, files[path], manifest, upstream=old is not None)
            continue
        module = module_of(path, manifest.packages)
        if module is None:
            continue
        asked = _asked(
            path, module, files[path], names,
            lambda name: name in lacking or facts.module_gone(name) is not None,
        )  # fmt: skip
        if asked is not None:
            (line, name), (row, text) = asked, error
            version = ".".join(map(str, sys.version_info[:2]))
            message = (
                f"{path}:{row}: this file does not parse with Python {version} ({text}), "
                f"and line {line} names `{name}`, which the manifest decides or removes"
            )
            line_text = _line(files[path], row)
            yield Problem("G001", message, upstream=Mark(path, row), excerpt=line_text, hint=_HINT)


def _asked(
    path: str, module: str, data: bytes, names: set[str], gone: Callable[[str], bool]
) -> tuple[int, str] | None:
    """Return the first line that would have to be edited, and the name that requires it."""
    uses = [
        (match.start(), word) for match in _WORD.finditer(data) if (word := match.group().decode()) in names
    ]
    for offset, written, taken in imports(data):
        source = absolute(written, package_of(path, module))
        lost = [name for name in (source, *(f"{source}.{one}" for one in taken)) if gone(name)]
        uses += [(offset, name) for name in lost[:1]]
    if not uses:
        return None
    at, name = min(uses)
    return data.count(b"\n", 0, at) + 1, name
