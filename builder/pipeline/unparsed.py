"""Kept Python files that do not parse: they stay as they are, or stop the build before anything is cut.

A file that does not parse in upstream either (syntax newer than the running Python, a template) cannot be
read. It stays byte for byte, and every word of it counts as a use. If it holds a name that a fact decides, or
imports something that the output lacks, it would have to be edited, which is a problem.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping

from builder.errors import Mark, Problem
from builder.gates.parse import does_not_parse
from builder.graph.modules import Summary, python_paths, summarise
from builder.graph.names import absolute, module_of, package_of
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.pipeline.prune import Pruned
from builder.specialize.evaluating.facts import Facts
from builder.specialize.text_index.content import imports
from builder.tree import Snapshot

Errors = Mapping[str, tuple[int, str]]
_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
_HINT = "Build with a Python that knows its syntax, or remove or replace the file."


def unparsed(files: Snapshot, upstream: Snapshot, staying: Mapping[str, Summary]) -> Errors:
    """Return path -> line and message of the kept Python files that do not parse.

    `staying`: the summaries of upstream's files; a file with other bytes is parsed here.
    """
    errors: dict[str, tuple[int, str]] = {}
    for path in python_paths(files):
        summary = staying.get(path)
        same = summary is not None and files.tree[path].blob == upstream.tree[path].blob
        error = summary.error if same and summary else _error(files[path], path)
        if error is not None:
            errors[path] = error
    return errors


@remembered
def _error(data: bytes, path: str) -> tuple[int, str] | None:
    return summarise(data, path, "").error


def problems(
    errors: Errors, files: Snapshot, staying: Mapping[str, Summary], decided: Pruned, manifest: Manifest
) -> Iterator[Problem]:
    """Yield G001 for each such file that parses in upstream or that the manifest would have to edit."""
    facts = Facts.of(manifest)
    lacking = {m for p in decided.removed if (m := module_of(p, manifest.packages))} | {*facts.symbols}
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
            lines = files[path].decode("utf-8", "replace").splitlines()
            version = ".".join(map(str, sys.version_info[:2]))
            message = (
                f"{path}:{row}: this file does not parse with Python {version} ({text}), "
                f"and line {line} names `{name}`, which the manifest decides or removes"
            )
            excerpt = lines[row - 1] if 0 < row <= len(lines) else None
            yield Problem("G001", message, upstream=Mark(path, row), excerpt=excerpt, hint=_HINT)


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
