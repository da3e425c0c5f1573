"""lock: build pins twice and record their digests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import click
from packaging.version import Version

from builder.cli import options, output, stages
from builder.cli.options import Request
from builder.errors import BuildError, Problem
from builder.lift.surface import gone, returned
from builder.manifest.model import DEFAULT_SCOPE
from builder.manifest.spans import version
from builder.manifest.switches import choose
from builder.pipeline.answers.answer import listed, plural
from builder.pipeline.ranges import about


@click.command("lock")
@options.upstream_options
@click.option("--record", "with_record", is_flag=True, help="Also keep the cut, so that `dist` applies it.")
def command(with_record: bool, **shared: Any) -> None:
    """Build UPSTREAM in memory and record its digests.

    By default every pin of the manifest is proven, and every named scope at its pins; with --scope, that
    scope at its pins.
    """
    request = options.ask(**shared)
    wanted = [request] if shared.get("upstream") else list(_proven(request))
    problems: list[Problem] = []
    before: _Proven | None = None
    for one in wanted:
        try:
            before = _prove(one, with_record, before)
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
    if scope is None and not request.switched:
        for name in manifest.scopes:
            yield from _proven(replace(request, manifest=choose(request.whole or manifest, name)))


class _Proven(NamedTuple):
    """A pin that was proven, and the definitions that were removed there."""

    pin: str
    scope: str
    version: Version | None
    removed: frozenset[str]


def _prove(request: Request, with_record: bool, before: _Proven | None) -> _Proven:
    """Build one upstream and record it; name what is back since an earlier version. Raises BuildError."""
    manifest, scope = request.manifest, request.manifest.scope_name
    if scope != DEFAULT_SCOPE:
        output.note(f"scope   {scope}")
    upstream = options.resolve(request)
    done = stages.proven_outcome(request, upstream)
    output.stage("packing")
    _, proof = stages.build_of(request, upstream, proves=True).assemble(done)
    output.note(stages.keep_proof(request, upstream, done, proof, with_record))
    at = version(about(upstream, manifest).version)
    later = before and before.scope == scope and before.version and at and before.version < at
    if before and later and (back := returned(before.removed, done.cut.after)):
        names = listed((name.rpartition(".")[2] for name in back), 6)
        output.note(f"back    {plural(len(back), 'definition')} that left at {before.pin}: {names}")
    return _Proven(request.upstream, scope, at, gone(done.cut.before, done.cut.after))
