"""A function stays where a look-up by a name that no text shows may be in the module of an object."""

from __future__ import annotations

from textwrap import dedent

import pytest
from one_method import function_stays


def test_what_comes_in_from_the_callers_of_a_function_may_be_of_their_classes() -> None:
    tool = "import sys\ndef call(owner, name):\n    return getattr(sys.modules[owner.__module__], name)()\n"
    assert function_stays("call(a, name)", head="from pkg.tool import call", others={"pkg/tool.py": tool})
    assert not function_stays("a", others={"pkg/tool.py": tool})


HOLDER = """
    import copy
    import sys

    class Holder:
        def __init__(self, given):
            self.given = given
            self.parts_of = {{}}
            for key, value in given.items():
                self.parts_of[key] = value

        def ask(self, name, other):
            for each in other.every():
                last = each
            with other as opened:
                return {use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "getattr(sys.modules[self.given.__module__], name)",
        "getattr(sys.modules[self.given.inner[0].__module__], name)",
        "getattr(sys.modules[next(iter(self.given)).__module__], name)",
        "getattr(sys.modules[self.parts_of[name].__module__], name)",
        "getattr(sys.modules[last.__module__], name)",
        "getattr(sys.modules[opened.__module__], name)",
        "[getattr(sys.modules[one.__module__], name) for one in sorted(self.given)]",
        "getattr(sys.modules[(self.given or self).__module__], name)",
        "getattr(sys.modules[copy.copy(self.given).__module__], name)",
    ],
)
def test_an_object_may_be_of_a_callers_class_where_a_caller_gives_it(use: str) -> None:
    held = {"pkg/holder.py": dedent(HOLDER).format(use=use)}
    head = "from pkg.holder import Holder"
    assert function_stays("Holder(a).ask(name, A)", head=head, others=held)


MAKERS = """
    from collections.abc import Iterable
    from typing import Protocol
    from pkg.a import A

    MADE = A()
    TABLE = {{"a": A}}

    class Purges(Protocol):
        def purge(self): ...

    def make():
        return A()

    def made_as() -> Purges:
        return A()

    def every():
        yield A()

    def somewhere() -> Iterable:
        return A()
"""

LOOKS = """
    import copy
    import sys
    from pkg import fills, makers, others
    from pkg.fills import filled, FILLED, GROUPS, LATER, UNFILLED
    from pkg.makers import MADE, TABLE, every, made_as, make, somewhere
    from pkg.others import OTHER, Other, gives, other, passed_on
    try:
        from pkg.makers import make as tried
    except ImportError:
        tried = None

    def look(name, given=MADE, unknown=OTHER):
        made = make()
        nothing = other()
        return {use}
"""

#: Files that do not name the class, and one that does.
ELSEWHERE = {
    "pkg/others.py": """
        from pkg import makers
        OTHER = object()

        class Other:
            made = 1

        def other():
            return OTHER

        def passed_on():
            return makers.make()

        def gives(found):
            return found.made
    """,
    "pkg/fills.py": """
        FILLED, LATER, UNFILLED = {}, [], {}

        def fill(key, value):
            FILLED[key] = value

        def filled(key):
            return FILLED.get(key)

        GROUPS = {}
    """,
    "pkg/plugin.py": """
        from pkg.a import A
        from pkg.fills import GROUPS, LATER, fill
        fill("a", A())
        LATER.append(A())
        GROUPS.setdefault("a", []).append(A())
    """,
}


@pytest.mark.parametrize(
    ("use", "stays"),
    [
        ("getattr(sys.modules[MADE.__module__], name)", True),
        ("getattr(sys.modules[makers.MADE.__module__], name)", True),
        ("getattr(sys.modules[TABLE[name]().__module__], name)", True),
        ("getattr(sys.modules[make().__module__], name)", True),
        ("getattr(sys.modules[made.__module__], name)", True),
        ("getattr(sys.modules[made_as().__module__], name)", True),
        ("[getattr(sys.modules[each.__module__], name) for each in every()]", True),
        ("getattr(sys.modules[copy.copy(make()).__module__], name)", True),
        ("getattr(sys.modules[passed_on().__module__], name)", True),
        ("getattr(sys.modules[somewhere().__module__], name)", True),
        ("getattr(sys.modules[tried().__module__], name)", True),
        ("[getattr(sys.modules[each.__module__], name) for each in list(MADE) + []]", True),
        ("[getattr(sys.modules[each.__module__], name) for each in GROUPS[name]]", True),
        ("getattr(sys.modules[given.__module__], name)", True),
        ("getattr(sys.modules[FILLED[name].__module__], name)", True),
        ("getattr(sys.modules[fills.FILLED[name].__module__], name)", True),
        ("getattr(sys.modules[filled(name).__module__], name)", True),
        ("[getattr(sys.modules[each.__module__], name) for each in LATER]", True),
        ("getattr(sys.modules[OTHER.__module__], name)", False),
        ("getattr(sys.modules[other().__module__], name)", False),
        ("getattr(sys.modules[nothing.__module__], name)", False),
        ("getattr(sys.modules[Other().made.__module__], name)", False),
        ("getattr(sys.modules[unknown.__module__], name)", False),
        ("getattr(sys.modules[UNFILLED[name].__module__], name)", False),
    ],
)
def test_an_object_comes_from_a_file_that_makes_it(use: str, stays: bool) -> None:
    others = {path: dedent(text) for path, text in ELSEWHERE.items()}
    others |= {"pkg/makers.py": dedent(MAKERS).format(), "pkg/looks.py": dedent(LOOKS).format(use=use)}
    assert function_stays("1", others=others) is stays


BASES = """
    import sys
    class Base:
        def __init__(self, owner):
            self.owner = owner

        def call(self, name):
            return getattr(sys.modules[self.owner.__module__], name)()

    def call(name, owner):
        return getattr(sys.modules[owner.__module__], name)()
"""

HEIRS = """
    from functools import partial
    from pkg.bases import Base, call

    class Heir(Base):
        pass

    class Further(Heir):
        def __init__(self, first, second):
            super().__init__(second)

    def later(owner, other):
        return partial(call, "x", owner)
"""


@pytest.mark.parametrize(
    ("use", "stays"),
    [
        ("Heir(a).call(name)", True),
        ("Further(1, a).call(name)", True),
        ("later(a, 1)", True),
        ("name", False),
    ],
)
def test_an_object_comes_through_an_heir(use: str, stays: bool) -> None:
    others = {"pkg/bases.py": dedent(BASES), "pkg/heirs.py": dedent(HEIRS)}
    head = "from pkg.heirs import Further, Heir, later" if stays else ""
    assert function_stays(use, head=head, others=others) is stays


TOOL = """
    import sys
    class Tool:
        def __init__(self, owner, *, count=0):
            self.owner = owner

        def call(self, name, other=None):
            return getattr(sys.modules[self.owner.__module__], name)()

        def ask(self, name, other):
            return getattr(sys.modules[other.__module__], name)()

        def each(self, others, name):
            return [getattr(sys.modules[other.__module__], name)() for other in others]

    def call(count, owner, name):
        return getattr(sys.modules[owner.__module__], name)()
"""

BETWEEN = """
    from pkg.tool import Tool, call

    def go(first, name, *more):
        return {use}

    class Between:
        def go(self, first, name):
            return call(1, self, name)
"""


@pytest.mark.parametrize(
    ("use", "stays"),
    [
        ("call(1, first, name)", True),
        ("call(name=name, count=1, owner=first)", True),
        ("call(1, *more)", True),
        ("call(**first)", True),
        ("call(first, Tool(1), name)", False),
        ("call(1, 2, first)", False),
        ("Tool(first).call(name)", True),
        ("Tool(1, count=first).call(name)", False),
        ("Tool(1).call(name, other=first)", False),
        ("Tool(1).ask(name, first)", True),
        ("Tool(1).ask(first, 1)", False),
        ("Tool(1).each(first, name)", True),
        ("[lambda: call(1, first, name)]", True),
    ],
)
def test_an_object_comes_through_a_function_that_hands_it_on(use: str, stays: bool) -> None:
    others = {"pkg/tool.py": dedent(TOOL), "pkg/between.py": dedent(BETWEEN).format(use=use)}
    assert function_stays("go(a, name)", head="from pkg.between import go", others=others) is stays
