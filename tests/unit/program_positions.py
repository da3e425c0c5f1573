"""Positions: lists, tuples and enumerations that lose a member, and code that counts on its place."""

from __future__ import annotations

from program_writer import Shape, Writer


def _classes(p: Writer) -> tuple[list[str], int]:
    """Members of which one is gone, and the index of one that is not."""
    members = p.random.sample(["int", "str", "bool", "float"], p.random.randint(1, 3))
    members.insert(p.random.randint(0, len(members)), "Gone")
    return members, p.random.choice([i for i, m in enumerate(members) if m != "Gone"])


def _values(p: Writer) -> tuple[list[str], int]:
    """The same of values of an option."""
    members = p.random.sample(["'triton'", "'other'", "'third'"], p.random.randint(1, 3))
    members.insert(p.random.randint(0, len(members)), p.absent())
    return members, p.random.choice([i for i, m in enumerate(members) if "'fa" not in m])


def _use(p: Writer, items: str, members: list[str], at: int) -> str:
    """An expression about the member at this index, by its place among the others."""
    size, member = len(members), members[at]
    names = ", ".join(f"m{i}" for i in range(size))
    return p.random.choice(
        [
            f"{items}[{at}]",
            f"{items}[{at - size}]",
            f"{items}[{at}:{at + 1}][0]",
            f"list({items})[{at}]",
            f"list({items}).index({member})",
            f"{{m: i for i, m in enumerate({items})}}[{member}]",
            f"{{m: i for i, m in enumerate({items}, start=1)}}[{member}]",
            f"dict(zip({items}, range({size})))[{member}]",
            f"[m for m, n in zip({items}, range({size})) if n == {at}]",
            f"(lambda {names}: m{at})(*{items})",
            f"[m{at} for ({names},) in [{items}]][0]",
            f"operator.itemgetter({at})({items})",
            f"next(m for i, m in enumerate({items}) if i == {at})",
            f"list(reversed({items}))[{size - 1 - at}]",
            f"sorted([{member}], key=list({items}).index)",
            f"[{items}[i] for i in range({size}) if i == {at}]",
            f"len({items}) == {size}",
            f"{member} in {items}",
            f"{items}.count({member}) if hasattr({items}, 'count') else 0",
        ]
    )


#: How a literal is kept, and what gives it.
_HOLDERS = (
    ("class {name}_holder:\n    {name} = {text}", "{name}_holder.{name}"),
    ("def {name}_of(): return {text}", "{name}_of()"),
    ("{name} = {{'first': {text}}}", "{name}['first']"),
    ("{name} = {parts}", "{name}"),
    ("{name} = {text}", "{name}"),
)


def literal(p: Writer, depth: int) -> None:
    """A list or tuple of classes or option values, in a name that says which."""
    classes = p.chance(0.5)
    members, at = _classes(p) if classes else _values(p)
    name = p.own("kinds" if classes else "backend_names")
    opening, closing = p.pick("[]", "()")
    text = f"{opening}{', '.join(members)}{closing}"
    parts = " + ".join(f"{opening}{member},{closing}" for member in members)
    holder, given = (form.format(name=name, text=text, parts=parts) for form in p.random.choice(_HOLDERS))
    p.write(depth, holder)
    p.put(depth, f"record({_use(p, given, members, at)})")


def unpacked(p: Writer, depth: int) -> None:
    """A literal that is taken apart at once."""
    members, at = _classes(p) if p.chance(0.5) else _values(p)
    name = p.own("backend_part" if "'" in members[at] else "part")
    targets = [f"{name}_{i}" for i in range(len(members))]
    text = ", ".join(members)
    form = p.random.randrange(4)
    if form == 0:
        p.put(depth, f"{', '.join(targets)}, = [{text}]")
    elif form == 1:
        p.put(depth, f"*{name}_rest, {targets[-1]} = [{text}]")
        p.put(depth, f"record({name}_rest[{at}]) if {at} < {len(members) - 1} else record({targets[-1]})")
        return
    elif form == 2:
        p.put(depth, f"for {', '.join(targets)}, in [[{text}]]: pass")
    else:
        p.put(depth, f"match [{text}]:")
        p.put(depth + 1, f"case [{', '.join(targets)}]: pass")
        p.put(depth + 1, f"case _: {targets[at]} = 'no case'")
    p.put(depth, f"record({targets[at]})")


def records(p: Writer, depth: int) -> None:
    """Rows of which one holds something gone, by place."""
    members, at = _classes(p) if p.chance(0.5) else _values(p)
    name = p.own("backend_rows")
    rows = ", ".join(f"({m}, {i})" for i, m in enumerate(members))
    p.put(depth, f"{name} = [{rows}]")
    p.put(depth, f"record({name}[{at}][1])")


def fields_by_list(p: Writer, depth: int) -> None:
    """Names of fields or members in a list that an option's name matches."""
    members, at = _values(p)
    name, text = p.own("backend_fields"), ", ".join(members)
    word = members[at].strip("'")
    p.write(
        depth,
        p.random.choice(
            [
                f"{name} = collections.namedtuple('Row', [{text}])\n"
                f"record({name}(*range({len(members)})).{word})",
                f"{name} = enum.Enum('Row', [{text}])\nrecord({name}.{word}.value)",
                f"{name} = dataclasses.make_dataclass('Row', [{text}])\n"
                f"record({name}(*range({len(members)})).{word})",
                f"class {name}:\n    __match_args__ = backend_args = ({text},)\n"
                f"    {word} = 4\nrecord({name}.__match_args__.index('{word}'))",
                f"{name} = ({text},)\nrecord(('%s ' * {len(members)} % {name}).split()[{at}])",
            ]
        ),
    )


def emptied(p: Writer, depth: int) -> None:
    """A literal that loses all that it holds, asked for its kind and, unless it is a dict, for its truth."""
    gone, name = p.pick("Gone", "'fa3'", "'fa4'"), p.own("backend_extra")
    text = p.pick(f"[{gone}]", f"({gone},)", f"{{{gone}}}", f"{{{gone}: 1}}", f"{{'k': {gone}}}")
    p.put(depth, f"{name} = {text}")
    kind = f"type({name}).__name__"
    use = kind if ":" in text else p.pick(f"bool({name})", f"1 if {name} else 2", kind)
    p.put(depth, f"record({use})")


def numbered(p: Writer, depth: int) -> None:
    """An enumeration that numbers its members, one of which the facts take away; once in a program."""
    if any("class Mode(" in line for line in p.lines):
        return
    base = p.pick("enum.IntEnum", "enum.Enum", "enum.Flag", "enum.IntFlag")
    members = ["FIRST", "SECOND", "THIRD"]
    members.insert(p.random.randint(0, 3), "OLD")
    p.put(depth, f"class Mode({base}):")
    if p.chance(0.2) and "Flag" not in base:
        p.put(depth + 1, "def _generate_next_value_(name, start, count, last): return count * 10")
    for index, member in enumerate(members):
        p.put(depth + 1, f"{member} = {p.pick('enum.auto()', 'enum.auto()', str(2**index))}")
    p.put(depth, f"record([Mode.{p.pick('FIRST', 'SECOND', 'THIRD')}.value, Mode.THIRD.value])")
    if p.chance(0.3):
        p.put(depth, "record(Mode.SECOND in (Mode.OLD, Mode.FIRST))")


TOP: tuple[Shape, ...] = (literal, literal, records, numbered, fields_by_list, emptied)
INSIDE: tuple[Shape, ...] = (literal, literal, unpacked, records, fields_by_list, emptied)
