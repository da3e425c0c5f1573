from __future__ import annotations

import pickle

import pytest
from gate_worlds import PACKAGES, package, snapshot
from hypothesis import given
from hypothesis import strategies as st

from builder.graph import modules
from builder.graph.modules import Summary, known_of, summaries, summarise
from builder.graph.names import module_of


def scan(text: str | bytes, path: str = "python/pkg/sub/mod.py") -> Summary:
    data = text.encode() if isinstance(text, str) else text
    return summarise(data, path, module_of(path, PACKAGES) or "", ("pkg",))


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("python/pkg/a/b.py", "pkg.a.b"),
        ("python/pkg/a/__init__.py", "pkg.a"),
        ("python/pkg/__init__.py", "pkg"),
        ("python/pkg/a/b.pyi", None),
        ("python/pkgs/a.py", None),
        ("setup.py", None),
    ],
)
def test_a_path_is_a_module_only_inside_a_package(path: str, module: str | None) -> None:
    assert module_of(path, PACKAGES) == module


def test_imports_know_how_they_run() -> None:
    found = scan(
        """
from typing import TYPE_CHECKING
import pkg.eager
if TYPE_CHECKING:
    from pkg.t import T
else:
    from pkg.f import F
try:
    import pkg.tried
except ImportError:
    import pkg.fallback
if flag:
    import pkg.conditional
def f():
    import pkg.lazy
    try:
        import pkg.lazy_tried
    except (ValueError, ModuleNotFoundError):
        pass
class C:
    import pkg.in_class
with contextlib.suppress(ImportError):
    import pkg.suppressed
"""
    )
    kinds = {i.target: (i.kind, i.tried) for i in found.imports if i.target.startswith("pkg")}
    assert kinds == {
        "pkg.eager": ("eager", False),
        "pkg.t": ("typing", False),
        "pkg.f": ("eager", False),
        "pkg.tried": ("guarded", True),
        "pkg.fallback": ("guarded", False),
        "pkg.conditional": ("guarded", False),
        "pkg.lazy": ("lazy", False),
        "pkg.lazy_tried": ("lazy", True),
        "pkg.in_class": ("eager", False),
        "pkg.suppressed": ("guarded", True),
    }


def test_relative_imports_become_absolute() -> None:
    text = "from . import a\nfrom .b import c\nfrom ..d import e\nfrom .. import f\n"
    inside = [(i.target, i.name) for i in scan(text).imports]
    assert inside == [("pkg.sub", "a"), ("pkg.sub.b", "c"), ("pkg.d", "e"), ("pkg", "f")]
    package_file = [(i.target, i.name) for i in scan(text, "python/pkg/sub/__init__.py").imports]
    assert package_file == inside
    assert scan("from .x import y", "tools/run.py").imports[0].target == ".x"


def test_each_name_of_a_parenthesised_import_has_its_own_line() -> None:
    assert [(i.name, i.line) for i in scan("from pkg.a import (\n  b,\n  c as d,\n)\n").imports] == [
        ("b", 2),
        ("c", 3),
    ]


def test_definitions_have_qualified_names_kinds_and_lines() -> None:
    found = scan(
        """
X, (Y, *Z) = 1, (2, 3)
N: int = 1
for i in range(3):
    pass
def f():
    def inner(): ...
    local = 1
    global G
    G = 2
class A(Base[int], metaclass=M):
    field: int = 0
    RED = 1
    def m(self):
        self.inst = 1
        self.deep.er = 2
        (self.p, q) = 1, 2
        for self.loop in []:
            pass
    @staticmethod
    def s(x):
        x.other = 1
    class B:
        def n(self): ...
"""
    )
    assert {n: d.kind for n, d in found.names.items()} == {
        "X": "constant",
        "Y": "constant",
        "Z": "constant",
        "N": "constant",
        "i": "constant",
        "f": "function",
        "G": "constant",
        "A": "class",
    }
    assert sorted(found.members) == ["A.B", "A.B.n", "A.RED", "A.field", "A.m", "A.s"]
    assert found.members["A.RED"].line == 13
    assert sorted(found.attributes["A"]) == ["inst", "loop", "p"]
    assert found.stores == {"er", "other"}
    assert found.bases == {"A": ("Base[int]",), "A.B": ()}


def test_an_import_with_a_fallback_definition_counts_as_defined() -> None:
    found = scan("try:\n    from x import f\nexcept ImportError:\n    def f(): ...\n")
    assert found.names["f"].kind == "function"
    assert "f" in found.definitions


@pytest.mark.parametrize(
    ("text", "exports"),
    [
        ("__all__ = ['a', 'b']", ("a", "b")),
        ("__all__ = ('a',)\n__all__ += ['b']\n__all__.extend(['c'])\n__all__.append('d')", tuple("abcd")),
        ("__all__ = ['a'] + other.__all__", None),
        ("__all__ = ['a']\n__all__ += other.__all__", None),
        ("x = 1", None),
    ],
)
def test_exports_are_known_only_when_constant(text: str, exports: tuple[str, ...] | None) -> None:
    assert scan(text).exports == exports


def test_dynamic_imports_keep_what_is_constant() -> None:
    found = scan(
        "import importlib\n"
        "importlib.import_module('pkg.a')\n"
        "importlib.import_module(f'pkg.{x}.b')\n"
        "importlib.import_module(name)\n"
        "importlib.import_module('.c', package=__package__)\n"
        "__import__('pkg.d')\n"
        "pkgutil.iter_modules(p.__path__)\n"
    )
    assert [(d.line, d.call, d.argument) for d in found.dynamic] == [
        (2, "import_module", "pkg.a"),
        (3, "import_module", "pkg.*.b"),
        (4, "import_module", None),
        (5, "import_module", "pkg.sub.c"),
        (6, "__import__", "pkg.d"),
        (7, "iter_modules", None),
    ]


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("    import_module(name)\n", True),
        ("    import_module(self.spec.module)\n", True),
        ("    module, _, rest = name.rpartition('.')\n    import_module(module)\n", True),
        ("    *first, last = name.split('.')\n    import_module('.'.join(first))\n", True),
        ("    for one in TABLE.values():\n        import_module(one)\n", True),
        ("    import_module(os.environ.get('X'))\n", True),
        ("    name = name or 'pkg.a'\n    import_module(name)\n", True),
        ("    import_module('pkg' + name)\n", False),
        ("    name = prefix(name)\n    import_module(name)\n", False),
        ("    name += '.a'\n    import_module(name)\n", False),
        ("    for one in listdir(name):\n        import_module(one)\n", False),
        ("    for one in iter_modules(name):\n        import_module(one)\n", False),
        ("    with names() as one:\n        import_module(one)\n", False),
        ("    with names() as name:\n        import_module(name)\n", False),
        ("    for one in TABLE.values():\n        import_module(one.module)\n", True),
        ("    for one in Path(name).glob('*'):\n        import_module(one.stem)\n", False),
        ("    import_module(elsewhere)\n", False),
    ],
)
def test_the_name_of_a_module_that_a_caller_or_a_table_gives_is_spelled_out_there(
    body: str, given: bool
) -> None:
    table = "TABLE = {'a': 'pkg.a'}\n"
    found = scan(f"{table}def f(self, name):\n{body}").dynamic
    assert any(one.call == "import_module" for one in found) is not given


def test_a_dynamic_import_below_the_own_name_has_that_name() -> None:
    found = scan("import_module(f'{__name__}.a')\nimport_module(f'{__package__}.{x}')\n")
    assert [d.argument for d in found.dynamic] == ["pkg.sub.mod.a", "pkg.sub.*"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GROUPS = ('a', 'b')\nfor g in GROUPS:\n    import_module(f'pkg.{g}')\n", ["pkg.a", "pkg.b"]),
        ("for g in ('a', 'b'):\n    import_module(f'pkg.{g}')\n", ["pkg.a", "pkg.b"]),
        ("GROUPS = ['a', 'b']\nfor g in GROUPS:\n    import_module(f'pkg.{g}')\n", ["pkg.*"]),
        ("G = ('a',)\nG = ('b',)\nfor g in G:\n    import_module(f'pkg.{g}')\n", ["pkg.*"]),
        ("for g in ('a', x):\n    import_module(f'pkg.{g}')\n", ["pkg.*"]),
        ("for g in ('a',):\n    g = x\n    import_module(f'pkg.{g}')\n", ["pkg.*"]),
        ("for g in ('a',):\n    pass\ndef f(g):\n    import_module(f'pkg.{g}')\n", ["pkg.*"]),
    ],
)
def test_a_dynamic_import_in_a_loop_over_constants_names_each(text: str, expected: list[str]) -> None:
    assert [d.argument for d in scan(text).dynamic] == expected


def test_strings_that_name_modules_are_references() -> None:
    found = scan(
        'x = 1\nregister("k", "pkg.a.b", "C")\ny = "pkg.c:run"\nz = "see pkg.d for more"\nw = "pkgs.e"\n'
    )
    assert [(r.name, r.line) for r in found.references] == [("pkg.a.b", 2), ("pkg.c", 3)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('_PACKAGE = "pkg.kernels"\nregister(target=f"{_PACKAGE}.gemm:run")\n', ["pkg.kernels.gemm"]),
        ('_PACKAGE: str = "pkg.kernels"\nx = _PACKAGE + ".gemm" + ":run"\n', ["pkg.kernels.gemm"]),
        ('_TOP = "pkg"\nx = f"{_TOP}.a.{kind}"\n', []),  # what is not known is no name
        ('_TOP = "pkg"\n_TOP = other()\nx = f"{_TOP}.a"\n', []),  # bound twice
        ('_TOP = "pkg"\ndef f(_TOP):\n    return f"{_TOP}.a"\n', []),
        ('x = f"{__package__}.gemm:run"\n', ["pkg.sub.gemm"]),
        ('x = f"{__name__}.part"\n', ["pkg.sub.mod.part"]),
        ('_TOP = "pkg"\nx = f"{_TOP!r}.a"\n', []),
    ],
)
def test_strings_put_together_from_constants_of_the_file_are_references(text: str, names: list[str]) -> None:
    composed = [r.name for r in scan(text).references if r.name != "pkg.kernels"]
    assert composed == names


def test_what_a_package_imports_on_demand_by_a_table_is_a_reference() -> None:
    text = '_structure = {\n    "a": [],\n    "b.c": ["One", "two"],\n    3: ["x"],\n}\n'
    text += 'other = {"k": ["v"], "l": 1}\n'
    package = summarise(text.encode(), "python/pkg/sub/__init__.py", "pkg.sub", ("pkg",))
    assert [(r.name, r.line) for r in package.references] == [
        ("pkg.sub.b.c.One", 3),
        ("pkg.sub.b.c.two", 3),
        ("pkg.sub.k.v", 6),
    ]
    assert scan(text).references == ()  # of a module that is no package


def test_a_constant_that_names_a_package_is_a_reference_before_what_it_is_part_of() -> None:
    found = scan('_PACKAGE = "pkg.kernels"\nregister(target=f"{_PACKAGE}.gemm:run")\n')
    assert [(r.name, r.line) for r in found.references] == [("pkg.kernels", 1), ("pkg.kernels.gemm", 2)]


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("def __getattr__(name): ...", True),
        ("globals()['x'] = 1", True),
        ("globals().update(d)", True),
        ("x = globals()['y']", False),
        ("x = globals()['y'] == 1", False),
    ],
)
def test_modules_with_names_that_no_statement_shows_are_open(text: str, is_open: bool) -> None:
    assert scan(text).open is is_open


def test_a_byte_order_mark_and_carriage_returns_are_read() -> None:
    found = scan(b"\xef\xbb\xbfimport pkg.a\r\ndef f():\r\n    return 1\r\n")
    assert found.error is None
    assert found.names["f"].line == 2


@pytest.mark.parametrize("data", [b"def f(:\n", b"x = '\0'\n", b"\xff\xfe", b"(" * 5000 + b")" * 5000])
def test_bad_source_is_an_error_value_and_not_an_exception(data: bytes) -> None:
    found = scan(data)
    assert found.error is not None
    assert found.error[1]


@given(
    st.one_of(st.binary(max_size=60), st.text("def class x.:=(),'\\n\\t*@#\\\\", max_size=40).map(str.encode))
)
def test_no_bytes_make_summarise_raise(data: bytes) -> None:
    found = scan(data)
    assert (found.error is None) or found.names == {}


def test_invalid_escapes_of_upstream_do_not_warn() -> None:
    found = summaries(package({"a.py": "x = '\\d'\n"}), PACKAGES)
    assert found["python/pkg/a.py"].error is None


def test_summaries_survive_pickling() -> None:
    found = scan("from a import b\nclass C:\n    x = 1\n")
    assert pickle.loads(pickle.dumps(found)) == found


def test_known_summaries_are_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = package({"a.py": "x = 1\n", "b.py": "y = 1\n"})
    first = summaries(tree, PACKAGES)
    monkeypatch.setattr(modules, "summarise", lambda data, path, *more: pytest.fail(path))
    assert summaries(tree, PACKAGES, known=known_of(tree, first)) == first


def test_files_outside_the_packages_are_summarised_without_a_module() -> None:
    found = summaries(snapshot({"tools/run.py": "import pkg.a\n", "notes.txt": "x"}), PACKAGES)
    assert list(found) == ["tools/run.py"]
    assert found["tools/run.py"].module == ""
