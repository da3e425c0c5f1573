"""Code that is new in an upstream and looks like a fact that the manifest does not state yet."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.graph.names import path_of
from builder.lift import culprit
from builder.lift.history import Commit, History
from builder.lift.insert import Proposal
from builder.lift.markers import Markers
from builder.manifest.model import Manifest
from builder.manifest.statements import Fact
from builder.source.parse import parse
from builder.surface.model import Key, Place, Surface
from builder.tree import Snapshot

_NAMED = re.compile(r"_?(?:is|use|has|support|supports)_\w+|\w+_(?:available|supported|support)")
_METHOD = re.compile(rb"\b(\w*platform\w*)(?:\(\))?\.(is_\w+|device_name|supports_\w+)\b")
#: What a predicate about a removed platform reads.
_THEIRS = re.compile(r"torch\.(?:backends\.)?(?!cuda|cpu|distributed|version\.cuda|version\.__)[a-z]+\b")
#: What a predicate about the kept platform reads.
_OURS = re.compile(r"\bcuda\b|capability|is_cuda|nvidia|\bsm_?\d+|flashinfer|blackwell|hopper", re.I)


@dataclass(frozen=True, slots=True)
class NewFact:
    """A new predicate, method of the platform object, or choice of an option.

    `open`: a person has to state its value. `uses`: occurrences of its name in the output, without its
    definition.
    """

    kind: str  # predicate, platform, choice
    name: str
    path: str
    line: int
    uses: int
    evidence: str
    open: bool
    commit: Commit | None
    proposal: Proposal | None = None


def predicates(
    old: Snapshot, new: Snapshot, output: Snapshot, manifest: Manifest, markers: Markers, history: History
) -> list[NewFact]:
    """New functions without parameters in the modules that define the manifest's predicates."""
    facts = [f for b in manifest.batches for f in b.facts if f.kind == "predicate"]
    fact_names = {f.name for f in facts}
    modules = {name.rpartition(".")[0] for name in fact_names}
    new_facts: list[NewFact] = []
    words = Counter(_words(output))
    for module in sorted(modules):
        for path in path_of(module, manifest.packages) or ():
            if path not in new:
                continue
            before = set(_functions(old[path], path)) if path in old else set()
            for name, (line, body) in _functions(new[path], path).items():
                full = f"{module}.{name}"
                if name not in before and full not in fact_names and _NAMED.fullmatch(name):
                    commit = _came(path, name, history)
                    new_facts.append(
                        _predicate(
                            full,
                            path,
                            line,
                            body,
                            max(0, words[name] - 1),
                            bool(words[name]),
                            facts,
                            markers,
                            commit,
                        )
                    )
    return new_facts


def _predicate(
    full: str,
    path: str,
    line: int,
    body: str,
    uses: int,
    left: bool,
    facts: Iterable[Fact],
    markers: Markers,
    commit: Commit | None,
) -> NewFact:
    name = full.rpartition(".")[2]
    word = name.removeprefix("is_").removeprefix("use_")
    mine = markers.facts.get(word)
    if not left:
        evidence = "the facts decide it: the output has no such function any more"
        return NewFact("predicate", full, path, line, uses, evidence, False, commit)
    match = _OURS.search(body)
    if mine is None and match is not None:
        evidence = f"it reads `{match[0]}`, so it is about a platform that stays"
        return NewFact("predicate", full, path, line, uses, evidence, False, commit)
    batches = Counter(f.batch for f in facts if f.name.rpartition(".")[0] == full.rpartition(".")[0])
    batch = mine or min(batches, key=lambda b: (-batches[b], b))
    evidence = f"it stands beside the platform predicates and reads nothing of the kept platform: `{body}`"
    why = f"came with {commit}" if commit else "came after the pin"
    # `false` is proposed only for what certainly asks for another platform
    certain = mine is not None or _THEIRS.search(body) is not None
    proposal = Proposal("fact", batch, why, key="predicates", text=full) if certain else None
    return NewFact("predicate", full, path, line, uses, evidence, True, commit, proposal)


def platform_methods(old: Snapshot, new: Snapshot, output: Snapshot) -> list[NewFact]:
    """`current_platform.is_x` and the like that upstream did not use before, where the output has them."""
    before = set(_methods(old))
    new_facts: list[NewFact] = []
    for name, places in _methods(output).items():
        if name not in before and any(path in new for path, _ in places):
            path, line = places[0]
            evidence = (
                f"a question to the platform object in {len({p for p, _ in places})} files of the output"
            )
            new_facts.append(NewFact("platform", name, path, line, len(places), evidence, True, None))
    return new_facts


def choices(old: Surface, new: Surface, manifest: Manifest, output: Surface) -> list[NewFact]:
    """New choices of an option, and new members of a registry or enum, beside a value that is absent.

    A value that came in several places is one.
    """
    absent = {v for b in manifest.batches for o in b.options for v in o.values if isinstance(v, str)}
    places_by_value: dict[str, list[tuple[Key, Place, list[str]]]] = {}
    for key, place, value, beside in (
        *_choices(old, new, output, absent),
        *_members(old, new, output, absent, manifest),
    ):
        places_by_value.setdefault(value, []).append((key, place, beside))
    return [_value(value, places) for value, places in sorted(places_by_value.items())]


def _value(value: str, places: list[tuple[Key, Place, list[str]]]) -> NewFact:
    where = list(dict.fromkeys(key.group if key.kind == "registry" else key.name for key, _, _ in places))
    beside = list(dict.fromkeys(name for _, _, names in places for name in names))
    more = f" and {len(where) - 4} more" if len(where) > 4 else ""
    evidence = f"a new value of {', '.join(where[:4])}{more}, beside {', '.join(beside[:4])}"
    place = places[0][1]
    return NewFact("choice", value, place.path, place.line, len(places), evidence, True, None)


_Found = tuple[Key, Place, str, list[str]]


def _choices(old: Surface, new: Surface, output: Surface, absent: set[str]) -> Iterator[_Found]:
    for key, item in output.items():
        was, upstream, now = old.get(key), new.get(key), item.details.get("choices")
        if was is None or upstream is None or not isinstance(now, tuple):
            continue
        before, after = was.details.get("choices"), upstream.details.get("choices")
        if isinstance(before, tuple) and isinstance(after, tuple):
            beside = sorted({v for v in (*before, *after) if isinstance(v, str) and v in absent})
            for value in now if beside else ():
                if isinstance(value, str) and value not in before and value not in absent:
                    yield key, item.places[0], value, beside


def _members(
    old: Surface, new: Surface, output: Surface, absent: set[str], manifest: Manifest
) -> Iterator[_Found]:
    owners = {a.name.rpartition(".")[0] for b in manifest.batches for a in b.absent if a.kind == "symbol"}
    groups: dict[str, list[str]] = {}
    for key in old:
        if key.kind == "registry":
            groups.setdefault(key.group, []).append(key.name)
    for key, item in output.items():
        if key.kind != "registry" or key in old or key not in new or key.group not in groups:
            continue
        beside = sorted({name for name in groups[key.group] if name.lower() in absent})
        if beside or key.group in owners:
            yield key, item.places[0], key.name, beside or ["one that is absent"]


def _functions(data: bytes, path: str) -> Mapping[str, tuple[int, str]]:
    """Top-level functions without parameters: line, and the body on one line."""
    try:
        module = parse(data, path)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    functions = {}
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            if not (arguments.args or arguments.posonlyargs or arguments.vararg or arguments.kwarg):
                body = "; ".join(" ".join(ast.unparse(s).split()) for s in node.body)
                functions[node.name] = (node.lineno, body if len(body) < 120 else body[:119] + "…")
    return functions


def _words(output: Snapshot) -> Iterator[str]:
    for path in output:
        if path.endswith(".py"):
            text = output[path].decode("utf-8", "replace")
            yield from re.findall(
                r"\b(?:is|use|has|supports?)_\w+|\b\w+_(?:available|supported|support)\b", text
            )


def _methods(snapshot: Snapshot) -> dict[str, list[tuple[str, int]]]:
    counts: dict[str, list[tuple[str, int]]] = {}
    for path in snapshot:
        data = snapshot[path]
        if not path.endswith(".py") or b"platform" not in data:
            continue
        for match in _METHOD.finditer(data):
            name = f"{match[1].decode()}.{match[2].decode()}"
            counts.setdefault(name, []).append((path, data.count(b"\n", 0, match.start()) + 1))
    return dict(sorted(counts.items()))


def _came(path: str, name: str, history: History) -> Commit | None:
    """The commit that added a name to a file."""
    word = re.compile(rb"\b" + name.encode() + rb"\b")
    return culprit.wrote(path, lambda data: word.search(data) is not None, history)
