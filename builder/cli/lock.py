"""lock: build pins twice and record their digests."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import click

from builder.cli import options, output, stages
from builder.errors import BuildError, Problem
from builder.pipeline import build, tools
from builder.pipeline.lockfile import record


@click.command("lock")
@options.upstream_options
def command(**shared: Any) -> None:
    """Build UPSTREAM (default: every pin of the manifest) in memory and record its digests."""
    gc.disable()
    request = options.ask(**shared)
    pins = [shared["upstream"]] if shared.get("upstream") else list(request.manifest.upstream.pins)
    problems: list[Problem] = []
    for pin in pins:
        one = replace(request, upstream=pin)
        try:
            upstream = options.resolve(one)
            done = stages.proven_outcome(one, upstream)
            output.stage("packing")
            _, proof = build.assemble(done, upstream, one.manifest, one.without, tools.versions())
            output.note(record(one.root, pin, proof, one.without))
        except BuildError as error:  # go on: the other pins may succeed
            problems += error.problems
    if problems:
        raise BuildError(problems)
