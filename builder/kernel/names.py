"""The file name of the kernel wheel, and the version that the output requires."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from builder.analysis.projects import requirement_name
from builder.errors import Mark, fail
from builder.manifest.model import Kernel

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@dataclass(frozen=True, slots=True)
class WheelName:
    """The parts of a wheel's file name, as they are written there; `build` is empty for none."""

    distribution: str
    version: str
    build: str
    tags: str  # python-abi-platform, compressed

    def __str__(self) -> str:
        build = [self.build] if self.build else []
        return "-".join((self.distribution, self.version, *build, self.tags)) + ".whl"


def parse(name: str) -> WheelName:
    """The parts of a file name. Raises BuildError (K003) for one that is no wheel's."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        parse_wheel_filename(name)
    except (InvalidWheelFilename, ValueError) as error:
        raise fail(
            "K003", f"'{name}' is not the file name of a wheel: {error}.", hint="give it the name it had"
        ) from None
    parts = name.removesuffix(".whl").split("-")
    return WheelName(parts[0], parts[1], "-".join(parts[2:-3]), "-".join(parts[-3:]))


def required(pyproject: dict[str, Any], kernel: Kernel, where: str) -> Requirement:
    """The requirement of the kernel package, which must name one version exactly.

    Raises BuildError (K003) when pyproject.toml (at `where`) has none, several, or one of a range.
    """
    from packaging.requirements import Requirement

    names = {requirement_name(name) for name in kernel.distributions}
    texts = pyproject.get("project", {}).get("dependencies", [])
    requirements = [Requirement(text) for text in texts if requirement_name(text) in names]
    accepted = " or ".join(kernel.distributions)
    if len(requirements) != 1:
        count = "does not require" if not requirements else "requires more than once"
        raise fail("K003", f"{where} {count} {accepted}.", kernel.mark, upstream=Mark(where))
    if exact(requirements[0]) is None:
        raise fail(
            "K003", f"{where} requires '{requirements[0]}', not one version of it.", upstream=Mark(where)
        )
    return requirements[0]


def exact(requirement: Requirement) -> str | None:
    """The one version that a requirement allows; None when it allows others."""
    parts = list(requirement.specifier)
    if len(parts) == 1 and parts[0].operator in ("==", "===") and not parts[0].version.endswith(".*"):
        return parts[0].version
    return None


def fits(name: WheelName, requirement: Requirement) -> None:
    """Raises BuildError (K003) unless the wheel is of the required distribution and version."""
    from packaging.utils import canonicalize_name
    from packaging.version import Version

    same = canonicalize_name(name.distribution) == canonicalize_name(requirement.name)
    if same and requirement.specifier.contains(Version(name.version), prereleases=True):
        return
    raise fail(
        "K003",
        f"The wheel is {name.distribution} {name.version}, and the output requires {requirement}.",
        hint="give the wheel of that version, or let --download get it",
    )


def with_version(metadata: bytes, version: str) -> bytes:
    """METADATA with another version and nothing else changed. Raises BuildError (K002) without one."""
    head, body = _parted(metadata)
    changed, number = re.subn(rb"(?im)^version:[^\r\n]*", b"Version: " + version.encode(), head)
    if number != 1:
        raise fail("K002", f"METADATA of the wheel has {number} versions.")
    return changed + body


def with_tags(wheel: bytes, tags: str) -> bytes:
    """WHEEL with the tags of the file name: a wheel that was renamed lists others."""
    from packaging.tags import parse_tag

    head, body = _parted(wheel)
    wanted = sorted(str(tag).encode() for tag in parse_tag(tags))
    if sorted(re.findall(rb"(?im)^tag:[ \t]*(.*?)[ \t]*\r?$", head)) == wanted:
        return wheel
    others = re.sub(rb"(?im)^tag:.*\n?", b"", head)
    build = re.search(rb"(?im)^build:", others)
    at = build.start() if build else len(others)
    return others[:at] + b"".join(b"Tag: " + tag + b"\n" for tag in wanted) + others[at:] + body


def _parted(text: bytes) -> tuple[bytes, bytes]:
    """The header, and what follows, which begins with the blank line that ends it."""
    blank = re.search(rb"\n(?=\r?\n)", text)
    at = blank.end() if blank else len(text)
    return text[:at], text[at:]
