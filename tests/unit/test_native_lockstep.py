"""Removed native files take their sources, declarations and bindings along, and nothing else."""

from __future__ import annotations

from builder.native.gate import check, new
from builder.native.lockstep import Followed, follow

ROOT = "sgl-kernel"
FILES = {
    "CMakeLists.txt": """\
include(FetchContent)
FetchContent_Declare(repo-fetched)
set(SOURCES
    "csrc/a/one.cu"
    "csrc/a/two.cu"

    "csrc/b/three.cu"
    "csrc/ext.cc"
    "${repo-fetched_SOURCE_DIR}/csrc/far.cu"
)
library(ops ${SOURCES})

# the other library
include(${CMAKE_CURRENT_LIST_DIR}/cmake/other.cmake)

set(LONELY
    "csrc/lonely.cc"
    "${repo-fetched_SOURCE_DIR}/x.cu"
)
library(lonely ${LONELY})
""",
    "cmake/other.cmake": "library(other csrc/other_ext.cc)\n",
    "csrc/a/one.cu": '#include "helper.cuh"\nvoid one(int a) { shared(a); }\nvoid both() {}\n',
    "csrc/a/two.cu": '#include "helper.cuh"\ntemplate <class T>\nT two(T a) { return a; }\n',
    "csrc/a/helper.cuh": "inline void shared(int a) {}\n",
    "csrc/b/three.cu": "namespace x { void three() {} }\nvoid both() {}\n",
    "csrc/lonely.cc": "void alone() {}\n",
    "csrc/other_ext.cc": """\
#include "ops.h"
TORCH_LIBRARY_FRAGMENT(sgl_kernel, m) {
  m.def("fetched_other() -> ()");
  m.impl("fetched_other", &fetched_other);
}
""",
    "csrc/ext.cc": """\
#include "ops.h"

TORCH_LIBRARY_FRAGMENT(sgl_kernel, m) {
  /*
   * From csrc/a
   */
  m.def("one(int a) -> ()");
  m.impl("one", torch::kCUDA, &one);
  m.def("two", &two);
  m.def("both() -> ()");
  m.impl("both", &both);

  /*
   * From csrc/b
   */
  m.def(
      "three() -> ()");
  m.impl("three", torch::kCUDA, &x::three);

  m.def("far() -> ()");
  m.impl("far", &far);
}
""",
    "include/ops.h": """\
#pragma once
/*
 * From csrc/a
 */
void one(int a);
int two(int a);
void both();

namespace x {
// the third
void three();
}  // namespace x

/*
 * Fetched
 */
void far();
void fetched_other();
void never_used();
""",
}
PYTHON = {
    "python/p/use.py": """\
import torch
ops = torch.ops.sgl_kernel


def f():
    torch.ops.sgl_kernel.one(1)
    ops.far.default()
""",
}


def tree(**more: str) -> dict[str, bytes]:
    files = {f"{ROOT}/{path}": text.encode() for path, text in {**FILES, **more}.items()}
    return {**files, **{path: text.encode() for path, text in PYTHON.items()}}


def remove(*paths: str, files: dict[str, bytes] | None = None) -> tuple[dict[str, bytes], Followed]:
    """The tree after the removal, and what followed."""
    upstream = files or tree()
    gone = {f"{ROOT}/{p}": "batch-a" for p in paths}
    kept = {p: d for p, d in upstream.items() if p not in gone}
    followed = follow(kept, upstream, gone)
    after = {**kept, **followed.files}
    again = follow(after, upstream, gone)
    assert again.files == {}
    return after, followed


def test_nothing_follows_from_nothing() -> None:
    assert remove()[1] == Followed({})


def test_sources_bindings_and_declarations_leave_together() -> None:
    after, followed = remove("csrc/a/one.cu", "csrc/a/two.cu")
    assert followed.problems == ()
    assert set(followed.files) == {f"{ROOT}/{p}" for p in ("CMakeLists.txt", "csrc/ext.cc", "include/ops.h")}
    assert 'set(SOURCES\n    "csrc/b/three.cu"\n' in after[f"{ROOT}/CMakeLists.txt"].decode()
    extension = after[f"{ROOT}/csrc/ext.cc"].decode()
    assert 'm.def("one' not in extension and 'm.def("two' not in extension
    assert '   * From csrc/a\n   */\n  m.def("both() -> ()");' in extension
    assert "   */\nvoid both();" in after[f"{ROOT}/include/ops.h"].decode().replace(" */", "   */")


def test_a_function_that_is_defined_elsewhere_too_stays() -> None:
    after, _ = remove("csrc/a/one.cu")
    assert b"void both();" in after[f"{ROOT}/include/ops.h"]
    after, _ = remove("csrc/a/one.cu", "csrc/b/three.cu")
    assert b"both" not in after[f"{ROOT}/include/ops.h"] and b'"both' not in after[f"{ROOT}/csrc/ext.cc"]


def test_an_emptied_namespace_and_its_heading_leave() -> None:
    after, followed = remove("csrc/b/three.cu")
    header = after[f"{ROOT}/include/ops.h"].decode()
    assert "namespace" not in header and "the third" not in header and "\n\n\n" not in header
    assert "From csrc/b" in after[f"{ROOT}/csrc/ext.cc"].decode()  # it heads `far`, too
    assert {(c.what, c.batch) for c in followed.consequences} >= {
        ("declaration", "batch-a"),
        ("source", "batch-a"),
    }


def test_declarations_of_fetched_functions_leave_with_their_last_binding() -> None:
    after, followed = remove("csrc/other_ext.cc", "cmake/other.cmake")
    assert followed.problems == ()
    header = after[f"{ROOT}/include/ops.h"]
    assert b"fetched_other" not in header and b"void far();" in header and b"never_used" in header
    assert b"other" not in after[f"{ROOT}/CMakeLists.txt"]


def test_a_list_without_sources_of_its_own_is_reported_not_guessed() -> None:
    _, followed = remove("csrc/lonely.cc")
    [problem] = followed.problems
    assert problem.code == "R008" and "set(LONELY" in problem.message and "csrc/lonely.cc" in problem.message
    assert problem.upstream is not None and problem.upstream.line == 16
    assert "line 20" in (problem.hint or "")


def test_a_use_that_is_left_is_reported_and_the_declaration_stays() -> None:
    files = tree(**{"csrc/b/three.cu": "void one(int);\nvoid three() {\n  one(1);\n}\nvoid both() {}\n"})
    after, followed = remove("csrc/a/one.cu", files=files)
    [problem] = followed.problems
    assert problem.code == "R008" and "`one`" in problem.message
    assert problem.upstream is not None and str(problem.upstream) == f"{ROOT}/csrc/b/three.cu:3"
    assert b"void one(int a);" in after[f"{ROOT}/include/ops.h"]


def test_an_include_of_a_removed_header_is_reported() -> None:
    _, followed = remove("csrc/a/helper.cuh")
    assert [str(p.upstream) for p in followed.problems] == [
        f"{ROOT}/csrc/a/one.cu:1",
        f"{ROOT}/csrc/a/two.cu:1",
    ]


def test_the_gate_finds_nothing_new_after_the_lockstep_but_python_uses() -> None:
    before = check(tree())
    after, _ = remove("csrc/b/three.cu")
    assert new(check(after), before) == []
    after, _ = remove("csrc/a/one.cu")
    [problem] = new(check(after), before)
    assert problem.code == "G011" and str(problem.upstream) == "python/p/use.py:6"
    assert "torch.ops.sgl_kernel.one" in problem.message


def test_the_gate_sees_each_side_missing() -> None:
    before = check(tree())

    def found(path: str, old: str, to: str) -> set[str]:
        files = tree()
        text = files[f"{ROOT}/{path}"].decode()
        assert old in text
        files[f"{ROOT}/{path}"] = text.replace(old, to).encode()
        known = {f.key for f in before}
        return {f"{f.kind} {f.name}" for f in check(files) if f.key not in known}

    assert found("CMakeLists.txt", "csrc/a/one.cu", "csrc/a/none.cu") == {
        f"source {ROOT}/csrc/a/none.cu",
        "undelivered one",
    }
    assert found("CMakeLists.txt", "FetchContent_Declare(repo-fetched)", "") == {"fetched repo-fetched"}
    assert found("csrc/ext.cc", 'm.def("far() -> ()");', "") == {"undefined far", "operator far"}
    assert found("csrc/ext.cc", 'm.impl("far", &far);', "") == {"unbound far"}
    assert found("include/ops.h", "void far();", "") == {"undeclared far"}
    assert found("csrc/a/one.cu", "helper.cuh", "helped.cuh") == {"include helped.cuh"}
    assert found("cmake/other.cmake", "csrc/other_ext.cc", "csrc/no.cc") == {f"source {ROOT}/csrc/no.cc"}


def test_files_that_cmake_finds_by_pattern_are_compiled() -> None:
    files = tree(**{"csrc/cpu/CMakeLists.txt": 'file(GLOB_RECURSE S "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")\n'})
    files[f"{ROOT}/csrc/cpu/deep/x.cpp"] = (
        b'void cpu() {}\nTORCH_LIBRARY_IMPL(sgl_kernel, CPU, m) { m.impl("far", &cpu); }\n'
    )
    assert "cpu" not in {f.name for f in check(files)}
    del files[f"{ROOT}/csrc/cpu/CMakeLists.txt"]
    assert "cpu" in {f.name for f in check(files) if f.kind == "undelivered"}
