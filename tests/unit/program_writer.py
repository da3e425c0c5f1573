"""What the shapes of a random program are written with: choices, conditions and values."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from random import Random
from textwrap import dedent

#: Expressions that the facts decide, and what they are worth at run time (see `program_run`).
PREDICATES = (
    "is_hip()", "is_npu()", "is_new()", "_is_hip", "_is_npu", "_use_fast", "plat.is_npu()", "use_slow()",
    "get_bool_env_var('USE_HIP')", "torch.version.hip", "hasattr(torch, 'npu')", "_late", "some()", "none()",
    "backend == 'fa3'", "backend != 'fa4'", "backend in ['fa3', 'fa4']", "backend not in ('fa3',)",
    "'fa3' in backends", "device == 'npu'", "get_name() == 'dev'", "isinstance(x, Gone)",
    "isinstance(x, (Gone, Other))", "bool(is_hip())", "get_name() in ('dev', 'prod')", "plat.DERIVED",
    "False", "True", "x == Kind.OLD", "Kind.A in (Kind.OLD, Kind.A)", "getenv('USE_HIP', '0') == '1'",
    "getenv('USE_HIP')", "int(getenv('USE_HIP', '0'))", "envs.USE_HIP.get()", "CHOICE == 'fa3'",
    "getenv('USE_HIP', 'Off').lower() in ('on', '1')", "star_flag", "maker.backend in {'fa3'}",
)  # fmt: skip
#: Expressions that nothing decides. The last ones only look as if a fact were meant.
OPEN = (
    "choose()", "choose()", "choose()", "boom()", "peek()", "x", "y", "x == 2", "x in (1, 2)", "is_cuda()",
    "_is_cuda", "device == 'cuda'", "backend == 'triton'", "backend in ['triton', 'fa3']", "obj.is_hip",
    "obj.is_npu()", "not_a_fact", "1 != x != 3", "any(v == 1 for v in (0, x))", "maker.is_hip", "maker.maker",
    "backend in CHOICES", "shared", "Kind.A.is_old()",
)  # fmt: skip
_LOCAL = ("CHOICE", "x", "y", "backend", "device", "obj", "not_a_fact", "CHOICES", "_late")
#: Those that mean something at the top of the module too.
GLOBAL_PREDICATES = tuple(p for p in PREDICATES if not any(name in p for name in _LOCAL))
GLOBAL_OPEN = ("choose()", "peek()", "is_cuda()", "_is_cuda")
_COMPARISONS = ("==", "!=", "is", "is not")
#: The forms of conditions, by kind; an empty kind is a predicate or an open expression.
_CONDITIONS = (
    (), (), (), (),
    *3 * (tuple("(" + word.join(["<c>"] * n) + ")" for word, n in product((" and ", " or "), (2, 3, 4))),),
    ("(not <c>)",),
    ("(<c> if <c> else <c>)",),
    tuple(f"(<c> {word})" for word in map(" ".join, product(_COMPARISONS, ("True", "False", "None")))),
    ("(<new> := <c>)",),
    ("bool(<c>)",),
)  # fmt: skip
#: The forms of expressions whose value matters.
_VALUES = (
    "<c1>", "<c1>", "<c1>", "[<c>, <value>]", "(<c>, <value>)", "{'k': <c>, 'm': <value>}",
    "[v for v in (1, 2, x) if <c> if <c>]", "(lambda u=<c>: (u, <c>))()", "(*[<c>],)", "echo(<c>, k=<c>)",
    "f'{x if <flag> else y}-{_is_hip}'", "dict(a=<c>, **{'b': <c>})['<key>']",
)  # fmt: skip


class Writer:
    """Writes lines of a program: what every kind of shape needs. `size` bounds the statements."""

    def __init__(self, random: Random, size: int) -> None:
        self.random = random
        self.left = size
        self.lines: list[str] = []
        self.serial = 0
        self.loops = 0  # depth of loops around the statement that is written
        self.generator = False
        self.outside = True  # of every function
        self.mark = random.randrange(1000)

    # -- choices ------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *items: str) -> str:
        return self.random.choice(items)

    def new(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def write(self, depth: int, form: str, **names: str) -> None:
        """Several lines, indented among themselves; a line that is <suite> becomes one."""
        for line in dedent(form).strip("\n").splitlines():
            if line.strip() == "<suite>":
                self.suite(depth + (len(line) - len("<suite>")) // 4)
            else:
                self.put(depth, self.fill(line, **names))

    def fill(self, form: str, **names: str) -> str:
        """A form with a name or a random expression for each mark; <c1> is a condition within another."""
        drawn: dict[str, Callable[[], str]] = {
            "c": self.condition, "c1": lambda: self.condition(1), "c2": lambda: self.condition(2),
            "value": self.value, "known": self.predicate, "open": self.open, "dead": self.dead,
            "tag": self.tag, "key": lambda: self.pick("a", "b"),
            "flag": lambda: self.pick("is_hip()", "_is_npu", "x"),
        }  # fmt: skip
        return re.sub(r"<(\w+)>", lambda mark: names.get(mark[1]) or drawn[mark[1]](), form)

    def own(self, prefix: str) -> str:
        """A new name that the other programs of a batch hardly have: else they would keep it in use."""
        return f"{prefix}_{self.mark}_{self.new('n')}"

    def absent(self) -> str:
        """A value that the facts call absent; several, so that one which stays leaves the others alone."""
        return f"'fa{self.random.randint(3, 9)}'"

    def dead(self) -> str:
        """A condition that never holds and that the facts decide."""
        return self.pick("is_hip()", "is_npu()", "_is_hip", "_is_npu", "not is_new()", "none()")

    def sure(self) -> str:
        """A condition that always holds and that the facts decide."""
        return self.pick("is_new()", "not is_hip()", "some()", "not _is_npu")

    def suite(self, depth: int) -> None:
        """One to three statements."""
        raise NotImplementedError

    def tag(self) -> str:
        self.serial += 1
        return f"record({self.serial})"

    # -- expressions --------------------------------------------------------------------------

    def condition(self, deep: int = 0) -> str:
        kind = self.random.choice(_CONDITIONS)
        if deep > 2 or not kind:
            return self.predicate() if self.chance(0.6) else self.open()
        again = lambda: self.condition(deep + 1)  # noqa: E731
        return re.sub("<c>", lambda _: again(), self.pick(*kind)).replace("<new>", self.new("w"))

    def predicate(self) -> str:
        return self.random.choice(GLOBAL_PREDICATES if self.outside else PREDICATES)

    def open(self) -> str:
        return self.random.choice(GLOBAL_OPEN if self.outside else OPEN)

    def value(self, deep: int = 0) -> str:
        """An expression whose value matters, not only its truth."""
        form = self.pick(*_VALUES) if deep <= 1 else "<c1>"
        parts = form.split("<value>")
        return self.value(deep + 1).join(map(self.fill, parts)) if len(parts) > 1 else self.fill(form)


#: Writes one shape at a depth. Those of the top of a module are written at depth 0.
Shape = Callable[[Writer, int], None]
