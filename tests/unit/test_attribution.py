"""Whose doing it is that a file was specialized: the blocks that left, and what accounts for them."""

from __future__ import annotations

from test_cut_pages import stated, upstream
from yaml_cases import load

from builder.pipeline.attribution import attribute
from builder.pipeline.cut import cut
from builder.pipeline.removed_blocks import removed_blocks


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
    longer = "(False and\n        False)"
    case = {"page": load("cuts/attribution.yaml")}
    batches = [*case["page"]["manifest"]["batches"][:2], {"id": "hands", "why": "w"}]
    batches[2]["edits"] = [{"replace": "wants(x)", "by": longer, "in": "pkg.main.run"}]
    done = cut(upstream(case), stated({**case, "manifest": {"batches": batches}}))
    blocks = attribute(done).blocks["python/pkg/main.py"]
    lines = case["page"]["around"]["main.py"].splitlines()
    told = {lines[one.line - 1].strip(): one.reasons[0].batch for one in blocks}
    assert told["if _is_hip:"] == "hip"
    assert told["_is_hip = is_hip()"] == "hip"
    assert all(one.lines > 0 and 1 <= one.line <= len(lines) for one in blocks)
