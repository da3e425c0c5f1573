"""Packs what a machine with a GPU needs of two trees: `python -m verification.pack --out dist --to DIR`.

An output, the upstream that it was made from and, if asked, the wheels of both and their kernel wheels.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verification import probe_runner, subjects

if TYPE_CHECKING:
    from builder.emit.wheel import Wheel
    from builder.manifest.model import Manifest
    from builder.upstream.model import Upstream

NAMES = ("upstream", "ours")


def main() -> None:
    from builder.errors import BuildError

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the output folder")
    parser.add_argument("--to", type=Path, required=True, help="where the packs go")
    parser.add_argument("--upstream", default="", help="what the output was made from, as it was asked for")
    parser.add_argument("--upstream-tree", type=Path, help="upstream's tree in a folder, instead of looking")
    parser.add_argument("--kernel", type=Path, help="a folder of the verb kernel-wheel: both wheels go too")
    parser.add_argument(
        "--without", action="append", default=[], help="a file of kernel wheels that stays here"
    )
    parser.add_argument(
        "--wheels", action="store_true", help="the wheels of both trees go too, for the stage `installed`"
    )
    given = parser.parse_args()
    try:
        make(
            given.out,
            given.to,
            given.upstream,
            given.upstream_tree,
            given.kernel,
            given.without,
            given.wheels,
        )
    except (BuildError, OSError, KeyError, ValueError) as error:
        sys.exit(f"error: {error}")


def make(
    out: Path, to: Path, upstream: str, tree: Path | None, kernel: Path | None, leave: Sequence[str],
    with_wheels: bool = False,
) -> None:  # fmt: skip
    """Write the packs of an output. Raises BuildError, OSError, KeyError or ValueError."""
    from builder.upstream.cache import default_cache

    if with_wheels and tree is not None:
        raise ValueError("upstream's wheel is made from upstream: leave out --upstream-tree")
    output = subjects.output(out)
    whole: list[tuple[str, bytes]] = []
    cache = Path(os.environ.get("BUILDER_CACHE") or default_cache())
    wheels = kernels(kernel, origin(out), cache) if kernel else ()
    said: dict[str, Any] = {
        "output": output.told(), "harness": harness(), "packs": {}, "sizes": kernel_sizes(wheels),
    }  # fmt: skip
    if tree is None:
        found, manifest = _found(upstream or output.upstream, output, cache)
        tree = subjects.upstream(found.tree, found.blobs.read, cache / "verification").folder
        if output.wheel:
            theirs, mine = _wheel(found, manifest), out / output.wheel
            said["sizes"]["the wheel"] = [len(theirs.data), mine.stat().st_size]
            whole = [(theirs.name, theirs.data), (mine.name, mine.read_bytes())] if with_wheels else []
    folders, packs = (tree, out / "tree"), said["packs"]
    to.mkdir(parents=True, exist_ok=True)
    kinds = ("kernel", "wheel")
    for stale in ("subjects.json", *(f"{kind}-{name}.whl" for kind in kinds for name in NAMES)):
        (to / stale).unlink(missing_ok=True)
    for name, folder in zip(NAMES, folders, strict=True):
        data = pack(folder)
        (to / f"{name}.tar.gz").write_bytes(data)
        packs[name] = hashlib.sha256(gzip.decompress(data)).hexdigest()
    for name, wheel in zip(NAMES, wheels, strict=False):
        left_out = without(wheel, to / f"kernel-{name}.whl", leave)
        packs[f"kernel-{name}"] = wheel.name
        packs[f"kernel-{name} sha256"] = hashlib.sha256(wheel.read_bytes()).hexdigest()
        packs[f"kernel-{name} without"] = " ".join(left_out)
    for name, (filename, data) in zip(NAMES, whole, strict=False):
        (to / f"wheel-{name}.whl").write_bytes(data)
        packs[f"wheel-{name}"] = filename
        packs[f"wheel-{name} sha256"] = hashlib.sha256(data).hexdigest()
    (to / "subjects.json").write_text(json.dumps(said, indent=1) + "\n")  # last: it makes a pack of them


def harness() -> dict[str, str]:
    """The digest of this harness, and the commit that holds it, if one does."""
    root = Path(__file__).parents[1]
    told = {}
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        git = ["git", "-C", str(root)]
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "verification", "builder"], capture_output=True, check=True
        ).stdout
        if not changed:
            done = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, check=True, text=True)
            told["commit"] = done.stdout.strip()
    return {"digest": probe_runner.digest(), **told}


def _found(spec: str, output: subjects.Output, cache: Path) -> tuple[Upstream, Manifest]:
    """The upstream that an output was made from, and the manifest.

    Raises BuildError when it is unavailable, ValueError when it is not the one that the output names.
    """
    from builder.manifest.load import load_default
    from builder.upstream.model import Sources
    from builder.upstream.resolve import resolve

    manifest = load_default(Path("manifest.yaml"))
    mirror = os.environ.get("SGLANG_MIRROR")
    sources = Sources.of(manifest, Path(mirror) if mirror else None, cache, offline=False)
    upstream = resolve(spec, sources)
    if upstream.tree.id != output.upstream_tree:
        raise ValueError(f"the output was made from {output.upstream}, and {spec} is another tree")
    return upstream, manifest


def _wheel(upstream: Upstream, manifest: Manifest) -> Wheel:
    """Upstream's wheel, made by the writer that makes ours."""
    from builder.emit.wheel import build_wheel
    from builder.pipeline.build import Build
    from builder.upstream.model import snapshot

    version, project = Build(upstream, manifest).version, manifest.upstream.project
    return build_wheel(snapshot(upstream), version, upstream.commit, project=project)


def kernel_sizes(wheels: Sequence[Path]) -> dict[str, list[int]]:
    """Bytes of the kernel wheels and of what they install, the published one's and ours."""
    if not wheels:
        return {}
    installed = []
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            installed.append(sum(item.file_size for item in packed.infolist()))
    return {
        "the kernel wheel": [wheel.stat().st_size for wheel in wheels],
        "the kernels, installed": installed,
    }


def origin(out: Path) -> str:
    """What a kernel wheel that was made for the same upstream says of it: its commit, or its name."""
    upstream = json.loads((out / "build.json").read_text())["upstream"]
    return str(upstream.get("commit") or upstream["spec"])


def kernels(folder: Path, upstream: str, cache: Path) -> tuple[Path, Path]:
    """The published wheel, and ours that was made from it for an upstream.

    Raises FileNotFoundError when one of them is not there, ValueError when several fit.
    """
    said = {wheel: _modifications(wheel) for wheel in sorted(folder.glob("*.whl"))}
    fitting = [wheel for wheel, each in said.items() if each["upstream"] == upstream]
    if not fitting:
        raise FileNotFoundError(f"{folder} holds no kernel wheel for {upstream}: run the verb kernel-wheel")
    if len(fitting) > 1:
        raise ValueError(f"several wheels fit, leave one: {', '.join(map(str, fitting))}")
    made_from = said[fitting[0]]["from"]
    published = cache / "kernel" / made_from["sha256"] / made_from["name"]
    if not published.exists():
        raise FileNotFoundError(f"{published} is not there: run the verb kernel-wheel with --download")
    return published, fitting[0]


def _modifications(wheel: Path) -> dict[str, Any]:
    """What the verb kernel-wheel says of a wheel that it made. Raises ValueError for any other wheel."""
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if name.endswith(".dist-info/MODIFICATIONS.json"):
                return dict(json.loads(packed.read(name)))
    raise ValueError(f"{wheel} was not made by the verb kernel-wheel")


def pack(folder: Path) -> bytes:
    """What of a tree runs, as a tar file under gzip; the same bytes for the same files."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for part in subjects.RUNS:
            for path in sorted((folder / part).rglob("*")):
                if not path.is_file() or path.is_symlink() or "__pycache__" in path.parts:
                    continue
                member = tarfile.TarInfo(path.relative_to(folder).as_posix())
                member.size, member.mode = path.stat().st_size, 0o644
                with path.open("rb") as file:
                    tar.addfile(member, file)
    return gzip.compress(whole.getvalue(), 9, mtime=0)


def without(wheel: Path, to: Path, patterns: Sequence[str]) -> list[str]:
    """Copy a wheel without the files that a pattern fits (some machines take no large ones); their names.

    Where no pattern fits, the copy is the wheel byte for byte.
    """
    with zipfile.ZipFile(wheel) as source:
        left_out = [
            name for name in source.namelist() if any(fnmatch.fnmatch(name, each) for each in patterns)
        ]
        if left_out:
            with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as target:
                for item in source.infolist():
                    if item.filename not in left_out:
                        target.writestr(item, source.read(item), zipfile.ZIP_DEFLATED, 9)
            return left_out
    shutil.copyfile(wheel, to)
    return []


if __name__ == "__main__":
    main()
