"""Files that are opened only by their names stay with whoever names them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from test_reached import done, left, stated, upstream, why

from builder.pipeline.data_files import HOLE, in_python, unused_paths

REST = "named_files: [python/pkg/csrc/]\nbatches: []\n"
SOURCES = {
    "csrc/topk.cuh": '#include "common.cuh"\n',
    "csrc/deep/topk_64.cuh": "",
    "csrc/common.cuh": "",
    "csrc/other.cuh": "",
    "csrc/other.h": "",
    "csrc/README": "",
}
CUH = {"topk.cuh", "deep/topk_64.cuh", "common.cuh", "other.cuh"}
ALL = {*CUH, "other.h"}
ENTRIES = {"a/entry.cuh", "a/deep/entry.cuh", "b/entry.cuh"}
LOAD = "from pkg.models.registry import load\n"


def kept(main: str, sources: Mapping[str, str] = SOURCES, **modules: str) -> set[str]:
    """The sources that stay with a module, and with others that it imports."""
    imports = "".join(f"import pkg.{name}\n" for name in modules)
    files = {**sources, **{f"{name}.py": text for name, text in modules.items()}}
    gone = left(done({**files, "main.py": LOAD + imports + main}, REST))
    return {path.removeprefix("csrc/") for path in sources if path not in gone} - {"README", "README.md"}


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("FILES = ['topk.cuh']\n", {"topk.cuh", "common.cuh"}),
        ("FILES = [f'deep/topk_{size}.cuh']\n", {"deep/topk_64.cuh"}),
        ("FILES = ['deep/topk_%d.cuh' % 64]\n", {"deep/topk_64.cuh"}),
        ("FILES = ['{kind}/topk_{size}.cuh'.format(**given)]\n", {"deep/topk_64.cuh"}),
        ("FILES = ['topk_' + size + '.cuh']\n", {"deep/topk_64.cuh"}),
        ("FILES = [kind + 'k_64.cuh']\n", {"deep/topk_64.cuh"}),
        ("FILES = ['_'.join([kind, '64.cuh'])]\n", {"deep/topk_64.cuh"}),
        ("FILES = [made(kind, '_64.cuh')]\n", {"deep/topk_64.cuh"}),
        ("FILES = ['-I../csrc/other.h', '{topk.cuh, other.h}']\n", {"topk.cuh", "common.cuh", "other.h"}),
        ("FILES = list(FOLDER.glob('*.h'))\n", {"other.h"}),
        ("FILES = []\n", set()),
    ],
)
def test_a_source_stays_where_python_or_a_source_that_stays_has_its_name(
    main: str, expected: set[str]
) -> None:
    assert kept(main) == expected


@pytest.mark.parametrize(
    "main",
    [
        "print(path.endswith('.cuh'), path.endswith(('.cuh', '.h')))\n",
        "print(suffix == '.cuh', suffix in {'.cuh', '.h'})\n",
        "EXTENSIONS = ('.cuh', '.h')\nprint(suffix in EXTENSIONS)\n",
        "EXTENSIONS: frozenset[str] = frozenset(['.cuh', '.h'])\nprint(suffix not in EXTENSIONS)\n",
        "def is_source(path):\n    '''Tell *.cuh and topk.cuh.'''\n    return path  # as other.cuh\n",
        "print('only .cuh files')\n",
    ],
)
def test_an_ending_that_is_only_compared_and_prose_name_nothing(main: str) -> None:
    assert kept(main) == set()


@pytest.mark.parametrize(
    "main",
    [
        "FILE = name + '.cuh'\n",
        "FILE = '%s%s' % (name, '.cuh')\n",
        "FILE = ''.join((name, '.cuh'))\n",
        "FILE = path.with_suffix('.cuh')\n",
        "FILE = '{}{}'.format(name, '.cuh')\n",
        "EXTENSION = '.cuh'\nFILE = f'{name}{EXTENSION}'\n",
        "EXTENSIONS = ('.cuh', '.hip')\nFILES = [name + one for one in EXTENSIONS]\n",
        "FILES = [name + one for one in '.cuh,.hip'.split(',')]\n",
        "class Kind:\n    extension = '.cuh'\n\n\ndef file(kind, name):\n    return name + kind.extension\n",
        "def file(name, extension='.cuh'):\n    return name + extension\n",
        "file += '.cuh'\n",
    ],
)
def test_an_ending_that_is_joined_to_what_only_the_run_knows_is_the_name_of_all_that_have_it(
    main: str,
) -> None:
    assert kept(main) == CUH


@pytest.mark.parametrize(
    "main",
    [
        "from pkg.kinds import EXTENSION\nFILE = name + EXTENSION\n",
        "from pkg.kinds import EXTENSION as END\nFILE = name + END\n",
        "FILE = name + pkg.kinds.EXTENSION\n",
        "FILE = name + getattr(pkg.kinds, 'EXTENSION')\n",
    ],
)
def test_an_ending_of_another_module_is_followed(main: str) -> None:
    kinds = "EXTENSION = '.cuh'\n"
    assert kept(main, kinds=kinds) == CUH
    assert kept("print(pkg.kinds.EXTENSION == suffix)\n", kinds=kinds) == set()


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("EXTENSION = '.cuh'\nFILE = 'other' + EXTENSION\n", {"other.cuh"}),
        ("def file():\n    stem = 'other'\n    return f'{FOLDER}/{stem}.cuh'\n", {"other.cuh"}),
        ("stem = 'other'\nstem = name\nFILE = f'{stem}.cuh'\n", CUH),
        ("stem = 'other'\n\n\ndef file(stem):\n    return f'{stem}.cuh'\n", CUH),
        ("from pkg.models.registry import *\nstem = 'other'\nFILE = f'{stem}.cuh'\n", CUH),
    ],
)
def test_a_part_that_the_file_shows_narrows_a_name(main: str, expected: set[str]) -> None:
    assert kept(main) == expected


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("FILE = 'a/entry.cuh'\n", {"a/entry.cuh"}),
        ("FILE = CSRC / 'a' / 'entry.cuh'\n", {"a/entry.cuh"}),
        ("FILE = os.path.join(CSRC, 'a', 'entry.cuh')\n", {"a/entry.cuh"}),
        ("FILE = CSRC.joinpath('a', 'entry.cuh')\n", {"a/entry.cuh"}),
        ("FILE = Path(CSRC, 'a', 'entry.cuh')\n", {"a/entry.cuh"}),
        ("FILE = './a/entry.cuh'\n", {"a/entry.cuh"}),
        ("FILE = '../csrc/a/entry.cuh'\n", {"a/entry.cuh"}),
        ("FILE = 'build/copy/b/entry.cuh'\n", {"b/entry.cuh"}),
        ("FILE = 'entry.cuh'\n", ENTRIES),
        ("FILE = CSRC / kind / 'entry.cuh'\n", ENTRIES),
        ("FILE = f'a/{above}/entry.cuh'\n", ENTRIES),
    ],
)
def test_a_name_with_a_folder_is_that_of_the_paths_that_end_so(main: str, expected: set[str]) -> None:
    assert kept(main, {f"csrc/{path}": "" for path in ENTRIES}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('#include "config.h"\n', {"a/config.h"}),
        ('#  include "../b/config.h"\n', {"b/config.h"}),
        ('#include "b/config.h"\n', {"b/config.h"}),
        ("#include <config.h>\n", {"a/config.h", "b/config.h"}),
        ('#include "only.h"\n', {"b/only.h"}),
        ('#include "other/only.h"\n', set()),
        ('#define CONFIG "b/config.h"\n', {"b/config.h"}),
        ("#define STEM config\n#include STRING(STEM.h)\n", {"a/config.h", "b/config.h", "b/only.h"}),
        ("// like b/config.h, and any *.h\n", set()),
        ('#include "."\n', set()),
    ],
)
def test_an_include_is_the_file_beside_it_or_each_whose_path_ends_so(text: str, expected: set[str]) -> None:
    sources = {"csrc/a/main.cuh": text, "csrc/a/config.h": "", "csrc/b/config.h": "", "csrc/b/only.h": ""}
    assert kept("FILE = 'main.cuh'\n", sources) - {"a/main.cuh"} == expected


def test_a_module_that_does_not_parse_may_name_every_file() -> None:
    (name,), constants = in_python(b"print name + '.cuh'\n", (".cuh",))
    assert (name.name, constants) == (HOLE + ".cuh", ())


def test_a_path_that_no_text_is_searched_for_stays() -> None:
    assert kept("", {"csrc/a+b.cuh": "", "csrc/a.cuh": ""}) == {"a+b.cuh"}


def test_a_document_names_nothing_and_is_not_opened_by_its_name() -> None:
    sources = {"csrc/README.md": "See `*.cuh`, `{a,b}.cuh` and `a.cuh`.\n", "csrc/a.cuh": ""}
    found = done({**sources, "main.py": LOAD}, REST)
    assert left(found) == {"csrc/a.cuh"}
    assert why(found, "csrc/README.md")[1].startswith("it follows")


def test_a_source_that_only_removed_python_names_leaves_and_says_why() -> None:
    files = {**SOURCES, "idle.py": "FILES = ['topk.cuh']\n"}
    found = done(files, REST)
    assert {"idle.py", "csrc/topk.cuh"} <= left(found)
    assert why(found, "csrc/topk.cuh") == ("base", "nothing that stays names it")


def test_a_source_that_stays_says_who_names_it() -> None:
    found = done({**SOURCES, "main.py": f"{LOAD}FILES = ['topk.cuh']\n"}, REST)
    assert why(found, "csrc/topk.cuh") == ("base", "python/pkg/main.py:2 names it")
    assert why(found, "csrc/common.cuh") == ("base", "python/pkg/csrc/topk.cuh:1 names it")


def test_files_that_no_statement_is_about_follow_the_modules_beside_them() -> None:
    assert not any(path.startswith("csrc/") for path in left(done(SOURCES)))


def test_a_statement_about_named_files_that_matches_nothing_is_a_mistake() -> None:
    files = upstream({"__init__.py": ""})
    named, pruned = unused_paths(files, stated(f"prune_symbols: [python/, python/none/]\n{REST}"))
    assert (named.code, named.nothing) == (pruned.code, pruned.nothing) == ("R009", True)
    assert "named_files: python/pkg/csrc/" in named.message
    assert "prune_symbols: python/none/" in pruned.message
