"""Texts that one collection gives and another one is asked for, and names that are set by a computed name."""

from __future__ import annotations

from program_writer import Shape, Writer

#: How a table of what the texts stand for is made: its name, and one entry.
_TABLES = (
    ("{name} = {{{items}}}", "{text}: {value}"),
    ("{name} = dict([{items}])", "({text}, {value})"),
    ("{name} = {{}}\n{items}", "{name}[{text}] = {value}"),
    (
        "{name} = {{}}\ndef {name}_register(key, value): {name}[key] = value\n{items}",
        "{name}_register({text}, {value})",
    ),
    (
        "{name} = {{}}\ndef {name}_register(key): return lambda made: {name}.setdefault(key, made)\n{items}",
        "@{name}_register({text})\ndef {name}_made_{index}(): return {value}",
    ),
)
#: How the texts are kept: the statement, and the expression that gives them.
_GIVERS = (
    ("class {order}_holder: {order} = [{shown}]", "{order}_holder.{order}"),
    ("def {order}({order}_all=({shown},)): return {order}_all", "{order}()"),
    ("{order} = '{words}'", "{order}.split()"),
    ("{order} = {{'all': [{shown}]}}", "{order}['all']"),
    ("{order} = {{{pairs}}}", "list({order})"),
    ("{order} = [{shown}]", "{order}"),
)
#: What goes through the texts, and what it asks of the table.
_LOOPS = (
    "record([ask(t) for t in {texts}])",
    "for t in {texts}: record(ask(t))",
    "record(list(map(ask, {texts})))",
    "record(sorted(map(repr, map(ask, set({texts})))))",
    "record([ask({texts}[i]) for i in range({size})])",
    "record((lambda *all: [ask(t) for t in all])(*{texts}))",
    "record([ask(t) for t, n in zip({texts}, range(9))])",
)
_ASKS = (
    "repr({table}.get({t}, 'none'))[:9]",
    "repr({table}[{t}])[:9]",
    "{t} in {table}",
    "{t} if {t} in {allowed} else 'no'",
)


def looked_up(p: Writer, depth: int) -> None:
    """A collection of texts gives the keys of a table; only a table of options has another key as well."""
    texts = p.random.sample(["'triton'", "'other'", "'third'"], p.random.randint(1, 3))
    keys = [*texts]
    keys.insert(p.random.randint(0, len(texts)), p.absent())
    option = p.pick("backend_", "")
    table, order, allowed = p.own(f"{option}table"), p.own("order"), p.own(f"{option}allowed")
    if not option:
        texts = keys
    frame, entry = p.random.choice(_TABLES)
    entries = [
        entry.format(name=table, text=text, value=index, index=index) for index, text in enumerate(keys)
    ]
    between = ", " if "{items}}" in frame or "[{items}]" in frame else "\n"
    p.write(depth, frame.format(name=table, items=between.join(entries)))
    p.put(depth, f"{allowed} = {{{', '.join(keys)}}}")
    statement, given = (
        form.format(
            order=order,
            shown=", ".join(texts),
            words=" ".join(text.strip("'") for text in texts),
            pairs=", ".join(f"{text}: 1" for text in texts),
        )
        for form in p.random.choice(_GIVERS)
    )
    p.put(depth, statement)
    ask = p.random.choice(_ASKS).format(table=table, allowed=allowed, t="t")
    p.put(depth, f"ask = lambda t: {ask}")
    p.put(depth, p.random.choice(_LOOPS).format(texts=given, size=len(texts)))


def computed(p: Writer, depth: int) -> None:
    """A constant of a module, or of the package's, that is set by a name that no text shows."""
    name = p.own("flag")
    head, tail = name[:4], name[4:]
    p.put(depth, f"{name} = {p.predicate()}")
    p.put(depth, f"def {name}_read(): return 'on' if {name} else 'off'")
    text = p.pick(
        f"'{head}' + '{tail}'",
        f"f'{{str({head!r}[:])}}{tail}'".replace(repr(head), f'"{head}"'),
        f"'{name}'[:]",
        f"''.join(['{head}', '{tail}'])",
    )
    write = p.pick(
        "setattr(sys.modules[__name__], {text}, 'set')",
        "vars(sys.modules[__name__])[{text}] = 'set'",
        "globals()[{text}] = 'set'",
        "globals().update({{{text}: 'set'}})",
        "(lambda owner, key: setattr(owner, key, 'set'))(sys.modules[__name__], {text})",
        "[setattr(owner, key, 'set') for owner, key in [(sys.modules[__name__], {text})]]",
    )
    if p.chance(0.5):
        p.put(depth, f"record({name}_read())")
    p.put(depth, write.format(text=text, name=name))
    p.put(depth, f"record({name}_read())")


TOP: tuple[Shape, ...] = (looked_up, looked_up, computed)
INSIDE: tuple[Shape, ...] = (looked_up,)
