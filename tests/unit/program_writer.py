"""What the shapes of a random program are written with: choices, conditions and values."""

from __future__ import annotations

from collections.abc import Callable
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

    def write(self, depth: int, text: str) -> None:
        """Several lines at once, indented among themselves."""
        for line in dedent(text).strip("\n").splitlines():
            self.put(depth, line)

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
        kind = self.random.randrange(12)
        if deep > 2 or kind <= 3:
            return self.predicate() if self.chance(0.6) else self.open()
        again = lambda: self.condition(deep + 1)  # noqa: E731
        if kind <= 6:
            word = self.pick(" and ", " or ")
            return "(" + word.join(again() for _ in range(self.random.randint(2, 4))) + ")"
        if kind == 7:
            return f"(not {again()})"
        if kind == 8:
            return f"({again()} if {again()} else {again()})"
        if kind == 9:
            return f"({again()} {self.pick('==', '!=', 'is', 'is not')} {self.pick('True', 'False', 'None')})"
        if kind == 10:
            return f"({self.new('w')} := {again()})"
        return f"bool({again()})"

    def predicate(self) -> str:
        return self.random.choice(GLOBAL_PREDICATES if self.outside else PREDICATES)

    def open(self) -> str:
        return self.random.choice(GLOBAL_OPEN if self.outside else OPEN)

    def value(self, deep: int = 0) -> str:
        """An expression whose value matters, not only its truth."""
        c = self.condition
        kind = self.random.randrange(12)
        if deep > 1 or kind <= 2:
            return c(1)
        if kind == 3:
            return f"[{c()}, {self.value(deep + 1)}]"
        if kind == 4:
            return f"({c()}, {self.value(deep + 1)})"
        if kind == 5:
            return f"{{'k': {c()}, 'm': {self.value(deep + 1)}}}"
        if kind == 6:
            return f"[v for v in (1, 2, x) if {c()} if {c()}]"
        if kind == 7:
            return f"(lambda u={c()}: (u, {c()}))()"
        if kind == 8:
            return f"(*[{c()}],)"
        if kind == 9:
            return f"echo({c()}, k={c()})"
        if kind == 10:
            return f"f'{{x if {self.pick('is_hip()', '_is_npu', 'x')} else y}}-{{_is_hip}}'"
        return f"dict(a={c()}, **{{'b': {c()}}})['{self.pick('a', 'b')}']"


#: Writes one shape at a depth. Those of the top of a module are written at depth 0.
Shape = Callable[[Writer, int], None]
