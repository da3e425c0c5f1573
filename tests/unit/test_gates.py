from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from gate_worlds import dropped, manifest, package, rule, worlds

from builder.analysis.removals import Removals, index_removals
from builder.errors import BuildError, Mark
from builder.gates import attributes, imports, names, parse, symbols
from builder.manifest.statements import Absent, Batch, Edit, Fact, WholeFile
from builder.pipeline.verify import TREE_GATES, compare

HERE = Mark("manifest.yaml", 3, 5)
NOTHING = Removals()


def batch(**more: object) -> Batch:
    return Batch("b", "why", HERE, **more)  # type: ignore[arg-type]


CLEAN = {
    "a.py": "from pkg.b import f, C\nimport pkg.sub.c as c\n\nx = f(C.RED, c.y)\n",
    "b.py": "class C:\n    RED = 1\n    BLUE = 2\n\n\ndef f(*a): ...\n",
    "sub/c.py": "y = 1\n",
}


def test_every_gate_is_silent_on_an_unchanged_tree() -> None:
    before, after = worlds(CLEAN, {})
    for gate in TREE_GATES.values():
        assert gate(before, after, manifest(), NOTHING) == []


def test_every_gate_has_the_code_it_is_listed_under() -> None:
    files = {**CLEAN, "d.py": "import pkg.b\n"}
    before, after = worlds(files, {"b.py": "class C:\n    BLUE = 2\n", "d.py": "import pkg.b\nx = 1 +\n"})
    for code in ("G001", "G002", "G004", "G005"):
        found = TREE_GATES[code](before, after, manifest(), NOTHING)
        assert found
        assert {p.code for p in found} == {code}


# G001


def test_a_file_that_does_not_parse_is_named_with_its_line() -> None:
    before, after = worlds(CLEAN, {"a.py": "x = 1\ny = (\n"})
    (problem,) = parse.check(before, after, manifest(), NOTHING)
    assert "python/pkg/a.py:2" in problem.message
    assert problem.excerpt == "y = ("


def test_a_file_that_parses_and_does_not_compile_is_found() -> None:
    def text(binding: str) -> str:
        return f"def f():\n    {binding}\n    def g():\n        nonlocal x\n    return g\n"

    before, after = worlds({"a.py": text("x = 1")}, {"a.py": text("pass")})
    (problem,) = parse.check(before, after, manifest(), NOTHING)
    assert problem.message.startswith("python/pkg/a.py:4: ") and "nonlocal 'x'" in problem.message
    before, after = worlds({"a.py": text("pass")}, {"a.py": text("...")})
    assert parse.check(before, after, manifest(), NOTHING) == []


def test_a_file_that_upstream_cannot_parse_either_is_no_finding() -> None:
    before, after = worlds({"a.py": "x = (\n"}, {"b.py": "y = 1\n"})
    assert parse.check(before, after, manifest(), NOTHING) == []


def test_an_overlay_that_does_not_parse_is_named() -> None:
    whole = WholeFile("python/pkg/a.py", "overlays/b/a.py", (), "b", "why", mark=HERE)
    before, after = worlds(CLEAN, {"a.py": "x = (\n"})
    (problem,) = parse.check(before, after, manifest(batches=(batch(files=(whole,)),)), NOTHING)
    assert "overlays/b/a.py" in problem.message


# G002


def test_an_import_of_a_removed_module_names_the_rule_that_removed_it() -> None:
    before, after = worlds(CLEAN, {"sub/c.py": None})
    removed = index_removals(manifest(), {"python/pkg/sub/c.py": rule("python/pkg/sub/")}, {})
    (problem,) = imports.check(before, after, manifest(), removed)
    assert problem.message.startswith("python/pkg/a.py:2: no module named pkg.sub.c (eager import)")
    assert "'python/pkg/sub/' of batch models" in problem.message
    assert problem.mark == Mark("manifest.yaml", 42, 7)
    assert problem.excerpt == "import pkg.sub.c as c"


def test_a_missing_name_has_a_suggestion_and_says_that_no_rule_accounts_for_it() -> None:
    before, after = worlds(CLEAN, {"b.py": "class C:\n    RED = 1\n    BLUE = 2\n\n\ndef ff(*a): ...\n"})
    found = imports.check(before, after, manifest(), NOTHING)
    assert [p.message.split(": ")[1] for p in found] == ["cannot import name 'f' from pkg.b (eager import)"]
    assert "no rule" in found[0].message


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("def g():\n    from pkg.gone import x\n", "lazy"),
        ("try:\n    from pkg.gone import x\nexcept ImportError:\n    x = None\n", "guarded"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.gone import x\n", "typing"),
        ("from pkg.gone import *\n", "eager"),
        ("from .gone import x\n", "eager"),
        ("from pkg import gone\n", "eager"),
        ("import pkg.gone\n", "eager"),
        ("import importlib\nimportlib.import_module('pkg.gone')\n", "import_module()"),
        ("REGISTRY = {'k': 'pkg.gone'}\n", "string constant"),
        ("REGISTRY = {'k': 'pkg.gone.x'}\n", "string constant"),
    ],
)
def test_every_kind_of_import_is_checked(text: str, how: str) -> None:
    before, after = worlds({"a.py": text, "gone.py": "x = 1\n"}, {"gone.py": None})
    removals = index_removals(manifest(), {"python/pkg/gone.py": rule("python/pkg/gone.py")}, {})
    found = imports.check(before, after, manifest(), removals)
    assert any(how in p.message for p in found)
    assert all("manifest.yaml:42:7" in p.message for p in found)


def test_a_package_that_takes_a_submodule_from_itself_does_not_define_it() -> None:
    before, after = worlds(
        {"sub/__init__.py": "from pkg.sub import gone\n", "sub/gone.py": ""}, {"sub/gone.py": None}
    )
    (problem,) = imports.check(before, after, manifest(), NOTHING)
    assert "cannot import name 'gone' from pkg.sub (eager import)" in problem.message


def test_names_that_came_through_a_star_are_missed_when_their_source_loses_them() -> None:
    files = {"a.py": "from pkg.b import f\n", "b.py": "from pkg.c import *\n", "c.py": "def f(): ...\n"}
    before, after = worlds(files, {"c.py": "z = 1\n"})
    removals = dropped("pkg.c.f", "b")
    (problem,) = imports.check(before, after, manifest(), removals)
    assert "cannot import name 'f' from pkg.b" in problem.message
    assert "batch b drops pkg.c.f (manifest.yaml:3:5)" in problem.message


def test_what_dangles_upstream_is_no_finding() -> None:
    before, after = worlds({"a.py": "import pkg._version\nx = 'pkg.not.a.module'\n"}, {"b.py": "z = 1\n"})
    assert imports.check(before, after, manifest(), NOTHING) == []


def test_a_stale_export_is_found() -> None:
    files = {"a.py": "__all__ = ['f', 'g']\ndef f(): ...\ndef g(): ...\n"}
    before, after = worlds(files, {"a.py": "__all__ = ['f', 'g']\ndef f(): ...\n"})
    (problem,) = imports.check(before, after, manifest(), NOTHING)
    assert "__all__ lists 'g'" in problem.message


def test_the_second_ring_is_found_after_the_first() -> None:
    files = {
        "configs/__init__.py": "from pkg.configs.chat import ChatConfig\n",
        "configs/chat.py": "class ChatConfig: ...\n",
        "hub.py": "from pkg.configs import ChatConfig\n",
        "runner.py": "from pkg.hub import ChatConfig\n",
    }
    removed = index_removals(
        manifest(), {"python/pkg/configs/chat.py": rule("python/pkg/configs/chat.py")}, {}
    )
    before, after = worlds(files, {"configs/chat.py": None})
    assert [p.message.split(":")[0] for p in imports.check(before, after, manifest(), removed)] == [
        "python/pkg/configs/__init__.py"
    ]
    before, after = worlds(files, {"configs/chat.py": None, "configs/__init__.py": ""})
    (problem,) = imports.check(before, after, manifest(), removed)
    assert problem.message.startswith("python/pkg/hub.py:1: cannot import name 'ChatConfig' from pkg.configs")
    assert "manifest.yaml:42:7" in problem.message


# G003


def test_an_undefined_name_is_found_and_says_what_upstream_had() -> None:
    files = {"a.py": "from pkg.b import f\n\n\ndef g():\n    return f()\n", "b.py": "def f(): ...\n"}
    before, after = worlds(files, {"a.py": "def g():\n    return f()\n", "b.py": None})
    removed = index_removals(manifest(), {"python/pkg/b.py": rule("python/pkg/b.py")}, {})
    (problem,) = names.check(before, after, manifest(), removed)
    assert problem.message.startswith(
        "python/pkg/a.py:2: 'f' is used and not defined (upstream: import in line 1)"
    )
    assert problem.mark == Mark("manifest.yaml", 42, 7)


def test_undefined_names_of_upstream_and_noqa_make_no_difference() -> None:
    before, after = worlds({"a.py": "x = torch_npu\n"}, {"a.py": "x = torch_npu\nz = 1\n"})
    assert names.check(before, after, manifest(), NOTHING) == []
    before, after = worlds({"a.py": "y = 1\nx = y\n"}, {"a.py": "x = y  # noqa\n"})
    assert len(names.check(before, after, manifest(), NOTHING)) == 1


def test_redefinitions_and_stale_exports_are_found() -> None:
    old = "__all__ = ['h']\n\n\ndef h(): ...\n"
    new = "__all__ = ['h']\n\n\ndef f(): ...\n\n\ndef f(): ...\n"
    before, after = worlds({"a.py": old}, {"a.py": new})
    found = names.check(before, after, manifest(), NOTHING)
    assert ["defined twice" in p.message for p in found] == [False, True]


def test_the_target_of_a_comprehension_is_no_second_definition() -> None:
    old = "from pkg.b import f\n\n\ndef g(xs):\n    return f() or [f for f in xs]\n"
    new = "from pkg.b import f\n\n\ndef g(xs):\n    return [f for f in xs]\n"
    before, after = worlds({"a.py": old}, {"a.py": new})
    assert names.check(before, after, manifest(), NOTHING) == []


def test_one_module_that_a_decided_condition_leaves_imported_twice_is_no_second_definition() -> None:
    before, after = worlds(
        {"a.py": "import pkg.b\n\nif X:\n    import pkg.b\nprint(pkg.b)\n", "b.py": ""},
        {"a.py": "import pkg.b\nimport pkg.b\nprint(pkg.b)\n"},
    )
    assert names.check(before, after, manifest(), NOTHING) == []


def test_folders_that_ruff_skips_by_habit_are_read() -> None:
    before, after = worlds({"build/x.py": "y = 1\n"}, {"build/x.py": "z = y\n"})
    assert len(names.check(before, after, manifest(), NOTHING)) == 1


def test_a_missing_ruff_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.ruff.find", lambda: "/nowhere/ruff")
    with pytest.raises(BuildError) as caught:
        names.findings({"after/a.py": b"x\n"})
    assert caught.value.problems[0].code == "E003"


def test_nonsense_from_ruff_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess([], 2, b"", b"ruff failed\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: done)
    with pytest.raises(BuildError, match="ruff failed"):
        names.findings({"after/a.py": b"x\n"})


def test_a_ruff_configuration_around_the_temporary_folder_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ruff.toml").write_text('[lint]\nignore = ["F821"]\n')
    (tmp_path / ".gitignore").write_text("*\n")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert [f.symbol for f in names.findings({"after/a.py": b"print(zzz)\n"})] == ["zzz"]


def test_a_table_of_what_is_imported_on_demand_names_what_is_there() -> None:
    table = 'from pkg.lazy import Lazy\n\n_structure = {"conf": ["Kept", "Gone"], "colours": ["red"]}\n'
    files = {
        "__init__.py": table,
        "lazy.py": "class Lazy: ...\n",
        "conf.py": "class Kept: ...\nclass Gone: ...\n",
    }
    before, after = worlds(files, {"conf.py": "class Kept: ...\n"})
    (problem,) = imports.check(before, after, manifest(), NOTHING)
    assert "a text names pkg.conf.Gone, which is not there" in problem.message
    assert problem.hint == "where nothing asks for it: {drop_entry: '\"Gone\"', in: pkg}"


# G004

ENUMS = {
    "fmt.py": "from enum import Enum\n\n\nclass Format(Enum):\n    AUTO = 1\n    GGUF = 2\n",
    "hub.py": "from pkg.fmt import Format\n",
    "use.py": "import pkg.hub\nfrom pkg.hub import Format\n\n\ndef g(f):\n    return f == Format.GGUF\n",
}
NO_GGUF = {"fmt.py": "from enum import Enum\n\n\nclass Format(Enum):\n    AUTO = 1\n"}


def test_what_a_file_stored_in_the_state_of_an_application_and_only_reads_now_is_found() -> None:
    serve = "def start(app):\n    app.state.chat = 1\n    app.state.text = 2\n\n\ndef ask(request):\n"
    serve += "    return request.app.state.chat, request.app.state.text\n"
    serve += "    request.app.text\n"
    other = "def read(request):\n    return request.app.state.chat\n"
    files = {"serve.py": serve, "other.py": other}
    before, after = worlds(files, {"serve.py": serve.replace("    app.state.chat = 1\n", "")})
    (problem,) = attributes.check(before, after, manifest(), NOTHING)
    assert "serve.py:6" in problem.message
    assert "needs 'chat', which pkg.serve no longer has" in problem.message
    assert "`drop: [pkg.serve.ask]`" in str(problem.hint)
    stored = {"serve.py": serve.replace("app.state.chat = 1", "app.chat = 1")}
    assert attributes.check(*worlds(files, stored), manifest(), NOTHING) == []


def test_a_removed_enum_member_is_found_through_a_reexport() -> None:
    before, after = worlds(ENUMS, NO_GGUF)
    removals = dropped("pkg.fmt.Format.GGUF", "gguf")
    (problem,) = attributes.check(before, after, manifest(), removals)
    assert problem.message.startswith("python/pkg/use.py:6: Format.GGUF needs 'GGUF'")
    assert "batch gguf drops pkg.fmt.Format.GGUF (manifest.yaml:3:5)" in problem.message
    assert problem.excerpt == "return f == Format.GGUF"


@pytest.mark.parametrize(
    "use",
    [
        "import pkg.m\nx = pkg.m.f()\n",
        "import pkg.m as n\nx = n.f\n",
        "from pkg import m\nx = [m.f for _ in ()]\n",
        "def g():\n    from pkg import m\n    return m.f(1).y\n",
        "import pkg.m\nx = pkg.m.C.static()\n",
        "from pkg.m import C\nx = {C.static: 1}\n",
        "from pkg.m import C\nclass D(C):\n    def g(self):\n        return self.static\n",
        "from pkg.m import C\nx = C(field=1)\n",
        "from pkg.m import C\nclass D(C): ...\nx = D(field=1)\n",
        "def g(anything):\n    return anything.inst\n",
        "def g(anything):\n    return anything().inst.more\n",
        "def g(anything):\n    return getattr(anything, 'inst')\n",
    ],
)
def test_uses_of_what_was_lost_are_found(use: str) -> None:
    full = (
        "class C:\n    field: int = 0\n    def __init__(self):\n        self.inst = 1\n"
        "    @staticmethod\n    def static(): ...\n\n\ndef f(): ...\n"
    )
    before, after = worlds({"m.py": full, "use.py": use}, {"m.py": "class C:\n    def __init__(self): ...\n"})
    assert before.index.has_module("pkg.use")
    found = attributes.check(before, after, manifest(), NOTHING)
    assert len(found) == 1
    assert found[0].message.startswith("python/pkg/use.py:")


@pytest.mark.parametrize(
    "use",
    [
        "import torch\nx = torch.inst\n",
        "def g(a):\n    return getattr(a, 'inst', None)\n",
        "def g(a):\n    a.inst = 1\n    return a.inst\n",
        "class E:\n    inst = 1\n\n\ndef g(a):\n    return a.inst\n",
        "from pkg.m import C\nx = C.other\n",
        "# C.static and m.f are gone\nx = 'm.f'\n",
    ],
)
def test_uses_that_may_well_work_are_not_findings(use: str) -> None:
    full = "class C:\n    other = 1\n    def __init__(self):\n        self.inst = 1\n\n\ndef f(): ...\n"
    less = "class C:\n    other = 1\n    def __init__(self): ...\n"
    before, after = worlds({"m.py": full, "use.py": use}, {"m.py": less})
    assert attributes.check(before, after, manifest(), NOTHING) == []


def test_an_attribute_that_a_fact_states_is_told_with_the_fact() -> None:
    use = "    def ask(self):\n        return self.manager.size\n"
    full = f"class A:\n    def __init__(self, it):\n        self.manager = it\n{use}"
    before, after = worlds({"m.py": full}, {"m.py": f"class A:\n{use}"})
    fact = Fact(mark=HERE, kind="value", name="*.manager", value=None, batch="b")
    stated = manifest(batches=(batch(facts=(fact,)),))
    (problem,) = attributes.check(before, after, stated, NOTHING)
    assert "batch b states that *.manager is None: nothing stores it" in problem.message
    assert problem.mark is not None and problem.hint is not None and "drop this use" in problem.hint


@pytest.mark.parametrize(
    "use",
    [
        "    @classmethod\n    def make(cls):\n        return cls(x=1)\n",
        "    def tell(self):\n        for key in ['x', 'y']:\n            print(getattr(self, key))\n",
    ],
)
def test_a_lost_field_is_found_in_a_class_method_and_in_a_loop_over_names(use: str) -> None:
    full, less = f"class A:\n    x: int = 1\n    y: int = 1\n{use}", f"class A:\n    y: int = 1\n{use}"
    before, after = worlds({"m.py": full}, {"m.py": less})
    (problem,) = attributes.check(before, after, manifest(), NOTHING)
    assert "needs 'x', which pkg.m.A no longer has" in problem.message


def test_a_method_that_a_base_still_has_is_not_lost() -> None:
    files = {
        "m.py": "class A:\n    def f(self): ...\n\n\n"
        "class B(A):\n    def f(self): ...\n    def g(self): self.f()\n"
    }
    less = "class A:\n    def f(self): ...\n\n\nclass B(A):\n    def g(self): self.f()\n"
    before, after = worlds(files, {"m.py": less})
    assert attributes.check(before, after, manifest(), NOTHING) == []


def test_a_lost_self_attribute_is_found_although_others_have_the_name() -> None:
    use = "    def g(self):\n        return self.x\n"
    files = {"m.py": "class A:\n    def __init__(self):\n        self.x = 1\n" + use}
    other = {"n.py": "class Z:\n    x = 1\n"}
    less = "class A:\n    def __init__(self): ...\n" + use
    before, after = worlds({**files, **other}, {"m.py": less})
    (problem,) = attributes.check(before, after, manifest(), NOTHING)
    assert "python/pkg/m.py:4: self.x needs 'x', which pkg.m.A no longer has" in problem.message


# G005


@pytest.mark.parametrize("head", ["class Base:", "@dataclass\nclass Base:", "class Base(NamedTuple):"])
def test_an_annotation_without_a_value_stores_nothing(head: str) -> None:
    base = f"from typing import NamedTuple\nfrom dataclasses import dataclass\n{head}\n    cli: int\n"
    app = "class App(Base):\n    def __init__(self):\n        self.cli = 1\n"
    app += "    def ask(self):\n        return self.cli\n"
    files = {"app.py": base + app}
    before, after = worlds(files, {"app.py": files["app.py"].replace("self.cli = 1", "pass")})
    found = attributes.check(before, after, manifest(), NOTHING)
    assert [f.message.partition(":")[2][:2] for f in found] == (["9:"] if head == "class Base:" else [])
    stored = {"app.py": files["app.py"].replace("self.cli = 1", "pass") + "def set(app):\n    app.cli = 2\n"}
    assert attributes.check(*worlds(files, stored), manifest(), NOTHING) == []


def test_a_lost_class_is_one_finding_with_its_rule_spelt_out() -> None:
    before, after = worlds(CLEAN, {"b.py": "def f(*a): ...\n"})
    found = symbols.check(before, after, manifest(), NOTHING)
    lost = [p for p in found if "vanished" in p.message]
    assert [p.message for p in lost] == ["python/pkg/b.py:1: class C vanished and no rule names it"]
    assert "`drop: [pkg.b.C]` in the batch" in (lost[0].hint or "")


@pytest.mark.parametrize(
    ("after_text", "kind"),
    [
        ("class C:\n    x = 1\n\n\ndef f(): ...\n\n\nK = 1\n", "method C.m"),
        ("class C:\n    def m(self): ...\n\n\ndef f(): ...\n\n\nK = 1\n", "constant C.x"),
        ("class C:\n    x = 1\n    def m(self): ...\n\n\nK = 1\n", "function f"),
        ("class C:\n    x = 1\n    def m(self): ...\n\n\ndef f(): ...\n", "constant K"),
    ],
)
def test_each_kind_of_symbol_is_watched(after_text: str, kind: str) -> None:
    full = "class C:\n    x = 1\n    def m(self): ...\n\n\ndef f(): ...\n\n\nK = 1\n"
    before, after = worlds({"a.py": full}, {"a.py": after_text})
    (problem,) = symbols.check(before, after, manifest(), NOTHING)
    assert kind in problem.message


def test_explained_losses_are_no_findings() -> None:
    before, after = worlds(CLEAN, {"b.py": "def f(*a): ...\n"})
    assert symbols.check(before, after, manifest(), dropped("pkg.b.C", "b")) == []


def test_a_definition_that_became_an_import_is_not_lost() -> None:
    before, after = worlds(CLEAN, {"b.py": "from pkg.sub.c import f, C\n"})
    assert symbols.check(before, after, manifest(), NOTHING) == []


def test_a_truncated_file_says_so_first() -> None:
    full = "".join(f"def f{i}(a,\n       b):\n    return {i}\n\n\n" for i in range(10))
    for text in (full[:90], full[:105]):  # at a definition's end, and inside one
        before, after = worlds({"a.py": full}, {"a.py": text})
        found = symbols.check(before, after, manifest(), NOTHING)
        assert "truncated" in found[0].message
        assert "of its 10 definitions" in found[0].message
        assert any("function f9" in p.message for p in found)


def test_a_file_replaced_whole_is_accounted_for_by_its_overlay() -> None:
    whole = WholeFile("python/pkg/b.py", "overlays/b.py", (), "b", "why", mark=HERE)
    before, after = worlds(CLEAN, {"b.py": "x = 1\n"})
    assert symbols.check(before, after, manifest(batches=(batch(files=(whole,)),)), NOTHING) == []


# G009 and the words of explanations


def test_a_second_run_that_changes_something_is_found() -> None:
    first, second = package({"a.py": "1", "b.py": "2"}).tree, package({"a.py": "1", "c.py": "3"}).tree
    assert compare(first, first) == []
    assert [p.message for p in compare(first, second)] == [
        "python/pkg/b.py is removed by a second run",
        "python/pkg/c.py is added by a second run",
    ]


def test_a_manifest_explains_what_it_names() -> None:
    stated = batch(
        absent=(Absent("symbol", "pkg.a.X", "b", mark=HERE),),
        edits=(
            Edit("drop", "pkg.b.f", "b", "why", mark=HERE),
            Edit("stub", "pkg.b.g", "b", "why", mark=HERE),
        ),
    )
    found = index_removals(manifest(batches=(stated,)), {}, {"pkg.c.h": "folded away"})
    assert str(found.symbol("pkg.a.X.member")) == "batch b declares pkg.a.X absent (manifest.yaml:3:5)"
    assert str(found.symbol("pkg.b.f")) == "batch b drops pkg.b.f (manifest.yaml:3:5)"
    assert str(found.symbol("pkg.c.h")) == "folded away"
    assert found.symbol("pkg.b.g") is None
    assert found.symbol("pkg.a") is None


def test_a_removed_module_explains_itself_and_no_definition_of_what_stays_below_it() -> None:
    removed = {"python/pkg/sub/__init__.py": rule("python/pkg/sub/__init__.py")}
    found = index_removals(manifest(), removed, {"pkg.sub.c.f": "folded away"})
    assert str(found.nearest("pkg.sub.c.C", "rule")) == "batch models removes pkg.sub (manifest.yaml:42:7)"
    assert found.symbol("pkg.sub.c.C") is None
    assert str(found.symbol("pkg.sub.c.f")) == "folded away"


def test_a_removed_folder_explains_its_namespace() -> None:
    found = index_removals(manifest(), {"python/pkg/sub/c.py": rule("python/pkg/sub/")}, {})
    assert "python/pkg/sub/" in str(found.module("pkg.sub"))
    assert found.module("pkg.other") is None


def test_a_member_that_left_is_not_read_from_an_object_of_its_class_either() -> None:
    files = {
        "environ.py": "class Envs:\n    KEEP = 1\n    GONE = 2\n\n\nenvs = Envs()\n",
        "use.py": "from pkg.environ import envs\n\nx = envs.GONE.get()\ny = envs.KEEP.get()\n",
    }
    before, after = worlds(files, {"environ.py": files["environ.py"].replace("    GONE = 2\n", "")})
    (problem,) = attributes.check(before, after, manifest(), Removals())
    assert "use.py:3" in problem.message and "GONE" in problem.message
