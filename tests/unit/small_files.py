"""The files of a small upstream of our own, and a manifest for them with every kind of statement."""

from __future__ import annotations

PARSER = b'''\
"""Parses replies."""

from acme.layers.fancy import polish


def parse(text):
    return polish(text.strip())
'''

_PYTHON = {
    "acme/__init__.py": '"""Serves models."""\n\nfrom acme.version import __version__\n',
    "acme/version.py": '__version__ = "1.2.3"\n',
    "acme/README.md": "# acme\n",
    "acme/launch.py": """\
\"\"\"The entry point.\"\"\"

import sys

from acme.parser import parse
from acme.server import Server


def main(argv):
    return Server(argv, name=parse(" acme ")).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
""",
    "acme/server.py": """\
\"\"\"The server.\"\"\"

import os

from acme import platform
from acme.grpc import serve_grpc
from acme.layers.attention import choose, make
from acme.layers.quant import METHODS
from acme.models.registry import load
from acme.platform import is_alien, on_alien

BACKENDS = ["plain", "fancy", "wide"]
TIMEOUT_S = 30
VERBOSE = True

_is_alien = is_alien()


def helper_of_fancy():
    return 1


class Server:
    def __init__(self, argv, name="acme", backend="fancy", retries=0):
        self.argv = argv
        self.name = name
        # the default is upstream's
        self.backend = backend
        self.retries = retries
        self.mode = "http"
        self.architecture = "Deep"

    def run(self):
        if _is_alien:
            return on_alien(self)
        if self.backend == "fancy":
            return helper_of_fancy()
        if self.mode == "grpc":
            return serve_grpc(self)
        if os.environ.get("ACME_ALIEN"):
            raise RuntimeError("no aliens")
        if hasattr(platform, "warp"):
            platform.warp()
        if platform.GALAXY:
            return None
        if self.architecture == "Other":
            raise RuntimeError("an other")
        print("starting")
        report(self.name, quiet=False)
        model = load(self.argv[0])
        return make(choose(self.backend)), model, METHODS, self.limits(), self.slow_path()

    def limits(self):
        return {"timeout": TIMEOUT_S, "tiny": 1, "large": 1 << 20}

    def slow_path(self):
        total = 0
        for number in range(3):
            total += number
        return total

    def odd(self):
        return "odd"


def report(name, quiet=False):
    print(name, quiet)
""",
    "acme/platform.py": """\
\"\"\"What it runs on.\"\"\"

GALAXY = None


def is_alien():
    return False


def on_alien(server):
    return server.alien()
""",
    "acme/parser.py": PARSER.decode(),
    "acme/grpc/__init__.py": "from acme.grpc.service import serve_grpc\n",
    "acme/grpc/service.py": "def serve_grpc(server):\n    return server.name\n",
    "acme/layers/__init__.py": "",
    "acme/layers/attention.py": """\
\"\"\"Attention.\"\"\"

from acme.layers.fancy import Fancy, polish


class Plain:
    def forward(self, x):
        return x

    def forward_fancy(self, x):
        return score(Fancy(polish(x)))


class Wide(Plain):
    pass


BY_NAME = {"plain": Plain, "fancy": Fancy, "wide": Wide}


def choose(name):
    return BY_NAME[name]


def make(kind):
    if isinstance(kind, Fancy):
        return kind
    return kind()


def score(fancy):
    return Fancy(fancy.x)
""",
    "acme/layers/fancy.py": """\
class Fancy:
    def __init__(self, x):
        self.x = x


def polish(text):
    return text
""",
    "acme/layers/quant.py": """\
from acme.layers.awk import AwkConfig
from acme.layers.int8 import Int8Config

METHODS = {"int8": Int8Config, "awk": AwkConfig}
""",
    "acme/layers/awk.py": "class AwkConfig:\n    bits = 4\n",
    "acme/layers/int8.py": "class Int8Config:\n    bits = 8\n",
    "acme/models/__init__.py": "",
    "acme/models/registry.py": """\
import importlib


def load(name):
    return importlib.import_module(f"acme.models.{name}")
""",
    "acme/models/deep.py": (
        "from acme.configs.deep import DeepConfig\n\n\nclass Deep:\n    config = DeepConfig\n"
    ),
    "acme/models/other.py": """\
from acme.configs.other import OtherConfig


class Other:
    config = OtherConfig

    def forward(self, pooled=False):
        return pooled


EntryClass = Other
""",
    "acme/orphan.py": "def forgotten():\n    return 1\n",
    "acme/clean.py": ('from acme.scrub import scrub\n\nif __name__ == "__main__":\n    scrub()\n'),
    "acme/scrub.py": "def scrub():\n    return None\n",
    "acme/models/shared.py": "WIDTH = 3\n",
    "acme/configs/__init__.py": "",
    "acme/configs/deep.py": (
        "from acme.models.shared import WIDTH\n\n\nclass DeepConfig:\n    width = WIDTH\n"
    ),
    "acme/configs/other.py": "class OtherConfig:\n    width = 2\n",
    "acme/data/table.json": '{"rows": []}\n',
    "acme/test/test_server.py": "from acme.server import Server\n\n\ndef test_it():\n    assert Server([])\n",
    "pyproject.toml": """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "acme"
version = "1.2.3"
description = "Serves models."
readme = "acme/README.md"
requires-python = ">=3.10"
license = { file = "LICENSE" }
dependencies = [
  "grpcio",  # for acme.grpc
  "packaging>=20",
]

[project.scripts]
acme = "acme.launch:main"

[tool.acme]
mode = "all"

[tool.setuptools.packages.find]
exclude = ["acme.test*"]

[tool.setuptools.package-data]
acme = ["data/*.json"]
""",
}

_KERNEL = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.26)
project(sgl_kernel LANGUAGES CXX CUDA)
option(WITH_ALIEN "for aliens" OFF)
set(SOURCES
    "csrc/add.cu"
    "csrc/fancy.cu"
    "csrc/ext.cc"
)
if(WITH_ALIEN)
  add_compile_definitions(ALIEN)
endif()
set(FLAGS "-O2" "-DFANCY")
message(STATUS "fancy is on")
library(ops ${SOURCES})
""",
    "csrc/add.cu": "void add(int a) {}\n",
    "csrc/fancy.cu": "void fancy(int a) {}\n",
    "csrc/ext.cc": """\
#include "ops.h"

TORCH_LIBRARY_FRAGMENT(sgl_kernel, m) {
  m.def("add(int a) -> ()");
  m.impl("add", torch::kCUDA, &add);
  m.def("fancy(int a) -> ()");
  m.impl("fancy", torch::kCUDA, &fancy);
  note("hello");
}
#if ALIEN
int alien = 1;
#endif
const int version = 1;
""",
    "include/ops.h": "#pragma once\nvoid add(int a);\nvoid fancy(int a);\n",
    "python/sgl_kernel/__init__.py": (
        "import torch\n\n\ndef add(a):\n    torch.ops.sgl_kernel.add.default(a)\n"
        "\n\ndef fancy(a):\n    torch.ops.sgl_kernel.fancy.default(a)\n"
    ),
}

FILES: dict[str, bytes | tuple[str, bytes]] = {
    "README.md": b"# acme\n\nServes models.\n",
    "LICENSE": b"Permission is granted.\n",
    ".github/workflow.yml": b"on: push\n",
    "docs/guide.md": b"A guide without a last newline",
    "docs/latest.md": ("120000", b"guide.md"),
    "docs/logo.bin": bytes(range(256)),
    "scripts/run.sh": ("100755", b"#!/bin/sh\nexec python -m acme.launch\n"),
    "docs/a name with \xe4 and spaces.md": b"odd\n",
    **{f"python/{path}": text.encode() for path, text in _PYTHON.items()},
    **{f"sgl-kernel/{path}": text.encode() for path, text in _KERNEL.items()},
}

MANIFEST = """\
name: acme-small
label: small

upstream:
  repository: file:///nowhere/acme.git
  project: acme
  folder: python
  default: seed
  pins:
    seed: {commit: "@COMMIT@", version: 1.2.3}
    gone: {commit: "00000000000000000000000000000000000000aa"}

packages:
  acme: python/acme
  sgl_kernel: sgl-kernel/python/sgl_kernel

roots:
  modules: [acme.launch, acme.layers.*]
  models:
    package: acme.models
    keep: [deep]
  dynamic:
    - {from: acme.models.registry, to: acme.models.*, why: importlib}
  programs: [acme.*]

keep:
  - /README.md
  - /LICENSE
  - .github/
  - docs/
  - scripts/
  - python/pyproject.toml
  - sgl-kernel/
  - {path: benchmark/, since: 2.0.0}

prune_symbols: [python/acme/**]

facts:
  predicates:
    acme.platform.is_alien: false
  values:
    acme.platform.GALAXY: {value: falsy}
  environment:
    ACME_ALIEN: null
  attributes: [acme.platform.warp]
  pure: [acme.server.report]
  environment_readers:
    - {name: acme.platform.flag, optional: an example, models: [other, {parameter: pooled}]}
  quiet_imports: [importlib, {name: torch, optional: an example}, {name: acme_old, until: 1.0.0}]
  bases: [other.Plain]
  defaults:
    acme.server.report: {quiet: false}

absent:
  modules: [{name: acme_alien, optional: never imported by name}]

batches:
  - id: furniture
    why: not part of the distribution
    remove: [.github/, docs/]
    keep: [docs/guide.md, docs/latest.md]

  - id: tests
    why: upstream's own tests run from the pin
    remove: [python/acme/test/]

  - id: models
    why: one model is kept
    prune: [{path: python/acme/configs/*.py, defines: width}]
    keep: [python/acme/configs/__init__.py]
    facts:
      options:
        - {names: [architecture], removed_models: true, parts: [Other]}

  - id: grpc
    why: the gRPC entry point is not part of this distribution
    remove: [python/acme/grpc/]
    facts:
      options:
        - {names: [mode], absent: [grpc], optional: an example}
    toml:
      - {file: python/pyproject.toml, remove: project.dependencies, value: grpcio}
      - {file: python/pyproject.toml, set: tool.acme.mode, value: small}
      - {file: python/pyproject.toml, add: project.dependencies, value: "numpy>=1"}

  - id: fancy
    why: the fancy backend is not part of this distribution
    remove: [python/acme/layers/fancy.py, sgl-kernel/csrc/fancy.cu]
    facts:
      options:
        - {names: ["*backend*"], absent: [fancy]}
    drop:
      - acme.server.helper_of_fancy
      - sgl_kernel.fancy
    stub: [acme.layers.attention.Plain.forward_fancy]
    edits:
      - {set: acme.server.Server.__init__:backend, to: '"plain"', why: the next best}
      - {drop_import: acme.layers.fancy.polish, in: acme.layers.attention}
      - {drop_entry: '"fancy"', in: acme.server.BACKENDS}
      - {drop_statement: 'print("starting")', in: acme.server.Server.run}
      - {replace: 1 << 20, by: 1 << 16, in: acme.server.Server.limits}
      - {body: acme.server.Server.slow_path, from: overlays/fancy/slow_path.pybody}
    anchored:
      - {file: sgl-kernel/CMakeLists.txt, block: WITH_ALIEN}
      - {file: sgl-kernel/CMakeLists.txt, argument: '"-DFANCY"'}
      - {file: sgl-kernel/CMakeLists.txt, command: 'message(STATUS "fancy is on")'}
      - {file: sgl-kernel/csrc/ext.cc, statement: 'note("hello"'}
      - {file: sgl-kernel/csrc/ext.cc, replace: version = 1, by: version = 2}

  - id: spare
    why: an example of a consequence
    kind: housekeeping
    needs: [fancy]
    follows: [fancy]
    facts:
      pure: [{name: acme.layers.fancy.polish, without: [fancy, awk]}]

  - id: awk
    why: AWK is not part of this distribution
    remove: [python/acme/layers/awk.py]
    absent:
      symbols: [acme.layers.awk.AwkConfig]

  - id: parser
    why: our own parser
    files:
      - {path: python/acme/parser.py, from: overlays/parser/parser.py, preimage: ["@PARSER@"]}
      - {path: python/acme/extra.py, from: overlays/parser/extra.py}
    patches:
      - {from: overlays/parser/odd.patch, why: an example of the last resort}

  - id: told
    why: who asks for what is not here is told so
    files:
      - {path: python/acme/removed.py, from: overlays/told/removed.py, tables: removed-features}
    edits:
      - {add_import: acme.removed.checked, in: acme.launch}
      - {replace: "sys.argv[1:]", by: "checked(sys.argv[1:])", in: acme.launch}

kernel:
  distributions: [acme-kernel, sgl-kernel]
  architectures: {keep: [sm90, {name: sm100, optional: an example}]}
  remove:
    - {path: "sgl_kernel/fancy_ops.*", batch: fancy}
    - {path: lib/, why: nothing loads it, optional: an example}

guarantees:
  absent_text:
    - pattern: (?i)fancy
      in: [python/, sgl-kernel/]
      batches: [fancy]
      except:
        - {path: python/acme/layers/attention.py, text: forward_fancy, why: a stub has a name}
        - {path: python/acme/layers/attention.py, why: a stub says what is missing}
  present: [python/acme/launch.py, acme.server.Server, LICENSE]
  dependencies:
    - {name: numpy, why: an example, optional: a batch adds it}
    - {name: grpcio, why: the generated code that is not in the tree needs it, optional: a batch removes it}
    - {name: packaging, why: an example}
    - {name: sgl-kernel, why: the kernels register themselves, optional: only some small worlds have it}
"""

OVERLAYS = {
    "overlays/fancy/slow_path.pybody": b"# our own\nreturn 3\n",
    "overlays/parser/parser.py": b'"""Ours."""\n\n\ndef parse(text):\n    return text.strip()\n',
    "overlays/parser/extra.py": b'"""Ours too."""\n\nEXTRA = 1\n',
    "overlays/told/removed.py": (
        b"""\
DISTRIBUTION = ""
DECISIONS: dict = {}
FLAGS: dict = {}
CHOICES: dict = {}
MODELS: dict = {}


def checked(argv):
    return [word for word in argv if word not in MODELS]
"""
    ),
    "overlays/parser/odd.patch": (
        b"--- a/python/acme/server.py\n+++ b/python/acme/server.py\n"
        b'@@ -62,2 +62,2 @@\n     def odd(self):\n-        return "odd"\n+        return "even"\n'
    ),
}
