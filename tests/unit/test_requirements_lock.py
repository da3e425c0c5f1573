"""requirements.lock holds every dependency of pyproject.toml, at its version and with digests."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tomlkit
from packaging.requirements import Requirement
from small_world import ROOT

LOCK = (ROOT / "requirements.lock").read_text("utf-8")


def entries() -> Iterator[tuple[Requirement, list[str]]]:
    for entry in re.split(r"\n(?=\S)", LOCK.strip()):
        head, *hashes = (line.strip().rstrip("\\").strip() for line in entry.splitlines())
        yield Requirement(head), hashes


def test_every_dependency_is_locked_at_its_version() -> None:
    project = tomlkit.parse((ROOT / "pyproject.toml").read_text("utf-8")).unwrap()["project"]
    stated = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    locked = {(entry.name, str(entry.specifier)) for entry, _ in entries()}
    assert {(r.name, str(r.specifier)) for r in map(Requirement, stated)} <= locked


def test_every_entry_has_one_version_and_digests_of_its_files() -> None:
    for entry, hashes in entries():
        assert re.fullmatch(r"==[^*,]+", str(entry.specifier)), entry
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for h in hashes), entry


def test_the_lock_names_no_place_to_download_from() -> None:
    assert "://" not in LOCK and "--index" not in LOCK and "@" not in LOCK
