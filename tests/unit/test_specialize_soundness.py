"""A random program does the same under the facts and after specialization.

Same results, same effects in the same order, same kinds of exceptions. The long profile runs 1,000,000
programs, or as many as EXAMPLES says; SEED moves it to other ones. `tests/soundness.py` runs them over
several processes.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from program_check import AROUND, BATCH, differences, imported, programs, specialized
from program_run import run

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")

LONG = settings.get_current_profile_name() == "long"
#: Tests that share the programs, so that several processes can.
PARTS = 3
EXAMPLES = int(os.environ.get("EXAMPLES", 1_000_000 if LONG else 300))


@pytest.mark.parametrize("part", range(PARTS))
@given(st.integers(0, 2**48))
@settings(
    max_examples=max(1, EXAMPLES // BATCH // PARTS), phases=[Phase.reuse, Phase.generate]
)  # a seed cannot shrink
def test_a_program_does_the_same_before_and_after(part: int, seed: int) -> None:
    seed += (int(os.environ.get("SEED", "0")) * PARTS + part) << 48
    different = differences(programs(seed), imported(seed))
    assert not different, "\n".join(different)


def test_the_random_programs_ask_the_facts_and_run_to_the_end() -> None:
    """The soundness test would prove nothing if its programs decided nothing, crashed or were left out."""
    ends: list[str] = []
    decided = stopped = 0
    for seed in range(12):
        written = programs(seed)
        later = imported(seed)
        result = specialized({**AROUND, **later, **written})
        decided += result.decided
        stopped += len({item.path for item in result.leftovers})
        ends += [run({**AROUND, p: t}, 0, True, later).end.split()[0] for p, t in written.items()]
    assert decided > 50
    assert ends.count("returns") > len(ends) / 2
    assert stopped < len(ends) / 2


def test_a_random_program_does_the_same_each_time() -> None:
    """What differs between two runs of one text would say nothing about specialization."""
    for seed in range(20):
        for path, text in programs(seed).items():
            files = {**AROUND, path: text}
            later = imported(seed)
            assert run(files, 1, True, later) == run(files, 1, True, later), text
