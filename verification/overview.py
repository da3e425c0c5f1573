"""The pages of docs/verification: a table of what was compared, a page for each entry, and an archive.

`python -m verification.overview` writes them. An entry is a file NAME.json.xz, which `python -m
verification.page` makes; its name has the day. It has a page while `manifest.lock` has a tree that it speaks
of; afterwards a row of the archive says in a sentence what came of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder import json_xz
from verification.page import page
from verification.results import FAILED, NOT_RUN, PASSED

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/verification"
SUFFIX = ".json.xz"
TABLE, ARCHIVE = "README.md", "archive.md"
_VERDICTS = (FAILED, PASSED, NOT_RUN)  # of several checks, the first one tells
#: `NAME-VERSION+LABEL[.SCOPE][.without.BATCHES][.mSTATEMENTS][.gCOMMIT]-TAGS.whl`
_WHEEL = re.compile(
    r"-(\d[^+]*)\+[^.-]+(?:\.(?!g[0-9a-f]{9}-|m[0-9a-f]{8}[.-]|without\.)([^.-]+))?"
    r"(?:\.without\.[^-]+?)?(?:\.m[0-9a-f]{8})?(?:\.g[0-9a-f]{9})?-"
)
_MADE = """\
<!-- Made by `python -m verification.overview` from the evidence beside it: run it again, do not edit. -->

"""
_HEAD = f"""\
# What was compared

{_MADE}Each row is an entry: one or more runs of the harness, newest first. The figures of a check are passed,
failed and not run, one triple for each run. Where a run failed, the page or the archive says why.

{{pages}}

A command repeats the comparison with the tree that the manifest gives now. The file NAME.json.xz of an entry
holds its statements with every case; `python -m verification.page NAME` prints them as a page, with what did
not run and why.

"""
_PAGES = """\
An entry of a tree that `manifest.lock` has now has a page; the others are in the [archive](archive.md)."""
_NO_PAGES = """\
**No entry is of a tree that `manifest.lock` has now**: the manifest was changed since the newest. All of them
are in the [archive](archive.md)."""
_ARCHIVE = f"""\
# What was compared of earlier trees

{_MADE}These entries speak of trees that `manifest.lock` does not have now: the manifest was changed since.
What they found holds for those trees. The [table](README.md) has the figures and the commands.

"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one file of evidence holds. `says`: one sentence or a few on what came of it."""

    name: str
    title: str
    says: str
    notes: tuple[str, ...]
    not_run: tuple[str, ...]
    runs: tuple[Mapping[str, Any], ...]

    @property
    def day(self) -> str:
        found = re.search(r"\d{4}-\d{2}-\d{2}", self.name)
        return found[0] if found else ""

    @property
    def trees(self) -> tuple[str, ...]:
        return _distinct(run["subject"][0]["digest"]["gitTree"] for run in self.runs)

    @property
    def page(self) -> str:
        return page(self.title, self.runs, self.not_run, self.notes)


@dataclass(frozen=True, slots=True)
class Lock:
    """What manifest.lock records: the trees of every pin and scope, and the pin of each upstream tree."""

    trees: frozenset[str]
    pins: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> Lock:
        text = path.read_text("utf-8")
        pins = {proof["upstream_tree"]: pin for pin, proof in json.loads(text)["pins"].items()}
        return cls(frozenset(re.findall(r'"output_tree": "([0-9a-f]{40})"', text)), pins)


def main() -> None:
    """Write the pages, and remove those of entries that have none any more."""
    made = pages(entries(FOLDER), Lock.read(ROOT / "manifest.lock"))
    for path in FOLDER.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, "utf-8")


def entries(folder: Path) -> list[Entry]:
    """The entries of a folder, newest first."""
    found = [
        Entry(
            path.name.removesuffix(SUFFIX), data["title"], data["says"], tuple(data["notes"]),
            tuple(data["not run"]), tuple(data["runs"]),
        )
        for path in folder.glob(f"*{SUFFIX}")
        for data in [json_xz.read(path)]
    ]  # fmt: skip
    return sorted(found, key=lambda entry: (entry.day, entry.name), reverse=True)


def pages(found: Sequence[Entry], lock: Lock) -> dict[str, str]:
    """File name -> page: the table, the archive and the pages of entries whose tree is locked."""
    own = [entry for entry in found if lock.trees.intersection(entry.trees)]
    old = [entry for entry in found if entry not in own]
    rows = [("day", "what", "upstream", "machine", "result", "to repeat")]
    for entry in found:
        link = f"{entry.name}.md" if entry in own else f"{ARCHIVE}#{entry.name}"
        day = f"[{entry.day}]({link})"
        rows.append((day, _what(entry), *_about(entry), _result(entry), _repeat(entry, lock)))
    table = _HEAD.format(pages=_PAGES if own else _NO_PAGES) + _table(rows)
    told = [("day", "upstream", "machine", "trees", "what came of it")]
    for entry in old:
        day = f'<a id="{entry.name}"></a>[{entry.day}]({entry.name}{SUFFIX})'
        trees = " ".join(f"`{tree[:8]}`" for tree in entry.trees)
        told.append((day, *_about(entry), trees, entry.says))
    return {
        TABLE: table,
        ARCHIVE: _ARCHIVE + _table(told),
        **{f"{entry.name}.md": entry.page for entry in own},
    }


def _what(entry: Entry) -> str:
    """`engines 8/0/8, defaults 10/0/0 + 10/0/1`: every check with its counts in each run."""
    counts: dict[str, list[str]] = {}
    for run in entry.runs:
        for check in run["predicate"]["checks"]:
            triple = "/".join(str(check["counts"][verdict]) for verdict in (PASSED, FAILED, NOT_RUN))
            counts.setdefault(check["name"], []).append(triple)
    return ", ".join(f"{name} {' + '.join(each)}" for name, each in counts.items())


def _about(entry: Entry) -> tuple[str, str]:
    """The upstreams and the machines of the runs."""
    versions = _distinct(" ".join(part for part in _version(run) if part) for run in entry.runs)
    machines = _distinct(_device(run["predicate"]["machine"].get("gpu", "")) for run in entry.runs)
    return ", ".join(versions), ", ".join(machines)


def _version(run: Mapping[str, Any]) -> tuple[str, str]:
    """The version of upstream and the named scope, as the name of the wheel has them."""
    for one in run["subject"]:
        if match := _WHEEL.search(one["name"]):
            return match[1], match[2] or ""
    return "", ""


def _device(gpus: str) -> str:
    """`2 x NVIDIA H200` of what nvidia-smi said; a CPU where it said nothing."""
    names = [part.split(",")[0].strip() for part in gpus.split(";") if "," in part]
    if not names:
        return "a CPU"
    return names[0] if len(names) == 1 else f"{len(names)} x {names[0]}"


def _result(entry: Entry) -> str:
    """The verdict of the runs; how many have which where they differ."""
    runs = [{check["verdict"] for check in run["predicate"]["checks"]} for run in entry.runs]
    counts = Counter(next(one for one in _VERDICTS if one in verdicts) for verdicts in runs)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{counts[one]} {one}" for one in _VERDICTS if counts[one])


def _repeat(entry: Entry, lock: Lock) -> str:
    """The commands of the runs, after the one that builds what they compare."""
    lines: list[str] = []
    for run in entry.runs:
        about = run["predicate"]
        trees = [one["digest"]["gitTree"] for one in about["configuration"] if one["name"] == "upstream"]
        version, scope = _version(run)
        asked = f"UPSTREAM={lock.pins.get(trees[0], f'pypi:{version}')}"
        asked += f" SCOPE={scope}" if scope else ""
        command = about["machine"].get("command", "")
        if card := about["machine"].get("card"):
            # the folders are those of one machine
            rest = re.sub(r"^python -m \S+| --(pack|out|work) \S+", "", command).strip()
            lines += [f"make gpu-pack {asked} CARD={card}", f"make verify-gpu ARGS='{rest}'"]
        elif pack := re.search(r"--pack (\S+)", command):
            asked += " KERNEL=" if "verification.gpu" in command else ""  # references stand for kernels
            lines += [f"make gpu-pack {asked} PACK={pack[1]}", command]
        else:
            checks = " ".join(f"--check {check['name']}" for check in about["checks"])
            lines += [f"make dist {asked}", f"make verify ARGS='{command.removeprefix('verify ') or checks}'"]
    return "<br>".join(f"`{line}`" for line in _distinct(lines))


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], ("---",) * len(rows[0]), *rows[1:]))


if __name__ == "__main__":
    main()
