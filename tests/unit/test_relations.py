"""What a file says of every name at once is what it says of each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builder.specialize.folding import relations
from builder.specialize.folding.relatives import _taken
from builder.specialize.unit import Unit

ROOT = Path(__file__).parents[2]

SNIPPETS = {
    "imports": "import a.b as c, d.e\nfrom x import (\n    y as z,\n    w,\n)\nfrom v import *\n",
    "assignments": "a = b.c = d  # e\nf, g = h\ni.j = k\nl = m()\nn = [o]\np = q; r = s\nt = \\\n    u\n",
    "classes": "class A(B, c.D, E[F], type('G', (), {})):\n    x = y\n    class H(A, metaclass=I): ...\n",
    "a word in a class is no base": "class A(make()):\n    def f(self):\n        return type(self)\n",
    "suites": "if a:\n    b = c\nelif d:\n    e = f\nelse:\n    g = h\n"
    "try:\n    i = j\nexcept K as l:\n    m = n\nfinally:\n    o = p\n"
    "while q:\n    r = s\nwith t as u:\n    v = w\n",
    "other letters": "naïve = Foo\nclass Größe(Foo): pass\nfrom x import né as Foo\n",
    "a string over lines": "a = b\nc = '''\nd = e\n'''\nf = g\n",
}


def checked(path: str, data: bytes) -> int:
    """Compare both ways for every word of a file; how many of them it relates to something."""
    unit = Unit(path, "m", data)
    words = set(re.findall(r"[^\W\d]\w*", data.decode()))
    for name in sorted(words):
        alone = relations._related(unit, relations._statements_with(unit, name))
        assert relations.relations(unit, name) == alone.get(name, relations.Relations()), name
    return sum(any(relations.relations(unit, name)) for name in words)


@pytest.mark.parametrize("name", SNIPPETS)
def test_all_at_once_is_each_alone(name: str) -> None:
    assert checked(f"{name}.py", SNIPPETS[name].encode())


def test_all_at_once_is_each_alone_in_real_files() -> None:
    files = sorted((ROOT / "builder").rglob("*.py"))
    assert sum(checked(path.name, path.read_bytes()) for path in files[::6]) > 500


def test_what_is_about_to_leave_says_nothing() -> None:
    unit = Unit("m.py", "m", b"class A(B): pass\nclass C(B): pass\n")
    assert relations.relations(unit, "B").heirs == ("A", "C")
    unit.leaving.add(unit.module.tree.body[0])
    unit.hidden.append((1, 1))
    assert relations.relations(unit, "B").heirs == ("C",)


def test_each_kind_of_relation() -> None:
    unit = Unit("m.py", "m", b"from x import A as B\nC = B\nclass D(C): pass\nE = made()\n")
    assert relations.relations(unit, "B") == relations.Relations(others=("A", "B", "C"))
    assert relations.relations(unit, "C") == relations.Relations(others=("B", "C"), heirs=("D",))
    assert relations.relations(unit, "D").bases == ("C",)
    assert relations.relations(unit, "E").bases == (relations.UNKNOWN,)


@pytest.mark.parametrize(
    "between", [b"", b" ", b")", b"  # why\n  ", b" \\\n", b"  # why\r  ", b" # \n" * 50]
)
def test_a_method_taken_from_a_class_is_seen_whatever_stands_before_the_dot(between: bytes) -> None:
    opening = b"(" * (1 + between.count(b")"))
    unit = Unit("a.py", "a", b"x = " + opening + b"Base" + between + b".run)\n")
    assert [node.attr for node in _taken(unit, "Base", {"run"})] == ["run"]


def test_a_line_of_hashes_after_a_class_costs_no_time() -> None:
    unit = Unit("a.py", "a", b"class Base:\n    # Base\n    " + b"#" * 5000 + b"\n    pass\n")
    assert not list(_taken(unit, "Base", {"run"}))
