"""The pyproject.toml of a wheel: upstream's own is not in it, so the builder writes one from its metadata.

A requirement under an extra becomes one of `optional-dependencies`; its marker loses the part about the
extra. All else is as METADATA and entry_points.txt state it.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable
from email.message import Message
from typing import Any

from builder.adapter import GENERATOR
from builder.upstream.archive import ArchiveError

#: The table of the file, and its key, that hold the tags of upstream's wheel.
TOOL, TAGS = GENERATOR, "wheel-tags"

_HEAD = f"""\
# Written by {GENERATOR} from METADATA, WHEEL and entry_points.txt of the wheel of
# {{name}} {{version}}. The wheel does not hold upstream's own file.
"""
_EXTRA = re.compile(r"""(?:(?P<rest>.*) and )?extra == (?P<quote>["'])(?P<extra>[^"']+)(?P=quote)""", re.S)


def write(
    metadata: Message, points: str, tags: Iterable[str], version_file: str | None, license_name: str | None
) -> bytes:
    """The bytes of the file, from METADATA, the text of entry_points.txt and the tags of WHEEL.

    `version_file`: the module that setuptools-scm made, relative to the project. Raises
    ArchiveError for metadata that cannot be expressed in such a file.
    """
    import tomlkit

    required, extras = _requirements(metadata)
    urls = [url.partition(", ") for url in metadata.get_all("Project-URL", [])]
    optional: dict[str, Any] = {
        "description": metadata["Summary"] and str(metadata["Summary"]),
        "requires-python": metadata["Requires-Python"] and str(metadata["Requires-Python"]),
        "readme": metadata.get_payload() and "README.md",
        "license": license_name and {"file": license_name},
        "classifiers": metadata.get_all("Classifier"),
        "dependencies": required,
        "optional-dependencies": extras,
        "urls": {label: url for label, _, url in urls},
    }
    project = {"name": metadata["Name"], "dynamic": ["version"]}
    project |= {key: value for key, value in optional.items() if value or key == "dependencies"}
    project |= _entry_points(points)
    build = ["setuptools>=61.0", *(["setuptools-scm>=8.0"] if version_file else []), "wheel"]
    tool: dict[str, Any] = {
        "setuptools": {"package-data": {"*": ["**/*"]}, "packages": {"find": {"include": ["*"]}}},
        TOOL: {TAGS: sorted(tags)},
    }
    if version_file:
        fallback = str(metadata["Version"])
        tool["setuptools_scm"] = {"root": "..", "version_file": version_file, "fallback_version": fallback}
    table = {
        "build-system": {"requires": build, "build-backend": "setuptools.build_meta"},
        "project": project,
        "tool": tool,
    }
    document = tomlkit.item(table)
    _spread(document)
    head = _HEAD.format(name=metadata["Name"], version=metadata["Version"])
    return (head + "\n" + tomlkit.dumps(document)).encode()


def _spread(value: Any) -> None:
    """One line for each item of a list, so that an edit of one is a change of one line."""
    for child in value.values():
        if hasattr(child, "multiline"):
            child.multiline(len(child) > 1)
        elif hasattr(child, "values"):
            _spread(child)


def _requirements(metadata: Message) -> tuple[list[str], dict[str, list[str]]]:
    """The requirements of the project, and those of each extra, in the order of METADATA."""
    from packaging.requirements import InvalidRequirement, Requirement

    extras: dict[str, list[str]] = {name: [] for name in metadata.get_all("Provides-Extra", [])}
    required: list[str] = []
    for line in metadata.get_all("Requires-Dist", []):
        what, _, marker = (part.strip() for part in line.partition(";"))
        match = _EXTRA.fullmatch(marker)
        rest, extra = (match["rest"] or "", match["extra"]) if match else (marker, None)
        if re.search(r"\bextra\b", rest):
            raise ArchiveError([f"the extra of Requires-Dist {line!r} cannot be separated from its marker"])
        text = f"{what}; {_without_parentheses(rest)}" if rest else what
        try:
            Requirement(text)
        except InvalidRequirement as error:
            raise ArchiveError([f"Requires-Dist {line!r} is not a requirement ({error})"]) from None
        (required if extra is None else extras.setdefault(extra, [])).append(text)
    return required, extras


def _without_parentheses(marker: str) -> str:
    """A marker without the pair of parentheses around all of it, if there is one."""
    # of the text inside, no part closes more than it opens
    whole = re.fullmatch(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)", marker)
    return whole[1].strip() if whole else marker


def _entry_points(text: str) -> dict[str, Any]:
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ArchiveError([f"entry_points.txt cannot be read ({error.message.splitlines()[0]})"]) from None
    tables: dict[str, Any] = {}
    for group in parser.sections():
        entries = dict(parser.items(group))
        key = {"console_scripts": "scripts", "gui_scripts": "gui-scripts"}.get(group)
        if key:
            tables[key] = entries
        else:
            tables.setdefault("entry-points", {})[group] = entries
    return tables
