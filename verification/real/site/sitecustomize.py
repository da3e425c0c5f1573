"""Begins every process of a server: packages that the machine lacks can be imported."""

import os
import sys

_names = os.environ.get("VERIFICATION_ABSENT", "").split()
if _names:
    sys.path.append(os.environ["VERIFICATION_ROOT"])
    from verification.machine import absent

    absent.install(_names, {})
