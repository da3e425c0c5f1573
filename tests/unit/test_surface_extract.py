"""What is read from a tree: flags, routes, environment variables, registries, console scripts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from gate_worlds import PACKAGES, package, snapshot

from builder.surface.extract import surface
from builder.surface.model import Condition, Expression, Item, Key
from builder.surface.scan import telling, telling_part


def found(files: Mapping[str, str], kind: str) -> dict[str, Item]:
    """name -> item of one kind, in the package `pkg`."""
    items = surface(package(files), PACKAGES)
    return {key.name: item for key, item in items.items() if key.kind == kind}


def flag(source: str, more: Mapping[str, str] | None = None) -> dict[str, object]:
    """The details of the one flag in a file."""
    files = {"args.py": source, **(more or {})}
    (item,) = found(files, "flag").values()
    return dict(item.details)


# -- flags ------------------------------------------------------------------------------------------


def test_a_flag_has_its_spellings_default_and_choices() -> None:
    details = flag("parser.add_argument('-m', '--mode', '--kind', default='a', choices=['a', 'b'], help='x')")
    assert details == {"aliases": ("-m", "--kind"), "default": "a", "choices": ("a", "b")}


FIELDS = """
    from typing import Annotated as A, Literal, Optional
    from pkg.names import Arg, CHOICES, Kind

    class Args:
        port: A[int, "The port."] = 1
        size: A[Optional[int], Arg(help="x", cli_name="--tp-size", aliases=["--tp"]), Kind("a")] = None
        mode: A[str, Arg(help="x", choices=CHOICES)] = "a"
        level: A[Literal["low", "high"], "The level."] = "low"
        hidden: A[int, Arg(no_cli=True)] = 1
        kind: A[int, Kind("a")] = 1
        plain: int = 1
"""


def test_the_fields_of_a_class_that_are_options_are_flags() -> None:
    names = "CHOICES = ['a', 'b']\nclass Arg: ...\nclass Kind: ...\n"
    items = found({"args.py": FIELDS, "names.py": names}, "flag")
    assert {name: dict(item.details) for name, item in items.items()} == {
        "--level": {"choices": ("low", "high"), "default": "low"},
        "--mode": {"type": "str", "choices": ("a", "b"), "default": "a"},
        "--port": {"type": "int", "default": 1},
        "--tp-size": {"type": "Optional[int]", "dest": "size", "aliases": ("--tp",), "default": None},
    }
    assert items["--mode"].places[0].qualified == "pkg.args.Args.mode"
    assert items["--mode"].origins["choices"] == ("pkg.names.CHOICES",)


GATHERED = {
    "utils.py": "from typing import Annotated\nA = Annotated\nclass Arg: ...\n",
    "fields.py": """
        from pkg.utils import A

        class Memory:
            size: A[int, "The size."] = 1

        class Alone:
            other: A[int, "No parser has it."] = 1
    """,
    "args.py": """
        from pkg.fields import Memory as Sizes

        SECTIONS = [
            Sizes,
        ]

        def add(parser):
            parser.add_argument("--config")
    """,
}


def test_the_fields_of_classes_that_a_file_with_a_parser_lists_are_flags_of_its_parser() -> None:
    items = surface(package(GATHERED), PACKAGES)
    groups = {key.name: key.group for key in items if key.kind == "flag"}
    assert groups == {"--config": "pkg.args", "--size": "pkg.args", "--other": "pkg.fields"}
    assert items[Key("flag", "pkg.args", "--size")].places[0].qualified == "pkg.fields.Memory.size"


def test_a_list_of_classes_without_a_parser_gathers_no_flags() -> None:
    files = {**GATHERED, "args.py": "from pkg.fields import Memory\nSECTIONS = [Memory, Memory]\n"}
    groups = {key.name: key.group for key in surface(package(files), PACKAGES) if key.kind == "flag"}
    assert groups == {"--size": "pkg.fields", "--other": "pkg.fields"}


def test_annotations_elsewhere_are_no_flags() -> None:
    source = """
        from typing import Annotated

        class Body:
            port: Annotated[int, "The port."] = 1
    """
    assert not found({"body.py": source}, "flag")


def test_positional_arguments_and_those_of_groups_are_flags() -> None:
    items = found({"a.py": "group.add_argument('path')\nparser.add_mutually_exclusive_group()\n"}, "flag")
    assert list(items) == ["path"]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ("CHOICES", ("a", "b")),
        ("[*CHOICES, 'c']", ("a", "b", "c")),
        ("CHOICES + ['c']", ("a", "b", "c")),
        ("CHOICES + [LAST]", ("a", "b", "z")),
        ("list(TABLE.keys())", ("x", "y")),
        ("TABLE", ("x", "y")),
        ("Owner.TABLE.keys()", ("k",)),
        ("sorted(CHOICES)", ("a", "b")),
        ("[kind.value for kind in Kind]", ("one", "two")),
        ("[kind.name for kind in Kind]", ("ONE", "TWO")),
        ("local", ("a", "b")),
        ("range(3)", Expression("range(3)")),
        ("f()", Expression("f()")),
        ("['auto'] + shorter()", ("auto", "a", "b")),
        ("either()", Expression("either()")),
        ("shorter(1)", Expression("shorter(1)")),
        ("AMBIGUOUS", Expression("AMBIGUOUS")),
        ("there.CHOICES", Expression("there.CHOICES")),
        ("[CHOICES[0], CHOICES[5]]", ("a", Expression("CHOICES[5]"))),
        ("[10 * 1000 + 1, -2]", (10001, -2)),
        ("COMPUTED", Expression("compute(1, 2)")),
        ("[1 - 2, 'a' * 2]", (Expression("1 - 2"), Expression("'a' * 2"))),
    ],
)
def test_choices_are_followed_to_their_values(choices: str, expected: object) -> None:
    source = f"""
        from enum import Enum
        from pkg.names import CHOICES, COMPUTED, LAST, Owner, TABLE
        AMBIGUOUS = ["a"]
        AMBIGUOUS = ["b"]

        class Kind(Enum):
            ONE = "one"
            TWO = "two"

        def shorter():
            module = loaded.get("pkg.names")
            if module is not None:
                return list(module.CHOICES)
            from pkg.names import CHOICES as choices
            return list(choices)

        def either():
            return ["a"] if one() else ["b"]

        def add(parser):
            local = list(CHOICES)
            parser.add_argument("--x", choices={choices})
    """
    names = """
        CHOICES = ["a", "b"]
        LAST = "z"
        COMPUTED = compute(1,
                           2)
        TABLE = {"x": 1, "y": 2}
        class Owner:
            TABLE: dict = {"k": 1}
    """
    assert flag(source, {"names.py": names})["choices"] == expected


def test_a_default_of_a_class_is_followed_through_a_re_export_and_a_star() -> None:
    files = {
        "api.py": "from pkg.args_of import *\n",
        "args_of.py": "class Args:\n    size: int = 7\n    mode: str = None\n",
    }
    source = "from pkg.api import Args as A\nparser.add_argument('--size', default=A.size)\n"
    assert flag(source, files)["default"] == 7


def test_a_circle_of_imports_ends() -> None:
    files = {"b.py": "from pkg.args import X\n"}
    source = "from pkg.b import X\nparser.add_argument('--x', default=X)\n"
    assert flag(source, files)["default"] == Expression("X")


def test_a_name_that_a_parameter_is_part_of_shows_the_parameter() -> None:
    items = found({"a.py": "def add(p, prefix):\n    p.add_argument(f'--{prefix}port')\n"}, "flag")
    assert list(items) == ["--{prefix}port"]


def test_names_in_the_middle_of_the_way_are_remembered() -> None:
    files = {
        "args.py": "from pkg.n import A\nparser.add_argument('--x', choices=A)\n",
        "n.py": "B = ['v']\nA = B\n",
    }
    assert found(files, "flag")["--x"].origins == {"choices": ("pkg.n.A", "pkg.n.B")}


def test_names_that_a_function_returns_are_remembered() -> None:
    files = {
        "args.py": "def known():\n    from pkg.n import A\n    return list(A)\n"
        "parser.add_argument('--x', choices=known())\n",
        "n.py": "A = ['v']\n",
    }
    item = found(files, "flag")["--x"]
    assert item.details["choices"] == ("v",)
    assert item.origins == {"choices": ("pkg.args.known", "pkg.n.A")}


# -- routes -----------------------------------------------------------------------------------------


def test_routes_of_decorators_have_method_path_and_handler() -> None:
    source = """
        router = APIRouter(prefix="/v1")

        @app.get("/health")
        async def health(): ...

        @app.api_route("/flush", methods=["GET", "POST"])
        @app.post(path="/other")
        def flush(): ...

        @router.delete("/models/{name}")
        def gone(name): ...

        @app.post(os.environ.get("ROUTE", "/default"))
        def chosen(): ...

        @cache.get("key")
        def not_a_route(): ...
    """
    items = found({"server.py": source}, "route")
    assert {name: item.details["handler"] for name, item in items.items()} == {
        "GET /health": "health",
        "GET /flush": "flush",
        "POST /flush": "flush",
        "POST /other": "flush",
        "DELETE /v1/models/{name}": "gone",
        "POST /default": "chosen",
    }
    assert items["GET /health"].key.group == "pkg.server"


def test_routes_that_are_added_by_calls_count() -> None:
    source = (
        "app.router.add_route('*', '/route', handle)\napp.add_api_route('/x', f)\napp.mount('/metrics', m)\n"
    )
    assert set(found({"a.py": source}, "route")) == {"* /route", "* /x", "* /metrics"}


# -- environment variables --------------------------------------------------------------------------


def test_every_way_to_read_the_environment_counts_and_writing_does_not() -> None:
    source = """
        import os
        NAME = "BY_NAME"
        class Envs:
            DECLARED = EnvBool(False)
            OTHER = Something(1)
        a = os.getenv("A", "1")
        b = os.environ.get("B")
        c = os.environ["C"]
        if "D" in os.environ: pass
        e = get_bool_env_var("E")
        f = environ.pop("F", None)
        g = get_int_env_var(NAME)
        os.environ["WRITTEN"] = "1"
        os.environ[variable]
        def h(name): return os.getenv(name)
    """
    items = found({"a.py": source}, "environment")
    assert set(items) == {"DECLARED", "A", "B", "C", "D", "E", "F", "BY_NAME"}
    assert items["DECLARED"].details == {"type": "EnvBool", "default": False}


def test_a_variable_that_is_read_twice_has_two_places() -> None:
    files = {"a.py": "import os\nx = os.getenv('A')\n", "b.py": "import os\ndef f(): return os.getenv('A')\n"}
    places = found(files, "environment")["A"].places
    assert [(p.path, p.line, p.qualified) for p in places] == [
        ("python/pkg/a.py", 2, "pkg.a"),
        ("python/pkg/b.py", 2, "pkg.b.f"),
    ]


# -- registries -------------------------------------------------------------------------------------


def registry(source: str) -> dict[str, list[str]]:
    """group -> names."""
    groups: dict[str, list[str]] = {}
    for key in surface(package({"r.py": source}), PACKAGES):
        if key.kind == "registry":
            groups.setdefault(key.group, []).append(key.name)
    return groups


def test_architectures_are_entries_of_their_package() -> None:
    files = {"models/a.py": "class A: ...\nclass B: ...\nEntryClass = [A, B]\n"}
    assert set(found(files, "registry")) == {"A", "B"}
    assert {k.group for k in surface(package(files), PACKAGES)} == {"pkg.models"}


def test_decorators_and_calls_register_by_name() -> None:
    source = """
        def register_backend(name): ...
        class Factory:
            @classmethod
            def register(cls, name, value): ...

        @register_backend("one")
        def make_one(): ...

        @register_pair("a", "b")
        def make_pair(): ...

        Factory.register("two", object)

        def at_run_time(name):
            register_backend(name)
            self.register_buffer("not a registry", tensor)
    """
    assert registry(source) == {
        "pkg.r.register_backend": ["one"],
        "pkg.r.register_pair": ["a b"],
        "pkg.r.Factory.register": ["two"],
    }


def test_tables_map_names_to_what_does_the_work() -> None:
    source = """
        METHODS: dict = {"a": A, "b": mod.B, "c": lambda: 1, "d": make()}
        if flag():
            METHODS.update({"e": E})
        METHODS["f"] = F
        class Parser:
            Detectors = {"x": X}
        SIZES = {"small": 1}
        OPTIONS = {"k": call(1, 2)}
        def f():
            LOCAL = {"a": A}
    """
    assert registry(source) == {"pkg.r.METHODS": list("abcdef"), "pkg.r.Parser.Detectors": ["x"]}


def test_members_of_an_enumeration_go_by_their_text_else_by_their_name() -> None:
    source = "class Kind(str, Enum):\n    A = 'a-text'\n    B = auto()\n    _ignore_ = []\n"
    assert registry(source) == {"pkg.r.Kind": ["B", "a-text"]}


# -- console scripts and the whole ------------------------------------------------------------------


def test_console_scripts_come_from_every_project_file() -> None:
    files = {
        "python/pyproject.toml": '[project]\nname = "x"\n\n[project.scripts]\nrun = "pkg.cli:main"\n',
        "other/pyproject.toml": "not [ toml scripts",
    }
    items = surface(snapshot(files), PACKAGES)
    (item,) = items.values()
    assert item.key == Key("script", "python/pyproject.toml", "run")
    assert item.details == {"target": "pkg.cli:main"}
    assert item.places[0].line == 5


def test_the_conditions_on_the_way_to_a_place_are_kept() -> None:
    source = """
        import os
        if not ready():
            raise SystemExit
        if a:
            x = 1
        else:
            def f():
                y = is_x() and os.getenv("A")
                z = 1 if q else os.getenv("B")
                while b:
                    os.getenv("C")
    """
    items = found({"a.py": source}, "environment")
    common = (Condition("not ready()", False), Condition("a", False))
    assert items["A"].places[0].conditions == (*common, Condition("is_x()", True))
    assert items["B"].places[0].conditions == (*common, Condition("q", False))
    assert items["C"].places[0].conditions == (*common, Condition("b", True))


def test_a_file_that_does_not_parse_has_no_surface() -> None:
    assert surface(package({"a.py": "parser.add_argument('--x'\n"}), PACKAGES) == {}


BLOCK = '''
"""Docstring.

def looks_like_code(): ...
"""
import os

PADDING = """
def inside_a_string(): ...
"""


class Long:
    def method(self):
        return """
unindented
"""


@decorate
@app.get(
    "/x"
)
def handler():
    return os.getenv("A")


try:
    import fast
except ImportError:
    B = os.getenv("B")
else:
    C = os.getenv(
        "C"
    )
''' + "\n".join(f"def filler_{i}():\n    return {i}\n\n" for i in range(40))


def test_reading_only_what_can_tell_gives_what_reading_all_gives() -> None:
    data = BLOCK.encode()
    part = telling_part(data, telling(data))
    assert len(part.strip()) < len(data) / 2
    quick = surface(package({"a.py": data}), PACKAGES)
    whole = surface(package({"a.py": data.replace(b"\n", b"\r\n")}), PACKAGES)  # these are not taken apart
    assert {k: (i.places[0].line, i.details) for k, i in quick.items()} == {
        k: (i.places[0].line, i.details) for k, i in whole.items()
    }
    assert {k.name for k in quick} == {"A", "B", "C", "GET /x"}


def test_what_looks_telling_inside_a_string_does_not_mislead() -> None:
    data = (BLOCK + '\nTEXT = """\nx = os.getenv(\'NOT_ONE\')\n"""\n').encode()
    assert telling_part(data, telling(data)) == data
    assert "NOT_ONE" not in {k.name for k in surface(package({"a.py": data}), PACKAGES)}
