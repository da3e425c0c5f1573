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


class Program(Writer):
    """Writes one module, whose `entry` is what is run. `size` bounds the statements."""

    def text(self) -> str:
        """The source of the module."""
        self.header()
        for _ in range(self.random.randint(0, 2)):
            self.top()
        for family in self.random.choices(TOP, k=self.random.choice([0, 1, 1, 2])):
            self.random.choice(family)(self, 0)
        self.outside = False
        self.function("entry", 0, "x, y, backend, backends, device, obj")
        return "\n".join(self.lines) + "\n"

    # -- statements ---------------------------------------------------------------------------

    def suite(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > 5 or self.chance(0.25):
            self.simple(depth)
            return
        if self.chance(0.25):
            self.random.choice(self.random.choice(INSIDE))(self, depth)
            return
        self.random.choice(
            [self.if_, self.if_, self.if_, self.if_, self.while_, self.for_, self.try_, self.with_,
             self.inner, self.match_, self.local, self.maybe, self.gone, self.klass]
        )(depth)  # fmt: skip

    def simple(self, depth: int) -> None:
        kind = self.random.randrange(13)
        if kind <= 1:
            self.put(depth, self.tag())
        elif kind == 2:
            self.put(depth, f"{self.pick('a', 'b')} = {self.value()}")
        elif kind == 3:
            self.put(depth, f"record({self.value()})")
        elif kind == 4:
            self.put(depth, f"assert {self.condition()}, {self.condition(2)}")
        elif kind == 5:
            self.put(depth, f"if {self.condition()}: {self.tag()}; a = {self.condition(2)}")
        elif kind == 6 and self.loops:
            self.put(depth, self.pick("break", "continue"))
        elif kind == 7:
            self.put(depth, self.pick("return a, b", f"return {self.condition()}", "raise KeyError('k')"))
        elif kind == 8 and self.generator:
            form = self.pick("yield {}", "a = (yield {}) if is_hip() else x", "is_new() or (yield {})")
            self.put(depth, form.format(self.condition()))
        elif kind == 9:
            self.put(depth, f"a = [{self.condition(1)}]; a += [{self.condition(1)}]; del a[0]")
        elif kind == 10:
            self.put(depth, f"x += {self.condition(1)} is True")
        elif kind == 11:
            self.put(depth, f"b = TABLE[backend]({self.condition(1)})")
        else:
            self.put(depth, "pass")

    def if_(self, depth: int) -> None:
        self.put(depth, f"if {self.condition()}:")
        self.suite(depth + 1)
        while self.chance(0.35):
            self.put(depth, f"elif {self.condition()}:")
            self.suite(depth + 1)
        if self.chance(0.5):
            self.put(depth, "else:")
            self.suite(depth + 1)

    def while_(self, depth: int) -> None:
        self.put(depth, f"while tick() and {self.condition()}:" if self.chance(0.7) else self.decided_while())
        self.loops += 1
        self.put(depth + 1, "tick()")
        self.suite(depth + 1)
        self.loops -= 1
        if self.chance(0.4):
            self.put(depth, "else:")
            self.suite(depth + 1)

    def decided_while(self) -> str:
        return f"while {self.pick('is_hip()', '_is_npu', 'False', 'backend == ' + repr('fa3'))}:"

    def for_(self, depth: int) -> None:
        self.put(depth, f"for i in range({self.random.randint(0, 2)}):")
        self.loops += 1
        self.suite(depth + 1)
        self.loops -= 1
        if self.chance(0.3):
            self.put(depth, "else:")
            self.suite(depth + 1)

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
            self.put(depth, "else:")
            self.suite(depth + 1)
        if not handlers or self.chance(0.3):
            self.put(depth, "finally:")
            self.suite(depth + 1)

    def with_(self, depth: int) -> None:
        self.put(depth, f"with context({self.condition(1)}):")
        self.suite(depth + 1)

    def match_(self, depth: int) -> None:
        self.put(depth, "match backend:")
        for pattern in self.random.sample(["'fa3'", "'triton'", "'fa3' | 'fa4'", "Gone()"], 2):
            guard = f" if {self.condition()}" if self.chance(0.3) else ""
            self.put(depth + 1, f"case {pattern}{guard}:")
            self.suite(depth + 2)
        if self.chance(0.5):
            self.put(depth + 1, "case _:")
            self.suite(depth + 2)

    def inner(self, depth: int) -> None:
        """A function inside: decorated, with defaults, perhaps a generator, perhaps writing outside."""
        name = self.new("f")
        if self.chance(0.4):
            self.put(depth, f"@note(flag={self.condition(1)})")
        outer = self.loops, self.generator
        self.loops, self.generator = 0, self.chance(0.4)
        hides = self.pick("b", "b", "b", "_is_hip")
        self.put(
            depth,
            f"def {name}(a, {hides}={self.condition(1)}, *, x={self.pick('x', 'is_hip()', '_is_npu')}):",
        )
        if self.chance(0.25) and not self.generator:
            self.put(depth + 1, "nonlocal y")
            self.put(depth + 1, f"y = {self.condition(1)}")
        self.suite(depth + 1)
        self.put(depth + 1, f"return a, {hides}")
        call = f"list({name}(1))" if self.generator else f"{name}({self.condition(2)})"
        self.loops, self.generator = outer
        self.put(depth, f"record(repr({call}) if not callable({name}) or True else 0)")

    def local(self, depth: int) -> None:
        """A local name that stands for a predicate, hides one, or is written again."""
        kind = self.random.randrange(6)
        name = self.new("p")
        if kind == 0:
            self.put(depth, f"{name} = {self.predicate()}")
            self.put(depth, f"if {name}:")
            self.suite(depth + 1)
        elif kind == 1:
            self.put(depth, f"{name} = {self.predicate()}")
            self.put(depth, f"if {self.open()}:")
            self.put(depth + 1, f"{name} = {self.condition()}")
            self.put(depth, f"record({name})")
        elif kind == 2:
            self.put(depth, f"{name}: bool = {self.predicate()}")
            self.put(depth, f"a = {name} and {self.tag()}")
        elif kind == 3:
            self.put(depth, f"b = [(is_hip, _is_npu) for is_hip in (0, 1) for _is_npu in (x,) if {name!r}]")
        elif kind == 4:
            self.put(depth, "from pkg.plat import is_hip as local_hip")
            self.put(depth, f"if local_hip() or {self.condition()}:")
            self.suite(depth + 1)
        else:
            self.put(depth, f"{name} = {self.predicate()}; {name} |= bool({self.open()})")
            self.put(depth, f"record({name})")

    def maybe(self, depth: int) -> None:
        """A name that is bound on one way only, read alone."""
        name = self.new("q")
        self.put(depth, self.pick("if choose():", "for _ in range(choose() is True):", "try:"))
        opened_try = self.lines[-1].strip() == "try:"
        if opened_try:
            self.put(depth + 1, "boom()")
        self.put(depth + 1, f"{name} = {self.predicate()}")
        if opened_try:
            self.put(depth, f"except ({self.pick('ValueError', 'KeyError')}, TypeError):")
            self.put(depth + 1, self.pick("pass", f"{name} = False", f"{name} = {self.predicate()}"))
        self.put(depth, self.pick(f"record({name})", f"a = {name}", f"if {name}: {self.tag()}"))

    def gone(self, depth: int) -> None:
        """Something that a removed class or an absent value takes part in."""
        kind = self.random.randrange(8)
        if kind == 5:
            self.put(depth, f"b = {{'k': Gone, 'm': {self.condition()}}}['m']")
        elif kind == 6:
            self.put(depth, f"record(any(isinstance(x, c) for c in [Gone, {self.pick('int', 'Other')}]))")
        elif kind == 7:
            name = self.new("g")
            self.put(depth, f"def {name}():")
            self.put(depth + 1, "global shared")
            self.put(depth + 1, f"shared = {self.condition()}")
            self.put(depth, f"{name}()")
        elif kind == 0:
            self.put(depth, f"v: Optional[Gone] = {self.condition()}")
        elif kind == 1:
            self.put(depth, f"record(isinstance({self.open()}, (Gone, bool)))")
        elif kind == 2:
            self.put(depth, f"if type(x) is Gone or {self.condition()}:")
            self.suite(depth + 1)
        elif kind == 3:
            self.put(depth, f"if isinstance({self.open()}, Gone):")
            self.suite(depth + 1)
        else:
            self.put(depth, f"record(echo({self.condition(1)}) in ['fa3', 'fa4', True])")

    def klass(self, depth: int) -> None:
        """A class with a body that decides, and methods."""
        name = self.new("C")
        self.put(depth, f"class {name}:")
        self.put(depth + 1, f"flag = {self.condition(1)}")
        self.put(depth + 1, f"if {self.predicate()}:")
        self.put(depth + 2, "def go(self, v: 'Gone | int' = 1): return v")
        self.put(depth + 1, f"elif {self.condition(1)}:")
        self.put(depth + 2, "go = lambda self: 2")
        self.put(depth + 1, "else:")
        self.put(depth + 2, "def go(self): return 3")
        self.put(depth + 1, "@property")
        self.put(depth + 1, f"def is_hip(self): return {self.condition(1)}")
        self.put(depth, f"record(({name}.flag, {name}().go(), {name}().is_hip))")

    # -- the module ---------------------------------------------------------------------------

    def header(self) -> None:
        self.put(0, "from typing import Optional")
        self.put(0, "import collections, dataclasses, enum, functools, operator, os, sys, types, typing")
        self.put(0, "import torch")
        self.put(0, "import framework")
        self.put(0, "from effects import *")
        self.put(0, "from pkg.consts import *")
        self.put(0, "import pkg.consts")
        self.put(0, "import pkg.plat as plat")
        self.put(0, "from pkg.plat import is_hip, is_npu, is_new, is_cuda, some, none, get_name, Kind")
        self.put(0, "from pkg.consts import _is_hip, _is_npu, _use_fast, _is_cuda, use_slow")
        self.put(0, "from pkg.gone import Gone, GoneError")
        self.put(0, self.pick("_late = is_hip()", "_late: bool = is_npu() or none()", "_late = _is_hip"))
        self.put(0, f"CHOICES = [{self.condition(2)}, 'fa3', 'triton']")
        entries = [f"'fa3': {self.predicate()}", "'triton': echo", f"'other': ({self.pick('echo', 'bool')})"]
        self.put(0, "TABLE = {" + ", ".join(entries) + "}")
        self.put(0, "not_a_fact = choose()")
        self.put(0, "shared = is_hip()")
        self.put(0, "CHOICE = 'triton'")
        self.put(0, "class Maker:")
        self.put(1, f"backend = 'triton' if {self.condition(2)} else 'other'")
        self.put(1, f"is_hip = {self.condition(2)}")
        self.put(1, "maker = is_hip")
        self.put(0, "maker = Maker()")
        if self.chance(0.15):
            self.put(0, "def overwrite():")
            self.put(1, "global _late")
            self.put(1, f"_late = {self.condition(1)}")
            self.put(0, "overwrite()")

    def top(self) -> None:
        """A statement at the top of the module: conditions that define functions, guarded imports."""
        name = self.new("top")
        kind = self.random.randrange(4)
        if kind == 0:
            self.put(0, f"if {self.predicate()}:")
            self.put(1, f"def {name}(): return {self.tag()}")
            self.put(0, "else:")
            self.put(1, f"def {name}(): return {self.condition(1)}")
        elif kind == 1:
            self.put(0, "try:")
            self.put(1, self.pick("import aiter", "from pkg.void import missing", "import json"))
            self.put(1, f"{name} = lambda: 1")
            self.put(0, "except ImportError:")
            self.put(1, f"{name} = lambda: {self.condition(1)}")
        elif kind == 2:
            self.put(0, f"@register_backend({self.pick(repr('fa3'), repr('triton'))})")
            self.put(0, f"def {name}(): return {self.condition(1)}")
            self.put(0, f"{name} = lambda: BACKENDS.get('triton')")
        else:
            self.put(0, f"def {name}(): return {self.predicate()}")
        self.put(0, f"record(repr({name}())[:4])")

    def function(self, name: str, depth: int, parameters: str) -> None:
        self.put(depth, f"def {name}({parameters}):")
        self.put(depth + 1, "a = b = 0")
        if self.chance(0.15):  # names that hide a predicate
            self.put(
                depth + 1, self.pick("_is_npu = choose()", "is_hip = choose", "for _is_hip in (1, x): pass")
            )
        for _ in range(self.random.randint(1, 5)):
            self.statement(depth + 1)
        self.put(depth + 1, "return a, b, x, y")
