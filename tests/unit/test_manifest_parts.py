"""One manifest in several files: what each may hold, how they add up, and that a fault names its file."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from manifest_text import HEAD, REPOSITORY, manifest, problems, schema

from builder.errors import BuildError, Mark
from builder.lift.insert import Proposal, apply_all
from builder.manifest.load import load, read_texts
from builder.manifest.model import Manifest
from builder.manifest.statements import Span
from builder.report import render

BATCHES = """\
keep: [python/]
batches:
  - id: one
    why: because
    remove: [python/a/]
    keep: ["python/a/b*"]
    facts: {predicates: {pkg.is_a: false}, defaults: {pkg.f: {x: 1}}, bases: [out.Base]}
    drop: [pkg.m.first]
    edits: [{drop_entry: a, in: pkg.m}]
  - {id: two, why: another}
kernel:
  distributions: [small-kernel]
guarantees:
  absent_text:
    - {pattern: hip, in: ["**/*.py"], except: [{path: a.py, why: A message.}]}
"""
EDITS = """\
# comment
drop: [pkg.m.second]
stub:
  - {name: pkg.m.gone, why: It has nothing to call.}
edits:
  - {drop_entry: b, in: pkg.m}
files:
  - {path: python/new.py, from: overlays/one/new.py}
"""
FACTS = """\
remove: [python/a/b.py, python/old/]
facts: {predicates: {pkg.was_a: false}, defaults: {pkg.f: {y: 2}}, bases: [out.Other]}
"""
BASE = """\
keep: [old/]
facts: {values: {pkg.OLD: 1}}
kernel:
  remove: [{path: old.so, batch: one}]
guarantees:
  absent_text:
    - {pattern: hip, except: [{path: old.py, why: An old message.}]}
  dependencies: [{name: oldest, why: It was needed.}]
"""
SCOPE = "kept:\n  - {id: K1, what: Something, decision: Kept., batches: [one]}\n"
ONE, ROWS = "overlays/one/edits.yaml", "docs/scope.yaml"
ITS, TOP = "overlays/one/facts.yaml", "overlays/base/facts.yaml"


def parts(edits: str = EDITS, facts: str = FACTS, base: str = BASE) -> dict[str, bytes]:
    texts = {ONE: edits, ITS: facts, TOP: base, "overlays/one/new.py": ""}
    return {path: text.encode() for path, text in texts.items()}


def whole() -> Manifest:
    return manifest(BATCHES, parts(), SCOPE)


def found(
    edits: str = EDITS,
    facts: str = FACTS,
    base: str = BASE,
    text: str = HEAD + BATCHES,
    scope: str = SCOPE,
) -> list[tuple[str, str, int, int]]:
    """Code, file, line and column of each problem."""
    told = problems(text, parts(edits, facts, base), scope=scope)
    return [(p.code, p.mark.file, p.mark.line, p.mark.column) for p in told if p.mark is not None]


def test_within_a_batch_come_its_own_statements_then_those_of_its_files() -> None:
    base, one, two = whole().batches
    assert [(e.kind, e.target, e.match, e.mark.file) for e in one.edits] == [
        ("drop", "pkg.m.first", None, "manifest.yaml"),
        ("drop", "pkg.m.second", None, ONE),
        ("stub", "pkg.m.gone", None, ONE),
        ("drop-entry", "pkg.m", "a", "manifest.yaml"),
        ("drop-entry", "pkg.m", "b", ONE),
    ]
    assert {e.why for e in one.edits if e.kind == "drop"} == {"because"}
    assert one.files[0].mark == Mark(ONE, 8, 5)
    # an exception of the batch holds for what its facts remove, too
    assert [(r.verdict, r.pattern) for r in one.rules] == [
        ("remove", "python/a/"),
        ("remove", "python/a/b.py"),
        ("remove", "python/old/"),
        ("keep", "python/a/b*"),
    ]
    assert [r.pattern for r in base.rules] == ["python/", "old/"]
    assert [f.name for f in base.facts] == ["pkg.OLD"]
    assert [(f.name, f.value) for f in one.facts if f.kind != "predicate"] == [
        ("pkg.f:x", 1),
        ("pkg.f:y", 2),
        ("out.Base", True),
        ("out.Other", True),
    ]
    assert two.edits == ()


def test_the_facts_of_the_top_add_exceptions_requirements_and_members_of_the_wheel() -> None:
    it = whole()
    (text,) = it.guarantees.absent_text
    assert [(e.path, e.mark.file) for e in text.exceptions] == [("a.py", "manifest.yaml"), ("old.py", TOP)]
    assert [d.name for d in it.guarantees.dependencies] == ["oldest"]
    assert it.kernel is not None
    assert [(r.pattern, r.why) for r in it.kernel.remove] == [("old.so", "because")]


def test_what_stands_in_one_file_means_the_same_in_its_parts() -> None:
    split = manifest(
        "batches: [{id: one, why: x}]\n", {ONE: b"drop: [a.b]\ntoml: [{file: p.toml, remove: a}]\n"}
    )
    one = manifest("batches: [{id: one, why: x, drop: [a.b], toml: [{file: p.toml, remove: a}]}]\n")
    assert [(e.kind, e.target, e.why) for e in split.batches[1].edits] == [("drop", "a.b", "x")]
    assert [e.target for e in one.batches[1].edits] == [e.target for e in split.batches[1].edits]
    assert [t.key for t in one.batches[1].toml] == [t.key for t in split.batches[1].toml]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"edits": "drop: [pkg.m.a, 3]\n"}, ("M004", ONE, 1, 17)),
        ({"edits": "drop: [a.b]\ndrop: [a.c]\n"}, ("M002", ONE, 2, 1)),
        ({"edits": "drop: &x [a.b]\n"}, ("M003", ONE, 1, 7)),
        ({"edits": "drop: [a.b\n"}, ("M001", ONE, 2, 1)),
        ({"edits": "# nothing\n"}, ("M001", ONE, 1, 1)),
        ({"edits": "edits: [{set: a.b, to: (}]\n"}, ("M004", ONE, 1, 24)),
        ({"edits": "why: no\ndrop: [a.b]\n"}, ("M005", ONE, 1, 1)),
        ({"edits": "dorp: [a.b]\ndrop: [a.b]\n"}, ("M005", ONE, 1, 1)),
        ({"edits": "words: [a]\ndrop: [a.b]\n"}, ("M005", ONE, 1, 1)),
        ({"facts": "drop: [a.b]\nremove: [x/]\n"}, ("M005", ITS, 1, 1)),
        ({"facts": "remove: [/a/b, /..]\n"}, ("M007", ITS, 1, 16)),
        ({"facts": "words: [a, {word: b, since: 1}]\n"}, ("M004", ITS, 1, 29)),
        ({"base": "label: x\n"}, ("M005", TOP, 1, 1)),
        ({"base": "kernel: {distributions: [x]}\n"}, ("M005", TOP, 1, 10)),
        ({"base": "guarantees: {present: [x]}\n"}, ("M005", TOP, 1, 14)),
        ({"base": "keep: [/a/b, /..]\n"}, ("M007", TOP, 1, 14)),
        (
            {"base": "guarantees: {absent_text: [{pattern: hop, except: [{path: x, why: y}]}]}\n"},
            ("M012", TOP, 1, 38),
        ),
        ({"base": "kernel: {remove: [{path: x, batch: tow}]}\n"}, ("M006", TOP, 1, 36)),
        ({"scope": "kept: [{id: K1}]\n"}, ("M004", ROWS, 1, 8)),
        ({"scope": SCOPE.replace("one", "tow")}, ("M006", ROWS, 2, 5)),
        ({"text": HEAD + BATCHES + "scope: {kept: []}\n"}, ("M005", "manifest.yaml", 27, 1)),
    ],
)
def test_a_fault_names_the_file_the_line_and_the_column(
    change: dict[str, str], place: tuple[str, str, int, int]
) -> None:
    assert place in found(**change)
    assert {where[1] for where in found(**change)} <= {place[1], "overlays/one/new.py"}


def test_the_faults_of_all_files_are_told_in_one_run() -> None:
    told = found("drop: [3]\n", "keep: [3]\n", "keep: [3]\n", HEAD + BATCHES + "nme: x\n", "kept: [3]\n")
    assert {(code, file) for code, file, _, _ in told} >= {
        ("M004", ONE),
        ("M004", ITS),
        ("M004", TOP),
        ("M004", ROWS),
        ("M005", "manifest.yaml"),
    }
    broken = found("drop: [", "keep: [", "keep: [", "batches: [", "kept: [")
    assert {(code, file) for code, file, _, _ in broken} == {
        ("M001", file) for file in (ONE, ITS, TOP, ROWS, "manifest.yaml")
    }


def test_a_key_that_belongs_to_another_file_is_told_where_it_goes() -> None:
    (moved,) = problems(HEAD + "batches: []\nscope: {kept: []}\n")
    assert moved.message == "The key `scope` does not belong here."
    assert moved.hint == f"write it in {ROWS}"
    (reason,) = problems(HEAD + BATCHES, parts(facts="why: x\nremove: [x/]\n"))
    assert reason.hint == "write it in manifest.yaml"
    (edit,) = problems(HEAD + BATCHES, parts(facts="drop: [a.b]\nremove: [x/]\n"))
    assert edit.hint == f"write it in {ONE}"


def test_what_the_manifest_states_alone_may_stand_in_the_facts() -> None:
    configuration = "{of: [one], types: [one], objects: [c], keys: [k]}"
    facts = f"models: pkg.models.is_large\nfacts: {{configuration: {configuration}}}\n"
    split = manifest("batches: [{id: one, why: x}]\n", {ITS: facts.encode()}).batches[1]
    assert [(m.kind, m.name, m.mark) for m in split.models] == [
        ("architectures", "pkg.models.is_large", Mark(ITS, 1, 9))
    ]
    assert split.configuration is not None and split.configuration.keys == ("k",)


@pytest.mark.parametrize(
    ("name", "hint"), [("twoo", "did you mean `two`?"), ("base", "there is no batch `base`")]
)
def test_edits_in_a_folder_that_is_no_batch_are_an_overlay_that_nobody_uses(name: str, hint: str) -> None:
    (problem,) = problems(HEAD + BATCHES, {f"overlays/{name}/edits.yaml": b"drop: [a.b]\n"})
    assert (problem.code, problem.mark) == ("M009", Mark(f"overlays/{name}/edits.yaml"))
    assert hint in (problem.hint or "")


def test_an_overlay_that_only_edits_elsewhere_name_is_not_told_as_unused() -> None:
    files = {"overlays/twoo/edits.yaml": b"files: [{path: a, from: overlays/twoo/a.py}]\n"}
    (problem,) = problems(HEAD + BATCHES, {**files, "overlays/twoo/a.py": b""})
    assert problem.code == "M009"


def test_a_part_of_the_manifest_is_no_overlay() -> None:
    (problem,) = problems(HEAD + BATCHES, {ONE: f"patches: [{{from: {ONE}, why: x}}]\n".encode()})
    assert (problem.code, problem.mark) == ("M008", Mark(ONE, 1, 18))
    assert "part of the manifest itself" in problem.message


def test_a_contradiction_between_files_names_the_other_file() -> None:
    (problem,) = problems(HEAD + BATCHES, {ONE: b"stub: [pkg.m.first]\n"})
    assert (problem.code, problem.mark) == ("M011", Mark(ONE, 1, 8))
    assert "in manifest.yaml:" in problem.message


def test_every_part_counts_for_the_digest() -> None:
    digests = {
        whole().digest,
        manifest(BATCHES, parts(), SCOPE + "# more\n").digest,
        manifest(BATCHES, parts(), None).digest,
        manifest(BATCHES, parts(edits=EDITS + "# more\n"), SCOPE).digest,
        manifest(BATCHES, parts(facts=FACTS + "# more\n"), SCOPE).digest,
        manifest(BATCHES, parts(base=BASE + "# more\n"), SCOPE).digest,
        manifest(BATCHES + "# more\n", parts(), SCOPE).digest,
    }
    assert len(digests) == 7
    assert set(whole().texts) == {"manifest.yaml", ONE, ITS, TOP, ROWS}
    assert set(whole().overlays) == {"overlays/one/new.py"}


def folder(home: Path, edits: str = EDITS) -> Path:
    (home / "manifest.yaml").write_text(HEAD + BATCHES)
    for path, data in {**parts(edits), ROWS: SCOPE.encode()}.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    return home / "manifest.yaml"


def test_the_parts_are_found_beside_the_manifest_and_an_excerpt_comes_from_its_file(tmp_path: Path) -> None:
    it = load(folder(tmp_path))
    assert it == whole()
    path = folder(tmp_path, "drop: [pkg.m.second, 3]\n")
    with pytest.raises(BuildError) as caught:
        load(path)
    (problem,) = (p for p in caught.value.problems if p.code == "M004")
    shown = render(problem, read_texts(path))
    assert f"{ONE}:1:22" in shown and "drop: [pkg.m.second, 3]\n" in shown and "^" in shown


@pytest.mark.parametrize("part", [ONE, ITS, TOP, ROWS])
def test_a_part_that_is_a_link_is_refused(tmp_path: Path, part: str) -> None:
    path = folder(tmp_path)
    (tmp_path / part).rename(tmp_path / "elsewhere")
    (tmp_path / part).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BuildError) as caught:
        load(path)
    assert [(p.code, p.mark) for p in caught.value.problems] == [("M008", Mark(part))]


def test_a_proposal_changes_the_file_that_it_is_about() -> None:
    it = whole()
    past = next(rule for rule in it.batches[1].rules if rule.pattern == "python/old/")
    stub = next(e for e in it.batches[1].edits if e.kind == "stub")
    texts = apply_all(
        it.texts,
        it.file,
        [
            Proposal("until", "one", past.mark),
            Proposal("moved", "one", stub.mark, text="pkg.n.gone"),
            Proposal("rule", "one", key="remove", text="python/c/"),
            Proposal("until", "one", Mark("overlays/none/edits.yaml", 1, 1)),
        ],
        Span(since="0.5.10", until="0.5.9"),
    )
    assert "overlays/none/edits.yaml" not in texts
    assert "  - {name: pkg.n.gone, why: It has nothing to call., since: 0.5.10}\n" in texts[ONE]
    # a new rule stands with the facts of its batch
    rules = "{path: python/old/, until: 0.5.9}, {path: python/c/, since: 0.5.10}"
    assert f"remove: [python/a/b.py, {rules}]" in texts[ITS]
    assert texts["manifest.yaml"] == it.texts[it.file]
    assert texts[ROWS] == SCOPE


def test_a_batch_without_facts_gets_a_file_for_them() -> None:
    it = whole()
    proposals = [
        Proposal("rule", "two", key="remove", text="python/d/"),
        Proposal("rule", "two", key="remove", text="python/e/"),
        Proposal("fact", "two", key="predicates", text="pkg.is_d"),
    ]
    texts = apply_all(it.texts, it.file, proposals, Span(since="0.5.10", until="0.5.9"))
    new = texts["overlays/two/facts.yaml"]
    assert new.startswith("# yaml-language-server: ") and yaml.safe_load(new) == {
        "remove": [{"path": f"python/{name}/", "since": "0.5.10"} for name in "de"],
        "facts": {"predicates": {"pkg.is_d": {"value": False, "since": "0.5.10"}}},
    }
    again = manifest(BATCHES, {**parts(), "overlays/two/facts.yaml": new.encode()})
    assert [rule.pattern for rule in again.batches[2].rules] == ["python/d/", "python/e/"]


def test_the_manifest_is_a_page_without_versions() -> None:
    text = (REPOSITORY / "manifest.yaml").read_text()
    assert len(text.splitlines()) <= 400
    assert [key for key in ("since:", "until:", "optional:") if key in text] == []


def test_each_kind_of_file_has_a_schema_that_says_what_the_loader_says() -> None:
    store = {}
    for name in ("manifest", "edits", "facts", "base", "scope"):
        store[f"{name}.schema.json"] = json.loads((REPOSITORY / f"schema/{name}.schema.json").read_bytes())
    assert store["manifest.schema.json"] == schema()
    for name, text in (("edits", EDITS), ("facts", FACTS), ("base", BASE), ("scope", SCOPE)):
        (reference,) = store[f"{name}.schema.json"]["allOf"]
        file, _, steps = reference["$ref"].partition("#/")
        part = store[file]
        for step in steps.split("/"):
            part = part[step]
        validator = jsonschema.Draft7Validator(dict(schema())).evolve(schema=part)
        assert list(validator.iter_errors(yaml.safe_load(text))) == []
        assert list(validator.iter_errors({"why": "x"})) != []


def test_every_file_of_the_manifest_is_narrow_and_names_its_schema() -> None:
    for file, text in load(REPOSITORY / "manifest.yaml").texts.items():
        home = (REPOSITORY / file).parent
        head = text.splitlines()[0].partition("$schema=")[2]
        assert (home / head).is_file(), file
        # the source of a statement stands as upstream has it
        wide = [row for row in text.splitlines() if len(row) > 120 and not row.startswith("      ")]
        assert wide == [], file
    assert all(len(row) <= 120 for row in (REPOSITORY / "manifest.yaml").read_text().splitlines())
