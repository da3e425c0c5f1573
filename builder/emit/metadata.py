"""What a wheel says of itself: METADATA, entry_points.txt, WHEEL, licences, and `_version.py`."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.adapter import GENERATOR
from builder.errors import Mark, fail
from builder.manifest.model import Project
from builder.templates import ABSENT, filled
from builder.tree import EXECUTABLE, FILE, Snapshot

#: files that setuptools takes for licences when pyproject.toml names none
_LICENSES = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*")

PURE = "py3-none-any"


@dataclass(frozen=True, slots=True)
class About:
    """A distribution in words: `values` of the template of its README, what it decides against, as (batch,
    reason), and the module that lists what was removed, if there is one.

    Nothing of it depends on how the upstream was named, so that a branch gives the wheel of its commit.
    """

    values: Mapping[str, str]
    left_out: Sequence[tuple[str, str]]
    listing: str | None

    def summary(self, upstream: str) -> str:
        """One line; `upstream` is the summary of upstream's project."""
        name, tree = self.values["name"], self.values["tree"]
        text = f"{name}, a distribution with a part of upstream (tree {tree[:12]})"
        return " ".join((f"{text}: {upstream}" if upstream else text).split())

    def readme(self, project: str) -> str:
        """Markdown; `project` is the name that upstream and the wheel have."""
        blocks = {
            "left_out": [(batch, " ".join(why.split())) for batch, why in self.left_out],
            "listing": [(self.listing,)] if self.listing else ABSENT,
        }
        return filled("wheel.md", blocks, project=project, **self.values)


def distribution_version(upstream: str, label: str) -> str:
    """Upstream's version with our label as the local part (`0.5.8` and `deepseek`: `0.5.8+deepseek`).

    Raises BuildError (M004) when the result is not a version (PEP 440).
    """
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(upstream + ("." if "+" in upstream else "+") + label))
    except InvalidVersion as error:
        raise fail(
            "M004",
            f"'{label}' is not a valid local label for version '{upstream}'.",
            hint="use letters and digits, separated by dots",
        ) from error


def version_module(version: str, commit: str | None) -> bytes:
    """`_version.py` as setuptools-scm writes it: version, its parts, upstream's commit (`g` + 9 digits)."""
    from packaging.version import Version

    parsed = Version(version)
    parts: list[int | str] = [f"{parsed.epoch}!"] if parsed.epoch else []
    parts += parsed.release
    pre = "".join(map(str, parsed.pre or ()))
    post = "" if parsed.post is None else f"post{parsed.post}"
    dev = "" if parsed.dev is None else f"dev{parsed.dev}"
    parts += filter(None, (pre, post, dev, parsed.local))
    short = f"g{commit[:9]}" if commit else None
    own = filled(
        "_version.py.txt", generator=GENERATOR, version=str(parsed), parts=tuple(parts), commit=short
    )
    return own.replace("'", '"').encode()


def wheel_file(tags: Iterable[str]) -> bytes:
    """The WHEEL file of a wheel with these tags."""
    tags = list(tags)
    pure = "true" if tags == [PURE] else "false"
    head = f"Wheel-Version: 1.0\nGenerator: {GENERATOR}\nRoot-Is-Purelib: {pure}\n"
    return (head + "".join(f"Tag: {tag}\n" for tag in tags)).encode()


def version_file(pyproject: Mapping[str, Any]) -> str | None:
    """Where setuptools-scm would write `_version.py`, relative to the project; None when it would not."""
    table = pyproject.get("tool", {}).get("setuptools_scm", {})
    path = table.get("version_file") or table.get("write_to")
    return str(path) if path else None


def licenses(snapshot: Snapshot, pyproject: Mapping[str, Any], project: Project) -> dict[str, bytes]:
    """Name -> text of the licence files: the project's own, and for what it lacks the repository's."""
    declared = pyproject.get("project", {}).get("license", {})
    names = [declared["file"]] if isinstance(declared, dict) and "file" in declared else []
    patterns = pyproject.get("project", {}).get("license-files", [*names, *_LICENSES])
    texts: dict[str, bytes] = {}
    for folder in ("", project.prefix):  # the project's own wins
        for path in snapshot:
            name = path.removeprefix(folder)
            plain = snapshot.tree[path].mode in (FILE, EXECUTABLE) and path.startswith(folder)
            if plain and "/" not in name and any(fnmatch.fnmatchcase(name, p) for p in patterns):
                texts[name] = snapshot[path]
    return dict(sorted(texts.items()))


def metadata(
    snapshot: Snapshot,
    pyproject: Mapping[str, Any],
    version: str,
    license_names: list[str],
    project: Project,
    about: About | None = None,
) -> bytes:
    """METADATA; summary and README are those of `about`, without it upstream's.

    Raises BuildError (G008) when pyproject.toml's [project] breaks the standard.
    """
    from pathlib import PurePosixPath

    from packaging.version import Version
    from pyproject_metadata import StandardMetadata
    from pyproject_metadata.errors import ConfigurationError

    table = dict(pyproject.get("project", {}))
    # the texts come from the tree, never from a file system; a licence text in METADATA is noise beside
    # the licence file, which License-File names
    if isinstance(table.get("license"), dict):
        del table["license"]
    table.pop("license-files", None)
    table["dynamic"] = [name for name in table.get("dynamic", []) if name != "version"]
    table["version"] = version
    if about is not None:
        table["description"] = about.summary(str(table.get("description", "")))
        table["readme"] = {"text": about.readme(str(table.get("name"))), "content-type": "text/markdown"}
    elif "readme" in table:
        table["readme"] = _readme(snapshot, table["readme"], project)
    where = project.pyproject
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's licence classifier is old, not wrong
            standard = StandardMetadata.from_pyproject({"project": table}, allow_extra_keys=True)
            standard.version = Version(version)
            if license_names:
                standard.license_files = [PurePosixPath(name) for name in license_names]  # type: ignore[misc]
            return bytes(standard.as_rfc822())
    except ConfigurationError as error:
        raise fail("G008", f"{where} does not describe a project: {error}", upstream=Mark(where)) from error


def _readme(snapshot: Snapshot, readme: Any, project: Project) -> dict[str, str]:
    if isinstance(readme, dict) and "text" in readme:
        return dict(readme)
    name = readme["file"] if isinstance(readme, dict) else str(readme)
    kind = readme.get("content-type") if isinstance(readme, dict) else None
    path = next((p for p in (f"{project.prefix}{name}", name) if p in snapshot), None)
    if path is None:
        where = project.pyproject
        raise fail(
            "G008",
            f"{where} names the readme '{name}', and neither its folder nor the top of the tree has it.",
            upstream=Mark(where),
            hint=f"keep {name}",
        )
    types = {".md": "text/markdown", ".rst": "text/x-rst"}
    guess = types.get(name[name.rfind(".") :].lower(), "text/plain")
    return {"text": snapshot[path].decode("utf-8", "replace"), "content-type": kind or guess}


def entry_points(pyproject: Mapping[str, Any]) -> bytes:
    """entry_points.txt, sorted; nothing when there are none."""
    table = pyproject.get("project", {})
    groups: dict[str, Mapping[str, str]] = dict(table.get("entry-points", {}))
    for key, group in (("scripts", "console_scripts"), ("gui-scripts", "gui_scripts")):
        if table.get(key):
            groups[group] = table[key]
    blocks = []
    for group in sorted(groups):
        lines = "".join(f"{name} = {target}\n" for name, target in sorted(groups[group].items()))
        blocks.append(f"[{group}]\n{lines}")
    return "\n".join(blocks).encode()
