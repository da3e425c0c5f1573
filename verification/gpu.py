"""The same comparison on a machine with an NVIDIA GPU: `python -m verification.gpu --pack DIR --out DIR`.

Triton's kernels are compiled and run; sgl_kernel's operators are the references, so that any driver does.
The Python that runs this has torch for the GPU and the packages of requirements.txt. Upstream runs twice:
only what it repeats bit for bit can show a difference.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

from verification import matrix, pack, probe_runner, run
from verification.checks import forward, parts
from verification.evidence import NAME, statement
from verification.results import FAILED, NOT_RUN, Case, Check, idle
from verification.subjects import Output, Subject, once

#: What CUDA's libraries and compilers read.
PASSED = frozenset(
    ("PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "NCCL_NVLS_ENABLE",
     "TORCH_SYMM_MEM_DISABLE_MULTICAST", "NVSHMEM_DISABLE_NVLS")
)  # fmt: skip
_EACH = 240  # seconds for one run
_PACKAGES = (
    "torch", "triton", "transformers", "numpy", "flashinfer-python", "sglang-kernel", "tilelang", "nixl",
    "mooncake-transfer-engine", "mooncake-transfer-engine-cuda13",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, required=True, help="a folder of verification.pack")
    parser.add_argument("--out", type=Path, required=True, help="where the evidence goes")
    parser.add_argument("--work", type=Path, default=Path("/tmp/verification-gpu"), help="logs and answers")
    parser.add_argument("--only", nargs="*", default=(), help="runs whose name starts so")
    parser.add_argument("--seconds", type=int, default=540, help="start no run after this time")
    parser.add_argument("--jobs", type=int, default=6, help="configurations at a time")
    given = parser.parse_args()
    need_torch()
    deadline = time.monotonic() + given.seconds
    work = folder_of(given.pack, given.work)
    output, trees = opened(given.pack, work / "trees")
    asker = probe_runner.ProbeRunner(
        Path(sys.executable),
        work / "runs",
        work / "kept",
        probe_runner.digest_of_answers(),
        _EACH,
        PASSED,
    )
    upstream, ours = trees
    configurations = [
        each for each in matrix.on_device() if not given.only or each.name.startswith(tuple(given.only))
    ]
    checks = [parts.check(asker, upstream, ours, "device")] if not given.only else []
    _tell(checks)
    checks.append(check(asker, upstream, ours, configurations, deadline, given.jobs))
    _tell(checks[-1:])
    left_out = {} if not given.only else {"forward: configurations": "only some were asked for"}
    given.out.mkdir(parents=True, exist_ok=True)
    said = harness("verification.gpu", given.pack)
    evidence = statement(output, upstream, ours, checks, left_out, said, packages(given.pack))
    (given.out / NAME).write_bytes(evidence)
    end(checks)


def end(checks: Sequence[Check]) -> NoReturn:
    """End the program: with a failure where something differs, and where nothing was compared."""
    for sentence in idle(checks):
        print(f"error: {sentence}", flush=True)
    sys.exit(any(each.verdict in (FAILED, NOT_RUN) for each in checks))


def need_torch() -> None:
    """End with a sentence where there is nothing to compare on."""
    if importlib.util.find_spec("torch") is None:
        sys.exit(f"error: {sys.executable} has no torch: this runs on a machine with an NVIDIA GPU")


def opened(packs: Path, folder: Path) -> tuple[Output, tuple[Subject, Subject]]:
    """As `unpack`, for a program: ends it with a sentence when the packs cannot be used."""
    try:
        output, trees = unpack(packs, folder)
        print(f"upstream {output.upstream}, output {output.tree}", flush=True)
        return output, trees
    except (OSError, KeyError, ValueError, tarfile.TarError) as error:
        sys.exit(f"error: {packs} is no pack of `make gpu-pack`: {error}")


def unpack(packs: Path, folder: Path) -> tuple[Output, tuple[Subject, Subject]]:
    """The two trees of a folder of packs. Raises ValueError for a pack that is not the one that it was."""
    said = json.loads((packs / "subjects.json").read_text())
    output = Output.of(said["output"])
    found = []
    for name, tree in zip(pack.NAMES, (output.upstream_tree, output.tree), strict=True):
        path = packs / f"{name}.tar"  # of pieces; a pack has it compressed
        data = (
            path.read_bytes() if path.exists() else gzip.decompress((packs / f"{name}.tar.gz").read_bytes())
        )
        if hashlib.sha256(data).hexdigest() != said["packs"][name]:
            raise ValueError(f"{name}.tar of {packs} is another file than subjects.json says")
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            opened = once(folder / name, functools.partial(tar.extractall, filter="data"))
        found.append(Subject(name, opened.resolve(), tree))
    return output, (found[0], found[1])


def check(
    asker: probe_runner.ProbeRunner,
    upstream: Subject,
    ours: Subject,
    configurations: Iterable[matrix.Configuration],
    deadline: float,
    jobs: int,
) -> Check:
    """Upstream twice and ours once in every configuration, `jobs` configurations at a time."""

    def one(configuration: matrix.Configuration) -> Case:
        if time.monotonic() > deadline:
            return Case(configuration.name, NOT_RUN, ("there was no time left",))
        name, theirs = configuration.name, configuration.question(True)
        first = asker.ask("forward", upstream, name, theirs)
        second = asker.ask("forward", upstream, name, theirs, again=True)
        mine = asker.ask("forward", ours, name, configuration.question(False))
        found = forward.compare(name, first, mine)
        repeated = forward.compare(name, first, second)
        if first.values is not None and repeated.verdict == FAILED:
            lines = ("upstream does not repeat itself", *repeated.lines)
            found = Case(name, NOT_RUN, lines, {"ours": _same(first.values, mine.values)})
        print(f"{found.verdict:8} {name} {' | '.join(found.lines[:6])}", flush=True)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        return Check("forward", tuple(pool.map(one, configurations)))


def _same(theirs: Mapping[str, Any], mine: Mapping[str, Any] | None) -> str:
    if mine is None:
        return "failed"
    same = theirs["outcome"] == mine["outcome"]
    return "the same results in other steps" if same else "other results"


def visible() -> list[str]:
    """The indices of the GPUs that may be used; the first one where none can be asked."""
    if given := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return [each.strip() for each in given.split(",") if each.strip()]
    return (_asked("index") or "").split() or ["0"]


def _asked(fields: str) -> str | None:
    """What nvidia-smi says of every GPU, a line each; None where it cannot be asked."""
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def folder_of(packs: Path, work: Path) -> Path:
    """Where the logs, trees and compiled files of these packs go: nothing of other packs is met there."""
    said = packs / "subjects.json"
    if not said.exists():
        sys.exit(f"error: {packs} is no pack: `make gpu-pack PACK={packs}` makes one")
    return work / hashlib.sha256(said.read_bytes()).hexdigest()[:16]


def packages(packs: Path) -> dict[str, str]:
    """The files from which the environment was made, with their SHA-256, where it came with the packs."""
    said = json.loads((packs / "subjects.json").read_text())
    return dict(said.get("packages", {}))


def harness(module: str, packs: Path) -> dict[str, str]:
    """What evidence says of the harness, its command and the machine: the GPU, driver and versions."""
    import importlib.metadata

    said = json.loads((packs / "subjects.json").read_text())
    packed, digest = said.get("harness", {}), probe_runner.digest()
    known = {
        "card": said.get("card"),
        "commit": packed.get("commit") if packed.get("digest") == digest else None,
    }
    told = _asked("name,driver_version,memory.total")
    gpus = "no nvidia-smi" if told is None else told.strip().replace("\n", "; ")
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "digest": digest, **{key: value for key, value in known.items() if value},
        "gpu": gpus, **versions, **run.machine(),
        "command": " ".join([f"python -m {module}", *sys.argv[1:]]),
    }  # fmt: skip


def _tell(checks: Iterable[Check]) -> None:
    for each in checks:
        print(f"{each.verdict:8} {each.name}: {each.counts}", flush=True)
        for line in run.problems([each])[:12]:
            print(f"         {line}", flush=True)


if __name__ == "__main__":
    main()
