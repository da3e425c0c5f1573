"""`verification/dist.py` accepts what the builder writes, and names whatever was changed in it since."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from small_files import FILES
from small_kernel_wheel import digest, listed
from small_world import ROOT, World, small_world

from builder.emit.provenance import sha256sums

SCRIPT = ROOT / "verification/dist.py"
CRLF = b"* text=auto eol=crlf\n*.py ident working-tree-encoding=utf-16\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An output of a tree with attributes that change what git reads from a folder, and a submodule."""
    world = small_world(tmp_path_factory.mktemp("world"))
    strange = {
        "python/.gitattributes": CRLF,
        "scripts/lines.txt": b"one\r\ntwo\n$Id$\r\n",
        "scripts/module": ("160000", world.commit),
    }
    world.repository.commit({**FILES, **strange}, "refs/heads/strange")
    world.change("  - python/pyproject.toml\n", "  - python/pyproject.toml\n  - python/.gitattributes\n")
    world.good("dist", "strange")
    return world


@pytest.fixture
def out(built: World, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built.home / "dist", tmp_path / "dist", symlinks=True))


def verify(out: Path, upstream: Path) -> tuple[int, str]:
    """In an isolated Python: nothing of the builder or of its libraries can be imported."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), str(out), str(upstream)], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def test_an_output_is_accepted_whatever_its_attributes_and_submodules(built: World, out: Path) -> None:
    (out / "tree/scripts/module").mkdir(exist_ok=True)
    status, said = verify(out, built.repository.path)
    assert status == 0 and [line[:3] for line in said.splitlines()] == ["ok "] * 5, said


def test_the_repository_is_only_read(built: World, out: Path) -> None:
    def objects() -> list[str]:
        return sorted(str(path) for path in built.repository.path.rglob("*"))

    before = objects()
    verify(out, built.repository.path)
    assert objects() == before


def _touch(path: str, data: bytes = b"changed\n") -> Callable[[Path], object]:
    return lambda out: (out / path).write_bytes(data)


def _consistent(out: Path) -> None:
    """A file of the wheel changed with RECORD, build.json, the provenance and SHA256SUMS."""
    build = json.loads((out / "build.json").read_bytes())
    path = out / build["wheel"]["name"]
    with zipfile.ZipFile(path) as archive:
        members = {info: archive.read(info) for info in archive.infolist()}
    old = next(data for info, data in members.items() if info.filename == "acme/server.py")
    new = old + b"import os\n"

    def row(data: bytes) -> bytes:
        return f"{digest(data)},{len(data)}".encode()

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for info, data in members.items():
            archive.writestr(
                info, new if info.filename == "acme/server.py" else data.replace(row(old), row(new))
            )
    new_sha256 = hashlib.sha256(buffer.getvalue()).hexdigest()
    for name in ("build.json", "provenance.intoto.json"):
        text = (out / name).read_text()
        (out / name).write_text(text.replace(build["wheel"]["sha256"], new_sha256))
    path.write_bytes(buffer.getvalue())
    stated = (out / "SHA256SUMS").read_text().splitlines()
    names = [line.split("  ", 1)[1] for line in stated]
    (out / "SHA256SUMS").write_bytes(sha256sums({name: (out / name).read_bytes() for name in names}))


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file of the tree": (_touch("tree/python/acme/server.py"), "tree/ is"),
    "a file more in the tree": (_touch("tree/python/acme/evil.py"), "tree/ is"),
    "a file less in the tree": (lambda out: (out / "tree/LICENSE").unlink(), "tree/ is"),
    "a mode": (lambda out: (out / "tree/LICENSE").chmod(0o755), "tree/ is"),
    "a link": (
        lambda out: ((out / "tree/LICENSE").unlink(), (out / "tree/LICENSE").symlink_to("/etc/passwd")),
        "tree/ is",
    ),
    "a pipe": (lambda out: os.mkfifo(out / "tree/pipe"), "neither a file nor a link"),
    "a file more beside it": (_touch("evil.whl"), "evil.whl is not in SHA256SUMS"),
    "a file less beside it": (lambda out: (out / "ledger.jsonl").unlink(), "ledger.jsonl is missing"),
    "the patch": (_touch("upstream.diff", b"--- a/README.md\n+++ /dev/null\n"), "git apply"),
    "the page": (_touch("REMOVED.md"), "REMOVED.md has another digest"),
    "the bill": (_touch("sbom.cdx.json"), "sbom.cdx.json is not the one in the wheel"),
    "the provenance": (_touch("provenance.intoto.json", b"{}"), "KeyError"),
    "the sums": (_touch("SHA256SUMS", b""), "is not in SHA256SUMS"),
    "all of the wheel": (_consistent, "acme/server.py of the wheel differs"),
}


@pytest.mark.parametrize(("change", "says"), CHANGES.values(), ids=CHANGES.keys())
def test_each_change_is_named(built: World, out: Path, change: Callable[[Path], object], says: str) -> None:
    change(out)
    status, said = verify(out, built.repository.path)
    assert status == 1 and says in said, said


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"\xff", b'{"upstream": {"origin": "git"}}'])
@pytest.mark.parametrize("name", ["build.json", "SHA256SUMS", "provenance.intoto.json", "*.whl"])
def test_rubbish_is_refused_without_a_traceback(built: World, out: Path, name: str, data: bytes) -> None:
    (path,) = out.glob(name)
    path.write_bytes(data)
    assert verify(out, built.repository.path)[0] == 1


def test_a_folder_or_repository_that_is_not_there_is_told(built: World, out: Path) -> None:
    assert verify(out / "absent", built.repository.path)[0] == 1
    status, said = verify(out, out / "absent")
    assert status == 1 and "git " in said


# --- releases -----------------------------------------------------------------------------------

INFO = "acme-1.2.3.dist-info"
METADATA = """\
Metadata-Version: 2.4
Name: acme
Version: 1.2.3
Summary: Serves "models" of \u00e4.
Provides-Extra: all
Provides-Extra: none
Requires-Dist: grpcio
Requires-Dist: packaging>=20; (python_version < "4" or sys_platform == "linux")
Requires-Dist: packaging>=22; (sys_platform == "a") and (sys_platform == "b")
Requires-Dist: packaging>=21; (sys_platform == "a" or sys_platform == "b") and extra == "all"
Project-URL: Bug Tracker, https://example.invalid/a, b

# acme
"""


def _wheel(folder: Path) -> Path:
    code = {
        path.removeprefix("python/"): data
        for path, data in FILES.items()
        if path.startswith("python/acme/") and isinstance(data, bytes)
    }
    about = {
        "METADATA": METADATA.encode(),
        "WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": b"[console_scripts]\nacme = acme.launch:main\n\n[acme.plugs]\na = b:c\n",
        "licenses/LICENSE": b"licence\n",
        "top_level.txt": b"acme\n",
    }
    scm = b"# file generated by setuptools-scm\nversion = '1.2.3'\n"
    files = code | {f"{INFO}/{name}": data for name, data in about.items()} | {"acme/_version.py": scm}
    files[f"{INFO}/RECORD"] = listed(files, INFO)
    wheel = folder / "acme-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o100755 if path == "acme/launch.py" else 0o100644) << 16
            archive.writestr(entry, data)
    return wheel


def _sdist(folder: Path) -> Path:
    code = {path.removeprefix("python/"): data for path, data in FILES.items() if path.startswith("python/")}
    files = code | {
        "PKG-INFO": METADATA.encode(),
        "LICENSE": b"licence\n",
        "setup.cfg": b"[egg_info]\ntag_build = \ntag_date = 0\n\n",
        "acme.egg-info/PKG-INFO": METADATA.encode(),
        "acme/_version.py": b"version = '1.2.3'\n",
        "acme/a \u00e4.proto": b"",
        "acme/a \u00e4_pb2.py": b"made",
        "acme/b_pb2.py": b"by hand",
        "acme/link": ("120000", b"b_pb2.py"),
    }
    scm = b'\n[tool.setuptools_scm]\nroot = ".."\n\nversion_file = "acme/_version.py"\n'
    files["pyproject.toml"] = code["python/pyproject.toml".removeprefix("python/")] + scm  # type: ignore[operator]
    sdist = folder / "acme-1.2.3.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"acme-1.2.3/{path}")
            if isinstance(data, tuple):
                entry.type, entry.linkname = tarfile.SYMTYPE, data[1].decode()
                archive.addfile(entry)
                continue
            entry.size, entry.mode = len(data), 0o755 if path == "acme/launch.py" else 0o644
            archive.addfile(entry, io.BytesIO(data))
        entry = tarfile.TarInfo("acme-1.2.3/acme/hard")
        entry.type, entry.linkname = tarfile.LNKTYPE, "acme-1.2.3/acme/launch.py"
        archive.addfile(entry)
    return sdist


@pytest.mark.parametrize("packed", [_wheel, _sdist])
def test_the_commit_of_a_release_is_made_from_its_archive(
    tmp_path: Path, packed: Callable[[Path], Path]
) -> None:
    world = small_world(tmp_path)
    cache = tmp_path / "cache" / ("wheel" if packed is _wheel else "sdist")
    cache.mkdir(parents=True)
    archive = packed(cache)
    world.good("dist", "pypi:1.2.3", "--offline")
    out = world.home / "dist"
    for place in (archive, tmp_path / "cache"):
        status, said = verify(out, place)
        assert status == 0 and [line[:3] for line in said.splitlines()].count("ok ") == 5, said
    for change in ("the patch", "a file of the tree"):
        copy = Path(shutil.copytree(out, tmp_path / change, symlinks=True))
        CHANGES[change][0](copy)
        status, said = verify(copy, archive)
        assert status == 1 and CHANGES[change][1] in said, said
    archive.write_bytes(archive.read_bytes() + b"\0")
    status, said = verify(out, archive)
    assert status == 1 and f"{archive.name} with sha256" in said and "ARCHIVE" in said, said
