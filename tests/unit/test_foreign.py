"""`report --foreign`: what stays under the names of models that left."""

from __future__ import annotations

import pytest
from small_files import FILES
from small_world import World, commit_files

from builder.pipeline.answers.traces import imported

HEAD = "| family | files | lines | files that stay | lines that stay | largest | needed by |"
MODEL = b"from acme.words import NextMask\n\n\nclass Deep:\n    pass\n\n\nEntryClass = Deep\n"


def table_of(world: World, files: dict[str, str]) -> list[str]:
    more = {f"python/acme/{path}": text.encode() for path, text in files.items()}
    commit_files(world.repository, {**FILES, **more}, "refs/heads/more")
    head, _, *rows = world.good("report", "--foreign", "more").stdout.splitlines()
    assert head == HEAD
    return rows


def test_files_that_are_named_after_a_model_that_left_are_listed_with_what_needs_them(world: World) -> None:
    rows = table_of(
        world,
        {
            "layers/other2_pool.py": "ONE = 1\nTWO = 2\n",
            "layers/another.py": "from acme.layers import other2_pool\n",
            "models/other2_moe.py": "class OtherMoe:\n    pass\n\n\nEntryClass = OtherMoe\n",
        },
    )
    pool = "python/acme/layers/other2_pool.py"
    assert rows[0].startswith("| other |") and rows[0].split(" | ")[3:5] == ["1", "2"] and pool in rows[0]
    assert len(rows) == 2 and rows[1].startswith("| all |") and rows[1].split(" | ")[3:5] == ["1", "2"]


def test_a_word_that_a_model_that_stays_imports_is_no_family(world: World) -> None:
    files = {
        "words.py": "class NextMask:\n    pass\n",
        "models/deep.py": MODEL.decode(),
        "models/mask.py": "class MaskModel:\n    pass\n\n\nEntryClass = MaskModel\n",
        "models/deep3.py": "class Deep3Model:\n    pass\n\n\nEntryClass = Deep3Model\n",
        "layers/mask.py": "ONE = 1\n",
        "layers/deep.py": "ONE = 1\n",
        "layers/deep3.py": "ONE = 1\n",
    }
    assert table_of(world, files)[-1].startswith("| all | 0 |")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (b"import torch.nn as nn\n", ["torch.nn"]),
        (b"from a.b import C as D\n", ["C"]),
        (b"from .near import C\n", []),
    ],
)
def test_what_a_file_imports_from_outside_of_its_package(source: bytes, names: list[str]) -> None:
    assert list(imported(source)) == names
