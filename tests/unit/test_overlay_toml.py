"""An item leaves any array of TOML, and every other byte stays; `edits/toml.yaml` shows the edits of TOML."""

from __future__ import annotations

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import Mark
from builder.manifest.statements import TomlEdit
from builder.overlay.toml import edit


def change(op: str, key: str, value: object = None, **more: object) -> TomlEdit:
    return TomlEdit("p.toml", op, key, value, "b", "why", mark=Mark("manifest.yaml", 3, 1), **more)  # type: ignore[arg-type]


def after(source: str, *edits: TomlEdit) -> str:
    data, problems, records = edit("p.toml", source.encode(), edits)
    assert problems == [] and len(records) == len(edits)
    return data.decode()


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
