"""TOML edits that leave every other byte as it is."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from builder.errors import Mark, Problem
from builder.manifest.statements import TomlEdit
from builder.native.text import TextEdit, apply, decode, encode
from builder.overlay.record import Record, digest
from builder.overlay.tomlspans import Layout, Pair, Path, Table, items, scan, split_key
from builder.spelling import nearest

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)


class _Wrong(Exception):
    def __init__(self, code: str, message: str, hint: str | None = None, absent: bool = False) -> None:
        super().__init__(message)
        self.code, self.hint, self.absent = code, hint, absent


def edit(path: str, data: bytes, edits: Sequence[TomlEdit]) -> tuple[bytes, list[Problem], list[Record]]:
    """Carry out the edits of one file, in order; an edit with a problem changes nothing."""
    if not edits:
        return data, [], []
    changed, problems, records, expected = _in_order(path, data, edits, checked=False)
    try:
        sound = _plain(changed, edits[-1]) == expected
    except _Wrong:
        sound = False
    if not sound:  # find the edit that broke it
        changed, problems, records, _ = _in_order(path, data, edits, checked=True)
    return changed, problems, records


def _in_order(
    path: str, data: bytes, edits: Sequence[TomlEdit], checked: bool
) -> tuple[bytes, list[Problem], list[Record], Any]:
    """The new bytes and their plain data. `checked`: parse the text again after every edit."""
    problems: list[Problem] = []
    records: list[Record] = []
    plain: Any = None
    for item in edits:
        try:
            plain = _plain(data, item) if plain is None else plain
            changed, plain, (line, before, after) = _edit(data, plain, item, checked)
        except _Wrong as wrong:
            if not (item.optional and wrong.absent):
                problems.append(
                    Problem(
                        wrong.code, str(wrong), item.mark, Mark(path), hint=wrong.hint, nothing=wrong.absent
                    )
                )
            continue
        kind = f"toml-{item.op}"
        records.append(
            Record(item.mark, item.batch, item.why, kind, path, line, digest(before), digest(after))
        )
        data = changed
    return data, problems, records, plain


def _edit(
    data: bytes, before: Any, item: TomlEdit, checked: bool
) -> tuple[bytes, Any, tuple[int, str | None, str | None]]:
    """(the new bytes, their plain data, (the line, the text that left, the text that came))."""
    key = split_key(item.key)
    if key is None:
        raise _Wrong("M004", f"`{item.key}` is not a TOML key.")
    layout = scan(decode(data))
    if item.op == "add":
        cuts, expected = _add(layout, key, item, before)
    elif item.op == "set":
        cuts, expected = _set(layout, key, item, before)
    elif item.value is None:
        cuts, expected = _remove_key(layout, key, item, before)
    else:
        cuts, expected = _remove_items(layout, key, item, before)
    changed = encode(apply(layout.scanned, cuts))
    if checked and _plain(changed, item) != expected:
        raise _Wrong("R008", f"`{item.op} {item.key}` cannot be done in place.", "Edit it with a patch.")
    text = layout.scanned.text
    removed_text = "".join(text[c.start : c.end] for c in cuts)
    come = "".join(c.by for c in cuts)
    line = layout.scanned.line(min(c.start for c in cuts))
    return changed, expected, (line, removed_text or None, come or None)


def _remove_key(layout: Layout, key: Path, item: TomlEdit, data: Any) -> tuple[list[TextEdit], Any]:
    _lookup(data, key, item)
    cuts: list[TextEdit] = []
    for table in layout.tables:
        if table.path[: len(key)] == key:
            cuts.append(TextEdit(table.start, _table_end(layout, table)))
    for pair in layout.pairs:
        if pair.path[: len(key)] == key and not any(c.start <= pair.start < c.end for c in cuts):
            cuts.append(_pair_cut(layout, pair))
    if not cuts:
        raise _Wrong("R008", f"`{item.key}` cannot be found in the text.")
    expected = copy.deepcopy(data)
    del _lookup(expected, key[:-1], item)[key[-1]]
    _drop_emptied(expected, key[:-1], layout)
    return sorted(cuts), expected


def _drop_emptied(data: Any, path: Path, layout: Layout) -> None:
    """Tables that exist only through the key that left (`[a.b]` alone defines `a`) leave with it."""
    while path and not _get(data, path) and not any(t.path == path for t in layout.tables):
        if any(p.path == path for p in layout.pairs):
            return
        del _get(data, path[:-1])[path[-1]]
        path = path[:-1]


def _table_end(layout: Layout, table: Table) -> int:
    """Without the comments at the end that head the next table."""
    return table.body + len(layout.scanned.bare[table.body : table.end].rstrip())


def _pair_cut(layout: Layout, pair: Pair) -> TextEdit:
    outer = [p for p in layout.pairs if p.value < pair.start and pair.end < p.end]
    return _member(layout, pair.start, pair.end) if outer else TextEdit(pair.start, pair.end)


def _member(layout: Layout, start: int, end: int) -> TextEdit:
    """The cut of one member of an inline table, with the comma that belongs to it."""
    text = layout.scanned.bare
    after = end + len(text[end:]) - len(text[end:].lstrip())
    if text[after] == ",":
        return TextEdit(start, after + 1 + len(text[after + 1 :]) - len(text[after + 1 :].lstrip()))
    before = len(text[:start].rstrip())
    return TextEdit(before - 1, end) if text[before - 1] == "," else TextEdit(start, end)


def _remove_items(layout: Layout, key: Path, item: TomlEdit, data: Any) -> tuple[list[TextEdit], Any]:
    array = _array(data, key, item)
    pair = _pair(layout, key, item)
    doomed = {index for index, value in enumerate(array) if _is_item(value, item.value)}
    if not doomed:
        texts = [v for v in array if isinstance(v, str)]
        hint = nearest(str(item.value), texts + [n.lower() for n in map(_requirement, texts) if n], most=3)
        raise _Wrong("R004", f"`{item.key}` has no item `{item.value}`.", hint, absent=True)
    expected, spans = copy.deepcopy(data), items(layout.scanned, pair)
    if item.by is not None:
        _array(expected, key, item)[:] = [item.by if i in doomed else v for i, v in enumerate(array)]
        rendered = _render(item, item.by)
        return [TextEdit(*spans[index], rendered) for index in sorted(doomed)], expected
    _array(expected, key, item)[:] = [v for i, v in enumerate(array) if i not in doomed]
    return _item_cuts(layout, spans, doomed), expected


def _item_cuts(layout: Layout, spans: list[tuple[int, int]], doomed: set[int]) -> list[TextEdit]:
    """Removes items with the comma after them; those at the end of a line with the comma before."""
    code, text = layout.scanned.code, layout.scanned.text
    cuts: list[TextEdit] = []
    last = max((i for i in range(len(spans)) if i not in doomed), default=-1)
    for index in sorted(doomed):
        start, end = spans[index]
        if index + 1 < len(spans):
            following = spans[index + 1][0]
            if not text[end:following].strip(", \t"):
                cuts.append(TextEdit(start, following))
                continue
        cuts.append(TextEdit(start, end))
        comma = end + len(code[end:]) - len(code[end:].lstrip())
        if code[comma] == ",":
            cuts.append(TextEdit(comma, comma + 1))
    tail = spans[last][1], spans[-1][1]
    closed = code[tail[1] :].lstrip().startswith(",")
    if 0 <= last < len(spans) - 1 and not closed and "\n" not in text[tail[0] : tail[1]]:
        cuts = [c for c in cuts if c.start < tail[0]] + [TextEdit(*tail)]
    return cuts


def _is_item(value: object, wanted: object) -> bool:
    if type(value) is type(wanted) and value == wanted:
        return True
    if isinstance(value, str) and isinstance(wanted, str) and _NAME.fullmatch(wanted):
        from packaging.utils import canonicalize_name

        name = _requirement(value)
        return name is not None and canonicalize_name(name) == canonicalize_name(wanted)
    return False


def _requirement(value: str) -> str | None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(value).name
    except InvalidRequirement:
        return None


def _add(layout: Layout, key: Path, item: TomlEdit, data: Any) -> tuple[list[TextEdit], Any]:
    array = _array(data, key, item)
    if any(type(v) is type(item.value) and v == item.value for v in array):
        raise _Wrong("R004", f"`{item.key}` already has the item `{item.value}`.")
    pair, text = _pair(layout, key, item), layout.scanned.text
    spans, rendered = items(layout.scanned, pair), _render(item, item.value)
    expected = copy.deepcopy(data)
    _array(expected, key, item).append(copy.deepcopy(item.value))
    if not spans:
        return [TextEdit(pair.value + 1, pair.value + 1, rendered)], expected
    start, end = spans[-1]
    line = text.rfind("\n", 0, start) + 1
    bare = layout.scanned.bare
    comma = bare[end:].lstrip().startswith(",")
    if line <= pair.value or text[line:start].strip():
        at = bare.index(",", end) + 1 if comma else end
        return [TextEdit(at, at, f" {rendered}" if comma else f", {rendered}")], expected
    newline = "\r\n" if "\r\n" in text else "\n"
    stop = text.index("\n", end)
    stop -= text[stop - 1] == "\r"
    cuts = [] if comma else [TextEdit(end, end, ",")]
    if stop >= pair.end:  # the closing bracket stands behind the last item
        stop = bare.index(",", end) + 1 if comma else end
        cuts = []
        newline = newline if comma else f",{newline}"
    more = f"{newline}{text[line:start]}{rendered}{',' if comma else ''}"
    if cuts and stop == end:
        return [TextEdit(end, end, "," + more)], expected
    return [*cuts, TextEdit(stop, stop, more)], expected


def _set(layout: Layout, key: Path, item: TomlEdit, data: Any) -> tuple[list[TextEdit], Any]:
    expected, rendered = copy.deepcopy(data), _render(item, item.value)
    parent = _lookup(expected, key[:-1], item) if len(key) > 1 else expected
    if not isinstance(parent, dict):
        raise _Wrong("R005", f"`{'.'.join(key[:-1])}` is not a table.")
    known = key[-1] in parent
    parent[key[-1]] = copy.deepcopy(item.value)
    if known:
        pair = _pair(layout, key, item)
        return [TextEdit(pair.value, pair.end, rendered)], expected
    homes = [t for t in layout.tables if t.path == key[:-1] and not t.array]
    if not homes:
        message = f"`{'.'.join(key[:-1])}` has no header of its own, so no key can be added."
        raise _Wrong("R005", message)
    at = _table_end(layout, homes[0]) if homes[0].path or homes[0].end else 0
    text = layout.scanned.text
    at = (text + "\n").index("\n", at)
    newline = "\r\n" if "\r\n" in text else "\n"
    at = min(at, len(text))
    at -= text[at - 1 : at] == "\r"
    name = key[-1] if re.fullmatch(r"[A-Za-z0-9_-]+", key[-1]) else f'"{key[-1]}"'
    line = f"{newline if text[:at].strip() else ''}{name} = {rendered}"
    return [TextEdit(at, at, line if text[:at].strip() else line + newline)], expected


def _render(item: TomlEdit, value: object) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        rendered: str = tomlkit.item(value).as_string()
    except (TOMLKitError, ValueError, TypeError):
        raise _Wrong("M004", f"The value of `{item.key}` cannot be written as TOML.") from None
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        rendered = table.as_string()
    return rendered.encode("utf-8").decode("latin-1")


def _plain(data: bytes, item: TomlEdit) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(data.decode("utf-8")).unwrap()
    except UnicodeDecodeError:
        raise _Wrong("R005", f"{item.file} is not UTF-8.") from None
    except TOMLKitError as error:
        raise _Wrong("R005", f"{item.file} is not TOML: {error}.") from None


def _get(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _lookup(data: Any, path: Path, item: TomlEdit) -> Any:
    for index, part in enumerate(path):
        if not isinstance(data, dict) or part not in data:
            known = list(data) if isinstance(data, dict) else []
            message = f"{item.file} has no key `{'.'.join(path[: index + 1])}`."
            raise _Wrong("R005", message, nearest(part, known, most=3), absent=True)
        data = data[part]
    return data


def _array(data: Any, key: Path, item: TomlEdit) -> list[Any]:
    array = _lookup(data, key, item)
    if not isinstance(array, list):
        raise _Wrong("R005", f"`{item.key}` is not an array.")
    return array


def _pair(layout: Layout, key: Path, item: TomlEdit) -> Pair:
    for pair in layout.pairs:
        if pair.path == key:
            return pair
    raise _Wrong("R008", f"`{item.key}` is not written as one value.")
