"""Anchored edits of C++ and CMake."""

from __future__ import annotations

import pytest

from builder.errors import Mark
from builder.manifest.statements import AnchoredEdit
from builder.overlay.anchored import edit

CPP = """\
/* License
   text */
#include "ops.h"

LIB(x, m) {
  /*
   * From one
   */
  m.def("one(Tensor a, "
        "Tensor b) -> ()");  // the first; really
  m.impl("one", kCUDA, &one);

  // m.def("two(") is below; see m.impl("two")
  m.def("two(Tensor a) -> ()");
  m.impl("two", kCUDA, &two);

  /*
   * From three
   */
  m.def("three", [](int a) { return a; });
  const char* s = "m.def(three)";
  if (x) m.def("four");
}

#ifdef USE_A
int a();
#else
int b();
#endif
"""

CMAKE = """\
project(x)

# about fa
option(ENABLE_FA "FA" ON)

# about both
set(A 1)  # trailing
set(B 2)

set(SOURCES
    "a.cu"
    # about b and c
    "b.cu"
    "c.cu"

    "${fa_SOURCE_DIR}/d.cu"
)

if (ENABLE_FA AND NOT X)
    set(C "if (ENABLE_FA)")
    if (Y)
        set(D 1)
    endif()
elseif (Z)
    set(E 1)
else()
    set(F 1)
    foo(
        G)
endif()
"""


def anchored(kind: str, anchor: str, **more: object) -> AnchoredEdit:
    return AnchoredEdit("f", kind, anchor, "b", "why", mark=Mark("manifest.yaml", 8, 1), **more)  # type: ignore[arg-type]


def after(path: str, source: str, *edits: AnchoredEdit) -> str:
    data, problems, records = edit(path, source.encode(), edits)
    assert [p.message for p in problems] == []
    assert len(records) == sum(e.count for e in edits)
    return data.decode()


def cpp(*edits: AnchoredEdit) -> str:
    return after("x.cc", CPP, *edits)


def cmake(*edits: AnchoredEdit) -> str:
    return after("CMakeLists.txt", CMAKE, *edits)


def without(source: str, first: str, last: str) -> str:
    """The source without the lines from the one that holds `first` to the one that holds `last`."""
    lines = source.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if first in line)
    stop = next(i for i, line in enumerate(lines) if i >= start and last in line)
    return "".join(lines[:start] + lines[stop + 1 :])


def test_a_statement_leaves_to_its_semicolon_whatever_its_strings_hold() -> None:
    assert cpp(anchored("statement", 'm.def("one(')) == without(CPP, 'm.def("one(', '"Tensor b')


def test_a_heading_leaves_when_all_that_it_heads_has_left() -> None:
    text = cpp(anchored("statement", 'm.def( "one('), anchored("statement", 'm.impl("one"'))
    assert "From one" in text  # it heads the second operator, too
    more = cpp(
        *(anchored("statement", f'm.{verb}("{name}') for name in ("one", "two") for verb in ("def", "impl"))
    )
    assert more == without(CPP, "  /*\n", "&two);").replace("{\n\n", "{\n")
    assert "From three" in more and "License" in more


def test_a_comment_heads_its_paragraph_only() -> None:
    text = cpp(anchored("statement", 'm.def("two('))
    assert "is below" in text
    text = cpp(anchored("statement", 'm.def("two('), anchored("statement", 'm.impl("two"'))
    assert "is below" not in text and "\n\n\n" not in text


def test_comments_strings_and_parts_of_statements_do_not_match() -> None:
    _, problems, _ = edit("x.cc", CPP.encode(), [anchored("statement", 'm.def("four"')])
    assert [p.code for p in problems] == ["R004"] and "but not as a statement" in (problems[0].hint or "")
    assert 'm.def("three"' not in cpp(anchored("statement", 'm.def("three"'))
    _, problems, _ = edit("x.cc", CPP.encode(), [anchored("statement", "m.def(")])
    assert "states 1 and matches 3" in problems[0].message and "x.cc:9" in problems[0].message


def test_words_match_whole() -> None:
    source = "int foo_bar();\nint foo ();\n"
    assert after("x.h", source, anchored("statement", "int foo")) == "int foo_bar();\n"


def test_definitions_end_at_their_brace_and_types_at_their_semicolon() -> None:
    function = 'void f() {\n  if (a) { b(); } else { c(";}"); }\n}\n\n'
    source = function + "struct S {\n  int x;\n} s;\nint y = {1}, z;\nint k;\n"
    assert after("x.h", source, anchored("statement", "void f(")).startswith("struct S {")
    assert after("x.h", source, anchored("statement", "struct S")).endswith("}\n\nint y = {1}, z;\nint k;\n")
    assert after("x.h", source, anchored("statement", "int y")).endswith("} s;\nint k;\n")


def test_raw_strings_char_literals_and_separators_are_understood() -> None:
    source = 'auto r = R"x(f(); " )x";\nint n = 1\'000;\nchar c = \'"\';\nf();\n'
    data, problems, _ = edit("x.cu", source.encode(), [anchored("statement", "f()")])
    assert problems == [] and data.decode() == source[: source.rindex("f();")]


def test_an_arm_of_the_preprocessor_leaves_and_the_others_stay() -> None:
    assert cpp(anchored("block", "USE_A")).endswith("}\n\nint b();\n")
    source = "#if A\nint a;\n#elif defined(B) && \\\n    C\nint b;\n#else\nint c;\n#endif\n"
    assert after("x.h", source, anchored("block", "#if A")) == source[len("#if A\nint a;\n") :].replace(
        "#elif", "#if"
    )
    assert (
        after("x.h", source, anchored("block", "defined(B) && C")) == "#if A\nint a;\n#else\nint c;\n#endif\n"
    )
    assert after("x.h", "#ifdef A\nint a;\n#endif\nint b;\n", anchored("block", "ifdef A")) == "int b;\n"


def test_a_negated_condition_is_another_condition() -> None:
    _, problems, _ = edit("x.h", b"#ifndef A\nint a;\n#endif\n", [anchored("block", "A")])
    assert [p.code for p in problems] == ["R004"]


def test_commands_leave_with_the_comment_above() -> None:
    assert cmake(anchored("command", "option(ENABLE_FA")) == CMAKE.replace(
        '# about fa\noption(ENABLE_FA "FA" ON)\n\n', ""
    )
    assert cmake(anchored("command", "SET( A")) == CMAKE.replace("set(A 1)  # trailing\n", "")
    both = cmake(anchored("command", "set(A"), anchored("command", "set(B"))
    assert both == CMAKE.replace("# about both\nset(A 1)  # trailing\nset(B 2)\n\n", "")


def test_arguments_leave_with_their_line_and_their_blank_lines() -> None:
    assert cmake(anchored("argument", "${fa_SOURCE_DIR}/d.cu")) == CMAKE.replace(
        '\n    "${fa_SOURCE_DIR}/d.cu"\n', ""
    )
    assert cmake(anchored("argument", '"b.cu"')) == CMAKE.replace('    "b.cu"\n', "")
    text = cmake(anchored("argument", "b.cu"), anchored("argument", "c.cu"))
    assert text == CMAKE.replace('    # about b and c\n    "b.cu"\n    "c.cu"\n', "")
    assert after("x.cmake", "set(X a b c)\n", anchored("argument", "b")) == "set(X a c)\n"
    assert after("x.cmake", "set(X a b c)\n", anchored("argument", "c")) == "set(X a b)\n"


def test_arms_of_an_if_leave_and_the_others_take_their_place() -> None:
    first = cmake(anchored("block", "ENABLE_FA AND NOT X"))
    assert first.endswith(")\n\nif (Z)\n    set(E 1)\nelse()\n    set(F 1)\n    foo(\n        G)\nendif()\n")
    both = cmake(anchored("block", "ENABLE_FA AND NOT X"), anchored("block", "Z"))
    assert both.endswith(")\n\nset(F 1)\nfoo(\n    G)\n")
    assert "if (Y)" not in cmake(anchored("block", "Y"))


def test_an_anchor_may_reach_into_the_block_to_tell_two_apart() -> None:
    source = "if(A)\n  set(X 1)\nendif()\nif (A) # again\n  set(Y 1)\nendif()\n"
    assert (
        after("CMakeLists.txt", source, anchored("block", "if (A) set(Y")) == source[: source.index("if (A)")]
    )
    _, problems, _ = edit("CMakeLists.txt", source.encode(), [anchored("block", "A")])
    assert "states 1 and matches 2: CMakeLists.txt:1, CMakeLists.txt:4" in problems[0].message
    assert after("CMakeLists.txt", source, anchored("block", "A", count=2)) == ""


def test_text_is_replaced_exactly_wherever_it_stands() -> None:
    assert cmake(anchored("replace", "# about fa", by="# ünder")) == CMAKE.replace("# about fa", "# ünder")
    crlf = CMAKE.replace("\n", "\r\n")
    data, problems, _ = edit(
        "CMakeLists.txt", crlf.encode(), [anchored("replace", "set(B 2)\n\nset", by="x()\nset")]
    )
    assert problems == [] and data.decode() == crlf.replace("set(B 2)\r\n\r\nset", "x()\r\nset")


def test_bytes_that_are_not_utf8_stay() -> None:
    source = b"// \xff\xe4\nint a;\nint b;\n"
    assert edit("x.h", source, [anchored("statement", "int b")])[0] == b"// \xff\xe4\nint a;\n"


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("x.cc", anchored("command", "a")),
        ("x.cmake", anchored("statement", "a")),
        ("x.py", anchored("block", "a")),
        ("x.cc", anchored("statement", " ")),
    ],
)
def test_an_edit_that_does_not_fit_its_file_is_a_manifest_error(path: str, item: AnchoredEdit) -> None:
    data, problems, _ = edit(path, b"a(b);\n", [item])
    assert data == b"a(b);\n" and [p.code for p in problems] == ["M011"]


def test_optional_edits_tolerate_absence_only() -> None:
    assert edit("x.cmake", b"a()\n", [anchored("command", "b", optional="old")])[1] == []
    assert edit("x.cmake", b"b()\nb()\n", [anchored("command", "b", optional="old")])[1] != []
