"""Every fault of a manifest at its place, all faults in one run; and a schema that is closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_text import HEAD, NEXT, at, batch, places, problems, schema

from builder.errors import Mark
from builder.manifest.checks import repeated
from builder.manifest.nodes import Findings, read


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


@pytest.mark.parametrize(
    ("text", "line", "first"),
    [
        ("remove:\n  - a/\n  - b/\n  - a/\n", 4, 2),
        ("keep: [a, b, a]\n", 1, 1),
        ("edits:\n  - {set: a, by: '1'}\n  - by: '1'\n    set: a\n", 3, 2),
        ("batches:\n  - {id: x, remove: [a, a]}\n", 2, 2),
        ("keep: [a]\nremove: [a, 1, '1', true, [a], {a: 1}, {a: 2}, 0.5, '0.5']\n", None, None),
        ("toml: [{set: x, value: [a, a]}]\n", None, None),  # what an edit writes may repeat itself
    ],
)
def test_an_item_that_its_list_has_already_is_told_with_the_line_of_the_first(
    text: str, line: int | None, first: int | None
) -> None:
    document = read(text.encode(), "manifest.yaml", Findings())
    assert document.findings.problems == []
    told = [(line, f"This item of the list is already on line {first}.")] if line else []
    assert [(p.mark.line, p.message) for p in repeated(document) if p.mark is not None] == told


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


@pytest.mark.parametrize(
    ("models", "code", "words"),
    [
        ("[]", "M004", "holds nothing"),
        ("two", "M004", "not written as it should be"),  # one model is a list too
        ("[two/three]", "M004", "not written as it should be"),
        ("[{nam: two}]", "M005", "`nam` is not known"),
        ("{name: two}", "M004", "must be a list or text"),
    ],
)
def test_models_are_checked_by_the_schema(models: str, code: str, words: str) -> None:
    text = HEAD + f"facts: {{values: {{a.b: {{value: null, models: {models}}}}}}}\nbatches: []\n"
    found = problems(text)
    assert any(p.code == code and words in p.message for p in found), found


def test_a_misspelt_key_is_recognised() -> None:
    (problem,) = problems(HEAD + "facts: {values: {a.b: {value: null, model: [two]}}}\nbatches: []\n")
    assert (problem.code, problem.hint) == ("M005", "did you mean `models`?")


@pytest.mark.parametrize("model", ["{name: one, defines: Two}", "{optional: an example}"])
def test_a_model_is_named_in_one_way_only(model: str) -> None:
    (problem,) = problems(HEAD + f"batches:\n  - {{id: a, why: b, models: [{model}]}}\n")
    assert problem.code == "M004"
    keys = "`name`, `architectures`, `defines` or `parameter`"
    assert problem.message.endswith(f"needs exactly one of the keys {keys}.")


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
