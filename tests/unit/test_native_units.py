from __future__ import annotations

from builder.native.units import Library, libraries, units

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
FILES = {"k/CMakeLists.txt": TOP.encode(), "k/cmake/extra.cmake": EXTRA.encode()}


def test_libraries_have_their_own_and_fetched_sources_in_order() -> None:
    shared = ("k/csrc/a.cu", "k/csrc/b.cc", "repo-x:csrc/c.cu", "k/csrc/d.cpp")
    assert libraries(FILES, "k") == (
        Library("zero", ("k/csrc/f.cu",)),
        Library("one", shared),
        Library("two", shared),
        Library("three", ("k/csrc/e.cu",), ("repo-x:gen/*_sm90.cu",)),
    )


def test_a_source_of_two_libraries_is_two_translation_units() -> None:
    found = units(FILES, "k")
    assert (found.own, found.fetched, found.libraries) == (8, 2, 4)
    assert found.unknown == ("repo-x:gen/*_sm90.cu",)


def test_a_tree_without_a_project_has_no_libraries() -> None:
    assert libraries({"k/csrc/a.cu": b""}, "k") == ()
