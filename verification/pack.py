"""Packs what a machine with a GPU needs of two trees: `python -m verification.pack --out dist --to DIR`."""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from verification import subjects

NAMES = ("upstream", "ours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the output folder")
    parser.add_argument("--upstream-tree", type=Path, required=True, help="upstream's tree in a folder")
    parser.add_argument("--to", type=Path, required=True, help="where the packs go")
    parser.add_argument("--kernel-upstream", type=Path, help="the published kernel wheel")
    parser.add_argument("--kernel-ours", type=Path, help="the kernel wheel of the verb kernel-wheel")
    parser.add_argument(
        "--without", action="append", default=[], help="a file of kernel wheels that stays here"
    )
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    output = subjects.output(given.out)
    packs = {}
    for name, folder in zip(NAMES, (given.upstream_tree, given.out / "tree"), strict=True):
        data = pack(folder)
        (given.to / f"{name}.tar.gz").write_bytes(data)
        packs[name] = hashlib.sha256(data).hexdigest()
    for name, wheel in zip(NAMES, (given.kernel_upstream, given.kernel_ours), strict=True):
        if wheel is not None:
            left_out = without(wheel, given.to / f"kernel-{name}.whl", given.without)
            packs[f"kernel-{name}"] = wheel.name
            packs[f"kernel-{name} sha256"] = hashlib.sha256(wheel.read_bytes()).hexdigest()
            packs[f"kernel-{name} without"] = " ".join(left_out)
    said = {"output": asdict(output), "packs": packs}
    (given.to / "subjects.json").write_text(json.dumps(said, indent=1) + "\n")


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
    """Copy a wheel without the files that a pattern fits (some machines take no large ones); their names."""
    left_out = []
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as target:
        for item in source.infolist():
            if any(fnmatch.fnmatch(item.filename, pattern) for pattern in patterns):
                left_out.append(item.filename)
            else:
                target.writestr(item, source.read(item), zipfile.ZIP_DEFLATED, 9)
    return left_out


if __name__ == "__main__":
    main()
