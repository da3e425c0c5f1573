"""Sdists that two programs would read differently, or that hide something. The unit tests have the rest."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest
from small_kernel_wheel import FILES_OF_WHEEL, faults, wheel
from test_upstream_sdist import ROOT, digest, member, pack, read, refusal, sdist
from upstream_repo import PROJECT

from builder.errors import BuildError, Mark
from builder.manifest.model import Pin
from builder.upstream import archive
from builder.upstream.model import Sources
from builder.upstream.resolve import resolve


def test_a_second_gzip_member_is_refused() -> None:
    """pip would read both, and install files of which nothing here knows."""
    assert "follows its end" in refusal(sdist() + sdist())


def test_what_follows_the_end_of_the_archive_is_refused() -> None:
    raw = gzip.decompress(sdist())
    assert "is no member" in refusal(gzip.compress(raw + b"more".ljust(512, b"\0")))
    assert read(gzip.compress(raw + bytes(10240))).tree == read(sdist()).tree


def test_a_header_that_cannot_be_read_does_not_end_the_archive() -> None:
    """tarfile stops there without a word, and the files after it would be missing."""
    raw = bytearray(gzip.decompress(sdist()))
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        headers = [info.offset for info in tar][1:]
    for offset in headers:
        damaged = bytearray(raw)
        damaged[offset + 150] ^= 0xFF  # of the checksum
        assert "is no member" in refusal(gzip.compress(bytes(damaged))), offset


def test_a_member_with_holes_is_refused() -> None:
    info, data = member(f"{ROOT}/sparse", b"1\n0\n4\n".ljust(512, b"\0") + b"data".ljust(512, b"\0"))
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": f"{ROOT}/sparse",
        "GNU.sparse.realsize": "4",
    }
    assert "has holes" in refusal(pack(member(f"{ROOT}/good", b"1"), (info, data)))


@pytest.mark.parametrize("size", ["-1", "99999999999999999999", "x"])
def test_a_size_that_cannot_be_is_refused(size: str) -> None:
    info, data = member(f"{ROOT}/a", b"data")
    info.pax_headers = {"size": size}
    assert refusal(pack((info, data), member(f"{ROOT}/b", b"1")))


def test_a_bomb_is_refused_after_what_an_sdist_may_unpack_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 1_000_000)
    assert "more than 1000000" in refusal(gzip.compress(bytes(50_000_000)))
    assert "more than 1000000" in refusal(gzip.compress(gzip.compress(bytes(50_000_000)) * 50))


@pytest.mark.parametrize(
    "name", [".git", ".GIT", ".git.", "git~1", ".g\u200cit", ".git ", ".git::$INDEX_ALLOCATION"]
)
def test_every_spelling_of_git_is_refused(name: str) -> None:
    assert "which git reserves" in refusal(pack(member(f"{ROOT}/{name}/config", b"x")))


def test_the_digest_is_compared_before_the_archive_is_opened(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    (cache / "sdist").mkdir()
    (cache / "sdist/sglang-1.0.tar.gz").write_bytes(sdist())
    opened: list[bytes] = []
    monkeypatch.setattr(archive, "read", lambda data, *_: opened.append(data))
    pin = Pin("release", Mark("manifest.yaml"), sdist="1.0", sha256=digest(b"another"))
    sources = Sources(None, cache, "https://example.org/x.git", True, {"release": pin}, project=PROJECT)
    with pytest.raises(BuildError, match="U001"):
        resolve("release", sources)
    assert opened == []


def test_a_wheel_that_is_also_another_file_is_refused() -> None:
    """A script or an archive before the members, or an archive in the comment: programs disagree about it."""
    other = wheel({"evil/__init__.py": b"x = 1\n"})
    out = io.BytesIO(wheel())
    with zipfile.ZipFile(out, "a") as target:
        target.comment = other
    for data in (b"#!/bin/sh\necho evil\n" + wheel(), other + wheel(), out.getvalue()):
        (fault,) = faults(data)
        assert "before its first member, or behind" in fault


def test_the_members_of_a_bomb_are_refused_by_what_they_say() -> None:
    data = bytearray(wheel({**FILES_OF_WHEEL, "lib/bomb": bytes(100)}))
    at = data.rindex(b"lib/bomb") - 46
    data[at + 24 : at + 28] = (0xFFFFFFFE).to_bytes(4, "little")
    assert any("bomb" in fault or "unpacks to" in fault for fault in faults(bytes(data)))
