"""For error codes: a line of a manifest that gives the error, and the line as it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """`wrong` gives the error, `right` in its place does not."""

    wrong: str
    right: str


EXAMPLES: dict[str, Example] = {
    "M001": Example('name: "acme-small', "name: acme-small"),
    "M002": Example("label: small\nlabel: large", "label: small"),
    "M003": Example("name: &name acme-small", "name: acme-small"),
    "M004": Example("acme.platform.is_alien: maybe", "acme.platform.is_alien: false"),
    "M005": Example("wy: our own parser", "why: our own parser"),
    "M006": Example("batches: [fanzy]", "batches: [fancy]"),
    "M007": Example("remove: [../acme/grpc/]", "remove: [python/acme/grpc/]"),
    "M008": Example("from: overlays/parser/extras.py", "from: overlays/parser/extra.py"),
    "M010": Example("default: sed", "default: seed"),
    "R001": Example("remove: [python/acme/grcp/]", "remove: [python/acme/grpc/]"),
    "R002": Example("remove: [python/acme/test/, python/acme/models/deep.py]", "remove: [python/acme/test/]"),
    "R004": Example("drop_entry: '\"fanzy\"'", "drop_entry: '\"fancy\"'"),
    "R005": Example(
        "stub: [acme.layers.attention.Plain.forward_fanzy]",
        "stub: [acme.layers.attention.Plain.forward_fancy]",
    ),
    "R009": Example("pure: [acme.server.reprot]", "pure: [acme.server.report]"),
    "G007": Example("pattern: (?i)plain", "pattern: (?i)fancy"),
}
