"""The price of a release: what `lift` says of it to a manifest that knows nothing newer than the pin before.

    SGLANG_MIRROR=/path/to/sglang.git python benchmarks/price.py release-0.5.20 release-0.5.23

What was stated since the older pin is taken out of a copy of the manifest and its parts: statements that
begin later, ends of ranges that nobody could know, later pins. `lift` tries the copy on the newer pin. It
prints the problems and questions of the lift, the statements that were taken out with their lines, the new
files that stay without a question (and how many of them have the word of a batch in their path), and the
processor time and memory of the lift.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from builder.manifest.load import load_default  # noqa: E402

#: Beside the manifest, what decides.
PARTS = ("overlays", "schema")

#: Mappings of which each entry is a statement.
VALUES = ("predicates", "values", "environment")


@dataclass
class Taken:
    """What was taken out: statements by their key, the lines that they have, and the ends of ranges."""

    begun: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    ended: int = 0


def without_later(node: yaml.Node, old: Version, taken: Taken, key: str = "") -> yaml.Node | None:
    """A node without the statements that begin after a version; None for one of which nothing is left."""
    if isinstance(node, yaml.MappingNode):
        said = {name.value: value.value for name, value in node.value}
        if "since" in said and Version(said["since"]) > old:
            taken.begun[key] += 1
            taken.lines += node.end_mark.line - node.start_mark.line + (1 if node.flow_style else 0)
            return None
        pairs = []
        for name, value in node.value:
            if name.value == "until" and isinstance(value.value, str) and Version(value.value) >= old:
                taken.ended += 1
            elif (rest := without_later(value, old, taken, key if key in VALUES else name.value)) is not None:
                pairs.append((name, rest))
        emptied = node.value and not pairs
        node.value = pairs
        return None if emptied else node
    if isinstance(node, yaml.SequenceNode):
        left = [
            one for one in (without_later(item, old, taken, key) for item in node.value) if one is not None
        ]
        emptied = node.value and not left
        node.value = left
        return None if emptied else node
    return node


def earlier(home: Path, old: Version, pins: dict[str, Any], oldest: str) -> Taken:
    """Take out of the manifest in a folder what was stated since a version. `pins`: those that stay."""
    taken = Taken()
    for path in [home / "manifest.yaml", *sorted((home / "overlays").glob("*/*.yaml"))]:
        root = yaml.compose(path.read_text("utf-8"), Loader=yaml.SafeLoader)
        left = without_later(root, old, taken) if root is not None else None
        if left is None:
            path.unlink()
            continue
        text = yaml.serialize(left, Dumper=yaml.SafeDumper, allow_unicode=True, width=1000)
        if path.name == "manifest.yaml":
            data = yaml.safe_load(text)
            data["upstream"]["pins"] = pins
            data["upstream"]["default"] = oldest
            for scope in data.get("scopes", {}).values():
                scope["pins"] = [pin for pin in scope.get("pins", ()) if pin in pins]
            text = yaml.safe_dump(data, sort_keys=False, width=1000)
        path.write_text(text, "utf-8")
    return taken


def named_after(paths: list[str], words: set[str]) -> list[str]:
    """The paths that have one of the words in a name."""
    return [path for path in paths if any(word in path.lower() for word in words)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old", help="the pin that is known")
    parser.add_argument("new", help="the pin that is to be learnt")
    parser.add_argument("--json", action="store_true", help="print data instead of a table")
    asked = parser.parse_args()
    stated = yaml.safe_load((ROOT / "manifest.yaml").read_text("utf-8"))["upstream"]["pins"]
    versions = {
        name: Version(str(pin.get("version") or pin.get("wheel") or pin.get("sdist")))
        for name, pin in stated.items()
    }
    old, new = versions[asked.old], stated[asked.new]
    spec = new.get("commit") or f"pypi:{new.get('wheel') or new.get('sdist')}"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copy(ROOT / "manifest.yaml", home)
        for part in PARTS:
            shutil.copytree(ROOT / part, home / part)
        pins = {name: pin for name, pin in stated.items() if versions[name] <= old}
        taken = earlier(home, old, pins, asked.old)
        command = [sys.executable, "-m", "builder", "lift", "--manifest", str(home / "manifest.yaml")]
        command += [
            "--format",
            "json",
            "--from",
            asked.old,
            *(["--python", new["python"]] if "python" in new else []),
        ]
        done = subprocess.run(
            [*command, spec],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout.strip():
        sys.exit(f"the lift gave no report:\n{done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    batches = load_default(ROOT / "manifest.yaml").batches
    words = {word.text for batch in batches for word in batch.words}
    kept = [item["path"] for item in report["arrivals"]["kept"]]
    open_problems = [problem for problem in report["problems"] if not problem["answered"]]
    figures = {
        "problems": len(open_problems),
        "by code": dict(Counter(problem["code"] for problem in open_problems).most_common()),
        "problems of ranges, which the proposal answers": len(report["problems"]) - len(open_problems),
        "problems with the proposal": len(report["left"]),
        "questions": len(report["questions"]),
        "statements that were needed": sum(taken.begun.values()),
        "of them": dict(taken.begun.most_common()),
        "their lines": taken.lines,
        "ranges that ended": taken.ended,
        "new files that stay without a question": len(kept),
        "of them named after what left": len(named_after(kept, words)),
        "processor seconds": round(used.ru_utime + used.ru_stime),
        "memory in MB": round(used.ru_maxrss / 1024),
    }
    if asked.json:
        print(json.dumps(figures, indent=2))
        return
    print(f"{asked.old} -> {asked.new}")
    for name, value in figures.items():
        print(f"  {name:42} {value}")


if __name__ == "__main__":
    main()
