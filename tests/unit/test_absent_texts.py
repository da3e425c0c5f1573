"""An absent text leaves a dict, whatever else of the program has the text."""

from __future__ import annotations

import pytest
from small_package import run

from builder.errors import Mark
from builder.manifest.statements import Option
from builder.specialize.evaluating.facts import Facts

FACTS = Facts(options=(Option(("*backend*",), ("fa3",), "one", mark=Mark("manifest.yaml")),))
TABLE = 'backend_table = {"fa3": 1, "triton": 2}\n'


@pytest.mark.parametrize(
    "use",
    [
        'order = ["fa3", "triton"]\nfor name in order:\n    print(name)\n',
        'known = ["fa3", "triton"]\n\n\ndef ask(name):\n    return name in known, known.index(name)\n',
        'first, second = "fa3", "triton"\n',
        'weights = {"fa3": 1, "triton": 2}\n\n\ndef ask(name):\n    return weights[name]\n',
        'def make():\n    return "fa3", object()\n',
    ],
)
def test_an_absent_key_leaves(use: str) -> None:
    done = run({"pkg/a.py": TABLE + use}, facts=FACTS)
    assert done.files["pkg/a.py"].decode().startswith('backend_table = {"triton": 2}\n')
