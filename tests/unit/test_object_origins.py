"""A method stays where something may look it up by a name that no text shows."""

from __future__ import annotations

from textwrap import dedent

import pytest
from one_method import method_stays

HOLDER = """
    class Inner:
        pass

    class Holder:
        def __init__(self, given):
            self.given = given
            self.inner = Inner()

        def ask(self, name, other):
            return {use}
"""


@pytest.mark.parametrize(
    ("use", "stays"),
    [
        ("getattr(other, name)", True),
        ("getattr(self.given, name)", True),
        ("getattr(self.inner, name)", True),
        ("getattr(len(other), name)", True),
        ("[f for c in type(other).__mro__ for n, f in c.__dict__.items() if n[:2] == name]", True),
        ("vars(other)[name]", True),
        ("getattr(self, name)", False),
        ("getattr(Inner(), name)", False),
        ("self.__dict__[name]", False),
        ("other", False),
    ],
)
def test_an_object_may_be_of_any_class_unless_the_text_tells_its_class(use: str, stays: bool) -> None:
    held = {"pkg/holder.py": dedent(HOLDER).format(use=use)}
    assert method_stays("Holder(1).ask(name, 2)", head="from pkg.holder import Holder", others=held) is stays


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
