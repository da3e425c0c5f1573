"""lift on upstream's own history: what came is found and what broke, with the commit that did it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from pins import MIRROR, NEEDS_MIRROR, ROOT, SEED, of_texts

from builder.lift import versions
from builder.lift.history import between
from builder.lift.survey import Survey, survey
from builder.lift.trial import Trial, trial
from builder.manifest.load import load_default, read_schema
from builder.manifest.model import Manifest
from builder.tree import Snapshot
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, Upstream, snapshot
from builder.upstream.resolve import resolve

pytestmark = NEEDS_MIRROR
PR17353 = "3992a023e65ed68cb203fc90164a6962378f187d"


@cache
def upstream(commit: str) -> tuple[Upstream, Snapshot]:
    where = Sources(Path(MIRROR or ""), default_cache(), "none", True, {})
    found = resolve(commit, where)
    return found, snapshot(found)


def without(*texts: str) -> Manifest:
    """The manifest as if nobody had written the statements of its parts that hold one of these texts."""
    whole = load_default(ROOT / "manifest.yaml")
    return of_texts({file: _left(text, texts) for file, text in whole.texts.items()})


def _left(text: str, texts: Sequence[str]) -> str:
    rows: list[str] = []
    for row in text.splitlines(keepends=True):
        # what was too wide for one row goes on in the next
        rows[-1:] = [rows[-1] + row] if rows and _is_open(rows[-1]) else [*rows[-1:], row]
    return "".join(row for row in rows if not any(text in row for text in texts))


def _is_open(row: str) -> bool:
    """Whether a list or mapping that begins in a row does not end in it."""
    if row.lstrip().startswith("#"):
        return False
    bare = re.sub(r"""'[^']*'|"[^"]*"|#.*""", "", row)
    return sum(bare.count(c) for c in "[{") > sum(bare.count(c) for c in "]}")


def git(*words: str) -> list[str]:
    done = subprocess.run(
        ["git", f"--git-dir={MIRROR}", "-c", "safe.directory=*", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def lifted() -> Survey:
    """From the seed to PR #17353, as if the manifest did not know the platform that came with it."""
    manifest = without("jit_kernel/flash_attention", "musa,", "musa]", "_musa")
    old, new = upstream(SEED), upstream(PR17353)
    return survey(old, new, manifest, between(old[0], new[0]), read_schema(ROOT))


@pytest.fixture(scope="module")
def tried(lifted: Survey) -> Trial:
    """What the manifest of the lift gives of PR #17353."""
    old, new = upstream(SEED), upstream(PR17353)
    manifest = lifted.sides.manifest
    known = versions.known(new[0], manifest, versions.step(old[0], new[0], manifest))
    return trial(new[1], manifest, about=known)


def test_all_first_parent_commits_are_on_the_way(lifted: Survey) -> None:
    assert [c.id for c in lifted.sides.history.commits] == git(
        "rev-list", "--first-parent", "--reverse", f"{SEED}..{PR17353}"
    )


def test_what_the_pull_request_vendors_does_not_come_in_unseen(lifted: Survey, tried: Trial) -> None:
    added = git(
        "diff", "--diff-filter=A", "--name-only", f"{PR17353}^", PR17353, "--", "python/sglang/jit_kernel"
    )
    vendored = [path for path in added if "flash_attention" in path and "/tests/" not in path]
    assert len(vendored) > 30
    assert stays(lifted, tried, vendored) == []


def test_a_removed_file_that_moved_into_a_kept_folder_stays_away(lifted: Survey, tried: Trial) -> None:
    moved = [path for path in tried.selection.decisions if "modelslim" in path]
    assert moved and stays(lifted, tried, moved) == []


def stays(found: Survey, tried: Trial, paths: Sequence[str]) -> list[str]:
    """Those of the paths that the distribution would hold without that anybody is asked about them."""
    assert tried.cut is not None
    asked = {path for group in found.of("open") for path in group.data["paths"]}
    return [path for path in paths if path in tried.cut.output and path not in asked]


def test_a_platform_that_came_is_asked_about(lifted: Survey) -> None:
    fact = next(one for one in lifted.of("facts") if one.data["name"].endswith(".is_musa"))
    assert fact.question and fact.proposals
    assert fact.data["commit"].id in git("log", "--format=%H", "-S", "def is_musa", "--", fact.data["path"])


def test_every_commit_that_is_blamed_is_one_of_those_on_the_way(lifted: Survey) -> None:
    known = {c.id for c in lifted.sides.history.commits}
    lost = [item.data["commit"] for item in lifted.of("lost")]
    blamed = [commit for commit in lost if commit] + list(lifted.causes.values())
    assert {c.id for c in blamed} <= known


def test_the_commit_that_is_blamed_for_an_edit_changed_its_file(lifted: Survey) -> None:
    for item in lifted.of("lost"):
        if item.data["commit"]:
            assert item.data["commit"].changes, item.data["statement"]


def test_the_proposal_is_a_manifest_and_breaks_nothing(lifted: Survey) -> None:
    assert lifted.proposed is not None
    # what is inserted moves the lines below it
    before, after = (
        {(p.code, p.message) for p in problems}
        for problems in (lifted.sides.done.problems, lifted.proposed.problems)
    )
    assert after <= before
    changed = {
        file: data.decode()
        for file, data in lifted.proposed.files.items()
        if data.decode() != lifted.sides.manifest.texts.get(file, "")
    }
    assert changed
    for file, text in changed.items():
        rows = lifted.sides.manifest.texts.get(file, "").splitlines()
        lost = [row for row in rows if row not in set(text.splitlines())]
        assert not any(row.lstrip().startswith("#") for row in lost)
        # a line that is another now still says what it said
        assert all(row.strip().lstrip("- ").rstrip("}")[:20] in text for row in lost)


def test_the_manifest_as_it_is_lifts_to_its_pins_without_a_broken_rule() -> None:
    """Whoever wrote the rules for a named point need not be told of them again."""
    manifest = load_default(ROOT / "manifest.yaml")
    lock = json.loads((ROOT / "manifest.lock").read_text("utf-8"))["pins"]
    if lock.get("pr17353", {}).get("commit") != PR17353:
        pytest.skip("pr17353 is no proven pin yet")
    old, new = upstream(SEED), upstream(PR17353)
    found = survey(old, new, manifest, between(old[0], new[0]), read_schema(ROOT))
    assert found.sides.done.problems == ()
    assert found.covered["fa3-fa4"] > 30
