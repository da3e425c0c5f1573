"""The rounds of folding and cleaning end in the same place, however one gets there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from small_package import FACTS, module_of, output, run, sources

from builder.errors import Mark
from builder.manifest.statements import Absent
from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.fixpoint import specialize
from builder.specialize.program import Policy, Program

#: uses of most of what the engine does: constants over files, predicates, modules that are gone
FILES = {
    "pkg/flags.py": """
        from pkg.platform import is_npu

        _is_npu = is_npu()


        def fast():
            return _is_npu
    """,
    "pkg/models.py": """
        from pkg.flags import _is_npu, fast
        from pkg.gone import Kernel, launch

        try:
            from pkg.gone.extra import tune
        except ImportError:
            tune = None

        __all__ = ["Kernel", "Model"]


        class Model:
            kinds = {"plain": dict, "kernel": Kernel}

            def forward(self, x):
                if _is_npu:
                    return launch(x)
                elif fast():
                    return forward_npu(x)
                return x


        def forward_npu(x):
            return prepare(x)


        def prepare(x):
            return x
    """,
    "pkg/main.py": """
        from pkg.models import Model, tune


        def main(x):
            if tune is not None:
                x = tune(x)
            return Model().forward(x)
    """,
    "pkg/gone/__init__.py": "class Kernel:\n    pass\n\n\ndef launch(x):\n    return x\n",
    "pkg/gone/extra.py": "def tune(x):\n    return x\n",
}
GONE = ("pkg/gone/__init__.py", "pkg/gone/extra.py")


def test_facts_cross_files_and_what_is_gone_leaves_with_its_uses() -> None:
    after = output(FILES, without=GONE)
    assert after["pkg/models.py"] == (
        "tune = None\n\n"
        '__all__ = ["Model"]\n\n\n'
        "class Model:\n"
        '    kinds = {"plain": dict}\n\n'
        "    def forward(self, x):\n"
        "        return x\n"
    )
    assert "is_npu" not in "".join(after.values())


def test_its_own_output_is_left_as_it_is() -> None:
    first = {**FILES, **output(FILES, without=GONE)}
    done = run(first, without=GONE)
    assert not done.files


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


def test_an_alias_is_followed_to_where_it_is_used() -> None:
    after = output(
        {
            "pkg/a.py": "from pkg.platform import is_npu\n\nON_NPU = is_npu()\n",
            "pkg/b.py": "from pkg.a import ON_NPU as slow\n\n\ndef one(x):\n    return x if slow else None\n",
            "pkg/c.py": "from pkg.b import slow\n\n\ndef two(x):\n    if slow:\n        return x\n",
            "pkg/d.py": "from pkg import c\n\n\ndef three(x):\n    if c.slow:\n        return x\n    return",
        }
    )
    assert after["pkg/b.py"] == "def one(x):\n    return None\n"
    assert after["pkg/c.py"] == "def two(x):\n    pass\n"
    assert "if" not in after["pkg/d.py"]


def test_a_name_that_a_function_writes_through_global_is_no_constant() -> None:
    text = """
        from pkg.platform import is_npu

        _slow = is_npu()


        def switch():
            global _slow
            _slow = True


        def main(x):
            {}
            return 1 if _slow else 2
    """
    used = text.replace("{}", "switch()")
    assert "1 if _slow else 2" in output({"pkg/a.py": used})["pkg/a.py"]
    dead = text.replace("{}", "if is_npu(): switch()").replace("_slow = is_npu()", "_slow = probe()")
    assert "global" not in output({"pkg/a.py": dead})["pkg/a.py"]


def test_a_file_that_is_not_touched_comes_back_in_no_other_layout() -> None:
    odd = "x = ( 1,\n2 )\ndef  f( ):\n  return x\n"
    done = run({**FILES, "pkg/odd.py": odd}, without=GONE)
    assert "pkg/odd.py" not in done.files


def test_text_that_only_looks_like_code_decides_nothing() -> None:
    text = '''
        """Once it was:

        if is_npu():
            slow()
        """
        from pkg.platform import is_npu


        def main(x):
            # if is_npu(): slow
            return "is_npu()" if is_npu() else x
    '''
    after = output({"pkg/a.py": text})["pkg/a.py"]
    assert "if is_npu():\n    slow()" in after
    assert after.endswith("    # if is_npu(): slow\n    return x\n")


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


def test_an_argument_whose_flag_is_gone_leaves() -> None:
    source = (
        "from pkg.gone import FLAG\n\n\ndef add(parser):\n    parser.add_argument(FLAG)\n    return parser\n"
    )
    done = run(
        {"pkg/a.py": source},
        facts=Facts(modules={"pkg.gone": Absent("module", "pkg.gone", "one", mark=Mark("manifest.yaml"))}),
    )
    assert b"add_argument" not in done.files["pkg/a.py"]
