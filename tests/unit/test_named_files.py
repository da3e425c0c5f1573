"""Files that are opened only by their names stay with whoever names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from gate_worlds import snapshot
from small_world import MANIFEST, load_world

from builder.pipeline.named_files import unnamed, unused_named_files
