"""Classes: methods that a framework calls, definitions that register themselves, methods of one name."""

from __future__ import annotations

from textwrap import indent

from program_writer import Shape, Writer

#: How a class, a function or a method comes to be known without being named: header, and how to ask.
#: Reading an item has no effect, and no name is asked for by a slice of it.
_REGISTERING = (
    ("class {name}(framework.Plugin): pass", "framework.SEEN"),
    ("class {name}(framework.Plugin, key='{name}'): pass", "framework.SEEN"),
    ("class {name}(metaclass=framework.Meta): pass", "framework.SEEN"),
    ("class {name}({base}): pass", "[c.__name__ for c in {base}.__subclasses__()]"),
    ("class {name}:\n    field = framework.Field()", "framework.SEEN"),
    ("class {name}:\n    record('{name} is made')\n    size = 1", "0"),
    ("class {name}(framework.base('{name}')): pass", "framework.SEEN"),
    ("@framework.cache\ndef {name}(): return 1", "framework.SEEN"),
    ("@framework.jit\ndef {name}(): return 1", "framework.SEEN"),
    ("@note(flag='{name}')\ndef {name}(): return 1", "0"),
    ("def {name}(a=record('{name}')): return a", "0"),
    ("def {name}(*, a: record('{name}') = 1) -> echo('{name}'): return a", "0"),
    ("def {name}(): return 1", "sorted(n for n in globals() if n.startswith('{start}'))"),
    (
        "class {name}: pass",
        "[n for n, o in list(globals().items()) if isinstance(o, type) and '{start}' in n]",
    ),
    ("_{name} = framework.Node() >> framework.Node()", "len(framework.SEEN)"),
)

#: What a class may hold under the name of a method that the facts decide in its base.
_OVERRIDES = (
    "{name} = lambda self: True",
    "def  {name} (self): return True",
    "{name} = functools.partial(bool, 1)",
    "{name} = staticmethod(lambda: True)",
    "{name}, other = (lambda self: True), 1",
    "for {name} in (lambda self: True,): pass",
    "values = [({name} := lambda self: True)]",
    "def __init__(self): self.{name} = lambda: True",
    "def __init__(self): self.__dict__['{name}'] = lambda: True",
    "def __init__(self): setattr(self, '{name}', lambda: True)",
    "def __getattribute__(self, n): return lambda: True",
    "from framework import yes as {name}",
    "class {name}:\n        def __bool__(self): return True",
    "if len(sys.argv) >= 0:\n        def {name}(self): return True",
    "def {name}(self): return True",
    "pass",
)


def framework_methods(p: Writer, depth: int) -> None:
    """Methods that only a framework calls, and code that is never reached."""
    name, hooks = p.own("Hooked"), p.random.sample(range(30), 2)
    # never without a base: nobody outside the tree calls a public method of such a class
    base = p.pick("(framework.Module)", "(framework.Module)", "(framework.Plugin, framework.Module)")
    p.put(depth, f"class {name}{base}:")
    for hook in hooks:
        decorator = p.pick("", "", "", "@staticmethod", "@classmethod")
        parameter = {"": "self", "@staticmethod": "", "@classmethod": "cls"}[decorator]
        if decorator:
            p.put(depth + 1, decorator)
        p.put(depth + 1, f"def on_{hook}({parameter}): return {p.condition(2)}")
    p.put(depth, f"if {p.dead()}:")
    p.put(depth + 1, f"record([{name}().on_{hooks[0]}(), {name}().on_{hooks[1]}()])")
    p.put(depth, f"record(framework.drive({name}()))")


def standard_methods(p: Writer, depth: int) -> None:
    """The same with bases of the standard library."""
    name = p.own("Standard")
    header, direct, use = p.random.choice(
        [
            (
                "import ast\nclass {name}(ast.NodeVisitor):\n"
                "    def visit_{kind}(self, node): record('{kind}')",
                "{name}().visit_{kind}(None)",
                "{name}().visit(ast.parse('a + 1 if b else c.d'))",
            ),
            (
                "import json\nclass {name}(json.JSONEncoder):\n    def default(self, o): return 'own'",
                "{name}().default(1)",
                "record(json.dumps([{{1}}], cls={name}))",
            ),
            (
                "import string\nclass {name}(string.Formatter):\n"
                "    def get_value(self, key, args, named): return 'own'",
                "{name}().get_value('a', (), {{}})",
                "record({name}().format('{{a}}', a=1))",
            ),
            (
                "class {name}(collections.UserList):\n    def append(self, item): record('append')",
                "{name}().append(1)",
                "framework.fill({name}())",
            ),
            (
                "class {name}(str, enum.Enum):\n    ONE = 'one'\n    @classmethod\n"
                "    def _missing_(cls, value): return cls.ONE",
                "{name}._missing_('z')",
                "record({name}('zzz').value)",
            ),
            (
                "class {name}(enum.Enum):\n"
                "    def _generate_next_value_(n, start, count, last): return n * 2\n"
                "    ONE = enum.auto()",
                "{name}._generate_next_value_('ONE', 1, 0, [])",
                "record({name}.ONE.value)",
            ),
            (
                "@typing.runtime_checkable\nclass {name}(typing.Protocol):\n    def shut_{mark}(self): ...\n"
                "class {name}_other:\n    def shut_{mark}(self): return 1",
                "{name}_other().shut_{mark}()",
                "record((isinstance({name}_other(), {name}), isinstance(1, {name})))",
            ),
            (
                "class {name}:\n    def write(self, text): record(text)",
                "{name}().write('x')",
                "print('printed', end='', file={name}())",
            ),
        ]
    )
    words = {"name": name, "mark": p.mark, "kind": p.pick("Name", "Constant", "IfExp", "Attribute")}
    p.write(depth, header.format(**words))
    p.put(depth, f"if {p.dead()}:")
    p.put(depth + 1, direct.format(**words))
    p.write(depth, use.format(**words))


def registered(p: Writer, depth: int) -> None:
    """A definition whose defining has an effect; only code that is never reached names it."""
    header, ask = p.random.choice(_REGISTERING)
    start = p.own("made")
    words = {"name": f"{start}_it", "start": start, "base": p.own("Base")}
    if "{base}" in header:
        p.put(depth, f"class {words['base']}: pass")
    p.write(depth, header.format(**words))
    private = "_" if header.startswith("_") else ""
    p.put(depth, f"if {p.dead()}: record(repr({private}{words['name']})[:3])")
    p.put(depth, f"record({ask.format(**words)})")


def shared_methods(p: Writer, depth: int) -> None:
    """Methods of one name over several classes, of which one decides something else."""
    method, base, other = p.own("_ask"), p.own("Asked"), p.own("Other")
    p.put(depth, f"class {base}:")
    static = p.chance(0.3)
    if static:
        p.put(depth + 1, "@staticmethod")
    p.put(depth + 1, f"def {method}({'' if static else 'self'}): return {p.predicate()}")
    p.put(depth, f"class {other}({p.pick(base, base, 'framework.Free')}):")
    override = p.random.choice(_OVERRIDES)
    if override == "pass":
        p.lines[-1] = "    " * depth + f"class {other}({base}):"
    p.write(depth + 1, override.format(name=method))
    late = p.pick(
        "", "", f"{other}.{method} = lambda self: True", f"setattr({other}, '{method}', framework.yes)"
    )
    if late:
        p.put(depth, late)
    objects = [f"{base}()", f"{other}()"]
    if p.chance(0.3):
        objects.append(f"types.SimpleNamespace({method}=lambda: True)")
    p.put(depth, f"record([1 if o.{method}() else 0 for o in ({', '.join(objects)},)])")


def mangled_methods(p: Writer, depth: int) -> None:
    """A method with two underscores, by the name that Python gives it."""
    method, base = p.own("__ask"), p.own("Mangled")
    p.write(
        depth,
        f"""
        class {base}:
            def {method}(self): return {p.predicate()}
            def run(self):
                if {p.dead()}: return self.{method}()
        """,
    )
    p.put(depth, f"v = {base}()")
    if p.chance(0.3):
        p.put(depth, f"v._{base}{method} = lambda: 'own'")
    p.put(depth, f"record(v._{base}{method}())")


def emptied_methods(p: Writer, depth: int) -> None:
    """A method that a word names and of which the facts leave nothing, and others of its name."""
    method, base = p.own("_tell"), p.own("Telling")
    heir = p.pick("pass", "pass", f"def {method}(self, value=None): record('heir')", f"{method} = record")
    late = p.pick(
        "", "", f"{base}.{method} = lambda *v: record('late')", f"setattr({base}Heir, '{method}', record)"
    )
    p.write(
        depth,
        f"""
        class {base}:
            def __init__(self, tell=None):
                if tell is not None: self.{method} = tell
            def {method}(self, value=None):
                if {p.dead()}: record('told')
            def run(self):
                self.{method}({p.pick("", "record(1)")})
                return self.{method}()
        class {base}Heir({base}):
            {heir}
        def {method}_all(value=None):
            if {p.dead()}: record('all')
        {late}
        {method}_all({p.pick("", "record(2)")})
        """,
    )
    p.put(depth, f"record([{base}().run(), {base}Heir().run(), {base}(lambda *v: record(v)).run()])")


#: What a class whose methods are called by names in the code has beside them, and how the program notices it.
_SPELLED = (
    ("", "{base}", "record(hasattr({heir}(), '{start}')); record([{heir}().keep(), {base}().keep()])"),
    ("", "{base}", "record([getattr({heir}(), '{start}_' + end)() for end in ['{mark}']])"),
    ("", "{base}", "for n in '{start}_{mark} keep'.split(): record(getattr({heir}(), n)())"),
    ("", "{base}", "record(type('Made', ({heir},), {{}})().keep())"),
    ("(framework.Free)", "{base}", "record({heir}().keep())"),
    ("(abc.ABC)", "{base}", "record({heir}().keep())"),
    ("", "{base}", "record([each[:4] for each in map(str, framework.SEEN)])"),
    ("(typing.Protocol)", "{base}", "record([isinstance(o, {base}) for o in ({heir}(), 1)])"),
    ("", "{base}, dict", "record([{heir}(a=1), {heir}().keep()])"),
)
_SPELLED_METHODS = (
    ("def {name}(self): return {value}", "{o}.{name}()"),
    ("@property\ndef {name}(self): return {value}", "{o}.{name}"),
    ("@staticmethod\ndef {name}(): return {value}", "{o}.{name}()"),
    ("@abc.abstractmethod\ndef {name}(self): return {value}", "{o}.{name}()"),
    ("@framework.cache\ndef {name}(self): return {value}", "{o}.{name}()"),
    ("def {name}(self): self.{name}_told = True; return {value}", "{o}.{name}()"),
    ("def {name}(self): return self.__class__.{name}", "{o}.{name}()"),
)


def spelled_methods(p: Writer, depth: int) -> None:
    """Methods that only dead code calls, in classes whose methods have their names in the code."""
    start, base, heir = p.own("shut"), p.own("Spelled"), p.own("SpelledHeir")
    around, bases, ask = p.random.choice(_SPELLED)
    words = {"base": base, "heir": heir, "start": start, "mark": p.mark, "name": f"{start}_{p.mark}"}
    method, call = _SPELLED_METHODS[3] if "ABC" in around else p.random.choice(_SPELLED_METHODS)
    other, _ = p.random.choice(_SPELLED_METHODS)
    lines = {
        name: indent(each.format(**words, value=p.pick("1", "'a'")), "    ")
        for name, each in (("base", method), ("heir", other))
    }
    told = f"getattr(self, '{words['name']}_told', 'not')"
    p.write(depth, f"import abc\nclass {base}{around}:\n{lines['base']}\n    def keep(self): return {told}")
    body = lines["heir"] if p.chance(0.5) else "    pass"
    p.write(depth, f"class {heir}({bases.format(**words)}):\n{body}")
    p.write(
        depth, f"def {start}_use(o):\n    if {p.dead()}: return {call.format(o='o', **words)}\n    return 1"
    )
    for text in (f"{start}_use({heir}())", f"{base}()", ask.format(**words)):
        kind = "record(1)" if text.startswith(base) else "pass"
        p.write(depth, f"try:\n    {text}\n    {kind}\nexcept TypeError: record('abstract')")


TOP: tuple[Shape, ...] = (
    spelled_methods,
    framework_methods, framework_methods, standard_methods, registered, registered, shared_methods,
    emptied_methods, mangled_methods,
)  # fmt: skip
INSIDE: tuple[Shape, ...] = (shared_methods, emptied_methods)
