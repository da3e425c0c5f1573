"""lift: report what moving to another upstream breaks and adds, and propose changes of the manifest."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output, stages
from builder.errors import fail
from builder.lift import folder as folders
from builder.lift import report
from builder.lift.history import between, distances
from builder.lift.survey import Survey, survey
from builder.manifest.load import read_schema
from builder.pipeline.ranges import about
from builder.upstream.model import Upstream, snapshot


@click.command("lift")
@options.upstream_options
@click.option(
    "--from", "origin", metavar="PIN", help="The proven upstream to start from (default: the nearest pin)."
)
@click.option(
    "--accept", is_flag=True, help="Apply the proposal to the manifest and overlays, and try again."
)
@click.option("--continue", "again", is_flag=True, help="Try again, with what was decided since.")
@click.option("--abort", is_flag=True, help="Remove the lift's folder; the manifest stays as it is.")
@click.option(
    "--decide", multiple=True, metavar="ID", help="Close questions with this id or pattern; repeatable."
)
@click.option("--because", metavar="WHY", help="The reason; required with --decide.")
def command(
    origin: str | None,
    accept: bool,
    again: bool,
    abort: bool,
    decide: tuple[str, ...],
    because: str | None,
    **shared: Any,
) -> None:
    """Try the manifest on UPSTREAM and write lift/COMMIT/: report.md, report.json and proposal.patch.

    The manifest is changed by --accept only. Exit status 0: all gates pass and no question is open;
    3: questions are open; 5: rules are broken; 1: a gate fails.
    """
    if accept + again + abort > 1:
        raise click.UsageError("--accept, --continue and --abort exclude each other")
    if bool(decide) is not bool(because):
        raise click.UsageError("--decide and --because go together")
    given = shared.get("upstream")
    request = options.ask(**shared)
    previous: Path | None = None
    if accept or again or abort or decide:
        state = folders.read(_folder(request.root, given))
        if abort:
            folders.abort(state.folder)
            output.note(f"removed {state.folder.relative_to(request.root)}")
            return
        folders.need_questions(state, decide)
        if accept:
            for path in folders.accept(request.root, state, request.manifest):
                output.note(f"changed {path}")
            request = options.ask(**shared)
        origin, given, previous = origin or state.old, state.new, state.folder
    if not given:
        raise click.UsageError("lift needs an UPSTREAM to move to")
    new = options.resolve(replace(request, upstream=given))
    pin = about(new, request.manifest).pin
    if pin is not None and origin is None:
        output.note(f"'{pin}' is a pin of the manifest already: there is nothing to lift.")
        if output.settings.form == "json":
            output.data({"pin": pin})
        return
    old = options.resolve(replace(request, upstream=origin or _nearest(request, new)))
    folder = request.root / folders.FOLDER / new.commit
    decisions = folders.decisions(previous or folder)
    decisions |= dict.fromkeys(decide, because or "")
    if decide:  # a comparison that is interrupted loses no answer
        folders.write(previous or folder, {folders.DECISIONS: _stored(decisions)})
    output.stage(f"comparing {report.named(old)} with {report.named(new)}")
    result = survey(
        (old, snapshot(old)), (new, snapshot(new)), request.manifest, between(old, new),
        read_schema(request.root), decisions, stages.gone(replace(request, upstream=old.spec), old),
    )  # fmt: skip
    output.stage("writing")
    folders.write(folder, _files(result, decisions))
    output.stage("")
    if output.settings.form == "json":
        output.data(report.record(result))
    elif output.settings.form == "github":
        output.show(result.problems)
    else:
        click.echo(report.terminal(result), nl=False)
        output.note(f"all of it: {folder.relative_to(request.root) / folders.REPORT}")
    if status := report.exit_status(result):
        sys.exit(status)


def _files(result: Survey, decisions: Mapping[str, str]) -> dict[str, bytes]:
    """The files of the lift's folder."""
    proposed = result.proposed
    files = {
        folders.REPORT: report.markdown(result).encode(),
        folders.PAGE: report.page(result).encode(),
        folders.DATA: folders.as_json({"schema_version": output.SCHEMA_VERSION, **report.record(result)}),
        folders.PATCH: folders.proposal(result.sides.manifest, proposed.files) if proposed else b"",
    }
    if decisions:
        files[folders.DECISIONS] = _stored(decisions)
    return files


def _stored(decisions: Mapping[str, str]) -> bytes:
    return folders.as_json([{"id": one, "why": why} for one, why in decisions.items()])


def _folder(root: Path, given: str | None) -> Path:
    """The folder of the lift to this upstream, or of the only lift in progress. Raises BuildError L005."""
    every = folders.under_way(root)
    matches = [f for f in every if not given or f.name.startswith(given) or folders.read(f).new == given]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(folder.name for folder in every) or "none"
    raise fail("L005", f"Which lift is to be continued? In progress: {names}.", hint="name its upstream")


def _nearest(request: options.Request, new: Upstream) -> str:
    """The pin with the fewest commits between it and the new upstream; without a history, the default pin."""
    pins = {p.commit: p.name for p in request.manifest.upstream.pins.values() if p.commit != new.commit}
    counts = distances([c for c in pins if c], new)
    if not counts:
        return request.manifest.upstream.default
    return pins[min(counts, key=lambda commit: (counts[commit], pins[commit]))]
