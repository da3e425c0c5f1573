"""rules: list every path rule with what it matches, and every name that the words of a batch match."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from builder.cli import options, output, stages
from builder.cli.cache_file import recalled
from builder.cli.check import verdicts
from builder.errors import BuildError, fail
from builder.pipeline.cut import cut
from builder.pipeline.expand_families import FamilyMatches
from builder.pipeline.ranges import About
from builder.report import as_dict, ordered
from builder.spelling import nearest
from builder.upstream.model import Upstream, snapshot

_ROW = "{verdict:<8}{batch:<22}{matches:>8,}{radius:>8,}  {pattern}  ({mark})"


@click.command("rules")
@click.option("--names", is_flag=True, help="Also list every name that the words of the batches match.")
@click.option("--batch", "only", metavar="ID", help="List those of one batch.")
@options.upstream_options
def command(names: bool, only: str | None, **shared: Any) -> None:
    """List every path rule: verdict, batch, pattern, paths that it matches, paths that it alone decides."""
    request = options.ask(**shared)
    ids = [batch.id for batch in request.manifest.batches]
    if only is not None and only not in ids:
        off = request.whole is not None and only in [batch.id for batch in request.whole.batches]
        hint = f"it is off here: `--with {only}` switches it on" if off else nearest(only, ids)
        raise fail("M006", f"There is no batch `{only}`.", hint=hint)
    upstream = options.resolve(request)
    selection, _, known = verdicts(request, upstream)
    families = {
        batch: {kind: list(some) for kind, some in one.names.items()}
        for batch, one in (_families(request, upstream, known) if names else {}).items()
        if only in (None, batch)
    }
    matches, radius = selection.matches(), selection.radius()
    rows = [
        {
            "verdict": rule.verdict,
            "batch": rule.batch,
            "pattern": rule.pattern,
            "mark": str(rule.mark),
            "matches": matches[rule],
            "radius": len(radius[rule]),
        }
        for rule in selection.rules
        if only in (None, rule.batch)
    ]
    if output.settings.form == "json":
        # the problems are in the same document, so that stdout holds only one
        problems = [as_dict(p) for p in ordered(selection.problems)]
        output.data({"rules": rows, **({"names": families} if names else {}), "problems": problems})
        if selection.problems:
            sys.exit(BuildError(selection.problems).exit_status)
    else:
        click.echo(f"{'verdict':<8}{'batch':<22}{'matches':>8}{'radius':>8}  rule")
        for row in rows:
            click.echo(_ROW.format(**row))
        for batch, kinds in families.items():
            for kind, some in kinds.items():
                click.echo("\n  ".join([f"\n{batch}: {kind} ({len(some):,})", *some]))
    if selection.problems:
        raise BuildError(selection.problems)


def _families(request: options.Request, upstream: Upstream, known: About) -> Mapping[str, FamilyMatches]:
    """What the words of the batches match, whatever problems the cut has."""
    with recalled(request.cache) as recall:
        if done := stages.outcomes(request, upstream, recall).recall():
            return done.cut.families
        return cut(snapshot(upstream), request.manifest, lambda problems: None, recall, known).families
