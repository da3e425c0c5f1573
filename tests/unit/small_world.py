"""A repository with the small upstream, and a folder with its manifest, for whole builds in tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from command_line import READ_AT_START, run_here
from jsonschema import Draft7Validator
from small_files import FILES, MANIFEST, OVERLAYS, PARSER
from upstream_repo import Files, Repo

from builder.tree import blob_id

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class World:
    """An upstream repository (bare), and a folder with the manifest and its overlays."""

    repository: Repo
    commit: str
    home: Path

    @property
    def manifest(self) -> Path:
        return self.home / "manifest.yaml"

    def change(self, old: str, new: str) -> None:
        """Replace a text of the manifest that occurs exactly once."""
        text = self.manifest.read_text("utf-8")
        assert text.count(old) == 1, (old, text.count(old))
        self.manifest.write_text(text.replace(old, new), "utf-8")

    def environment(self, **more: str | None) -> dict[str, str]:
        """What a builder sees; None takes a variable away."""
        found = {k: v for k, v in os.environ.items() if not k.startswith(("SGLANG_", "BUILDER_", "GIT_"))}
        found |= {
            "SGLANG_MIRROR": str(self.repository.path),
            "BUILDER_CACHE": str(self.home.parent / "cache"),
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.home.parent),
        }
        for name, value in more.items():
            found.pop(name, None)
            if value is not None:
                found[name] = value
        return found

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "builder", *words]

    def run(self, *words: str, **more: str | None) -> subprocess.CompletedProcess[str]:
        """The builder in this process, in the manifest's folder. Never a traceback."""
        assert not any(name.startswith(READ_AT_START) for name in more), "this needs `process`"
        return _sound(run_here(words, self.home, self.environment(**more)))

    def process(self, *words: str, **more: str | None) -> subprocess.CompletedProcess[str]:
        """The builder in its own process, in the manifest's folder. Never a traceback."""
        done = subprocess.run(
            self.command(*words),
            cwd=self.home, env=self.environment(**more), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", errors="surrogateescape", timeout=120,
        )  # fmt: skip
        return _sound(done)

    def good(self, *words: str, **more: str | None) -> subprocess.CompletedProcess[str]:
        done = self.run(*words, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done


def _sound(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert "error[E070]" not in done.stderr and '"code": "E070"' not in done.stdout, done.stderr
    return done


def small_world(folder: Path, files: Files = FILES, manifest: str = MANIFEST) -> World:
    """The world below `folder`: upstream.git and home/."""
    repository = Repo(folder / "upstream.git")
    commit = repository.commit(files, "refs/heads/main", "refs/tags/v1.2.3")
    home = folder / "home"
    home.mkdir()
    text = manifest.replace("@COMMIT@", commit).replace("@PARSER@", blob_id(PARSER))
    (home / "manifest.yaml").write_text(text, "utf-8")
    for path, data in OVERLAYS.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    return World(repository, commit, home)


def place(text: str, inside: str | None = None) -> str:
    """Where a text stands in MANIFEST, as marks are written; `inside` is a longer text around it."""
    assert MANIFEST.count(inside or text) == 1, text
    start = MANIFEST.index(inside or text) + (inside or text).index(text)
    line = MANIFEST.count("\n", 0, start) + 1
    return f"manifest.yaml:{line}:{start - MANIFEST.rfind(chr(10), 0, start)}"


def commit_files(
    repository: Repo,
    files: Files,
    *refs: str,
    parent: str | None = None,
    subject: str = "a commit",
) -> str:
    return repository.commit(files, *refs, parent=parent, subject=subject)


def folder_bytes(
    folder: Path, but: Sequence[str] = (".sglang-deepseek.index",)
) -> dict[str, tuple[int, bytes]]:
    """path -> mode and content of all below a folder; symlinks as their targets.

    The index of an output is left out: it holds what the file system says of the files.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name in but or (path.is_dir() and not path.is_symlink()):
            continue
        data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        found[name] = (path.lstat().st_mode, data)
    return found


def schema(name: str) -> Draft7Validator:
    """What checks data against a file of `schema/`."""
    loaded = json.loads((ROOT / "schema" / f"{name}.schema.json").read_bytes())
    Draft7Validator.check_schema(loaded)
    return Draft7Validator(loaded)


def codes(text: str) -> list[str]:
    """The problem codes in a rendering, sorted."""
    return sorted(set(re.findall(r"error\[([A-Z]\d{3})\]", text)))
