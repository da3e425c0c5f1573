"""Code that is new in an upstream and looks like a fact that the manifest does not state yet."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from builder.analysis.surface_diff import Surfaces
from builder.errors import Mark
from builder.graph.names import path_of
from builder.lift.evidence import Markers
from builder.lift.finding import Finding, ask, plain
from builder.lift.history import since
from builder.lift.insert import Proposal
from builder.lift.statements import most_common, shorten
from builder.lift.trial import Sides
from builder.manifest.model import Manifest
from builder.pipeline.answers.answer import listed, plural
from builder.source.parse import parse_leniently
from builder.surface.model import Item, Surface
from builder.tree import Snapshot

_NAMED = re.compile(r"_?(?:is|use|has|support|supports)_\w+|\w+_(?:available|supported|support)")
_USED = re.compile(r"\b(?:is|use|has|supports?)_\w+|\b\w+_(?:available|supported|support)\b")
_METHOD = re.compile(rb"\b(\w*platform\w*)(?:\(\))?\.(is_\w+|device_name|supports_\w+)\b")
#: What a predicate about a removed platform reads.
_THEIRS = re.compile(r"torch\.(?:backends\.)?(?!cuda|cpu|distributed|version\.cuda|version\.__)[a-z]+\b")
#: What a predicate about the kept platform reads.
_OURS = re.compile(r"\bcuda\b|capability|is_cuda|nvidia|\bsm_?\d+|flashinfer|blackwell|hopper", re.I)


def predicates(sides: Sides, markers: Markers) -> Iterator[Finding]:
    """New functions without parameters in the modules that define the manifest's predicates."""
    manifest, output = sides.manifest, sides.output
    facts = [fact for batch in manifest.batches for fact in batch.facts if fact.kind == "predicate"]
    stated = {fact.name for fact in facts}
    batches: dict[str, list[str]] = {}  # of the predicates that a module defines
    for fact in facts:
        batches.setdefault(fact.name.rpartition(".")[0], []).append(fact.batch)
    texts = (output[path].decode("utf-8", "replace") for path in output if path.endswith(".py"))
    uses = Counter(word for text in texts for word in _USED.findall(text))
    for module in sorted(batches):
        for path in path_of(module, manifest.packages) or ():
            before = _functions(sides.old, path)
            for name, (line, body) in _functions(sides.new, path).items():
                full = f"{module}.{name}"
                if name in before or full in stated or not _NAMED.fullmatch(name):
                    continue
                batch = markers.facts.get(name.removeprefix("is_").removeprefix("use_"))
                ours = None if batch is not None else _OURS.search(body)
                if not uses[name]:
                    evidence = "the facts decide it: the output has no such function any more"
                elif ours is not None:
                    evidence = f"it reads `{ours[0]}`, so it is about a platform that stays"
                else:
                    beside = "it stands beside the platform predicates and reads nothing of the kept platform"
                    evidence = f"{beside}: `{body}`"
                is_open = bool(uses[name]) and ours is None
                proposal = None
                # `false` is proposed only for what certainly asks for another platform
                if is_open and (batch is not None or _THEIRS.search(body)):
                    batch = batch or most_common(batches[module])
                    proposal = Proposal("fact", batch, key="predicates", text=full)
                data = {"kind": "predicate", "name": full, "uses": max(0, uses[name] - 1), "open": is_open}
                data["commit"] = sides.history.wrote(path, re.compile(rb"\b%s\b" % name.encode()))
                yield _finding(data, Mark(path, line), evidence, proposal=proposal)


def platform_methods(sides: Sides) -> Iterator[Finding]:
    """`current_platform.is_x` and the like that upstream did not use before, where the output has them."""
    before = _methods(sides.old)
    for name, places in sorted(_methods(sides.output).items()):
        if name not in before and any(path in sides.new for path, _ in places):
            files = len({path for path, _ in places})
            evidence = f"a question to the platform object in {plural(files, 'file')} of the output"
            is_open = _OURS.search(name) is None  # else it asks for a platform that stays
            data = {"kind": "platform", "name": name, "uses": len(places), "open": is_open}
            yield _finding(data, Mark(*places[0]), evidence, ["platform"])


def choices(old: Surface, surfaces: Surfaces, manifest: Manifest) -> Iterator[Finding]:
    """New choices of an option, and new members of a registry or enum, beside a value that is absent.

    A value that came in several places is one.
    """
    new, output = surfaces.before, surfaces.after
    absent = {v for b in manifest.batches for o in b.options for v in o.values if isinstance(v, str)}
    owners = {a.name.rpartition(".")[0] for b in manifest.batches for a in b.absent if a.kind == "symbol"}
    groups: dict[str, list[str]] = {}
    for key in old:
        if key.kind == "registry":
            groups.setdefault(key.group, []).append(key.name)
    by_value: dict[str, list[tuple[Item, list[str]]]] = {}  # where a value came, and what stood there before
    for key, item in output.items():
        if key.kind == "registry" and key not in old and key in new and key.group in groups:
            beside = sorted({name for name in groups[key.group] if name.lower() in absent})
            if beside or key.group in owners:
                by_value.setdefault(key.name, []).append((item, beside or ["one that is absent"]))
        before, after, now = (
            side[key].details.get("choices") if key in side else None for side in (old, new, output)
        )
        if isinstance(before, tuple) and isinstance(after, tuple) and isinstance(now, tuple):
            beside = sorted({v for v in (*before, *after) if isinstance(v, str) and v in absent})
            for value in now if beside else ():
                if isinstance(value, str) and value not in before and value not in absent:
                    by_value.setdefault(value, []).append((item, beside))
    for value, items in sorted(by_value.items()):
        keys = [item.key for item, _ in items]
        homes = list(dict.fromkeys(key.group if key.kind == "registry" else key.name for key in keys))
        names = list(dict.fromkeys(name for _, beside in items for name in beside))
        evidence = f"a new value of {listed(homes, 4)}, beside {', '.join(names[:4])}"
        place = items[0][0].places[0]
        data = {"kind": "choice", "name": value, "uses": len(items), "open": True}
        yield _finding(data, Mark(place.path, place.line), evidence, homes)


def _finding(
    known: dict[str, Any],
    place: Mark,
    evidence: str,
    owners: Sequence[str] = (),
    proposal: Proposal | None = None,
) -> Finding:
    """A new predicate, method of the platform object, or choice of an option.

    `known`: `open` if a person has to state its value, and `uses`: occurrences of its name in the output,
    without its definition. `owners`: the options and registries, or the object, that it belongs to.
    """
    data = {"path": place.file, "line": place.line, "evidence": evidence, "commit": None, **known}
    kind, name = data["kind"], data["name"]
    used = plural(data["uses"], "place" if kind == "choice" else "use")
    if not data["open"]:
        text = f"`{name}` ({place}, {used} in the output{since(data['commit'])}): {evidence}."
        return Finding("facts", "New facts, without doubt", text, data)
    causes = [f"{kind}:{owner}" for owner in owners] + ([f"text:{plain(name)}"] if kind == "choice" else [])
    text = f"`{name}` came and has {used} in the output: {evidence}."
    question = ask("L002", f"{kind}:{name}", text, "state it under `facts`", place, causes=tuple(causes))
    return Finding("facts", "", text, data, question, (proposal,) if proposal else ())


def _functions(snapshot: Snapshot, path: str) -> Mapping[str, tuple[int, str]]:
    """Top-level functions without parameters: line, and the body on one line."""
    functions = {}
    for node in parse_leniently(snapshot.get(path, b""), path).tree.body:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            if not (arguments.args or arguments.posonlyargs or arguments.vararg or arguments.kwarg):
                text = "; ".join(map(ast.unparse, node.body))
                functions[node.name] = (node.lineno, shorten(text, 120))
    return functions


def _methods(snapshot: Snapshot) -> Mapping[str, list[tuple[str, int]]]:
    """The questions to platform objects, each with the paths and lines where it stands."""
    places: dict[str, list[tuple[str, int]]] = {}
    for path in snapshot:
        data = snapshot[path]
        for match in _METHOD.finditer(data) if path.endswith(".py") and b"platform" in data else ():
            name = f"{match[1].decode()}.{match[2].decode()}"
            places.setdefault(name, []).append((path, data.count(b"\n", 0, match.start()) + 1))
    return places
