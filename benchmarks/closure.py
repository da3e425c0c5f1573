"""What an installation downloads: upstream's requirements against the distribution's, resolved by pip.

    SGLANG_MIRROR=/path/to/sglang.git python benchmarks/closure.py seed release [--python /path/to/python3.12]

For Linux on x86_64 and Python 3.12 pip resolves both lists of requirements without installing anything.
The wheels that leave, or come, are downloaded once without their dependencies, to be weighed; nothing else
is. The result depends on what the package index has on the day: it is written to docs/closure.md with every
version that matters.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from builder import json_xz  # noqa: E402

PYTHON = "3.12"
#: glibc versions up to that of manylinux_2_28, with the names of old
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)),
    *("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"),
)
TIMEOUT_S = 1800
#: how many requirements that have no wheel are left out before giving up
LEFT_OUT = 5


@dataclass(frozen=True)
class Closure:
    """What pip would install: normalised name -> version and wheel, and who requires what."""

    packages: Mapping[str, str]
    requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> names

    def behind(self, name: str, roots: Iterable[str]) -> str:
        """The requirement that brings a package along; the package itself if it is required directly."""
        roots = sorted(roots)
        if name in roots:
            return name
        for root in roots:
            seen, waiting = {root}, [root]
            while waiting:
                for other in self.requires.get(waiting.pop(), ()):
                    if other == name:
                        return root
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
        return name


class Unresolved(Exception):
    """pip found no solution; `requirement` is the one without a wheel, empty when pip names none."""

    def __init__(self, reason: str, requirement: str = "") -> None:
        super().__init__(reason)
        self.requirement = requirement


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(text: str) -> str:
    """The normalised name of a requirement."""
    found = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", text)
    return normal(found[1]) if found else ""


def read(report: Mapping[str, Any]) -> Closure:
    """The closure in a report of pip."""
    from packaging.markers import UndefinedEnvironmentName
    from packaging.requirements import InvalidRequirement, Requirement

    packages, requires = {}, {}
    environment = {k: str(v) for k, v in report.get("environment", {}).items()} | {"extra": ""}
    for item in report["install"]:
        metadata = item["metadata"]
        name = normal(metadata["name"])
        packages[name] = metadata["version"]
        names = []
        for text in metadata.get("requires_dist", ()):
            try:
                requirement = Requirement(text)
                extras = item.get("requested_extras") or [""]
                if requirement.marker is None or any(
                    requirement.marker.evaluate(environment | {"extra": extra}) for extra in extras
                ):
                    names.append(normal(requirement.name))
            except (InvalidRequirement, UndefinedEnvironmentName):
                continue
        requires[name] = tuple(sorted(set(names)))
    return Closure(dict(sorted(packages.items())), requires)


def failure(output: str) -> Unresolved:
    """What pip's output says: which requirement has no distribution, or its last error."""
    found = re.search(r"No matching distribution found for (\S+)(?: \(from ([^)]*)\))?", output)
    errors = re.findall(r"^ERROR: (.*)", output, re.M)
    reason = errors[-1] if errors else (output.strip().splitlines() or ["pip said nothing"])[-1]
    return Unresolved(reason, required(found[2] or found[1]) if found else "")


def _target(python: str) -> list[str]:
    flags = ["--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp"]
    flags += [f"--abi={abi}" for abi in (f"cp{PYTHON.replace('.', '')}", "abi3", "none")]
    return [*flags, *(f"--platform={platform}" for platform in PLATFORMS)]


def resolve(python: str, requirements: Sequence[str], folder: Path) -> Closure:
    """What pip would install. Raises Unresolved."""
    wanted, report = folder / "requirements.txt", folder / "report.json"
    wanted.write_text("".join(f"{text}\n" for text in requirements))
    report.unlink(missing_ok=True)
    flags = [
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "--report",
        str(report),
        "--target",
        str(folder / "x"),
    ]
    done = _pip(python, "install", *flags, *_target(python), "--requirement", str(wanted))
    if done.returncode or not report.exists():
        raise failure(done.stdout + done.stderr)
    return read(json.loads(report.read_bytes()))


def weigh(python: str, packages: Mapping[str, str], folder: Path) -> dict[str, int]:
    """The size of each package's wheel in bytes, downloaded without dependencies and deleted again."""
    if not packages:
        return {}
    out = folder / "wheels"
    pins = [f"{name}=={version}" for name, version in packages.items()]
    done = _pip(python, "download", "--quiet", "--no-deps", "--dest", str(out), *_target(python), *pins)
    if done.returncode:
        raise failure(done.stdout + done.stderr)
    sizes = {}
    for path in out.glob("*.whl"):
        sizes[normal(path.name.partition("-")[0])] = path.stat().st_size
        path.unlink()
    return sizes


def _pip(python: str, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
    quiet = ["--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    env = {**os.environ, "LC_ALL": "C.UTF-8", "PIP_QUIET": "0"}
    command = [python, "-m", "pip", verb, *quiet, *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S
    )


@dataclass(frozen=True)
class Sides:
    """Both closures, and what could not be resolved and was left out of both (with pip's words)."""

    before: Closure
    after: Closure
    left_out: Mapping[str, str]


def both(python: str, before: Sequence[str], after: Sequence[str], folder: Path) -> Sides:
    """Resolve both lists; a direct requirement without any wheel leaves both. Raises Unresolved."""
    left_out: dict[str, str] = {}
    while True:
        try:
            found = [
                resolve(python, [text for text in texts if required(text) not in left_out], folder)
                for texts in (before, after)
            ]
        except Unresolved as error:
            name = error.requirement
            known = name in {required(text) for text in (*before, *after)}
            if not known or name in left_out or len(left_out) == LEFT_OUT:
                raise
            left_out[name] = str(error)
            continue
        return Sides(found[0], found[1], left_out)


def lost(sides: Sides, imports: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Modules that kept code imports and that only upstream's closure has; `imports` maps to providers."""
    gone = set(sides.before.packages) - set(sides.after.packages)
    return sorted(
        module
        for module, providers in imports.items()
        if gone.intersection(providers) and not set(sides.after.packages).intersection(providers)
    )


def page(command: str, sections: Iterable[str]) -> str:
    """The whole page: the command that makes it, and a section for each upstream."""
    head = (
        "# What an installation downloads",
        "<!-- Made by benchmarks/closure.py: run it again, do not edit. -->",
        f"`{command}`",
        f"Upstream's requirements against the distribution's, without extras, for Linux x86_64 "
        f"(manylinux_2_28) and Python {PYTHON}, wheels only, each with the newest versions that the package "
        "index had on that day. The wheel of the kernel stays in both: what `kernel-wheel` takes out of it "
        "is another matter.",
    )
    return "\n\n".join((*head, *(section.rstrip() for section in sections))) + "\n"


def render(
    sides: Sides,
    before: Sequence[str],
    sizes: Mapping[str, int],
    unprovided: Sequence[str],
    about: Mapping[str, str],
) -> str:
    """The section of one upstream: counts, what leaves with its size and what brought it, and the rest."""
    old, new = sides.before.packages, sides.after.packages
    leaving, coming = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    other = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
    roots = {required(text) for text in before}
    unknown = [name for name in (*leaving, *coming) if name not in sizes]
    lines = [
        f"## {about['pin']}",
        "",
        f"Upstream {about['upstream']}, resolved by pip {about['pip']}; markers are those of Python "
        f"{about['markers']}.",
        "",
        "| | packages | wheels |",
        "| --- | ---: | ---: |",
        f"| upstream | {len(old)} | |",
        f"| the distribution | {len(new)} | |",
        f"| leave | {len(leaving)} | {_megabytes(leaving, sizes)} |",
        f"| come | {len(coming)} | {_megabytes(coming, sizes)} |",
        "",
        "| package that leaves | version | wheel (bytes) | required by |",
        "| --- | --- | ---: | --- |",
    ]
    for name in sorted(leaving, key=lambda n: (-sizes.get(n, 0), n)):
        by = sides.before.behind(name, roots if name in roots else roots - set(new))
        if by == name and name not in roots:  # what brought it stays, and brings it no more
            by = sides.before.behind(name, roots)
        size = f"{sizes[name]:,}" if name in sizes else "not known"
        lines.append(f"| {name} | {old[name]} | {size} | {'sglang' if by == name else by} |")
    notes = [
        ("comes", [f"{name} {new[name]}" for name in coming]),
        ("is at another version", [f"{name} {old[name]} -> {new[name]}" for name in other]),
        ("could not be weighed", unknown),
        ("is imported, and its package leaves", list(unprovided)),
        ("has no wheel, and was left out of both sides", list(map(_shown, sorted(sides.left_out.items())))),
    ]
    for what, names in notes:
        lines += ["", f"- What {what}: {', '.join(names) if names else 'nothing'}."] if names else []
    if not unprovided:
        lines += [
            "",
            "Every module that the distribution imports and that upstream's installation holds "
            "is in its own.",
        ]
    return "\n".join(lines) + "\n"


def _megabytes(names: Iterable[str], sizes: Mapping[str, int]) -> str:
    return f"{sum(sizes.get(name, 0) for name in names) / 1e6:.1f} MB"


def _shown(item: tuple[str, str]) -> str:
    return f"{item[0]} ({_public(item[1])})"


def _public(text: str) -> str:
    """A message of pip without addresses."""
    return re.sub(r"\S+://\S+", "(address)", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "pins", nargs="*", default=["seed", "release"], help="upstreams (default: seed release)"
    )
    parser.add_argument("--python", default=sys.executable, help="a Python with pip whose markers count")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/closure.md")
    parser.add_argument("--render", action="store_true", help="only make the page again, from the figures")
    given = parser.parse_args()
    figures = given.out.with_suffix(".json.xz")
    if not given.render:
        try:
            found = [measure(pin, given.python) for pin in given.pins]
        except Unresolved as error:
            print(f"pip finds no solution: {_public(str(error))}", file=sys.stderr)
            return 1
        asked = [*given.pins, *([] if given.python == sys.executable else ["--python", f"python{PYTHON}"])]
        command = shlex.join(["python", "benchmarks/closure.py", *asked])
        given.out.parent.mkdir(parents=True, exist_ok=True)
        json_xz.write(figures, {"command": command, "pins": found})
    given.out.write_text(from_figures(json_xz.read(figures)))
    print(given.out)
    return 0


def from_figures(figures: Mapping[str, Any]) -> str:
    """The page of what was measured."""
    return page(figures["command"], [_section(pin) for pin in figures["pins"]])


def _section(found: Mapping[str, Any]) -> str:
    sides = Sides(*(Closure(**found[side]) for side in ("before", "after")), found["left_out"])
    return render(sides, found["requirements"], found["bytes"], found["unprovided"], found["about"])


def measure(pin: str, python: str) -> dict[str, Any]:
    """The figures of one upstream, resolved and weighed now. Raises Unresolved."""
    from builder.analysis.projects import provided_by

    wanted = _requirements(pin)
    with tempfile.TemporaryDirectory() as name:
        sides = both(python, wanted.before, wanted.after, Path(name))
        changed = set(sides.before.packages) ^ set(sides.after.packages)
        every = {**sides.before.packages, **sides.after.packages}
        sizes = weigh(python, {n: every[n] for n in sorted(changed)}, Path(name))
    return {
        "about": {
            "pin": pin,
            "upstream": wanted.upstream,
            "pip": _told(python, "import pip; print(pip.__version__)"),
            "markers": _told(python, "import platform; print(platform.python_version())"),
        },
        "requirements": list(wanted.before),
        "before": asdict(sides.before),
        "after": asdict(sides.after),
        "left_out": {name: _public(reason) for name, reason in sides.left_out.items()},
        "bytes": dict(sorted(sizes.items())),
        "unprovided": lost(sides, {module: provided_by(module) for module in wanted.imports}),
    }


def _told(python: str, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@dataclass(frozen=True)
class _Wanted:
    """Requirements of both sides, and what the distribution's Python imports from outside."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    imports: frozenset[str]
    upstream: str


def _requirements(pin: str) -> _Wanted:
    from builder.analysis.indexed_tree import world
    from builder.analysis.projects import externals, projects
    from builder.emit.members import read_pyproject
    from builder.manifest.load import load_default
    from builder.pipeline.cut import cut
    from builder.pipeline.ranges import about
    from builder.upstream.cache import default_cache
    from builder.upstream.model import Sources, snapshot
    from builder.upstream.resolve import resolve as find

    manifest = load_default(ROOT / "manifest.yaml")
    mirror = os.environ.get("SGLANG_MIRROR")
    place = Path(mirror) if mirror else None
    sources = Sources.of(manifest, place, default_cache(), False)
    upstream = find(pin, sources)
    done = cut(snapshot(upstream), manifest, about=about(upstream, manifest))
    after = world(done.output, manifest.packages)
    project = next(p for p in projects(done.output, manifest.packages) if "sglang" in p.packages)
    stated = manifest.upstream.project
    tables = [
        read_pyproject(tree, stated)["project"]["dependencies"] for tree in (done.upstream, done.output)
    ]
    commit = (
        upstream.commit[:9] if upstream.commit and not upstream.spec.startswith("pypi:") else upstream.spec
    )
    return _Wanted(tuple(tables[0]), tuple(tables[1]), frozenset(externals(after, project)), commit)


if __name__ == "__main__":
    sys.exit(main())
