"""Releases: what an sdist may hold, what becomes of it, and how the cache keeps it."""

from __future__ import annotations

import gzip
import io
import shutil
import stat
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from upstream_repo import PROJECT, digest, ids_of_git, only_index, problem

from builder.errors import BuildError, Mark
from builder.manifest.model import Pin
from builder.upstream import archive, download
from builder.upstream.model import Sources, snapshot
from builder.upstream.resolve import resolve

MARK = Mark("manifest.yaml", 9, 5)
ROOT = "sglang-1.0"
PKG_INFO = b"Metadata-Version: 2.1\nName: sglang\nVersion: 1.0\n\nText\n"
PYPROJECT = b"""\
[build-system]
requires = ["a-requirement-that-does-not-exist==9"]
build-backend = "setuptools.build_meta"

[project]
name = "sglang"
dynamic = ["version"]

[tool.setuptools_scm]
version_file = "sglang/_version.py"
"""
FILES = {
    "PKG-INFO": PKG_INFO,
    "README.md": b"# read me\n",
    "LICENSE": b"licence\n",
    "pyproject.toml": PYPROJECT,
    "setup.cfg": b"[egg_info]\ntag_build = \ntag_date = 0\n\n",
    "setup.py": b"raise SystemExit('the code of a release must not run')\n",
    "sglang/__init__.py": b"from ._version import version\n",
    "sglang/_version.py": b"version = '1.0'\n",
    "sglang/rpc/thing.proto": b"syntax = 'proto3';\n",
    "sglang/rpc/thing_pb2.py": b"generated\n",
    "sglang/rpc/thing_pb2.pyi": b"generated\n",
    "sglang/rpc/thing_pb2_grpc.py": b"generated\n",
    "sglang/rpc/hand_pb2.py": b"written by hand: there is no hand.proto\n",
    "sglang.egg-info/SOURCES.txt": b"...\n",
}
KEPT = {
    "README.md": "README.md",
    "LICENSE": "LICENSE",
    "python/pyproject.toml": "pyproject.toml",
    "python/setup.py": "setup.py",
    "python/sglang/__init__.py": "sglang/__init__.py",
    "python/sglang/rpc/thing.proto": "sglang/rpc/thing.proto",
    "python/sglang/rpc/hand_pb2.py": "sglang/rpc/hand_pb2.py",
}


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o644
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def pack(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def sdist(files: dict[str, bytes] = FILES, **fields: object) -> bytes:
    return pack(*(member(f"{ROOT}/{name}", data, **fields) for name, data in files.items()))


def read(data: bytes) -> archive.ReleaseTree:
    return archive.read(data, PROJECT, "1.0", digest(data))


def refusal(data: bytes) -> str:
    with pytest.raises(archive.ArchiveError) as error:
        read(data)
    return "; ".join(error.value.reasons)


# --- the archive as a tree ----------------------------------------------------------------------


def test_generated_files_leave_and_the_rest_is_where_git_has_it() -> None:
    imported = read(sdist())
    got = {path: imported.contents[entry.blob] for path, entry in imported.tree.items()}
    assert got == {path: FILES[name] for path, name in KEPT.items()}


def test_the_ids_are_those_that_git_computes(tmp_path: Path) -> None:
    imported = read(sdist())
    found = ids_of_git(imported, "source distribution", sdist(), tmp_path)
    assert found == (imported.tree.id, imported.commit)


def test_order_times_owners_and_compression_do_not_matter() -> None:
    first = read(sdist())
    members = [member(f"{ROOT}/{n}", d, mtime=99, uname="x", uid=7) for n, d in reversed(FILES.items())]
    folders = [member(ROOT, type=tarfile.DIRTYPE), member(f"{ROOT}/sglang/", type=tarfile.DIRTYPE)]
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        again = read(pack(*folders, *members, form=form))
        assert again.tree == first.tree
        assert again.tree.id == first.tree.id


def test_modes_are_those_that_git_knows() -> None:
    modes = {
        0o600: "100644",
        0o664: "100644",
        0o755: "100755",
        0o711: "100755",
        0o4777: "100755",
        0: "100644",
    }
    for mode, expected in modes.items():
        assert read(sdist({"a": b"x"}, mode=mode)).tree["python/a"].mode == expected


def test_links_inside_stay_links_and_hard_links_become_files() -> None:
    imported = read(
        pack(
            member(f"{ROOT}/sglang/b", type=tarfile.LNKTYPE, linkname=f"{ROOT}/sglang/a"),
            member(f"{ROOT}/sglang/a", b"data"),
            member(f"{ROOT}/sglang/link", type=tarfile.SYMTYPE, linkname="../sglang/a"),
        )
    )
    assert imported.tree["python/sglang/b"] == imported.tree["python/sglang/a"]
    link = imported.tree["python/sglang/link"]
    assert (link.mode, imported.contents[link.blob]) == ("120000", b"../sglang/a")


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("/etc/passwd", {}, "outside"),
        ("../x", {}, "outside"),
        (f"{ROOT}/../x", {}, "has a `..` in it"),
        (f"{ROOT}/a/../../x", {}, "has a `..` in it"),
        (f"{ROOT}/./a", {}, "has a `.` in it"),
        (f"{ROOT}//a", {}, "is absolute"),
        (f"{ROOT}/a\\b", {}, "backslash"),
        (f"{ROOT}/a\nb", {}, "control"),
        (f"{ROOT}/" + "n" * 5000, {}, "more than 255 bytes"),
        ("other-1.0/a", {}, "outside"),
        ("sglang-1.0.1/a", {}, "outside"),
        (ROOT, {}, "no folder"),
        (f"{ROOT}/l", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "out of the tree"),
        (f"{ROOT}/l", {"type": tarfile.SYMTYPE, "linkname": "../x"}, "out of the tree"),
        (f"{ROOT}/a/l", {"type": tarfile.SYMTYPE, "linkname": "../b/../../x"}, "out of the tree"),
        (f"{ROOT}/l", {"type": tarfile.SYMTYPE, "linkname": ""}, "out of the tree"),
        (f"{ROOT}/l", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}, "out of the tree"),
        (f"{ROOT}/l", {"type": tarfile.LNKTYPE, "linkname": f"{ROOT}/absent"}, "no file of the archive"),
        (f"{ROOT}/p", {"type": tarfile.FIFOTYPE}, "neither a file"),
        (f"{ROOT}/p", {"type": tarfile.CHRTYPE}, "neither a file"),
        (f"{ROOT}/p", {"type": tarfile.BLKTYPE}, "neither a file"),
        (f"{ROOT}/good", {}, "twice"),
        (f"{ROOT}/good/below", {}, "a file and a folder"),
    ],
)
def test_a_hostile_member_is_named_and_nothing_is_taken(
    name: str, fields: dict[str, object], reason: str
) -> None:
    assert reason in refusal(pack(member(f"{ROOT}/good", b"1"), member(name, **fields)))


def test_all_hostile_members_are_listed_at_once() -> None:
    said = refusal(pack(member("/a"), member(f"{ROOT}/../b"), member(f"{ROOT}/p", type=tarfile.FIFOTYPE)))
    assert said.count("member ") == 3


def test_damaged_and_oversized_archives_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = sdist()
    assert "not a gzip" in refusal(b"plain text")
    assert "cut off" in refusal(sound[:-20])
    assert "not a tar" in refusal(gzip.compress(b"x" * 2048))
    assert "no files" in refusal(pack(member(ROOT, type=tarfile.DIRTYPE)))
    assert "cut off" in refusal(b"")
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    assert "more than 3" in refusal(sound)


@settings(max_examples=200)
@given(st.data())
def test_a_tar_file_with_changed_bytes_is_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(gzip.decompress(sdist()))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        imported = read(gzip.compress(bytes(raw), compresslevel=1))
    except archive.ArchiveError as error:
        assert error.reasons
    else:
        for path in imported.tree:
            assert not path.startswith("/")
            assert ".." not in path.split("/")


def test_a_setup_cfg_and_a_version_file_that_people_wrote_are_kept() -> None:
    files = {"setup.cfg": b"[metadata]\nname = x\n", "sglang/_version.py": b"hand\n", "pyproject.toml": b"["}
    assert set(read(sdist(files)).tree) == {f"python/{name}" for name in files}


# --- pip and the cache --------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return only_index(tmp_path / "index", monkeypatch, "3.12")


@pytest.fixture
def quick(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip would download, without pip: it takes a second to start."""
    monkeypatch.setattr(
        download, "sdist", lambda *_: Path(shutil.copy(index / f"{ROOT}.tar.gz", index.parent))
    )


@pytest.fixture
def where(tmp_path: Path) -> Sources:
    return Sources(None, tmp_path / "cache", "https://example.invalid/x.git", False, {}, project=PROJECT)


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def forbid() -> None:
        def fail(*_: object) -> bytes:
            raise AssertionError("pip was started")

        monkeypatch.setattr(download, "sdist", fail)

    return forbid


def pinned(sha256: str | None) -> dict[str, Pin]:
    return {"release": Pin("release", MARK, sdist="1.0", sha256=sha256)}


def test_a_release_is_downloaded_once_without_running_its_code(
    index: Path, where: Sources, no_pip: Callable[[], None]
) -> None:
    data = sdist()
    (index / f"{ROOT}.tar.gz").write_bytes(data)
    here = replace(where, pins=pinned(digest(data)))
    first = resolve("release", here)
    assert first.version == "1.0"
    assert first.time == archive.SDIST_TIME
    assert digest(data) in first.origin
    assert set(snapshot(first)) == set(KEPT)
    assert [p.name for p in (where.cache / "sdist").iterdir()] == [f"{ROOT}-{digest(data)}.tar.gz"]
    no_pip()
    for spec in ("release", "pypi:1.0", "pypi:v1.0"):
        again = resolve(spec, replace(here, offline=True))
        assert (again.commit, again.tree) == (first.commit, first.tree)


@pytest.mark.usefixtures("quick")
def test_an_unpinned_release_reports_its_digest(index: Path, where: Sources) -> None:
    (index / f"{ROOT}.tar.gz").write_bytes(sdist())
    upstream = resolve("pypi:1.0", where)
    assert f"sha256 {digest(sdist())} (not pinned in the manifest)" in upstream.origin


def test_a_release_with_a_bad_archive_lists_what_is_wrong(index: Path, where: Sources) -> None:
    bad = [member(f"{ROOT}/../{i}", b"x") for i in range(2)]
    files = [member(f"{ROOT}/{n}", d) for n, d in FILES.items()]
    (where.cache / "sdist").mkdir(parents=True)
    (where.cache / "sdist" / f"{ROOT}.tar.gz").write_bytes(pack(*files, *bad))
    with pytest.raises(BuildError) as error:
        resolve("pypi:1.0", where)
    assert [p.code for p in error.value.problems] == ["U001", "U001"]


def test_a_release_that_the_index_lacks_gets_a_suggestion(index: Path, where: Sources) -> None:
    (index / f"{ROOT}.tar.gz").write_bytes(sdist())
    found = problem("pypi:1.1", where)
    assert found.code == "U002"
    assert "1.0" in (found.hint or "")


def test_an_index_with_nothing_is_unreachable_and_says_what_works(index: Path, where: Sources) -> None:
    found = problem("pypi:1.0", where)
    assert (found.code, found.exit_status) == ("U001", 6)
    assert str(where.cache) in found.message
    assert "pip download sglang==1.0 --no-deps --no-binary sglang" in (found.hint or "")
    assert "--mirror" in (found.hint or "")


def test_the_error_of_pip_is_its_cause_and_not_a_warning_before_it() -> None:
    said = (
        "WARNING: Location 'file:///wheels' is ignored: it is either a non-existing path or lacks a scheme.\n"
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
    )
    assert "No space left on device" in str(download._failure(said, "acme"))
    assert "is ignored" in str(download._failure(said.splitlines()[0], "acme"))


def test_another_build_backend_falls_back_to_the_documented_command(index: Path, where: Sources) -> None:
    backend = b"[build-system]\nrequires = []\nbuild-backend = 'own'\nbackend-path = ['.']\n"
    own = (
        b"import os\n"
        b"def prepare_metadata_for_build_wheel(folder, config=None):\n"
        b"    os.makedirs(folder + '/sglang-1.0.dist-info')\n"
        b"    open(folder + '/sglang-1.0.dist-info/METADATA', 'w').write(open('PKG-INFO').read())\n"
        b"    return 'sglang-1.0.dist-info'\n"
        b"def build_wheel(*a): raise SystemExit\n"
    )
    (index / f"{ROOT}.tar.gz").write_bytes(sdist(FILES | {"pyproject.toml": backend, "own.py": own}))
    assert "python/own.py" in resolve("pypi:1.0", where).tree


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_damaged_copy_is_downloaded_again_and_refused_offline(
    index: Path, where: Sources, damage: str
) -> None:
    data = sdist()
    (index / f"{ROOT}.tar.gz").write_bytes(data)
    for pins in (pinned(digest(data)), pinned(None)):
        here = replace(where, pins=pins)
        first = resolve("release", here)
        (kept,) = (where.cache / "sdist").iterdir()
        broken = {"flip": data[:50] + b"?" + data[51:], "cut": data[:100], "empty": b""}
        kept.write_bytes(broken.get(damage, sdist({"a": b"another archive"})))
        offline = problem("release", replace(here, offline=True))
        assert offline.code == "U001"
        assert "damaged" in offline.message
        assert resolve("release", here).tree == first.tree
        assert kept.read_bytes() == data


def test_a_file_that_a_person_put_into_the_cache_is_used_if_it_is_the_pinned_one(
    where: Sources, no_pip: Callable[[], None]
) -> None:
    no_pip()
    data = sdist()
    (where.cache / "sdist").mkdir(parents=True)
    (where.cache / "sdist" / f"{ROOT}.tar.gz").write_bytes(data)
    offline = replace(where, offline=True)
    assert resolve("release", replace(offline, pins=pinned(digest(data)))).version == "1.0"
    wrong = problem("release", replace(offline, pins=pinned("0" * 64)))
    assert wrong.code == "U001"
    assert "not the file that is pinned" in wrong.message


@pytest.mark.usefixtures("quick")
def test_files_that_do_not_belong_in_the_cache_are_passed_over(index: Path, where: Sources) -> None:
    (index / f"{ROOT}.tar.gz").write_bytes(sdist())
    folder = where.cache / "sdist"
    folder.mkdir(parents=True)
    (folder / f"{ROOT}.post1-{'0' * 64}.tar.gz").write_bytes(b"another release")
    (folder / f"{ROOT}-note.tar.gz").write_bytes(b"?")
    (folder / f"{ROOT}-{'1' * 64}.tar.gz").mkdir()
    assert resolve("pypi:1.0", where).version == "1.0"


def test_a_read_only_cache_does_not_stop_a_release(
    index: Path, where: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    (index / f"{ROOT}.tar.gz").write_bytes(sdist())
    where.cache.mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # permissions do not bind root, so the refusal is made here
    monkeypatch.setattr("builder.upstream.cache.tempfile.TemporaryFile", refuse)
    assert set(resolve("pypi:1.0", where).tree) == set(KEPT)
    assert list(where.cache.iterdir()) == []


def test_a_cache_may_be_named_relative_to_where_one_is(
    index: Path, where: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (index / f"{ROOT}.tar.gz").write_bytes(sdist())
    monkeypatch.chdir(tmp_path)
    assert resolve("pypi:1.0", replace(where, cache=Path("here"))).version == "1.0"
    assert list((tmp_path / "here" / "sdist").iterdir())


def test_nothing_but_the_file_and_the_lock_is_left_in_the_cache(index: Path, where: Sources) -> None:
    (index / f"{ROOT}.tar.gz").write_bytes(sdist())
    resolve("pypi:1.0", where)
    files = [p.relative_to(where.cache).parts[0] for p in where.cache.rglob("*") if p.is_file()]
    assert set(files) <= {"sdist", "lock"}
    (kept,) = (where.cache / "sdist").iterdir()
    assert stat.S_ISREG(kept.stat().st_mode)


def test_the_root_may_spell_the_name_in_another_way_or_be_any_single_folder() -> None:
    for root in ("SGLang-1.0", "anything", ROOT):
        assert list(read(pack(member(f"{root}/sglang/a", b"1"), member(f"{root}/b", b"2"))).tree)
    assert "outside" in refusal(pack(member("one/a", b"1"), member("two/b", b"2")))


def test_egg_info_leaves_wherever_the_build_put_it() -> None:
    files = {"src/x.egg-info/PKG-INFO": b"", "src/x.egg-info/SOURCES.txt": b"", "src/y.egg-info/mine": b"1"}
    assert list(read(sdist(files)).tree) == ["python/src/y.egg-info/mine"]
