"""The options of a tree's servers, asked of the parser that the tree has."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence

from verification import names
from verification.real.place import Place

#: A program of its own: nothing of the harness is on the path of a tree that is installed.
_ASK = """
import argparse, json, sys
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
open(sys.argv[1], "w").write(json.dumps(sorted(parser._option_string_actions)))
"""
_PATIENCE = 240  # seconds to import the arguments of a server
_asking = threading.Lock()


def worded(place: Place, words: Sequence[str]) -> list[str]:
    """Words by the names that the tree's parser has for them.

    Raises RuntimeError when it cannot be asked, LookupError when it has no such option.
    """
    return names.worded(words, _of(place))


def _of(place: Place) -> list[str]:
    """The option strings; a tree is asked once."""
    kept = place.work / f"options-{place.role}.json"
    with _asking:
        if not kept.exists():
            partial = kept.with_suffix(f".{os.getpid()}")
            try:
                done = subprocess.run(
                    [place.python, "-c", _ASK, str(partial)], cwd=place.work, env=place.environment(),
                    capture_output=True, text=True, timeout=_PATIENCE,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"the parser of {place.role} took over {_PATIENCE} seconds") from None
            if done.returncode or not partial.exists():
                end = "\n".join(done.stderr.splitlines()[-15:])
                raise RuntimeError(f"the parser of {place.role} cannot be asked\n{end}")
            partial.rename(kept)
    found: list[str] = json.loads(kept.read_text())
    return found
