"""The manifest and its overlays on disk: links, pipes, sizes, what is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from manifest_text import HEAD, REPOSITORY, batch

from builder.errors import BuildError
from builder.manifest.load import load
from builder.report import render


def folder(root: Path, text: str = HEAD + "batches: []\n") -> Path:
    (root / "manifest.yaml").write_text(text)
    (root / "overlays").mkdir()
    return root / "manifest.yaml"


def test_a_manifest_is_loaded_with_its_overlays(tmp_path: Path) -> None:
    path = folder(tmp_path, batch("files: [{path: a, from: overlays/p/x.py}]"))
    (tmp_path / "overlays/p").mkdir()
    (tmp_path / "overlays/p/x.py").write_bytes(b"x\r\n")
    (tmp_path / "overlays/p/__pycache__").mkdir()
    (tmp_path / "overlays/p/__pycache__/x.pyc").write_bytes(b"")
    it = load(path)
    assert dict(it.overlays) == {"overlays/p/x.py": b"x\r\n"}
    assert it.file == "manifest.yaml"
    assert it.texts[it.file] == path.read_text()


@pytest.mark.parametrize("target", ["../manifest.yaml", "README.md", "x", "/etc/hostname"])
def test_an_overlay_that_is_a_link_is_refused_wherever_it_leads(tmp_path: Path, target: str) -> None:
    path = folder(tmp_path, batch("files: [{path: a, from: overlays/x}]"))
    (tmp_path / "overlays/README.md").write_text("")
    (tmp_path / "overlays/x").symlink_to(target)
    with pytest.raises(BuildError) as caught:
        load(path)
    assert [p.code for p in caught.value.problems] == ["M008"]


def test_a_pipe_among_the_overlays_does_not_block(tmp_path: Path) -> None:
    path = folder(tmp_path)
    os.mkfifo(tmp_path / "overlays/pipe")
    with pytest.raises(BuildError) as caught:
        load(path)
    assert "a pipe" in caught.value.problems[0].message


def test_an_overlay_that_is_too_big_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.manifest.load.MAX_OVERLAY_BYTES", 3)
    path = folder(tmp_path, batch("files: [{path: a, from: overlays/x}, {path: b, from: overlays/y}]"))
    (tmp_path / "overlays/x").write_bytes(b"1234")
    (tmp_path / "overlays/y").write_bytes(b"123")
    with pytest.raises(BuildError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert (problem.code, "overlays/x" in problem.message) == ("M008", True)


def test_an_overlay_whose_name_is_not_utf_8_is_told_and_not_a_crash(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "overlays" / os.fsdecode(b"\xff.py")).write_bytes(b"")
    with pytest.raises(BuildError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert problem.code == "M009"
    assert render(problem, {}).encode()


def test_a_manifest_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").symlink_to("/dev/zero")
    with pytest.raises(BuildError) as caught:
        load(tmp_path / "manifest.yaml")
    assert [p.code for p in caught.value.problems] == ["M001"]


def test_a_folder_of_overlays_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x").write_text("")
    (tmp_path / "manifest.yaml").write_text(batch("files: [{path: a, from: overlays/x}]"))
    (tmp_path / "overlays").symlink_to("real")
    with pytest.raises(BuildError) as caught:
        load(tmp_path / "manifest.yaml")
    assert {p.code for p in caught.value.problems} == {"M008"}


def test_a_manifest_that_is_not_there_is_a_coded_fault(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(BuildError) as caught:
            load(path)
        assert [p.code for p in caught.value.problems] == ["M001"]


def test_reading_the_module_imports_no_heavy_library() -> None:
    code = "import sys, builder.manifest.load; print(*({'jsonschema', 'yaml'} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""
