"""The surface of upstream and output, and the module of the output that is made from the difference."""

from __future__ import annotations

from builder.emit import removed_features
from builder.errors import BuildError, Problem
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
    """The output with the tables of what left in the files of ours that ask for them.

    Raises BuildError (R004) for a file of ours that has no place for one of the tables.
    """
    wanted = [f for b in manifest.batches for f in b.files if f.tables and f.path in output]
    if not wanted:
        return output
    problems = [
        Problem("R004", f"{f.overlay} is to be filled, and assigns no `{name} = ...` on one line.", f.mark)
        for f in wanted
        for name in removed_features.missing(output[f.path])
    ]
    if problems:
        raise BuildError(problems)
    parser = f"{manifest.roots.model_package.partition('.')[0]}.{_PARSER}"
    values = removed_features.tables(found, manifest, parser)
    return output.replace({f.path: removed_features.filled(output[f.path], values) for f in wanted})
