"""For error codes: text of a manifest, an overlay or a command that gives the error, and as it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """`wrong` gives the error, `right` in its place does not. `file`: where it stands; a COMMAND in none."""

    wrong: str
    right: str
    file: str = "manifest.yaml"


COMMAND = "command"


EXAMPLES: dict[str, Example] = {
    "M001": Example('name: "acme-small', "name: acme-small"),
    "M002": Example("label: small\nlabel: large", "label: small"),
    "M003": Example("name: &name acme-small", "name: acme-small"),
    "M004": Example("acme.platform.is_alien: maybe", "acme.platform.is_alien: false"),
    "M005": Example("wy: our own parser", "why: our own parser"),
    "M006": Example("batches: [fanzy]", "batches: [fancy]"),
    "M007": Example("remove: [../acme/grpc/]", "remove: [python/acme/grpc/]"),
    "M008": Example("from: overlays/parser/extras.py", "from: overlays/parser/extra.py"),
    "M009": Example(
        "{path: python/acme/extra.py, from: overlays/parser/parser.py}",
        "{path: python/acme/extra.py, from: overlays/parser/extra.py}",
    ),
    "M010": Example("default: sed", "default: seed"),
    "M011": Example("without: [spare]}]  # in the batch spare itself", "without: [fancy, awk]}]"),
    "M013": Example("{path: benchmark/, since: 2.0.0, until: 1.0.0}", "{path: benchmark/, since: 2.0.0}"),
    "M014": Example("needs: [spare]  # in the batch spare itself", "needs: [fancy]"),
    "M015": Example("dist --scope defualt", "dist --scope default", COMMAND),
    "R001": Example("remove: [python/acme/grcp/]", "remove: [python/acme/grpc/]"),
    "R002": Example("remove: [python/acme/test/, python/acme/models/deep.py]", "remove: [python/acme/test/]"),
    "R003": Example("# scripts/ is not listed", "- scripts/"),
    "R004": Example("drop_entry: '\"fanzy\"'", "drop_entry: '\"fancy\"'"),
    "R005": Example(
        "stub: [acme.layers.attention.Plain.forward_fanzy]",
        "stub: [acme.layers.attention.Plain.forward_fancy]",
    ),
    "R006": Example(
        'preimage: ["0000000000000000000000000000000000000000"]',
        'preimage: ["26d2200e805c837db3a7039ece2bbd4b421a1f6f"]',
    ),
    "R007": Example('-        return "uneven"', '-        return "odd"', "overlays/parser/odd.patch"),
    "R008": Example(
        "symbols: [acme.layers.awk.AwkConfig, acme.layers.attention.choose]",
        "symbols: [acme.layers.awk.AwkConfig]",
    ),
    "R009": Example("pure: [acme.server.reprot]", "pure: [acme.server.report]"),
    "R010": Example("return __import__(text.strip())", "return text.strip()", "overlays/parser/parser.py"),
    "R011": Example(
        "pure: [{name: acme.server.report, until: 1.0.0}]  # seed is 1.2.3", "pure: [acme.server.report]"
    ),
    "G001": Example("def parse(text)\n", "def parse(text):\n", "overlays/parser/parser.py"),
    "G002": Example(
        "from acme.grpc import serve_grpc\n\nEXTRA = serve_grpc", "EXTRA = 1", "overlays/parser/extra.py"
    ),
    "G003": Example("return polish(text.strip())", "return text.strip()", "overlays/parser/parser.py"),
    "G004": Example(
        "import acme.server\n\nEXTRA = acme.server.helper_of_fancy", "EXTRA = 1", "overlays/parser/extra.py"
    ),
    "G007": Example("pattern: (?i)plain", "pattern: (?i)fancy"),
    "G008": Example('value: "nympy>=1"', 'value: "numpy>=1"'),
    "G011": Example("""statement: 'm.def("add('""", """statement: 'note("hello"'"""),
    "L005": Example("lift --continue", "lift seed", COMMAND),
    "U001": Example("dist sead", "dist seed", COMMAND),
    "U002": Example("dist pypi:latest", "dist seed", COMMAND),
    "C001": Example("why AwkConfig.bitz", "why AwkConfig.bits", COMMAND),
    "C002": Example("dist --without spare", "dist --without spare --with-needs", COMMAND),
}
