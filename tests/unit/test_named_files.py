"""Files that are opened only by their names stay with whoever names them."""

from __future__ import annotations

import pytest
from test_reached import done, left, stated, upstream, why

from builder.pipeline.named_files import unused_named_files

REST = "named_files: [python/pkg/csrc/]\nbatches: []\n"
SOURCES = {
    "csrc/topk.cuh": '#include "common.cuh"\n',
    "csrc/deep/topk_64.cuh": "",
    "csrc/common.cuh": "",
    "csrc/other.cuh": "",
    "csrc/other.h": "",
    "csrc/README": "",
}


def gone(main: str) -> set[str]:
    files = {**SOURCES, "main.py": f"from pkg.models.registry import load\n{main}"}
    return {path.removeprefix("csrc/") for path in left(done(files, REST)) if path.startswith("csrc/")}


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("FILES = ['topk.cuh']\n", {"deep/topk_64.cuh", "other.cuh", "other.h"}),
        ("FILES = [f'deep/topk_{size}.cuh']\n", {"topk.cuh", "common.cuh", "other.cuh", "other.h"}),
        ("FILES = ['deep/topk_%d.cuh' % 64]\n", {"topk.cuh", "common.cuh", "other.cuh", "other.h"}),
        ("FILES = [name + '.cuh']\n", {"other.h"}),
        ("FILES = list(FOLDER.glob('*.h'))\n", {"topk.cuh", "deep/topk_64.cuh", "common.cuh", "other.cuh"}),
        ("FILES = []\n", {"topk.cuh", "deep/topk_64.cuh", "common.cuh", "other.cuh", "other.h"}),
    ],
)
def test_a_source_stays_where_python_or_a_source_that_stays_has_its_name(
    main: str, expected: set[str]
) -> None:
    assert gone(main) == expected


def test_a_source_that_only_removed_python_names_leaves_and_says_why() -> None:
    files = {**SOURCES, "idle.py": "FILES = ['topk.cuh']\n"}
    found = done(files, REST)
    assert {"idle.py", "csrc/topk.cuh"} <= left(found)
    assert why(found, "csrc/topk.cuh") == ("base", "nothing that stays names it")


def test_files_that_no_statement_is_about_follow_the_modules_beside_them() -> None:
    assert not any(path.startswith("csrc/") for path in left(done(SOURCES)))


def test_a_statement_about_named_files_that_matches_nothing_is_a_mistake() -> None:
    files = upstream({"__init__.py": ""})
    (problem,) = unused_named_files(files, stated(REST))
    assert (problem.code, problem.nothing) == ("R009", True)
    assert "named_files: python/pkg/csrc/" in problem.message
