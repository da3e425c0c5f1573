"""Every place where what is gone is used is told in one run; `cuts/inherited.yaml` shows the messages."""

from __future__ import annotations

import pytest
from gate_worlds import package
from manifest_text import manifest

from builder.errors import BuildError
from builder.pipeline.cut import cut
from builder.report import as_dict, render

ONE = "class One:\n    pass\n\n\nEntryClass = One\n"
BATCH = "batches:\n  - id: notebook\n    why: nobody reads one\n    remove: [python/pkg/notebook.py]\n"


def test_every_place_of_a_cause_is_told_in_one_run() -> None:
    uses = "".join(f"print(Mixin, {number})\n" for number in range(40))
    files = {
        "models/one.py": ONE,
        "notebook.py": "class Mixin:\n    pass\n",
        "text.py": f"from pkg.notebook import Mixin\n\n{uses}",
        "main.py": "import pkg.text\nfrom pkg.models.one import One\n\nprint(One)\n",
    }
    with pytest.raises(BuildError) as caught:
        cut(package(files), manifest(f"prune_symbols: [python/pkg/**]\n{BATCH}"))
    (problem,) = caught.value.problems
    places = [problem, *problem.also]
    assert sorted(one.upstream.line for one in places if one.upstream) == list(range(3, 43))
    assert len(as_dict(problem)["also"]) == 39 and "and 15 more" in render(problem, {})
    assert problem.hint is not None and problem.hint.count("drop_statement: 'print(Mixin, ") == 40
    assert "python/pkg/text.py is used, but batch notebook removes pkg.notebook" in problem.message
