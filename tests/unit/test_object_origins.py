"""A method stays where an object of its class may come to a look-up by a name that no text shows."""

from __future__ import annotations

from textwrap import dedent

import pytest
from one_method import method_stays


def test_what_comes_in_from_the_callers_of_a_function_may_be_of_their_classes() -> None:
    tool = "def call(owner, name):\n    return getattr(owner, name)()\n"
    assert method_stays("call(a, name)", head="from pkg.tool import call", others={"pkg/tool.py": tool})
    assert not method_stays("a", others={"pkg/tool.py": tool})


HOLDER = """
    class Inner:
        pass

    class Holder:
        def __init__(self, given, count):
            self.given = given
            self.parts = [Inner() for _ in range(count)]
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
    ("use", "stays"),
    [
        ("getattr(self.given, name)", True),
        ("getattr(self.given.inner[0], name)", True),
        ("getattr(next(iter(self.given)), name)", True),
        ("getattr(self.parts_of[name], name)", True),
        ("getattr(last, name)", True),
        ("getattr(opened, name)", True),
        ("[getattr(one, name) for one in sorted(self.given)]", True),
        ("getattr(self.given or self, name)", True),
        ("[f for c in type(self.given).__mro__ for n, f in c.__dict__.items() if n[:2] == name]", True),
        ("getattr(copy.copy(self.given), name)", True),
        ("getattr(self.parts[0], name)", False),
        ("getattr(Inner(), name)", False),
        ("getattr(len(other), name)", False),
    ],
)
def test_an_object_may_be_of_a_callers_class_where_a_caller_gives_it(use: str, stays: bool) -> None:
    held = {"pkg/holder.py": dedent(HOLDER).format(use=use)}
    head = "from pkg.holder import Holder"
    assert method_stays("Holder(a, 1).ask(name, A)", head=head, others=held) is stays


MAKERS = """
    from collections.abc import Iterable
    from typing import Protocol
    from pkg.a import A

    MADE = A()
    TABLE = {{"a": A}}

    class Purges(Protocol):
        def purge(self): ...

    class Maker:
        @property
        def made(self):
            return A()

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
    from pkg import fills, makers, others
    from pkg.fills import filled, FILLED, GROUPS, LATER, UNFILLED
    from pkg.makers import MADE, TABLE, Maker, every, made_as, make, somewhere
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
        ("getattr(MADE, name)", True),
        ("getattr(makers.MADE, name)", True),
        ("getattr(TABLE[name](), name)", True),
        ("getattr(make(), name)", True),
        ("getattr(made, name)", True),
        ("getattr(made_as(), name)", True),
        ("getattr(Maker().made, name)", True),
        ("[getattr(each, name) for each in every()]", True),
        ("getattr(copy.copy(make()), name)", True),
        ("getattr(passed_on(), name)", True),
        ("getattr(somewhere(), name)", True),
        ("getattr(tried(), name)", True),
        ("[getattr(each, name) for each in list(MADE) + []]", True),
        ("[getattr(each, name) for each in GROUPS[name]]", True),
        ("getattr(given, name)", True),
        ("getattr(FILLED[name], name)", True),
        ("getattr(fills.FILLED[name], name)", True),
        ("getattr(filled(name), name)", True),
        ("[getattr(each, name) for each in LATER]", True),
        ("getattr(OTHER, name)", False),
        ("getattr(other(), name)", False),
        ("getattr(nothing, name)", False),
        ("getattr(Other().made, name)", False),
        ("getattr(unknown, name)", False),
        ("getattr(UNFILLED[name], name)", False),
    ],
)
def test_an_object_comes_from_a_file_that_makes_it(use: str, stays: bool) -> None:
    others = {path: dedent(text) for path, text in ELSEWHERE.items()}
    others |= {"pkg/makers.py": dedent(MAKERS).format(), "pkg/looks.py": dedent(LOOKS).format(use=use)}
    assert method_stays("1", others=others) is stays


BASES = """
    class Base:
        def __init__(self, owner):
            self.owner = owner

        def call(self, name):
            return getattr(self.owner, name)()

    def call(name, owner):
        return getattr(owner, name)()
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
    assert method_stays(use, head=head, others=others) is stays


TOOL = """
    class Tool:
        def __init__(self, owner, *, count=0):
            self.owner = owner

        def call(self, name, other=None):
            return getattr(self.owner, name)()

        def ask(self, name, other):
            return getattr(other, name)()

        def each(self, others, name):
            return [getattr(other, name)() for other in others]

    def call(count, owner, name):
        return getattr(owner, name)()
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
    assert method_stays("go(a, name)", head="from pkg.between import go", others=others) is stays


@pytest.mark.parametrize(
    ("use", "stays"),
    [
        ("[getattr(a, n) for n in type(a).__struct_fields__]", False),
        ("[getattr(a, n) for n in getattr(type(a), '__struct_fields__', ())]", False),
        ("[getattr(a, n) for n in type(a).__other_names__]", True),
    ],
)
def test_the_fields_of_a_struct_are_no_methods(use: str, stays: bool) -> None:
    assert method_stays(use) is stays


ANNOTATED = """
    from abc import ABC
    from collections.abc import Callable, Hashable
    import ext
    try:
        from typing import Protocol
    except ImportError:
        from typing_extensions import Protocol
    class Tries(Protocol):
        pass
    class Registers(ABC):
        pass
    class Plain(ABC):
        pass
    def call(owner: {annotation}, name):
        return getattr(owner, name)()
"""


@pytest.mark.parametrize(
    ("annotation", "stays"),
    [
        ("Callable", True),
        ("Hashable", True),
        ("ext.Base", True),
        ("Tries", True),
        ("Registers", True),
        ("Plain", False),
    ],
)
def test_an_annotation_tells_the_class_only_where_objects_must_inherit_from_it(
    annotation: str, stays: bool
) -> None:
    others = {"pkg/tool.py": dedent(ANNOTATED).format(annotation=annotation)}
    head = "from pkg.tool import Registers, call"
    assert method_stays("Registers.register(A), call(a, name)", head=head, others=others) is stays


PLAIN = "class Plain:\n    pass\n"


@pytest.mark.parametrize(
    ("tool", "use", "stays"),
    [
        (
            PLAIN + "def ask(owner, name):\n    made = Plain()\n    return getattr(made, name)",
            "ask(a, name)",
            False,
        ),
        (
            "class Calls:\n    def __call__(self, owner):\n        return owner\n"
            "    def ask(self, owner, name):\n        same = self(owner)\n        return getattr(same, name)",
            "Calls().ask(a, name)",
            True,
        ),
        (
            "class Gives:\n    def __new__(cls, owner):\n        return owner\n"
            "def ask(owner, name):\n    given = Gives(owner)\n    return getattr(given, name)",
            "ask(a, name)",
            True,
        ),
        (
            "@lambda cls: cls.made()\nclass Replaced:\n    def made():\n        from pkg.a import A\n"
            "        return A()\ndef ask(name):\n    return getattr(Replaced, name)",
            "ask(name)",
            True,
        ),
        (
            "class Proxy:\n    def __init__(self, inner):\n        self.inner = inner\n"
            "    def __getattr__(self, name):\n        return getattr(self.inner, name)\n"
            "    def ask(self, name):\n        return getattr(self, name)",
            "Proxy(a).ask(name)",
            True,
        ),
        (
            PLAIN + "def ask(owner, name):\n    held = Plain()\n    def hold():\n        nonlocal held\n"
            "        held = owner\n    hold()\n    return getattr(held, name)",
            "ask(a, name)",
            True,
        ),
    ],
)
def test_what_is_made_from_a_class_may_be_of_another_one(tool: str, use: str, stays: bool) -> None:
    head = "from pkg.tool import *"
    assert method_stays(use, head=head, others={"pkg/tool.py": tool + "\n"}) is stays


@pytest.mark.parametrize(("choice", "stays"), [("tool.current = a", True), ("print(tool.current)", False)])
def test_a_name_of_a_module_that_another_file_sets_may_hold_an_object_of_any_class(
    choice: str, stays: bool
) -> None:
    tool = PLAIN + "current = Plain()\ndef ask(name):\n    return getattr(current, name)\n"
    head = f"from pkg import tool\ndef choose(a):\n    {choice}"
    assert method_stays("choose(a), tool.ask(name)", head=head, others={"pkg/tool.py": tool}) is stays


def test_an_object_that_another_file_makes_comes_to_a_reader_through_map() -> None:
    others = {
        "pkg/made.py": "from pkg.a import A\ndef made():\n    return [A()]\n",
        "pkg/tool.py": "from operator import methodcaller\nfrom pkg.made import made\n"
        "def ask(name):\n    return list(map(methodcaller(name), made()))\n",
    }
    assert method_stays("name", others=others)


def test_what_a_function_returns_of_its_parameter_comes_from_its_callers() -> None:
    others = {
        "pkg/held.py": "def held(owner):\n    return owner.held\n",
        "pkg/tool.py": "from pkg.held import held\n"
        "def ask(holder, name):\n    found = held(holder)\n    return getattr(found, name)\n",
    }
    assert method_stays("ask([A()], name)", head="from pkg.tool import ask", others=others)
