"""Names that are put together at run time: definitions that no text names any more where they are used."""

from __future__ import annotations

from program_writer import Shape, Writer

#: How to come to an attribute of `owner` whose name is {start} and {end}.
_ATTRIBUTES = (
    "getattr({owner}, '{start}' + end)",
    "getattr({owner}, f'{start}{{end}}')",
    "getattr({owner}, '{start}%s' % end)",
    "getattr({owner}, '{start}{{}}'.format(end))",
    "getattr({owner}, ''.join(['{start}', end]))",
    "getattr({owner}, f'{{start}}{{end}}')",
    "getattr({owner}, start + '{end}')",
    "getattr({owner}, '{start}x'.replace('x', end))",
    "getattr({owner}, '{start}{end}'.upper().lower())",
    "operator.attrgetter('{start}' + end)({owner})",
    "operator.methodcaller('__getattribute__', start + end)(self)",
    "[getattr({owner}, n) for n in dir({owner}) if n.startswith(start)][0]",
    "[getattr({owner}, n) for n in dir({owner}) if n.endswith(end)][0]",
    "[getattr({owner}, n) for n in dir({owner}) if start in n][0]",
    "eval('owner.' + start + end, {{'owner': {owner}}})",
    "eval(f'owner.{start}{{end}}', {{'owner': {owner}}})",
    "functools.partial(getattr, {owner})(start + end)",
    "list(map(self.__getattribute__, [start + end]))[0]",
    "framework.lookup({owner}, start + end)",
)
#: How to come to a name of the module.
_GLOBALS = (
    "globals()['{start}' + end]",
    "globals()[f'{start}{{end}}']",
    "globals().get('{start}' + end, 'lost')",
    "vars(sys.modules[__name__])[start + end]",
    "getattr(sys.modules[__name__], f'{start}{{end}}', 'lost')",
    "sys.modules[__name__].__dict__['{start}%s' % end]",
    "eval(start + end)",
    "eval(f'{start}{{end}}')",
    "{{n: v for n, v in globals().items() if n.startswith(start)}}[start + end]",
    "framework.lookup(sys.modules[__name__], start + end)",
)


def methods(p: Writer, depth: int) -> None:
    """A method that is named directly only where control never comes."""
    # three letters: a name of which no text shows more than two is not looked up
    name, start, end = p.own("Dynamic"), f"going_{p.mark}_", p.pick("cuda", "cpu", "any")
    p.write(
        depth,
        f"""
        class {name}:
            def {start}{end}(self=None): return '{end}'
            def run(self, start, end):
                if {p.dead()}: return self.{start}{end}()
        """,
    )
    owner = p.pick("self", "self", "type(self)", "self.run.__self__")
    p.put(depth + 2, f"attribute = {p.random.choice(_ATTRIBUTES).format(owner=owner, start=start, end=end)}")
    p.put(depth + 2, "return attribute() if callable(attribute) else attribute")
    p.put(depth, f"record({name}().run('{start}', '{end}'))")


def names(p: Writer, depth: int) -> None:
    """A definition of the module that is named directly only where control never comes."""
    start, end = f"make_{p.mark}_", p.own("it")
    p.write(
        depth,
        p.random.choice(
            [
                f"def {start}{end}(): return 'made'",
                f"class {start}{end}:\n    def __repr__(self): return 'made'",
                f"{start}{end} = 'made'",
                f"{start}{end} = lambda: 'made'",
            ]
        ),
    )
    p.put(depth, f"def {end}_use(start, end):")
    p.put(depth + 1, f"if {p.dead()}: return {start}{end}")
    p.put(depth + 1, f"value = {p.random.choice(_GLOBALS).format(start=start, end=end)}")
    p.put(depth + 1, "return value() if callable(value) else value")
    p.put(depth, f"record(repr({end}_use('{start}', '{end}')))")


def locals_by_name(p: Writer, depth: int) -> None:
    """A local that is named directly only where control never comes."""
    name = p.own("width")
    p.put(depth, f"def {name}_use():")
    p.put(depth + 1, f"{name} = 3")
    p.put(depth + 1, f"if {p.dead()}: return {name}")
    read = p.pick(
        f"'{{{name}}}'.format(**locals())",
        f"locals()['{name}']",
        f"eval('{name} + 1')",
        "sorted(locals())",
        f"vars()['{name[:5]}' + '{name[5:]}']",
    )
    p.put(depth + 1, f"return {read}")
    p.put(depth, f"record({name}_use())")


def settled(p: Writer, depth: int) -> None:
    """An attribute whose value a fact states, asked for in roundabout ways."""
    name = p.own("Settled")
    p.write(
        depth,
        f"""
        class {name}:
            def __init__(self):
                self.{p.pick("npu_comm = None", "npu_comm, self.second = None, 2", "npu_comm = record(None)")}
                self.first = 1
        """,
    )
    p.put(
        depth,
        "record("
        + p.pick(
            f"hasattr({name}(), 'npu_comm')",
            f"sorted(vars({name}()))",
            f"{name}().__dict__.get('npu_comm', 'lost')",
            f"getattr({name}(), 'npu' + '_comm', 'lost')",
            f"[getattr({name}(), k + '_comm', 'lost') for k in ('npu',)]",
            f"operator.attrgetter('npu_comm')({name}())",
            f"{name}().npu_comm",
            f"getattr({name}(), 'npu_comm', 3)",
        )
        + ")",
    )


TOP: tuple[Shape, ...] = (methods, methods, names, names, settled)
INSIDE: tuple[Shape, ...] = (locals_by_name, settled)
