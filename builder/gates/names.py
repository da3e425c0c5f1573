"""G003: no undefined name, undefined export or redefinition that upstream did not have (ruff)."""

from __future__ import annotations

import ast
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from builder import ruff
from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals, because
from builder.errors import Problem
from builder.graph.modules import python_paths
from builder.manifest.model import Manifest

RULES = "F821,F822,F811"


class Finding(NamedTuple):
    path: str
    line: int
    code: str
    symbol: str


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """One problem for each (file, rule, symbol) that ruff finds in the output and not upstream.

    Files with upstream's own bytes have upstream's own findings, so only the others are read.
    """
    old, new = before.snapshot.tree, after.snapshot.tree
    changed = [p for p in python_paths(after.snapshot) if p not in old or old[p].blob != new[p].blob]
    if not changed:
        return []
    files = {f"after/{p}": after.snapshot[p] for p in changed}
    files |= {f"before/{p}": before.snapshot[p] for p in changed if p in old}
    all_findings = findings(files)
    known = {(f.path[7:], f.code, f.symbol) for f in all_findings if f.path.startswith("before/")}
    seen: set[tuple[str, str, str]] = set()
    problems: list[Problem] = []
    for item in all_findings:
        key = (item.path.removeprefix("after/"), item.code, item.symbol)
        if item.path.startswith("before/") or key in known or key in seen:
            continue
        seen.add(key)
        if item.code == "F811" and _imported_alike(after, key[0], item.symbol):
            continue
        problems.append(_problem(item._replace(path=key[0]), before, after, removals))
    return problems


def _imported_alike(after: IndexedTree, path: str, name: str) -> bool:
    """Return whether only imports of one thing bind a name: a decided condition may leave one twice.

    The target of a comprehension binds nothing outside of it.
    """
    imported = {
        (item.target, item.name)
        for item in after.summaries[path].imports
        # `import a.b` binds a, and is told as a.b
        if item.bound == name or (item.name is None and item.target == name)
    }
    every = list(ast.walk(ast.parse(after.snapshot[path])))
    inner = {id(n) for node in every if isinstance(node, ast.comprehension) for n in ast.walk(node.target)}
    others = (
        node
        for node in every
        if (
            isinstance(node, ast.Name)
            and node.id == name
            and not isinstance(node.ctx, ast.Load)
            and id(node) not in inner
        )
        or (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name)
    )
    return len(imported) == 1 and next(others, None) is None


def _problem(finding: Finding, before: IndexedTree, after: IndexedTree, removals: Removals) -> Problem:
    path, line, code, symbol = finding
    old = before.summaries.get(path)
    bound = old.names.get(symbol) if old else None
    if code == "F811":
        reason, hint = None, None
        text, tail = f"{symbol!r} is defined twice", ", and upstream defines it once"
    else:
        hint = "its uses must leave with it, or it must stay"
        text = f"{symbol!r} is listed in __all__ and" if code == "F822" else f"{symbol!r} is used and"
        text += " not defined"
        reason = removals.symbol(f"{old.module}.{symbol}") if old and old.module else None
        if reason is None and old:
            source = before.index.origin(old.module, symbol)
            reason = removals.missing(after, source) if source else None
        at = f" (upstream: {bound.kind} in line {bound.line})" if bound else ""
        tail = f"{at}{because(reason)}"
    message, cause = f"{path}:{line}: {text}{tail}", f"{code} {symbol}{because(reason)}"
    return after.problem("G003", path, line, message, reason.mark if reason else None, hint, cause)


def findings(files: Mapping[str, bytes]) -> list[Finding]:
    """The findings of ruff about these files, sorted. Raises BuildError E003 without a ruff that works."""
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        root = Path(folder).resolve()
        for parent in sorted({os.path.dirname(p) for p in files}):
            (root / parent).mkdir(parents=True, exist_ok=True)
        for path, data in files.items():
            (root / path).write_bytes(data)
        arguments = [
            "check", "--isolated", "--no-cache", "--ignore-noqa", "--no-respect-gitignore",
            "--target-version", "py310", "--select", RULES, "--output-format", "json", "--exit-zero",
            "--config", "exclude = []", ".",
        ]  # fmt: skip
        process = ruff.run(arguments, root)
        try:
            rows = json.loads(process.stdout)
        except ValueError:
            raise ruff.failed("check", process) from None
        parsed = []
        for row in rows:
            code, message, file = row["code"], row["message"], Path(row["filename"])
            if code in RULES.split(","):  # syntax errors are G001's
                symbol = re.search(r"`([^`]*)`", message)
                name = symbol[1] if symbol else message
                parsed.append(Finding(file.relative_to(root).as_posix(), row["location"]["row"], code, name))
        return sorted(parsed)
