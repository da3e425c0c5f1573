"""For error codes: text of a manifest, an overlay or a command that gives the error, and as it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """`wrong` gives the error, `right` in its place does not. `file`: where it stands; a COMMAND in none.

    `when`: what must be so, as a clause, where that is not plain from the text.
    """

    wrong: str
    right: str
    file: str = "manifest.yaml"
    when: str = ""


COMMAND = "command"
_WHEEL = "sgl_kernel-1.2.3-cp310-abi3-manylinux2014_x86_64.whl"


def _kernel_wheel(folder: str, when: str = "", name: str = _WHEEL) -> Example:
    """An example of a wrong wheel in a folder, beside which the right one is."""
    return Example(f"kernel-wheel --wheel {folder}/{name}", f"kernel-wheel --wheel {_WHEEL}", COMMAND, when)


def _lift(decided: str, because: str, when: str) -> Example:
    """An example of a question of a lift, which is decided."""
    return Example("lift main", f"lift main --decide {decided} --because '{because}'", COMMAND, when)


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
    "M012": Example(
        "statements: [acme.layers.awk.AwkConfgi]",
        "statements: [acme.layers.awk.AwkConfig]",
        "docs/scope.yaml",
    ),
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
    "R010": Example('return __import__("json" + text)', "return text.strip()", "overlays/parser/parser.py"),
    "R011": Example(
        "pure: [{name: acme.server.report, until: 1.0.0}]  # seed is 1.2.3", "pure: [acme.server.report]"
    ),
    "R012": Example(
        "acme.configs.deep.is_small: false",
        "acme.configs.deep.is_small: true",
        when="`is_small` asks whether the architecture is Deep, and the model Deep stays",
    ),
    "G001": Example("def parse(text)\n", "def parse(text):\n", "overlays/parser/parser.py"),
    "G002": Example(
        "from acme.grpc import serve_grpc\n\nEXTRA = serve_grpc", "EXTRA = 1", "overlays/parser/extra.py"
    ),
    "G003": Example("return polish(text.strip())", "return text.strip()", "overlays/parser/parser.py"),
    "G004": Example(
        "import acme.server\n\nEXTRA = acme.server.helper_of_fancy", "EXTRA = 1", "overlays/parser/extra.py"
    ),
    "G006": Example(
        "symbols: [acme.layers.awk.AwkConfig]",
        "symbols: [acme.layers.awk.AwkConfig, acme.args.Args.odd_port]",
        when="another statement removes the flag --odd-port, which fills the field",
    ),
    "G007": Example("pattern: (?i)plain", "pattern: (?i)fancy"),
    "G008": Example('value: "nympy>=1"', 'value: "numpy>=1"'),
    "G011": Example("""statement: 'm.def("add('""", """statement: 'note("hello"'"""),
    "G012": Example(
        "dist",
        "dist --update-lock",
        COMMAND,
        "manifest.lock has another tree for the same manifest, and the new one is right",
    ),
    "G014": Example('"*.retries": null', '"*.retries": 0', when="the code asks whether `0 < self.retries`"),
    "L001": _lift(
        "path:python/acme/configs/green.py",
        "The server reads it.",
        "the newer upstream has a file beside others that leave",
    ),
    "L002": _lift(
        "predicate:acme.platform.is_martian",
        "Mars is a target.",
        "the newer upstream asks `is_martian()`, and no fact states the answer",
    ),
    "L003": _lift("dependency:attrs", "It is small.", "the newer upstream requires attrs"),
    "L004": _lift(
        "'body:overlays/fancy/slow_path.pybody:*'",
        "Ours needs no change.",
        "the newer upstream has changed the function whose body is ours",
    ),
    "L005": Example("lift --continue", "lift seed", COMMAND),
    "U001": Example("dist sead", "dist seed", COMMAND),
    "U002": Example("dist pypi:latest", "dist seed", COMMAND),
    "U003": Example(
        'sha256: "0000000000000000000000000000000000000000000000000000000000000000"',
        'sha256: "a6167a1b826d2154f1ef2a4b9551304f82757030185a1dca94a86bcbad084f13"',
    ),
    "K001": _kernel_wheel("none"),
    "K002": _kernel_wheel("damaged", "the download broke off"),
    "K003": _kernel_wheel("older", "the output requires sgl-kernel==1.2.3", _WHEEL.replace("1.2.3", "1.2.2")),
    "K004": Example(
        '- {path: "sgl_kernel/fanzy_ops.*", batch: fancy}', '- {path: "sgl_kernel/fancy_ops.*", batch: fancy}'
    ),
    "K005": _kernel_wheel("patched", "the wheel has a file of the name of one that the manifest adds"),
    "E001": Example("dist --out overlays", "dist --out dist", COMMAND),
    "E002": Example("dist --out manifest.yaml/dist", "dist --out dist", COMMAND),
    "E004": Example(
        "dist --out dist", "dist --out dist-2", COMMAND, "another build is writing to dist all the time"
    ),
    "C001": Example("why AwkConfig.bitz", "why AwkConfig.bits", COMMAND),
    "C002": Example("dist --without spare", "dist --without spare --with-needs", COMMAND),
}

#: Codes that no text of a manifest and no command gives by itself, with what to do about each.
WITHOUT_EXAMPLE: dict[str, str] = {
    "G005": "Only a fault of the builder gives it: report it. Until then, drop the symbol by an edit.",
    "G009": "Only a fault of the builder gives it: report it with the manifest and the pin.",
    "G010": "Only a fault of the builder gives it: report it with the manifest and the pin.",
    "G013": "`verify` runs the output beside upstream; each line names what to run to see the difference.",
    "E003": "The message names the tool; `python -m builder doctor` lists all that is needed.",
    "E070": "Only a fault of the builder gives it: report it with the file that the message names.",
}
