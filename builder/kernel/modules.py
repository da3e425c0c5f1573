"""Imports of the Python files in a repacked kernel wheel that find nothing any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from builder.analysis.dangling import STRING, dangling
from builder.analysis.indexed_tree import world
from builder.errors import Mark, Problem
from builder.tree import Snapshot, Tree


def lost(before: Mapping[str, bytes], after: Mapping[str, bytes], packages: Iterable[str]) -> list[Problem]:
    """Imports that the wheel satisfied and the repacked one does not (G002).

    Both map paths to contents and hold Python files and shared objects; of these only the name counts.
    """
    folders = {name: name for name in packages}
    before_tree, after_tree = (
        world(Snapshot(Tree({}), {}).replace(_modules(files)), folders) for files in (before, after)
    )
    problems = []
    for path, summary in after_tree.summaries.items():
        missing_before = (
            {(d.module, d.name) for d in dangling(before_tree.summaries[path], before_tree.index)}
            if path in before_tree.summaries
            else ()
        )
        for item in sorted(set(dangling(summary, after_tree.index)), key=lambda d: (d.line, d)):
            if (item.module, item.name) in missing_before or item.how == STRING:
                continue
            what = f"{item.name!r} from {item.module}" if item.name else item.module
            message = f"'{path}' of the repacked wheel imports {what}, which left."
            hint = "remove the file too, or keep what it imports"
            problems.append(Problem("G002", message, upstream=Mark(path, item.line), hint=hint))
    return problems


def _modules(files: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """The files with every shared object as an empty module of its name."""
    modules: dict[str, bytes | None] = {path: data for path, data in files.items() if path.endswith(".py")}
    for path in files:
        folder, slash, name = path.rpartition("/")
        if name.endswith((".so", ".pyd")):
            modules.setdefault(f"{folder}{slash}{name.partition('.')[0]}.py", b"")
    return modules
