"""Random programs about a platform, and a way to run them with every effect on record.

A program is a small package. What its predicates say at run time comes from outside, and so does every
value that the facts do not decide; each call that has an effect is recorded, in order.
"""

from __future__ import annotations

import program_bindings
import program_classes
import program_dynamic
import program_fields
import program_imports
import program_lookups
import program_positions
import program_reads
from program_writer import Writer

_FAMILIES = (
    program_bindings, program_classes, program_dynamic, program_fields, program_imports, program_lookups,
    program_positions, program_reads,
)  # fmt: skip
#: Shapes that stand in a function, and those at the top of a module, by kind.
INSIDE = [family.INSIDE for family in _FAMILIES if family.INSIDE]
TOP = [family.TOP for family in _FAMILIES if family.TOP]


#: Statements without others inside, by kind.
_SIMPLE = (
    ("<tag>",), ("<tag>",), ("a = <value>", "b = <value>"), ("record(<value>)",), ("assert <c>, <c2>",),
    ("if <c>: <tag>; a = <c2>",), ("return a, b", "return <c>", "raise KeyError('k')"),
    ("a = [<c1>]; a += [<c1>]; del a[0]",), ("x += <c1> is True",), ("b = TABLE[backend](<c1>)",), ("pass",),
)  # fmt: skip
_YIELDS = ("yield <c>", "a = (yield <c>) if is_hip() else x", "is_new() or (yield <c>)")
#: A local name that stands for a predicate, hides one, or is written again.
_LOCALS = (
    "<name> = <known>\nif <name>:\n    <suite>",
    "<name> = <known>\nif <open>:\n    <name> = <c>\nrecord(<name>)",
    "<name>: bool = <known>\na = <name> and <tag>",
    "b = [(is_hip, _is_npu) for is_hip in (0, 1) for _is_npu in (x,) if '<name>']",
    "from pkg.plat import is_hip as local_hip\nif local_hip() or <c>:\n    <suite>",
    "<name> = <known>; <name> |= bool(<open>)\nrecord(<name>)",
)
#: Something that a removed class or an absent value takes part in.
_GONE = (
    "v: Optional[Gone] = <c>",
    "record(isinstance(<open>, (Gone, bool)))",
    "if type(x) is Gone or <c>:\n    <suite>",
    "if isinstance(<open>, Gone):\n    <suite>",
    "record(echo(<c1>) in ['fa3', 'fa4', True])",
    "b = {'k': Gone, 'm': <c>}['m']",
    "record(any(isinstance(x, c) for c in [Gone, <other>]))",
    "def <name>():\n    global shared\n    shared = <c>\n<name>()",
)
#: Statements at the top of the module: conditions that define functions, guarded imports.
_TOPS = (
    "if <known>:\n    def <name>(): return <tag>\nelse:\n    def <name>(): return <c1>",
    "try:\n    <import>\n    <name> = lambda: 1\nexcept ImportError:\n    <name> = lambda: <c1>",
    "@register_backend(<backend>)\ndef <name>(): return <c1>\n<name> = lambda: BACKENDS.get('triton')",
    "def <name>(): return <known>",
)
#: A class with a body that decides, and methods.
_CLASS = """
    class <name>:
        flag = <c1>
        if <known>:
            def go(self, v: 'Gone | int' = 1): return v
        elif <c1>:
            go = lambda self: 2
        else:
            def go(self): return 3
        @property
        def is_hip(self): return <c1>
    record((<name>.flag, <name>().go(), <name>().is_hip))
"""
_HEADER = """
    from typing import Optional
    import collections, dataclasses, enum, functools, operator, os, sys, types, typing
    import torch
    import framework
    from effects import *
    from pkg.consts import *
    import pkg.consts
    import pkg.plat as plat
    from pkg.plat import is_hip, is_npu, is_new, is_cuda, some, none, get_name, Kind
    from pkg.consts import _is_hip, _is_npu, _use_fast, _is_cuda, use_slow
    from pkg.gone import Gone, GoneError
    <late>
    CHOICES = [<c2>, 'fa3', 'triton']
    TABLE = {'fa3': <known>, 'triton': echo, 'other': (<callable>)}
    not_a_fact = choose()
    shared = is_hip()
    CHOICE = 'triton'
    class Maker:
        backend = 'triton' if <c2> else 'other'
        is_hip = <c2>
        maker = is_hip
    maker = Maker()
"""


class Program(Writer):
    """Writes one module, whose `entry` is what is run. `size` bounds the statements."""

    def text(self) -> str:
        """The source of the module."""
        late = self.pick("_late = is_hip()", "_late: bool = is_npu() or none()", "_late = _is_hip")
        self.write(0, _HEADER, late=late, callable=self.pick("echo", "bool"))
        if self.chance(0.15):
            self.write(0, "def overwrite():\n    global _late\n    _late = <c1>\noverwrite()")
        for _ in range(self.random.randint(0, 2)):
            imported = self.pick("import aiter", "from pkg.void import missing", "import json")
            names = {"name": self.new("top"), "import": imported, "backend": self.pick("'fa3'", "'triton'")}
            self.write(0, self.pick(*_TOPS) + "\nrecord(repr(<name>())[:4])", **names)
        for family in self.random.choices(TOP, k=self.random.choice([0, 1, 1, 2])):
            self.random.choice(family)(self, 0)
        self.outside = False
        self.entry()
        return "\n".join(self.lines) + "\n"

    def entry(self) -> None:
        self.write(0, "def entry(x, y, backend, backends, device, obj):\n    a = b = 0")
        if self.chance(0.15):  # names that hide a predicate
            self.put(1, self.pick("_is_npu = choose()", "is_hip = choose", "for _is_hip in (1, x): pass"))
        for _ in range(self.random.randint(1, 5)):
            self.statement(1)
        self.put(1, "return a, b, x, y")

    # -- statements ---------------------------------------------------------------------------

    def suite(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > 5 or self.chance(0.25):
            inside = (
                ("break", "continue") if self.loops else ("pass",),
                _YIELDS if self.generator else ("pass",),
            )
            self.write(depth, self.pick(*self.random.choice((*_SIMPLE, *inside))))
            return
        if self.chance(0.25):
            self.random.choice(self.random.choice(INSIDE))(self, depth)
            return
        self.random.choice(
            [self.if_, self.if_, self.if_, self.if_, self.while_, self.for_, self.try_, self.with_,
             self.inner, self.match_, self.local, self.maybe, self.gone, self.klass]
        )(depth)  # fmt: skip

    def clause(self, depth: int, head: str) -> None:
        self.write(depth, f"{head}:\n    <suite>")

    def if_(self, depth: int) -> None:
        self.clause(depth, "if <c>")
        while self.chance(0.35):
            self.clause(depth, "elif <c>")
        if self.chance(0.5):
            self.clause(depth, "else")

    def while_(self, depth: int) -> None:
        decided = self.pick("is_hip()", "_is_npu", "False", "backend == 'fa3'")
        self.loops += 1
        self.write(
            depth, f"while {'tick() and <c>' if self.chance(0.7) else decided}:\n    tick()\n    <suite>"
        )
        self.loops -= 1
        if self.chance(0.4):
            self.clause(depth, "else")

    def for_(self, depth: int) -> None:
        self.loops += 1
        self.clause(depth, f"for i in range({self.random.randint(0, 2)})")
        self.loops -= 1
        if self.chance(0.3):
            self.clause(depth, "else")

    def try_(self, depth: int) -> None:
        self.put(depth, "try:")
        handlers = self.random.randint(0, 2)
        kinds = [
            "ImportError",
            "(ValueError, KeyError)",
            "Exception as e",
            "ModuleNotFoundError",
            "GoneError",
        ]
        chosen = self.random.sample(kinds, handlers)
        if self.chance(0.2):
            self.put(depth + 1, "import json")
        if self.chance(0.5) and {"ImportError", "Exception as e", "ModuleNotFoundError"} & set(chosen):
            self.put(depth + 1, self.pick("import aiter", "from pkg.void import missing"))
        self.suite(depth + 1)
        for kind in chosen:
            self.put(depth, f"except {kind}:")
            if "as e" in kind and self.chance(0.5):
                self.put(depth + 1, "record(type(e).__name__)")
            if self.chance(0.2):
                self.put(depth + 1, "raise")
            self.suite(depth + 1)
        if handlers and self.chance(0.4):
            self.clause(depth, "else")
        if not handlers or self.chance(0.3):
            self.clause(depth, "finally")

    def with_(self, depth: int) -> None:
        self.clause(depth, "with context(<c1>)")

    def match_(self, depth: int) -> None:
        self.put(depth, "match backend:")
        for pattern in self.random.sample(["'fa3'", "'triton'", "'fa3' | 'fa4'", "Gone()"], 2):
            self.clause(depth + 1, f"case {pattern}{' if <c>' if self.chance(0.3) else ''}")
        if self.chance(0.5):
            self.clause(depth + 1, "case _")

    def inner(self, depth: int) -> None:
        """A function inside: decorated, with defaults, perhaps a generator, perhaps writing outside."""
        name = self.new("f")
        if self.chance(0.4):
            self.write(depth, "@note(flag=<c1>)")
        outer = self.loops, self.generator
        self.loops, self.generator = 0, self.chance(0.4)
        hides = self.pick("b", "b", "b", "_is_hip")
        x = self.pick("x", "is_hip()", "_is_npu")
        self.write(depth, f"def {name}(a, {hides}=<c1>, *, x={x}):")
        if self.chance(0.25) and not self.generator:
            self.write(depth + 1, "nonlocal y\ny = <c1>")
        self.write(depth + 1, f"<suite>\nreturn a, {hides}")
        call = f"list({name}(1))" if self.generator else f"{name}(<c2>)"
        self.loops, self.generator = outer
        self.write(depth, f"record(repr({call}) if not callable({name}) or True else 0)")

    def local(self, depth: int) -> None:
        self.write(depth, self.pick(*_LOCALS), name=self.new("p"))

    def maybe(self, depth: int) -> None:
        """A name that is bound on one way only, read alone."""
        failing = "try:\n    boom()\n    <name> = <known>\nexcept (<error>, TypeError):\n    <fallback>"
        form = self.pick(
            "if choose():\n    <name> = <known>",
            "for _ in range(choose() is True):\n    <name> = <known>",
            failing.replace("<fallback>", self.pick("pass", "<name> = False", "<name> = <known>")),
        )
        use = self.pick("record(<name>)", "a = <name>", "if <name>: <tag>")
        error = self.pick("ValueError", "KeyError")
        self.write(depth, f"{form}\n{use}", name=self.new("q"), error=error)

    def gone(self, depth: int) -> None:
        self.write(depth, self.pick(*_GONE), name=self.new("g"), other=self.pick("int", "Other"))

    def klass(self, depth: int) -> None:
        self.write(depth, _CLASS, name=self.new("C"))
