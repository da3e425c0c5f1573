"""The pages of `edits/` show a file before and after edits, in the words of the manifest, or what is wrong.

A case has statements of a batch and the file `before` them; it says `after`, or what of it is `gone` or
`replaced`, and the `problems`: for each its code, and texts of its message and hint. Of `tries`, each is a
case that has the rest in common. A file with problems stays as it is, unless `after` is there. `removed`: a
rule of batch `gone` removes the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from gate_worlds import snapshot
from manifest_text import manifest

from builder.errors import BuildError, Mark
from builder.manifest.statements import Rule
from builder.overlay import toml
from builder.overlay.locate import resolve
from builder.pipeline.overlay import Overlaid, overlay

#: The file that the cases of a page edit where they name none.
FILES = {"python": "python/pkg/mod.py", "toml": "p.toml", "native": "x.cc"}
KINDS = ("drop", "stub", "edits", "toml", "anchored")


def _cases() -> Iterator[Any]:
    for name, file in FILES.items():
        page = Path(__file__).parent / f"edits/{name}.yaml"
        for case in yaml.load(page.read_text("utf-8"), yaml.CSafeLoader):
            for number, each in enumerate(case.get("tries", [{}]), 1):
                title = f"{name}: {case['name']}" + (f" ({number})" if "tries" in case else "")
                yield pytest.param({"file": file, **case, **each}, id=title)


def done(case: Mapping[str, Any]) -> Overlaid:
    """The file after the statements, and what is wrong with them; each change has its record."""
    path, before = case["file"], _bytes(case["before"])
    batch = {kind: case[kind] for kind in KINDS if kind in case}
    for statement in [*batch.get("toml", []), *batch.get("anchored", [])]:
        statement.setdefault("file", path)
    overlays = {name: _bytes(data) for name, data in case.get("overlays", {}).items()}
    rest = yaml.dump({"batches": [{"id": "one", "why": "because", **batch}]}, sort_keys=False)
    upstream = snapshot({path: before})
    try:
        stated = manifest(rest, overlays)
    except BuildError as error:
        return Overlaid({path: before}, problems=list(error.problems))
    removed = {path: Rule(path, "remove", "gone", mark=Mark("m"))} if case.get("removed") else {}
    found = overlay(upstream, upstream.tree.keys() - removed, removed, stated)
    if found.waiting:
        found.edited(path, toml.edit(path, found.current[path], found.waiting))
    if not found.problems:
        statements = [each if isinstance(each, dict) else {} for each in chain(*batch.values())]
        wanted = sum(each.get("count", 1) for each in statements if "optional" not in each)
        assert len(found.records) == wanted
    return found


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


@pytest.mark.parametrize("case", list(_cases()))
def test_an_edit_does_what_its_page_shows(case: Mapping[str, Any]) -> None:
    wanted = case["before"]
    gone = {case["gone"]: ""} if case.get("gone") else {}
    for old, new in {**gone, **case.get("replaced", {})}.items():
        assert wanted.count(old) == 1, old
        wanted = wanted.replace(old, new)
    found = done(case)
    assert [p.code for p in found.problems] == [code for code, *_ in case.get("problems", [])], found.problems
    for problem, (_, *texts) in zip(found.problems, case.get("problems", []), strict=True):
        assert [text for text in texts if text not in f"{problem.message} {problem.hint}"] == [], problem
        assert problem.nothing is case.get("nothing", problem.nothing)
    if not case.get("removed"):
        assert found.current[case["file"]] == _bytes(case.get("after", wanted))


def edits(before: str, *statements: str) -> Overlaid:
    return done({"file": FILES["python"], "before": before, "edits": list(map(yaml.safe_load, statements))})


def test_a_name_resolves_to_its_longest_module() -> None:
    files = {"python/pkg/__init__.py", "python/pkg/a.py", "python/pkg/a/b.py", "lib/other/__init__.py"}
    packages = {"pkg": "python/pkg", "other": "lib/other"}
    target = resolve("pkg.a.b.C.m:x", packages, files)
    assert target is not None
    found = (target.file, target.module, target.path, target.parameter)
    assert found == ("python/pkg/a/b.py", "pkg.a.b", ("C", "m"), "x")
    above = resolve("pkg.a.C", packages, files)
    assert above is not None and (above.file, above.path) == ("python/pkg/a.py", ("C",))
    package = resolve("other.name", packages, files)
    assert package is not None and package.file == "lib/other/__init__.py"
    assert resolve("elsewhere.name", packages, files) is None


def test_contradicting_edits_name_each_other() -> None:
    found = edits("X = 1\n", "{set: pkg.mod.X, to: '2'}", "{replace: '1', by: '3', in: pkg.mod}")
    (problem,) = found.problems
    assert problem.code == "M011" and problem.mark is not None and problem.mark.line == 18
    assert "manifest.yaml:16:" in problem.message


def test_records_hold_the_hashes_of_the_source_text() -> None:
    used = "X = 1\n\n\ndef f():\n    return 'ä', g\n"
    text = "def f():\n    return 'ä', g"
    found = edits(used, "{replace: \"'ä', g\", by: g(), in: pkg.mod.f}", "{set: pkg.mod.X, to: '2'}",
                  "{add_import: pkg.m.g, in: pkg.mod}")  # fmt: skip
    replaced, assigned, added = found.records
    digests = [hashlib.sha256(each).hexdigest() for each in ("'ä', g".encode(), b"g()", b"1", b"2")]
    assert [replaced.before, replaced.after, assigned.before, assigned.after] == digests
    assert (replaced.line, replaced.file, replaced.batch) == (5, FILES["python"], "one")
    assert (added.kind, added.before) == ("add-import", None)
    (dropped,) = done({"file": FILES["python"], "before": used, "drop": ["pkg.mod.f"]}).records
    assert (dropped.before, dropped.after) == (hashlib.sha256(text.encode()).hexdigest(), None)
