from __future__ import annotations

from builder.native.layout import Library, libraries, units

TOP = """
cmake_minimum_required(VERSION 3.26)
include(${CMAKE_CURRENT_LIST_DIR}/cmake/extra.cmake)
set(SOURCES
    "csrc/a.cu"  # first
    csrc/b.cc
    "${repo-x_SOURCE_DIR}/csrc/c.cu"
)
list(APPEND SOURCES csrc/d.cpp)
Python_add_library(one MODULE USE_SABI ${ABI} WITH_SOABI ${SOURCES})
Python_add_library(two MODULE ${SOURCES})
if(WITH_MORE)
  file(GLOB GENERATED "${repo-x_SOURCE_DIR}/gen/*_sm90.cu")
  set(MORE csrc/e.cu ${GENERATED})
  add_library(three MODULE "${MORE}")
endif()
"""
EXTRA = """\
set(S csrc/f.cu)
add_library(zero ${S} include/h.h)
include(${CMAKE_CURRENT_LIST_DIR}/../CMakeLists.txt)
"""
FILES = {"sgl-kernel/CMakeLists.txt": TOP.encode(), "sgl-kernel/cmake/extra.cmake": EXTRA.encode()}


def test_libraries_have_their_own_and_fetched_sources_in_order() -> None:
    shared = ("sgl-kernel/csrc/a.cu", "sgl-kernel/csrc/b.cc", "repo-x:csrc/c.cu", "sgl-kernel/csrc/d.cpp")
    assert libraries(FILES) == (
        Library("zero", ("sgl-kernel/csrc/f.cu",)),
        Library("one", shared),
        Library("two", shared),
        Library("three", ("sgl-kernel/csrc/e.cu",), ("repo-x:gen/*_sm90.cu",)),
    )


def test_a_source_of_two_libraries_is_two_translation_units() -> None:
    found = units(FILES)
    assert found == {"own": 8, "fetched": 2, "libraries": 4, "patterns": 1}


def test_a_tree_without_a_project_has_no_libraries() -> None:
    assert libraries({"sgl-kernel/csrc/a.cu": b""}) == ()
