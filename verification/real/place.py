"""Where a tree's servers run: their environment, model and processes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_HERE = Path(__file__).resolve().parent
#: What upstream imports somewhere and DeepSeek does not need. transformers asks for the metadata of others.
MAY_BE_ABSENT = (
    "modelscope", "datasets", "blobfile", "outlines", "outlines_core", "pycountry", "hf_transfer",
    "grpc_health", "grpc_reflection", "smg_grpc_proto", "smg_grpc_servicer", "decord", "soundfile", "ollama",
    "ray", "polars", "tilelang", "llguidance", "anthropic", "quack", "easydict", "py_spy",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """One tree on this machine."""

    role: str  # "upstream" or "ours"
    tree: Path
    kernel: Path | None  # a folder to import sgl_kernel from, before the environment's own
    work: Path
    left_out: tuple[str, ...] = ()  # modules of the kernel package that were too large to bring
    more: Mapping[str, str] = field(default_factory=dict)  # variables
    python: str = sys.executable
    alone: bool = False  # the tree is installed for that Python: nothing else is put on its path

    def environment(self) -> dict[str, str]:
        """The variables of a process that imports this tree, and nothing of another."""
        always = {
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONPYCACHEPREFIX": str(self.work.parent / "bytecode"),  # for all packs
            "SGLANG_JIT_DEEPGEMM_PRECOMPILE": "0",
            **self.more,
        }
        if self.alone:
            return {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **always}
        paths = [str(_HERE / "site"), str(self.tree / "python")]
        paths += [str(self.kernel)] if self.kernel else []
        given = os.environ.get("PYTHONPATH", "")
        paths += [*(part for part in given.split(os.pathsep) if part), str(_HERE.parents[1])]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "VERIFICATION_ABSENT": " ".join((*absent(), *self.left_out)),
            "VERIFICATION_ROOT": str(_HERE.parents[1]),
            **always,
        }

    def command(self, module: str, *words: str) -> Sequence[str]:
        """Run a module."""
        return [self.python, "-m", module, *words]

    def start(self, command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a command in a session of its own; what it prints goes into the log."""
        with log.open("wb") as lines:
            return subprocess.Popen(
                command, cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL, stdout=lines,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip


def absent() -> list[str]:
    """What this Python cannot import, of what may be absent."""
    return [name for name in MAY_BE_ABSENT if importlib.util.find_spec(name) is None]
