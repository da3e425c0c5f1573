"""The surface of upstream and output, and the module of the output that is made from the difference."""

from __future__ import annotations

from builder.emit import removed_features
from builder.gates.surface import Surfaces, compare
from builder.gates.world import World, explain
from builder.manifest.model import Manifest
from builder.pipeline.decide import Decided
from builder.tree import Snapshot

#: The module whose parser the server's command line is read by, below the first package.
_PARSER = "srt.server_args"


def surfaces(
    upstream: Snapshot,
    before: World,
    output: Snapshot,
    decided: Decided,
    proved: dict[str, str],
    manifest: Manifest,
) -> Surfaces:
    """Both surfaces, over the packages, the kept scripts and every project file."""
    projects = [p for p in upstream if p.rpartition("/")[2] == "pyproject.toml"]
    compared = upstream.restrict(sorted({*before.snapshot, *projects}))
    return compare(compared, output, manifest, explain(manifest, decided.removed, proved))


def with_tables(output: Snapshot, found: Surfaces, manifest: Manifest) -> Snapshot:
    """The output with the tables of what left in the files of ours that ask for them."""
    wanted = [f.path for b in manifest.batches for f in b.files if f.tables and f.path in output]
    if not wanted:
        return output
    parser = f"{manifest.roots.model_package.partition('.')[0]}.{_PARSER}"
    values = removed_features.tables(found, manifest, parser)
    return output.replace({path: removed_features.filled(output[path], values) for path in wanted})
