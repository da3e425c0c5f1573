"""G008 for compiled extensions: they stay or leave together with the Python that uses them."""

from __future__ import annotations

from gate_worlds import PACKAGES, manifest, rule, snapshot

from builder.analysis.indexed_tree import world
from builder.analysis.removals import Removals
from builder.errors import Problem
from builder.gates import extensions

CORE = "python/pkg/fast/core.cpython-312-x86_64-linux-gnu.so"
FILES: dict[str, str | bytes] = {
    "python/pkg/__init__.py": "",
    "python/pkg/fast/__init__.py": "from pkg.fast.core import run\n",
    "python/pkg/names.py": "X = 1\n",
    "python/pkg/test/test_fast.py": "from pkg.fast import core\n",
    CORE: b"\x7fELF\x00pkg.namesand more\x00pkg.fast.coreRun\x00pkg.v1.Service\x00",
}


def run(changes: dict[str, str | None], before: dict[str, str | bytes] = FILES) -> list[Problem]:
    old = snapshot(before)
    new = old.replace({p: None if d is None else d.encode() for p, d in changes.items()})
    removals = Removals(by_path={CORE: rule("python/pkg/fast/*.so")}, packages=PACKAGES)
    return extensions.check(world(old, PACKAGES), world(new, PACKAGES), manifest(), removals)


def test_an_extension_is_a_module_by_the_name_of_its_file() -> None:
    files = {
        "python/pkg/a.so": b"",
        "python/pkg/sub/b.abi3.so": b"",
        CORE: b"",
        "python/pkg/libthing.so.2": b"",
        "elsewhere/c.so": b"",
    }
    assert sorted(extensions.modules(snapshot(files), PACKAGES)) == ["pkg.a", "pkg.fast.core", "pkg.sub.b"]


def test_what_stays_together_and_what_leaves_together_has_no_findings() -> None:
    assert run({}) == []
    assert run({CORE: None, "python/pkg/fast/__init__.py": None}) == []


def test_an_import_of_an_extension_that_left_names_the_rule_and_the_line() -> None:
    (found,) = run({CORE: None})
    assert found.code == "G008"
    assert "python/pkg/fast/__init__.py:1 loads the extension pkg.fast.core" in found.message
    assert found.mark is not None
    assert found.mark.line == 42


def test_a_name_in_a_string_of_its_own_loads_an_extension_too() -> None:
    loader = "import importlib\nrun = importlib.import_module('pkg.fast.core')\n"
    (found,) = run({CORE: None, "python/pkg/fast/__init__.py": loader})
    assert ":2 loads the extension" in found.message


def test_an_import_that_may_fail_does_not_need_the_extension() -> None:
    guarded = "try:\n    from pkg.fast import core\nexcept ImportError:\n    core = None\n"
    assert run({CORE: None, "python/pkg/fast/__init__.py": guarded}) == []
    assert run({"python/pkg/fast/__init__.py": guarded}) == []


def test_an_extension_whose_users_left_is_found_though_a_test_names_it() -> None:
    (found,) = run({"python/pkg/fast/__init__.py": ""})
    assert f"The extension {CORE} stays" in found.message
    assert "keep python/pkg/fast/__init__.py" in (found.hint or "")


def test_an_extension_that_python_never_named_may_stay() -> None:
    assert run({}, {**FILES, "python/pkg/fast/__init__.py": "", "python/pkg/test/test_fast.py": ""}) == []


def test_a_module_that_the_bytes_of_an_extension_name_must_stay() -> None:
    (found,) = run({"python/pkg/names.py": None})
    assert "names the module pkg.names, which is not in the output" in found.message


def test_a_tree_without_extensions_is_not_looked_at() -> None:
    files = {path: data for path, data in FILES.items() if path != CORE}
    assert run({"python/pkg/fast/__init__.py": "from pkg.fast.core import run\n"}, files) == []
