"""Files in another encoding than UTF-8 are edited like others, and keep it."""

from __future__ import annotations

import ast

import pytest

from builder.source.encoding import declared, decoded, encoded, encoding_line
from builder.source.ops import Remove, Replace
from builder.source.parse import Module, parse
from builder.source.splice import splice
from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.program import Policy, Program
from builder.specialize.session import specialize

FACTS = Facts(
    predicates={"plat.is_hip": KnownValue(False), "plat.word": KnownValue("né €")},
    quiet_imports=frozenset(["plat"]),
)


def cut(data: bytes) -> tuple[bytes, list[str]]:
    program = Program({"pkg/mod.py": data}, {"pkg/mod.py": data}, {"pkg/mod.py": "pkg.mod"})
    result = specialize(program, Policy(FACTS))
    return result.files.get("pkg/mod.py", data), [m.sentence for m in result.mismatches]


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("# -*- coding: latin-1 -*-\n", "iso8859-1"),
        ("#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\n", "cp1252"),
        ("\n# coding: Latin-1-unix\r\n", "iso8859-1"),
        ("\x0c # coding=koi8_r\n", "koi8-r"),
        ("# coding: utf-8\n", None),
        ("# coding: UTF_8-dos\n", None),
        ("# coding: utf8\n", None),
        ("x = 1\n# coding: latin-1\n", None),
        ("\n\n# coding: latin-1\n", None),
        ("x = 1  # coding: latin-1\n", None),
        ("", None),
    ],
)
def test_the_encoding_is_the_one_that_python_reads(head: str, codec: str | None) -> None:
    assert declared(head.encode()) == codec


def test_an_encoding_that_does_not_exist_is_a_syntax_error() -> None:
    for data in (b"# coding: martian\n", b"# coding: rot13\n", b"# coding: cp1252\nx = '\x81'\n"):
        with pytest.raises(SyntaxError):
            decoded(data)
        with pytest.raises(SyntaxError):
            parse(data, "a.py")


@pytest.mark.parametrize("codec", ["latin-1", "cp1252", "koi8-r", "shift_jis", "gbk"])
def test_text_behind_letters_of_any_width_is_edited_where_it_stands(codec: str) -> None:
    word = {"koi8-r": "жук", "shift_jis": "語ソ表", "gbk": "漢字"}.get(codec, "é\xa0è")
    head = f"# coding: {codec}\n"
    text = f'{head}from plat import is_hip\ns = "{word}"; t = 1 if is_hip() else "{word}"; u = 3\n'
    wanted = f'{head}s = "{word}"\nt = "{word}"\nu = 3\n'
    assert cut(text.encode(codec)) == (wanted.encode(codec), [])


def test_operations_on_a_file_in_another_encoding_keep_every_other_byte() -> None:
    data = b"# coding: latin-1\nx = '\xe9'  # \xe8\r\ny = f('\xfc', 1)\n"
    module = Module("a.py", data)
    call = module.tree.body[1]
    assert isinstance(call, ast.Assign)
    assert splice(module, [Remove(module.tree.body[0])]) == b"# coding: latin-1\ny = f('\xfc', 1)\n"
    assert splice(module, [Replace(call.value, "'\xdf'")]) == data.replace(b"f('\xfc', 1)", b"'\xdf'")


def test_a_letter_that_the_encoding_lacks_is_written_as_an_escape() -> None:
    data = b'# coding: latin-1\nfrom plat import word\nx = "\xe9" + word()\n'
    assert cut(data) == (b'# coding: latin-1\nx = "\xe9" + "n\xe9 \\u20ac"\n', [])
    with pytest.raises(ValueError, match="lacks a letter"):
        encoded("# coding: utf-8\nжук = 1\n".encode(), b"# coding: latin-1\n")


def test_the_comment_that_names_the_encoding_stays_above_what_leaves() -> None:
    data = b"#!/bin/python\n# coding: latin-1\n# the platform\nfrom plat import is_hip\nx = 4, is_hip()\n"
    assert cut(data) == (b"#!/bin/python\n# coding: latin-1\n# the platform\nx = 4, False\n", [])
    data = b"# coding: latin-1\n# the platform\nfrom plat import is_hip\n\nx = 4, is_hip()\n"
    assert cut(data) == (b"# coding: latin-1\nx = 4, False\n", [])
    with pytest.raises(ValueError, match="names the encoding"):
        encoded(b"x = 1\n", b"# coding: latin-1\nx = 1\n")


def test_an_encoding_with_two_ways_to_write_a_letter_is_left_alone_or_told() -> None:
    data = b"# coding: utf-7\nx = '+AOk-', '+AEE-'\n"
    assert cut(data) == (data, [])
    asks = b"# coding: utf-7\nfrom plat import is_hip\nx = '+AEE-', is_hip()\n"
    after, mismatches = cut(asks)
    assert after == asks
    assert mismatches == ["the edits cannot be written: utf-7 has other bytes for the same text"]


def test_the_line_that_names_the_encoding() -> None:
    assert encoding_line(b"# coding: x\n") == 0
    assert encoding_line(b"\n# coding: x") == 1
    assert encoding_line(b"x\n# coding: x") is None
