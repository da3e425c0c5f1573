"""Structural edits: what they match, what they say when they do not, and the text they leave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.errors import Mark
from builder.manifest.statements import Edit, Rule
from builder.overlay.locate import resolve
from builder.overlay.record import Edited
from builder.overlay.structural import edit as carry
from builder.overlay.structural import sort

PACKAGES = {"pkg": "python/pkg", "other": "lib/other"}
FILE = "python/pkg/mod.py"


def edit(kind: str, target: str, **more: object) -> Edit:
    base = Edit(
        "drop",
        f"pkg.mod{'.' if target else ''}{target}",
        "batch-a",
        "because",
        mark=Mark("manifest.yaml", 7, 3),
    )
    return replace(base, kind=kind, **more)  # type: ignore[arg-type]


def carry_out(source: str, *edits: Edit, overlays: dict[str, bytes] | None = None) -> tuple[str, Edited]:
    by_file, problems = sort(edits, PACKAGES, {FILE: b""})
    assert not problems
    result = carry(FILE, source.encode(), by_file.get(FILE, ()), overlays or {})
    return result.data.decode(), result


def after(source: str, *edits: Edit, overlays: dict[str, bytes] | None = None) -> str:
    text, result = carry_out(source, *edits, overlays=overlays)
    assert [p.message for p in result.problems] == []
    return text


def problems(source: str, *edits: Edit, overlays: dict[str, bytes] | None = None) -> list[tuple[str, str]]:
    text, result = carry_out(source, *edits, overlays=overlays)
    assert result.problems
    assert text == source
    return [(p.code, p.message) for p in result.problems]


def test_a_name_resolves_to_its_longest_module() -> None:
    files = {"python/pkg/__init__.py", "python/pkg/a.py", "python/pkg/a/b.py", "lib/other/__init__.py"}
    target = resolve("pkg.a.b.C.m:x", PACKAGES, files)
    assert target is not None
    assert (target.file, target.module, target.path, target.parameter) == (
        "python/pkg/a/b.py",
        "pkg.a.b",
        ("C", "m"),
        "x",
    )
    above = resolve("pkg.a.C", PACKAGES, files)
    assert above is not None and (above.file, above.path) == ("python/pkg/a.py", ("C",))
    package = resolve("other.name", PACKAGES, files)
    assert package is not None and package.file == "lib/other/__init__.py"
    assert resolve("elsewhere.name", PACKAGES, files) is None


def test_a_method_in_both_arms_of_an_if_is_two_places() -> None:
    arm = "    class C:\n        def f(self): return 1\n        y = 0\n"
    source = f"if x:\n{arm}else:\n{arm}"
    text = after(source, edit("drop", "C.f", count=2))
    assert text == "if x:\n    class C:\n        y = 0\nelse:\n    class C:\n        y = 0\n"
    [(code, message)] = problems(source, edit("drop", "C.f"))
    assert code == "R004"
    assert "states 1 and matches 2" in message and f"{FILE}:3" in message and f"{FILE}:7" in message


def test_nested_functions_fields_and_enum_members_are_dropped() -> None:
    source = (
        "def f():\n    def g():\n        return 1\n    return 2\n"
        "class E(Enum):\n    A = 1\n    B = 2\n"
        "@dataclass\nclass D:\n    a: int = 1\n    b: str = ''\n"
    )
    text = after(source, edit("drop", "f.g"), edit("drop", "E.A"), edit("drop", "D.b"))
    assert text == "def f():\n    return 2\nclass E(Enum):\n    B = 2\n@dataclass\nclass D:\n    a: int = 1\n"


def test_of_an_if_only_the_condition_is_replaced() -> None:
    source = (
        "def f(x):\n    if x:\n        return x\n"
        "    elif x is None:\n        return 1\n    else:\n        return 2\n"
    )
    text = after(source, edit("replace", "f", match="if x: ...", by="if False: ..."))
    assert text == source.replace("if x:", "if False:")
    text = after(source, edit("replace", "f", match="if x is None: ...", by="if x == 0: ..."))
    assert text == source.replace("x is None", "x == 0")
    [(code, _)] = problems(source, edit("replace", "f", match="if y: ...", by="if False: ..."))
    assert code == "R004"


def test_a_set_that_would_be_empty_is_replaced_as_a_whole() -> None:
    wanted = edit("drop-entry", "", match="1")
    [problem] = carry_out("x = {1}\n", wanted)[1].problems
    assert problem.hint == "Use `replace` for the whole set: `by: set()`."
    assert after("x = {1}\n", edit("replace", "", match="{1}", by="set()")) == "x = set()\n"


def test_one_target_of_a_tuple_takes_its_value_along() -> None:
    assert after("a, b, c = 1, 2, 3\n", edit("drop", "b")) == "a, c = 1, 3\n"
    [(code, _)] = problems("a = b = 1\n", edit("drop", "b"))
    assert code == "R008"
    [(code, _)] = problems("a, b = f()\n", edit("drop", "b"))
    assert code == "R008"


def test_a_stub_names_the_rule() -> None:
    source = "class C:\n    def f(self, x: int) -> int:\n        '''Doc.'''\n        return x\n\n    y = 1\n"
    text = after(source, edit("stub", "C.f"))
    namespace: dict[str, type] = {}
    exec(text, namespace)
    with pytest.raises(
        NotImplementedError, match=r"^C\.f is not part of this distribution \(manifest rule: batch-a\)$"
    ):
        namespace["C"]().f(1)
    assert text.endswith("\n\n    y = 1\n") and "def f(self, x: int) -> int:" in text


def test_a_value_and_a_default_are_set() -> None:
    source = "X = 1  # one\nclass C:\n    y: int = 2\ndef f(a, b=1, *, c='x'):\n    pass\n"
    text = after(
        source,
        edit("set", "X", by="(2, 3)"),
        edit("set", "C.y", by="None"),
        edit("set", "f:b", by="2"),
        edit("set", "f:c", by="'z'"),
    )
    assert text == "X = (2, 3)  # one\nclass C:\n    y: int = None\ndef f(a, b=2, *, c='z'):\n    pass\n"


def test_setting_what_has_no_value_is_refused() -> None:
    source = "class C:\n    y: int\ndef f(a, beta=1):\n    pass\n"
    assert problems(source, edit("set", "C.y", by="1"))[0][0] == "R005"
    assert "has no default" in problems(source, edit("set", "f:a", by="1"))[0][1]
    _, result = carry_out(source, edit("set", "f:betta", by="1"))
    assert result.problems[0].code == "R005" and "`beta`" in (result.problems[0].hint or "")
    assert problems("X = 1\n", edit("set", "X", by="1 +"))[0][0] == "M004"


def test_imports_leave_by_what_they_import_or_bind() -> None:
    source = (
        "import a.b\nimport a.c as ac, d\nfrom . import near\nfrom pkg.far import X, Y as Z\n"
        "try:\n    from heavy import thing\nexcept ImportError:\n    thing = None\n"
    )
    text = after(
        source,
        edit("drop-import", "", match="a.b"),
        edit("drop-import", "", match="ac"),
        edit("drop-import", "", match="pkg.near"),
        edit("drop-import", "", match="pkg.far.Y"),
    )
    assert text.startswith("import d\nfrom pkg.far import X\ntry:\n    from heavy import thing\n")
    assert "import" not in after(
        "from pkg.far import (\n    X,\n    Y,\n)\n", edit("drop-import", "", match="pkg.far")
    )


def test_two_edits_that_empty_an_import_remove_it() -> None:
    source = "from m import a, b\nx = 1\n"
    text = after(source, edit("drop-import", "", match="m.a"), edit("drop-import", "", match="m.b"))
    assert text == "x = 1\n"


def test_entries_leave_lists_sets_tuples_dicts_calls_bases_and_decorators() -> None:
    source = (
        "L = ['a', 'b']\nS = {'a', 'b'}\nT = ('a', 'b')\nD = {'a': 1, 'b': 2}\n"
        "f('a', 'b', k='a')\nclass C(a, b): pass\n@deco('a')\n@keep\ndef g(): pass\nLit = Literal['a', 'b']\n"
    )
    assert after(source, edit("drop-entry", "", match="'a'", count=7)).startswith("L = ['b']\nS = {'b'}\n")
    assert "D = {'b': 2}" in after(source, edit("drop-entry", "D", match="'a'"))
    assert "D = {'b': 2}" in after(source, edit("drop-entry", "D", match="'a': 1"))
    assert problems(source, edit("drop-entry", "D", match="'a': 2"))[0][0] == "R004"
    assert "f('a', 'b')" in after(source, edit("drop-entry", "", match="k='a'"))
    assert "class C(b)" in after(source, edit("drop-entry", "C", match="a"))
    assert "@deco" not in after(source, edit("drop-entry", "g", match="deco('a')"))


def test_entries_compare_as_syntax_not_as_text() -> None:
    assert after("L = [g( 1,2 ), 'x']\n", edit("drop-entry", "L", match="g(1, 2)")) == "L = ['x']\n"


def test_a_literal_that_would_lose_its_meaning_is_refused() -> None:
    assert problems("S = {'a'}\n", edit("drop-entry", "S", match="'a'"))[0][0] == "R008"
    source = "L = Literal['a', 'b']\n"
    two = (edit("drop-entry", "L", match="'a'"), edit("drop-entry", "L", match="'b'"))
    assert problems(source, *two)[0][0] == "R008"


def test_assigned_names_are_no_entries() -> None:
    assert problems("(a, b) = f(a2)\n", edit("drop-entry", "", match="a"))[0][0] == "R004"


def test_statements_and_expressions_compare_as_syntax() -> None:
    source = "def f(x):\n    check( x )  # c\n    if x == 'a':\n        return 1\n    return g(x, 'a')\n"
    text = after(
        source,
        edit("drop-statement", "f", match="check(x)"),
        edit("replace", "f", match="g(x, 'a')", by="g(x)"),
        edit("drop-statement", "f", match="if x == 'a':\n    return 1\n"),
    )
    assert text == "def f(x):\n    return g(x)\n"


@pytest.mark.parametrize(
    ("kind", "match", "before", "after_it"),
    [
        ("drop-statement", "if x > ...: ...", "if x > 1:\n    a()\n    b()\n", ""),
        ("drop-statement", "f(x, ...)", "f(x, 1, k=2)\n", ""),
        ("drop-statement", "f(..., k=2)", "f(x, 1, k=2)\n", ""),
        ("drop-statement", "D = ...", "D = {'a': g(1), 'b': 2}\n", ""),
        ("drop-entry", "'a': ...", "D = {'a': g(1), 'b': 2}\n", "D = {'b': 2}\n"),
        ("drop-entry", "('a', ...)", "L = [('a', 1), ('b', 2)]\n", "L = [('b', 2)]\n"),
    ],
)
def test_an_ellipsis_stands_for_what_does_not_matter(
    kind: str, match: str, before: str, after_it: str
) -> None:
    source = (
        "if x > 1:\n    a()\n    b()\nf(x, 1, k=2)\nf(y)\nD = {'a': g(1), 'b': 2}\nL = [('a', 1), ('b', 2)]\n"
    )
    assert before in source
    assert after(source, edit(kind, "", match=match)) == source.replace(before, after_it)


def test_an_ellipsis_stands_for_no_other_shape() -> None:
    source = "if x:\n    a()\nelse:\n    b()\nf(x)\nf(x)\nA[..., 0] = f(1, k=3)\n"
    for match in ("if x: ...", "while x: ...", "f(y, ...)", "x = ...", "def f(): ..."):
        ((code, _),) = problems(source, edit("drop-statement", "", match=match))
        assert code == "R004", match
    assert after(source, edit("drop-statement", "", match="A[..., 0] = f(1, ...)")).endswith("f(x)\n")
    assert after(source, edit("drop-statement", "", match="if x: ...\nelse: ...")).startswith("f(x)\n")
    ((code, message),) = problems(source, edit("drop-statement", "", match="f(...)"))
    assert code == "R004" and "matches 2" in message


@pytest.mark.parametrize(
    ("kind", "match"), [("drop-statement", "..."), ("drop-entry", "..."), ("replace", "...")]
)
def test_an_ellipsis_alone_is_refused(kind: str, match: str) -> None:
    ((code, message),) = problems("f(x)\n", edit(kind, "", match=match, by="1"))
    assert code == "M004" and "stands for everything" in message


def test_a_match_inside_an_f_string_is_refused() -> None:
    assert problems("x = f'{g(1)}'\n", edit("replace", "", match="g(1)", by="2"))[0][0] == "R008"


def test_a_body_comes_from_an_overlay() -> None:
    source = "class C:\n    async def f(self):\n        return 1\n"
    overlay = {"overlays/b/f.py": b"    if self:\n        await g()\n    return 2\n"}
    text = after(source, edit("body", "C.f", by="overlays/b/f.py"), overlays=overlay)
    assert (
        text
        == "class C:\n    async def f(self):\n        if self:\n            await g()\n        return 2\n"
    )


@pytest.mark.parametrize("content", [b"", b"return (\n", b"await g()\n", b"break\n", b"\xff", b"x = '\0'\n"])
def test_a_body_that_is_no_body_is_refused(content: bytes) -> None:
    source = "def f():\n    return 1\n"
    [(code, message)] = problems(source, edit("body", "f", by="o.py"), overlays={"o.py": content})
    assert code == "M008" and "o.py" in message


def test_a_missing_target_says_what_is_near() -> None:
    _, result = carry_out("class Alpha:\n    def forward(self): pass\n", edit("drop", "Alpha.forwrd"))
    [problem] = result.problems
    assert problem.code == "R005" and problem.hint == "did you mean `forward`?"
    assert problem.mark == Mark("manifest.yaml", 7, 3)


def test_an_imported_name_is_no_definition() -> None:
    _, result = carry_out("from elsewhere import thing\n", edit("drop", "thing"))
    assert result.problems[0].code == "R005" and "drop-import" in (result.problems[0].hint or "")


def test_optional_edits_tolerate_absence_but_not_surplus() -> None:
    missing = edit("drop", "nothing", optional="older upstreams lack it")
    unmatched = edit("drop-entry", "", match="'zz'", optional="older upstreams lack it")
    assert after("x = 1\n", missing, unmatched) == "x = 1\n"
    assert problems("x = 1\nx = 2\n", edit("drop", "x", optional="why"))[0][0] == "R004"


def test_all_problems_are_reported_together_and_good_edits_still_planned() -> None:
    text, result = carry_out("a = 1\nb = 2\n", edit("drop", "a"), edit("drop", "c"), edit("drop", "d"))
    assert text == "b = 2\n"
    assert [p.code for p in result.problems] == ["R005", "R005"]


def test_contradicting_edits_name_each_other() -> None:
    first = edit("set", "X", by="2")
    second = replace(edit("set", "X", by="3"), mark=Mark("manifest.yaml", 9, 1))
    _, result = carry_out("X = 1\n", first, second)
    [problem] = result.problems
    assert problem.code == "M011" and "manifest.yaml:7:3" in problem.message and problem.mark == second.mark


def test_records_hold_the_hashes_of_the_source_text() -> None:
    import hashlib

    _, result = carry_out(
        "X = 1\n\n\ndef f():\n    return 'ä'\n", edit("drop", "f"), edit("set", "X", by="2")
    )
    dropped, assigned = result.records
    assert dropped.before == hashlib.sha256("def f():\n    return 'ä'".encode()).hexdigest()
    assert (dropped.after, dropped.line, dropped.file, dropped.batch) == (None, 4, FILE, "batch-a")
    assert (assigned.before, assigned.after) == (
        hashlib.sha256(b"1").hexdigest(),
        hashlib.sha256(b"2").hexdigest(),
    )


def test_an_edit_of_a_removed_or_unknown_file_is_a_problem() -> None:
    edits = [edit("drop", "x"), replace(edit("drop", "x"), target="nowhere.x")]
    _, problems = sort(edits, PACKAGES, {}, {FILE: Rule(FILE, "remove", "gone", mark=Mark("m"))})
    assert [p.code for p in problems] == ["R005", "R005"]
    assert "`{name: pkg.mod.x, without: gone}`" in (problems[0].hint or "")


@pytest.mark.parametrize("kind", ["drop", "stub", "set", "body"])
def test_a_module_is_no_target_of_a_definition_edit(kind: str) -> None:
    assert problems("x = 1\n", edit(kind, "", by="1"))[0][0] == "R005"


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("drop-entry", {"match": "a b"}),
        ("drop-statement", {"match": "a; b"}),
        ("replace", {"match": "a b", "by": "c"}),
    ],
)
def test_bad_source_in_the_manifest_is_a_manifest_error(kind: str, more: dict[str, str]) -> None:
    assert problems("x = 1\n", edit(kind, "", **more))[0][0] == "M004"
