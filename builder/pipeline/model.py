"""The cut as a value: the output of one build, with the reason for every change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.analysis.surface_diff import Surfaces
from builder.errors import Mark
from builder.manifest.model import Manifest
from builder.native import gate as native
from builder.native import lockstep
from builder.overlay.record import Record
from builder.pipeline.expand_families import FamilyMatches
from builder.pipeline.prune import Pruned
from builder.specialize.evaluating.facts import Facts
from builder.specialize.results import Specialized
from builder.tree import Snapshot

if TYPE_CHECKING:
    from builder.pipeline.attribution import Attributed


@dataclass(frozen=True, slots=True)
class Cut:
    """The output of one build before it is verified and written."""

    upstream: Snapshot
    before: IndexedTree  # upstream, of whose Python only what may stay or is in a package counts
    after: IndexedTree  # the output
    decided: Pruned
    output: Snapshot
    specialized: Specialized
    records: tuple[Record, ...]
    consequences: tuple[lockstep.Consequence, ...]
    ours: frozenset[str]
    opaque: frozenset[str]  # Python files that do not parse, and stay as they are
    removals: Removals
    surfaces: Surfaces
    findings: tuple[native.Finding, ...]  # what upstream's native code has itself
    manifest: Manifest  # as it is asked of this upstream, with each definition that a pattern stands for
    facts: Facts
    laid: Snapshot  # the kept files with the overlays applied, before specialization
    withdrawn: Mapping[str, str] = field(default_factory=dict)  # batch -> the model that needs it off
    unmatched: tuple[
        tuple[str, Mark], ...
    ] = ()  # statements that match nothing at an upstream that is no pin
    families: Mapping[str, FamilyMatches] = field(default_factory=dict)  # batch -> what its words matched
    attributed: Attributed | None = None  # what accounts for each edit; None for a cut that is recalled
