"""Writes what programs print in README.md and docs/, from the manifest and its lock: no upstream is needed.

    python benchmarks/transcripts.py

README.md shows a build of the default pin as it is proven, and one question about it. Other pages show
answers of other days: in these only the places in the manifest follow it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from builder.emit import record  # noqa: E402
from builder.emit.figures import EXTENSIONS  # noqa: E402
from builder.emit.ledger import Reason  # noqa: E402
from builder.emit.lock import Proof, every_scope  # noqa: E402
from builder.manifest.load import load_default  # noqa: E402
from builder.manifest.model import Manifest, Pin  # noqa: E402
from builder.pipeline.answers.answer import Answer, sentences  # noqa: E402
from builder.pipeline.outcome import applied  # noqa: E402

PROJECT = "sglang"
#: of upstream's wheel, and so of ours: its name says it, which neither the manifest nor the lock has
PLATFORM = "manylinux_2_34_x86_64"
#: the model that the question is about: every upstream has it, and no scope keeps it
MODEL = "qwen3"
_README = re.compile(r"(?<=<!-- transcript -->\n```\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(
    r"^(?P<said>  \S+ +(?P<rule>roots\.models does not keep it|\S+ needs it)  )\(manifest\.yaml:\d+:\d+\)$",
    re.MULTILINE,
)


def readme(text: str, manifest: Manifest, proof: Proof) -> str:
    """README.md with the transcript of today. Raises ValueError where it has no place for one."""
    shown = "\n".join(
        [
            "$ make dist",
            *built(manifest, proof),
            "",
            f"$ python -m builder why python/{PROJECT}/srt/models/{MODEL}.py",
            *sentences(left(manifest)),
            "...",  # the models that leave in the same way: which ones, only an upstream says
            "",
        ]
    )
    changed, places = _README.subn(lambda _: shown, text)
    if places != 1:
        raise ValueError("README.md needs one block of code after <!-- transcript -->")
    return changed


def built(manifest: Manifest, proof: Proof) -> list[str]:
    """What `make dist` says of the default pin, beside how far it is.

    Raises ValueError for a pin that is no wheel.
    """
    pin = _default(manifest)
    python = "cp" + (pin.python or "").replace(".", "")
    tags = f"{python}-{python}-{PLATFORM}"
    return [
        f"upstream {pin.name}: release {pin.wheel} from the package index, through pip, "
        f"{PROJECT}-{pin.wheel}-{tags}.whl, sha256 {pin.sha256} (as pinned)",
        *([applied(cut)] if (cut := record.read(ROOT, pin.name, proof.record)) else []),
        *summary(proof, f"dist/{PROJECT}-{pin.wheel}+{manifest.label}-{tags}.whl"),
    ]


def summary(proof: Proof, wheel: str) -> list[str]:
    """The last lines of `dist`, from what the lock has of the build."""
    counts, lines = proof.verdicts, proof.figures["lines"]
    files = sum(counts[verdict] for verdict in ("kept", "edited", "added"))
    share = 100 * lines["after"] / lines["before"]
    return [
        f"tree    {proof.output_tree}  {files:,} files ({counts['removed']:,} removed, "
        f"{counts['edited']:,} edited, {counts['added']:,} added)",
        f"lines   {lines['before']:,} -> {lines['after']:,} ({share:.1f}%) of {' '.join(EXTENSIONS)}",
        f"wheel   {wheel}  {proof.figures['wheel']['bytes']:,} bytes",
    ]


def left(manifest: Manifest) -> Answer:
    """The answer about a model that the roots do not keep."""
    closing = [b for b in manifest.batches if any(option.removed_models for option in b.options)]
    path = f"python/{PROJECT}/srt/models/{MODEL}.py"
    return Answer(
        "path",
        path,
        "removed",
        f"{path} is removed",
        (Reason(closing[0].id, "roots.models does not keep it", manifest.mark("roots", "models", "keep")),),
        why=closing[0].why,
        back=f"to bring it back: add `{MODEL}` to roots.models.keep",
    )


def placed(text: str, manifest: Manifest) -> str:
    """A page whose answers name today's places of the statements that keep models and modules."""

    def at(match: re.Match[str]) -> str:
        keep = ("models", "keep") if match["rule"].startswith("roots.models") else ()
        return f"{match['said']}({manifest.mark('roots', *keep)})"

    return _PLACE.sub(at, text)


def pages(manifest: Manifest, proof: Proof) -> dict[Path, Callable[[str], str]]:
    """page -> what is to be made of its text."""
    found: dict[Path, Callable[[str], str]] = {
        page: lambda text: placed(text, manifest) for page in sorted((ROOT / "docs").glob("*.md"))
    }
    return {ROOT / "README.md": lambda text: readme(text, manifest, proof), **found}


def today() -> tuple[Manifest, Proof]:
    """The manifest as it stands, and the proof of its default pin. Raises KeyError where none is locked."""
    manifest = load_default(ROOT / "manifest.yaml")
    return manifest, every_scope(ROOT)["default"][_default(manifest).name]


def _default(manifest: Manifest) -> Pin:
    pin = manifest.upstream.pins[manifest.upstream.default]
    if pin.wheel is None:
        raise ValueError(f"the default pin {pin.name} is no wheel: its transcript has other lines")
    return pin


if __name__ == "__main__":
    for page, change in pages(*today()).items():
        text = page.read_text("utf-8")
        if (now := change(text)) != text:
            page.write_text(now, "utf-8")
