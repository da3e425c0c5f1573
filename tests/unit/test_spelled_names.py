"""A method stays where the text does not show each name that a look-up may ask for."""

from __future__ import annotations

from textwrap import dedent

import pytest
from one_method import method_stays

TOOL = """
    import dataclasses

    @dataclasses.dataclass
    class Asked:
        purge: bool = True

    def call(a, name):
        names = []
        read = ["abort"]
        names.append(name)
        {use}
"""


@pytest.mark.parametrize(
    ("use", "stays"),
    [
        ('return getattr(a, "abort")', False),
        ('return "{0.purge}".format(a)', True),
        ('return "it is {a.purge} now, yes, whatever comes after it" * 9', True),
        ("match a:\n            case object(purge=p): return p", True),
        ("match a:\n            case object(abort=p): return p", False),
        ('return [getattr(a, n) for n in "abort,purge".split(",")]', True),
        ('return [getattr(a, n) for n in "abort&purge".split("&")]', True),
        ('return [getattr(a, n) for n in "abort,reset".split(",")]', False),
        ('return getattr(a, ("pur"  # a part\n            "ge"))', True),
        ('return getattr(a, "pur%x" % name)', True),
        ('return getattr(a, "abort_%X" % name)', False),
        ('return getattr(a, ("abort"  # a part\n            + name))', True),
        ("return [getattr(a, f.name) for f in dataclasses.fields(a)]", False),
        ("return [getattr(a, f.name) for f in dataclasses.fields(Asked)]", True),
        ("return [getattr(a, f.name) for f in name.fields()]", True),
        ("return [getattr(a, n) for n in vars(Asked)]", True),
        ("return [getattr(a, n) for n in names]", True),
        ("return [getattr(a, n) for n in read]", False),
        ("return [getattr(a, n) for n in {'abort': name}]", False),
        ("return [getattr(a, n) for n in {'abort': name}.values()]", True),
        ("return [getattr(a, n) for n, _ in {'abort': name}.items()]", False),
        ("return [getattr(a, n) for _, n in {'abort': name}.items()]", True),
        ("return getattr(a, name.verb)", True),
    ],
)
def test_a_look_up_by_names_that_the_text_may_not_show(use: str, stays: bool) -> None:
    tool = {"pkg/tool.py": dedent(TOOL).replace("{use}", use)}
    assert method_stays("call(a, name)", head="from pkg.tool import call", others=tool) is stays


@pytest.mark.parametrize(
    ("use", "stays"), [("METHOD", False), ("STEPS", False), ("set METHOD", True), ("fill STEPS", True)]
)
def test_a_name_that_another_file_sets(use: str, stays: bool) -> None:
    ways = {"set METHOD": "tool.METHOD = name", "fill STEPS": "tool.STEPS.append(name)"}
    asked = "getattr(a, METHOD)" if "METHOD" in use else "[getattr(a, n) for n in STEPS]"
    tool = f'METHOD = "abort"\nSTEPS = ["abort"]\n\n\ndef call(a):\n    return {asked}\n'
    setter = f"from pkg import tool\n\n\ndef change(name):\n    {ways.get(use, 'pass')}\n"
    others = {"pkg/tool.py": tool, "pkg/setter.py": setter}
    head = "from pkg.tool import call\nfrom pkg.setter import change"
    assert method_stays("(change(name), call(a))", head=head, others=others) is stays


@pytest.mark.parametrize(("name", "stays"), [("call", True), ("_call", False)])
def test_another_package_may_call_a_public_method(name: str, stays: bool) -> None:
    tool = f"""
        class Tool:
            def {name}(self, a, name):
                return getattr(a, name)

            def abort(self, a):
                return self.{name}(a, "abort")
    """
    head = "from pkg.tool import Tool"
    assert method_stays("Tool().abort(a)", head=head, others={"pkg/tool.py": dedent(tool)}) is stays
