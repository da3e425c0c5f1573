"""The world in which a tree is imported: one call before anything of SGLang is."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

#: Packages that upstream imports, and that are not in the harness's environment: most need a GPU, or are
#: services' clients. The version is what importlib.metadata says, for those that upstream asks.
ABSENT: dict[str, str] = {
    "aibrix_kvcache": "", "checkpoint_engine": "", "cuda": "", "cutlass": "", "datasets": "", "decord": "",
    "deep_ep": "", "deep_gemm": "2.1.1", "eic": "", "flash_mla": "", "flashinfer": "0.5.3", "lmcache": "",
    "modelscope": "", "nixl": "", "ollama": "", "polars": "", "soundfile": "", "tilelang": "", "torchao": "",
    "torchaudio": "", "torchvision": "", "triton_kernels": "", "tvm_ffi": "", "watchfiles": "",
}  # fmt: skip
#: What a machine may lack besides, where nobody installs requirements.txt.
_MAY_BE_ABSENT = ("llguidance", "outlines", "outlines_core", "pycountry", "torch_memory_saver")
_WITH_KERNELS = ("deep_ep", "deep_gemm", "flashinfer", "tvm_ffi")
_KERNEL = "1000"  # no older than any that upstream asks for
_ENVIRONMENT = {
    "CUDA_HOME": "/absent/cuda",
    "HF_HUB_OFFLINE": "1",
    "SGLANG_JIT_DEEPGEMM_PRECOMPILE": "0",  # warms up thousands of shapes
    "TORCHDYNAMO_DISABLE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_OFFLINE": "1",
}


def environment(numbers: bool) -> None:
    """Set environment variables that torch and Triton read when they are imported."""
    os.environ.update(_ENVIRONMENT)
    if numbers:
        os.environ["TRITON_INTERPRET"] = "1"


def pretend(
    tree: Path, capability: tuple[int, int], devices: int, numbers: bool, kernel: Path | None = None
) -> None:
    """Pretend a machine, its packages and sgl_kernel, for a tree whose python/ is importable afterwards.

    `kernel` is the folder of sgl_kernel's sources when it is not the tree's own.
    """
    environment(numbers)
    # upstream asks nvidia-smi for the memory of the GPUs
    tools = Path(__file__).parent / "tools"
    os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"
    from verification.machine import cuda, guard

    guard.install()
    cuda.pretend(cuda.Machine(capability, devices))
    _packages(tree, kernel or tree / "sgl-kernel", ("CPU",), numbers, ABSENT)


def on_device(tree: Path) -> None:
    """The same on a machine with a GPU: torch and Triton are real, sgl_kernel's operators are the references.

    Packages that are not there are absent, as elsewhere; those with kernels of their own always are.
    """
    os.environ.update({key: value for key, value in _ENVIRONMENT.items() if key != "CUDA_HOME"})
    missing = {
        name: version for name, version in ABSENT.items() if name in _WITH_KERNELS or not _is_here(name)
    }
    missing.update({name: "" for name in _MAY_BE_ABSENT if not _is_here(name)})
    _packages(tree, tree / "sgl-kernel", ("CPU", "CUDA"), True, missing)


def _is_here(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _pinned(tree: Path, distribution: str) -> str:
    """The version of a distribution that a tree requires; empty where it requires none in particular."""
    try:
        text = (tree / "python/pyproject.toml").read_text("utf-8")
    except OSError:
        return ""
    found = re.search(rf"[\"']{distribution}(?:\[[\w,]+\])?\s*==\s*([\w.]+)", text)
    return found[1] if found else ""


def _packages(
    tree: Path, kernel: Path, keys: tuple[str, ...], numbers: bool, missing: Mapping[str, str]
) -> None:
    from verification.kernels import registry
    from verification.libraries import (
        cutlass,
        datasets,
        deep_ep,
        deep_gemm,
        flashinfer,
        sgl_kernel,
        tilelang,
        tvm_ffi,
    )
    from verification.machine import absent, native
    from verification.machine.trace import TRACE

    if "tvm_ffi" in missing and _is_here("tvm_ffi"):  # for xgrammar; the compiler of kernels is not
        missing = {**{name: it for name, it in missing.items() if name != "tvm_ffi"}, "tvm_ffi.cpp": ""}
    if "flashinfer" in missing:
        missing = {**missing, "flashinfer": _pinned(tree, "flashinfer_python") or missing["flashinfer"]}
    if not (kernel / "python" / "sgl_kernel").is_dir():  # a release's sources are python/ only
        missing = {**missing, "sgl_kernel": _KERNEL}
    TRACE.tree = str(tree)
    registry.load()
    native.install(kernel, keys)
    absent.listen(TRACE.add)
    versions = {name: version for name, version in missing.items() if version}
    absent.install(missing, {"sgl_kernel": _KERNEL, **versions})
    sgl_kernel.install(numbers)
    flashinfer.install(numbers)
    deep_gemm.install(numbers)
    deep_ep.install()
    tilelang.install()
    datasets.install()
    cutlass.install()
    tvm_ffi.install(numbers)
    sys.path.insert(0, str(tree / "python"))
