"""`python -m builder VERB`."""


def _run() -> int:
    """Run the command line; the exit status."""
    from builder.cli import main

    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
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
