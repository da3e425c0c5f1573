"""rules: every path rule with what it matches and what it alone decides."""

from __future__ import annotations

import sys
from typing import Any

import click

from builder.cli import options, output
from builder.errors import BuildError


@click.command("rules", short_help="List the rules with what each takes.")
@options.upstream_options
def command(**shared: Any) -> None:
    """List every path rule: verdict, batch, pattern, paths that it matches, paths that it alone decides."""
    asked = options.ask(**shared)

    from builder.pipeline.decide import partial_paths
    from builder.pipeline.ranges import about, excused
    from builder.select.rules import select

    upstream = options.resolve(asked)
    known = about(upstream, asked.manifest, asked.without)
    within = partial_paths(upstream.tree, known.kind)
    selection = select(upstream.tree, excused(asked.manifest, known, within), within=within)
    matches, radius = selection.matches(), selection.radius()
    if output.form() == "json":
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
        ]
        from builder.report import as_dict, ordered

        # one document, whatever is wrong
        output.data({"rules": rows, "problems": [as_dict(p) for p in ordered(selection.problems)]})
        if selection.problems:
            sys.exit(BuildError(selection.problems).exit_status)
    else:
        click.echo(f"{'verdict':<8}{'batch':<22}{'matches':>8}{'radius':>8}  rule")
        for rule in selection.rules:
            click.echo(
                f"{rule.verdict:<8}{rule.batch:<22}{matches[rule]:>8,}{len(radius[rule]):>8,}  "
                f"{rule.pattern}  ({rule.mark})"
            )
    if selection.problems:
        raise BuildError(selection.problems)
