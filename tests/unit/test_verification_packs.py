"""What a machine with a GPU is given, and what it weighs."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from verification import gpu, pack
from verification.real import gains
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED


class TestPacks:
    @staticmethod
    def wheel(folder: Path, name: str, upstream: str) -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as wheel:
            said = {"upstream": upstream, "from": {"name": "k-1-py3-none-any.whl", "sha256": "ab"}}
            wheel.writestr("k-1+deepseek.dist-info/MODIFICATIONS.json", json.dumps(said))
        return path

    def test_the_published_kernel_wheel_is_the_one_that_ours_was_made_from(self, tmp_path: Path) -> None:
        cache, folder = tmp_path / "cache", tmp_path / "kernel"
        self.wheel(folder, "k-1+deepseek.one-py3-none-any.whl", "c1")
        ours = self.wheel(folder, "k-1+deepseek.two-py3-none-any.whl", "c2")
        with pytest.raises(FileNotFoundError, match="--download"):
            pack.kernels(folder, "c2", cache)
        published = cache / "kernel" / "ab" / "k-1-py3-none-any.whl"
        published.parent.mkdir(parents=True)
        published.touch()
        assert pack.kernels(folder, "c2", cache) == (published, ours)

    def test_a_folder_without_a_fitting_kernel_wheel_or_with_several_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="kernel-wheel"):
            pack.kernels(tmp_path, "c1", tmp_path)
        for name in ("a", "b"):
            self.wheel(tmp_path / "kernel", f"k-1+{name}-py3-none-any.whl", "c1")
        with pytest.raises(ValueError, match="leave one"):
            pack.kernels(tmp_path / "kernel", "c1", tmp_path)

    def test_an_output_of_an_archive_has_the_kernel_wheel_of_its_commit(self, tmp_path: Path) -> None:
        said = {"spec": "release", "commit": "c1", "tree": "t", "origin": "sdist"}
        (tmp_path / "build.json").write_text(json.dumps({"upstream": said}))
        assert pack.origin(tmp_path) == "c1"

    def test_a_wheel_is_copied_byte_for_byte_unless_a_file_stays_here(self, tmp_path: Path) -> None:
        wheel, to = tmp_path / "k-1.whl", tmp_path / "kernel-ours.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as packed:
            packed.writestr("k/large.so", b"0" * 1000)
            packed.writestr("k/a.py", "a = 1\n")
        assert pack.without(wheel, to, ["*/small.so"]) == []
        assert to.read_bytes() == wheel.read_bytes()
        assert pack.without(wheel, to, ["*.so"]) == ["k/large.so"]
        with zipfile.ZipFile(to) as packed:
            assert packed.namelist() == ["k/a.py"]

    def test_upstreams_wheel_needs_upstream_itself(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="--upstream-tree"):
            pack.make(tmp_path, tmp_path / "to", "", tmp_path, None, (), with_wheels=True)
        assert not (tmp_path / "to").exists()

    def test_sizes_are_of_whole_wheels_and_of_what_they_install(self, tmp_path: Path) -> None:
        wheels = []
        for name, size in (("one", 3000), ("two", 2000)):
            wheels.append(tmp_path / f"{name}.whl")
            with zipfile.ZipFile(wheels[-1], "w", zipfile.ZIP_DEFLATED) as packed:
                packed.writestr("k/a.so", b"0" * size)
        sizes = pack.kernel_sizes(wheels)
        assert sizes["the kernel wheel"] == [wheel.stat().st_size for wheel in wheels]
        assert sizes["the kernels, installed"] == [3000, 2000]
        assert pack.kernel_sizes(()) == {}

    def test_one_byte_more_is_worse_and_what_is_not_known_has_not_run(self, tmp_path: Path) -> None:
        for role in ("upstream", "ours"):
            (tmp_path / role / "python").mkdir(parents=True)
            (tmp_path / role / "python/a.py").write_text("0" * 1000)
        places = [Place(role, tmp_path / role, None, tmp_path) for role in ("upstream", "ours")]
        told = {"the wheel": [1000, 1001], "the kernel wheel": [1001, 1000]}
        verdicts = {case.name: case.verdict for case in gains.sizes(places, told)}
        assert verdicts == {
            "gain bytes of Python's tree": PASSED, "gain bytes of the wheel": FAILED,
            "gain bytes of the kernel wheel": PASSED, "gain bytes of the kernels, installed": NOT_RUN,
        }  # fmt: skip
        (tmp_path / "ours/python/a.py").unlink()
        nothing = {case.name: case.verdict for case in gains.sizes(places, {})}
        assert nothing["gain bytes of Python's tree"] == NOT_RUN

    def test_a_folder_that_is_no_pack_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match="make gpu-pack"):
            gpu.folder_of(tmp_path, tmp_path)
        (tmp_path / "subjects.json").write_text("{}")
        with pytest.raises(SystemExit, match="is no pack"):
            gpu.opened(tmp_path, tmp_path / "trees")

    def test_other_packs_never_meet(self, tmp_path: Path) -> None:
        found = set()
        for text in ("one", "two", "two"):
            (tmp_path / "subjects.json").write_text(text)
            found.add(gpu.folder_of(tmp_path, tmp_path / "work"))
        assert len(found) == 2

    def test_the_gpus_that_are_allowed_are_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
        assert gpu.visible() == ["3", "5"]
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
        monkeypatch.setenv("PATH", "")
        assert gpu.visible() == ["0"]

    def test_without_torch_one_sentence_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(SystemExit, match="no torch"):
            gpu.need_torch()

    def test_a_wheel_that_is_not_ours_is_refused(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "k-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("k/__init__.py", "")
        with pytest.raises(ValueError, match="not made by"):
            pack.kernels(tmp_path, "c1", tmp_path)


def test_a_pack_holds_what_runs_and_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("python/a.py", "docs/b.md", "python/__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    data = pack.pack(tmp_path)
    assert data == pack.pack(tmp_path)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getnames() == ["python/a.py"]


def test_a_pack_opens_to_both_trees_and_what_the_output_says(tmp_path: Path) -> None:
    for name in ("out/tree", "upstream"):
        (tmp_path / name / "python").mkdir(parents=True)
        (tmp_path / name / "python/a.py").write_text(name)
    build = {
        "upstream": {"origin": "git", "commit": "c1", "tree": "t1"}, "output": {"tree": "t2"},
        "batches": [{"id": "lora"}, {"id": "base"}],
    }  # fmt: skip
    (tmp_path / "out/build.json").write_text(json.dumps(build))
    pack.make(tmp_path / "out", tmp_path / "pack", "", tmp_path / "upstream", None, ())
    output, (theirs, mine) = gpu.unpack(tmp_path / "pack", tmp_path / "trees")
    assert (output.tree, output.batches) == ("t2", frozenset({"base", "lora"}))
    assert [(each.folder / "python/a.py").read_text() for each in (theirs, mine)] == ["upstream", "out/tree"]
