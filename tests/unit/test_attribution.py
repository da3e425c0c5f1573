"""Whose doing it is that a file was specialized: the blocks that left, and what accounts for them."""

from __future__ import annotations

from collections.abc import Mapping

from gate_worlds import package
from manifest_text import manifest

from builder.pipeline.attribution import attribute
from builder.pipeline.cut import cut
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.pipeline.removed_blocks import removed_blocks
from builder.tree import Snapshot

MANIFEST = """\
keep: [python/]
prune_symbols: [python/pkg/]
batches:
  - id: hip
    why: Not the target.
    facts:
      predicates: {pkg.platform.is_hip: false}
  - id: formats
    why: Not served.
    remove: [python/pkg/awq.py]
    facts:
      options: [{names: [quantization], absent: [awq]}]
  - id: hands
    why: By hand.
    edits:
      - {replace: wants(x), by: "False", in: pkg.main.run}
"""
PLATFORM = """\
import torch

def is_hip():
    return torch.version.hip is not None

def is_cuda():
    return torch.version.cuda is not None
"""
MAIN = """\
from pkg.models import one
from pkg.platform import is_cuda, is_hip
from pkg.tool import rarely

_is_hip = is_hip()

def run(x, quantization):
    if wants(x):
        x = rarely(x)
    if _is_hip:
        x = x + 1
    elif is_cuda():
        x = x + 2
    return one.load(x, quantization)

def wants(x):
    return x > 1
"""
ONE = """\
from pkg.awq import Awq

def load(x, quantization):
    if quantization == "awq":
        return Awq(x)
    return x
"""
TOOL = """\
def rarely(x):
    return helper(x)

def helper(x):
    return x

def often(x):
    return x
"""
AWQ = "from pkg.tool import often\n\n\nclass Awq:\n    def __init__(self, x):\n        self.x = often(x)\n"
ENV = """\
class EnvBool:
    def __init__(self, default):
        self.default = default


class Env:
    BITS = EnvBool(False)
    STEP = EnvBool(False)
    MORE = EnvBool(True)
"""
FILES = {
    "main": MAIN,
    "platform": PLATFORM,
    "models/one": ONE,
    "tool": TOOL,
    "awq": AWQ,
}


def snapshot(files: Mapping[str, str]) -> Snapshot:
    return package({f"{name}.py": text for name, text in files.items()})


def done() -> Cut:
    return cut(snapshot(FILES), manifest(MANIFEST))


def batches(name: str) -> list[str]:
    found = attribute(done()).files[f"python/pkg/{name}.py"]
    return list(dict.fromkeys(reason.batch for reason in found))


def test_a_removed_module_and_a_value_that_is_absent_account_for_what_asked_for_them() -> None:
    assert batches("models/one") == ["formats"]
    found = attribute(done()).files["python/pkg/models/one.py"]
    assert {r.rule for r in found} == {"python/pkg/awq.py", "the value 'awq' does not occur"}
    assert all(r.mark is not None and r.mark.line > 8 for r in found)


def test_a_name_that_was_derived_from_a_fact_stands_for_the_fact() -> None:
    assert set(batches("main")) == {"hip", "hands"}


def test_a_definition_that_lost_its_users_left_for_what_took_them() -> None:
    # `rarely` was used under the condition that an edit decides, `often` by a removed file
    assert set(batches("tool")) == {"hands", "formats"}


def test_a_field_that_nothing_asks_for_any_more_left_with_its_last_users() -> None:
    main = MAIN.replace("pkg.tool import rarely", "pkg.tool import rarely\nfrom pkg.env import Env")
    files = {
        "env": ENV,
        "awq": f"from pkg.env import Env\n{AWQ}BITS = Env.BITS\n",
        "main": main.replace("x = x + 1", "x = x + Env.STEP").replace("x + 2", "x + Env.MORE"),
    }
    stated = MANIFEST.replace("is_hip: false}", "is_hip: false}\n      declarations: [pkg.env.Env]")
    cutting = cut(snapshot({**FILES, **files}), manifest(stated))
    assert b"BITS" not in (left := cutting.output["python/pkg/env.py"]) and b"STEP" not in left
    causes = {one.key.name: one.causes for one in cutting.surfaces.differences}
    assert {name: [c.batch for c in some] for name, some in causes.items()} == {
        "BITS": ["formats"],
        "STEP": ["hip"],
    }
    assert all(cause.mark is not None for some in causes.values() for cause in some)


def test_every_specialized_file_is_some_batchs() -> None:
    found = reasons(done())
    for path in ("main", "models/one", "tool", "platform"):
        assert found[f"python/pkg/{path}.py"][0].batch in {"hip", "formats", "hands"}, path


def test_the_batch_of_most_lines_comes_first() -> None:
    more = {**FILES, "main": MAIN.replace("x = x + 1", "x = x + 1\n" + "        x = x * 2\n" * 9)}
    found = attribute(cut(snapshot(more), manifest(MANIFEST))).files
    assert found["python/pkg/main.py"][0].batch == "hip"


def test_lines_that_only_moved_to_another_column_did_not_leave() -> None:
    before = b"if is_hip():\n    a = 1\nelse:\n    b = 2\n    c = 3\n"
    blocks = removed_blocks(before, b"b = 2\nc = 3\n")
    assert [(b.line, b.lines, b.head) for b in blocks] == [(1, 2, ("if", "is_hip")), (3, 1, ("else",))]
    assert [b.arm for b in blocks] == [False, True]


def test_a_line_of_an_import_is_an_import_of_its_name() -> None:
    before = b"from .a import (\n    x,\n    is_hip as y,  # why\n)\nfoo(\n    x,\n    y,\n)\n"
    blocks = removed_blocks(before, b"from .a import (\n    x,\n)\nfoo(\n    x,\n)\n")
    assert [(b.imports, b.defines) for b in blocks] == [(((".a", ("is_hip",)),), ("y",)), ((), ())]


def test_an_annotation_over_several_lines_is_part_of_what_it_defines() -> None:
    (block,) = removed_blocks(b"class Fields:\n    a: A[\n        int,\n    ] = 1\n", b"class Fields:\n")
    assert block.defines == ("a",) and not block.definition


def test_a_decorator_and_the_end_of_a_signature_belong_to_their_function() -> None:
    before = b"@register(\n    'awq'\n)\n@cache\ndef f(\n    a,\n) -> int:\n    return g(a)\n\n\nx = 1\n"
    (block,) = removed_blocks(before, b"x = 1\n")
    assert block.definition and block.defines == ("f",) and block.lines == 10
    assert block.head[:2] == ("register", '"awq') and "g" not in block.head and "g" in block.body


def test_words_that_stay_in_a_changed_line_did_not_leave() -> None:
    (block,) = removed_blocks(b"if is_cuda() or is_hip():\n    x = 1\n", b"if is_cuda():\n    x = 1\n")
    assert block.head == ("or", "is_hip")


def test_a_removed_block_is_placed_in_upstreams_file_though_an_edit_moved_it() -> None:
    longer = MANIFEST.replace('by: "False"', 'by: "(False and\\n        False)"')
    done_so = cut(snapshot(FILES), manifest(longer))
    blocks = attribute(done_so).blocks["python/pkg/main.py"]
    lines = MAIN.splitlines()
    told = {lines[one.line - 1].strip(): one.reasons[0].batch for one in blocks}
    assert told["if _is_hip:"] == "hip"
    assert told["_is_hip = is_hip()"] == "hip"
    assert all(one.lines > 0 and 1 <= one.line <= len(lines) for one in blocks)
