"""Small kernel wheels made here, and what repacks them."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping

import pytest
from small_files import FILES

from builder.emit.archive import join
from builder.errors import BuildError, Mark
from builder.kernel import repack
from builder.kernel.plan import Source
from builder.manifest.model import Architecture, Kernel, WheelRule
from builder.upstream import wheel_archive

HERE = Mark("manifest.yaml", 3, 5)
STEM = "sgl_kernel-1.2.3"
NAME = f"{STEM}-cp310-abi3-manylinux2014_x86_64.whl"
METADATA = b"Metadata-Version: 2.1\nName: sgl-kernel\nVersion: 1.2.3\nSummary: s\n\nVersion: 9 is text\n"
WHEEL = (
    b"Wheel-Version: 1.0\nGenerator: other\nRoot-Is-Purelib: false\nTag: cp310-abi3-linux_x86_64\nBuild: 1\n"
)
FILES_OF_WHEEL: dict[str, bytes] = {
    "sgl_kernel/__init__.py": b"from sgl_kernel import load\n",
    "sgl_kernel/load.py": b"from sgl_kernel.scale import one\n",
    "sgl_kernel/scale.py": b"one = 1\nfancy = 2\n",
    "sgl_kernel/flash.py": b"from sgl_kernel import flash_ops\n",
    "sgl_kernel/flash_ops.abi3.so": b"\x7fELF" + bytes(range(256)) * 300,
    "sgl_kernel/sm90/common_ops.abi3.so": b"\x7fELF90" * 4000,
    "sgl_kernel/sm100/common_ops.abi3.so": b"\x7fELF100" * 5000,
    "lib/mscclpp.so": b"\x7fELFlib",
}
#: As the kernel of the small world gives it.
FILES_OF_SMALL_WORLD = {
    **FILES_OF_WHEEL,
    "sgl_kernel/__init__.py": FILES["sgl-kernel/python/sgl_kernel/__init__.py"],
    "sgl_kernel/fancy_ops.abi3.so": b"\x7fELF" * 9,
}


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def listed(files: Mapping[str, bytes], info: str = f"{STEM}.dist-info") -> bytes:
    rows = [f"{path},{digest(data)},{len(data)}\n" for path, data in files.items()]
    return "".join([*rows, f"{info}/RECORD,,\n"]).encode()


def wheel(
    files: Mapping[str, bytes] = FILES_OF_WHEEL,
    record: Callable[[bytes], bytes] = lambda text: text,
    extra: Mapping[str, bytes] | None = None,
    modes: Mapping[str, int] | None = None,
    level: int = 9,
) -> bytes:
    """A wheel of these files; `record` changes RECORD, `extra` is in no RECORD."""
    info = f"{STEM}.dist-info"
    about = {f"{info}/METADATA": METADATA, f"{info}/WHEEL": WHEEL, f"{info}/licenses/LICENSE": b"free\n"}
    every = {**files, **{p: t for p, t in about.items() if p not in files}}
    every = {**every, f"{info}/RECORD": record(listed(every)), **(extra or {})}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as target:
        for path, data in every.items():
            entry = zipfile.ZipInfo(path, (2024, 1, 2, 3, 4, 6))
            entry.external_attr = (modes or {}).get(
                path, 0o100755 if path.endswith(".so") else 0o100664
            ) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, data)
    return out.getvalue()


def kernel(*patterns: str, keep: tuple[str, ...] = (), optional: str | None = None) -> Kernel:
    rules = tuple(WheelRule(p, f"no {p}", optional=optional, mark=HERE) for p in patterns)
    return Kernel(("sgl-kernel",), HERE, rules, tuple(Architecture(name, mark=HERE) for name in keep))


def run(
    data: bytes,
    rules: Kernel | None = None,
    sources: Mapping[str, Source] | None = None,
    only: tuple[str, ...] = (),
    name: str = NAME,
) -> repack.KernelWheel:
    origin = repack.Origin(name, hashlib.sha256(data).hexdigest(), len(data), "small", "0" * 40)
    return repack.repack(wheel_archive.read(data), origin, rules or kernel(), sources or {}, only)


def opened(result: repack.KernelWheel) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(join(result.members))))


def faults(data: bytes, **more: object) -> list[str]:
    with pytest.raises(BuildError) as caught:
        run(data, **more)  # type: ignore[arg-type]
    return [f"{p.code} {p.message}" for p in caught.value.problems]
