"""The pages of `edits/` show a file before and after edits, in the words of the manifest, or what is wrong.

A case has statements of a batch and the file `before` them; it says `after`, or what of it is `gone` or
`replaced`, and the `problems`: for each its code, and texts of its message and hint. A file with problems
stays as it is, unless `after` is there. `removed`: a rule of batch `gone` removes the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import chain
from typing import Any

import pytest
import tomlkit
import yaml
from gate_worlds import snapshot
from hypothesis import given
from hypothesis import strategies as st
from manifest_text import manifest
from yaml_cases import cases, lacking

from builder.errors import BuildError, Mark
from builder.manifest.statements import Rule, WholeFile
from builder.overlay import toml
from builder.overlay.files import place
from builder.overlay.locate import resolve
from builder.pipeline.overlay import Overlaid, overlay

PAGES = [f"edits/{name}.yaml" for name in ("python", "toml", "native", "files")]
KINDS = ("drop", "stub", "edits", "files", "patches", "toml", "anchored")


def file_of(case: Mapping[str, Any]) -> str:
    """The file of a case; where it names none, its statements say of which kind it is."""
    usual = {"toml": "p.toml", "anchored": "x.cc", "files": "a.py", "patches": "f.txt"}
    return str(case.get("file", next((usual[kind] for kind in usual if kind in case), "python/pkg/mod.py")))


def done(case: Mapping[str, Any]) -> Overlaid:
    """The file after the statements, and what is wrong with them; each change has its record."""
    path, before = (
        file_of(case),
        {file_of(case): _bytes(case["before"])} if case["before"] is not None else {},
    )
    batch = {kind: case[kind] for kind in KINDS if kind in case}
    for kind in ("toml", "anchored"):
        if kind in batch:
            batch[kind] = [{"file": path, **statement} for statement in batch[kind]]
    overlays = {name: _bytes(data) for name, data in case.get("overlays", {}).items()}
    rest = yaml.dump({"batches": [{"id": "one", "why": "because", **batch}]}, sort_keys=False)
    upstream = snapshot(before)
    try:
        stated = manifest(rest, overlays)
    except BuildError as error:
        return Overlaid(before, problems=list(error.problems))
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


@pytest.mark.parametrize("case", list(cases(*PAGES)))
def test_an_edit_does_what_its_page_shows(case: Mapping[str, Any]) -> None:
    wanted = case["before"]
    gone = {case["gone"]: ""} if case.get("gone") else {}
    for old, new in {**gone, **case.get("replaced", {})}.items():
        assert wanted.count(old) == 1, old
        wanted = wanted.replace(old, new)
    found = done(case)
    assert [p.code for p in found.problems] == [code for code, *_ in case.get("problems", [])], found.problems
    said = [f"{p.message} {p.hint}" for p in found.problems]
    assert lacking(said, [texts for _, *texts in case.get("problems", [])]) == [], said
    assert all(p.nothing is case.get("nothing", p.nothing) for p in found.problems)
    if not case.get("removed"):
        after = case.get("after", wanted)
        assert found.current.get(file_of(case)) == (after if after is None else _bytes(after))


def edits(before: str, *statements: str) -> Overlaid:
    return done({"before": before, "edits": list(map(yaml.safe_load, statements))})


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
    assert (replaced.line, replaced.file, replaced.batch) == (5, "python/pkg/mod.py", "one")
    assert (added.kind, added.before) == ("add-import", None)
    (dropped,) = done({"before": used, "drop": ["pkg.mod.f"]}).records
    assert (dropped.before, dropped.after) == (hashlib.sha256(text.encode()).hexdigest(), None)


ITEM = st.sampled_from(['"a"', '"b"', "'c'", '"#"', '"]"', '", "', "'''x'''"])


@given(
    st.lists(st.tuples(ITEM, st.sampled_from(["", " ", "\n  ", " # n, ]\n"])), min_size=1, max_size=5),
    st.booleans(),
    st.data(),
)
def test_any_item_leaves_any_array(parts: list[tuple[str, str]], closed: bool, data: st.DataObject) -> None:
    body = ",".join(item + space for item, space in parts)
    source = f"# c\na = [{body}{',' if closed else ''}]\n\n[t]\nb = 1 # x\n"
    values = tomlkit.parse(source)["a"].unwrap()
    gone = data.draw(st.sampled_from(sorted(set(values))))
    found = done({"before": source, "toml": [{"remove": "a", "value": gone}]})
    text = found.current["p.toml"].decode()
    assert not found.problems and len(found.records) == 1
    assert tomlkit.parse(text)["a"].unwrap() == [v for v in values if v != gone]
    assert text.startswith("# c\na = [") and text.endswith("]\n\n[t]\nb = 1 # x\n")


def test_double_writes_are_reported() -> None:
    items = [
        WholeFile(path, "overlays/b/a.py", (), "b", "why", mark=Mark("manifest.yaml", line, 3))
        for path, line in (("n.py", 5), ("n.py", 9), ("m.py", 5))
    ]
    (problem,) = place(items, {"overlays/b/a.py": b"ours\n"}, {}).problems
    assert problem.code == "M011" and "manifest.yaml:5:3" in problem.message
