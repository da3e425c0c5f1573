"""Uses of what is gone: the message names the statement behind it, through bases, imports and conditions."""

from __future__ import annotations

import re

import pytest
from gate_worlds import package
from manifest_text import manifest

from builder.errors import BuildError, Problem
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.report import as_dict, render

FILES = {
    "models/one.py": "class One:\n    pass\n\n\nEntryClass = One\n",
    "notebook.py": "class Mixin:\n    pass\n\n\nclass Shown:\n    pass\n",
    "text.py": (
        "from pkg.notebook import Mixin, Shown\n\n\n"
        "class Text(Mixin, Shown):\n    def show(self):\n        return 1\n\n\n"
        "class Line(Text):\n    pass\n\n\nclass Rule(Mixin):\n    pass\n"
    ),
    "table.py": (
        "from pkg import notebook as shown\nfrom pkg.text import Rule\n\n\n"
        "class Table(shown.Mixin):\n    def rule(self):\n        return Rule()\n"
    ),
    "main.py": (
        "from pkg.models.one import One\nfrom pkg.table import Table\nfrom pkg.text import Line, Text\n\n\n"
        "def run(width):\n    table = Table()\n    return One, Text(), Line(), table, Text.show\n\n\n"
        "print(run(Text))\n"
    ),
}
BATCH = "batches:\n  - id: notebook\n    why: nobody reads one\n    remove: [python/pkg/notebook.py]\n"
PRUNED = "prune_symbols: [python/pkg/**]\n"


def done(rest: str, **changed: str) -> Cut:
    return cut(package({**FILES, **changed}), manifest(PRUNED + rest))


def problems(rest: str, **changed: str) -> tuple[Problem, ...]:
    with pytest.raises(BuildError) as caught:
        done(rest, **changed)
    return caught.value.problems


def test_a_removed_base_is_named_once_for_all_that_inherit_it_with_the_edits_that_drop_it() -> None:
    problem, *others = problems(BATCH)
    assert not others and problem.code == "R008" and problem.hint is not None
    assert problem.message.startswith(
        "`Table` and `Text` leave because they inherit `Mixin` and `Shown`, which batch notebook removes, "
        "and they are used in "
    )
    assert problem.mark is not None and problem.mark.line == 16
    edits = re.findall(r"\{[^}]+\}", problem.hint)
    assert edits == [
        "{drop_entry: shown.Mixin, in: pkg.table.Table}",
        "{drop_entry: Mixin, in: pkg.text.Text}",
        "{drop_entry: Shown, in: pkg.text.Text}",
        "{drop_entry: Mixin, in: pkg.text.Rule}",
    ]
    assert "that only removed code uses: {drop_entry: Mixin, in: pkg.text.Rule}." in problem.hint
    written = "".join(f"      - {edit}\n" for edit in edits)
    found = done(f"{BATCH}    edits:\n{written}")
    assert b"class Text:" in found.output["python/pkg/text.py"]
    assert b"class Rule:" in found.output["python/pkg/text.py"]
    assert b"class Table:" in found.output["python/pkg/table.py"]


def test_a_base_of_several_classes_is_dropped_by_one_edit() -> None:
    text = FILES["text.py"].replace("class Line(Text)", "class Line(Mixin)")
    (problem,) = problems(BATCH, **{"text.py": text})
    edit = "{drop_entry: Mixin, in: [pkg.text.Line, pkg.text.Text]}"
    assert problem.hint is not None and edit in problem.hint
    written = "".join(f"      - {edit}\n" for edit in re.findall(r"\{[^}]+\}", problem.hint))
    assert (
        b"class Line:"
        in done(f"{BATCH}    edits:\n{written}", **{"text.py": text}).output["python/pkg/text.py"]
    )


def test_every_place_of_a_cause_is_told_in_one_run() -> None:
    (problem,) = problems(BATCH)
    uses = "".join(f"print(Mixin, {number})\n" for number in range(40))
    (direct,) = problems(BATCH, **{"text.py": f"from pkg.notebook import Mixin\n\n{uses}", "main.py": USER})
    places = [direct, *direct.also]
    assert sorted(one.upstream.line for one in places if one.upstream) == list(range(3, 43))
    assert len(as_dict(direct)["also"]) == 39 and "and 15 more" in render(direct, {})
    assert direct.hint is not None and direct.hint.count("drop_statement: 'print(Mixin, ") == 40
    assert "python/pkg/text.py is used, but batch notebook removes pkg.notebook" in direct.message
    assert [one.upstream.file for one in (problem, *problem.also) if one.upstream][:2] == [
        "python/pkg/table.py", "python/pkg/text.py",
    ]  # fmt: skip


USER = "import pkg.text\nfrom pkg.models.one import One\n\nprint(One)\n"
FACT = (
    "batches:\n  - id: linux\n    why: nothing else\n    facts:\n      values:\n        sys.platform: linux\n"
)
GUARDED = """\
import sys

try:
    if sys.platform != "win32":
        raise ImportError
    from pkg.console import handle, mode
except ImportError:

    def features():
        return None

else:

    def features():
        return handle(), mode()
"""


@pytest.mark.parametrize(
    "text",
    [
        GUARDED,
        "import sys\n\nWINDOWS = sys.platform == 'win32'\n\nif WINDOWS:\n"
        "    from pkg.console import handle, mode\n\n\ndef features():\n    return handle(), mode()\n",
    ],
)
def test_what_leaves_by_a_fact_names_the_fact_and_its_place(text: str) -> None:
    files = {
        "console.py": "def handle():\n    return 1\n\n\ndef mode():\n    return 2\n",
        "main.py": f"from pkg.windows import features\n{USER}\nprint(features())\n",
        "windows.py": text,
    }
    (problem,) = problems(FACT, **files)
    assert problem.message == (
        "`handle` and `mode` in features are used, but they are gone: on the target sys.platform is linux."
    )
    assert problem.mark is not None and str(problem.mark) == "manifest.yaml:18:9"
    assert problem.hint is not None and problem.hint.startswith("Build with `--without linux`.")
    assert len(problem.also) == 1


def test_a_module_that_imports_from_itself_does_not_define_the_name() -> None:
    files = {
        "text.py": (
            "from pkg.notebook import Mixin\n\n\nclass Text(Mixin):\n    pass\n\n\n"
            'if __name__ == "__main__":\n    from pkg.text import Text as Text\n'
        ),
        "main.py": "from pkg.models.one import One\nfrom pkg.text import Text\n\nprint(One, Text())\n",
    }
    (problem,) = problems(BATCH, **files)
    assert problem.code == "R008" and problem.message.startswith("`Text` leaves because it inherits `Mixin`")
