"""A specialization that goes on after some files left ends where one that begins again does."""

from __future__ import annotations

from textwrap import dedent

from builder.specialize.evaluating.facts import Facts, KnownValue
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
