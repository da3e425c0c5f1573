"""What the scanners see in C++ and CMake, and that cutting leaves no traces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.native import cmake, cpp
from builder.native.layout import Library, libraries, units
from builder.native.symbols import bindings, defined, symbols
from builder.native.text import TextEdit, apply

SOURCE = r"""
#include <x>
#define DECLARE(name) void name() {
namespace outer { namespace inner {
template <typename T, int N = (1 > 0)>
__global__ void __launch_bounds__(N * 32) kernel(T* a, int n = f(1)) { if (a) { g("}"); } }
static inline std::vector<at::Tensor>
two(const at::Tensor& t);
struct S : Base { void method() { h(); } int x = 1; };
enum class E { A, B };
using fn = void (*)(int);
typedef void (*old)(int);
int table[] = {call(1), 2};
auto lambda = [](int a) { return a; };
bool operator==(const S& a, const S& b) { return true; }
S::S(int a) : x(a), y{2} { z(); }
#ifdef A
void arm(int a) {
#else
void arm(long a) {
#endif
  body();
}
}}  // namespace outer
extern "C" {
void c_function() {}
}
void after(int a) noexcept(true) { kernel<<<dim3(1), 2>>>(a); }
/* void comment() {} */
const char* s = "void string() {}";
LIBRARY(x, m) { m.def("a"); }
"""


def test_functions_are_defined_at_namespace_level_only() -> None:
    names = {"kernel", "operator==", "S", "arm", "c_function", "after", "LIBRARY"}
    assert defined(SOURCE) >= names
    assert not defined(SOURCE) & {"method", "g", "h", "z", "call", "comment", "string", "two", "f", "lambda"}


def test_declarations_span_from_their_first_word_to_their_semicolon() -> None:
    [two] = [f for f in symbols(SOURCE).functions if not f.defined]
    assert two.name == "two"
    assert SOURCE[two.start : two.end] == "static inline std::vector<at::Tensor>\ntwo(const at::Tensor& t);"


def test_bindings_know_their_operator_and_their_function() -> None:
    text = """
TORCH_LIBRARY_FRAGMENT(lib, m) {
  m.def("a(Tensor x, "  // note
        "int y) -> ()");
  m.impl("a", torch::kCUDA, &ns::run_a);
  m.def("b", &run_b);
  m.impl("lib::c", shim(&run_c));
  // m.impl("d", &run_d);
  other.def("e");
}
m.def("outside");
"""
    assert [(b.verb, b.operator, b.function) for b in bindings(text)] == [
        ("def", "a", None),
        ("impl", "a", "run_a"),
        ("def", "b", "run_b"),
        ("impl", "c", "run_c"),
    ]
    assert text[bindings(text)[0].start : bindings(text)[0].end].endswith('"int y) -> ()");')


@pytest.mark.parametrize(
    "text", ["", "(", '"', "'", "/*", 'R"(', "#if A", "#endif", "}}}", "void f() {", "f(", "\\", "#"]
)
def test_torn_texts_are_scanned_without_errors(text: str) -> None:
    for function in (cpp.scan, symbols, bindings, cmake.scan):
        function(text)  # type: ignore[operator]
    assert cmake.scan(text).blocks() == []


def test_cmake_arguments_comments_and_strings() -> None:
    text = '# set(A)\n#[[ set(B)\n]] SET(C "x # y" [[a)]] b\\ c (d OR e)) # set(D)\nset(${x} $<$<A:B>:c>)\n'
    first, second = cmake.scan(text).commands
    assert first.name == "set"
    assert [a.value for a in first.arguments] == ["C", "x # y", "a)", "b\\ c", "(", "d", "OR", "e", ")"]
    assert [a.value for a in second.arguments] == ["${x}", "$<$<A:B>:c>"]


LINES = st.lists(
    st.sampled_from(
        [
            "f(1);\n",
            "// note\n",
            "\n",
            "{\n",
            "}\n",
            "/* a\n b */\n",
            "g(\n  2);\n",
            "h(); // t\n",
            "k(); i();\n",
        ]
    ),
    max_size=14,
)


@given(LINES, st.data())
def test_cuts_remove_exactly_the_code_that_they_name(lines: list[str], data: st.DataObject) -> None:
    text = "".join(lines)
    scanned = cpp.scan(text)
    calls = [m.span() for name in "fghki" for m in cpp.pattern(f"{name}(").finditer(scanned.bare)]
    spans = [s for start, _ in calls if (s := cpp.statement(scanned, start))]
    gone = data.draw(st.lists(st.sampled_from(spans), unique=True)) if spans else []
    out = apply(scanned, [TextEdit(*span) for span in gone])
    left = "".join(c for at, c in enumerate(scanned.bare) if not any(a <= at < b for a, b in gone))
    assert cpp.scan(out).bare.split() == left.split()
    if not gone:
        assert out == text
    runs = max((len(r) for r in _blank_runs(out)), default=0)
    assert runs <= max((len(r) for r in _blank_runs(text)), default=0) or runs <= 1


def _blank_runs(text: str) -> list[str]:
    import re

    return re.findall(r"(?<=\n)\n+", "\n" + text)


def test_two_cuts_that_overlap_are_a_mistake_of_the_builder() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply(cpp.scan("abcdef"), [TextEdit(0, 3), TextEdit(2, 5)])


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
