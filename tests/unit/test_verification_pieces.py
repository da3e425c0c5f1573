"""What a machine without a network is given: machine code for one card, in pieces, and what opens them."""

from __future__ import annotations

import json
import os
import struct
import sys
import zipfile
from pathlib import Path

import pytest

from verification.pieces import fatbin, make
from verification.pieces import open as opening


def entry(kind: int, architecture: int, data: bytes, packed: int = 0) -> bytes:
    header = struct.pack("<HHIQI", kind, 0, 64, len(data), packed) + bytes(8)
    return header + struct.pack("<I", architecture) + bytes(64 - len(header) - 4) + data


def library(path: Path, *entries: bytes) -> Path:
    whole = b"".join(entries)
    path.write_bytes(b"ELF" + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(whole)) + whole + b"end")
    return path


class TestMachineCode:
    def test_what_the_card_cannot_run_is_zero_and_nothing_moves(self, tmp_path: Path) -> None:
        entries = (
            entry(2, 80, b"A" * 40),
            entry(2, 90, b"B" * 40),
            entry(1, 80, b"C" * 8),
            entry(1, 100, b"D" * 8),
        )
        path = library(tmp_path / "k.so", *entries)
        before = path.read_bytes()
        assert fatbin.prune(path, 90) == (48, 48)
        assert path.read_bytes() == before.replace(b"A" * 40, bytes(40)).replace(b"D" * 8, bytes(8))

    def test_of_one_library_functions_are_chosen_by_name(self, tmp_path: Path) -> None:
        mine, other = b".nv.info.attendB", b".nv.info.attendC"
        path = library(
            tmp_path / "k.so", entry(2, 90, mine), entry(2, 90, other), entry(2, 90, b"x", packed=1)
        )
        kept, zeroed = fatbin.prune(path, 90, lambda names, packed: not packed and b"attendB" in names)
        assert (kept, zeroed) == (len(mine), len(other) + 1)
        assert mine in path.read_bytes() and other not in path.read_bytes()

    def test_of_flash_attention_3_what_deepseek_calls_stays(self) -> None:
        assert make._attention(b"FlashAttnFwdSm90 Li64EEEEEELi512ENS_10bfloat16_tEf", False)
        assert not make._attention(b"FlashAttnFwdSm90 Li128EEEEEELi128ENS_10bfloat16_tEf", False)
        assert not make._attention(b"FlashAttnFwdSm80", False) and not make._attention(b"", True)
        assert make._attention(b"prepare_varlen_num_blocks", False)

    def test_bytes_that_only_begin_like_machine_code_are_left(self, tmp_path: Path) -> None:
        path = tmp_path / "k.so"
        path.write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 7, 16, 4) + b"data")
        before = path.read_bytes()
        assert fatbin.prune(path, 90) == (0, 0)
        assert path.read_bytes() == before


class TestPackages:
    def test_a_wheel_s_packages_are_taken_without_what_nothing_loads(self, tmp_path: Path) -> None:
        wheel = tmp_path / "t-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            tool = zipfile.ZipInfo("triton/backends/nvidia/bin/ptxas")
            tool.external_attr = 0o100755 << 16
            packed.writestr(tool, "")
            for name in ("torch/a.py", "torch/include/a.h", "t-1.data/purelib/b.py", "t-1.data/scripts/c"):
                packed.writestr(name, "")
        make.unzip(wheel, tmp_path / "site")
        names = {path.relative_to(tmp_path / "site").as_posix() for path in tmp_path.glob("site/**/*.*")}
        assert names == {"torch/a.py", "b.py"}
        assert (tmp_path / "site/triton/backends/nvidia/bin/ptxas").stat().st_mode & 0o111

    def test_a_member_beside_the_folder_is_refused(self, tmp_path: Path) -> None:
        wheel = tmp_path / "t-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            packed.writestr("../a.py", "")
        with pytest.raises(ValueError, match=r"\.\./a\.py"):
            make.unzip(wheel, tmp_path / "site")

    def test_every_pinned_package_has_one_digest(self) -> None:
        for path in make._HERE.glob("requirements-*.txt"):
            lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
            assert all(line.count("==") == line.count(" --hash=sha256:") == 1 for line in lines)
            assert len({line.partition("==")[0] for line in lines}) == len(lines) > 50

    def test_a_release_without_pinned_packages_is_named(self) -> None:
        assert (
            make.requirements_of({"output": {"upstream": "release-0.5.23"}}).name == "requirements-0.5.23.txt"
        )
        with pytest.raises(FileNotFoundError, match=r"pinned for 0\.5\.23"):
            make.requirements_of({"output": {"upstream": "release-0.5.8"}})


#: Stands for zstd, which not every machine has: what goes in comes out.
_ZSTD = """#!/bin/sh
case "$*" in *--decompress*) exec cat ;; esac
while [ "$1" != -o ]; do shift; done
exec cat > "$2"
"""


class TestPieces:
    @pytest.fixture(autouse=True)
    def _packer(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "bin/zstd"
        program.parent.mkdir()
        program.write_text(_ZSTD)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    @staticmethod
    def made(folder: Path) -> Path:
        work, pieces = folder / "work", folder / "pieces"
        for name in ("packs/a/file", "packs/b/file", "harness/file", "site/file"):
            (work / name).parent.mkdir(parents=True)
            (work / name).write_bytes(name.partition("/")[0].encode() * 10)
        (work / "site/data").write_bytes(bytes(range(256)) * 9)
        make._share(work / "packs")
        make.cut(work, ("packs", "harness"), pieces / "packs", 200, 1, 50)
        make.cut(work, ("site",), folder / "packages", 200, 1)
        streams = {
            "packs": {"folders": ["packs", "harness"], "pieces": make._placed(pieces / "packs", pieces)},
            "packages": {"folders": ["site"], "pieces": make._placed(folder / "packages", pieces)},
        }
        index = {"packs": ["a", "b"], "streams": streams}
        (pieces / "p1/index.json").write_text(json.dumps(index))
        return pieces

    def test_none_is_larger_than_asked_and_they_open_to_the_same_files(self, tmp_path: Path) -> None:
        pieces = self.made(tmp_path)
        sizes = [path.stat().st_size for path in sorted(pieces.glob("p*/pack*.0*"))]
        assert len(sizes) > 2 and max(sizes) <= 200
        assert (pieces / "p1/packs.001").stat().st_size <= 150
        to = tmp_path / "opened"
        for _ in range(2):
            assert opening.unpacked(opening.files([pieces]), to) == ["a", "b"]
            assert (to / "site/data").read_bytes() == (tmp_path / "work/site/data").read_bytes()
            assert (to / "harness/file").read_bytes() == b"harness" * 10
            assert (to / "packs/b/file").samefile(to / "packs/a/file")  # it went once
            next(pieces.rglob("packs.002")).unlink(missing_ok=True)  # what is opened is not opened again

    def test_other_packs_are_opened_beside_the_same_packages(self, tmp_path: Path) -> None:
        pieces, to = self.made(tmp_path), tmp_path / "opened"
        opening.unpacked(opening.files([pieces]), to)
        (to / "site/compiled").touch()
        (tmp_path / "work/harness/file").write_bytes(b"later")
        make.cut(tmp_path / "work", ("packs", "harness"), tmp_path / "packs", 10_000, 1)
        index = json.loads((pieces / "p1/index.json").read_text())
        again = tmp_path / "again"
        index["streams"]["packs"]["pieces"] = make._placed(tmp_path / "packs", again)
        (again / "p1/index.json").write_text(json.dumps(index))
        opening.unpacked(opening.files([again]), to)
        assert (to / "harness/file").read_bytes() == b"later" and (to / "site/compiled").exists()

    def test_a_piece_that_is_missing_or_was_changed_is_named(self, tmp_path: Path) -> None:
        pieces = self.made(tmp_path)
        piece = next(pieces.rglob("packages.002"))
        piece.write_bytes(b"0" + piece.read_bytes()[1:])
        with pytest.raises(ValueError, match=r"packages\.002 is another file"):
            opening.unpacked(opening.files([pieces]), tmp_path / "opened")
        piece.unlink()
        with pytest.raises(FileNotFoundError, match=r"packages\.002"):
            opening.unpacked(opening.files([pieces]), tmp_path / "opened")

    def test_the_machine_s_libraries_are_linked_beside_those_that_came(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("machine/nvidia/cublas", "machine/nvidia/nccl", "to/site/nvidia/nccl"):
            (tmp_path / name).mkdir(parents=True)
        monkeypatch.setattr(sys, "path", [str(tmp_path / "to/site"), str(tmp_path / "machine")])
        variables = opening.environment(tmp_path / "to")
        assert variables["PYTHONPATH"] == str(tmp_path / "to/site")
        site = tmp_path / "to/site/nvidia"
        assert (site / "cublas").resolve() == tmp_path / "machine/nvidia/cublas"
        assert not (site / "nccl").is_symlink()
        monkeypatch.setattr(sys, "path", [])
        with pytest.raises(FileNotFoundError, match="no torch"):
            opening.environment(tmp_path / "to")

    def test_folders_mean_the_same_from_elsewhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        words = ["--stage", "engines", "--out", "evidence"]
        assert opening.absolute(words) == ["--stage", "engines", "--out", str(tmp_path / "evidence")]
