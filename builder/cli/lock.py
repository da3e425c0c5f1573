"""lock: build pins twice and record their digests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from builder.cli import options, output, stages
from builder.cli.options import Request
from builder.errors import BuildError, Problem
from builder.manifest.model import DEFAULT_SCOPE
from builder.manifest.named_scopes import choose
from builder.pipeline import build, tools


@click.command("lock")
@options.upstream_options
@click.option("--record", "with_record", is_flag=True, help="Also keep the cut, so that `dist` applies it.")
def command(with_record: bool, **shared: Any) -> None:
    """Build UPSTREAM in memory and record its digests.

    By default every pin of the manifest is proven, and every named scope at its pins; with --scope, that
    scope at its pins.
    """
    gc.disable()
    request = options.ask(**shared)
    wanted = [request] if shared.get("upstream") else list(_proven(request))
    problems: list[Problem] = []
    for one in wanted:
        try:
            _prove(one, with_record)
        except BuildError as error:  # go on: the others may succeed
            problems += error.problems
    if problems:
        raise BuildError(problems)


def _proven(request: Request) -> Iterator[Request]:
    """What the lock is to hold: the chosen scope at its pins, after the default one every other."""
    manifest = request.manifest
    scope = manifest.named_scope
    for pin in scope.pins if scope is not None else manifest.upstream.pins:
        yield replace(request, upstream=pin)
    if scope is None and not request.without:
        for name in manifest.scopes:
            yield from _proven(replace(request, manifest=choose(request.whole or manifest, name)))


def _prove(request: Request, with_record: bool) -> None:
    """Build one upstream and record it. Raises BuildError."""
    manifest, scope = request.manifest, request.manifest.scope_name
    if scope != DEFAULT_SCOPE:
        output.note(f"scope   {scope}")
    upstream = options.resolve(request)
    done = stages.proven_outcome(request, upstream)
    output.stage("packing")
    _, proof = build.assemble(done, upstream, manifest, request.without, tools.versions())
    output.note(stages.keep_proof(request, upstream, done, proof, with_record))
