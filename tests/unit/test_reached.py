"""In the packages reach decides: what stays, what leaves, whose doing it is, and what follows."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from gate_worlds import snapshot
from manifest_text import HEAD, manifest, problems, schema

from builder.emit.ledger import rows
from builder.errors import Problem
from builder.graph.modules import summarise
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.switches import without
from builder.pipeline.cut import cut
from builder.pipeline.data_files import followed
from builder.pipeline.graph_answers import graph_answers, uncertain_json
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.pipeline.ranges import About
from builder.pipeline.verify import again
from builder.select.rules import select
from builder.tree import Snapshot

BASIC = {
    "__init__.py": "",
    "main.py": "from pkg.models.registry import load\n\nload('one')\n",
    "models/__init__.py": "",
    "models/registry.py": "import pkgutil\n\n\ndef load(name):\n    return pkgutil.iter_modules(name)\n",
    "models/one.py": "class One:\n    pass\n\n\nEntryClass = One\n",
}
DYNAMIC = HEAD + "  dynamic: [{from: pkg.models.registry, to: pkg.models.*, why: pkgutil}]\n"
MAIN = "def run():\n    return 1\n"


def upstream(files: Mapping[str, str]) -> Snapshot:
    return snapshot(
        {f"python/pkg/{path}" if path[0] != "/" else path[1:]: text for path, text in files.items()}
    )


def stated(rest: str = "batches: []\n", head: str = DYNAMIC) -> Manifest:
    return parse((head + rest).encode(), "manifest.yaml", {}, schema())


def done(files: Mapping[str, str], rest: str = "batches: []\n", head: str = DYNAMIC) -> Cut:
    return cut(upstream({**BASIC, **files}), stated(rest, head))


def left(found: Cut) -> set[str]:
    gone = found.upstream.tree.keys() - found.output.tree.keys()
    return {path.removeprefix("python/pkg/") for path in gone}


def why(found: Cut, path: str) -> tuple[str, str]:
    reason = reasons(found)[f"python/pkg/{path}"][0]
    return reason.batch, reason.rule


@pytest.mark.parametrize(
    "use",
    [
        "import pkg.new.deep\n",
        "try:\n    from pkg.new import deep\nexcept ImportError:\n    deep = None\n",
        "def later():\n    from pkg.new.deep import X\n",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from pkg.new.deep import X\n",
        "NAME = 'pkg.new.deep'\n",
        "NAME = 'pkg.new.deep.X'\n",
        "COMMAND = 'python -m pkg.new.deep --all'\n",
        "def start(port):\n    return f'python -m pkg.new.deep {port}'\n",
        "import importlib\n\nmodule = importlib.import_module('.new.deep', 'pkg')\n",
    ],
)
def test_a_module_stays_over_whatever_kind_of_edge_and_nobody_lists_it(use: str) -> None:
    found = done({"main.py": use, "new/deep.py": "X = 1\n", "new/other.py": "Y = 1\n"})
    assert left(found) == {"new/other.py", "models/registry.py"}


def test_a_comment_that_names_a_module_does_not_keep_it() -> None:
    assert "alone.py" in left(done({"main.py": "# see pkg.alone\nX = 1\n", "alone.py": "Y = 1\n"}))


def test_the_parents_of_a_reached_module_stay_with_what_they_import() -> None:
    found = done(
        {"main.py": "import pkg.a.b\n", "a/__init__.py": "import pkg.c\n", "a/b.py": "", "c.py": "X = 1\n"}
    )
    assert left(found) == {"models/registry.py"}


def test_what_only_a_removed_module_reached_leaves_with_its_batch() -> None:
    rest = "batches:\n  - {id: gone, why: w, remove: [python/pkg/user.py]}\n"
    found = done(
        {"user.py": "import pkg.helper\n", "helper.py": "import pkg.deeper\n", "deeper.py": "X = 1\n"}, rest
    )
    clause = "no root reaches it (last over python/pkg/user.py, which leaves with batch gone)"
    assert why(found, "helper.py") == why(found, "deeper.py") == ("gone", clause)


def test_what_two_batches_held_and_what_nobody_held_is_laid_to_no_batch() -> None:
    rest = (
        "batches:\n  - {id: one, why: w, remove: [python/pkg/a.py]}\n"
        "  - {id: two, why: w, remove: [python/pkg/b.py]}\n"
    )
    user = "import pkg.both\n"
    found = done({"a.py": user, "b.py": user, "both.py": "X = 1\n", "none.py": "X = 1\n"}, rest)
    assert why(found, "both.py")[0] == "base" and "last over" in why(found, "both.py")[1]
    assert why(found, "none.py") == ("base", "no root reaches it")


def test_what_only_a_folded_branch_reached_leaves_with_all_that_it_alone_held() -> None:
    files = {
        "main.py": "from pkg.kind import is_odd\n\nif is_odd():\n    import pkg.odd\nprint(1)\n",
        "kind.py": "def is_odd():\n    return False\n",
        "odd.py": "import pkg.odder\n",
        "odder.py": "from pkg.kind import is_odd\n\nprint(is_odd())\n",
        "odd_data/__init__.py": "",
    }
    rest = "facts: {predicates: {pkg.kind.is_odd: false}}\nbatches: []\n"
    found = done(files, rest)
    assert {"odd.py", "odder.py"} <= left(found)
    assert found.output.tree == again(found).tree
    assert "python/pkg/odd.py" not in found.laid
    table = rows(found.upstream.tree, found.output.tree, reasons(found), {}, {})
    assert {row.batch for row in table if row.verdict == "removed"} == {"base"}


def test_the_walk_of_the_registry_brings_no_model_back_and_no_helper_of_one() -> None:
    files = {
        "models/two.py": "from pkg.models.two_parts import P\n\nclass Two(P): ...\n\nEntryClass = Two\n",
        "models/two_parts.py": "class P:\n    pass\n",
    }
    found = done(files)
    assert left(found) == {"models/two.py", "models/two_parts.py"}
    assert why(found, "models/two.py") == ("base", "roots.models does not keep it")


def test_a_model_stays_where_a_kept_one_imports_it_over_whatever_helper() -> None:
    files = {
        "models/one.py": "from pkg.models.parts.base import Two\n\nclass One(Two): ...\n\nEntryClass = One\n",
        "models/parts/base.py": "from pkg.models.two import Two\n",
        "models/two.py": "class Two:\n    pass\n\n\nEntryClass = Two\n",
    }
    found = done(files)
    assert left(found) == set()
    assert why(found, "models/two.py") == ("root", "pkg.models.one needs it")


def test_a_rule_overrides_reach_both_ways() -> None:
    rest = "keep: [python/pkg/alone.py]\nbatches:\n  - {id: gone, why: w, remove: [python/pkg/used.py]}\n"
    files = {
        "main.py": "try:\n    import pkg.used\nexcept ImportError:\n    pass\n",
        "used.py": "",
        "alone.py": "import pkg.held\n",
    }
    found = done({**files, "held.py": "X = 1\n"}, rest)
    assert left(found) == {"used.py", "models/registry.py"}
    graphs = graph_answers(found, found.manifest)
    listed = json.loads(uncertain_json(found, graphs))
    assert {row["module"] for row in listed["modules"]} == {"pkg.alone", "pkg.held"}


def test_of_the_files_that_a_rule_prunes_those_that_define_nothing_of_the_kind_go_by_reach() -> None:
    rest = "batches:\n  - {id: c, why: w, prune: [{path: python/pkg/configs/*.py, defines: model_type}]}\n"
    files = {
        "main.py": "from pkg.configs import engine, other, late\n\nprint(engine.Engine, other, late)\n",
        "configs/__init__.py": "",
        "configs/engine.py": "class Engine:\n    kind = 'x'\n",
        "configs/late.py": "def f():\n    model_type = 'local'\n    return model_type\n",
        "configs/unused.py": "class Unused:\n    kind = 'x'\n",
        "configs/other.py": "class Other:\n    model_type = 'other'\n",
    }
    decided = cut(upstream({**BASIC, **files}), stated(rest), lambda _: None).decided
    gone = {
        path.rpartition("/")[2]: rule.verdict for path, rule in decided.removed.items() if "configs" in path
    }
    assert gone == {"unused.py": "reach", "other.py": "prune"}
    kept = decided.selection.decisions["python/pkg/configs/engine.py"].rule
    assert kept.pattern == "a root reaches it"


@pytest.mark.parametrize(
    ("path", "text", "stays"),
    [
        ("tool.py", "import pkg.tools\n\nif __name__ == '__main__':\n    print(1)\n", True),
        ("kit/__main__.py", "import pkg.tools\n", True),
        ("tool.py", "import pkg.tools\n", False),
        ("tool.py", "from pkg.gone import X\n\nif __name__ == '__main__':\n    print(X)\n", False),
        ("tests/tool.py", "if __name__ == '__main__':\n    print(1)\n", False),
        ("benchmark/tool.py", "if __name__ == '__main__':\n    print(1)\n", False),
        ("csrc/some-kit/code.py", "if __name__ == '__main__':\n    print(1)\n", False),
    ],
)
def test_a_program_that_is_started_by_its_name_stays_with_what_it_imports(
    path: str, text: str, stays: bool
) -> None:
    files = {path: text, "tools.py": "X = 1\n", "gone.py": "X = 1\n"}
    rest = "batches:\n  - {id: gone, why: w, remove: [python/pkg/gone.py]}\n"
    assert (path not in left(done(files, rest, DYNAMIC + "  programs: [pkg.*]\n"))) is stays
    assert path in left(done(files, rest))
    assert path in left(done(files, rest, DYNAMIC + '  programs: [pkg.*, "!pkg.*"]\n'))


def test_console_scripts_and_python_outside_of_the_packages_are_starts() -> None:
    files = {
        "/python/pyproject.toml": "[project]\nname = 'pkg'\n\n[project.scripts]\npkg = 'pkg.command:main'\n",
        "command.py": "def main():\n    return 1\n",
        "/tools/run.py": "from pkg.outside import X\n",
        "outside.py": "X = 1\n",
    }
    assert left(done(files, "keep: [python/pyproject.toml, tools/]\nbatches: []\n")) == set()


def test_data_files_follow_the_modules_of_the_nearest_package() -> None:
    files = {
        "main.py": "import pkg.used.reader\n",
        "used/reader.py": "X = 1\n",
        "used/tables/deep/a.json": "{}",
        "used/some-kit/code.py": "Y = 1\n",
        "used/some-kit/core.h": "int a;\n",
        "idle/__init__.py": "",
        "idle/reader.py": "X = 1\n",
        "idle/tables/a.json": "{}",
        "idle/kept.json": "{}",
        "notes.md": "# notes\n",
    }
    found = done(files, "keep: [python/pkg/idle/kept.json]\nbatches: []\n")
    assert left(found) == {
        "models/registry.py", "used/some-kit/code.py",
        "idle/__init__.py", "idle/reader.py", "idle/tables/a.json",
    }  # fmt: skip
    assert why(found, "used/tables/deep/a.json") == ("base", "it follows python/pkg/used/reader.py")
    assert why(found, "idle/tables/a.json") == ("base", "no module beside it stays")


def test_an_empty_package_file_reads_no_data() -> None:
    empty = summarise(b"", "a/b/__init__.py", "a.b")
    full = summarise(b"X = 1\n", "a/b/__init__.py", "a.b")
    data, modules = ["a/b/table.json"], ["a/b/__init__.py"]
    assert followed(data, modules, [empty]) == {}
    assert followed(data, modules, [full]) == {"a/b/table.json": "a/b/__init__.py"}


def test_outside_of_the_packages_a_path_still_needs_a_rule() -> None:
    found = select(["python/pkg/models/one.py", "python/pkg/a.py", "python/pkg/b.json", "new/x"], manifest())
    assert [p.code for p in found.problems] == ["R003"]
    assert (found.with_verdict("reach"), found.with_verdict("follow")) == (
        ("python/pkg/a.py",),
        ("python/pkg/b.json",),
    )


def test_what_a_batch_removes_is_known_when_the_batch_is_off() -> None:
    rest = "batches: [{id: ci, why: w, remove: [/.github/, python/pkg/ci.py]}]\n"
    paths = [".github/x.yml", "python/pkg/ci.py", "python/pkg/models/one.py"]
    assert select(paths, manifest(rest)).with_verdict("remove") == (".github/x.yml", "python/pkg/ci.py")
    back = select(paths, without(manifest(rest), ("ci",)))
    assert (back.problems, back.with_verdict("keep")) == ((), (".github/x.yml", "python/pkg/models/one.py"))
    assert back.with_verdict("reach") == ("python/pkg/ci.py",)


def test_the_configuration_that_is_called_like_a_kept_model_stays_with_it() -> None:
    rest = "batches:\n  - {id: c, why: w, prune: [{path: python/pkg/configs/*.py, defines: model_type}]}\n"
    files = {
        "configs/__init__.py": "",
        "configs/o_ne.py": "class One:\n    model_type = 'one'\n",
        "configs/two.py": "class Two:\n    model_type = 'two'\n",
        "models/one.py": "class One:\n    pass\n\n\nEntryClass = One\n",
    }
    decided = cut(upstream({**BASIC, **files}), stated(rest), lambda _: None).decided
    assert decided.needed == {"python/pkg/configs/o_ne.py": "pkg.models.one"}
    assert "python/pkg/configs/two.py" in decided.removed


def test_a_batch_may_name_a_model_that_leaves_for_its_reason_unless_a_kept_one_needs_it() -> None:
    rest = "batches:\n  - {id: fallback, why: w, prune: [python/pkg/models/two.py]}\n"
    files = {
        "models/one.py": "class One:\n    pass\n\n\nEntryClass = One\n",
        "models/two.py": "class Two:\n    pass\n\n\ndef helper():\n    pass\n\n\nEntryClass = Two\n",
    }
    path = "python/pkg/models/two.py"
    decided = cut(upstream({**BASIC, **files}), stated(rest), lambda _: None).decided
    assert decided.removed[path].batch == "fallback"
    files["models/one.py"] = "from pkg.models.two import helper\n\n\n" + files["models/one.py"]
    assert path in cut(upstream({**BASIC, **files}), stated(rest), lambda _: None).decided.kept


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ("{name: pkg.gone, until: 1.0.0}", None),
        ("{name: pkg.gone, until: 2.0.0}", "The root `pkg.gone` names no module of upstream."),
        ("{name: pkg.main, until: 1.0.0}", "`pkg.main` says `until: 1.0.0`"),
        ("{name: pkg.models, since: 2.0.0}", None),
    ],
)
def test_a_root_may_have_a_range_of_versions(root: str, said: str | None) -> None:
    head = DYNAMIC.replace("modules: [pkg.main]", f"modules: [pkg.main, {root}]")
    pins = "    old: {commit: 1123456789abcdef0123456789abcdef01234567, version: 1.0.0}\n"
    pins += "    new: {commit: 2123456789abcdef0123456789abcdef01234567, version: 2.0.0}\n"
    found: list[Problem] = []
    cut(
        upstream(BASIC), stated(head=head.replace("packages:", f"{pins}packages:")), found.extend,
        about=About("2.0.0", "new"),
    )  # fmt: skip
    assert len(found) == (said is not None) and all((said or "") in p.message for p in found), found


USED = {
    "models/one.py": "class One:\n    pass\n\n\nEntryClass = One\n",
    "models/two.py": "from pkg.models.three import Three\n\n\nclass Two(Three): ...\n\n\nEntryClass = Two\n",
    "models/three.py": "class Three:\n    pass\n\n\nEntryClass = Three\n",
    "models/four.py": "class Four:\n    pass\n\n\nEntryClass = Four\n",
    "images/__init__.py": "",
    "images/encoder.py": "from pkg.models.two import Two\n\n\nclass Encoder(Two):\n    pass\n",
}


@pytest.mark.parametrize("off", [(), ("images",)])
def test_a_model_stays_with_a_module_that_is_made_of_it(off: tuple[str, ...]) -> None:
    rest = "batches:\n  - {id: images, why: w, remove: [python/pkg/images/]}\n"
    used = "used_by: [{name: pkg.images.*, why: w, without: images}]"
    head = HEAD.replace("keep: [one]", f"keep: [one], {used}")
    whole = stated(rest, head=head.replace("[pkg.main]", "[pkg.main, pkg.images.*]"))
    decided = cut(upstream({**BASIC, **USED}), without(whole, off), lambda _: None).decided
    kept = [
        name for name in ("one", "two", "three", "four") if f"python/pkg/models/{name}.py" in decided.kept
    ]
    assert kept == (["one", "two", "three"] if off else ["one"])


def test_a_module_that_is_made_of_models_is_there() -> None:
    head = HEAD.replace("keep: [one]", "keep: [one], used_by: [{name: pkg.imags.*, why: w}]")
    found: list[Problem] = []
    cut(upstream({**BASIC, **USED}), stated("batches: []\n", head=head), found.extend)
    assert [p.message for p in found] == ["The root `pkg.imags.*` names no module of upstream."]


def test_the_former_ways_to_say_it_are_told_how_to_say_it_now() -> None:
    batch = "batches: [{id: a, why: w, unreached: [python/pkg/a.py]}]\n"
    (problem,) = problems(HEAD + batch)
    assert problem.code == "M005" and "when no root reaches it" in (problem.hint or "")
    assert problem.mark is not None and problem.mark.line == HEAD.count("\n") + 1
    (problem,) = problems(HEAD + "batches: [{id: a, why: w, prune: [python/pkg/models/*.py]}]\n")
    assert problem.code == "M011" and "roots.models" in problem.message and problem.hint
