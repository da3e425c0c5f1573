"""`python -m builder VERB`."""


def _run() -> int:
    """Run the command line; the exit status."""
    import sys

    try:
        from builder.cli import main

        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except ModuleNotFoundError as error:  # not even an internal error can be reported
        if str(error.name).partition(".")[0] == "builder":
            raise
        print(
            f"error: {sys.executable} has no package `{error.name}`.\n"
            "  = help: `make setup` makes an environment that has it: use .venv/bin/python",
            file=sys.stderr,
        )
        return 7
    return 0


def _leave(status: int) -> None:
    """Exit without freeing every object of a large heap one by one, which takes seconds.

    Where worker processes may wait for their end, the interpreter shuts down as usual.
    """
    import atexit
    import os
    import sys
    import threading

    if threading.active_count() == 1 and "multiprocessing" not in sys.modules:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:
                    stream.flush()
            except OSError:
                status = status or 1
        os._exit(status)
    raise SystemExit(status)


if __name__ == "__main__":
    try:
        _leave(_run())
    except KeyboardInterrupt:  # before anything was begun
        raise SystemExit(130) from None
