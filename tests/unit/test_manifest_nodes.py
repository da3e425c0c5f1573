"""YAML read as plain data with marks: a strict subset, and every departure from it has a place."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import Mark
from builder.manifest.nodes import Findings, Node, read


def doc(text: str | bytes) -> Node:
    return read(text.encode() if isinstance(text, str) else text, "m.yaml", Findings())


def found(text: str | bytes) -> list[tuple[str, int, int]]:
    places = []
    for problem in doc(text).findings.problems:
        assert problem.mark is not None
        places.append((problem.code, problem.mark.line, problem.mark.column))
    return places


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("12:30:00", "12:30:00"),
        ("2026-01-11", "2026-01-11"),
        ("1e3", "1e3"),
        ("0o17", "0o17"),
        ("0x1f", "0x1f"),
        ("007", "007"),
        ("0.10", "0.10"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("1" * 40, "1" * 40),
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("'true'", "true"),
        ('"12"', "12"),
        ("''", ""),
        ("|\n  12\n", "12\n"),
    ],
)
def test_scalars_mean_what_yaml_1_2_says_and_doubtful_ones_stay_text(text: str, value: object) -> None:
    read_value = doc(f"key: {text}").data["key"]
    assert read_value == value
    assert type(read_value) is type(value)


def test_every_value_and_key_keeps_its_place() -> None:
    document = doc("a:\n  - {b: 1}\n  - c\n'd': x\n")
    assert document.data == {"a": [{"b": 1}, "c"], "d": "x"}
    assert document.nearest(("a", 0, "b")).mark == Mark("m.yaml", 2, 9)
    assert document.nearest(("a", 1)).mark == Mark("m.yaml", 3, 5)
    assert document.nearest(("a", 0, "b")).key_mark == Mark("m.yaml", 2, 6)
    assert document.nearest(("d",)).key_mark == Mark("m.yaml", 4, 1)


def test_a_path_that_is_not_there_has_the_mark_of_its_nearest_ancestor() -> None:
    assert doc("a:\n  b: 1\n").nearest(("a", "x", 3)).mark == Mark("m.yaml", 2, 3)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\na: 2\n", ("M002", 2, 1)),
        ("x:\n  - b: 1\n    b: {c: {d: 1}}\n", ("M002", 3, 5)),
        ("true: 1\n'true': 2\n", ("M002", 2, 1)),
        ("a: &x 1\n", ("M003", 1, 4)),
        ("a: *x\n", ("M003", 1, 4)),
        ("a:\n  <<: {b: 1}\n", ("M003", 2, 3)),
        ("a: !!python/object:os.system x\n", ("M003", 1, 4)),
        ("a: !mine [1]\n", ("M003", 1, 4)),
        ("a: ! 1\n", ("M003", 1, 4)),
        ("a: 1\n---\nb: 2\n", ("M003", 2, 1)),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", ("M003", 1, 1)),
        ("a:\n\t- b\n", ("M001", 2, 1)),
        ("a: [1, 2\nb: 3\n", ("M001", 2, 2)),
        ("a: 'x\n", ("M001", 2, 1)),
        ("? [a]\n: b\n", ("M001", 1, 3)),
        ("", ("M001", 1, 1)),
        ("# only a comment\n", ("M001", 1, 1)),
        ("---\n~\n", ("M001", 1, 1)),
        ("a: 1\nb: \x07\n", ("M001", 2, 4)),
        (b"a: 1\nb: \xff\n", ("M001", 2, 4)),
        ("[" * 10_000, ("M001", 1, 65)),
        ("a: " + "{a: " * 10_000, ("M001", 1, 4 + 4 * 63)),
    ],
)
def test_what_is_refused_is_refused_at_its_place(text: str | bytes, place: tuple[str, int, int]) -> None:
    assert found(text) == [place]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: 1\nbatches: []  # none\n# such as\n  - id: x\n", "take `[]` out of line 2"),
        ("batches:\n  - id: x\nlast: {a: 1}\n  - id: y\n", "under `batches`"),
        ("a:\n  b: 1\n c: 2\n", "indent this line"),
    ],
)
def test_what_is_not_yaml_is_answered_with_what_to_do(text: str, hint: str) -> None:
    (problem,) = doc(text).findings.problems
    assert hint in str(problem.hint)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_named_and_not_guessed(encoding: str) -> None:
    (problem,) = doc("name: é\n".encode(encoding)).findings.problems
    assert problem.code == "M001"
    assert "UTF-16" in problem.message


def test_a_byte_order_mark_moves_no_column() -> None:
    assert doc(b"\xef\xbb\xbfa: b\n").nearest(("a",)).mark == Mark("m.yaml", 1, 4)


def test_windows_line_ends_count_as_one() -> None:
    assert doc("a: 1\r\nb: 2\r\n").nearest(("b",)).key_mark == Mark("m.yaml", 2, 1)


def test_an_alias_bomb_is_never_expanded() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    document = doc("\n".join(lines))
    assert {p.code for p in document.findings.problems} == {"M003"}
    assert document.data["a59"] == [None, None]
    assert document.nearest(("a59", 0)).unknown


def test_an_alias_of_itself_is_only_an_alias() -> None:
    assert doc("a: &a [*a]\n").data == {"a": [None]}


def test_all_problems_before_a_syntax_error_are_told_with_it() -> None:
    assert found("a: &x 1\na: 2\nb: [\n") == [("M003", 1, 4), ("M002", 2, 1), ("M001", 4, 1)]


def test_ten_megabytes_are_refused_unread() -> None:
    (problem,) = doc(b"a: [\n" * 2_000_000).findings.problems
    assert problem.code == "M001"
    assert "more than 2,000,000 bytes" in problem.message


def test_more_values_than_anyone_writes_are_refused() -> None:
    (problem,) = doc("a: [" + "1," * 300_000 + "]").findings.problems
    assert problem.code == "M001"
    assert "values" in problem.message


_plain = st.text(st.sampled_from("abz é"), min_size=1).map(str.strip).filter(bool)
_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.text(st.sampled_from("ab:#'\"\n -é1"), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_plain, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_plain, _data, min_size=1, max_size=4))
def test_what_a_yaml_writer_writes_is_read_back(data: dict[str, object]) -> None:
    text = yaml.dump(data, Dumper=_NoAliases, allow_unicode=True, default_style='"')
    text = text.replace('!!int "', '"').replace('!!bool "', '"').replace('!!null "', '"')
    document = doc(text)
    assert document.findings.problems == []
    assert document.data == _as_text(data)


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _as_text(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


@given(st.text(st.sampled_from("ab:-#'\"\n\t []{}&*!|>%?,<~é\x00\x85\ufeff"), max_size=60))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    document = doc(text)
    assert document.data is not None or document.findings.problems
