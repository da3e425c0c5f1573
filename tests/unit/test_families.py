"""A platform is stated by its words: every name that is made of them follows, and no other."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from gate_worlds import snapshot
from manifest_text import HEAD, manifest, problems

from builder.analysis.indexed_tree import world
from builder.errors import BuildError, Problem
from builder.gates import words as gate
from builder.pipeline.cut import cut
from builder.pipeline.expand_families import FamilyMatches
from builder.pipeline.model import Cut
from builder.select.families import Families, words_of

BATCH = """\
keep: [python/]
prune_symbols: [python/]
batches:
  - id: npu
    why: NPUs are not a target.
    words: [npu]
"""
BOTH = BATCH.replace("npu]", "npu, ascend]")
PROJECT = {
    "python/pkg/__init__.py": "",
    "python/pkg/models/__init__.py": "",
    "python/pkg/models/one.py": "EntryClass = None\n",
}


def built(files: Mapping[str, str], rest: str = BATCH) -> Cut:
    return cut(snapshot({**PROJECT, **files}), manifest(rest))


def text(done: Cut, path: str = "python/pkg/main.py") -> str:
    return done.output[path].decode()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("npu_communicator", ("npu", "communicator")),
        ("NPUCommunicator", ("npu", "communicator")),
        ("NPUW8A8Method", ("npu", "w8", "a8", "method")),
        ("_is_npu", ("is", "npu")),
        ("--enable-npu-graph", ("enable", "npu", "graph")),
        ("SGLANG_NPU_USE_MLAPO", ("sglang", "npu", "use", "mlapo")),
        ("ascending", ("ascending",)),
        ("LOG_INPUT", ("log", "input")),
    ],
)
def test_a_name_is_read_as_the_words_that_it_is_made_of(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("words", "members", "others"),
    [
        (
            "npu, ascend, fa3, flash_mla",
            "npu NPUGraph kernel_ascend torch-npu FA3Backend flash_mla_kv",
            "input ascending DESCEND LOG_INPUT flash_lamla fa3x FA3X npu2 mla_flash",
        ),
        (  # a word that ends in a digit stands before more digits, and before nothing else
            "npu, gfx9, flash_mla2",
            "gfx9 is_gfx942 kernel_gfx950.py Gfx950Indexer IS_GFX950 GFX950_KERNEL _GFX9Kernel",
            "gfx gfx1250 gfx90a agfx950 flash_mla flash_2 flash20_mla2",
        ),
    ],
)
def test_a_name_that_has_a_word_is_of_the_family_and_a_word_is_never_a_part_of_another(
    words: str, members: str, others: str
) -> None:
    families = Families(manifest(BATCH.replace("[npu]", f"[{words}]")).batches)
    names = [*members.split(), *others.split()]
    assert [name for name in names if families.member(name) is not None] == members.split()


def test_files_and_folders_with_a_word_in_their_name_leave() -> None:
    done = built(
        {
            "python/pkg/main.py": "import pkg.ascending\n",
            "python/pkg/ascending.py": "x = 1\n",
            "python/pkg/npu/graph.py": "",
            "python/pkg/npu_helper.py": "",
            "python/pkg/AscendBackend.py": "",
        },
        BOTH,
    )
    assert sorted(set(done.output) - set(PROJECT)) == ["python/pkg/ascending.py", "python/pkg/main.py"]
    assert done.families["npu"].names["path"] == (
        "python/pkg/AscendBackend.py",
        "python/pkg/npu/",
        "python/pkg/npu_helper.py",
    )


def test_predicates_are_false_wherever_they_stand() -> None:
    done = built(
        {
            "python/pkg/utils.py": "def is_npu():\n    return probe()\n\ndef probe():\n    return 1\n",
            "python/pkg/main.py": """\
                from pkg.utils import is_npu
                _is_npu = is_npu()
                def f(layer):
                    if _is_npu:
                        return 1
                    if layer.use_npu_graph:
                        return 2
                    return 3
                """,
        }
    )
    assert text(done) == "def f(layer):\n    return 3\n"


def test_methods_of_the_family_leave_although_a_name_may_be_composed() -> None:
    done = built(
        {
            "python/pkg/main.py": """\
                class Layer:
                    def forward_cuda(self):
                        return 1
                    def forward_npu(self):
                        return 2
                    def dispatch(self, kind):
                        return getattr(self, "forward_" + kind)()
                """
        }
    )
    assert "forward_npu" not in text(done) and "forward_cuda" in text(done)


def test_what_only_imports_and_lists_name_leaves_with_them() -> None:
    done = built(
        {
            "python/pkg/ops.py": "def npu_scan():\n    return 1\n\ndef scan():\n    return 2\n",
            "python/pkg/main.py": """\
                from pkg.ops import npu_scan, scan
                __all__ = ["npu_scan", "scan"]
                """,
        }
    )
    assert text(done) == 'from pkg.ops import scan\n\n__all__ = ["scan"]\n'
    assert b"npu" not in done.output["python/pkg/ops.py"]


def test_values_of_options_flags_and_members_of_enumerations_leave() -> None:
    done = built(
        {
            "python/pkg/main.py": """\
                import argparse
                import enum
                CHOICES = ["cuda", "npu", "kernel_ascend", "ascending"]
                class Backend(enum.Enum):
                    CUDA = "cuda"
                    ASCEND = "ascend"
                def parse():
                    parser = argparse.ArgumentParser()
                    parser.add_argument("--device", choices=CHOICES)
                    parser.add_argument("--npu-graph", action="store_true")
                    args = parser.parse_args()
                    if args.npu_graph:
                        return None
                    return args.device == "npu", args
                """
        },
        BOTH,
    )
    assert 'CHOICES = ["cuda", "ascending"]' in text(done)
    assert "ASCEND" not in text(done) and "npu" not in text(done)


def test_a_field_that_is_an_option_leaves_with_what_reads_it() -> None:
    done = built(
        {
            "python/pkg/main.py": """\
                from dataclasses import dataclass
                from typing import Annotated as A
                from pkg.args import Arg
                @dataclass
                class Args:
                    device: A[str, Arg(help="where")] = "cuda"
                    npu_graphs: A[int, Arg(help="how many")] = 0
                def run(args):
                    if args.npu_graphs:
                        return None
                    return args.device
                """,
            "python/pkg/args.py": "class Arg:\n    def __init__(self, help):\n        pass\n",
        }
    )
    assert "npu" not in text(done) and "return None" not in text(done)
    assert "device: A[str" in text(done)


def test_external_modules_and_their_parts_do_not_exist() -> None:
    done = built(
        {
            "python/pkg/main.py": """\
                import torch
                try:
                    import torch_npu
                except ImportError:
                    pass
                def sync():
                    if hasattr(torch, "npu") and torch.npu.is_available():
                        torch.npu.synchronize()
                    else:
                        torch.cuda.synchronize()
                """
        }
    )
    assert text(done).endswith("def sync():\n    torch.cuda.synchronize()\n")


def test_a_statement_of_its_own_is_stronger_than_the_words() -> None:
    rest = BATCH + "    facts: {environment: {PKG_USE_NPU: '1'}}\n"
    source = (
        'import os\ndef f():\n    if os.environ.get("PKG_USE_NPU") == "1":\n        return 1\n    return 2\n'
    )
    assert "return 1" in text(built({"python/pkg/main.py": source}, rest))
    assert "return 1" not in text(built({"python/pkg/main.py": source}))


def test_an_exception_spares_names_and_paths() -> None:
    rest = BATCH + (
        "    except:\n"
        '      - {name: "create_npu_*", why: A helper that others use.}\n'
        "      - {path: python/pkg/npu_table.py, why: A table.}\n"
    )
    done = built(
        {
            "python/pkg/main.py": "from pkg.npu_table import create_npu_rows\nrows = create_npu_rows()\n",
            "python/pkg/npu_table.py": "def create_npu_rows():\n    return 1\n",
        },
        rest,
    )
    assert "python/pkg/npu_table.py" in done.output


def test_an_excepted_file_keeps_its_folder_from_leaving_whole() -> None:
    rest = BATCH + "    except:\n      - {path: python/pkg/npu/events.py, why: Others report through it.}\n"
    main = "from pkg.npu.events import report\nreport()\n"
    files = {
        "python/pkg/main.py": main,
        "python/pkg/npu/events.py": "def report():\n    return 1\n",
        "python/pkg/npu/transfer.py": "def send():\n    return 1\n",
        "python/pkg/npu/deep/conn.py": "def connect():\n    return 1\n",
    }
    done = built(files, rest)
    assert "python/pkg/npu/events.py" in done.output
    assert "python/pkg/npu/transfer.py" not in done.output
    assert "python/pkg/npu/deep/conn.py" not in done.output
    said = manifest(rest)
    kept = snapshot({**PROJECT, **{path: files[path] for path in list(files)[:2]}})
    assert gate.check(world(kept, said.packages), said) == []  # who imports it names the folder


def test_a_text_of_an_excepted_file_is_no_value_of_an_option() -> None:
    source = 'def f(kind):\n    if kind == "npu-tree":\n        return 1\n    return 2\n'
    files = {"python/pkg/main.py": source, "python/pkg/kinds.py": 'KINDS = ["npu-tree"]\n'}
    rest = (
        BATCH + "    except:\n" + "".join(f"      - {{path: {path}, why: An inventory.}}\n" for path in files)
    )
    assert "return 1" not in text(built(files))
    assert "return 1" in text(built(files, rest))


def test_what_an_excepted_file_stores_is_not_none() -> None:
    rest = BATCH + "    except:\n      - {path: python/pkg/kinds.py, why: An inventory.}\n"
    source = "class Kind:\n    pass\nKind.NPU = Kind()\nKINDS = {Kind.NPU}\n"
    done = built({"python/pkg/kinds.py": source}, rest)
    assert text(done, "python/pkg/kinds.py") == source


@pytest.mark.parametrize(("default", "taken"), [("False", False), ("None", True), ("True", True)])
def test_an_attribute_that_nothing_sets_is_what_every_class_has_it_begin_with(
    default: str, taken: bool
) -> None:
    code = f"""\
    class Pool:
        npu_pages = {default}

        def __init__(self):
            self.npu_pages = {default}

    def read(pool):
        if pool.npu_pages is None:
            return "unset"
        return "set"
    """
    done = built({"python/pkg/main.py": code})
    assert ('"unset"' in text(done)) is taken


def test_a_word_that_names_nothing_is_an_error() -> None:
    with pytest.raises(BuildError) as caught:
        whole = BOTH.replace("keep: [python/]", "keep: [python/, docs/]")
        built({"python/pkg/main.py": "is_npu = False\n", "docs/x.md": ""}, whole)
    assert [(p.code, p.message) for p in caught.value.problems] == [
        ("R009", "Nothing of upstream is named by the word `ascend` (batch npu).")
    ]


def test_a_word_may_name_what_another_batch_removes() -> None:
    other = "  - id: tools\n    why: No tools.\n    remove: [python/pkg/tool.py]\n"
    files = {"python/pkg/main.py": "is_npu = False\n", "python/pkg/tool.py": "import ascend.tool\n"}
    assert "python/pkg/tool.py" not in built(files, BOTH + other).output.tree


def test_what_an_option_of_the_family_sets_is_the_default_of_its_field() -> None:
    done = built(
        {
            "python/pkg/main.py": """
                class Args:
                    npu_folder: str = None

                    def add(parser):
                        parser.add_argument("--npu-folder", default=Args.npu_folder)
                        parser.add_argument("--folder")

                def run(args):
                    if args.npu_folder is not None:
                        print(args.npu_folder)
                    return args.folder
                """
        }
    )
    assert "npu" not in text(done) and "print" not in text(done) and "return args.folder" in text(done)


def left(source: str, rest: str = BATCH) -> list[Problem]:
    said = manifest(rest)
    files = snapshot({**PROJECT, "python/pkg/main.py": source})
    return gate.check(world(files, said.packages), said)


def test_code_that_still_asks_for_the_platform_stops_the_build() -> None:
    found = left('def f(x):\n    x.npu or x.npu\n    x == "NPU"\n    is_ascend()\n', BOTH)
    assert [(p.code, p.message.partition(": ")[2]) for p in found] == [
        ("G007", "`npu` is named by a word of batch npu"),
        ("G007", "`NPU` is named by a word of batch npu"),
        ("G007", "`is_ascend` is named by a word of batch npu"),
    ]


@pytest.mark.parametrize(
    ("source", "edit"),
    [
        (
            "class C:\n    def __init__(self):\n        if self:\n            self.is_npu = False\n",
            "{drop_statement: self.is_npu = ..., in: pkg.main.C.__init__}",
        ),
        ('def has_npu():\n    return found("npu")\n', "`stub: [pkg.main.has_npu]` in the batch"),
        (
            "class Asked:\n    npu: int = 1\n    other: int = 2\n",
            "`drop: [pkg.main.Asked.npu]` in the batch",
        ),
    ],
    ids=["assignment", "function", "field"],
)
def test_what_is_named_so_and_left_comes_with_the_statement_that_takes_it(source: str, edit: str) -> None:
    (problem,) = left(source)
    assert problem.hint is not None and problem.hint.endswith(f"where nothing needs it: {edit}")


def test_comments_messages_and_longer_names_are_not_code_that_asks() -> None:
    assert left('"""Not for an NPU."""\n# npu\nnpu_stream = "runs on an NPU only"\n') == []


def test_an_exception_of_the_guarantee_must_excuse_something() -> None:
    rest = BATCH + '    except:\n      - {path: python/pkg/main.py, text: "x.npu", why: A message.}\n'
    assert left("y = x.npu\n", rest) == []
    assert [p.message for p in left("y = 1\n", rest)] == [
        "the exception python/pkg/main.py with 'x.npu' excuses nothing"
    ]


def test_an_exception_of_names_may_be_a_pattern() -> None:
    rest = BATCH + '    except:\n      - {name: "is_*", why: Parameters.}\n'
    assert [p.message for p in left("def f(is_npu): pass\nnpu\n", rest)] == [
        "python/pkg/main.py:2: `npu` is named by a word of batch npu"
    ]


def test_what_the_words_matched_is_one_line_for_the_lock() -> None:
    one, other = FamilyMatches({"path": ("a", "b"), "flag": ("c",)}), FamilyMatches({"path": ("a", "c")})
    assert str(one).startswith("path 2, flag 1; sha256 ") and "\n" not in str(one)
    assert str(one) != str(other)


@pytest.mark.parametrize("word", ["NPU", "flash-mla", "", "a b"])
def test_a_word_is_written_in_lower_case_and_joined_by_underscores(word: str) -> None:
    said = problems(HEAD + BATCH.replace("[npu]", f'["{word}"]'))
    assert [p.code for p in said] == ["M004"]
