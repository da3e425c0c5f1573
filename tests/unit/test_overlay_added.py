"""Imports that the manifest adds stand behind the module's own."""

from __future__ import annotations

import ast

import pytest

from builder.errors import Mark
from builder.manifest.statements import Edit
from builder.overlay.locate import Target
from builder.overlay.record import Edited
from builder.overlay.structural import edit

HERE = Mark("manifest.yaml", 3)


def add(source: bytes, *names: str, path: tuple[str, ...] = ()) -> Edited:
    target = Target("a.py", "pkg.a", path)
    edits = [(Edit("add-import", "pkg.a", "b", "because", name, mark=HERE), target) for name in names]
    return edit("a.py", source, edits, {})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"import os\n\nx = f\n", b"import os\nfrom pkg.m import f\n\nx = f\n"),
        (b'"""Doc\nstring."""\nx = f\n', b'"""Doc\nstring."""\nfrom pkg.m import f\nx = f\n'),
        (
            b"from a import (\n    b,\n)\nf\nimport c\n",
            b"from a import (\n    b,\n)\nfrom pkg.m import f\nf\nimport c\n",
        ),
        (b"x = f\n", b"from pkg.m import f\nx = f\n"),
        (b"f\nimport os", b"from pkg.m import f\nf\nimport os"),
        (b"import os\r\nx = f\r\n", b"import os\r\nfrom pkg.m import f\r\nx = f\r\n"),
        (b"if f:\n    import b\n", b"from pkg.m import f\nif f:\n    import b\n"),
        (b"f", b"from pkg.m import f\nf"),
    ],
)  # fmt: skip
def test_the_line_stands_behind_the_imports_of_the_head(source: bytes, expected: bytes) -> None:
    data, problems, records = add(source, "pkg.m.f")
    assert (data, problems) == (expected, [])
    assert [(r.kind, r.batch, r.before) for r in records] == [("add-import", "b", None)]
    ast.parse(data)


def test_several_stand_in_the_order_of_the_manifest() -> None:
    data = add(b"import os\na(b)\n", "m.b", "m.a")[0]
    assert data == b"import os\nfrom m import b\nfrom m import a\na(b)\n"


def test_a_name_that_is_imported_already_is_a_problem() -> None:
    data, (problem,), records = add(b"from x import f\n", "pkg.m.f")
    assert (data, records) == (b"from x import f\n", [])
    assert problem.code == "R004"
    assert problem.message == "a.py already imports `f`."
    assert add(b"import os\nf()\n", "m.f", "n.f")[1][0].code == "R004"


def test_a_name_that_nothing_uses_is_not_imported() -> None:
    data, (problem,), records = add(b"import os\nfor_f = 1\n", "pkg.m.f")
    assert (data, records, problem.nothing) == (b"import os\nfor_f = 1\n", [], True)
    assert problem.message == "Nothing in a.py uses `f`, so its import is not added."


def test_a_function_takes_no_imports() -> None:
    data, (problem,), _ = add(b"def f(): ...\n", "m.g", path=("f",))
    assert (data, problem.code, problem.mark) == (b"def f(): ...\n", "R005", HERE)


def test_a_module_that_is_not_there_is_nothing_and_a_class_is_a_mistake() -> None:
    (missing,) = add(b"class A: ...\n", "pkg.m.f", path=("part", "module"))[1]
    (wrong,) = add(b"class A: ...\n", "pkg.m.f", path=("A",))[1]
    assert missing.code == wrong.code == "R005"
    assert missing.nothing and not wrong.nothing
