"""The whole build as values: from an upstream and a manifest to every file of the output folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from builder import __version__
from builder.analysis.projects import projects
from builder.emit import figures, ledger, lock, removed, removed_features, report_html
from builder.emit.diff import upstream_diff
from builder.emit.members import read_pyproject
from builder.emit.metadata import About, distribution_version, metadata
from builder.emit.provenance import (
    SBOM,
    SUMS,
    license_of,
    provenance,
    requirements,
    sbom,
    sha256sums,
    with_extra,
)
from builder.emit.surface_json import as_counts, lost_names, surface_json
from builder.emit.wheel import Wheel, build_wheel
from builder.emit.write import Output
from builder.errors import BuildError, Problem
from builder.manifest.model import Manifest, Pin
from builder.manifest.statements import BASE
from builder.manifest.switches import said
from builder.memo import digest
from builder.native.layout import units
from builder.pipeline import report_page
from builder.pipeline.answers.context import Context
from builder.pipeline.graph_answers import UNCERTAIN, uncertain_json
from builder.pipeline.measure import Figures
from builder.pipeline.model import Cut
from builder.pipeline.outcome import Outcome
from builder.pipeline.request_key import own_digest, versions
from builder.upstream.commits import project_table
from builder.upstream.model import Upstream

LEDGER, BUILD, DIFF, REMOVED = "ledger.jsonl", "build.json", "upstream.diff", "REMOVED.md"
SURFACE, PROVENANCE = "surface.json", "provenance.intoto.json"
#: The version of an upstream that states none.
NO_VERSION = "0.0.0.dev0"
#: The digits of a digest in a version, and how many characters of batches it may have without one.
_DIGITS, _MOST = 8, 40


@dataclass(frozen=True, slots=True)
class Build:
    """What an output is made of, besides its outcome.

    `without`: the batches that options switch off. `edited`: what sets the manifest apart from the proven
    one; None also where this build is to prove it.
    """

    upstream: Upstream
    manifest: Manifest
    without: Sequence[str] = ()
    edited: lock.Edited | None = None

    @property
    def version_source(self) -> str | None:
        """Where the version of a commit that is no pin comes from, in a line; None for other upstreams."""
        if self.upstream.kind != "git" or self._pins:
            return None
        return f"version {self.upstream.version or NO_VERSION}: {self.upstream.version_origin}"

    @property
    def _pins(self) -> list[Pin]:
        """The pins of the commit of the upstream, however it was asked for."""
        pins = self.manifest.upstream.pins.values()
        return [p for p in pins if p.commit and p.commit == self.upstream.commit]

    @property
    def label(self) -> str:
        """The local part of the version: the manifest's label, the name of a scope that changes the
        distribution, the batches that options switch, the first digits of the statements of an edited
        manifest, and for a git commit its first 9 digits."""
        upstream, manifest, scope = self.upstream, self.manifest, self.manifest.named_scope
        parts = [manifest.label]
        if scope is not None and scope.changes_distribution:
            parts.append(scope.name.replace("-", "."))
        for word, switched in (("with", manifest.switched_on), ("without", sorted(self.without))):
            names = ".".join(name.replace("-", "") for name in switched)
            # a letter that is no hex digit keeps a digest from being read as a number
            short = "x" + hashlib.sha256(" ".join(switched).encode()).hexdigest()[:_DIGITS]
            parts += [word, names if len(names) <= _MOST else short] if names else []
        if self.edited:
            parts.append(f"m{manifest.statements[:_DIGITS]}")
        if upstream.kind == "git":
            parts.append(f"g{upstream.commit[:9]}")
        return ".".join(parts)

    @property
    def version(self) -> str:
        """The distribution's version: upstream's (a pin may state it), and the local part."""
        pinned = next((pin.version for pin in self._pins if pin.version), None)
        return distribution_version(pinned or self.upstream.version or NO_VERSION, self.label)

    @property
    def key(self) -> str:
        """A digest of all that decides the output: equal keys, equal output."""
        upstream, manifest, proof = self.upstream, self.manifest, self.edited and self.edited.proof
        builder = __version__, own_digest(), versions()
        source = upstream.spec, upstream.commit, upstream.tree.id
        stated = manifest.digest, manifest.scope_name, manifest.switched_on, sorted(self.without)
        proven = proof and (proof.output_tree, proof.wheel_content_sha256)
        return digest(builder, source, stated, self.edited is not None, proven).hex()

    def assemble(self, outcome: Outcome) -> tuple[Output, lock.Proof]:
        """Every file of the output folder, and what the lock remembers of the build.

        Raises BuildError (G007) when the output of a pin has more lines than the manifest's scope allows it,
        and (G008) for a pyproject.toml that no wheel can be made from.
        """
        self._check_lines(outcome)
        version, bill, wheel = self._named(outcome)
        record = self._record(outcome, version, wheel)
        upstream, manifest, cut, measured = self.upstream, self.manifest, outcome.cut, outcome.figures
        wheel_name, context = wheel.name if wheel else "", Context(outcome, manifest)
        page = report_page.report_data(context, measured, upstream, wheel_name, version, self.without)
        files = {
            LEDGER: ledger.to_bytes(measured.rows),
            BUILD: (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode(),
            DIFF: upstream_diff(cut.upstream, cut.output),
            REMOVED: removed.removed_md(
                manifest.name,
                measured.rows,
                {b.id: b.why for b in manifest.batches},
                measured.lines,
                lost_names(cut.surfaces, manifest.roots.command_line, [b.id for b in manifest.batches]),
            ),
            report_html.NAME: report_html.report_html(page),
            SURFACE: surface_json(cut.surfaces),
            SBOM: bill,
            UNCERTAIN: uncertain_json(cut, outcome.graphs),
            **({wheel.name: wheel.data} if wheel else {}),
        }
        sources = {path: text.encode() for path, text in manifest.texts.items()} | dict(manifest.overlays)
        materials = {path: hashlib.sha256(data).hexdigest() for path, data in sources.items()}
        files[PROVENANCE] = provenance(
            record, upstream.archive, materials, manifest.upstream, files, own_digest()
        )
        files[SUMS] = sha256sums(files)
        return Output(cut.output, files, self.key), lock.proof_of(record)

    def _check_lines(self, outcome: Outcome) -> None:
        if self.without or self.manifest.named_scope is not None:
            return
        pins = {self.upstream.spec, *(pin.name for pin in self._pins)}
        lines = outcome.figures.lines[figures.CODE]["after"]
        problems = [
            Problem(
                "G007", f"The output of {pin} has {lines:,} lines of code, and may have {most:,}.", s.mark
            )
            for s in self.manifest.scope
            for pin, most in s.lines.items()
            if lines > most and pin in pins
        ]
        if problems:
            raise BuildError(problems)

    def _record(self, outcome: Outcome, version: str, wheel: Wheel | None) -> dict[str, Any]:
        """The content of build.json, keys in the order of schema/build.schema.json."""
        upstream, manifest, cut, measured = self.upstream, self.manifest, outcome.cut, outcome.figures
        return {
            "schema_version": 1,
            "builder": __version__,
            "upstream": {
                "spec": upstream.spec,
                "commit": upstream.commit,
                "tree": cut.upstream.tree.id,
                "origin": upstream.kind,
                "version": version.partition("+")[0],
            },
            "manifest": {
                "file": manifest.file,
                "digest": manifest.digest,
                "statements": manifest.statements,
                "scope": manifest.scope_name,
                "with": list(manifest.switched_on),  # on top of what is on in the scope
                "without": sorted(self.without),  # on top of what the scope leaves out
            },
            "output": {"tree": cut.output.tree.id, "files": len(cut.output)},
            "wheel": wheel
            and {
                "name": wheel.name,
                "sha256": wheel.sha256,
                "content_sha256": wheel.content_sha256,
                "bytes": len(wheel.data),
                "files": wheel.files,
            },
            "lines": measured.lines,
            "verdicts": figures.verdict_counts(measured.rows),
            "batches": [asdict(one) for one in measured.batches],
            "surface": as_counts(cut.surfaces),
            "units": _units(cut),
            "families": {batch: str(matches) for batch, matches in sorted(cut.families.items())},
            "rounds": cut.specialized.rounds,
            "tools": dict(sorted(versions().items())),
        }

    def _named(self, outcome: Outcome) -> tuple[str, bytes, Wheel | None]:
        """The version, the SBOM and the wheel. The output of an edited manifest has another version than
        that of the proven one, unless the wheel and the tree are those that the lock has."""
        proof = self.edited.proof if self.edited else None
        if proof is not None and proof.output_tree == outcome.cut.output.tree.id and not self.without:
            plain = replace(self, edited=None)._named(outcome)
            if (plain[2] and plain[2].content_sha256) == proof.wheel_content_sha256:
                return plain
        version, tree, project = self.version, outcome.cut.output, self.manifest.upstream.project
        bill = self._bill(outcome.cut, version)
        if not self.manifest.wheel:
            return version, bill, None
        about, sboms = self._about(outcome, version), {SBOM: bill}
        wheel = build_wheel(tree, version, self.upstream.commit, project=project, sboms=sboms, about=about)
        return version, bill, wheel

    def _bill(self, cut: Cut, version: str) -> bytes:
        """The SBOM of the output. Without a wheel of ours it has the requirements that pyproject.toml states,
        and none that only a build backend knows. Raises BuildError (G008)."""
        manifest, project = self.manifest, self.manifest.upstream.project
        if manifest.wheel:
            pyproject = read_pyproject(cut.output, project)
            required = requirements(metadata(cut.output, pyproject, version, [], project))
            table = pyproject["project"]
            name = str(table["name"])
        else:
            table = project_table(cut.output.get(project.pyproject, b"")).get("project", {})
            rows = [row for one in projects(cut.output, manifest.packages) for row in one.requirements]
            required = [with_extra(row.text, row.extra) for row in rows]
            name = project.name
        trees = cut.output.tree.id, manifest.upstream.repository, cut.upstream.tree.id
        return sbom(name, version, *trees, required, license_of(table))

    def _about(self, outcome: Outcome, version: str) -> About:
        """What the wheel says about itself: its scope, its trees, and the features that it leaves out."""
        upstream, manifest, cut = self.upstream, self.manifest, outcome.cut
        did_something = {f.id for f in outcome.figures.batches if f.files["removed"] or f.files["edited"]}
        switched = said(self.without, manifest.switched_on)
        values = {
            "name": manifest.name,
            "version": version,
            "repository": manifest.upstream.repository,
            "commit": upstream.commit if upstream.kind == "git" else "none: a release",
            "upstream_tree": cut.upstream.tree.id,
            "tree": cut.output.tree.id,
            "scope": manifest.scope_name + (f", {switched}" if switched else ""),
        }
        return About(
            values,
            left_out=[
                (b.id, b.why)
                for b in manifest.batches
                if b.kind == "feature" and b.id in did_something and b.id != BASE
            ],
            listing=removed_features.listing(cut.output, manifest.packages),
        )


def _units(cut: Cut) -> Mapping[str, Mapping[str, int]] | None:
    """What the native build compiles on both sides; None for an upstream without native sources."""
    before = units(cut.upstream)
    return {"before": before, "after": units(cut.output)} if before["libraries"] else None


def summary(output: Output, measured: Figures, out: object) -> list[str]:
    """The build in a few lines, every figure from the trees."""
    code = measured.lines[figures.CODE]
    counts = figures.verdict_counts(measured.rows)
    wheels = [name for name in output.files if name.endswith(".whl")]
    share = 100 * code["after"] / code["before"] if code["before"] else 0
    kinds = " ".join(figures.extensions(measured.lines))
    return [
        f"tree    {output.tree.tree.id}  {len(output.tree):,} files "
        f"({counts['removed']:,} removed, {counts['edited']:,} edited, {counts['added']:,} added)",
        f"lines   {code['before']:,} -> {code['after']:,} ({share:.1f}%) of {kinds}",
        *(f"wheel   {out}/{name}  {len(output.files[name]):,} bytes" for name in wheels),
    ]


def idle(measured: Figures, manifest: Manifest) -> list[str]:
    """Return a line for each batch that has words and changes nothing."""
    changed = (row for row in measured.rows if row.verdict != "kept")
    working = {reason.batch for row in changed for reason in (row.reason, *row.also)}
    batches = (batch.id for batch in manifest.batches if batch.words and batch.id not in working)
    return [f"batch {name} has words, and changes no file of this upstream" for name in batches]
