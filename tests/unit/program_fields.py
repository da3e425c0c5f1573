"""Fields: dataclasses and their like, with annotations that are gone and fields that are absent."""

from __future__ import annotations

from program_writer import Shape, Writer

_ANNOTATIONS = (
    "int", "int", "Gone", "'Gone'", "Optional[Gone]", "typing.Union[int, Gone]", "'dict[str, Gone]'",
    "list[Gone]", "type[Gone]",
)  # fmt: skip
_LOOSE = ("typing.ClassVar[Gone]", "typing.ClassVar['Gone']", "typing.ClassVar[dict[str, Gone]]")


def dataclass(p: Writer, depth: int) -> None:
    """A dataclass that is made by position, by keyword, copied and taken apart."""
    name, options = p.own("Data"), p.pick("", "", "(order=True)", "(slots=True)", "(frozen=True)")
    p.put(depth, f"@dataclasses.dataclass{options}")
    p.put(depth, f"class {name}:")
    given: list[str] = []
    inputs: list[str] = []
    for field in ("first", "second", "third", "fourth")[: p.random.randint(2, 4)]:
        kind = p.random.randrange(8)
        if kind == 0:
            p.put(depth + 1, f"{field}: {p.random.choice(_LOOSE)} = None")
            continue
        given.append(field)
        if kind == 1:
            p.put(depth + 1, f"{field}: dataclasses.InitVar[{p.pick('Gone', 'int', repr('Gone'))}] = None")
            inputs.append(field)
        else:
            annotation = p.random.choice(_ANNOTATIONS)
            default = "dataclasses.field(default=7)" if kind == 2 else p.condition(3)
            p.put(depth + 1, f"{field}: {annotation} = {default}")
    if inputs:
        p.put(depth + 1, f"def __post_init__(self, {', '.join(inputs)}): record(({', '.join(inputs)},))")
    plain = [f for f in given if f not in inputs]
    p.put(depth, f"record([f.name for f in dataclasses.fields({name})])")
    p.put(depth, f"v = {name}({', '.join(str(i) for i in range(len(given)))})")
    p.put(depth, "record(dataclasses.asdict(v))")
    if plain and not inputs:
        p.put(depth, f"record(dataclasses.replace(v, {p.random.choice(plain)}=9) == v)")
    if given:
        p.put(depth, f"record({name}({p.random.choice(given)}=8) is not None)")


def absent_field(p: Writer, depth: int) -> None:
    """A class with a field that the facts take away; once in a program."""
    if any("class Fields" in line for line in p.lines):
        return
    kind = p.pick("@dataclasses.dataclass", "@dataclasses.dataclass", "named")
    fields = ["first", "second"]
    at = p.random.randint(0, 2)
    fields.insert(at, "old")
    p.write(depth, "class Fields(typing.NamedTuple):" if kind == "named" else f"{kind}\nclass Fields:")
    for index, field in enumerate(fields):
        p.put(depth + 1, f"{field}: int = {index}")
    made = p.pick(
        "Fields()", "Fields(first=5)", "Fields(5)", "Fields(5, 6)", "Fields(5, 6, 7)", "Fields(*(5, 6, 7))"
    )
    p.put(depth, f"v = {made}")
    p.put(depth, "record((v.first, v.second))" if p.chance(0.8) else "record(Fields(**{'second': 4}).second)")


def structured(p: Writer, depth: int) -> None:
    """Named tuples, typed dictionaries and models that read their annotations."""
    name, gone = p.own("Row"), p.random.choice(_ANNOTATIONS)
    header = p.pick("typing.NamedTuple", "typing.TypedDict", "framework.Model")
    p.put(depth, f"class {name}({header}):")
    value = "" if "Typed" in header else " = 1"
    for field, annotation in (("first", "int"), ("second", gone), ("third", "int")):
        p.put(depth + 1, f"{field}: {annotation}{value}")
    p.put(depth, f"record(list({name}.__annotations__))")
    if not value:
        p.put(depth, f"record(sorted({name}(first=1, second=None, third=2)))")
    else:
        p.put(depth, f"record({name}(1, None, 3).third)")


def dispatched(p: Writer, depth: int) -> None:
    """A function that is chosen by the class of its argument, one of which is gone."""
    name = p.own("dispatch")
    p.put(depth, "@functools.singledispatch")
    p.put(depth, f"def {name}(v): return 'base'")
    for kind in p.random.sample(["Gone", "int", "str"], 3):
        p.write(
            depth,
            p.pick(
                f"@{name}.register\ndef _(v: {kind}): return '{kind}'",
                f"@{name}.register({kind})\ndef _(v): return '{kind}'",
                f"{name}.register({kind}, lambda v: '{kind}')",
            ),
        )
    p.put(depth, f"record([{name}(v) for v in (1, 's', None)])")


TOP: tuple[Shape, ...] = (dataclass, dataclass, absent_field, structured, dispatched)
INSIDE: tuple[Shape, ...] = (dataclass, structured, dispatched)
