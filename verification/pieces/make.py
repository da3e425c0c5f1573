"""Makes pieces: `python -m verification.pieces.make --pack DIR --to DIR --card sm90 --piece 48M`.

Packs (verification.pack, with kernels) and this harness go into one compressed stream, and the packages of
requirements-VERSION.txt into another, which is kept: it is the same for every pack of a release. Both are cut
into folders p1, p2 and so on of a given size. open.py, which lies in p1 too, makes a folder of them in which
`verification.real.run` runs. The programs strip and zstd are needed.
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from builder.upstream.cache import default_cache, sha256_of
from verification import pack
from verification.pieces import fatbin

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_PYTHON = "3.12"
_GLIBC = (5, 17, 18, 24, 26, 27, 28, 31, 34, 35)
#: Parts of packages that nothing here loads: headers, tests, tools, and what is for other machines.
_UNUSED = (
    "bin/*", "include/*", "share/*", "test/*", "torch/include/*", "torch/bin/protoc*", "jedi/third_party/*",
    "zstandard/_cffi*", "triton/backends/nvidia/bin/ptxas-blackwell", "triton/backends/nvidia/bin/nvdisasm",
    "triton/backends/nvidia/bin/cuobjdump", "triton/backends/nvidia/lib/cupti*", "triton/FileCheck",
    "triton/plugins/*.so", "triton/instrumentation/*.so", "triton/_C/libproton.so",
    "triton/backends/amd/include/*", "triton/backends/amd/lib/*", "flashinfer/data/csrc/cake_sampling/*",
    "flashinfer/data/csrc/kda/*", "flashinfer/data/csrc/cake_dsv4/*", "flashinfer/data/cutlass/examples/*",
    "flashinfer/data/cutlass/python/*", "flashinfer/data/cutlass/test/*",
    "tilelang/3rdparty/composable_kernel/*", *(
        f"tilelang/3rdparty/cutlass/{part}/*"
        for part in ("examples", "python", "test", "tools", "docs", "media")
    ), "z3/include/*", "nvidia/nccl/include/*", "nixl_ep_cu13/*", "nixl_cu13.scripts/*",
)  # fmt: skip
#: Libraries with machine code for GPUs, of which one architecture stays.
_PRUNED = (
    "torch/lib/libtorch_cuda.so", "torch/lib/libtorch_cuda_linalg.so", "torch/lib/libtorch_nvshmem.so",
    "flash_mla/*.so", "torchvision/_C_stable.so", "nvidia/nccl/lib/libnccl.so.2", "sgl_kernel/*.so",
    "sgl_kernel/*/*.so",
)  # fmt: skip
#: Libraries whose tables of symbols are long.
_STRIPPED = (
    *_PRUNED, "torch/lib/libtorch_cpu.so", "torch/lib/libtorch_python.so", "torch/lib/libc10*.so",
    "triton/_C/libtriton.so", "z3/lib/*.so*", "zstandard/backend_c*.so", "tilelang/lib/*.so",
)  # fmt: skip
#: What DeepSeek calls of FlashAttention 3, by its templates: bfloat16, heads of 64 and 512, 192 and 128.
_ATTENTION = re.compile(rb"Li512ENS_10bfloat16_tEf|Li192EEEEEELi128ENS_10bfloat16_tEf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--pack", type=Path, required=True, action="append",
        help="a folder of verification.pack, with kernels; of several outputs of one upstream, one each",
    )  # fmt: skip
    parser.add_argument("--to", type=Path, required=True, help="where the pieces go")
    parser.add_argument("--card", default="sm90", help="the architecture that stays")
    parser.add_argument("--piece", default="48M", help="the most bytes of a piece; M stands for 10^6")
    parser.add_argument("--requirements", type=Path, help="instead of those of the pack's release")
    parser.add_argument("--wheels", type=Path, help="where wheels are kept; by default in the cache")
    parser.add_argument("--level", type=int, default=12, help="how hard zstd tries")
    given = parser.parse_args()
    size = int(given.piece.removesuffix("M")) * (1_000_000 if given.piece.endswith("M") else 1)
    try:
        make(
            given.pack, given.to, int(given.card.removeprefix("sm")), size, given.requirements,
            given.wheels or Path(os.environ.get("BUILDER_CACHE") or default_cache()) / "pieces", given.level,
        )  # fmt: skip
    except (OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")


def make(
    packs: Sequence[Path], to: Path, card: int, size: int, requirements: Path | None, kept: Path, level: int
) -> None:
    """Write the pieces. Raises OSError, KeyError, ValueError or CalledProcessError."""
    for program in ("strip", "zstd"):
        if shutil.which(program) is None:
            raise FileNotFoundError(f"the program {program} is needed")
    names = [folder.resolve().name for folder in packs]
    if len(set(names)) < len(names):
        raise ValueError(f"packs need names of their own: {', '.join(names)}")
    pins = requirements or requirements_of(json.loads((packs[0] / "subjects.json").read_text()))
    wheels = download(pins, kept)
    packages, told = _packages(pins, wheels, card, size, level, kept)
    files = {"requirements.txt": sha256_of(pins), **{wheel.name: sha256_of(wheel) for wheel in wheels}}
    work = to.with_name(f"{to.name}-work")
    shutil.rmtree(work, ignore_errors=True)
    for folder, name in zip(packs, names, strict=True):
        told |= _pack(folder, work / "packs" / name, card, files)
    _share(work / "packs")
    harness(work / "harness")
    reader = next(wheel for wheel in wheels if wheel.name.startswith("zstandard-"))
    beside = (_HERE / "open.py", reader)
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    first = sum(path.stat().st_size for path in beside) + 100_000
    cut(work, ("packs", "harness"), to / "packs", size, level, first)
    streams = {
        "packs": {"folders": ["packs", "harness"], "pieces": _placed(to / "packs", to)},
        "packages": {"folders": ["site"], "pieces": _placed(packages, to)},
    }
    shutil.rmtree(to / "packs")
    for path in beside:
        shutil.copyfile(path, to / "p1" / path.name)
    index = {"packs": names, "streams": streams, "pruned": told}
    (to / "p1/index.json").write_text(json.dumps(index, indent=1) + "\n")
    shutil.rmtree(work)
    sizes = [each["size"] for stream in streams.values() for each in stream["pieces"]]
    print(f"{len(sizes)} pieces, {sum(sizes):,} bytes: {to}")


def _packages(
    pins: Path, wheels: Sequence[Path], card: int, size: int, level: int, kept: Path
) -> tuple[Path, dict[str, list[int]]]:
    """A folder with the pieces of the packages, and what was pruned of them; made once."""
    decided = (card, size, level, _UNUSED, _PRUNED, _STRIPPED, pins.read_text())
    made = hashlib.sha256(repr(decided).encode() + (_HERE / "fatbin.py").read_bytes())
    folder = kept / made.hexdigest()[:16] / "packages"
    if not (folder / "pruned.json").exists():
        work = kept / "work"
        shutil.rmtree(work, ignore_errors=True)
        site = work / "site"
        for wheel in wheels:
            if not wheel.name.startswith("sglang_kernel-"):  # both kernel packages come from the packs
                unzip(wheel, site)
        _link(site / "z3/lib")
        told = shrink(site, card)
        cut(work, ("site",), folder, size, level)
        (folder / "pruned.json").write_text(json.dumps(told))
        shutil.rmtree(work)
    return folder, json.loads((folder / "pruned.json").read_text())


def _pack(packs: Path, to: Path, card: int, files: Mapping[str, str]) -> dict[str, list[int]]:
    """A pack without compression, its kernels for one card; what was pruned of these."""
    to.mkdir(parents=True)
    told: dict[str, list[int]] = {}
    for role in pack.NAMES:
        (to / f"{role}.tar").write_bytes(gzip.decompress((packs / f"{role}.tar.gz").read_bytes()))
        if (packs / f"wheel-{role}.whl").exists():
            store(packs / f"wheel-{role}.whl", to / f"wheel-{role}.whl")
        told |= _kernel(packs / f"kernel-{role}.whl", to, card)
    said = json.loads((packs / "subjects.json").read_text()) | {"packages": dict(files), "card": f"sm{card}"}
    # our kernel wheel was made for one card, and the published one was not
    said["sizes"] = {name: each for name, each in said.get("sizes", {}).items() if "kernel" not in name}
    (to / "subjects.json").write_text(json.dumps(said, indent=1) + "\n")
    return told


def _share(folder: Path) -> None:
    """Files that are the same in several packs are one file, which a stream has once."""
    seen: dict[str, Path] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        first = seen.setdefault(sha256_of(path), path)
        if first != path:
            path.unlink()
            path.hardlink_to(first)


def requirements_of(said: dict[str, Any]) -> Path:
    """The pinned packages for a pack's release. Raises FileNotFoundError where there are none."""
    found = sorted(_HERE.glob("requirements-*.txt"))
    wanted = [path for path in found if said["output"]["upstream"].endswith(path.stem.partition("-")[2])]
    if len(wanted) != 1:
        known = ", ".join(path.stem.partition("-")[2] for path in found)
        raise FileNotFoundError(f"packages are pinned for {known} alone: name a file with --requirements")
    return wanted[0]


def download(pins: Path, folder: Path) -> list[Path]:
    """The wheels of pinned requirements, in a folder where they stay; pip compares each with its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    platforms = [f"--platform=manylinux_2_{number}_x86_64" for number in _GLIBC]
    platforms += [f"--platform=manylinux{name}_x86_64" for name in ("1", "2010", "2014")]
    wanted = set(re.findall(r"--hash=sha256:([0-9a-f]{64})", pins.read_text()))
    found = [path for path in sorted(folder.glob("*.whl")) if sha256_of(path) in wanted]
    if len(found) == len(wanted):
        return found
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps",
        "--only-binary=:all:", f"--python-version={_PYTHON}", "--implementation=cp", *platforms,
        f"--dest={folder}", f"--find-links={folder}", f"--requirement={pins}",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    found = [path for path in sorted(folder.glob("*.whl")) if sha256_of(path) in wanted]
    if len(found) != len(wanted):
        raise ValueError(f"{folder} has {len(found)} of the {len(wanted)} wheels of {pins}")
    return found


def unzip(wheel: Path, to: Path) -> None:
    """Install a wheel: its packages go into a folder, and its scripts nowhere."""
    with zipfile.ZipFile(wheel) as packed:
        for item in packed.infolist():
            parts = item.filename.split("/")
            if parts[0].endswith(".data"):
                if parts[1] not in ("purelib", "platlib"):
                    continue
                parts = parts[2:]
            if item.is_dir() or _unused("/".join(parts)):
                continue
            if ".." in parts or parts[0] == "":
                raise ValueError(f"{wheel} has a member of the name {item.filename}")
            path = to.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(item) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            path.chmod(0o755 if item.external_attr >> 16 & 0o111 else 0o644)


def _unused(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, each) for each in _UNUSED)


def _link(libraries: Path) -> None:
    """z3's library is there under two names, as two files."""
    for path in sorted(libraries.glob("libz3.so.*")):
        (libraries / "libz3.so").unlink(missing_ok=True)
        (libraries / "libz3.so").symlink_to(path.name)


def shrink(folder: Path, card: int) -> dict[str, list[int]]:
    """Prune and strip libraries in place; the bytes of machine code kept and zeroed, by name."""
    told = {}
    for path in _matching(folder, _PRUNED):
        wanted = _attention if path.name.startswith("flash_ops") else lambda names, packed: True
        told[path.relative_to(folder).as_posix()] = list(fatbin.prune(path, card, wanted))
    for path in _matching(folder, _STRIPPED):
        subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)
    return told


def _matching(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in sorted(folder.glob(pattern)) if not path.is_symlink())


def _attention(names: bytes, packed: bool) -> bool:
    if packed or b"FlashAttnFwdSm80" in names:
        return False
    return b"FlashAttnFwdSm90" not in names or _ATTENTION.search(names) is not None


def _kernel(wheel: Path, to: Path, card: int) -> dict[str, list[int]]:
    """Write a kernel wheel for one card into a pack."""
    folder = to / wheel.stem
    unzip(wheel, folder)
    for other in sorted(folder.glob("sgl_kernel/sm*")):
        if other.name != f"sm{card}":
            shutil.rmtree(other)
    told = {f"{to.name}/{wheel.stem}: {name}": sizes for name, sizes in shrink(folder, card).items()}
    _zip(folder, to / wheel.name)
    shutil.rmtree(folder)
    return told


def store(wheel: Path, to: Path) -> None:
    """The same wheel without compression: the stream has the same files in the tree."""
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as target:
        for item in source.infolist():
            target.writestr(zipfile.ZipInfo(item.filename, item.date_time), source.read(item))


def _zip(folder: Path, to: Path) -> None:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as target:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                target.write(path, path.relative_to(folder).as_posix())


def harness(to: Path) -> None:
    """This harness, and what it uses of the builder."""
    left = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("verification", "builder"):
        shutil.copytree(_ROOT / name, to / name, ignore=left)


def cut(folder: Path, names: Sequence[str], to: Path, size: int, level: int, first: int = 0) -> None:
    """These folders of a folder as one stream: files of at most `size` bytes, the first one `first` less."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    stream = folder / "stream"
    command = ["zstd", "--quiet", f"-{level}", "--long=28", "-T0", "-o", str(stream)]
    paths = [path for name in names for path in (folder / name).rglob("*") if not path.is_dir()]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as packer:
        assert packer.stdin is not None
        with tarfile.open(fileobj=packer.stdin, mode="w|", bufsize=1 << 20) as tar:
            for path in sorted(paths, key=lambda path: _order(path.relative_to(folder))):
                tar.add(path, path.relative_to(folder).as_posix(), filter=_plain)
        packer.stdin.close()
    if packer.returncode:
        raise OSError(f"zstd ended with {packer.returncode}")
    with stream.open("rb") as source:
        number = 1
        while data := source.read(size if number > 1 else size - first):
            (to / f"{to.name}.{number:03}").write_bytes(data)
            number += 1


def _order(path: Path) -> tuple[str, ...]:
    """Files of one name in several packs follow each other: what is alike is near."""
    return (path.parts[2:] + path.parts) if path.parts[0] == "packs" else path.parts


def _placed(pieces: Path, to: Path) -> list[dict[str, Any]]:
    """Copy pieces, each into the next folder p1, p2 and so on; their names, sizes and digests."""
    found = []
    for path in sorted(pieces.glob("*.[0-9][0-9][0-9]")):
        folder = to / f"p{len(list(to.glob('p[0-9]*'))) + 1}"
        folder.mkdir(parents=True)
        shutil.copyfile(path, folder / path.name)
        found.append({"name": path.name, "size": path.stat().st_size, "sha256": sha256_of(path)})
    return found


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member


if __name__ == "__main__":
    main()
