"""sweep: try one manifest on many upstream commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from builder import progress
from builder.cli import options, output
from builder.errors import fail
from builder.lift import folder, sweep, sweep_page
from builder.lift.history import Commit
from builder.lift.history import between as between_upstreams
from builder.pipeline.answers.answer import plural
from builder.upstream import release


@click.command("sweep")
@click.argument("between", metavar="A..B")
@options.upstream_without_argument
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="Only every n-th commit.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Commits at a time.")
@click.option(
    "--backend", type=click.Choice(sweep.BACKENDS), default="loky", show_default=True,
    help="Where the commits run: here, or on a dask or ray cluster.",
)  # fmt: skip
@options.path_option(
    "--out", default="lift/sweep", metavar="DIR",
    help="Where the results are written; an interrupted sweep continues from them.",
)  # fmt: skip
def command(between: str, every: int, jobs: int, backend: str, out: Path, **shared: Any) -> None:
    """Try the unchanged manifest on the first-parent commits after A up to B (pins or commits), or on the
    releases of the package index, named as pypi:A..B.

    Writes commits.jsonl (one line per commit), sweep.json, README.md and timeline.svg.
    """
    request = options.ask(**shared)
    start, dots, end = between.partition("..")
    if not dots or not start or not end or end.startswith("."):
        raise click.UsageError("name two upstreams as A..B")
    key = sweep.key(request.manifest, request.without)
    job, on_the_way = _job(request, start, end, key)
    commits = sweep.every_nth(on_the_way, every)
    lines = out / "commits.jsonl"
    tried = sweep.read(lines, key)
    todo = [c for c in commits if c.id not in tried]
    what = plural(len(commits), sweep.unit(between))
    output.note(f"{what}, {len(commits) - len(todo):,} of them tried before")
    output.stage("trying")
    try:
        for part in sweep.run(job, todo, jobs, backend) if todo else ():
            folder.append(lines, "".join(f"{row.to_line()}\n" for row in part))
            tried |= {row.commit: row for row in part}
            done = sum(c.id in tried for c in commits)
            progress.step(f"last {part[-1].commit[:9]}", done, len(commits))
    finally:  # also for an interrupted sweep
        output.stage("")
        rows = [tried[c.id] for c in commits if c.id in tried]
        data = sweep.record(len(on_the_way), rows, key, between, every, request.manifest.digest)
        text = sweep_page.page(data, rows)
        files = {
            "sweep.json": folder.as_json({"schema_version": output.SCHEMA_VERSION, **data}),
            "README.md": text.encode(),
            sweep_page.TIMELINE: sweep_page.timeline(rows).encode(),
        }
        folder.write(out, files)
    if output.settings.form == "json":
        output.data(data)
    else:
        click.echo(text, nl=False)
    output.note(f"written to {out}/")


def _job(request: options.Request, start: str, end: str, key: str) -> tuple[sweep.Job, Sequence[Commit]]:
    """What is to be done, and the commits or releases on the way. Raises BuildError U001, U002."""
    if start.startswith(sweep.INDEX):
        where = options.sources(request)
        ends = start.removeprefix(sweep.INDEX), end.removeprefix(sweep.INDEX)
        releases = sweep.releases_between(release.versions(where), *ends)
        return sweep.Job(where, request.manifest, key), releases
    history = between_upstreams(*(options.resolve(replace(request, upstream=name)) for name in (start, end)))
    if history.git_dir is None:
        hint = "name a full clone with --mirror"
        raise fail("U001", f"{start} and {end} have no common history here.", hint=hint)
    return sweep.Job(history.git_dir, request.manifest, key), history.commits
