"""G006: what people choose by name stays, or the manifest accounts for it."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest
from gate_worlds import manifest, package, rule, snapshot

from builder.analysis.indexed_tree import world
from builder.analysis.removals import Removals, index_removals
from builder.analysis.surface_diff import Accounts, Difference, Surfaces
from builder.analysis.surface_diff import compare as compare_with
from builder.errors import Mark, Problem
from builder.gates.surface import problems
from builder.manifest.model import Manifest
from builder.manifest.statements import (
    Absent,
    Batch,
    Edit,
    Fact,
    Option,
    Patch,
    Reason,
    Rule,
    TomlEdit,
    WholeFile,
)
from builder.surface.extract import surface
from builder.surface.model import Place
from builder.tree import Snapshot


def no_account(place: Place) -> None:
    """Account for nothing."""


def compare(
    before: Snapshot,
    after: Snapshot,
    stated: Manifest,
    removals: Removals,
    accounts: Accounts = no_account,
) -> Surfaces:
    return compare_with(before, surface(before, stated.packages), after, stated, removals, accounts)


def found(before: Snapshot, after: Snapshot, stated: Manifest) -> list[Problem]:
    return problems(
        compare(before, after, stated, index_removals(stated, {}, {})), world(after, stated.packages)
    )


HERE = Mark("manifest.yaml", 7, 3)


def batch(name: str = "b", **parts: object) -> Batch:
    return Batch(name, "because", HERE, **parts)  # type: ignore[arg-type]


def edit(kind: str, target: str, match: str | None = None, by: str | None = None) -> Edit:
    return Edit(kind, target, "b", "because", match, by, mark=HERE)  # type: ignore[arg-type]


def differences(
    before: Mapping[str, str],
    after: Mapping[str, str | None],
    *batches: Batch,
    proved: Mapping[str, str] | None = None,
    removed: Mapping[str, Rule] | None = None,
    overlays: Mapping[str, bytes] | None = None,
    accounts: Accounts = no_account,
) -> list[Difference]:
    """The differences between a package and the same with some files replaced, added or removed."""
    old = package(before)
    changed = {f"python/pkg/{p}": None if d is None else dedent(d).encode() for p, d in after.items()}
    stated: Manifest = manifest(batches=batches)
    if overlays:
        from dataclasses import replace

        stated = replace(stated, overlays=overlays)
    gone = {f"python/pkg/{p}": rule(p) for p, d in after.items() if d is None}
    removals = index_removals(stated, gone if removed is None else removed, proved or {})
    return list(compare(old, old.replace(changed), stated, removals, accounts).differences)


def one(*args: object, **more: object) -> Difference:
    (found,) = differences(*args, **more)  # type: ignore[arg-type]
    return found


def batches_of(found: Difference) -> list[str]:
    return [cause.batch for cause in found.causes]


FLAG = "parser.add_argument('--grpc-mode')\nparser.add_argument('--port')\n"
NO_FLAG = "parser.add_argument('--port')\n"


def test_a_flag_that_vanishes_unexplained_is_a_problem_with_its_place() -> None:
    old = package({"args.py": FLAG})
    new = old.replace({"python/pkg/args.py": NO_FLAG.encode()})
    stated = manifest()
    (problem,) = found(old, new, stated)
    assert problem.code == "G006"
    assert problem.message == "python/pkg/args.py:1: flag --grpc-mode vanished and no rule names it"
    assert problem.upstream == Mark("python/pkg/args.py", 1)
    assert problem.hint is not None and "drop" in problem.hint


def test_a_removed_file_explains_what_was_in_it() -> None:
    found = one({"args.py": "parser.add_argument('--x')\n", "b.py": ""}, {"args.py": None})
    assert batches_of(found) == ["models"]
    assert found.causes[0].mark == Mark("manifest.yaml", 42, 7)


def test_an_edit_whose_text_has_the_flag_explains_it_and_no_other_edit_does() -> None:
    statement = "parser.add_argument('--grpc-mode')"
    named = batch(edits=(edit("drop-statement", "pkg.args", statement),))
    assert batches_of(one({"args.py": FLAG}, {"args.py": NO_FLAG}, named)) == ["b"]
    elsewhere = batch(edits=(edit("drop-statement", "pkg.arg", statement),))
    assert one({"args.py": FLAG}, {"args.py": NO_FLAG}, elsewhere).causes == ()
    other = batch(edits=(edit("drop-statement", "pkg.args", "parser.add_argument('--host')"),))
    assert one({"args.py": FLAG}, {"args.py": NO_FLAG}, other).causes == ()
    kept = batch(edits=(edit("replace", "pkg.args", statement, statement),))
    assert one({"args.py": FLAG}, {"args.py": NO_FLAG}, kept).causes == ()


def test_an_edit_explains_a_flag_whose_name_is_put_together() -> None:
    before = "def add(p, prefix):\n    p.add_argument(f'--{prefix}port')\n    p.add_argument('--host')\n"
    after = "def add(p, prefix):\n    p.add_argument('--host')\n"
    named = batch(edits=(edit("drop-statement", "pkg.args.add", "p.add_argument(f'--{prefix}port')"),))
    assert batches_of(one({"args.py": before}, {"args.py": after}, named)) == ["b"]


def test_a_patch_that_takes_the_flag_explains_it() -> None:
    text = b"--- a/python/pkg/args.py\n+++ b/python/pkg/args.py\n-parser.add_argument('--grpc-mode')\n"
    stated = batch(patches=(Patch("overlays/p.patch", "because", "b", mark=HERE),))
    more = {"overlays": {"overlays/p.patch": text}}
    assert batches_of(one({"args.py": FLAG}, {"args.py": NO_FLAG}, stated, **more)) == ["b"]
    more = {"overlays": {"overlays/p.patch": text + b"+parser.add_argument('--grpc-mode', help='')\n"}}
    assert one({"args.py": FLAG}, {"args.py": NO_FLAG}, stated, **more).causes == ()


def test_a_dropped_scope_explains_what_was_in_it() -> None:
    source = "def add(parser):\n    parser.add_argument('--x')\n"
    stated = batch(edits=(edit("drop", "pkg.args.add"),))
    assert batches_of(one({"args.py": source}, {"args.py": ""}, stated)) == ["b"]


CHOICES = "CHOICES = ['fa3', 'triton']\nparser.add_argument('--backend', choices=CHOICES)\n"
FEWER = "CHOICES = ['triton']\nparser.add_argument('--backend', choices=CHOICES)\n"


@pytest.mark.parametrize(
    ("names", "removals"), [(("*",), True), (("*backend*",), True), (("*device*",), False)]
)
def test_a_choice_leaves_with_the_absent_value_of_an_option(names: tuple[str, ...], removals: bool) -> None:
    stated = batch(options=(Option(names, ("fa3",), "b", mark=HERE),))
    found = one({"args.py": CHOICES}, {"args.py": FEWER}, stated)
    assert (found.change, found.detail, found.before) == ("changed", "choices", "fa3")
    assert batches_of(found) == (["b"] if removals else [])


def test_a_choice_that_vanishes_unexplained_says_how_to_declare_it() -> None:
    old = package({"args.py": CHOICES})
    new = old.replace({"python/pkg/args.py": FEWER.encode()})
    (problem,) = found(old, new, manifest())
    assert "the choice 'fa3' of flag --backend vanished" in problem.message
    assert problem.hint is not None and "absent: [fa3]" in problem.hint


def test_a_choice_that_comes_is_reported() -> None:
    found = one({"args.py": FEWER}, {"args.py": CHOICES})
    assert (found.change, found.before, found.after, found.causes) == ("changed", None, "fa3", ())


def test_choices_read_from_a_registry_leave_with_its_entries() -> None:
    args = "from pkg.reg import TABLE\nparser.add_argument('--parser', choices=list(TABLE.keys()))\n"
    before = {"args.py": args, "reg.py": "TABLE = {'a': A, 'b': B}\n"}
    whole = WholeFile("python/pkg/reg.py", "overlays/reg.py", ("0" * 40,), "b", "because", mark=HERE)
    found = differences(before, {"reg.py": "TABLE = {'a': A}\n"}, batch(files=(whole,)))
    assert [(d.change, d.key.kind, d.before, batches_of(d)) for d in found] == [
        ("changed", "flag", "b", ["b"]),
        ("lost", "registry", None, ["b"]),
    ]


DEFAULT = "class Args:\n    backend: str = 'fa3'\nparser.add_argument('--backend', default=Args.backend)\n"


def test_a_default_changes_by_the_edit_that_sets_it() -> None:
    after = {"args.py": DEFAULT.replace("fa3", "triton")}
    found = one(
        {"args.py": DEFAULT}, after, batch(edits=(edit("set", "pkg.args.Args.backend", by="'triton'"),))
    )
    assert (found.detail, found.before, found.after) == ("default", "fa3", "triton")
    assert batches_of(found) == ["b"]
    assert one({"args.py": DEFAULT}, after).causes == ()
    other = batch(edits=(edit("set", "pkg.args.Args.other", by="'triton'"),))
    assert one({"args.py": DEFAULT}, after, other).causes == ()


def test_what_no_overlay_states_must_not_come() -> None:
    found = one({"args.py": NO_FLAG}, {"args.py": FLAG})
    assert (found.change, found.key.name, found.causes) == ("added", "--grpc-mode", ())
    whole = WholeFile("python/pkg/new.py", "overlays/new.py", (), "b", "because", mark=HERE)
    assert batches_of(one({"args.py": ""}, {"new.py": FLAG.split("\n")[0]}, batch(files=(whole,)))) == ["b"]
    by = "parser.add_argument('--grpc-mode')"
    stated = batch(edits=(edit("replace", "pkg.args", "x", by),))
    assert batches_of(one({"args.py": NO_FLAG}, {"args.py": FLAG}, stated)) == ["b"]


def test_a_route_that_vanishes_is_a_problem() -> None:
    source = "@app.get('/health')\ndef health(): ...\n"
    found = one({"server.py": source}, {"server.py": "def health(): ...\n"})
    assert (str(found.key), found.causes) == ("route GET /health", ())


# -- environment variables: every place must be accounted for -----------------------------------------


PREDICATE = Fact("predicate", "pkg.platform.is_hip", False, "rocm", mark=HERE)
PLATFORM = {"platform.py": "def is_hip(): ...\n", "api.py": "from pkg.platform import *\n"}


@pytest.mark.parametrize(
    ("source", "removals"),
    [
        ("x = is_hip() and os.getenv('A')", True),
        ("if is_hip():\n    x = os.getenv('A')", True),
        ("x = 1 if not is_hip() else os.getenv('A')", True),
        ("_hip = is_hip()\nif fast and _hip:\n    x = os.getenv('A')", True),
        ("def f():\n    hip = bool(is_hip())\n    if hip:\n        x = os.getenv('A')", True),
        ("def f():\n    hip = is_hip()\n    if not hip:\n        return 1\n    return os.getenv('A')", True),
        ("if is_hip() or fast:\n    x = os.getenv('A')", False),
        ("if not is_hip():\n    x = os.getenv('A')", False),
        ("x = os.getenv('A')", False),
    ],
)
def test_a_variable_read_only_where_a_fact_forbids_may_leave(source: str, removals: bool) -> None:
    before = {"a.py": f"import os\nfrom pkg.api import is_hip\n{source}\n", **PLATFORM}
    found = one(before, {"a.py": ""}, batch("rocm", facts=(PREDICATE,)))
    assert batches_of(found) == (["rocm"] if removals else [])


TWICE = """\
from pkg.api import is_hip
TABLE = {}
if is_hip():
    TABLE["gptq"] = First
if cpu():
    TABLE["gptq"] = Second
"""


def test_an_entry_that_is_stated_twice_is_what_the_place_that_is_left_says() -> None:
    before = {"reg.py": TWICE, **PLATFORM}
    after = TWICE.replace('if is_hip():\n    TABLE["gptq"] = First\n', "")
    found = one(before, {"reg.py": after}, batch("rocm", facts=(PREDICATE,)))
    assert (found.detail, found.before, found.after) == ("value", "First", "Second")
    assert batches_of(found) == ["rocm"]
    assert batches_of(one(before, {"reg.py": after})) == []


def test_one_unexplained_place_of_several_is_enough() -> None:
    before = {
        "a.py": "import os\nx = os.getenv('A')\n",
        "b.py": "import os\ndef f(): return os.getenv('A')\n",
    }
    found = one(before, {"a.py": None, "b.py": ""})
    assert found.causes == ()
    assert (found.place.path, found.place.line) == ("python/pkg/b.py", 2)
    named = batch(edits=(edit("drop", "pkg.b.f"),))
    assert batches_of(one(before, {"a.py": None, "b.py": ""}, named)) == ["b", "models"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = os.getenv('A' if is_hip() else 'B')", "x = os.getenv('B')"),
        ("parser.add_argument('--a' if is_hip() else '--b')", "parser.add_argument('--b')"),
        ("@app.get('/a' if is_hip() else '/b')\ndef get(): ...", "@app.get('/b')\ndef get(): ..."),
    ],
)
def test_a_name_that_facts_choose_is_accounted_for(before: str, after: str) -> None:
    head = "import os\nfrom pkg.api import is_hip\n"
    stated = batch("rocm", facts=(PREDICATE,))
    found = differences({"a.py": f"{head}{before}\n", **PLATFORM}, {"a.py": f"{head}{after}\n"}, stated)
    assert found and all(each.causes for each in found)
    another = after.replace("B", "C").replace("--b", "--c").replace("/b", "/c")
    other = differences({"a.py": f"{head}{before}\n"}, {"a.py": f"{head}{another}\n"}, stated)
    assert any(not each.causes for each in other)


def test_a_variable_that_is_still_read_somewhere_is_not_lost() -> None:
    before = {"a.py": "import os\nx = os.getenv('A')\n", "b.py": "import os\nx = os.getenv('A')\n"}
    assert differences(before, {"a.py": ""}) == []


def test_the_environment_may_be_a_fact_itself() -> None:
    fact = Fact("environment", "A", False, "rocm", mark=HERE)
    before = {"a.py": "import os\nx = os.getenv('A')\n"}
    assert batches_of(one(before, {"a.py": ""}, batch("rocm", facts=(fact,)))) == ["rocm"]


def test_a_declared_variable_leaves_with_its_declaration() -> None:
    absent = Absent("symbol", "pkg.a.Envs.A", "npu", mark=HERE)
    before = {"a.py": "class Envs:\n    A = EnvBool(False)\n    B = EnvBool(True)\n"}
    after = {"a.py": "class Envs:\n    B = EnvBool(True)\n"}
    assert batches_of(one(before, after, batch("npu", absent=(absent,)))) == ["npu"]
    assert one(before, after).causes == ()


def test_a_changed_default_of_a_declared_variable_is_reported() -> None:
    found = one({"a.py": "class E:\n    A = EnvBool(False)\n"}, {"a.py": "class E:\n    A = EnvBool(True)\n"})
    assert (found.detail, found.before, found.after, found.causes) == ("default", False, True, ())


# -- what the evaluator proved dead: the cause is that of its last users -------------------------------


def test_a_dead_function_is_explained_by_what_accounts_for_its_lines() -> None:
    source = """
        import os
        class Layer:
            def forward_hip(self):
                return os.getenv("A")
    """
    proved = {"pkg.a.Layer.forward_hip": "nothing refers to it any more"}
    given = {"a.py": source}, {"a.py": "class Layer: ...\n"}
    mark = Mark("manifest.yaml", 4, 2)
    found = one(
        *given, proved=proved, accounts=lambda place: Reason("rocm", "", mark) if place.line == 5 else None
    )
    assert found.causes == (Reason("rocm", "pkg.a.Layer.forward_hip: nothing refers to it any more", mark),)
    assert batches_of(one(*given, proved=proved)) == ["facts"]


def test_a_dead_function_is_explained_by_the_removed_file_that_imported_it() -> None:
    before = {
        "a.py": "import os\ndef f(): return os.getenv('A')\n",
        "model.py": "from pkg.a import (\n    f,\n)\nf()\n",
    }
    found = one(before, {"a.py": "", "model.py": None}, proved={"pkg.a.f": "unused"})
    assert batches_of(found) == ["models"]
    assert "python/pkg/model.py" in found.causes[0].rule


def test_a_dead_function_without_a_visible_user_is_explained_by_the_facts() -> None:
    before = {"a.py": "import os\ndef f(): return os.getenv('A')\n"}
    assert batches_of(one(before, {"a.py": ""}, proved={"pkg.a.f": "unused"})) == ["facts"]


def test_a_dead_function_of_a_family_is_explained_by_the_word_of_its_batch() -> None:
    before = {"a.py": "import os\ndef check_npu(): return os.getenv('A')\n"}
    uncalled = Fact("uncalled", "pkg.a.check_npu", True, "npu", mark=HERE)
    found = one(before, {"a.py": ""}, batch("npu", facts=(uncalled,)), proved={"pkg.a.check_npu": "unused"})
    assert batches_of(found) == ["npu"]


# -- registries ---------------------------------------------------------------------------------------


def test_an_entry_leaves_with_the_class_that_it_stands_for() -> None:
    before = {"r.py": "from pkg.awq import Awq\nMETHODS = {'w': Awq, 'x': X}\n", "awq.py": "class Awq: ...\n"}
    assert batches_of(one(before, {"awq.py": None, "r.py": "METHODS = {'x': X}\n"})) == ["models"]
    assert one(before, {"r.py": "METHODS = {'x': X}\n"}).causes == ()


def test_a_member_of_an_enumeration_leaves_by_its_own_name() -> None:
    before = {"k.py": "class Kind(Enum):\n    NPU = 'npu'\n    GPU = 'gpu'\n"}
    after = {"k.py": "class Kind(Enum):\n    GPU = 'gpu'\n"}
    stated = batch(absent=(Absent("symbol", "pkg.k.Kind.NPU", "b", mark=HERE),))
    assert batches_of(one(before, after, stated)) == ["b"]
    assert one(before, after).causes == ()


def test_a_comparison_with_an_absent_member_is_never_true() -> None:
    before = {
        "k.py": "class Kind(Enum):\n    NPU = 'npu'\n    GPU = 'gpu'\n",
        "a.py": "import os\nfrom pkg.k import Kind\ndef f(k):\n    if k == Kind.NPU: os.getenv('A')\n",
    }
    stated = batch(absent=(Absent("symbol", "pkg.k.Kind.NPU", "b", mark=HERE),))
    assert batches_of(one(before, {"a.py": ""}, stated)) == ["b"]


# -- console scripts ----------------------------------------------------------------------------------


def test_a_console_script_leaves_by_a_toml_edit() -> None:
    old = snapshot({"pyproject.toml": '[project]\nname = "x"\nscripts = {run = "a:b", go = "a:c"}\n'})
    new = old.replace({"pyproject.toml": b'[project]\nname = "x"\nscripts = {go = "a:c"}\n'})
    (problem,) = found(old, new, manifest())
    assert "script run vanished" in problem.message
    remove = TomlEdit("pyproject.toml", "remove", "project.scripts.run", None, "b", "because", mark=HERE)
    stated = manifest(batches=(batch(toml=(remove,)),))
    assert found(old, new, stated) == []


def test_the_same_tree_has_no_differences() -> None:
    old = package({"args.py": CHOICES + DEFAULT, "a.py": "import os\nos.getenv('A')\n"})
    assert compare(old, old, manifest(), index_removals(manifest(), {}, {})).differences == ()


ARGUMENTS = """
    import dataclasses

    @dataclasses.dataclass
    class Arguments:
        port: int = 1
        sparse: bool = False

        @staticmethod
        def add_cli_args(parser):
            parser.add_argument('--port')
            parser.add_argument('--enable-sparse', dest='sparse')

        @classmethod
        def from_cli_args(cls, args):
            return cls(**{f.name: getattr(args, f.name) for f in dataclasses.fields(cls)})
"""
SPARSE = batch(options=(Option(("add_argument",), ("--enable-sparse",), "b", mark=HERE),))


class TestAFieldThatIsReadFromTheCommandLine:
    def test_cannot_outlive_its_flag(self) -> None:
        old = package({"a.py": ARGUMENTS})
        without = ARGUMENTS.replace("            parser.add_argument('--enable-sparse', dest='sparse')\n", "")
        (problem,) = found(old, package({"a.py": without}), manifest(batches=(SPARSE,)))
        assert problem.code == "G006"
        assert (
            "the field Arguments.sparse stays, and flag --enable-sparse that fills it left" in problem.message
        )
        assert problem.hint == "declare pkg.a.Arguments.sparse absent too, or keep the flag"

    def test_leaves_with_it(self) -> None:
        old = package({"a.py": ARGUMENTS})
        without = ARGUMENTS.replace("            parser.add_argument('--enable-sparse', dest='sparse')\n", "")
        without = without.replace("        sparse: bool = False\n", "")
        assert found(old, package({"a.py": without}), manifest(batches=(SPARSE,))) == []

    def test_stays_while_another_flag_fills_it(self) -> None:
        one, two = ("            parser.add_argument('--enable-sparse', dest='sparse')\n",
                    "            parser.add_argument('--sparse')\n")  # fmt: skip
        old, new = ARGUMENTS.replace(one, one + two), ARGUMENTS.replace(one, two)
        assert found(package({"a.py": old}), package({"a.py": new}), manifest(batches=(SPARSE,))) == []


def test_an_edit_that_sets_a_field_accounts_for_another_default_of_its_flag() -> None:
    text = """
        import dataclasses
        from pkg.arg import A, Arg

        @dataclasses.dataclass
        class ServerArgs:
            port: A[int, Arg(help="The port.")] = 300
    """
    after = dedent(text).replace("300", "1800")
    stated = batch(edits=(edit("set", "pkg.args.ServerArgs.port", by="1800"),))
    assert batches_of(one({"args.py": dedent(text)}, {"args.py": after}, stated)) == ["b"]
    other = batch(edits=(edit("set", "pkg.args.ServerArgs.size", by="1800"),))
    assert batches_of(one({"args.py": dedent(text)}, {"args.py": after}, other)) == []
