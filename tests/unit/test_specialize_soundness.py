"""A random program does the same under the facts and after specialization.

Same results, same effects in the same order, same kinds of exceptions. The long profile runs 100,000
programs; SEED moves it to other ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from random import Random
from textwrap import indent
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_text import manifest
from program_parts import AROUND, FACTS
from program_run import run
from random_program import Program

from builder.specialize import fixpoint
from builder.specialize.facts import Facts
from builder.specialize.fixpoint import specialize
from builder.specialize.results import Specialized

LONG = settings.get_current_profile_name() == "long"
#: Programs that are specialized together, since most of the time goes into what is around them.
BATCH = 5
EXAMPLES = (100_000 if LONG else 300) // BATCH
GONE = {"pkg/gone.py": "class Gone: pass\nclass GoneError(Exception): pass\n", "pkg/void.py": "missing = 1\n"}
KNOWN = Facts.of(
    manifest("batches:\n  - id: one\n    why: what is true on the target\n" + indent(FACTS, "    "))
)


def programs(seed: int) -> dict[str, str]:
    """Path -> source of a batch of programs."""
    random = Random(seed)
    sizes = [random.choice([2, 3, 5, 8, 14, 25]) for _ in range(BATCH)]
    return {f"pkg/prog{i}.py": Program(random, size).text() for i, size in enumerate(sizes)}


def specialized(files: Mapping[str, str]) -> Specialized:
    names = {path: _module(path) for path in (*files, *GONE)}
    with patch.object(fixpoint, "format_files", lambda texts: {}):  # layout is not meaning
        return specialize(
            files={path: text.encode() for path, text in files.items()},
            upstream={path: text.encode() for path, text in {**files, **GONE}.items()},
            names=names,
            removed={_module(path): "a rule" for path in GONE},
            facts=KNOWN,
            may_prune=lambda path: True,
        )


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@given(st.integers(0, 2**48))
@settings(max_examples=EXAMPLES)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_program_does_the_same_before_and_after(seed: int) -> None:
    seed += int(os.environ.get("SEED", "0")) << 48
    written = programs(seed)
    files = {**AROUND, **written}
    result = specialized(files)
    assert result.mismatches == []
    after = {**files, **{path: data.decode() for path, data in result.files.items()}}
    open_uses = {item.path for item in result.leftovers}
    for path in written:
        if path in open_uses:  # the build would stop here
            continue
        for choice in range(3):
            one = run({**AROUND, path: files[path]}, choice, gone=True)
            two = run({**{p: after[p] for p in AROUND}, path: after[path]}, choice, gone=False)
            assert one == two, f"{files[path]}\n--- after ---\n{after[path]}"


def test_the_random_programs_ask_the_facts_and_run_to_the_end() -> None:
    """The soundness test would prove nothing if its programs decided nothing or always crashed."""
    ends: list[str] = []
    decided = 0
    for seed in range(12):
        written = programs(seed)
        decided += specialized({**AROUND, **written}).decided
        ends += [run({**AROUND, p: text}, 0, gone=True).end.split()[0] for p, text in written.items()]
    assert decided > 50
    assert ends.count("returns") > len(ends) / 2
