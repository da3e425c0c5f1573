"""TOML edits: what leaves, what comes, and that every other byte stays."""

from __future__ import annotations

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import Mark
from builder.manifest.statements import TomlEdit
from builder.overlay.toml import edit

SOURCE = """\
# head
[project]
name = "x"   # the name
dependencies = [
  "Grpc_IO==1.75.1", # keep with the compiler
  # about b
  "b[extra]>=2 ; python_version > '3'",

  "c",
  "d==1"
]
one = ["p", "q", "r"]
license = { file = "LICENSE", kind = "text" }

[project.optional-dependencies]
grpc = ["g"]
# about all
all = ["x[grpc]"]

[tool.a.b]
k = '''
[not.a.table]
'''

# about z
[tool.z]
[[tool.z.item]]
n = 1
"""


def change(op: str, key: str, value: object = None, **more: object) -> TomlEdit:
    return TomlEdit("p.toml", op, key, value, "b", "why", mark=Mark("manifest.yaml", 3, 1), **more)  # type: ignore[arg-type]


def after(source: str, *edits: TomlEdit) -> str:
    data, problems, records = edit("p.toml", source.encode(), edits)
    assert problems == [] and len(records) == len(edits)
    return data.decode()


def codes(source: str, *edits: TomlEdit) -> list[str]:
    data, problems, _ = edit("p.toml", source.encode(), edits)
    assert data == source.encode()
    return [p.code for p in problems]


def test_a_requirement_leaves_by_its_normalised_name_with_its_comment() -> None:
    expected = SOURCE.replace('  "Grpc_IO==1.75.1", # keep with the compiler\n', "")
    assert after(SOURCE, change("remove", "project.dependencies", "grpc-io")) == expected


def test_a_comment_that_heads_only_the_item_leaves_with_it() -> None:
    expected = SOURCE.replace("  # about b\n  \"b[extra]>=2 ; python_version > '3'\",\n", "")
    assert after(SOURCE, change("remove", "project.dependencies", "b")) == expected


def test_the_last_item_leaves_without_touching_the_others() -> None:
    assert after(SOURCE, change("remove", "project.dependencies", "d")) == SOURCE.replace('  "d==1"\n', "")


def test_items_of_one_line_leave_with_their_comma() -> None:
    for item, left in (("p", '["q", "r"]'), ("q", '["p", "r"]'), ("r", '["p", "q"]')):
        expected = SOURCE.replace('["p", "q", "r"]', left)
        assert after(SOURCE, change("remove", "project.one", item)) == expected
    assert after('a = ["p", "p"]\n', change("remove", "a", "p")) == "a = []\n"
    assert after('a = ["q", "p", "p"]\n', change("remove", "a", "p")) == 'a = ["q"]\n'
    assert (
        after("a = [\n  'p',\n  'q',\n]\n", change("remove", "a", "p"), change("remove", "a", "q"))
        == "a = [\n]\n"
    )


def test_keys_leave_alone_in_inline_tables_and_as_tables() -> None:
    expected = SOURCE.replace('name = "x"   # the name\n', "")
    assert after(SOURCE, change("remove", "project.name")) == expected
    expected = SOURCE.replace('{ file = "LICENSE", kind = "text" }', '{ file = "LICENSE" }')
    assert after(SOURCE, change("remove", "project.license.kind")) == expected
    expected = SOURCE.replace('{ file = "LICENSE", kind = "text" }', '{ kind = "text" }')
    assert after(SOURCE, change("remove", "project.license.file")) == expected
    expected = SOURCE.replace("[tool.a.b]\nk = '''\n[not.a.table]\n'''\n\n", "")
    assert after(SOURCE, change("remove", "tool.a.b")) == expected
    expected = SOURCE.replace("# about z\n[tool.z]\n[[tool.z.item]]\nn = 1\n", "").rstrip("\n") + "\n"
    assert after(SOURCE, change("remove", "tool.z")) == expected
    expected = SOURCE.replace('# about all\nall = ["x[grpc]"]\n', "")
    assert after(SOURCE, change("remove", "project.optional-dependencies.all")) == expected


def test_values_are_set_and_keys_added() -> None:
    text = after(SOURCE, change("set", "project.name", "ä"), change("set", "tool.a.b.n", [1, 2]))
    assert 'name = "ä"   # the name\n' in text
    assert tomlkit.parse(text)["tool"]["a"]["b"]["n"] == [1, 2]  # type: ignore[index]
    assert text.replace('"ä"', '"x"').replace("n = [1, 2]\n", "") == SOURCE


def test_items_are_added_in_the_manner_of_the_array() -> None:
    assert '  "d==1",\n  "e"\n]' in after(SOURCE, change("add", "project.dependencies", "e"))
    assert '["p", "q", "r", "s"]' in after(SOURCE, change("add", "project.one", "s"))
    assert after("a = [\n  1, # one\n]\n", change("add", "a", 2)) == "a = [\n  1, # one\n  2,\n]\n"
    assert after("a = []\n", change("add", "a", "x")) == 'a = ["x"]\n'


def test_line_ends_are_kept() -> None:
    source = SOURCE.replace("\n", "\r\n")
    expected = source.replace('  "d==1"\r\n', "")
    assert after(source, change("remove", "project.dependencies", "d")) == expected
    assert '"d==1",\r\n  "e"\r\n]' in after(source, change("add", "project.dependencies", "e"))


def test_what_is_not_there_is_a_problem_with_a_hint() -> None:
    data, problems, _ = edit("p.toml", SOURCE.encode(), [change("remove", "project.dependencies", "gprc-io")])
    assert data == SOURCE.encode()
    assert [p.code for p in problems] == ["R004"] and "`grpc_io`" in (problems[0].hint or "")
    _, problems, _ = edit("p.toml", SOURCE.encode(), [change("remove", "project.dependancies")])
    assert [p.code for p in problems] == ["R005"] and "`dependencies`" in (problems[0].hint or "")
    assert codes(SOURCE, change("set", "nothing.here", 1), change("add", "project.name", "x")) == [
        "R005",
        "R005",
    ]
    assert codes(SOURCE, change("add", "project.one", "p")) == ["R004"]
    assert codes("a = [\n", change("remove", "a")) == ["R005"]
    assert codes(SOURCE, change("remove", "a..b")) == ["M004"]


def test_optional_edits_tolerate_absence() -> None:
    absent = [
        change("remove", "project.dependencies", "zz", optional="old"),
        change("remove", "project.zz", optional="old"),
    ]
    assert edit("p.toml", SOURCE.encode(), absent)[:2] == (SOURCE.encode(), [])


def test_a_name_is_no_prefix() -> None:
    source = 'a = ["grpcio-tools==1", "grpcio==1", "x[grpcio]"]\n'
    assert after(source, change("remove", "a", "grpcio")) == 'a = ["grpcio-tools==1", "x[grpcio]"]\n'


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
    text = after(source, change("remove", "a", gone))
    assert tomlkit.parse(text)["a"].unwrap() == [v for v in values if v != gone]
    assert text.startswith("# c\na = [") and text.endswith("]\n\n[t]\nb = 1 # x\n")


def test_an_item_can_leave_for_another_in_its_place() -> None:
    item = change("remove", "project.dependencies", "b", by="b[extra]>=2,<3")
    data, problems, records = edit("p.toml", SOURCE.encode(), [item])
    assert not problems and len(records) == 1
    old = "\"b[extra]>=2 ; python_version > '3'\""
    assert data.decode() == SOURCE.replace(old, '"b[extra]>=2,<3"')
    gone = change("remove", "project.dependencies", "absent", by="x", optional="not everywhere")
    assert edit("p.toml", SOURCE.encode(), [gone]) == (SOURCE.encode(), [], [])
