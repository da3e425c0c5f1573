"""What follows from removed native files: the sources, declarations and bindings that go with them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.errors import Mark, Problem
from builder.memo import remembered
from builder.native import cmake, cpp
from builder.native.layout import ROOT, Named, Package
from builder.native.symbols import Binding, defined, symbols
from builder.native.text import TextEdit, apply, blank, decode, encode


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


#: A span of a kept file that leaves, and what it leaves as.
_Removal = tuple[TextEdit, Consequence]


def follow(
    current: Mapping[str, bytes], upstream: Mapping[str, bytes], removed: Mapping[str, str]
) -> Followed:
    """The consequences of `removed` (path -> batch) for the files of `current`.

    `current` holds the kept files as they are after earlier edits; `upstream` holds every file of
    the pin. Applied to its own result it changes nothing.
    """
    removed = {p: b for p, b in removed.items() if p.startswith(f"{ROOT}/") and p not in current}
    kept = Package({p: current[p] for p in current if p.startswith(f"{ROOT}/")})
    before = Package(upstream)
    removals: list[_Removal] = []
    problems: list[Problem] = []
    for path in kept.cmakes:
        names = list(before.named(path, kept.text(path)))
        removals += _named(kept, path, names, removed)
        problems += _emptied(path, kept.text(path), names, before, removed)
    undefined = _undefined(kept, upstream, removed)
    removals += _bindings(kept, undefined)
    remaining = Package({path: _without(kept, path, removals) for path in kept.natives})
    declarations, still_used = _declarations(kept, remaining, before, undefined)
    removals += declarations
    problems += [*still_used, *_includes(remaining, removed)]
    consequences = [consequence for _, consequence in removals]
    return Followed(
        {path: _without(kept, path, removals) for path in sorted({one.file for one in consequences})},
        tuple(sorted(consequences, key=lambda c: (c.file, c.line, c.what, c.name))),
        tuple(problems),
    )


def _removal(kept: Package, path: str, start: int, end: int, what: str, name: str, batch: str) -> _Removal:
    digest = hashlib.sha256(kept.files[path][start:end]).hexdigest()
    return TextEdit(start, end), Consequence(what, name, path, kept.line(path, start), batch, digest)


def _without(kept: Package, path: str, removals: Iterable[_Removal]) -> bytes:
    cuts = [cut for cut, consequence in removals if consequence.file == path]
    if not cuts:
        return kept.files[path]
    text = kept.text(path)
    return encode(apply(cmake.scan(text).scanned if cmake.is_cmake(path) else cpp.scan(text), cuts))


def _named(
    kept: Package, path: str, names: Iterable[Named], removed: Mapping[str, str]
) -> Iterator[_Removal]:
    """The arguments of a CMake file that name removed files, and the includes of removed CMake files."""
    for one in names:
        name = one.command.name
        target = f"{one.path}/CMakeLists.txt" if name == "add_subdirectory" else one.path
        if target in removed:
            include = name in ("include", "add_subdirectory")
            span, what = (one.command, "include") if include else (one.token, "source")
            yield _removal(kept, path, span.start, span.end, what, target, removed[target])


def _emptied(
    path: str, text: str, names: Iterable[Named], before: Package, removed: Mapping[str, str]
) -> Iterator[Problem]:
    """R008 for a list that loses its last source of the package: a person decides about its target."""
    sources: dict[int, list[Named]] = {}
    for one in names:
        if one.command.name not in ("include", "add_subdirectory") and one.path in before.files:
            sources.setdefault(one.command.start, []).append(one)
    listing = cmake.scan(text)
    for start, (one, *more) in sources.items():
        if not all(other.path in removed for other in (one, *more)):
            continue
        first = one.command.arguments[0].value
        users = {
            listing.scanned.line(c.start)
            for c in listing.commands
            if c.start != start and any(f"${{{first}}}" in a.value for a in c.arguments)
        }
        message = f"`{one.command.name}({first} ...)` of {path} loses its last source of this package, "
        message += f"{one.path} (batch {removed[one.path]})."
        used = f" Used at line {', '.join(map(str, sorted(users)))}." if users else ""
        hint = f"Say with an anchored edit (command, block) what becomes of it.{used}"
        yield Problem("R008", message, upstream=Mark(path, listing.scanned.line(start)), hint=hint)


def _undefined(kept: Package, upstream: Mapping[str, bytes], removed: Mapping[str, str]) -> dict[str, str]:
    """Functions whose only definitions were removed, and the batch of each (empty: several)."""
    kept_names = {name for path in kept.natives for name in defined(kept.text(path))}
    names: dict[str, str] = {}
    for path in sorted(removed):
        if path in upstream and path.endswith(cpp.SUFFIXES):
            for name in defined(decode(upstream[path])) - kept_names:
                names[name] = removed[path] if names.get(name, removed[path]) == removed[path] else ""
    return names


def _bindings(kept: Package, undefined: Mapping[str, str]) -> Iterator[_Removal]:
    """Bindings of removed functions, and the other half of each operator that keeps only one half."""
    every = kept.bindings()
    removed = {(p, b): undefined[b.function] for p, b in every if b.function and b.function in undefined}
    operators: dict[tuple[str, str], list[tuple[str, Binding]]] = {}
    for row in every:
        operators.setdefault(row[1].key, []).append(row)
    for rows in operators.values():
        causes = {removed[row] for row in rows if row in removed}
        live = [binding for path, binding in rows if (path, binding) not in removed]
        verbs = {row[1].verb for row in rows if row in removed}
        no_impl = "impl" in verbs and not any(b.verb == "impl" or b.function for b in live)
        no_def = "def" in verbs and not any(b.verb == "def" for b in live)
        if no_impl or no_def:
            batch = causes.pop() if len(causes) == 1 else ""
            removed.update({row: batch for row in rows if row not in removed})
    for path, b in every:
        if (path, b) in removed:
            name, batch = f"{b.verb} {b.operator}", removed[path, b]
            yield _removal(kept, path, b.start, b.end, "binding", name, batch)


def _declarations(
    kept: Package, remaining: Package, before: Package, undefined: Mapping[str, str]
) -> tuple[list[_Removal], list[Problem]]:
    """Declarations of functions that nothing in the package defines or uses any more."""
    removals: list[_Removal] = []
    problems: dict[str, Problem] = {}
    functions = [f for path in remaining.natives for f in symbols(remaining.text(path)).functions]
    wanted = {f.name for f in functions if not f.defined} - {f.name for f in functions if f.defined}
    used, once = _uses(remaining, wanted), _uses(before, wanted)
    for path in remaining.natives:
        text = kept.text(path)
        spans: list[tuple[int, int]] = []
        for function in symbols(text).functions:
            name = function.name
            if function.defined or name not in wanted:
                continue
            if name in undefined and name in used:
                message = f"`{name}` is used, and its only definition was removed "
                message += f"(batch {undefined[name] or 'several'})."
                hint = "Remove the use with an anchored edit, or keep the file."
                problems[message] = Problem("R008", message, upstream=used[name], hint=hint)
            elif name not in used and (name in undefined or name in once):
                span = (function.start, function.end)
                spans.append(span)
                removals.append(_removal(kept, path, *span, "declaration", name, undefined.get(name, "")))
        for start, end in _emptied_spaces(text, spans):
            name = " ".join(text[start:end].split()[:2])
            removals.append(_removal(kept, path, start, end, "namespace", name, ""))
    return removals, [problems[message] for message in sorted(problems)]


def _uses(package: Package, names: set[str]) -> dict[str, Mark]:
    """The first use of each name outside the declarations of functions."""
    first_uses: dict[str, Mark] = {}
    listed = tuple(sorted(names))
    for path in package.natives:
        for name, line in _lines_of_uses(package.files[path], listed).items():
            first_uses.setdefault(name, Mark(path, line))
    return first_uses


@remembered
def _lines_of_uses(data: bytes, names: tuple[str, ...]) -> dict[str, int]:
    """The line of the first use of each name that a text uses outside the declarations of functions."""
    text = decode(data)
    lines: dict[str, int] = {}
    if any(name in text for name in names):
        spans = [(f.start, f.end) for f in symbols(text).functions if not f.defined]
        code = blank(cpp.scan(text).code, spans)
        for match in re.finditer(r"[A-Za-z_]\w*", code, re.ASCII):
            if match.group() in names and match.group() not in lines:
                lines[match.group()] = text.count("\n", 0, match.start()) + 1
    return lines


def _emptied_spaces(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The namespaces in which nothing but namespaces is left without some spans."""
    code = blank(cpp.plain(text), sorted(spans)) if spans else ""
    for space in symbols(text).namespaces if spans else ():
        if any(space.body <= start and end < space.end for start, end in spans):
            inside = code[space.body : space.end - 1]
            if not re.sub(r"\bnamespace\b[\w\s:]*|[{}]", "", inside).strip():
                yield space.start, space.end


def _includes(remaining: Package, removed: Mapping[str, str]) -> Iterator[Problem]:
    for path in remaining.natives:
        for text, line, paths in remaining.includes(path):
            target = next((p for p in paths if p in removed), None)
            if target and not any(p in remaining.files for p in paths):
                message = f'{path} includes "{text}", and batch {removed[target]} removed {target}.'
                yield Problem("R008", message, upstream=Mark(path, line))
