"""Runs the random programs of the soundness test over several processes.

    .venv/bin/python tests/soundness.py --programs 1000000 --jobs 8 [--seed 0] [--seconds 500]
    .venv/bin/python tests/soundness.py --show SEED

Each seed is a batch of programs; batch after batch is specialized and run before and after. The last line
says how many programs ran, how many batches failed, and at which commit. `--seconds` ends a run early: the
line then names the seed at which the next one goes on. Exit status 1 when one failed.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "unit")]

from program_check import BATCH, differences, imported, programs  # noqa: E402

#: The versions of Python before which a name that one comprehension binds is unbound in the next one
#: (python/cpython#118513): there a program can fail that should not, before it is specialized.
_UNBINDS = ((3, 12), (3, 12, 4))

#: What a batch may take, in seconds of processor time; most take a tenth of a second.
_LIMIT = 120

#: The batches that a process gets at a time, and its share of those after which the clock is read.
_CHUNK, _SHARE = 10, 40


class TooLong(BaseException):
    """No error that a program may catch."""


def check(seed: int) -> tuple[int, list[str]]:
    """The seed of a batch, and what differs in it, or that it takes too long."""
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, _LIMIT)
    try:
        return seed, differences(programs(seed), imported(seed))
    except (Exception, TooLong) as error:
        return seed, [f"{type(error).__name__}: {error}"]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong(f"takes longer than {_LIMIT} s\n{''.join(traceback.format_stack(frame)[-12:])}")


def collect_rarely() -> None:
    """Syntax trees with parents are cycles: collecting them often takes a quarter of the time."""
    gc.freeze()
    gc.set_threshold(1_000_000, 50, 100)


def commit() -> str:
    """The commit that is checked out, with a plus sign when files differ from it; "unknown" without git."""
    head = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
        cwd=HERE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return head.stdout.strip() or "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=10_000, help="how many programs (10,000)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--seconds", type=float, help="begin no more batches after this time")
    parser.add_argument("--show", type=int, metavar="SEED", help="what differs in the batch of this seed")
    asked = parser.parse_args()
    if asked.show is not None:
        different = check(asked.show)[1]
        print("\n".join(different) or "nothing differs")
        return 1 if different else 0
    if _UNBINDS[0] <= sys.version_info[:3] < _UNBINDS[1]:
        print("run what fails here once more with another Python: python/cpython#118513", file=sys.stderr)
    end = asked.seed + max(1, asked.programs // BATCH)
    failed: list[int] = []
    start = time.monotonic()
    seed = asked.seed
    with multiprocessing.Pool(asked.jobs, collect_rarely) as pool:
        while seed < end and (not asked.seconds or time.monotonic() < start + asked.seconds):
            seeds = range(seed, min(end, seed + asked.jobs * _SHARE))
            for each, different in pool.imap_unordered(check, seeds, _CHUNK):
                if different:
                    failed.append(each)
                    print(f"seed {each} fails: {different[0].splitlines()[0]}", file=sys.stderr, flush=True)
            seed = seeds.stop
    ran = (seed - asked.seed) * BATCH
    print(
        f"{ran:,} programs from seed {asked.seed}, {len(failed):,} batches fail, at commit {commit()}, "
        f"{ran / (time.monotonic() - start):.0f} programs a second; the next seed is {seed}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
