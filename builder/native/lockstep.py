"""What follows from removed native files: the sources, declarations and bindings that go with them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from builder.errors import Mark, Problem
from builder.native import cpp, layout
from builder.native.symbols import Binding, bindings, defined, symbols
from builder.native.text import TextEdit, apply, blank, decode, encode

ROOT = "sgl-kernel"


@dataclass(frozen=True, slots=True)
class Consequence:
    """One thing removed from a kept file because of removed files. `before` is the sha256 of its text."""

    what: str  # source, include, declaration, binding, namespace
    name: str
    file: str
    line: int
    batch: str  # of the removed file that caused it; empty: several
    before: str


@dataclass(frozen=True, slots=True)
class Followed:
    """The changed files, the reasons, and the problems that only a person can decide."""

    files: Mapping[str, bytes]
    consequences: tuple[Consequence, ...] = ()
    problems: tuple[Problem, ...] = ()


def follow(
    current: Mapping[str, bytes],
    upstream: Mapping[str, bytes],
    removed: Mapping[str, str],
    root: str = ROOT,
) -> Followed:
    """The consequences of `removed` (path -> batch) for the files of `current`.

    `current` holds the kept files as they are after earlier edits; `upstream` holds every file of
    the pin. Applied to its own result it changes nothing.
    """
    removed_natives = {p: b for p, b in removed.items() if p.startswith(f"{root}/") and p not in current}
    kept = {p: current[p] for p in sorted(current) if p.startswith(f"{root}/")}
    cuts: dict[str, list[TextEdit]] = {}
    consequences: list[Consequence] = []
    problems: list[Problem] = []
    for path in layout.cmakes(kept, root):
        more, what, wrong = _cmake(path, kept[path], upstream, removed_natives, root)
        _note(path, kept[path], more, what, cuts, consequences)
        problems += wrong
    lost_functions = _lost(kept, upstream, removed_natives, root)
    for path, rows in _bindings(kept, lost_functions, root).items():
        _note(
            path,
            kept[path],
            [TextEdit(b.start, b.end) for b, _ in rows],
            [_row(b, w) for b, w in rows],
            cuts,
            consequences,
        )
    remaining = {
        p: encode(apply(cpp.scan(decode(kept[p])), cuts[p])) if p in cuts else kept[p]
        for p in layout.natives(kept, root)
    }
    declared, wrong = _declarations(kept, remaining, upstream, lost_functions, root)
    problems += wrong
    for path, (more, what) in declared.items():
        _note(path, kept[path], more, what, cuts, consequences)
    problems += _includes(remaining, removed_natives, root)
    files = {}
    for path in sorted(cuts):
        text = decode(kept[path])
        scanned = layout.listing(text).scanned if path in set(layout.cmakes(kept, root)) else cpp.scan(text)
        files[path] = encode(apply(scanned, cuts[path]))
    return Followed(
        files, tuple(sorted(consequences, key=lambda c: (c.file, c.line, c.what, c.name))), tuple(problems)
    )


def _note(
    path: str,
    data: bytes,
    more: Iterable[TextEdit],
    what: Iterable[tuple[str, str, str]],
    cuts: dict[str, list[TextEdit]],
    consequences: list[Consequence],
) -> None:
    for cut, (kind, name, batch) in zip(more, what, strict=True):
        cuts.setdefault(path, []).append(cut)
        line = data.count(b"\n", 0, cut.start) + 1
        before = hashlib.sha256(data[cut.start : cut.end]).hexdigest()
        consequences.append(Consequence(kind, name, path, line, batch, before))


def _row(binding: Binding, batch: str) -> tuple[str, str, str]:
    return "binding", f"{binding.verb} {binding.operator}", batch


def _cmake(
    path: str, data: bytes, upstream: Mapping[str, bytes], removed: Mapping[str, str], root: str
) -> tuple[list[TextEdit], list[tuple[str, str, str]], list[Problem]]:
    """Removes the arguments that name removed files, and the includes of removed CMake files."""
    cuts: list[TextEdit] = []
    what: list[tuple[str, str, str]] = []
    problems: list[Problem] = []
    local: dict[int, list[bool]] = {}
    emptied: dict[int, layout.Named] = {}
    for one in layout.named(path, data, upstream, root):
        target = one.path
        if one.command.name == "add_subdirectory":
            target = f"{one.path}/CMakeLists.txt"
        if target in removed and one.command.name in ("include", "add_subdirectory"):
            cuts.append(TextEdit(one.command.start, one.command.end))
            what.append(("include", target, removed[target]))
        elif target in removed:
            cuts.append(TextEdit(one.token.start, one.token.end))
            what.append(("source", target, removed[target]))
        if one.command.name not in ("include", "add_subdirectory") and target in upstream:
            local.setdefault(one.command.start, []).append(target in removed)
            emptied.setdefault(one.command.start, one)
    scanned = layout.listing(decode(data)).scanned
    for start, states in local.items():
        if all(states):
            problems.append(_emptied(path, scanned.line(start), emptied[start], decode(data), removed))
    return cuts, what, problems


def _emptied(path: str, line: int, one: layout.Named, text: str, removed: Mapping[str, str]) -> Problem:
    """R008 for a list that loses its last source of the package: a person decides about its target."""
    first = one.command.arguments[0].value if one.command.arguments else ""
    listing = layout.listing(text)
    users = sorted(
        {
            listing.scanned.line(c.start)
            for c in listing.commands
            if any(f"${{{first}}}" in a.value for a in c.arguments) and c.start != one.command.start
        }
    )
    message = f"`{one.command.name}({first} ...)` of {path} loses its last source of this package, {one.path}"
    message += f" (batch {removed[one.path]})."
    used = f" Used at line {', '.join(map(str, users))}." if users else ""
    hint = f"Say with an anchored edit (command, block) what becomes of it.{used}"
    return Problem("R008", message, upstream=Mark(path, line), hint=hint)


def _lost(
    kept: Mapping[str, bytes], upstream: Mapping[str, bytes], removed: Mapping[str, str], root: str
) -> dict[str, str]:
    """Functions whose only definitions were removed, and the batch of each (empty: several)."""
    defined_names = {name for p in layout.natives(kept, root) for name in defined(decode(kept[p]))}
    names: dict[str, str] = {}
    for path in sorted(removed):
        if path in upstream and path.endswith(cpp.SUFFIXES):
            for name in sorted(defined(decode(upstream[path])) - defined_names):
                names[name] = removed[path] if names.get(name, removed[path]) == removed[path] else ""
    return names


def _bindings(
    kept: Mapping[str, bytes], lost: Mapping[str, str], root: str
) -> dict[str, list[tuple[Binding, str]]]:
    """Bindings of removed functions, and the other half of each operator that keeps only one half."""
    every = [(p, b) for p in layout.natives(kept, root) for b in bindings(decode(kept[p]))]
    doomed = {(p, b): lost[b.function] for p, b in every if b.function and b.function in lost}
    impls: dict[tuple[str, str], list[tuple[str, Binding]]] = {}
    for path, binding in every:
        impls.setdefault((binding.library, binding.operator), []).append((path, binding))
    for rows in impls.values():
        causes = {doomed[row] for row in rows if row in doomed}
        batch = causes.pop() if len(causes) == 1 else ""
        live = [row[1] for row in rows if row not in doomed]
        defs_gone = any(b.verb == "def" and (p, b) in doomed for p, b in rows)
        impls_gone = any(b.verb == "impl" and (p, b) in doomed for p, b in rows)
        no_impl = impls_gone and not any(b.verb == "impl" or b.function for b in live)
        no_def = defs_gone and not any(b.verb == "def" for b in live)
        if no_impl or no_def:
            doomed.update({row: batch for row in rows if row not in doomed})
    out: dict[str, list[tuple[Binding, str]]] = {}
    for path, binding in every:
        if (path, binding) in doomed:
            out.setdefault(path, []).append((binding, doomed[path, binding]))
    return out


def _declarations(
    kept: Mapping[str, bytes],
    remaining: Mapping[str, bytes],
    upstream: Mapping[str, bytes],
    lost: Mapping[str, str],
    root: str,
) -> tuple[dict[str, tuple[list[TextEdit], list[tuple[str, str, str]]]], list[Problem]]:
    """Declarations of functions that nothing in the package defines or uses any more."""
    problems: list[Problem] = []
    out: dict[str, tuple[list[TextEdit], list[tuple[str, str, str]]]] = {}
    defined_names = {name for data in remaining.values() for name in defined(decode(data))}
    wanted = {
        f.name for data in remaining.values() for f in symbols(decode(data)).functions if not f.defined
    } - defined_names
    used = _uses(remaining, wanted)
    once = _uses({p: upstream[p] for p in layout.natives(upstream, root)}, wanted)
    for path in remaining:
        text = decode(kept[path])
        cuts: list[TextEdit] = []
        what: list[tuple[str, str, str]] = []
        for function in symbols(text).functions:
            if function.defined or function.name not in wanted:
                continue
            name = function.name
            if name in lost and name in used:
                problems.append(_still_used(name, used[name], lost[name]))
            elif name not in used and (name in lost or name in once):
                cuts.append(TextEdit(function.start, function.end))
                what.append(("declaration", name, lost.get(name, "")))
        for space in _emptied_spaces(text, cuts):
            cuts.append(space)
            what.append(("namespace", " ".join(text[space.start : space.end].split()[:2]), ""))
        if cuts:
            out[path] = (cuts, what)
    return out, sorted(set(problems), key=lambda p: p.message)


def _uses(files: Mapping[str, bytes], names: set[str]) -> dict[str, Mark]:
    """The first use of each name outside the declarations of functions."""
    first_uses: dict[str, Mark] = {}
    for path in sorted(files):
        text = decode(files[path])
        if not any(name in text for name in names):
            continue
        spans = [(f.start, f.end) for f in symbols(text).functions if not f.defined]
        code = blank(cpp.scan(text).code, spans)
        for match in re.finditer(r"[A-Za-z_]\w*", code, re.ASCII):
            if match.group() in names and match.group() not in first_uses:
                first_uses[match.group()] = Mark(path, text.count("\n", 0, match.start()) + 1)
    return first_uses


def _still_used(name: str, where: Mark, batch: str) -> Problem:
    message = f"`{name}` is used, and its only definition was removed (batch {batch or 'several'})."
    return Problem(
        "R008", message, upstream=where, hint="Remove the use with an anchored edit, or keep the file."
    )


def _emptied_spaces(text: str, cuts: Iterable[TextEdit]) -> list[TextEdit]:
    spans = [(c.start, c.end) for c in cuts]
    if not spans:
        return []
    code = blank(cpp.plain(text), sorted(spans))
    spaces = []
    for space in symbols(text).namespaces:
        if any(space.body <= a and b < space.end for a, b in spans):
            inside = code[space.body : space.end - 1]
            if not re.sub(r"\bnamespace\b[\w\s:]*|[{}]", "", inside).strip():
                spaces.append(TextEdit(space.start, space.end))
    return spaces


def _includes(remaining: Mapping[str, bytes], removed: Mapping[str, str], root: str) -> list[Problem]:
    problems = []
    for path, data in remaining.items():
        for text, line, paths in layout.includes(path, data, root):
            exists = any(p in remaining for p in paths)
            lost = next((p for p in paths if p in removed), None)
            if lost and not exists:
                message = f'{path} includes "{text}", and batch {removed[lost]} removed {lost}.'
                problems.append(Problem("R008", message, upstream=Mark(path, line)))
    return problems
