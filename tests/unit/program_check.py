"""Writes a batch of random programs, specializes it, and says which of them then do something else."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import replace
from random import Random

from program_run import PAGE, run
from random_program import Writer, modules
from small_package import facts_of, module_of, without_layout

from builder.specialize.results import Specialized

GONE = {
    "pkg/gone.py": b"class Gone: pass\nclass GoneError(Exception): pass\n",
    "pkg/void.py": b"missing = 1\n",
}
#: Programs that are specialized together, since most of the time goes into what is around them.
BATCH = 5
#: The files of the package around the programs, in the order of their imports.
AROUND: dict[str, str] = PAGE["around"]
_ABSENT = [f"    - pkg.prog{i}.{name}\n" for i in range(BATCH) for name in ("Mode.OLD", "Fields.old")]
KNOWN = facts_of(PAGE["facts"] + "".join(_ABSENT))
#: How often each program runs, with other choices each time.
RUNS = 3


def programs(seed: int) -> dict[str, str]:
    """Path -> source of a batch of programs."""
    random = Random(seed)
    sizes = [random.choice([2, 3, 5, 8, 14, 25]) for _ in range(BATCH)]
    return {f"pkg/prog{i}.py": Writer(random, size).program() for i, size in enumerate(sizes)}


def imported(seed: int) -> dict[str, str]:
    """Path -> source of the modules that the programs of a batch may import."""
    return modules(Random(seed))


def specialized(files: Mapping[str, str]) -> Specialized:
    kept = {path: text.encode() for path, text in files.items()}
    return without_layout(kept, GONE, replace(KNOWN, named=_named(files)))


def _named(files: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The functions and methods that a word names: name -> qualified names."""
    found: dict[str, list[str]] = {}
    for path, text in files.items():
        stack = [(module_of(path), ast.parse(text).body)]
        while stack:
            owner, body = stack.pop()
            for stmt in body:
                if isinstance(stmt, ast.ClassDef):
                    stack.append((f"{owner}.{stmt.name}", stmt.body))
                elif isinstance(stmt, ast.FunctionDef) and stmt.name.startswith("_tell"):
                    found.setdefault(stmt.name, []).append(f"{owner}.{stmt.name}")
    return {name: tuple(sorted(names)) for name, names in found.items()}


def differences(written: Mapping[str, str], later: Mapping[str, str]) -> list[str]:
    """What differs before and after specialization, program by program; empty when all is well.

    `later`: path -> source of what the programs may import.

    A program in which something that is gone is still used is left out: the build would stop there.
    """
    files = {**AROUND, **later, **written}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        result = specialized(files)
        different = [f"{m.path}: {m.sentence}" for m in result.mismatches]
        after = {**files, **{path: data.decode() for path, data in result.files.items()}}
        stopped = {item.path for item in result.leftovers}
        for path in written:
            if path in stopped:
                continue
            for choice in range(RUNS):
                one = run({p: files[p] for p in (*AROUND, path)}, choice, True, later)
                two = run({p: after[p] for p in (*AROUND, path)}, choice, False, {p: after[p] for p in later})
                if one != two:
                    sources = "".join(f"# {p}\n{files[p]}" for p in (*later, path))
                    different.append(f"{sources}\n--- after ---\n{after[path]}\n--- {one}\n--- {two}\n")
                    break
    return different
