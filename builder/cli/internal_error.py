"""An exception that nobody foresaw: one line for the user, the traceback in a file of the cache folder."""

from __future__ import annotations

import contextlib
import platform
import sys
import traceback
from pathlib import Path

import click

from builder import __version__
from builder.adapter import PROGRAM
from builder.cli import output
from builder.errors import Problem
from builder.upstream.cache import default_cache

#: The traceback of the last internal error; the next one overwrites it.
LOG = "internal-error.log"


def as_problem(error: Exception) -> Problem:
    """E070 for an exception, with its type, its message and the line that raised it; writes the log."""
    text = "".join(traceback.format_exception(error))
    if output.settings.debug:
        click.echo(text, err=True, nl=False)
    log = _write_log(text)
    traced = "run it again with `--debug` before the verb for the traceback"
    traced = f"the traceback is in {log}" if log else traced
    # the innermost frame inside of the builder: a library that raised says little
    frames = traceback.extract_tb(error.__traceback__)
    frame = ([f for f in frames if "builder" in f.filename] or frames)[-1]
    origin = f"{frame.filename.rpartition('builder/')[2]}:{frame.lineno} in {frame.name}"
    message = f"Internal error: {type(error).__name__}: {error} ({origin})."
    hint = f"{traced}; please report it with the manifest and the upstream; the output is unchanged"
    return Problem("E070", message, hint=hint)


def _write_log(text: str) -> Path | None:
    head = f"{PROGRAM} {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    path = (output.settings.cache or default_cache()).absolute() / LOG
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{sys.argv}\n\n{text}", "utf-8", "backslashreplace")
        return path
    return None
