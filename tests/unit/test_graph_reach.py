from __future__ import annotations

from collections.abc import Mapping

import pytest
from gate_worlds import PACKAGES, package

from builder.errors import Mark
from builder.graph.modules import summaries
from builder.graph.reach import expand, graph, reach, undeclared, unmatched, why
from builder.graph.resolve import Index, Origin
from builder.manifest.model import DynamicEdge

HERE = Mark("manifest.yaml", 9, 3)


def index(files: Mapping[str, str]) -> Index:
    return Index(summaries(package(files), PACKAGES), PACKAGES)


def dynamic(source: str, target: str) -> DynamicEdge:
    return DynamicEdge(source, target, "walk", mark=HERE)


def test_names_resolve_as_definitions_submodules_and_reexports() -> None:
    found = index({"a/__init__.py": "from pkg.b import f\n", "a/sub.py": "", "b.py": "def f(): ...\n"})
    assert found.resolves("pkg.b", "f") is True
    assert found.resolves("pkg.a", "sub") is True
    assert found.resolves("pkg.a", "f") is True
    assert found.resolves("pkg.a", "g") is False
    assert found.resolves("torch", "anything") is None


def test_a_folder_without_init_is_a_package() -> None:
    found = index({"ns/deep/m.py": "x = 1\n"})
    assert found.has_module("pkg.ns.deep")
    assert found.resolves("pkg.ns", "deep") is True
    assert found.resolves("pkg.ns", "shallow") is False


def test_stars_expand_to_a_fixpoint_and_respect_exports() -> None:
    found = index(
        {
            "a.py": "from pkg.b import *\n",
            "b.py": "from pkg.c import *\nfrom pkg.a import *\n_b = 1\n",
            "c.py": "__all__ = ['x', '_y']\nx = _y = z = 1\n",
        }
    )
    assert found.resolves("pkg.a", "x") is True
    assert found.resolves("pkg.a", "_y") is False  # b has no __all__: what begins with _ stays there
    assert found.resolves("pkg.b", "_y") is True
    assert found.resolves("pkg.a", "z") is False
    assert found.resolves("pkg.a", "_b") is False


@pytest.mark.parametrize("text", ["from torch import *\n", "def __getattr__(n): ...\n", "def broken(:\n"])
def test_nothing_is_said_about_modules_that_may_have_more_names(text: str) -> None:
    found = index({"a.py": text, "b.py": "from pkg.a import *\n"})
    assert found.resolves("pkg.a", "x") is None


def test_openness_travels_through_stars() -> None:
    found = index({"a.py": "from torch import *\n", "b.py": "from pkg.a import *\n"})
    assert found.resolves("pkg.b", "x") is None


def test_a_name_is_traced_to_its_definition() -> None:
    found = index(
        {
            "a.py": "from pkg.b import g as f\nimport pkg.b as m\n",
            "b.py": "from pkg.c import *\n",
            "c.py": "def g(): ...\n",
            "loop.py": "from pkg.loop import x\n",
        }
    )
    assert found.origin("pkg.a", "f") == Origin("pkg.c", "g")
    assert found.origin("pkg.a", "m") == Origin("pkg.b")
    assert found.origin("pkg", "c") == Origin("pkg.c")
    assert found.origin("pkg.a", "nope") is None
    assert found.origin("pkg.loop", "x") is None


def test_dotted_names_are_located_down_to_members() -> None:
    found = index(
        {
            "a.py": "class C:\n    x: int\n    def m(self):\n        self.y = 1\n",
            "b.py": "from pkg.a import C\n",
        }
    )
    assert found.locate("pkg.a.C.m") == Origin("pkg.a", "C.m")
    assert found.locate("pkg.b.C.m") == Origin("pkg.a", "C.m")
    assert found.locate("pkg.b.C.y") == Origin("pkg.a", "C.y")
    assert found.locate("pkg.a.C.nope") is None
    assert found.locate("pkg.a") == Origin("pkg.a")
    assert found.locate("pkg.nope") is None


def test_members_are_inherited_inside_the_packages_only() -> None:
    found = index(
        {
            "a.py": "import torch\nclass A:\n    def m(self): ...\nclass T(torch.nn.Module): ...\n",
            "b.py": "import pkg.a\nfrom pkg import a\nclass B(pkg.a.A): ...\nclass C(a.A): ...\n",
        }
    )
    assert found.has_member(Origin("pkg.b", "B"), "m") is True
    assert found.has_member(Origin("pkg.b", "C"), "m") is True
    assert found.has_member(Origin("pkg.b", "B"), "n") is False
    assert found.has_member(Origin("pkg.a", "T"), "n") is None


FILES = {
    "main.py": "import pkg.a\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pkg.t\n",
    "a.py": "def f():\n    from pkg.lazy import g\nregister('pkg.plug.one')\n",
    "lazy.py": "",
    "t.py": "",
    "plug/one.py": "",
    "plug/two.py": "",
    "reg.py": "import importlib\ndef load(n):\n    importlib.import_module(x + n)\n",
    "alone.py": "",
}


def test_reach_follows_every_kind_of_edge() -> None:
    assert set(reach(graph(index(FILES)), ["pkg.main"])) == {
        *("pkg", "pkg.main", "pkg.a", "pkg.lazy", "pkg.t", "pkg.plug", "pkg.plug.one")
    }


def test_why_is_the_shortest_way_with_lines() -> None:
    found = index(FILES)
    steps = why(reach(graph(found), ["pkg.main"]), "pkg.lazy", found)
    assert steps is not None
    assert [(s.path, s.edge.line, s.edge.kind, s.edge.target) for s in steps] == [
        ("python/pkg/main.py", 1, "eager", "pkg.a"),
        ("python/pkg/a.py", 2, "lazy", "pkg.lazy"),
    ]
    assert why({}, "pkg.lazy", found) is None


def test_a_submodule_is_an_edge_unless_the_package_binds_the_name() -> None:
    found = index(
        {"p/__init__.py": "x = 1\n", "p/x.py": "", "p/y.py": "", "u.py": "from pkg.p import x, y\n"}
    )
    assert [e.target for e in graph(found)["pkg.u"] if e.kind == "eager"] == ["pkg.p", "pkg.p.y"]


def test_declared_edges_reach_what_they_match() -> None:
    found = index(FILES)
    edges = graph(found, [dynamic("pkg.reg", "pkg.plug.*")])
    assert {"pkg.plug.one", "pkg.plug.two"} <= set(reach(edges, ["pkg.reg"]))


def test_an_undeclared_dynamic_import_is_a_problem_with_a_place() -> None:
    found = index(FILES)
    (problem,) = undeclared(found, [], ["pkg.reg", "pkg.main"])
    assert problem.code == "R010"
    assert "python/pkg/reg.py:3" in problem.message
    assert not undeclared(found, [dynamic("pkg.reg", "pkg.plug.*")], ["pkg.reg"])


def test_declared_edges_that_name_nothing_are_problems() -> None:
    found = index(FILES)
    problems = unmatched(found, [dynamic("pkg.nope", "pkg.a"), dynamic("pkg.reg", "pkg.gone.*")])
    assert [p.code for p in problems] == ["R009", "R009"]
    assert all(p.mark == HERE for p in problems)
    assert not unmatched(found, [dynamic("pkg.reg", "elsewhere.*")])


def test_the_graph_does_not_depend_on_the_order_of_files() -> None:
    a = graph(index(FILES))
    b = graph(index(dict(reversed(FILES.items()))))
    assert a == b
    assert list(a) == list(b)


def test_root_patterns_name_modules() -> None:
    found = expand(index(FILES), ["pkg.plug.*", "pkg.main", "pkg.nope"])
    assert found == {
        "pkg.plug.*": ("pkg.plug.one", "pkg.plug.two"),
        "pkg.main": ("pkg.main",),
        "pkg.nope": (),
    }
