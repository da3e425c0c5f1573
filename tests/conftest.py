"""Hypothesis profiles, and the worlds that most tests of whole builds begin with.

HYPOTHESIS_PROFILE=long runs the random tests for hours instead of seconds.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from small_world import World, small_world

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", deadline=None, suppress_health_check=_SLOW)
settings.register_profile(
    "long", deadline=None, suppress_health_check=_SLOW, max_examples=100_000, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure() -> None:
    """Collect garbage seldom: most tests build, and a build makes objects by the million that stay.

    A session in the background ignores interruptions, and so would every program that a test starts.
    """
    gc.set_threshold(100_000, 50, 50)
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return small_world(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world with an output that no test may change."""
    made = small_world(tmp_path_factory.mktemp("world"))
    made.good("dist")
    return made
