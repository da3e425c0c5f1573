"""Rows that leave in a later pass, and the place because of which all of them stay."""

from __future__ import annotations

from small_package import module_of, run, sources

from builder.specialize.evaluating.facts import Facts, Registry
from builder.specialize.fixpoint import Session, specialize
from builder.specialize.program import Policy, Program

ASKED = frozenset(["pkg.rows.get"])
FACTS = Facts(registries=(Registry("pkg.rows.Row", "op", "target", "pkg.rows.add", "pkg.rows.table", ASKED),))
ROWS = """
    class Row:
        pass


    table = []


    def add(row):
        table.append(row)


    def get(op):
        return table[op]
"""
OPS = """
    from pkg.rows import Row, add, get

    add(Row(op="one", target="pkg.one:one"))


    def ask_one(x):
        return get("one")(x)
"""


def test_a_row_leaves_with_the_last_module_that_calls_its_function() -> None:
    texts = {
        "pkg/rows.py": ROWS,
        "pkg/ops.py": OPS,
        "pkg/more.py": "from pkg.rows import Row, add\n\nadd(Row(op='two', target='pkg.two:two'))\n",
        "pkg/user.py": "from pkg.ops import ask_one\n\nprint(ask_one(1))\n",
        "pkg/main.py": "import pkg.ops\nfrom pkg.rows import get\n\nprint(get('two'))\n",
    }
    upstream = sources(texts)
    names = {path: module_of(path) for path in texts}
    policy, ends = Policy(FACTS, prune_symbols=lambda path: True), []
    for session in (None, Session()):
        first = specialize(Program(upstream, upstream, names), policy, session=session)
        assert first.files == {}
        left = {path: data for path, data in upstream.items() if path != "pkg/user.py"}
        program = Program(left, upstream, names, removed=frozenset(["pkg.user"]))
        ends.append(specialize(program, policy, session=session).files)
    assert ends[0] == ends[1]
    assert ends[0].keys() == {"pkg/ops.py"}
    assert b"one" not in ends[0]["pkg/ops.py"]


def test_the_place_that_asks_for_what_cannot_be_told_is_named() -> None:
    main = "from pkg.ops import ask_one\nfrom pkg.rows import get\n\nprint(ask_one(get(input())))\n"
    done = run({"pkg/rows.py": ROWS, "pkg/ops.py": OPS, "pkg/main.py": main}, facts=FACTS)
    assert done.files == {}
    sentence = "all rows of pkg.rows.Row stay: what is asked for cannot be told"
    assert done.uncertain == [("pkg/main.py", 4, sentence)]
