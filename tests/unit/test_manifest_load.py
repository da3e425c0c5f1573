"""The manifest as a whole: every fault at its place, all faults in one run, and the values it gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_text import HEAD, REPOSITORY, manifest, places, problems, schema

from builder.errors import BuildError, Mark
from builder.manifest.load import load, parse
from builder.manifest.model import Absent, Edit, Fact, Option, Patch, Rule, TomlEdit, WholeFile
from builder.manifest.switches import switch_off
from builder.pipeline.specialization_memo import digest_of
from builder.report import render
from builder.specialize.evaluating.facts import Facts

#: HEAD has 11 lines: what follows it starts on line 12.
NEXT = HEAD.count("\n") + 1
BATCH = "batches:\n  - id: one\n    why: because\n"


def batch(lines: str) -> str:
    return HEAD + BATCH + "".join(f"    {line}\n" for line in lines.splitlines())


def at(column: int, line: int = 3) -> tuple[int, int]:
    return (NEXT + line, column)


# the schema itself


def test_the_schema_is_draft_7_and_valid() -> None:
    jsonschema.Draft7Validator.check_schema(dict(schema()))


def _mappings(node: Any, where: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield where, node
        for key, child in node.items():
            yield from _mappings(child, f"{where}/{key}")
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _mappings(child, f"{where}/{index}")


def test_every_mapping_of_the_schema_is_closed() -> None:
    for where, node in _mappings(schema()):
        kinds = node.get("type", [])
        if "object" in ([kinds] if isinstance(kinds, str) else kinds):
            assert "additionalProperties" in node, where
            assert node["additionalProperties"] is not True, where


def test_every_field_of_the_schema_has_a_description() -> None:
    for where, node in _mappings(schema()):
        if not where.endswith("/properties"):
            continue
        for name, field in node.items():
            target: Any = schema() if "$ref" in field else field
            for step in field["$ref"].split("/")[1:] if "$ref" in field else ():
                target = target[step]
            assert target.get("description"), f"{where}/{name}"


# what a manifest gives


def test_the_top_level_is_the_batch_base() -> None:
    it = manifest("keep: [python/]\nfacts: {predicates: {pkg.is_x: false}}\nbatches: [{id: a, why: b}]\n")
    assert [b.id for b in it.batches] == ["base", "a"]
    assert it.batches[0].rules == (Rule("python/", "keep", "base", Mark("manifest.yaml", NEXT, 8)),)
    assert it.batches[0].facts[0].batch == "base"


def test_rules_of_a_batch_stand_in_the_order_in_which_they_decide() -> None:
    it = parse(
        batch(
            "keep: [python/a/b]\nprune: [{path: python/c/, optional: later}]\nremove: [python/a/]"
        ).encode(),
        "manifest.yaml",
        {},
        schema(),
    )
    rules = it.batches[1].rules
    assert [(r.verdict, r.pattern) for r in rules] == [
        ("remove", "python/a/"),
        ("prune", "python/c/"),
        ("keep", "python/a/b"),
    ]
    assert rules[1].optional == "later"
    assert rules[1].mark == Mark("manifest.yaml", NEXT + 4, 20)


def test_facts_know_whether_their_value_is_exact() -> None:
    text = """\
facts:
  predicates: {a.b: false, a.c: truthy, a.d: {value: falsy, optional: an example}}
  values: {torch.version.hip: null}
  environment: {USE_X: "0"}
  attributes: [torch.xpu]
  pure: [get_flag]
  environment_readers: [a.b.get_flag, {name: get_number, optional: an example}]
  quiet_imports: [torch, google.protobuf]
  bases: {torch.nn.Module: [forward, train]}
  defaults: {torch.compile: {disable: false}}
  options: [{names: ["*backend*"], absent: [fa3, 4, 0.5, "0.5"]}]
batches: []
"""
    facts = manifest(text).batches[0].facts
    assert [(f.kind, f.name, f.value, f.exact) for f in facts] == [
        ("predicate", "a.b", False, True),
        ("predicate", "a.c", True, False),
        ("predicate", "a.d", False, False),
        ("value", "torch.version.hip", None, True),
        ("environment", "USE_X", "0", True),
        ("default", "torch.compile:disable", False, True),
        ("attribute", "torch.xpu", False, True),
        ("pure", "get_flag", True, True),
        ("environment-reader", "a.b.get_flag", True, True),
        ("environment-reader", "get_number", True, True),
        ("quiet-import", "torch", True, True),
        ("quiet-import", "google.protobuf", True, True),
        ("base", "torch.nn.Module", "forward train", True),
    ]
    known = Facts.of(manifest(text))
    assert known.environment_readers == {"a.b.get_flag", "get_number"}
    assert known.quiet_imports == {"torch", "google.protobuf"}
    assert facts[2].optional == "an example"
    assert facts[1] == Fact("predicate", "a.c", True, Mark("manifest.yaml", NEXT + 1, 28), "base", False)
    options = manifest(text).batches[0].options
    assert options == (
        Option(("*backend*",), ("fa3", 4, 0.5, "0.5"), Mark("manifest.yaml", NEXT + 10, 13), "base"),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1.0),
        ("0.10", 0.1),
        ("-2.5", -2.5),
        ("+.5", 0.5),
        ("3.", 3.0),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("1", 1),
        ('"1.0"', "1.0"),
        ("{value: 1.0, optional: later}", 1.0),
        ('{value: "1.0"}', "1.0"),
        ("1.2.3", "1.2.3"),
        ("007.5", "007.5"),
        ("1_0.5", "1_0.5"),
        ("|-\n      1.0", "1.0"),
        ('"off"', "off"),
        ('"truthy"', "truthy"),
    ],
)
@pytest.mark.parametrize("kind", ["predicates", "values", "environment"])
def test_a_fact_has_the_number_that_it_states(kind: str, text: str, value: object) -> None:
    (fact,) = manifest(f"facts:\n  {kind}:\n    a: {text}\nbatches: []\n").batches[0].facts
    assert (fact.value, type(fact.value), fact.exact) == (value, type(value), True)


def test_numbers_that_are_not_equal_in_kind_are_different_facts() -> None:
    digests = set()
    for text in ("1", "1.0", "true", '"1.0"', "truthy"):
        digests.add(digest_of(Facts.of(manifest(f"facts: {{predicates: {{a.f: {text}}}}}\nbatches: []\n"))))
    assert len(digests) == 5
    text = "facts: {predicates: {a.f: 1}}\n" + BATCH + "    facts: {predicates: {a.f: 1.0}}\n"
    assert [p.code for p in problems(HEAD + text)] == ["M011"]


def test_an_absent_value_is_of_the_kind_that_is_stated() -> None:
    text = 'facts: {options: [{names: [x], absent: [1, 0.5, "2"]}, {names: [x], among: [a]}]}\nbatches: []\n'
    facts = Facts.of(manifest(text))
    values = (1, 1.0, True, 0.5, "0.5", "2", 2, "a", None)
    assert [v for v in values if facts.option_absent(["x"], v)] == [1, 0.5, "0.5", "2"]
    assert not facts.option_absent(["y"], 1)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", ".NaN", "1e999", "-1.0e400"])
def test_a_number_that_is_not_finite_is_refused(text: str) -> None:
    for line in (
        f"facts: {{predicates: {{a.f: {text}}}}}",
        f"facts: {{defaults: {{a.f: {{key: {{value: {text}}}}}}}}}",
        f"facts: {{options: [{{names: [x], absent: [{text}]}}]}}",
    ):
        (problem,) = problems(HEAD + line + "\nbatches: []\n")
        assert (problem.code, problem.message) == ("M004", f"`{text}` is not a finite number.")
        assert problem.mark == Mark("manifest.yaml", NEXT, line.index(text) + 1)


@pytest.mark.parametrize(
    "text", ["yes", "No", "ON", "off", "maybe", "none", "None", "NULl", "tRUE", "fALSE", "Truthy"]
)
def test_a_word_that_reads_like_another_value_must_be_quoted(text: str) -> None:
    (problem,) = problems(HEAD + f"facts: {{predicates: {{a.f: {text}}}}}\nbatches: []\n")
    assert (problem.code, problem.message) == ("M004", f"`{text}` would be the text `{text}`.")
    assert problem.hint is not None
    assert "truthy" in problem.hint
    assert "quote" in problem.hint
    assert not problems(HEAD + f"facts: {{predicates: {{a.f: '{text}'}}}}\nbatches: []\n")


def test_every_verb_of_an_edit_becomes_its_kind() -> None:
    text = batch("""\
drop: [a.B, {name: a.C, why: w, count: 2, optional: o}]
stub: [a.f]
edits:
  - {set: a.X, to: "[1, 2]"}
  - {drop_import: torch.npu, in: a}
  - {drop_entry: '"npu": f', in: a.T, count: 2}
  - {drop_statement: f(), in: a.g}
  - {replace: x or y, by: x, in: a.g}
  - {body: a.h, from: overlays/h.py}""")
    edits = parse(text.encode(), "m", {"overlays/h.py": b"pass\n"}, schema()).batches[1].edits
    assert [(e.kind, e.target, e.match, e.by, e.count, e.why) for e in edits] == [
        ("drop", "a.B", None, None, 1, "because"),
        ("drop", "a.C", None, None, 2, "w"),
        ("stub", "a.f", None, None, 1, "because"),
        ("set", "a.X", None, "[1, 2]", 1, "because"),
        ("drop-import", "a", "torch.npu", None, 1, "because"),
        ("drop-entry", "a.T", '"npu": f', None, 2, "because"),
        ("drop-statement", "a.g", "f()", None, 1, "because"),
        ("replace", "a.g", "x or y", "x", 1, "because"),
        ("body", "a.h", None, "overlays/h.py", 1, "because"),
    ]
    assert edits[1] == Edit("drop", "a.C", Mark("m", NEXT + 3, 24), "one", "w", count=2, optional="o")


def test_files_patches_and_anchored_edits_are_read() -> None:
    blob = "a" * 40
    text = batch(f"""\
files: [{{path: python/x.py, from: overlays/x.py, preimage: [{blob}]}}]
patches: [{{from: overlays/p.patch, why: no other way}}]
toml: [{{file: python/pyproject.toml, remove: project.dependencies, value: grpcio}}]
anchored: [{{file: k/a.cc, statement: 'm.def("f'}}]
absent: {{modules: [aiter], symbols: [{{name: a.B, optional: o}}]}}""")
    made = parse(text.encode(), "m", {"overlays/x.py": b"", "overlays/p.patch": b""}, schema()).batches[1]
    line = NEXT + 3
    assert made.files == (
        WholeFile("python/x.py", "overlays/x.py", (blob,), Mark("m", line, 13), "one", "because"),
    )
    assert made.patches == (Patch("overlays/p.patch", "no other way", Mark("m", line + 1, 15), "one"),)
    toml = TomlEdit(
        "python/pyproject.toml",
        "remove",
        "project.dependencies",
        "grpcio",
        Mark("m", line + 2, 12),
        "one",
        "because",
    )
    assert made.toml == (toml,)
    assert (made.anchored[0].kind, made.anchored[0].anchor) == ("statement", 'm.def("f')
    assert made.absent == (
        Absent("module", "aiter", Mark("m", line + 4, 24), "one"),
        Absent("symbol", "a.B", Mark("m", line + 4, 49), "one", "o"),
    )


def test_the_digest_follows_every_input_and_nothing_else() -> None:
    text = batch("files: [{path: python/x.py, from: overlays/x.py}]").encode()
    one = parse(text, "manifest.yaml", {"overlays/x.py": b"1"}, schema())
    assert one.digest == parse(text, "other.yaml", {"overlays/x.py": b"1"}, schema()).digest
    assert (
        one.digest == parse(text, "m", {"overlays/README.md": b"?", "overlays/x.py": b"1"}, schema()).digest
    )
    assert one.digest != parse(text, "m", {"overlays/x.py": b"2"}, schema()).digest
    assert one.digest != parse(text + b"\n", "m", {"overlays/x.py": b"1"}, schema()).digest
    assert dict(one.overlays) == {"overlays/x.py": b"1"}


SAYS = batch("""\
remove: [python/a/, {path: python/b/, optional: later}]
keep: [python/a/x.py]
facts: {predicates: {a.is_hip: false, a.is_npu: truthy}, values: {a.LIMIT: 0.5}}
files: [{path: python/x.py, from: overlays/x.py}]""")


def statements(text: str, overlay: bytes = b"1") -> str:
    return parse(text.encode(), "manifest.yaml", {"overlays/x.py": overlay}, schema()).statements


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: small\n", "# what it is\n\nname:  small  # in short\n"),
        ("name: small\n", "name: 'small'\n"),
        ("name: small\nlabel: deepseek\n", "label: deepseek\nname: small\n"),
        ("packages: {pkg: python/pkg}", "packages:\n  pkg: python/pkg"),
        ("a.is_hip: false, a.is_npu: truthy", "a.is_npu: truthy, a.is_hip: false"),
        ("[python/a/, {path", "[ python/a/,\n          {path"),
    ],
    ids=["comment", "quotes", "order of keys", "layout", "order of facts", "lines"],
)
def test_what_the_manifest_says_is_the_same_in_another_form(old: str, new: str) -> None:
    assert SAYS.count(old) == 1
    assert statements(SAYS.replace(old, new)) == statements(SAYS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("why: because", "why: because of this"),
        (
            "[python/a/, {path: python/b/, optional: later}]",
            "[{path: python/b/, optional: later}, python/a/]",
        ),
        ("optional: later", "optional: earlier"),
        ("a.is_hip: false", "a.is_hip: true"),
        ("a.is_npu: truthy", "a.is_npu: 'truthy'"),
        ("a.LIMIT: 0.5", "a.LIMIT: '0.5'"),
    ],
    ids=["why", "order of rules", "optional", "value", "quoted truth", "quoted number"],
)
def test_another_statement_is_another_manifest(old: str, new: str) -> None:
    assert SAYS.count(old) == 1
    assert statements(SAYS.replace(old, new)) != statements(SAYS)


def test_an_overlay_is_part_of_what_the_manifest_says() -> None:
    assert statements(SAYS, b"2") != statements(SAYS)


def test_marks_of_any_value_can_be_asked_for() -> None:
    it = manifest()
    assert it.mark("roots", "models", "keep", 0) == Mark("manifest.yaml", 11, 40)
    assert it.mark("roots", "nowhere") == it.mark("roots")


# faults


@pytest.mark.parametrize(
    ("lines", "code", "place", "hint"),
    [
        ("remvoe: [a]", "M005", at(5), "remove"),
        ("remove: [{pth: a}]", "M005", at(15), "path"),
        ("remove: 3", "M004", at(13), None),
        ("remove: [3]", "M004", at(14), None),
        ("drop: [{name: a.b, count: 0}]", "M004", at(31), None),
        ("drop: [{name: a.b, count: two}]", "M004", at(31), None),
        ("drop: [a-b]", "M004", at(12), None),
        ("drop: [a..b]", "M004", at(12), None),
        ('drop: ["a.b\\n"]', "M004", at(12), None),
        ("edits: [{why: nothing}]", "M004", at(13), None),
        ("edits: [{set: a.b, to: x, in: c}]", "M005", at(31), None),
        ("edits: [{set: a.b, drop_import: x, to: y, in: c}]", "M005", at(14), None),
        ("edits: [{replace: x, in: c}]", "M004", at(13), None),
        ("edits: [{set: a.b, to: 'x ('}]", "M004", at(28), None),
        ("edits: [{drop_statement: 'if', in: a}]", "M004", at(30), None),
        ("toml: [{file: a, set: b}]", "M004", at(12), None),
        ("anchored: [{file: a, replace: b}]", "M004", at(16), None),
        ("anchored: [{file: a, command: b, by: c}]", "M005", at(38), None),
        ("files: [{path: /a, from: overlays/x}]", "M007", at(20), None),
        ("files: [{path: a/../../b, from: overlays/x}]", "M007", at(20), None),
        ("files: [{path: a, from: ../x}]", "M007", at(29), None),
        ("files: [{path: a, from: overlays/y}]", "M008", at(29), "overlays/x"),
        ("files: [{path: a, from: src/x.py}]", "M008", at(29), None),
        ("facts: {predicates: {a.b: [1]}}", "M004", at(31), None),
        ("facts: {predicates: {a b: true}}", "M004", at(26), None),
        ("facts: {options: [{names: [], absent: [x]}]}", "M004", at(31), None),
    ],
)
def test_a_fault_in_a_batch_is_told_at_its_place(
    lines: str, code: str, place: tuple[int, int], hint: str | None
) -> None:
    text = batch("patches: [{from: overlays/x, why: used}]\n" + lines)
    matching = [
        p
        for p in problems(text, {"overlays/x": b""})
        if p.mark and (p.code, p.mark.line - 1, p.mark.column) == (code, *place)
    ]
    assert matching, problems(text, {"overlays/x": b""})
    if hint:
        assert hint in (matching[0].hint or "")


def test_a_key_that_is_not_known_is_told_once_with_what_was_meant() -> None:
    (problem,) = problems(HEAD + "batches: []\nguarantes: {}\n")
    assert (problem.code, problem.hint) == ("M005", "did you mean `guarantees`?")


@pytest.mark.parametrize(
    "pins",
    [
        "{commit: 0123}",
        "{commit: 0123456789abcdef0123456789abcdef01234567, sha256: x}",
        "{sdist: 0.5.8}",
        "{sdist: 0.5.8, sha256: x}",
        "{}",
        "{branch: main}",
    ],
)
def test_a_pin_is_a_commit_or_a_release_with_its_digest(pins: str) -> None:
    text = HEAD.replace("{commit: 0123456789abcdef0123456789abcdef01234567}", pins) + "batches: []\n"
    assert {code for code, line, _ in places(text) if line == 7} <= {"M004", "M005"}
    assert places(text)


@pytest.mark.parametrize("url", ["ext::sh -c x", "--upload-pack=x", "/a/b", "https://a b", "ftp://a"])
def test_a_repository_is_a_plain_url(url: str) -> None:
    text = HEAD.replace("https://example.org/up.git", f"'{url}'") + "batches: []\n"
    assert places(text) == [("M004", 4, 15)]


def test_a_default_pin_that_is_not_defined_names_the_one_meant() -> None:
    (problem,) = problems(HEAD.replace("default: seed", "default: sead") + "batches: []\n")
    assert (problem.code, problem.mark) == ("M010", Mark("manifest.yaml", 5, 12))
    assert problem.hint == "did you mean `seed`?"


def test_batch_ids_are_unique_and_base_is_reserved() -> None:
    text = "batches:\n  - {id: a, why: b}\n  - {id: a, why: c}\n  - {id: base, why: d}\n"
    assert places(HEAD + text) == [("M006", NEXT + 2, 10), ("M006", NEXT + 3, 10)]


@pytest.mark.parametrize("what", ["a symbolic link", "a pipe", "a socket", "a device"])
def test_an_overlay_that_is_not_a_regular_file_is_refused(what: str) -> None:
    text = batch("files: [{path: a, from: overlays/x}]")
    (problem,) = problems(text, {}, {"overlays/x": what})
    assert problem.code == "M008"
    assert what in problem.message


def test_an_overlay_that_is_a_folder_is_refused() -> None:
    text = batch("files: [{path: a, from: overlays/x}, {path: b, from: overlays/x/y}]")
    (problem,) = problems(text, {"overlays/x/y": b""})
    assert (problem.code, "folder" in problem.message) == ("M008", True)


def test_an_overlay_that_nothing_uses_is_told_and_a_readme_is_not() -> None:
    (problem,) = problems(HEAD + "batches: []\n", {"overlays/a/x": b"", "overlays/a/README.md": b""})
    assert (problem.code, problem.mark) == ("M009", Mark("overlays/a/x"))


def test_a_misspelt_key_does_not_make_its_overlay_look_unused() -> None:
    text = batch("files: [{path: a, form: overlays/x}]")
    assert {p.code for p in problems(text, {"overlays/x": b""})} == {"M004", "M005"}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("facts: {predicates: {a.b: true}}", "facts: {predicates: {a.b: false}}"),
        ("facts: {predicates: {a.b: true}}", "facts: {predicates: {a.b: truthy}}"),
        ("drop: [a.b]", "stub: [a.b]"),
        ("edits: [{set: a.b, to: '1'}]", "edits: [{set: a.b, to: '2'}]"),
        ("files: [{path: a, from: overlays/x}]", "files: [{path: a, from: overlays/x}]"),
    ],
)
def test_two_batches_that_contradict_each_other_are_told(one: str, two: str) -> None:
    text = f"batches:\n  - id: a\n    why: w\n    {one}\n  - id: b\n    why: w\n    {two}\n"
    found = problems(HEAD + text, {"overlays/x": b""} if "overlays" in one else {})
    assert [(p.code, p.mark.line if p.mark else 0) for p in found] == [("M011", NEXT + 6)]
    assert f"line {NEXT + 3}" in found[0].message


def test_one_batch_cannot_remove_and_keep_the_same_pattern() -> None:
    assert [code for code, _, _ in places(batch("remove: [a/b]\nkeep: [a/b]"))] == ["M011"]


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[z-a]", "(?P<a>x)(?P<a>y)", "a**"])
def test_a_regular_expression_that_is_none_is_told(pattern: str) -> None:
    text = f"batches: []\nguarantees:\n  absent_text:\n    - {{pattern: '{pattern}', in: ['python/**']}}\n"
    assert places(HEAD + text) == [("M004", NEXT + 3, 17)]


def test_all_faults_of_every_kind_are_told_in_one_run() -> None:
    text = batch("""\
remove: [../x, a, {path: b, optinal: c}]
remove: [c]
drop: [a-b]
files: [{path: p, from: overlays/none}]
facts: {predicates: {a.b: &anchor true}}
edits: [{set: a.b, to: ')'}]""").replace("default: seed", "default: sead")
    codes = [code for code, _, _ in places(text + "  - {id: one, why: again}\n")]
    assert sorted(set(codes)) == ["M002", "M003", "M004", "M005", "M006", "M007", "M008", "M010"]


def test_an_alias_draws_no_second_complaint() -> None:
    text = batch("remove: &r [a]\nkeep: *r")
    assert {code for code, _, _ in places(text)} == {"M003"}


@pytest.mark.parametrize("text", ["[]", "text", "3", "- a\n- b\n"])
def test_a_manifest_that_is_no_mapping_is_one_clear_fault(text: str) -> None:
    (problem,) = problems(text)
    assert problem.code == "M004"
    assert "must be a mapping" in problem.message


_names = st.sampled_from(
    [*schema()["properties"], *schema()["definitions"]["batch"]["properties"], "set", "name", "path", "x"]
)
_junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "a", "a.b", "../x", "overlays/x", "(", "base"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=25,
)


@settings(deadline=None)
@given(_junk, _names)
def test_no_data_makes_the_loader_raise_anything_but_coded_problems(data: object, key: str) -> None:
    import json

    text = HEAD + json.dumps({key: data})[1:-1].replace('":', '": ', 1) + "\n"
    for problem in problems(text):
        assert problem.message.endswith(".")


# files


def folder(root: Path, text: str = HEAD + "batches: []\n") -> Path:
    (root / "manifest.yaml").write_text(text)
    (root / "overlays").mkdir()
    return root / "manifest.yaml"


def test_a_manifest_is_loaded_with_its_overlays(tmp_path: Path) -> None:
    path = folder(tmp_path, batch("files: [{path: a, from: overlays/p/x.py}]"))
    (tmp_path / "overlays/p").mkdir()
    (tmp_path / "overlays/p/x.py").write_bytes(b"x\r\n")
    (tmp_path / "overlays/p/__pycache__").mkdir()
    (tmp_path / "overlays/p/__pycache__/x.pyc").write_bytes(b"")
    it = load(path)
    assert dict(it.overlays) == {"overlays/p/x.py": b"x\r\n"}
    assert it.file == "manifest.yaml"
    assert it.text == path.read_text()


@pytest.mark.parametrize("target", ["../manifest.yaml", "README.md", "x", "/etc/hostname"])
def test_an_overlay_that_is_a_link_is_refused_wherever_it_leads(tmp_path: Path, target: str) -> None:
    path = folder(tmp_path, batch("files: [{path: a, from: overlays/x}]"))
    (tmp_path / "overlays/README.md").write_text("")
    (tmp_path / "overlays/x").symlink_to(target)
    with pytest.raises(BuildError) as caught:
        load(path)
    assert [p.code for p in caught.value.problems] == ["M008"]


def test_a_pipe_among_the_overlays_does_not_block(tmp_path: Path) -> None:
    path = folder(tmp_path)
    os.mkfifo(tmp_path / "overlays/pipe")
    with pytest.raises(BuildError) as caught:
        load(path)
    assert "a pipe" in caught.value.problems[0].message


def test_an_overlay_that_is_too_big_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.manifest.load.MAX_OVERLAY_BYTES", 3)
    path = folder(tmp_path, batch("files: [{path: a, from: overlays/x}, {path: b, from: overlays/y}]"))
    (tmp_path / "overlays/x").write_bytes(b"1234")
    (tmp_path / "overlays/y").write_bytes(b"123")
    with pytest.raises(BuildError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert (problem.code, "overlays/x" in problem.message) == ("M008", True)


def test_an_overlay_whose_name_is_not_utf_8_is_told_and_not_a_crash(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "overlays" / os.fsdecode(b"\xff.py")).write_bytes(b"")
    with pytest.raises(BuildError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert problem.code == "M009"
    assert render(problem, {}).encode()


def test_a_manifest_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").symlink_to("/dev/zero")
    with pytest.raises(BuildError) as caught:
        load(tmp_path / "manifest.yaml")
    assert [p.code for p in caught.value.problems] == ["M001"]


def test_a_folder_of_overlays_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x").write_text("")
    (tmp_path / "manifest.yaml").write_text(batch("files: [{path: a, from: overlays/x}]"))
    (tmp_path / "overlays").symlink_to("real")
    with pytest.raises(BuildError) as caught:
        load(tmp_path / "manifest.yaml")
    assert {p.code for p in caught.value.problems} == {"M008"}


def test_a_manifest_that_is_not_there_is_a_coded_fault(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(BuildError) as caught:
            load(path)
        assert [p.code for p in caught.value.problems] == ["M001"]


def test_batches_are_switched_off_by_id_and_unknown_ids_are_told() -> None:
    it = manifest("batches: [{id: awq, why: a}, {id: gguf, why: b}]\n")
    assert [b.id for b in switch_off(it, ["awq"]).batches] == ["base", "gguf"]
    with pytest.raises(BuildError) as caught:
        switch_off(it, ["awk", "base"])
    assert [(p.code, p.hint) for p in caught.value.problems] == [
        ("M006", None),
        ("M006", "did you mean `awq`?"),
    ]


def test_reading_the_module_imports_no_heavy_library() -> None:
    code = "import sys, builder.manifest.load; print(*({'jsonschema', 'yaml'} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""
