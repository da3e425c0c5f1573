"""Python texts with every layout that an edit has to survive, made from random choices.

The programs mean nothing: they only have to parse.
"""

from __future__ import annotations

import re
from itertools import product
from random import Random

#: What a mark of a form stands for. <e> is an expression of any precedence, <o> one that may stand anywhere;
#: <h> and <l> begin a line at the depth of the statement and one deeper; <p> is the margin of an operand.
_MARKS = {
    "n": ("a", "b", "is_x", "näme", "_flag", "value"),
    "t": ("", "", "", "  # why", "  # don't (", " "),
    "i": ("<e>, <e>", "<e>, <e>, <e>"),
}
_ATOMS = ("<n>", "True", "3", "'ä'", "a.b", "f(<o>)")
_CHAINS = tuple(word.join(["<o>"] * n) for word, n in product((" and ", " or "), (2, 3, 4)))
#: The forms of expressions, by kind.
_EXPRESSIONS = (
    _ATOMS, _ATOMS, _ATOMS, _CHAINS, _CHAINS,
    ("not <o>",),
    ("<o> == <o>", "<o> in <o>", "<o> is not <o>", "<o> < <o>"),
    ("<o> if <o> else <o>",),
    ("[<i>]", "(<i>)", "{<i>,}", "(<i>, )", "{1: <e>, **a, b: <e>}"),
    ("[<o> for x in <o> if <o> if <o>]",),
    ("call(<o>, *<n>, k=<o>, **<n>)",),
    ("any(<o> for x in <o> if <o>)",),
    # words that only a parenthesis or a digit keeps apart
    ("(<e>)if(<e>)else(<e>)", "1if(<e>)else 2", "(<e>)and(<e>)or(<e>)", "not(<e>)in(<e>)", "lambda:(<e>)",
     "[x for(x)in(<e>)if(<e>)]", '"a"if(<e>)else"b"'),
    # an owner in parentheses, or one that an operator binds tightly
    ("(<e>).real", "(<e>).bit_length()", "(<e>)[0]", "(<e>)(1)", "(<e>) ** 2", "(<e>).a.b", "(<e>)[1:(2)]"),
    ("[*(<e>), <e>]", "call(*(<e>), **(<e>))", "{**(<e>), 1: <e>}", "x[(<e>):(<e>), ...]", "x[<e>:<e>]",
     "-(<e>)", "2 ** -(<e>)", "await (<e>)", "~(<e>)", "call((<e>))", "call((yield), <e>)", "(*(<e>), <e>)"),
    ("(y := <e>)", "lambda x=(<e>), *a: <e>", "(yield <e>)", "[lambda: <e>, <e>]",
     'f"{a!r:>{b}} {x[0]}" + (<e>)', "'a' 'b' if (<n>) else <n>", "{(a): (<e>) for a in (<e>)}"),
    ("<o> + <o>", "<o> + <o>", "<o> - <o>", "<o> * <o>", "<o> ** <o>", "<o> | <o>", "<o> @ <o>"),
)  # fmt: skip
_OPERANDS = ("<n>", "None", "'s'", "a.b", "x[0]", "f()", "(yes)", "-1")
_ENCLOSED = (
    ("(<e>)",),
    ("( (<e>) )",),
    ("(\n<p><e>\n<p>)", "(  # inside (\n<p><e>  # inside (\n<p>)"),
)
_SIMPLE = (
    ("pass<t>",),
    ("<n> = <e><t>",),
    ("<n>: Optional[int] = <e><t>",),
    ("assert <e>, <e><t>",),
    ("<n> = 1; <n>(<e>); del <n><t>",),
    ('<n> = """first\n  second # not a comment\n    third""" + <o><t>',),
    ("<e><t>",),
    ("return(<e>)<t>", "raise(<e>)<t>", "<n> += (<e>)<t>", "del x[(<e>)]<t>", "<n> = x, *(<e>)<t>",
     "await(<e>)<t>"),
    ("<n> = <e> \\\n<l>+ <o>",),
    ("<n> = <e> \\\n<l>+ <o>",),
)  # fmt: skip
#: Suites on the line of their keyword.
_INLINE = (
    tuple(
        "if <e>: <n> = 1<t>" + elif_ + else_
        for elif_ in ("", "\n<h>elif <e>: pass; <n>()<t>")
        for else_ in ("", "\n<h>else: pass<t>")
    ),
    ("try: import a<t>\n<h>except ImportError: a = None<t>",),
    ("for x in <o>: x(); <n><t>",),
    ("def <n>(a): return <e><t>",),
)
_IMPORTS = (
    "import a, b.c as d<t>", "from . import a, b as c<t>", "from a import (b, c,  # two\n<h>  d)",
    "from a import (",
)  # fmt: skip
#: Displays and calls over several lines: their ends, and a member of which <k> is the number.
_DISPLAYS = (
    ("[", "]", "<o>"), ("{", "}", "<o>"), ("(", ")", "<o>"), ("{", "}", '"k": <o>'), ("call(", ")", "<o>"),
    ("call(x, ", ")", "k<k>=<o>"), ("Literal[", "]", "<o>"),
)  # fmt: skip
_WITHS = (
    "with <n>(<e>) as <n>",
    "with(<e>)as <n>",
    "with (<e>), (<e>) as (<n>)",
    "with (<e> as <n>, <n>(<e>))",
)
_PATTERNS = ('"a"', "A()", "1 | 2", "[x, *_]", "(1)", "x, 2", "x,", "{'a': b, **c}", "(A() as x)")
_GUARDS = ("", " if <e>", " if(<e>)", " \\\n   if <e>", " if (  # it's\n  <e>\n)")


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
            return self.fill(self.pick(*_MARKS[mark[1]]), depth, deep)

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
            self.put(depth, self.pick(*self.random.choice(_SIMPLE)))
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
        self.clause(depth, *_WITHS)

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
            self.clause(depth + 1, f"case {self.pick(*_PATTERNS)}{self.pick(*_GUARDS)}")

    def imports(self, depth: int) -> None:
        form = self.pick(*_IMPORTS)
        self.put(depth, form)
        if form.endswith("("):
            self.members(depth, ["b", "c as d", "e"], ")")

    def inline(self, depth: int) -> None:
        self.put(depth, self.pick(*self.random.choice(_INLINE)))

    def display(self, depth: int) -> None:
        opening, closing, member = self.random.choice(_DISPLAYS)
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
        return self.fill("<n>" if deep > 3 else self.pick(*self.random.choice(_EXPRESSIONS)), depth, deep + 1)

    def operand(self, depth: int, deep: int = 0) -> str:
        """An expression that may stand anywhere: an atom, or one in parentheses over one or more lines."""
        if deep > 3 or self.chance(0.5):
            return self.fill(self.pick(*_OPERANDS), depth)
        return self.fill(self.pick(*self.random.choice(_ENCLOSED)), depth, deep + 1)
