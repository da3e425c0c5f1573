"""What report.html shows of the small world."""

from __future__ import annotations

from typing import Any

from memory_store import MemoryStore
from test_outcome import Step, run

from builder.pipeline.answers.context import Context
from builder.pipeline.report_page import report_data
from builder.pipeline.run import Recalled


def shown_of_small_world() -> tuple[Context, dict[str, Any]]:
    done, upstream, manifest = run(Step(), Recalled.of(MemoryStore()))
    context = Context(done, manifest)
    return context, report_data(context, done.figures, upstream, "acme-1.whl", "1.2.3+small", ())
