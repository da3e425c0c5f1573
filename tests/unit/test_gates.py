"""What gates tell that no page of `gates/` shows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
from gate_worlds import PACKAGES, manifest, no_account, package, rule, snapshot, worlds
from hypothesis import given
from hypothesis import strategies as st

from builder.analysis.removals import Removals, index_removals
from builder.analysis.surface_diff import Accounts, Difference
from builder.analysis.surface_diff import compare as compare_surfaces
from builder.errors import BuildError, Mark, by_cause
from builder.gates import extensions, guarantees, names, stated_values, symbols
from builder.gates.guarantees import _matching_lines
from builder.manifest.model import AbsentText, Guarantees, Manifest
from builder.manifest.statements import Absent, Batch, Edit, Fact, Reason
from builder.pipeline.verify import TREE_GATES
from builder.report import also
from builder.surface.extract import surface

HERE = Mark("manifest.yaml", 3, 5)

NOTHING = Removals()


def batch(**more: object) -> Batch:
    return Batch("b", "why", HERE, **more)  # type: ignore[arg-type]


CLEAN = {
    "a.py": "from pkg.b import f, C\nimport pkg.sub.c as c\n\nx = f(C.RED, c.y)\n",
    "b.py": "class C:\n    RED = 1\n    BLUE = 2\n\n\ndef f(*a): ...\n",
    "sub/c.py": "y = 1\n",
}


def test_every_gate_is_silent_on_an_unchanged_tree() -> None:
    before, after = worlds(CLEAN, {})
    for gate in TREE_GATES.values():
        assert gate(before, after, manifest(), NOTHING) == []


def test_a_missing_ruff_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.ruff.find", lambda: "/nowhere/ruff")
    with pytest.raises(BuildError) as caught:
        names.findings({"after/a.py": b"x\n"})
    assert caught.value.problems[0].code == "E003"


def test_nonsense_from_ruff_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess([], 2, b"", b"ruff failed\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: done)
    with pytest.raises(BuildError, match="ruff failed"):
        names.findings({"after/a.py": b"x\n"})


def test_a_ruff_configuration_around_the_temporary_folder_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ruff.toml").write_text('[lint]\nignore = ["F821"]\n')
    (tmp_path / ".gitignore").write_text("*\n")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert [f.symbol for f in names.findings({"after/a.py": b"print(zzz)\n"})] == ["zzz"]


def test_a_truncated_file_says_so_first() -> None:
    full = "".join(f"def f{i}(a,\n       b):\n    return {i}\n\n\n" for i in range(10))
    for text in (full[:90], full[:105]):  # at a definition's end, and inside one
        before, after = worlds({"a.py": full}, {"a.py": text})
        found = symbols.check(before, after, manifest(), NOTHING)
        assert "truncated" in found[0].message
        assert "of its 10 definitions" in found[0].message
        assert any("function f9" in p.message for p in found)


def test_a_manifest_explains_what_it_names() -> None:
    stated = batch(
        absent=(Absent("symbol", "pkg.a.X", "b", mark=HERE),),
        edits=(
            Edit("drop", "pkg.b.f", "b", "why", mark=HERE),
            Edit("stub", "pkg.b.g", "b", "why", mark=HERE),
        ),
    )
    found = index_removals(manifest(batches=(stated,)), {}, {"pkg.c.h": "folded away"})
    assert str(found.symbol("pkg.a.X.member")) == "batch b declares pkg.a.X absent (manifest.yaml:3:5)"
    assert str(found.symbol("pkg.b.f")) == "batch b drops pkg.b.f (manifest.yaml:3:5)"
    assert str(found.symbol("pkg.c.h")) == "folded away"
    assert found.symbol("pkg.b.g") is None
    assert found.symbol("pkg.a") is None


def test_a_removed_module_explains_itself_and_no_definition_of_what_stays_below_it() -> None:
    removed = {"python/pkg/sub/__init__.py": rule("python/pkg/sub/__init__.py")}
    found = index_removals(manifest(), removed, {"pkg.sub.c.f": "folded away"})
    assert str(found.nearest("pkg.sub.c.C", "rule")) == "batch models removes pkg.sub (manifest.yaml:42:7)"
    assert found.symbol("pkg.sub.c.C") is None
    assert str(found.symbol("pkg.sub.c.f")) == "folded away"


def test_a_removed_folder_explains_its_namespace() -> None:
    found = index_removals(manifest(), {"python/pkg/sub/c.py": rule("python/pkg/sub/")}, {})
    assert "python/pkg/sub/" in str(found.module("pkg.sub"))
    assert found.module("pkg.other") is None


def absent(pattern: str) -> Manifest:
    return manifest(Guarantees((AbsentText(pattern, ("python/**",), HERE, ()),)))


def test_a_bad_expression_is_a_problem_and_not_a_crash() -> None:
    (problem,) = guarantees.check(*worlds({"a.py": "fa3 = 1\n"}, {}), absent("fa(3"), NOTHING)
    assert "not a regular expression" in problem.message


def test_many_occurrences_are_one_problem_with_its_places() -> None:
    before, after = worlds({"a.py": "bad = 1\n" * 50}, {})
    found = guarantees.check(before, after, absent("bad"), Removals())
    (problem,) = by_cause(found)
    assert problem.upstream == Mark("python/pkg/a.py", 1)
    assert [one.upstream.line for one in problem.also if one.upstream] == list(range(2, 51))
    assert "python/pkg/a.py:2" in also(problem) and also(problem).endswith(" and 25 more")


_ATOMS = r"fa3 Ab x _ \b [34] [^a] \w \. . | (?:a|b) (?: ) ? * + {2} {0} (?!io) (?<!_) ^ $ \( -"

_ATOM = st.sampled_from([*_ATOMS.split(), " "])

_PATTERN = st.builds(
    lambda flag, atoms: flag + "".join(atoms), st.sampled_from(["", "(?i)"]), st.lists(_ATOM)
)


@given(_PATTERN, st.text("fa34Abx_.(io- \n", max_size=12))
def test_a_search_of_the_whole_text_hides_no_line(pattern: str, text: str) -> None:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error:
        return
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if compiled.search(line)]
    assert list(_matching_lines(compiled, text)) == lines


BESIDE_NONE = [
    "x = None[0]", "x = (None)[0]", "x = None .y", "f(*None)", "x = 1 < None", "x = 1 <= \\\n None",
    "x = y in None", "x = y not in (None)", "x = None()", "x = len(None)", "x = len((None))", "x = -None",
    "x = (1 + # comment\n None)", "x = (None # comment\n)[0]", "x = None > 3", "x = None << 3", "x = a@None",
    "x = '%d' % None", "x = 'plain' % None",
]  # fmt: skip


@pytest.mark.parametrize("code", BESIDE_NONE)
def test_the_text_shows_each_none_that_raises_an_error(code: str) -> None:
    assert stated_values.misuses(code.encode())


def test_a_text_may_put_none_into_itself() -> None:
    assert not stated_values.misuses(b"x = 'group %s' % None")


def test_an_extension_is_a_module_by_the_name_of_its_file() -> None:
    files = {
        "python/pkg/a.so": b"",
        "python/pkg/sub/b.abi3.so": b"",
        "python/pkg/fast/core.cpython-312-x86_64-linux-gnu.so": b"",
        "python/pkg/libthing.so.2": b"",
        "elsewhere/c.so": b"",
    }
    assert sorted(extensions.modules(snapshot(files), PACKAGES)) == ["pkg.a", "pkg.fast.core", "pkg.sub.b"]


def dead(after: str, proved: str, *batches: Batch, accounts: Accounts = no_account) -> Difference:
    """The only difference of the surface where the evaluator proved a reader of a variable dead."""
    source = """
        import os
        class Layer:
            def forward_hip(self):
                return os.getenv("A")
    """
    old, stated = package({"a.py": source}), manifest(batches=batches)
    new = old.replace({"python/pkg/a.py": dedent(after).encode()})
    removals = index_removals(stated, {}, {"pkg.a.Layer.forward_hip": proved})
    before = surface(old, PACKAGES)
    (found,) = compare_surfaces(old, before, new, stated, removals, accounts).differences
    return found


def test_a_dead_function_is_explained_by_what_accounts_for_its_lines() -> None:
    mark = Mark("manifest.yaml", 4, 2)
    why, empty = "nothing refers to it any more", "class Layer: ...\n"
    found = dead(empty, why, accounts=lambda place: Reason("rocm", "", mark) if place.line == 5 else None)
    assert found.causes == (Reason("rocm", f"pkg.a.Layer.forward_hip: {why}", mark),)
    assert [cause.batch for cause in dead(empty, why).causes] == ["facts"]


def test_a_dead_function_of_a_family_is_explained_by_the_word_of_its_batch() -> None:
    uncalled = Fact("uncalled", "pkg.a.Layer.forward_hip", True, "b", mark=HERE)
    found = dead("class Layer: ...\n", "unused", batch(facts=(uncalled,)))
    assert [cause.batch for cause in found.causes] == ["b"]
