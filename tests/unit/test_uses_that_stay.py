"""What the message about a use that cannot leave proposes: an edit that is written as it must be, or none."""

from __future__ import annotations

from textwrap import dedent

import pytest
from gate_worlds import package
from manifest_text import manifest

from builder.errors import BuildError
from builder.manifest.switches import choose
from builder.pipeline.cut import cut

MAIN = """\
from pkg.kinds import Fancy, Plain, Wide


def handlers(found):
    found(
        Fancy,
        Plain,
    )
    return [
        (Plain, "plain"),
        (Fancy, "fancy"),
        (Wide, "wide"), (Wide, "again"),
    ]
"""
FILES = {
    "__init__.py": "",
    "main.py": MAIN,
    "kinds.py": "class Plain:\n    pass\n\n\nclass Fancy:\n    pass\n\n\nclass Wide:\n    pass\n",
    "models/__init__.py": "",
    "models/one.py": "class OneForText:\n    pass\n\n\nEntryClass = OneForText\n",
}


def hint(main: str, absent: str, edits: str = "[]") -> str:
    """What the only problem of a cut proposes; empty when there is no problem."""
    rest = f"batches:\n  - {{id: a, why: w, absent: {{symbols: [pkg.kinds.{absent}]}}, edits: {edits}}}\n"
    try:
        cut(package({**FILES, "main.py": main}), manifest(rest))
    except BuildError as error:
        (problem,) = error.problems
        return problem.hint or ""
    return ""


def without_call(main: str) -> str:
    return main.replace("    found(\n        Fancy,\n        Plain,\n    )\n", "")


def test_an_entry_of_a_list_comes_with_the_edit_that_drops_it_and_that_edit_works() -> None:
    said = hint(without_call(MAIN), "Fancy")
    edit = "{drop_entry: '(Fancy, \"fancy\")', in: pkg.main.handlers}"
    assert said.endswith(f"To drop this one: {edit}.")
    assert hint(without_call(MAIN), "Fancy", f"[{edit}]") == ""


def test_an_entry_on_several_lines_leaves_as_a_whole() -> None:
    rows = MAIN.replace(
        '        (Fancy, "fancy"),\n', '        (\n            Fancy,\n            "fancy",\n        ),\n'
    )
    assert rows != MAIN
    edit = "{drop_entry: '(Fancy, ''fancy'')', in: pkg.main.handlers}"
    assert hint(without_call(rows), "Fancy").endswith(f"To drop this one: {edit}.")
    assert hint(without_call(rows), "Fancy", f"[{edit}]") == ""


EDITED = """\
batches:
  - {id: a, why: w, edits: [{set: pkg.kinds.SIZE, to: "2"}]}
  - {id: b, why: w, remove: [python/pkg/kinds.py]}
"""


@pytest.mark.parametrize("off_by_default", [True, False])
def test_an_edit_of_a_file_that_leaves_is_void_where_its_batch_is_off_by_default(
    off_by_default: bool,
) -> None:
    upstream = package({**FILES, "main.py": "X = 1\n", "kinds.py": "SIZE = 1\n"})
    scopes = "scopes:\n  small: {why: less, with: [b], pins: [seed]}\n" if off_by_default else ""
    stated = choose(manifest(scopes + EDITED), "default", ["b"] if off_by_default else [])
    if off_by_default:
        assert "python/pkg/kinds.py" not in cut(upstream, stated).output
        return
    with pytest.raises(BuildError) as caught:
        cut(upstream, stated)
    assert [problem.code for problem in caught.value.problems] == ["R005"]


def test_a_statement_of_several_lines_comes_with_the_edit_that_drops_it() -> None:
    main = """
        from pkg.kinds import Fancy

        def handlers(found):
            Fancy(
                found,
                now=found.now(),
            )
        """
    said = hint(dedent(main), "Fancy")
    edit = "{drop_statement: 'Fancy(found, now=found.now())', in: pkg.main.handlers}"
    assert said.endswith(f"To drop this one: {edit}.")
    assert hint(dedent(main), "Fancy", f"[{edit}]") == ""


def test_one_of_two_entries_on_a_line_comes_with_no_edit() -> None:
    said = hint(without_call(MAIN), "Wide")
    assert said.startswith("Build with") and "To drop" not in said


def test_of_an_entry_and_an_argument_of_a_call_only_the_entry_comes_with_an_edit() -> None:
    said = hint(MAIN, "Fancy")
    assert said.startswith("Build with") and said.count("drop_entry") == 1
    assert said.endswith("To drop this one: {drop_entry: '(Fancy, \"fancy\")', in: pkg.main.handlers}.")


def test_a_condition_comes_with_the_edit_that_makes_it_false_and_that_edit_works() -> None:
    main = (
        "from pkg.kinds import Fancy\n\n\ndef shown(value):\n    if value is None or known(value, Fancy):\n"
        "        return 1\n    return 2\n"
    )
    edit = "{replace: 'known(value, Fancy)', by: 'False', in: pkg.main.shown}"
    said = hint(main, "Fancy")
    assert said.endswith(f"Where the condition never holds: {edit}.")
    assert hint(main, "Fancy", f"[{edit}]") == ""


def test_an_entry_that_a_call_has_too_comes_with_no_edit() -> None:
    main = (
        "from pkg.kinds import Fancy, Plain\n\n\ndef kinds(value):\n"
        "    found = [\n        Plain,\n        Fancy,\n"
        "    ]\n    return value(found, Fancy)\n"
    )
    said = hint(main, "Fancy")
    assert said.startswith("Build with") and "drop_entry" not in said


WORDS = "batches:\n  - id: a\n    why: w\n    words: [fancy]\n"
ASKING = """\
from pkg.kinds import FancyOne, Plain


def shown(fancy_file, plain):
    if plain and fancy_file is not None:
        return FancyOne(fancy_file)
    return Plain()


class FancyReader:
    def read(self):
        return FancyOne(self)


def read():
    return FancyReader
"""


def test_a_use_under_a_condition_with_a_word_comes_with_the_edits_that_decide_it_or_stub_its_function() -> (
    None
):
    kinds = "class Plain:\n    pass\n\n\nclass FancyOne:\n    pass\n"
    files = {**FILES, "main.py": ASKING, "kinds.py": kinds}
    upstream = package(files)
    absent = "    absent: {symbols: [pkg.kinds.FancyOne]}\n"
    with pytest.raises(BuildError) as caught:
        cut(upstream, manifest(WORDS + absent))
    (problem,) = caught.value.problems
    assert problem.hint is not None
    edit = "{replace: 'if plain and fancy_file is not None: ...', by: 'if False: ...', in: pkg.main.shown}"
    stub = "`stub: [pkg.main.FancyReader.read]`"
    assert f"Where the condition never holds: {edit}." in problem.hint
    drop = "`drop: [pkg.main.FancyReader]` in the batch"
    assert f"To drop what a word names: {drop}; where others ask for it: {stub}." in problem.hint
    more = package({**files, "kinds.py": f"{kinds}\nNAMES = ['FancyReader']\n"})
    with pytest.raises(BuildError) as caught:
        cut(more, manifest(WORDS + absent))
    hint = str(caught.value.problems[0].hint)
    assert (
        f"Others ask for what a word names: {stub} in the batch; where they leave too: `drop: [pkg.main.F"
        in hint
    )
    rest = f"{WORDS}{absent}    edits: [{edit}]\n    stub: [pkg.main.FancyReader.read]\n"
    main = cut(upstream, manifest(rest)).output["python/pkg/main.py"]
    assert b"FancyOne" not in main and b"return Plain()" in main


def test_what_is_stored_in_the_state_of_an_application_comes_with_the_edit_that_drops_it() -> None:
    main = "from pkg.kinds import FancyOne\n\n\ndef start(app):\n"
    main += "    app.state.reader = FancyOne(\n        app\n    )\n"
    upstream = package({**FILES, "main.py": main, "kinds.py": "class FancyOne:\n    pass\n"})
    with pytest.raises(BuildError) as caught:
        cut(upstream, manifest(WORDS + "    absent: {symbols: [pkg.kinds.FancyOne]}\n"))
    (problem,) = caught.value.problems
    assert "{drop_statement: 'app.state.reader = ...', in: pkg.main.start}" in str(problem.hint)


def test_a_use_in_a_file_that_a_patch_adds_comes_without_an_edit() -> None:
    added = ["from pkg.kinds import Fancy", "", "", "def shown(found):", "    found(Fancy)"]
    patch = "--- /dev/null\n+++ b/python/pkg/ours.py\n@@ -0,0 +1,5 @@\n" + "".join(
        f"+{line}\n" for line in added
    )
    main = "import pkg.ours\n\n\nprint(pkg.ours.shown)\n"
    rest = "batches:\n  - id: a\n    why: w\n    absent: {symbols: [pkg.kinds.Fancy]}\n"
    rest += "    patches: [{from: overlays/p.patch, why: w}]\n"
    with pytest.raises(BuildError) as caught:
        cut(package({**FILES, "main.py": main}), manifest(rest, {"overlays/p.patch": patch.encode()}))
    (problem,) = caught.value.problems
    assert problem.upstream is not None
    assert (problem.code, problem.upstream.file) == ("R008", "python/pkg/ours.py")
    assert str(problem.hint).endswith("drop, stub or replace it with an edit.")
