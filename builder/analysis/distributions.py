"""The distributions that an import comes from, if the two names differ."""

from __future__ import annotations

import re
from functools import lru_cache

from builder import adapter

#: Imported module (the longest prefix wins) -> distributions that may provide it.
_PROVIDED: dict[str, tuple[str, ...]] = {
    "PIL": ("pillow",),
    "absl": ("absl-py",),
    "attr": ("attrs",),
    "bs4": ("beautifulsoup4",),
    "cuda": ("cuda-python",),
    "cutlass": ("nvidia-cutlass-dsl",),
    "cv2": ("opencv-python-headless", "opencv-python"),
    "dateutil": ("python-dateutil",),
    "decord": ("decord2", "decord"),
    "dotenv": ("python-dotenv",),
    "flashinfer": ("flashinfer-python", "flashinfer-cubin"),
    "git": ("gitpython",),
    "google.protobuf": ("protobuf",),
    "grpc": ("grpcio",),
    "grpc_health": ("grpcio-health-checking",),
    "grpc_reflection": ("grpcio-reflection",),
    "grpc_tools": ("grpcio-tools",),
    "imageio": ("imageio", "imageio-ffmpeg"),
    "jwt": ("pyjwt",),
    "markdown_it": ("markdown-it-py",),
    "multipart": ("python-multipart",),
    "opentelemetry": ("opentelemetry-api",),
    "opentelemetry.exporter.otlp": ("opentelemetry-exporter-otlp",),
    "opentelemetry.exporter.otlp.proto.grpc": (
        "opentelemetry-exporter-otlp",
        "opentelemetry-exporter-otlp-proto-grpc",
    ),
    "opentelemetry.sdk": ("opentelemetry-sdk",),
    "pkg_resources": ("setuptools",),
    "pynvml": ("nvidia-ml-py",),
    "tvm_ffi": ("apache-tvm-ffi",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
    "zmq": ("pyzmq",),
    **adapter.DISTRIBUTIONS,
}


def requirement_name(text: str) -> str:
    """The normalised name of a PEP 508 requirement: lower case, with runs of `-_.` as one dash."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", text)
    return re.sub(r"[-_.]+", "-", match[1]).rstrip("-").lower() if match else ""


@lru_cache(maxsize=4096)
def provided_by(module: str) -> tuple[str, ...]:
    """The normalised names of the distributions that may provide a module."""
    name = module
    while name:
        if name in _PROVIDED:
            return _PROVIDED[name]
        name = name.rpartition(".")[0]
    return (requirement_name(module.partition(".")[0]),)


def modules_of(name: str) -> tuple[str, ...]:
    """The first parts of the modules that a distribution, by its normalised name, may provide."""
    special = {module.partition(".")[0] for module, names in _PROVIDED.items() if name in names}
    return (*sorted(special), name.replace("-", "_"))
