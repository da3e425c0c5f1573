"""What no name refers to but something else needs stays; what nothing needs still leaves."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest
from small_package import FACTS, output

from builder.specialize.dead_code.dynamic_names import FormedNames, fits, formed, runs_text
from builder.specialize.evaluating.facts import Facts
from builder.specialize.text_index.content import Contents
from builder.specialize.text_index.text_search import possible_names

METHOD = """
    from pkg.platform import is_npu

    class A:
        def purge(self):
            return 1

    def main(a, name):
        if is_npu():
            return a.purge()
        return {use}
"""


@pytest.mark.parametrize("use", ["a", "getattr(a, name)()", 'getattr(a, "stop")'])
def test_a_method_stays_since_whoever_has_an_object_may_look_it_up(use: str) -> None:
    text = dedent(METHOD).format(use=use)
    assert "def purge" in output({"pkg/a.py": text})["pkg/a.py"]


FUNCTION = """
    from pkg.platform import is_npu
    {head}
    def purge():
        return 1

    class A:
        pass

    def main(a, name):
        if is_npu():
            return purge()
        return {use}
"""


def function_stays(use: str, head: str = "", others: Mapping[str, str] | None = None) -> bool:
    """Return whether purge() stays, a function of pkg.a which only a folded branch calls."""
    text = dedent(FUNCTION).format(head=head, use=use)
    return "def purge" in output({"pkg/a.py": text, **(others or {})})["pkg/a.py"]


@pytest.mark.parametrize(
    "use",
    [
        'getattr(mod, f"pur{name}")()',
        'getattr(mod, name + "rge")()',
        'getattr(mod, "pur%s" % name)()',
        'getattr(mod, "{}rge".format(name))()',
        'getattr(mod, "pu" "rge")()',
        'getattr(mod, "pu" + "rge")()',
        'getattr(mod, "purXY".replace("XY", name))()',
        'eval("purge()")',
        '[getattr(mod, n)() for n in "purge stop".split()]',
        "list(map(getattr, [mod], [name]))",
    ],
)
def test_a_function_whose_name_the_program_may_put_together_stays(use: str) -> None:
    assert function_stays(use, "import pkg.a as mod")


@pytest.mark.parametrize(
    ("head", "use", "stays"),
    [
        ("", "a", False),
        ("", 'getattr(a, "stop")', False),
        ("", '"purge the cache, %s!" % name', False),
        ("import os", "getattr(os, name)", False),
        ("", "globals()[name]", True),
        ("from builtins import globals", "globals()[name]", True),
        ("from builtins import globals as names", "names()[name]", True),
        ("", "vars()", False),
        ("import sys", "getattr(sys.modules[__name__], name)", True),
        ("import pkg.a", "dir(pkg.a)", True),
        ("import pkg.a", "pkg.a.main", False),
        ("", 'globals()["main"]', False),
        ("", "globals().update(main=1)", False),
        ("from importlib import import_module", 'getattr(import_module("pkg.a"), name)', True),
        ("from importlib import import_module", 'getattr(import_module(f"pkg.{name}"), name)', True),
        ("from importlib import import_module", 'getattr(import_module("json"), name)', False),
        ("import ext", "dir(ext)", False),
    ],
)
def test_a_function_stays_only_where_its_module_is_looked_into(head: str, use: str, stays: bool) -> None:
    assert function_stays(use, head) is stays


@pytest.mark.parametrize(("read", "stays"), [("[getattr(a, n) for n in x]", True), ("a.main", False)])
def test_another_file_may_look_into_a_module(read: str, stays: bool) -> None:
    looks = f"from pkg import a\n\n\ndef names(x):\n    return {read}\n"
    assert function_stays("name", others={"pkg/b.py": looks}) is stays


CLASS = """
    from pkg.platform import is_npu
    {head}
    {decorator}class Helper{bases}:
        {body}

    def main(x):
        if is_npu():
            return Helper
        return x
"""


@pytest.mark.parametrize(
    ("bases", "body", "decorator", "stays"),
    [
        ("", "x = 1", "", False),
        ("", "x: int = 1", "", False),
        ("", "def f(self, x=1): return x", "", False),
        ("", "x = field(default=1)", "@dataclass\n    ", False),
        ("", "x = property(lambda self: 1)", "", False),
        ("", "x = start()", "", True),
        ("", "start()", "", True),
        ("", "for x in (1, 2): pass", "", True),
        ("", "def f(self, x=start()): return x", "", True),
        ("", "x: start() = 1", "", True),
        ("", "pass", "@start\n    ", True),
        ("(start())", "pass", "", True),
        ("(Base)", "pass", "", True),
        ("(ValueError)", "pass", "", False),
        ("(Stated)", "pass", "", False),
    ],
)
def test_a_class_leaves_only_when_defining_it_does_nothing(
    bases: str, body: str, decorator: str, stays: bool
) -> None:
    head = "from dataclasses import dataclass, field\n    from ext import Base, Stated, start"
    text = CLASS.format(head=head, bases=bases, body=body, decorator=decorator)
    facts = Facts(predicates=FACTS.predicates, bases=frozenset(["ext.Stated"]))
    assert ("class Helper" in output({"pkg/a.py": text}, facts=facts)["pkg/a.py"]) is stays


def test_a_class_that_subclasses_may_give_stays() -> None:
    text = CLASS.format(head="", bases="(ValueError)", body="pass", decorator="")
    every = "def every(cls):\n    return cls.__subclasses__()\n"
    assert "class Helper" in output({"pkg/a.py": text, "pkg/b.py": every})["pkg/a.py"]


@pytest.mark.parametrize(
    ("text", "name", "may"),
    [
        ('f"run_{x}"', "run_fast", True),
        ('f"run_{x}"', "rerun_fast", False),
        ('f"{x}_hip_{y}"', "is_hip_on", True),
        ('f"pkg.{x}.run_{y}"', "run_fast", True),
        ('f"Error in {x}"', "Error", False),
        ('f"do{x}"', "dozen", False),
        ('f"do_{x}"', "do_quit", True),
        ('f"do_{x}"', "redo_quit", False),
        ('f"d_{x}"', "d_quit", False),
        ('f"{x}_go"', "let_go", True),
        ('f"{x}_v2"', "run_v2", False),
        ('f"{x}go{y}"', "let_go", False),
        ('x + "_go"', "let_go", True),
        ('"_".join(["do", x])', "do_quit", True),
        ('PREFIX = "do_"', "do_quit", False),
        ('"run_%(kind)s"', "run_fast", True),
        ('"run_${kind}_now"', "run_fast_now", True),
        ('x + "_now"', "run_now", True),
        ('"run" + x', "running", True),
        ('PREFIX = "run_"', "run_fast", True),
        ('NAME = "run"', "run_fast", False),
        ('"_".join(["run", x])', "run_fast", True),
        ('"/".join(["run", x])', "run_fast", False),
        ('f"RUN_{x}".lower()', "run_fast", True),
        ('[n for n in dir(x) if n.endswith("_test")]', "a_test", True),
        ('x.endswith("_tests.py")', "a_test", False),
        ('eval(f"1 + run_{x}()")', "run_fast", True),
        ('model.eval("run()")', "run", False),
    ],
)
def test_what_a_text_may_form(text: str, name: str, may: bool) -> None:
    names = FormedNames(Contents())
    names.look("a.py", text.encode())
    assert names.holds(name) is may
    names.look("a.py", b"")
    assert not names.holds(name)


def test_the_literal_parts_of_a_pattern_do_not_overlap() -> None:
    assert fits("abcabc", ("abc", "abc"))
    assert not fits("abc", ("abc", "abc"))
    assert not fits("ab_cd", ("ab_", "_cd"))
    assert fits("a_mid_b", ("a", "mid", "b"))
    assert not formed(b'"for {x}"')


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("eval(x)", True),
        ("run = exec\n", True),
        ("builtins.eval", True),
        ("model.eval()", False),
        ("re.compile(x)", False),
        ('("builtins", "eval")', False),
    ],
)
def test_what_runs_text_as_code(text: str, runs: bool) -> None:
    assert runs_text(text.encode()) is runs


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("purge", {"purge"}),
        ("purge abort", {"purge", "abort"}),
        ("a.b:c|d", {"a", "b", "c", "d"}),
        ('{"method": "purge", "then": "the end."}', {"method", "purge", "then", "the", "end"}),
        ("call purge() now!", {"purge"}),
        ("Prose, and more of it.", set()),
        ("x" * 300, set()),
    ],
)
def test_the_names_that_a_string_may_stand_for(value: str, names: set[str]) -> None:
    assert set(possible_names(value)) == names


IN_MODULE = """
    from pkg.platform import is_npu
    from pkg.tool import Base, call
    def purge():
        return 1
    def direct():
        if is_npu():
            return purge()
    class Heir(Base):
        pass
    def main(name):
        return Heir().ask(name), call(name)
"""


@pytest.mark.parametrize(
    ("found", "stays"),
    [
        ("pydoc.locate('pkg.a.' + name)", True),
        ("pkgutil.resolve_name('pkg.a.' + name)", True),
        ("pkgutil.resolve_name('pkg.a:' + name)", True),
        ("pkgutil.resolve_name('pkg.tool:' + name)", False),
        ("getattr(sys.modules.get('pkg.a'), name)", True),
        ("getattr(sys.modules.get('pkg.tool'), name)", False),
        ("getattr(util.module_from_spec(util.find_spec('pkg.' + sub)), name)", True),
        ("getattr(getattr(pkg, 'a'), name)", True),
        ("getattr(getattr(pkg, 'tool'), name)", False),
        ("getattr(getattr(pkg, sub), name)", True),
        ("direct().__globals__['direct']", False),
    ],
)
def test_a_function_stays_where_its_module_may_be_asked_for_it(found: str, stays: bool) -> None:
    tool = f"""
    import pkgutil, pydoc, sys, pkg
    from importlib import util
    class Base:
        def ask(self, name, sub="a"):
            return {found}
    def direct():
        from pkg.a import direct
        return direct
    def call(name):
        return 1
    """
    files = {"pkg/a.py": dedent(IN_MODULE), "pkg/tool.py": dedent(tool)}
    assert ("def purge" in output(files)["pkg/a.py"]) is stays
