"""The rounds of folding and cleaning end in the same place, however one gets there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from small_package import FACTS, module_of, output, run, sources
from yaml_cases import load

from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.fixpoint import specialize
from builder.specialize.program import Policy, Program

FILES: dict[str, str] = load("folding.yaml")["rounds"]
GONE = ("pkg/gone/__init__.py", "pkg/gone/extra.py")


def test_the_order_of_the_files_does_not_matter() -> None:
    forwards = run(FILES, without=GONE)
    backwards = run(dict(reversed(FILES.items())), without=GONE)
    assert forwards.files == backwards.files
    assert (forwards.lost, forwards.leftovers) == (backwards.lost, backwards.leftovers)


def test_the_seed_of_hashes_does_not_matter() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from test_fixpoint import FILES, GONE; from small_package import run;"
        "done = run(FILES, without=GONE);"
        "print(sorted(done.files.items()), list(done.lost.items()), done.rounds)"
    )
    here = str(Path(__file__).parent)
    said = {
        subprocess.run(
            [sys.executable, "-c", program, here],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(here).parents[1])},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "7")
    }
    assert len(said) == 1


def test_a_use_that_cannot_leave_is_told_with_its_place() -> None:
    files = {**FILES, "pkg/use.py": "from pkg.gone import launch\n\n\ndef use(x):\n    return launch(x)\n"}
    done = run(files, without=GONE)
    assert [(left.path, left.name, left.gone, left.scope) for left in done.leftovers] == [
        ("pkg/use.py", "launch", "pkg.gone", "use")
    ]


def test_a_name_that_an_overlay_took_is_gone_for_others_too() -> None:
    done = run(
        {
            "pkg/a.py": "def kept():\n    return 1\n",
            "pkg/b.py": "from pkg.a import kept, taken\n\n__all__ = ['kept', 'taken']\n",
            "pkg/c.py": "from pkg.b import taken\n\nVALUES = [taken, 1]\n",
        },
        upstream={"pkg/a.py": "def kept():\n    return 1\n\n\ndef taken():\n    return 2\n"},
    )
    assert done.files["pkg/b.py"].startswith(b"from pkg.a import kept\n")
    assert b"taken" not in done.files["pkg/b.py"] + done.files["pkg/c.py"]
    assert done.lost["pkg.a.taken"] == "an edit of the manifest"


def test_a_file_that_is_not_touched_comes_back_in_no_other_layout() -> None:
    odd = "x = ( 1,\n2 )\ndef  f( ):\n  return x\n"
    done = run({**FILES, "pkg/odd.py": odd}, without=GONE)
    assert "pkg/odd.py" not in done.files


def test_a_broken_fact_does_not_make_the_rounds_endless() -> None:
    facts = Facts(predicates={"pkg.platform.is_npu": KnownValue(True)})
    texts = sources({"pkg/platform.py": "def is_npu():\n    return not is_npu()\n", "pkg/a.py": "x = 1\n"})
    done = specialize(Program(texts, texts, {p: module_of(p) for p in texts}), Policy(facts))
    assert done.rounds < 10
    assert facts != FACTS


def test_a_definition_that_a_rule_names_stays_although_nobody_uses_it_any_more() -> None:
    texts = {
        "pkg/attention.py": """
            from pkg.platform import is_npu


            def run():
                if is_npu():
                    return _run_npu() + _other_npu()
                return 1


            def _run_npu():
                raise NotImplementedError("manifest rule: npu")


            def _other_npu():
                return 2
        """
    }
    text = output(texts, stays=frozenset(["pkg.attention._run_npu"]))["pkg/attention.py"]
    assert "def _run_npu" in text and "_other_npu" not in text
    assert "_run_npu" not in output(texts)["pkg/attention.py"]


USES = """\
from pkg.platform import is_npu

def main(x):
    if is_npu():
        return helper(x)
    return x
"""


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


def test_nothing_leaves_files_that_are_ours() -> None:
    done = run(
        {
            "pkg/a.py": f"def helper(x):\n    return x\n\n\n{USES}",
            "pkg/ours.py": "def kept():\n    return 1\n",
        },
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
