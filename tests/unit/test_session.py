"""A specialization that goes on after files left ends where one that begins again does, and rows leave."""

from __future__ import annotations

from textwrap import dedent

from small_package import module_of, run, sources

from builder.specialize.evaluating.facts import Facts, KnownValue, Registry
from builder.specialize.fixpoint import Session, specialize
from builder.specialize.program import Policy, Program
from builder.specialize.results import Specialized

FACTS = Facts(
    predicates={"pkg.platform.is_npu": KnownValue(False)}, quiet_imports=frozenset(["decord", "pkg.b"])
)
#: `b` is what leaves. Only it takes the import of `a` that no function of `a` reads, and calls the helper.
FILES = {
    "pkg/platform.py": "def is_npu():\n    return False\n",
    "pkg/a.py": """
        import decord
        from pkg.platform import is_npu


        def main():
            import decord

            if is_npu():
                return None
            return decord.frames


        def helper():
            return 1
    """,
    "pkg/b.py": "from pkg.a import decord, helper\n\nprint(decord, helper())\n",
    "pkg/main.py": "from pkg.a import main\n\nprint(main())\n",
}
UPSTREAM = {path: dedent(text).lstrip().encode() for path, text in FILES.items()}
NAMES = {path: path.removesuffix(".py").replace("/", ".") for path in FILES}
POLICY = Policy(FACTS, prune_symbols=lambda path: True)


def last(session: Session | None) -> tuple[Specialized, Specialized]:
    """What specializing all of the files gives, and then its output without one of them."""
    first = specialize(Program(UPSTREAM, UPSTREAM, NAMES), POLICY, session=session)
    left = {path: data for path, data in {**UPSTREAM, **first.files}.items() if path != "pkg/b.py"}
    program = Program(left, UPSTREAM, NAMES, removed=frozenset(["pkg.b"]))
    return first, specialize(program, POLICY, session=session)


def test_going_on_gives_what_beginning_again_gives() -> None:
    first, again = last(None)
    continued, more = last(Session())
    assert continued.files == first.files
    assert b"import decord\n\n\ndef main" in first.files["pkg/a.py"]
    assert again.files["pkg/a.py"] == b"def main():\n    import decord\n\n    return decord.frames\n"
    assert (more.files, more.emptied, more.leftovers, more.mismatches, more.uncertain) == (
        again.files, again.emptied, again.leftovers, again.mismatches, again.uncertain,
    )  # fmt: skip


def test_another_program_is_not_gone_on_with() -> None:
    session = Session()
    specialize(Program(UPSTREAM, UPSTREAM, NAMES), POLICY, session=session)
    other = {**UPSTREAM, "pkg/a.py": UPSTREAM["pkg/a.py"] + b"\n\nprint(helper())\n"}
    done = specialize(Program(other, UPSTREAM, NAMES), POLICY, session=session)
    assert done == specialize(Program(other, UPSTREAM, NAMES), POLICY)


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
