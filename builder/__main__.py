"""`python -m builder VERB`."""


def _run() -> int:
    """Run the command line; the exit status."""
    from builder.cli import main

    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


if __name__ == "__main__":
    import atexit
    import os
    import sys

    try:
        status = _run()
    except KeyboardInterrupt:  # before anything was begun
        status = 130
    # the interpreter would free every object of a large heap one by one, which takes seconds
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = status or 141
    os._exit(status)
