"""kernel-wheel: repack the published kernel wheel without what the distribution does not use."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output, stages
from builder.emit.marker import MARKER
from builder.emit.members import read_pyproject
from builder.errors import fail
from builder.kernel import files, names, repack
from builder.kernel.plan import differing, sources
from builder.pipeline.ranges import About
from builder.upstream import wheel_archive
from builder.upstream.cache import default_cache
from builder.upstream.model import MemoryBlobs, snapshot


@click.command("kernel-wheel")
@options.upstream_options
@options.path_option("--wheel", help="The published wheel, of the version that the output requires.")
@click.option("--download", is_flag=True, help="Download that wheel with pip: hundreds of MB.")
@click.option(
    "--machine", type=click.Choice(("x86_64", "aarch64")), default="x86_64", show_default=True,
    help="The machine whose wheel is downloaded.",
)  # fmt: skip
@click.option(
    "--architecture", "architectures", multiple=True, metavar="NAME",
    help="Keep only this GPU architecture (sm90); may be repeated.",
)  # fmt: skip
@options.path_option("--out", default="dist-kernel", metavar="DIR", help="The folder for the new wheel.")
def command(
    wheel: Path | None, download: bool, machine: str, architectures: tuple[str, ...], out: Path, **shared: Any
) -> None:
    """Repack the kernel wheel that the distribution of UPSTREAM requires: without the shared objects,
    architectures and Python files that the manifest removes, and with the Python files that it changes.

    Nothing is downloaded without --download. The wheel's dist-info lists every change.
    """
    if (wheel is None) != download:
        raise click.UsageError("Name the wheel with --wheel FILE, or download it with --download.")
    request = options.ask(**shared)
    manifest = request.manifest
    if manifest.kernel is None:
        message = f"{manifest.file} has no section `kernel`, which says what leaves the wheel."
        raise fail("M004", message, manifest.mark())
    if (out / MARKER).exists():
        message = f"'{out}' holds a distribution, which is replaced as a whole."
        raise fail("E001", message, hint="give another --out")
    upstream = options.resolve(request)
    done = stages.recalled_outcome(request, upstream).cut
    project = manifest.upstream.project
    pyproject = read_pyproject(done.output, project)
    requirement = names.required(pyproject, manifest.kernel, project.pyproject)
    if wheel is None:
        output.stage(f"downloading {requirement}")
        cache = request.cache or default_cache()
        version = names.exact(requirement) or ""
        wheel = files.fetch(requirement.name, version, machine, cache, request.offline)
    names.fits(names.parse(wheel.name), requirement)
    output.stage("reading the wheel")
    view = files.mapped(wheel)
    label = stages.build_of(request, upstream).label
    origin = repack.Origin(wheel.name, hashlib.sha256(view).hexdigest(), len(view), label, upstream.commit)
    output.note(f"wheel   {origin.name}  {origin.size:,} bytes  sha256 {origin.sha256}")
    opened = wheel_archive.read(view)
    if own := differing(opened, done.upstream, manifest):
        # the wheel was published from another commit: edit the files that it has
        output.note(f"        {len(own)} of its Python files are not this upstream's: {', '.join(own)}")
        changed = snapshot(upstream).replace(own)
        other = replace(upstream, tree=changed.tree, blobs=MemoryBlobs(changed.contents))
        done = stages.made_outcome(request, other, known=About(kind=upstream.kind)).cut
    kernel = done.manifest.kernel or manifest.kernel  # kept models may have switched batches off
    result = repack.repack(opened, origin, kernel, sources(done, manifest), architectures)
    output.stage("writing")
    path, sha256, size = files.write(out, result)
    described = dict(result.summary)
    described["wheel"] |= {"sha256": sha256, "bytes": size}
    for line in _lines(described, path):
        output.note(line)
    if output.settings.form == "json":
        output.data(described)


def _lines(described: dict[str, Any], path: Path) -> list[str]:
    """The summary in a few lines, with the five largest removed members."""
    before, after = described["from"]["bytes"], described["wheel"]["bytes"]
    largest = sorted(described["removed"], key=lambda r: (-r["packed_bytes"], r["path"]))
    lines = [f"        - {r['path']}  {r['packed_bytes']:,} bytes: {r['why']}" for r in largest[:5]]
    if len(largest) > 5:
        rest = sum(r["packed_bytes"] for r in largest[5:])
        lines.append(f"        - and {len(largest) - 5} more, {rest:,} bytes")
    members, changed, wheel = described["members"]["before"], len(described["changed"]), described["wheel"]
    share = f"{100 * after / before:.1f}%"
    return [
        f"removed {len(largest)} of {members} members, changed {changed}",
        *lines,
        f"wheel   {path}  {after:,} bytes ({share})  sha256 {wheel['sha256']}",
    ]
