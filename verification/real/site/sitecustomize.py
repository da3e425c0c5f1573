"""Begins every process of a server: packages that the machine lacks can be imported, lines are recorded."""

import os
import sys

_names = os.environ.get("VERIFICATION_ABSENT", "").split()
_edited = any(name in os.environ for name in ("VERIFICATION_LINES", "VERIFICATION_EDIT"))
if _names or _edited:
    sys.path.append(os.environ["VERIFICATION_ROOT"])
if _edited:
    from verification.real import edited

    edited.begin()
if _names:
    from verification.machine import absent

    absent.install(_names, {})
