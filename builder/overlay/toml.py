"""TOML edits that leave every other byte as it is."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from builder.manifest.statements import TomlEdit
from builder.native.text import TextEdit, apply, decode, encode, wide
from builder.overlay.record import Edited, Journal, Wrong
from builder.overlay.tomlspans import Layout, Part, Path, members, scan, split_key
from builder.spelling import nearest

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)


def edit(path: str, data: bytes, edits: Sequence[TomlEdit]) -> Edited:
    """Carry out the edits of one file, in order; an edit with a problem changes nothing."""
    journal = Journal(path)
    plain: Any = None
    for item in edits:
        with journal.attempt(item):
            plain = _plain(data, item) if plain is None else plain
            layout, expected = scan(decode(data)), copy.deepcopy(plain)
            cuts = _cuts(layout, item, expected)
            changed = encode(apply(layout.scanned, cuts))
            if _plain(changed, item) != expected:
                message = f"`{item.op} {item.key}` cannot be done in place."
                raise Wrong("R008", message, hint="Edit it with a patch.")
            text = layout.scanned.text
            before = "".join(text[c.start : c.end] for c in cuts)
            after = "".join(c.by for c in cuts)
            line = layout.scanned.line(min(c.start for c in cuts))
            journal.note(item, f"toml-{item.op}", line, before or None, after or None)
            data, plain = changed, expected
    return Edited(data, journal.problems, journal.records)


def _cuts(layout: Layout, item: TomlEdit, data: Any) -> list[TextEdit]:
    """The edits of the text that carry out one of the data, which is carried out here."""
    key = split_key(item.key)
    if key is None:
        raise Wrong("M004", f"`{item.key}` is not a TOML key.")
    remove = _remove_key if item.value is None else _remove
    return {"add": _add, "set": _set, "remove": remove}[item.op](layout, key, item, data)


def _remove_key(layout: Layout, key: Path, item: TomlEdit, data: Any) -> list[TextEdit]:
    _lookup(data, key, item)
    cuts = [TextEdit(table.start, table.end) for table in layout.tables if table.path[: len(key)] == key]
    for pair in layout.pairs:
        if pair.path[: len(key)] == key and not any(c.start <= pair.start < c.end for c in cuts):
            cuts += _pair_cuts(layout, pair)
    if not cuts:
        raise Wrong("R008", f"`{item.key}` cannot be found in the text.")
    del _lookup(data, key[:-1], item)[key[-1]]
    # tables that exist only through the key that left (`[a.b]` alone defines `a`) leave with it
    named = {table.path for table in layout.tables} | {pair.path for pair in layout.pairs}
    while (key := key[:-1]) and key not in named and not _lookup(data, key, item):
        del _lookup(data, key[:-1], item)[key[-1]]
    return sorted(cuts)


def _pair_cuts(layout: Layout, pair: Part) -> list[TextEdit]:
    """Removes a pair, from an inline table with the comma that belongs to it."""
    span = (pair.start, pair.end)
    for table in layout.pairs:
        if table.value < pair.start and pair.end < table.end:
            spans = members(layout.scanned, table)
            if span in spans:
                return _member_cuts(layout, spans, {spans.index(span)})
    return [TextEdit(*span)]


def _remove(layout: Layout, key: Path, item: TomlEdit, data: Any) -> list[TextEdit]:
    """Removes items of an array, or puts another into their place."""
    array = _array(data, key, item)
    spans = members(layout.scanned, _pair(layout, key, item))
    indexes = {index for index, value in enumerate(array) if _is_item(value, item.value)}
    if not indexes:
        texts = [v for v in array if isinstance(v, str)]
        hint = nearest(str(item.value), texts + [n.lower() for n in map(_requirement, texts) if n], most=3)
        raise Wrong("R004", f"`{item.key}` has no item `{item.value}`.", hint=hint, absent=True)
    if item.by is None:
        array[:] = [v for i, v in enumerate(array) if i not in indexes]
        return _member_cuts(layout, spans, indexes)
    array[:] = [item.by if i in indexes else v for i, v in enumerate(array)]
    rendered = _render(item, item.by)
    return [TextEdit(*spans[index], rendered) for index in sorted(indexes)]


def _member_cuts(layout: Layout, spans: Sequence[tuple[int, int]], indexes: set[int]) -> list[TextEdit]:
    """Removes members with the comma after them; those at the end of a line with the comma before."""
    code, text = layout.scanned.code, layout.scanned.text
    cuts: list[TextEdit] = []
    for index in sorted(indexes):
        start, end = spans[index]
        following = spans[index + 1][0] if index + 1 < len(spans) else len(text)
        if not text[end:following].strip(", \t"):
            cuts.append(TextEdit(start, following))
            continue
        cuts.append(TextEdit(start, end))
        comma = len(code) - len(code[end:].lstrip())
        if code[comma] == ",":
            cuts.append(TextEdit(comma, comma + 1))
    last = max(set(range(len(spans))) - indexes, default=len(spans) - 1)
    tail = TextEdit(spans[last][1], spans[-1][1])
    closed = code[tail.end :].lstrip().startswith(",")
    if tail.start < tail.end and not closed and "\n" not in text[tail.start : tail.end]:
        cuts = [*(c for c in cuts if c.start < tail.start), tail]
    return cuts


def _is_item(value: object, wanted: object) -> bool:
    """Whether an item equals another, or is a requirement of that name."""
    if _equal(value, wanted):
        return True
    name = _requirement(value)
    if not name or not isinstance(wanted, str) or not _NAME.fullmatch(wanted):
        return False
    from packaging.utils import canonicalize_name

    return canonicalize_name(name) == canonicalize_name(wanted)


def _equal(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def _requirement(value: object) -> str | None:
    """The name that a requirement has as it is written; None for anything else."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(value).name if isinstance(value, str) else None
    except InvalidRequirement:
        return None


def _add(layout: Layout, key: Path, item: TomlEdit, data: Any) -> list[TextEdit]:
    array = _array(data, key, item)
    if any(_equal(value, item.value) for value in array):
        raise Wrong("R004", f"`{item.key}` already has the item `{item.value}`.")
    pair, text, bare = _pair(layout, key, item), layout.scanned.text, layout.scanned.bare
    spans, rendered = members(layout.scanned, pair), _render(item, item.value)
    array.append(copy.deepcopy(item.value))
    if not spans:
        return [TextEdit(pair.value + 1, pair.value + 1, rendered)]
    start, end = spans[-1]
    closed = bare[end:].lstrip().startswith(",")
    comma, stop = "" if closed else ",", bare.index(",", end) + 1 if closed else end
    line = text.rfind("\n", 0, start) + 1
    if line <= pair.value or text[line:start].strip():
        return [TextEdit(stop, stop, f"{comma} {rendered}")]
    if "\n" in text[end : pair.end]:
        stop = _line_end(text, end)
    more = f"{_newline(text)}{text[line:start]}{rendered}{',' if closed else ''}"
    if closed or stop == end:
        return [TextEdit(stop, stop, comma + more)]
    return [TextEdit(end, end, comma), TextEdit(stop, stop, more)]


def _set(layout: Layout, key: Path, item: TomlEdit, data: Any) -> list[TextEdit]:
    rendered, parent = _render(item, item.value), _lookup(data, key[:-1], item)
    if not isinstance(parent, dict):
        raise Wrong("R005", f"`{'.'.join(key[:-1])}` is not a table.")
    known = key[-1] in parent
    parent[key[-1]] = copy.deepcopy(item.value)
    if known:
        pair = _pair(layout, key, item)
        return [TextEdit(pair.value, pair.end, rendered)]
    home = next((table for table in layout.tables if table.path == key[:-1]), None)
    if home is None:
        message = f"`{'.'.join(key[:-1])}` has no header of its own, so no key can be added."
        raise Wrong("R005", message)
    text = layout.scanned.text
    at, newline = _line_end(text, home.end), _newline(text)
    name = key[-1] if re.fullmatch(r"[A-Za-z0-9_-]+", key[-1]) else f'"{key[-1]}"'
    first = not text[:at].strip()
    return [TextEdit(at, at, f"{'' if first else newline}{name} = {rendered}{newline if first else ''}")]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_end(text: str, at: int) -> int:
    """Before the end of the line that holds an offset."""
    stop = (text + "\n").index("\n", at)
    return stop - (text[stop - 1 : stop] == "\r")


def _render(item: TomlEdit, value: object) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        rendered: str = tomlkit.item(value).as_string()
    except (TOMLKitError, ValueError, TypeError):
        raise Wrong("M004", f"The value of `{item.key}` cannot be written as TOML.") from None
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        rendered = table.as_string()
    return wide(rendered)


def _plain(data: bytes, item: TomlEdit) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(data.decode("utf-8")).unwrap()
    except UnicodeDecodeError:
        raise Wrong("R005", f"{item.file} is not UTF-8.") from None
    except TOMLKitError as error:
        raise Wrong("R005", f"{item.file} is not TOML: {error}.") from None


def _lookup(data: Any, path: Path, item: TomlEdit) -> Any:
    for index, part in enumerate(path):
        if not isinstance(data, dict) or part not in data:
            known = list(data) if isinstance(data, dict) else []
            message = f"{item.file} has no key `{'.'.join(path[: index + 1])}`."
            raise Wrong("R005", message, hint=nearest(part, known, most=3), absent=True)
        data = data[part]
    return data


def _array(data: Any, key: Path, item: TomlEdit) -> list[Any]:
    array = _lookup(data, key, item)
    if not isinstance(array, list):
        raise Wrong("R005", f"`{item.key}` is not an array.")
    return array


def _pair(layout: Layout, key: Path, item: TomlEdit) -> Part:
    for pair in layout.pairs:
        if pair.path == key:
            return pair
    raise Wrong("R008", f"`{item.key}` is not written as one value.")
