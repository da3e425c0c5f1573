"""The kernel's Python package in the trees of a cut, under the paths that it has in a wheel."""

from __future__ import annotations

from builder.kernel.plan import Source
from builder.manifest.model import Manifest
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.tree import Snapshot
from builder.upstream.wheel_archive import Archive


def differing(wheel: Archive, upstream: Snapshot, manifest: Manifest) -> dict[str, bytes]:
    """Upstream path -> what the wheel has there, for Python files that both have and that differ."""
    wheel_files: dict[str, bytes] = {}
    for name, folder in manifest.packages.items():
        prefix, inside = folder.rstrip("/") + "/", name.replace(".", "/") + "/"
        for path, member in wheel.members.items():
            ours = prefix + path.removeprefix(inside)
            if path.startswith(inside) and path.endswith(".py") and ours in upstream:
                data = member.data()
                if data != upstream[ours]:
                    wheel_files[ours] = data
    return dict(sorted(wheel_files.items()))


def sources(cut: Cut, manifest: Manifest) -> dict[str, Source]:
    """Wheel path -> its file upstream and in the output, for each package outside the Python project.

    Empty for an upstream that is only an sdist: then the wheel's files stay as they are, or are removed.
    """
    why, batches = reasons(cut), {batch.id: batch.why for batch in manifest.batches}
    by_wheel_path: dict[str, Source] = {}
    for name, folder in manifest.packages.items():
        if folder.startswith(manifest.upstream.project.prefix):
            continue  # the packages of the Python project are in its own wheel
        prefix = folder.rstrip("/") + "/"
        for path in sorted({*cut.upstream, *cut.output}):
            if path.startswith(prefix):
                reason = why[path][0]
                by_wheel_path[f"{name.replace('.', '/')}/{path[len(prefix) :]}"] = Source(
                    cut.upstream.get(path),
                    cut.output.get(path),
                    batches.get(reason.batch, reason.rule),
                    reason.batch,
                    reason.mark,
                )
    return by_wheel_path
