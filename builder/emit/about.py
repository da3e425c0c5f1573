"""What a wheel says of itself: its summary, and its README in place of upstream's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """A distribution in words. `left_out`: what it decides against, as (batch, reason).

    Nothing of it depends on how the upstream was named, so that a branch gives the wheel of its commit.
    """

    name: str
    repository: str
    version: str  # of the distribution
    commit: str | None
    upstream_tree: str
    tree: str
    scope: str
    without: Sequence[str]
    left_out: Sequence[tuple[str, str]]
    listing: str | None  # a module of the wheel that lists what left

    def summary(self, upstream: str) -> str:
        """One line; `upstream` is the summary of upstream's project."""
        text = f"{self.name}, a distribution with a part of upstream (tree {self.tree[:12]})"
        return " ".join((f"{text}: {upstream}" if upstream else text).split())

    def readme(self, project: str) -> str:
        """Markdown; `project` is the name that upstream and the wheel have."""
        scope = self.scope + (f", without {', '.join(self.without)}" if self.without else "")
        rows = [
            ("version", self.version),
            ("upstream", self.repository),
            ("upstream commit", self.commit or "none: a release"),
            ("upstream tree", self.upstream_tree),
            ("tree of this distribution", self.tree),
            ("scope", scope),
        ]
        parts = [
            f"# {self.name}\n",
            f"This wheel has the name `{project}` and contains a part of it. It installs in place of "
            f"upstream's wheel, and `pip uninstall {project}` removes it. Under the conditions that it was "
            "built for, what it contains behaves as upstream's.\n",
            "| | |\n| --- | --- |\n" + "".join(f"| {name} | `{value}` |\n" for name, value in rows),
        ]
        if self.left_out:
            parts.append("## What it leaves out\n")
            parts.append("".join(f"- **{batch}**: {' '.join(why.split())}\n" for batch, why in self.left_out))
        if self.listing:
            parts.append(
                f"`python -m {self.listing}` lists the options, values and models that left, and how to "
                "bring each back.\n"
            )
        return "\n".join(parts)
