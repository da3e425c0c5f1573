"""Python texts with every layout that an edit has to survive, made from random choices.

The programs mean nothing: they only have to parse.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random


class Text:
    """Writes one random module. `size` bounds the number of statements."""

    def __init__(self, random: Random, size: int = 14) -> None:
        self.random = random
        self.left = size
        self.lines: list[str] = []
        units = random.choice([["    "], ["    "], ["\t"], ["    ", "\t"], [" ", "  ", "\t", "    "]])
        self.feeds = random.random() < 0.1
        self.margins = [""]
        for _ in range(12):
            self.margins.append(self.margins[-1] + random.choice(units))

    def module(self) -> bytes:
        if self.chance(0.2):
            self.lines.append("#!/usr/bin/env python")
        if self.chance(0.3):
            self.lines += ['"""Docstring', "    with a second line.", '"""', ""]
        self.suite(0, top=True)
        text = "\n".join(self.lines) + self.pick(["\n", "\n", ""])
        if self.chance(0.1):
            text = text.replace("\n", self.pick(["\r\n", "\r\n", "\r"]))
        data = text.encode()
        return b"\xef\xbb\xbf" + data if self.chance(0.1) else data

    # -- choices ------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, items: list[str]) -> str:
        return self.random.choice(items)

    def name(self) -> str:
        return self.pick(["a", "b", "is_x", "näme", "_flag", "value"])

    # -- statements ---------------------------------------------------------------------------

    def suite(self, depth: int, top: bool = False) -> None:
        count = self.random.randint(1, 5 if top else 3)
        for index in range(count):
            self.space(depth, first=index == 0 and not top)
            self.statement(depth)
        if self.chance(0.15) and not top:
            self.comment(depth)

    def space(self, depth: int, first: bool) -> None:
        if self.chance(0.25) and not first:
            self.lines += [""] * self.random.randint(1, 2)
        while self.chance(0.25):
            self.comment(depth)

    def comment(self, depth: int) -> None:
        self.put(depth, self.pick(["# a note", '# it\'s "quoted" (', "#: x", "# näher"]))

    def put(self, depth: int, text: str) -> None:
        self.lines.append(self.pick(["", "", "", "\f"] if self.feeds else [""]) + self.margins[depth] + text)

    def trail(self) -> str:
        return self.pick(["", "", "", "  # why", "  # don't (", " "])

    def statement(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > 4 or self.chance(0.35):
            self.simple(depth)
            return
        self.random.choice(
            [self.if_, self.if_, self.if_, self.for_, self.while_, self.try_, self.with_, self.def_,
             self.class_, self.match_, self.imports, self.display, self.inline]
        )(depth)  # fmt: skip

    def simple(self, depth: int) -> None:
        kind = self.random.randrange(10)
        e = self.expression
        if kind == 0:
            self.put(depth, "pass" + self.trail())
        elif kind == 1:
            self.put(depth, f"{self.name()} = {e(depth)}" + self.trail())
        elif kind == 2:
            self.put(depth, f"{self.name()}: Optional[int] = {e(depth)}" + self.trail())
        elif kind == 3:
            self.put(depth, f"assert {e(depth)}, {e(depth)}" + self.trail())
        elif kind == 4:
            self.put(depth, f"{self.name()} = 1; {self.name()}({e(depth)}); del {self.name()}" + self.trail())
        elif kind == 5:
            self.put(depth, f'{self.name()} = """first')
            self.lines += ["  second # not a comment", '    third""" + ' + self.operand(depth) + self.trail()]
        elif kind == 6:
            self.put(depth, f"{e(depth)}" + self.trail())
        elif kind == 7:
            start = self.pick(
                ["return(", "raise(", f"{self.name()} += (", "del x[(", f"{self.name()} = x, *(", "await("]
            )
            self.put(depth, start + f"{e(depth)})" + ("]" if "[" in start else "") + self.trail())
        else:
            self.put(depth, f"{self.name()} = {e(depth)} \\")
            self.put(depth + 1, f"+ {self.operand(depth)}")

    def clause(self, depth: int, head: str) -> None:
        self.put(depth, head + ":" + self.trail())
        self.suite(depth + 1)

    def if_(self, depth: int) -> None:
        self.clause(depth, self.pick([f"if {self.expression(depth)}", f"if({self.expression(depth)})"]))
        while self.chance(0.4):
            self.space(depth, first=False)
            self.clause(depth, f"elif {self.expression(depth)}")
        if self.chance(0.5):
            self.space(depth, first=False)
            self.clause(depth, "else")

    def for_(self, depth: int) -> None:
        e = self.expression(depth)
        self.clause(depth, self.pick([f"for {self.name()} in {e}", f"for x in({e})", f"for x in a, *({e})"]))
        if self.chance(0.3):
            self.clause(depth, "else")

    def while_(self, depth: int) -> None:
        self.clause(depth, f"while {self.expression(depth)}")
        if self.chance(0.4):
            self.clause(depth, "else")

    def try_(self, depth: int) -> None:
        self.clause(depth, "try")
        handlers = self.random.randint(0, 2)
        for index in range(handlers):
            self.space(depth, first=False)
            last = index + 1 == handlers
            self.clause(depth, self.pick(["except ImportError", "except (A, B) as e"] + ["except"] * last))
        if handlers and self.chance(0.3):
            self.clause(depth, "else")
        if not handlers or self.chance(0.3):
            self.clause(depth, "finally")

    def with_(self, depth: int) -> None:
        e = self.expression
        self.clause(
            depth,
            self.pick(
                [
                    f"with {self.name()}({e(depth)}) as {self.name()}",
                    f"with({e(depth)})as {self.name()}",
                    f"with ({e(depth)}), ({e(depth)}) as ({self.name()})",
                    f"with ({e(depth)} as {self.name()}, {self.name()}({e(depth)}))",
                ]
            ),
        )

    def def_(self, depth: int) -> None:
        while self.chance(0.3):
            self.put(depth, self.pick(["@decorator", "@register(a, b=1)", "@ (a.b)"]) + self.trail())
            if self.chance(0.2):
                self.comment(depth)
        if self.chance(0.3):
            self.put(depth, f"def {self.name()}(")
            self.put(depth + 1, f"a: int = {self.expression(depth)},  # first")
            self.put(depth + 1, "*, b: 'Optional[A]' = None, **c: int")
            self.clause(depth, ") -> Optional[int]")
        else:
            self.clause(depth, f"def {self.name()}(a: int=1, b: A = {self.operand(depth)}) -> (A)")

    def class_(self, depth: int) -> None:
        self.clause(
            depth, f"class {self.name()}({self.pick(['A, B, metaclass=M', '*(A), **(b)', 'A, x=(1), *b'])})"
        )

    def match_(self, depth: int) -> None:
        self.put(depth, f"match {self.name()}:" + self.trail())
        for index in range(self.random.randint(1, 3)):
            if index and self.chance(0.3):
                self.comment(depth + 1)
            pattern = self.pick(
                ['"a"', "A()", "1 | 2", "[x, *_]", "(1)", "x, 2", "x,", "{'a': b, **c}", "(A() as x)"]
            )
            e = self.expression(depth)
            guard = self.pick(["", f" if {e}", f" if({e})", f" \\\n   if {e}", f" if (  # it's\n  {e}\n)"])
            self.clause(depth + 1, f"case {pattern}{guard}")

    def imports(self, depth: int) -> None:
        kind = self.random.randrange(4)
        if kind == 0:
            self.put(depth, "import a, b.c as d" + self.trail())
        elif kind == 1:
            self.put(depth, "from . import a, b as c" + self.trail())
        elif kind == 2:
            self.put(depth, "from a import (")
            for item in ("b", "c as d", "e"):
                if self.chance(0.3):
                    self.comment(depth + 1)
                self.put(depth + 1, item + "," + self.trail())
            self.put(depth, ")" + self.trail())
        else:
            self.put(depth, "from a import (b, c,  # two")
            self.put(depth, "  d)")

    def inline(self, depth: int) -> None:
        """Suites on the line of their keyword."""
        kind = self.random.randrange(4)
        if kind == 0:
            self.put(depth, f"if {self.expression(depth)}: {self.name()} = 1" + self.trail())
            if self.chance(0.5):
                self.put(depth, f"elif {self.expression(depth)}: pass; {self.name()}()" + self.trail())
            if self.chance(0.5):
                self.put(depth, "else: pass" + self.trail())
        elif kind == 1:
            self.put(depth, "try: import a" + self.trail())
            self.put(depth, "except ImportError: a = None" + self.trail())
        elif kind == 2:
            self.put(depth, f"for x in {self.operand(depth)}: x(); {self.name()}" + self.trail())
        else:
            self.put(depth, f"def {self.name()}(a): return {self.expression(depth)}" + self.trail())

    def display(self, depth: int) -> None:
        """A display or a call over several lines, with comments between its members."""
        opening, closing, entry = self.random.choice(
            [("[", "]", "{}"), ("{", "}", "{}"), ("(", ")", "{}"), ("{", "}", '"k": {}'),
             ("call(", ")", "{}"), ("call(x, ", ")", "k{i}={}"), ("Literal[", "]", "{}")]
        )  # fmt: skip
        self.put(depth, f"{self.name()} = {opening}" + self.trail())
        for index in range(self.random.randint(2, 4)):
            if self.chance(0.3):
                self.comment(depth + 1)
            text = entry.format(self.operand(depth), i=index).replace("{i}", str(index))
            self.put(depth + 1, text + "," + self.trail())
        self.put(depth, closing + self.trail())

    # -- expressions --------------------------------------------------------------------------

    def expression(self, depth: int, deep: int = 0) -> str:
        """An expression of any precedence that may stand where a statement wants one."""
        if deep > 3:
            return self.name()
        again: Callable[[], str] = lambda: self.expression(depth, deep + 1)  # noqa: E731
        operand = lambda: self.operand(depth, deep + 1)  # noqa: E731
        kind = self.random.randrange(17)
        if kind <= 2:
            return self.pick([self.name(), "True", "3", "'ä'", "a.b", f"f({operand()})"])
        if kind <= 4:
            word = self.pick([" and ", " or "])
            return word.join(operand() for _ in range(self.random.randint(2, 4)))
        if kind == 5:
            return f"not {operand()}"
        if kind == 6:
            return f"{operand()} {self.pick(['==', 'in', 'is not', '<'])} {operand()}"
        if kind == 7:
            return f"{operand()} if {operand()} else {operand()}"
        if kind == 8:
            return self.members(again)
        if kind == 9:
            return f"[{operand()} for x in {operand()} if {operand()} if {operand()}]"
        if kind == 10:
            return f"call({operand()}, *{self.name()}, k={operand()}, **{self.name()})"
        if kind == 11:
            return f"any({operand()} for x in {operand()} if {operand()})"
        if kind == 12:
            return self.glued(again)
        if kind == 13:
            return self.owner(again)
        if kind == 14:
            return self.unpacked(again)
        if kind == 15:
            return self.binding(again)
        return f"{operand()} {self.pick(['+', '+', '-', '*', '**', '|', '@'])} {operand()}"

    def glued(self, again: Callable[[], str]) -> str:
        """Words that only a parenthesis or a digit keeps apart."""
        return self.pick(
            [
                f"({again()})if({again()})else({again()})",
                f"1if({again()})else 2",
                f"({again()})and({again()})or({again()})",
                f"not({again()})in({again()})",
                f"lambda:({again()})",
                f"[x for(x)in({again()})if({again()})]",
                f'"a"if({again()})else"b"',
            ]
        )

    def owner(self, again: Callable[[], str]) -> str:
        """An expression in parentheses that something is taken from, or that an operator binds tightly."""
        return f"({again()})" + self.pick(
            [".real", ".bit_length()", "[0]", "(1)", " ** 2", ".a.b", "[1:(2)]"]
        )

    def unpacked(self, again: Callable[[], str]) -> str:
        return self.pick(
            [
                f"[*({again()}), {again()}]",
                f"call(*({again()}), **({again()}))",
                f"{{**({again()}), 1: {again()}}}",
                f"x[({again()}):({again()}), ...]",
                f"x[{again()}:{again()}]",
                f"-({again()})",
                f"2 ** -({again()})",
                f"await ({again()})",
                f"~({again()})",
                f"call(({again()}))",
                f"call((yield), {again()})",
                f"(*({again()}), {again()})",
            ]
        )

    def binding(self, again: Callable[[], str]) -> str:
        return self.pick(
            [
                f"(y := {again()})",
                f"lambda x=({again()}), *a: {again()}",
                f"(yield {again()})",
                f"[lambda: {again()}, {again()}]",
                f'f"{{a!r:>{{b}}}} {{x[0]}}" + ({again()})',
                f"'a' 'b' if {self.operand(0, 3)} else {self.operand(0, 3)}",
                f"{{(a): ({again()}) for a in ({again()})}}",
            ]
        )

    def members(self, again: object) -> str:
        assert callable(again)
        inner = ", ".join(again() for _ in range(self.random.randint(2, 3)))
        return self.pick(
            [
                f"[{inner}]",
                f"({inner})",
                f"{{{inner},}}",
                f"({inner}, )",
                f"{{1: {again()}, **a, b: {again()}}}",
            ]
        )

    def operand(self, depth: int, deep: int = 0) -> str:
        """An expression that may stand anywhere: an atom, or one in parentheses over one or more lines."""
        kind = self.random.randrange(6)
        if kind <= 2 or deep > 3:
            return self.pick([self.name(), "None", "'s'", "a.b", "x[0]", "f()", "(yes)", "-1"])
        inner = self.expression(depth, deep + 1)
        if kind == 3:
            return f"({inner})"
        if kind == 4:
            return f"( ({inner}) )"
        pad = "    " * (depth + 2)
        note = self.pick(["", "  # inside ("])
        return f"({note}\n{pad}{inner}{note}\n{pad})"
