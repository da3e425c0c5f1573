"""Runs a program of the tree as `python -m` does, with words on its command line."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys

from verification.machine import setup
from verification.probes.request import received


def main() -> None:
    request = received()
    asked = request.question
    setup.pretend(request.tree, tuple(asked["capability"]), asked["devices"], numbers=False)
    sys.argv = [asked["program"], *asked["words"]]
    printed = io.StringIO()
    status: object = 0
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_module(asked["program"], run_name="__main__", alter_sys=True)
        except SystemExit as stop:
            status = stop.code or 0
        except BaseException as error:
            status = f"{type(error).__name__}: {error}"[:300].replace(str(request.tree), "<tree>")
    request.answer({"status": status, "lines": printed.getvalue().count("\n")})


if __name__ == "__main__":
    main()
