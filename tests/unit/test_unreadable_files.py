"""A kept file that is no Python, and a call without a text, stop no question about the whole program."""

from __future__ import annotations

from small_package import run

from builder.errors import Mark
from builder.manifest.statements import Absent
from builder.specialize.evaluating.facts import Facts

BROKEN = "x = = 1\n"


def without_module(name: str) -> Facts:
    return Facts(modules={name: Absent("module", name, Mark("manifest.yaml"), "one")})


def test_a_handler_whose_helper_cannot_be_read_keeps_its_try() -> None:
    source = "from pkg.b import why\n\ntry:\n    import aiter_x\nexcept ImportError:\n    why()\n"
    helper = BROKEN + "def why(): pass\n"
    done = run({"pkg/a.py": source, "pkg/b.py": helper}, facts=without_module("aiter_x"))
    assert done.files.get("pkg/a.py", source.encode()).decode() == source
    assert done.mismatches == []


def test_a_file_that_cannot_be_read_may_take_a_submodule() -> None:
    user = (
        "from pkg.platform import is_npu\nfrom pkg.sub.deep import f\n\n\n"
        "def g():\n    if is_npu():\n        return f()\n"
    )
    files = {
        "pkg/a.py": "from pkg import sub\nimport pkg.user\n\nprint(sub)\n",
        "pkg/sub/__init__.py": "",
        "pkg/sub/deep.py": "def f():\n    return 2\n",
        "pkg/user.py": user,
        "pkg/b.py": BROKEN + "p.deep\n",
    }
    done = run(files)
    assert done.files["pkg/user.py"].startswith(b"import pkg.sub.deep\n")
    assert done.mismatches == []


def test_an_argument_whose_flag_is_gone_leaves() -> None:
    source = (
        "from pkg.gone import FLAG\n\n\ndef add(parser):\n    parser.add_argument(FLAG)\n    return parser\n"
    )
    done = run({"pkg/a.py": source}, facts=without_module("pkg.gone"))
    assert b"add_argument" not in done.files["pkg/a.py"]


def test_a_file_that_cannot_be_read_gives_no_field() -> None:
    source = (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Args:\n"
        "    size: int = 1\n    mode: int = 2\n\n\ndef make():\n    return Args(1)\n"
    )
    symbol = Absent("symbol", "pkg.a.Args.mode", Mark("manifest.yaml"), "one")
    files = {"pkg/a.py": source, "pkg/b.py": BROKEN + "Args(1, 2)\n"}
    done = run(files, facts=Facts(symbols={symbol.name: symbol}))
    assert b"mode" not in done.files["pkg/a.py"]
    assert done.mismatches == []
