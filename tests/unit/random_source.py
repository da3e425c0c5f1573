"""Python texts with every layout that an edit has to survive, made from random choices.

The programs mean nothing: they only have to parse. Their forms are those of `programs/layouts.yaml`.
"""

from __future__ import annotations

import re
from random import Random

from random_program import page

_FORMS = page("layouts")


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
        text = "\n".join(self.lines) + self.pick("\n", "\n", "")
        if self.chance(0.1):
            text = text.replace("\n", self.pick("\r\n", "\r\n", "\r"))
        data = text.encode()
        return b"\xef\xbb\xbf" + data if self.chance(0.1) else data

    # -- choices ------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *items: str) -> str:
        return self.random.choice(items)

    def fill(self, form: str, depth: int, deep: int = 0) -> str:
        """A form with a random text for each of its marks; `deep` counts the expressions around it."""

        def text(mark: re.Match[str]) -> str:
            if mark[1] == "e":
                return self.expression(depth, deep)
            if mark[1] == "o":
                return self.operand(depth, deep)
            if mark[1] == "p":
                return "    " * (depth + 2)
            if mark[1] in "hl":
                return self.margin(depth + (mark[1] == "l"))
            return self.fill(self.pick(*_FORMS["marks"][mark[1]]), depth, deep)

        return re.sub("<([a-z])>", text, form)

    def margin(self, depth: int) -> str:
        return ("\f" if self.feeds and self.chance(0.25) else "") + self.margins[depth]

    def put(self, depth: int, form: str) -> None:
        self.lines.append(self.margin(depth) + self.fill(form, depth))

    # -- statements ---------------------------------------------------------------------------

    def suite(self, depth: int, top: bool = False) -> None:
        count = self.random.randint(1, 5 if top else 3)
        for index in range(count):
            self.space(depth, first=index == 0 and not top)
            self.statement(depth)
        if self.chance(0.15) and not top:
            self.comment(depth)

    def space(self, depth: int, first: bool = False) -> None:
        if self.chance(0.25) and not first:
            self.lines += [""] * self.random.randint(1, 2)
        while self.chance(0.25):
            self.comment(depth)

    def comment(self, depth: int) -> None:
        self.put(depth, self.pick("# a note", '# it\'s "quoted" (', "#: x", "# näher"))

    def statement(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > 4 or self.chance(0.35):
            self.put(depth, self.pick(*self.random.choice(_FORMS["simple"])))
            return
        self.random.choice(
            [self.if_, self.if_, self.if_, self.loop, self.loop, self.try_, self.with_, self.def_,
             self.class_, self.match_, self.imports, self.display, self.inline]
        )(depth)  # fmt: skip

    def clause(self, depth: int, *heads: str) -> None:
        self.put(depth, self.pick(*heads) + ":<t>")
        self.suite(depth + 1)

    def if_(self, depth: int) -> None:
        self.clause(depth, "if <e>", "if(<e>)")
        while self.chance(0.4):
            self.space(depth)
            self.clause(depth, "elif <e>")
        if self.chance(0.5):
            self.space(depth)
            self.clause(depth, "else")

    def loop(self, depth: int) -> None:
        fors = ("for <n> in <e>", "for x in(<e>)", "for x in a, *(<e>)")
        self.clause(depth, *fors, *["while <e>"] * len(fors))
        if self.chance(0.35):
            self.clause(depth, "else")

    def try_(self, depth: int) -> None:
        self.clause(depth, "try")
        handlers = self.random.randint(0, 2)
        for index in range(handlers):
            self.space(depth)
            last = index + 1 == handlers
            self.clause(depth, "except ImportError", "except (A, B) as e", *["except"] * last)
        if handlers and self.chance(0.3):
            self.clause(depth, "else")
        if not handlers or self.chance(0.3):
            self.clause(depth, "finally")

    def with_(self, depth: int) -> None:
        self.clause(depth, *_FORMS["withs"])

    def def_(self, depth: int) -> None:
        while self.chance(0.3):
            self.put(depth, self.pick("@decorator", "@register(a, b=1)", "@ (a.b)") + "<t>")
            if self.chance(0.2):
                self.comment(depth)
        if self.chance(0.3):
            self.put(depth, "def <n>(\n<l>a: int = <e>,  # first\n<l>*, b: 'Optional[A]' = None, **c: int")
            self.clause(depth, ") -> Optional[int]")
        else:
            self.clause(depth, "def <n>(a: int=1, b: A = <o>) -> (A)")

    def class_(self, depth: int) -> None:
        self.clause(
            depth, *(f"class <n>({of})" for of in ("A, B, metaclass=M", "*(A), **(b)", "A, x=(1), *b"))
        )

    def match_(self, depth: int) -> None:
        self.put(depth, "match <n>:<t>")
        for index in range(self.random.randint(1, 3)):
            if index and self.chance(0.3):
                self.comment(depth + 1)
            self.clause(depth + 1, f"case {self.pick(*_FORMS['patterns'])}{self.pick(*_FORMS['guards'])}")

    def imports(self, depth: int) -> None:
        form = self.pick(*_FORMS["imports"])
        self.put(depth, form)
        if form.endswith("("):
            self.members(depth, ["b", "c as d", "e"], ")")

    def inline(self, depth: int) -> None:
        self.put(depth, self.pick(*self.random.choice(_FORMS["inline"])))

    def display(self, depth: int) -> None:
        opening, closing, member = self.random.choice(_FORMS["displays"])
        self.put(depth, f"<n> = {opening}<t>")
        count = self.random.randint(2, 4)
        self.members(depth, [member.replace("<k>", str(index)) for index in range(count)], closing)

    def members(self, depth: int, forms: list[str], closing: str) -> None:
        """A member on each line, with comments between them."""
        for form in forms:
            if self.chance(0.3):
                self.comment(depth + 1)
            self.put(depth + 1, f"{form},<t>")
        self.put(depth, f"{closing}<t>")

    # -- expressions --------------------------------------------------------------------------

    def expression(self, depth: int, deep: int = 0) -> str:
        """An expression of any precedence that may stand where a statement wants one."""
        return self.fill(
            "<n>" if deep > 3 else self.pick(*self.random.choice(_FORMS["expressions"])), depth, deep + 1
        )

    def operand(self, depth: int, deep: int = 0) -> str:
        """An expression that may stand anywhere: an atom, or one in parentheses over one or more lines."""
        if deep > 3 or self.chance(0.5):
            return self.fill(self.pick(*_FORMS["operands"]), depth)
        return self.fill(self.pick(*self.random.choice(_FORMS["enclosed"])), depth, deep + 1)
