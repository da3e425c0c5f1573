"""docs/verification/README.md: what was compared, where, and of which tree, from the evidence beside it.

`python -m verification.overview` writes it. A page belongs to the evidence whose tree, harness, requirements
and command it states; its name begins with where it ran and has the day. What lies in the folder
`superseded` was compared again later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/verification"
SUPERSEDED = "superseded"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_VERSION = re.compile(r"-(\d[^+]*)\+")
_HEAD = """\
# What was compared

<!-- Made by `python -m verification.overview` from the evidence beside it: run it again, do not edit. -->

Each row is one run of the harness, newest first. `verification/page.py` makes the pages from the evidence;
what a page says before its runs is written for it. The command that wrote a piece of evidence is in it:
`make verify` on a CPU; on a GPU `make verify-gpu`, with both kernel wheels or, where none loads (`make
gpu-pack KERNEL=`), with the references of `verification/kernels`. The figures of a check are passed, failed
and not run. What a page could not compare is named at its end, and why a check failed is said before its
runs or beside the case.

A tree is "as locked" where `manifest.lock` has it now. A later tree of the same upstream differs where the
manifest was changed since.
"""
_COLUMNS = ("day", "what", "where", "upstream", "tree", "verdict", "page")


@dataclass(frozen=True, slots=True)
class Run:
    """One piece of evidence; `page` and `file` are relative to docs/verification."""

    day: str
    what: str
    where: str
    version: str
    tree: str
    verdict: str
    page: str
    file: str

    @property
    def superseded(self) -> bool:
        return self.file.startswith(f"{SUPERSEDED}/")


def main() -> None:
    """Write the page."""
    (FOLDER / "README.md").write_text(overview(FOLDER, locked_trees(ROOT / "manifest.lock")), "utf-8")


def overview(folder: Path, locked: frozenset[str]) -> str:
    """The page, from the evidence and pages of a folder. `locked`: the trees that are locked now.

    Raises ValueError for evidence that no page, or more than one, was made from.
    """
    found = sorted(runs(folder), key=lambda run: (run.day, run.file), reverse=True)
    parts = [_HEAD, _table([run for run in found if not run.superseded], locked)]
    if old := [run for run in found if run.superseded]:
        parts += [
            "## Superseded\n",
            "A later run compared the same again, with another tree or other rules.\n",
        ]
        parts.append(_table(old, locked))
    return "\n".join(parts)


def runs(folder: Path) -> Iterator[Run]:
    """A run for each piece of evidence below the folder; other JSON is passed over. Raises ValueError."""
    pages = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*-*.md")}
    for path in sorted(folder.rglob("*.json")):
        said = json.loads(path.read_bytes())
        if "predicate" in said:
            yield _run(path.relative_to(folder).as_posix(), said, pages)


def locked_trees(lock: Path) -> frozenset[str]:
    """Every tree id that a lock records, of the default scope and of the named ones."""
    return frozenset(re.findall(r'"output_tree": "([0-9a-f]{40})"', lock.read_text("utf-8")))


def _run(file: str, said: Mapping[str, Any], pages: Mapping[str, str]) -> Run:
    about = said["predicate"]
    digests = {one["name"]: next(iter(one["digest"].values())) for one in about["configuration"]}
    tree = said["subject"][0]["digest"]["gitTree"]
    # what the harness asks for tells a CPU, where a run states no command, from a GPU
    stated = (
        tree,
        digests["harness"],
        digests.get("requirements.txt", ""),
        about["machine"].get("command", ""),
    )
    of = [name for name, text in pages.items() if all(one in text for one in stated)]
    if len(of) != 1:
        raise ValueError(f"{file}: one page must be made from it, found {', '.join(of) or 'none'}")
    day = _DAY.search(of[0])
    version = next((m[1] for one in said["subject"] if (m := _VERSION.search(one["name"]))), "")
    what = ", ".join(f"{c['name']} {'/'.join(map(str, c['counts'].values()))}" for c in about["checks"])
    where = about["machine"].get("gpu", "")
    return Run(day[0] if day else "", what, _device(where), version, tree, _verdict(about), of[0], file)


def _device(gpus: str) -> str:
    """`2 x NVIDIA H200` of what nvidia-smi said; a CPU where it said nothing."""
    names = [part.split(",")[0].strip() for part in gpus.split(";") if "," in part]
    if not names:
        return "a CPU"
    return names[0] if len(names) == 1 else f"{len(names)} x {names[0]}"


def _verdict(about: Mapping[str, Any]) -> str:
    verdicts = {check["verdict"] for check in about["checks"]}
    return next((one for one in ("failed", "passed") if one in verdicts), "not run")


def _table(found: Sequence[Run], locked: frozenset[str]) -> str:
    rows = [_COLUMNS, ("---",) * len(_COLUMNS)]
    for run in found:
        tree = f"`{run.tree[:8]}`" + (", as locked" if run.tree in locked else "")
        links = f"[page]({run.page}), [evidence]({run.file})"
        rows.append((run.day, run.what, run.where, run.version, tree, run.verdict, links))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    main()
