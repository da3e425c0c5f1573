"""The world in which a tree is imported: one call before anything of SGLang is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Packages that upstream imports, and that are not in the harness's environment: most need a GPU, or are
#: services' clients. The version is what importlib.metadata says, for those that upstream asks.
ABSENT: dict[str, str] = {
    "aibrix_kvcache": "", "checkpoint_engine": "", "datasets": "", "decord": "", "deep_ep": "",
    "deep_gemm": "2.1.1", "eic": "", "flashinfer": "0.5.3", "lmcache": "", "modelscope": "", "nixl": "",
    "ollama": "", "polars": "", "tilelang": "", "torchao": "", "torchaudio": "", "torchvision": "",
    "triton_kernels": "", "tvm_ffi": "",
}  # fmt: skip
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
    # upstream asks nvidia-smi for the memory of the GPUs
    tools = Path(__file__).parent / "tools"
    os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"


def pretend(
    tree: Path, capability: tuple[int, int], devices: int, numbers: bool, kernel: Path | None = None
) -> None:
    """Pretend a machine, its packages and sgl_kernel, for a tree whose python/ is importable afterwards.

    `kernel` is the folder of sgl_kernel's sources when it is not the tree's own.
    """
    environment(numbers)
    from verification.kernels import registry
    from verification.libraries import deep_ep, deep_gemm, flashinfer, tvm_ffi
    from verification.machine import absent, cuda, guard, native
    from verification.machine.trace import TRACE

    TRACE.tree = str(tree)
    guard.install()
    cuda.pretend(cuda.Machine(capability, devices))
    registry.load()
    native.install(kernel or tree / "sgl-kernel")
    absent.install(ABSENT, {name: version for name, version in ABSENT.items() if version})
    flashinfer.install()
    deep_gemm.install(numbers)
    deep_ep.install()
    tvm_ffi.install()
    sys.path.insert(0, str(tree / "python"))
