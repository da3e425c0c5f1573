"""Begins every process of a server on the pretended machine: it is entered before SGLang is imported."""

import json
import os
import sys

if "VERIFICATION_WORLD" in os.environ:
    sys.path.append(os.environ["VERIFICATION_ROOT"])
    from verification.machine import processes

    processes.enter_with_sglang(json.loads(os.environ["VERIFICATION_WORLD"]))
