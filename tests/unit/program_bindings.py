"""Bindings: constants that are bound again from elsewhere, captures, names that only dead code binds."""

from __future__ import annotations

from program_writer import Shape, Writer

#: Ways to store a constant of this module from a function.
_STORES = (
    "globals()['{name}'] = 'stored'",
    "globals().update({name}='stored')",
    "setattr(sys.modules[__name__], '{name}', 'stored')",
    "sys.modules[__name__].{name} = 'stored'",
    "vars(sys.modules[__name__])['{name}'] = 'stored'",
    "sys.modules[__name__].__dict__.update({name}='stored')",
    "exec(\"{name} = 'stored'\", globals())",
    "for sys.modules[__name__].{name} in ('stored',): pass",
    "globals().__setitem__('{head}' + '{tail}', 'stored')",
)
#: Ways to store one of another module, which reads it.
_ELSEWHERE = (
    "pkg.consts.stored = 'stored'",
    "import pkg.consts as c; c.stored = 'stored'",
    "from pkg import consts; consts.stored = 'stored'",
    "setattr(pkg.consts, 'stored', 'stored')",
    "vars(pkg.consts)['stored'] = 'stored'",
    "pkg.consts.stored |= True",
    "pkg.consts.stored, _ = 'stored', 1",
    "sys.modules['pkg.consts'].stored = 'stored'",
)
#: Statements that may bind a constant, or not, and that nobody can decide.
_PARTLY = (
    "if choose():\n    {name} = {value}",
    "for _ in range(choose() is True):\n    {name} = {value}",
    "try:\n    boom()\n    {name} = {value}\nexcept Exception:\n    pass",
    "while tick():\n    {name} = {value}\n    break",
    "{name} = {value}\nif choose():\n    del {name}",
    "with framework.swallow():\n    boom()\n    {name} = {value}",
    "{name} = {value}\n[{name} := v for v in range(choose() is True)]",
    "{name} = {value}\nmatch choose():\n    case 2 as {name}: pass\n    case _: pass",
    "{name} = {value}\nfor {name} in range(choose() is True): pass",
    "{name} = {value}\nif choose():\n    def {name}(): pass",
    "{name} = {value}\nif choose():\n    class {name}: pass",
    "{name} = {value}\nif choose():\n    import json as {name}",
)


def stored(p: Writer, depth: int) -> None:
    """A constant of the module that a function stores in a roundabout way."""
    name = p.own("flag")
    p.put(depth, f"{name} = {p.predicate()}")
    p.put(depth, f"def {name}_read(): return 'on' if {name} else 'off'")
    store = p.random.choice(_STORES).format(name=name, head=name[:4], tail=name[4:])
    p.put(depth, f"def {name}_store():")
    p.put(depth + 1, store)
    p.put(depth, f"record({name}_read())")
    p.put(depth, f"{name}_store()")
    p.put(depth, f"record({name}_read())")


def stored_elsewhere(p: Writer, depth: int) -> None:
    """A constant of another module that is stored from here."""
    p.put(depth, "record(pkg.consts.read_stored())")
    p.put(depth, p.random.choice(_ELSEWHERE))
    p.put(depth, "record(pkg.consts.read_stored())")


def starred(p: Writer, depth: int) -> None:
    """A star import after a constant or a function of a name that it brings."""
    if p.chance(0.5):
        p.put(depth, f"over_flag = {p.predicate()}")
    else:
        p.put(depth, f"def over_function(): return {p.predicate()}")
    p.put(depth, p.pick("from pkg.over import *", "from framework_over import *"))
    p.put(depth, "record([1 if v else 0 for v in (over_flag, over_function())])")


def partly(p: Writer, depth: int) -> None:
    """A constant that is bound in part, later, or taken away again, and a function that reads it."""
    name = p.own("part")
    p.put(depth, f"def {name}_read():")
    p.put(depth + 1, f"try: return 'on' if {name} else 'off'")
    p.put(depth + 1, "except NameError: return 'unset'")
    if p.chance(0.4):
        p.put(depth, f"record({name}_read())")
    p.write(depth, p.random.choice(_PARTLY).format(name=name, value=p.predicate()))
    p.put(depth, f"record({name}_read())")


def replaced(p: Writer, depth: int) -> None:
    """A function that the facts decide and that is replaced later."""
    name = p.own("decide")
    p.put(depth, f"def {name}(): return {p.predicate()}")
    p.put(depth, f"def {name}_use(): return 'on' if {name}() else 'off'")
    p.put(
        depth,
        p.pick(
            f"globals()['{name}'] = lambda: True",
            f"setattr(sys.modules[__name__], '{name}', framework.yes)",
            f"{name} = framework.invert({name})",
            f"{name}_kept = {name}",
        ),
    )
    p.put(depth, f"record({name}_use())")


def partly_defined(p: Writer, depth: int) -> None:
    """A function that the facts decide and that is not always there; it is called with what it takes."""
    name = p.own("maybe")
    p.put(depth, p.pick("if choose():", "for _ in range(choose() is True):", "if True:"))
    p.put(depth + 1, f"def {name}({p.pick('', 'a=1', 'a=record(1)')}): return {p.predicate()}")
    p.put(depth, f"try: record(1 if {name}() else 2)")
    p.put(depth, "except (NameError, TypeError) as e: record(type(e).__name__)")


def captures(p: Writer, depth: int) -> None:
    """A case that captures and whose guard the facts decide, read afterwards."""
    name = p.own("seen")
    pattern, subject = p.random.choice(
        [
            (f"[{name}, *_]", "[x, y]"),
            (f"[_, *{name}]", "[x, y]"),
            (f"{{'k': {name}}}", "{'k': x}"),
            (f"{{'j': _, **{name}}}", "{'j': y, 'k': x}"),
            (f"int() | str() | bool() | None as {name}", "x"),
            (f"types.SimpleNamespace(k={name})", "types.SimpleNamespace(k=x)"),
            (name, "x"),
        ]
    )
    if p.chance(0.5):
        p.put(depth, f"{name} = 'before'")
    guard = p.pick(p.dead(), p.dead(), f"{p.open()} and {p.dead()}", f"{p.dead()} or {p.dead()}")
    p.put(depth, f"match {subject}:")
    p.put(depth + 1, f"case {pattern} if {guard}: {p.tag()}")
    if p.chance(0.7):
        p.put(depth + 1, f"case _: {p.tag()}")
    p.put(depth, f"record({name})")


def hidden_globals(p: Writer, depth: int) -> None:
    """A function in which only code that is never reached makes a name local."""
    name = p.own("hides")
    p.put(depth, f"def {name}(v=1):")
    binding = p.random.choice(
        [
            "assert {sure}, (shared := 3)",
            "v = v if {sure} else [shared := 1]",
            "if {dead}: shared = 3",
            "if {dead}:\n    for shared in (): pass",
            "if {dead}:\n    import json as shared",
            "if {dead}: shared: int",
            "if {dead}: del shared",
            "match v:\n    case shared if {dead}: pass\n    case _: pass",
            "match v:\n    case {{'k': shared}} if {dead}: pass\n    case _: pass",
            "try: pass\nexcept ({dead} and (shared := KeyError) or ValueError): pass",
            "{dead} and (shared := 3)",
            "{sure} or echo(shared := 3)",
            "v = [i for i in (1, 2) if {dead} and (shared := i)]",
            "v = {{'k': {dead} and (shared := 3)}}",
            "backend_list = ['triton', ('fa3', (shared := 1))]",
            "while {dead} and (shared := 3): break",
        ]
    )
    p.write(depth + 1, binding.format(dead=p.dead(), sure=p.sure()))
    p.put(depth + 1, "try: return 'outer' if callable(shared) or shared is not None else 'none'")
    p.put(depth + 1, "except UnboundLocalError: return 'unbound'")
    p.put(depth, f"record({name}())")


def kinds(p: Writer, depth: int) -> None:
    """A function that only code that is never reached makes a generator."""
    name = p.own("kind")
    statement = p.random.choice(
        [
            "assert {sure}, (yield 1)",
            "if {dead}: yield 1",
            "{dead} and (yield 1)",
            "v = 1 if {sure} else (yield 1)",
            "while {dead}:\n    yield 1\n    break",
            "if {sure}: return 1\nelif (yield 1): return 2",
            "for i in (1,):\n    if {dead}: yield from ()",
            "try: pass\nfinally:\n    if {dead}: yield 1",
            "match 1:\n    case 1 if {dead} and (yield 1): pass\n    case _: pass",
            "v = {{'k': 2, 'm': {dead} and (yield 1)}}",
            "backend_list = [('fa3', (yield 1)), ('triton', 2)]",
            "backend_map = {{'fa3': (yield 1), 'triton': 2}}",
            "with context({dead} and (yield 1)): pass",
            "v = lambda: (yield 1) if {dead} else 2",
            "v = [1, 2][{dead} and (yield 1)]",
        ]
    )
    p.put(depth, f"def {name}():")
    p.write(depth + 1, statement.format(dead=p.dead(), sure=p.sure()))
    p.put(depth + 1, "return 3")
    p.put(depth, f"record(type({name}()).__name__)")


def documented(p: Writer, depth: int) -> None:
    """A text that is no docstring as long as something stands before it."""
    name = p.own("text")
    first = p.random.choice(
        ["if {dead}: record(1)", "assert {sure}", "{dead} and record(1)", "is_hip()", "pass"]
    )
    p.put(depth, f"def {name}():")
    p.write(depth + 1, first.format(dead=p.dead(), sure=p.sure()))
    p.put(depth + 1, "'no docstring'")
    p.put(depth + 1, "return 1")
    p.put(depth, f"record(({name}.__doc__, {name}()))")


TOP: tuple[Shape, ...] = (
    stored, stored, stored_elsewhere, starred, partly, partly, partly_defined, replaced, hidden_globals,
    kinds, documented,
)  # fmt: skip
INSIDE: tuple[Shape, ...] = (captures, captures, hidden_globals, hidden_globals, kinds, kinds, documented)
