"""The files of a small upstream of our own, and a manifest for them with every kind of statement.

Their texts stand in small_files.yaml and small_manifest.yaml.
"""

from __future__ import annotations

from pathlib import Path

import yaml

_HERE = Path(__file__).parent
_TEXTS = yaml.load((_HERE / "small_files.yaml").read_text("utf-8"), yaml.CSafeLoader)

MANIFEST = (_HERE / "small_manifest.yaml").read_text("utf-8")
PARSER: bytes = _TEXTS["python"]["acme/parser.py"].encode()
FILES: dict[str, bytes | tuple[str, bytes]] = {
    "README.md": b"# acme\n\nServes models.\n",
    "LICENSE": b"Permission is granted.\n",
    ".github/workflow.yml": b"on: push\n",
    "docs/guide.md": b"A guide without a last newline",
    "docs/latest.md": ("120000", b"guide.md"),
    "docs/logo.bin": bytes(range(256)),
    "scripts/run.sh": ("100755", b"#!/bin/sh\nexec python -m acme.launch\n"),
    "docs/a name with \xe4 and spaces.md": b"odd\n",
    **{
        f"{top}/{path}": text.encode()
        for top in ("python", "sgl-kernel")
        for path, text in _TEXTS[top].items()
    },
}
OVERLAYS: dict[str, bytes] = {path: text.encode() for path, text in _TEXTS["overlays"].items()}
