"""lock: prove pins and record what they gave."""

from __future__ import annotations

import gc
from typing import Any

import click

from builder.cli import options, output


@click.command("lock", short_help="Prove pins and record their digests in manifest.lock.")
@options.upstream_options
def command(**shared: Any) -> None:
    """Build UPSTREAM (default: every pin of the manifest) in memory and record its digests."""
    gc.disable()
    asked = options.ask(**shared)

    from dataclasses import replace

    from builder.pipeline import build, tools
    from builder.pipeline.cut import cut
    from builder.pipeline.locked import confirm
    from builder.pipeline.verify import verify
    from builder.upstream.model import snapshot

    pins = [shared["upstream"]] if shared.get("upstream") else list(asked.manifest.upstream.pins)
    for pin in pins:
        one = replace(asked, upstream=pin)
        upstream = options.resolve(one)
        done = cut(snapshot(upstream), one.manifest)
        verify(done, one.manifest)
        _, _, proof = build.assemble(done, upstream, one.manifest, one.without, tools.versions())
        output.note(confirm(one.root, pin, proof, one.without, update=True) or "")
