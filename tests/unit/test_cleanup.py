"""What nobody uses any more because of us leaves; what somebody may still use stays."""

from __future__ import annotations

import pytest
from small_package import output, run

USES = """\
from pkg.platform import is_npu

def main(x):
    if is_npu():
        return helper(x)
    return x
"""
HELPER = "def helper(x):\n    return x\n"
BOTH = f"{HELPER}\n\n{USES}"


def test_a_helper_that_only_a_folded_branch_called_leaves_with_its_own_helpers() -> None:
    after = output(
        {
            "pkg/a.py": """
                from pkg.platform import is_npu

                def deepest(x):
                    return x + 1

                def deeper(x):
                    return deepest(x)

                def helper(x):
                    return deeper(x)

                def main(x):
                    if is_npu():
                        return helper(x)
                    return x
            """
        }
    )
    assert after["pkg/a.py"] == "def main(x):\n    return x\n"


def test_a_chain_of_helpers_over_several_files_leaves_in_one_round() -> None:
    files = {"pkg/a.py": "from pkg.b import one\n" + USES.replace("helper", "one")}
    for name, following in (("b", "c"), ("c", "d"), ("d", "e")):
        files[f"pkg/{name}.py"] = (
            f"from pkg.{following} import {following}\n\n\n"
            f"def {'one' if name == 'b' else name}(x):\n    return {following}(x)\n"
        )
    files["pkg/e.py"] = "def e(x):\n    return x\n\n\ndef other(x):\n    return x\n"
    done = run(files)
    assert {p.removeprefix("pkg/") for p in done.files} >= {"a.py", "b.py", "c.py", "d.py", "e.py"}
    assert done.files["pkg/e.py"] == b"def other(x):\n    return x\n"
    assert sorted(done.emptied) == ["pkg/b.py", "pkg/c.py", "pkg/d.py", "pkg/platform.py"]


def test_a_function_stays_while_its_name_is_used_elsewhere() -> None:
    text = """
        from pkg.platform import is_npu

        def step():
            return 1

        def main(one):
            if is_npu():
                return step()
            return one
    """
    alive = output({"pkg/a.py": text, "pkg/b.py": "def run(x):\n    return x.step()\n"})
    assert "def step" in alive["pkg/a.py"]
    dead = output({"pkg/a.py": text, "pkg/b.py": "def run(x):\n    return x\n"})
    assert "def step" not in dead["pkg/a.py"]


def test_a_name_that_upstream_never_used_stays() -> None:
    after = output({"pkg/a.py": "def offered():\n    return 1\n\n\n" + USES})
    assert "def offered" in after["pkg/a.py"]


@pytest.mark.parametrize(
    "use",
    [
        '__all__ = ["helper"]\n',
        'HANDLERS = {"x": "pkg.a.helper"}\n',
        'def f(x: "Optional[helper]"):\n    return x\n',
        "from pkg.a import helper as other\n",
        "import pkg.a\n\nprint(pkg.a.helper)\n",
    ],
    ids=["exported", "dotted string", "quoted annotation", "alias", "attribute"],
)
def test_any_other_reference_keeps_a_definition(use: str) -> None:
    after = output({"pkg/a.py": BOTH, "pkg/b.py": use})
    assert "def helper" in after["pkg/a.py"]


def test_a_definition_named_in_the_project_file_stays() -> None:
    project = b'[project.scripts]\nrun = "pkg.a:helper"\n'
    assert "def helper" in output({"pkg/a.py": BOTH}, extra=[project])["pkg/a.py"]
    assert "def helper" not in output({"pkg/a.py": BOTH})["pkg/a.py"]


def test_a_prefix_that_getattr_completes_keeps_what_begins_with_it_in_a_module_at_hand() -> None:
    text = BOTH.replace("helper", "forward_fast")
    other = 'def call(x, how):\n    return getattr(x, f"forward_{how}")\n'
    assert "def forward_fast" not in output({"pkg/a.py": text, "pkg/b.py": other})["pkg/a.py"]
    held = "import pkg.a\n\n\n" + other.replace("getattr(x", "getattr(pkg.a")
    assert "def forward_fast" in output({"pkg/a.py": text, "pkg/b.py": held})["pkg/a.py"]
    assert "def forward_fast" not in output({"pkg/a.py": text})["pkg/a.py"]


def test_a_decorator_that_we_do_not_know_keeps_its_function() -> None:
    unknown = "from x import register\n\n\n@register\n" + BOTH
    assert "def helper" in output({"pkg/a.py": unknown})["pkg/a.py"]
    after = output({"pkg/a.py": "from functools import lru_cache\n\n\n@lru_cache\n" + BOTH})
    assert after["pkg/a.py"] == "def main(x):\n    return x\n"


def test_a_constant_leaves_only_when_computing_it_has_no_effect() -> None:
    text = USES.replace("helper(x)", "LIMIT")
    assert "LIMIT" not in output({"pkg/a.py": "LIMIT = 3\n" + text})["pkg/a.py"]
    assert "LIMIT = start()" in output({"pkg/a.py": "LIMIT = start()\n" + text})["pkg/a.py"]


def test_public_definitions_stay_where_pruning_is_not_allowed() -> None:
    assert "def helper" in output({"pkg/a.py": BOTH}, prune_symbols=lambda path: False)["pkg/a.py"]


@pytest.mark.parametrize(
    ("path", "between", "taker", "source"),
    [
        ("pkg/a.py", {}, "pkg/b.py", "pkg.a"),
        ("pkg/__init__.py", {}, "pkg/one/two/a.py", "..."),
        ("pkg/a.py", {"pkg/star.py": "from pkg.a import *\n"}, "pkg/b.py", "pkg.star"),
    ],
    ids=["another file", "a deeper package, relatively", "through a star"],
)
def test_an_import_stays_while_another_file_takes_it_from_here(
    path: str, between: dict[str, str], taker: str, source: str
) -> None:
    files = {path: "from pkg.c import helper\n" + USES, "pkg/c.py": HELPER, **between}
    taken = output({**files, taker: f"from {source} import helper\n\nprint(helper)\n"})
    assert "import helper" in taken[path]
    after = output({**files, taker: ""})
    assert "import" not in after[path]
    assert after["pkg/c.py"] == ""


def test_what_getattr_completes_in_a_dead_function_keeps_nothing() -> None:
    text = """
        from pkg.platform import is_npu

        def forward_fast(x):
            return x

        def helper(x, how):
            return getattr(x, f"forward_{how}")(forward_fast)

        def main(x):
            if is_npu():
                return helper(x, "fast")
            return x
    """
    assert output({"pkg/a.py": text})["pkg/a.py"] == "def main(x):\n    return x\n"


def test_a_method_that_dies_before_its_class_is_counted_once() -> None:
    text = """
        from pkg.platform import is_npu

        class Helper:
            def step(self):
                return shared(1)

            def other(self):
                return shared(2)

        def shared(x):
            return x

        def main(x):
            if is_npu():
                Helper().step()
                Helper().other()
            return shared(x)
    """
    assert output({"pkg/a.py": text})["pkg/a.py"] == (
        "def shared(x):\n    return x\n\n\ndef main(x):\n    return shared(x)\n"
    )


def test_an_import_that_a_quoted_annotation_names_stays() -> None:
    text = """
        from pkg.c import Kind, helper
        from pkg.platform import is_npu

        def main(x: "Kind"):
            if is_npu():
                return helper(Kind(x))
            return x
    """
    after = output({"pkg/a.py": text, "pkg/c.py": f"class Kind:\n    pass\n\n\n{HELPER}"})
    assert after["pkg/a.py"].startswith("from pkg.c import Kind\n")
    assert after["pkg/c.py"] == "class Kind:\n    pass\n"


def test_an_import_that_upstream_did_not_use_either_stays() -> None:
    after = output({"pkg/a.py": "from pkg.c import offered\n" + USES, "pkg/c.py": "offered = 1\n"})
    assert "import offered" in after["pkg/a.py"]


def test_a_local_constant_that_only_a_folded_condition_read_leaves() -> None:
    text = """
        from pkg.platform import is_npu

        def main(x):
            slow = False
            shown = 1
            if slow and is_npu():
                return None
            return x, shown
    """
    after = output({"pkg/a.py": text})
    assert after["pkg/a.py"] == "def main(x):\n    shown = 1\n    return x, shown\n"


def test_a_local_that_upstream_did_not_read_stays() -> None:
    text = USES.replace("if is_npu", "debug = True\n    if is_npu")
    assert "debug = True" in output({"pkg/a.py": text})["pkg/a.py"]


def test_two_statements_on_a_line_are_told_apart() -> None:
    text = USES.replace("helper(x)", "ONE")
    after = output(
        {"pkg/a.py": "ONE = 1; TWO = 2\n" + text, "pkg/b.py": "from pkg.a import TWO\n\nprint(TWO)\n"}
    )
    assert after["pkg/a.py"].startswith("TWO = 2\n")


def test_nothing_leaves_files_that_are_ours() -> None:
    done = run(
        {"pkg/a.py": BOTH, "pkg/ours.py": "def kept():\n    return 1\n"},
        upstream={"pkg/ours.py": "def kept():\n    return 2\n\n\nkept()\n"},
        frozen=frozenset(["pkg/ours.py"]),
    )
    assert "pkg/ours.py" not in done.files


def test_what_leaves_with_a_dead_class_is_told_but_not_looked_for() -> None:
    text = """
        from pkg.platform import is_npu

        class Helper:
            def forward(self):
                return 1

        def main(x):
            if is_npu():
                return Helper()
            return x
    """
    other = (
        "class Other:\n    def forward(self):\n        return 2\n\n\ndef run(x):\n    return x.forward()\n"
    )
    done = run({"pkg/a.py": text, "pkg/b.py": other})
    assert {"pkg.a.Helper", "pkg.a.Helper.forward"} <= done.lost.keys()
    assert "pkg/b.py" not in done.files
