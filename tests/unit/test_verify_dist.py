"""`verification/dist.py` accepts what the builder writes, and names whatever was changed in it since."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from small_files import FILES
from small_world import ROOT, World, small_world

from builder.emit.provenance import sha256sums

SCRIPT = ROOT / "verification/dist.py"
CRLF = b"* text=auto eol=crlf\n*.py ident working-tree-encoding=utf-16\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An output of a tree with attributes that change what git reads from a folder, and a submodule."""
    world = small_world(tmp_path_factory.mktemp("world"))
    attributes: dict[str | bytes, bytes | tuple[str, str]] = {
        path: value if isinstance(value, bytes) else (value[0], world.repository.blob(value[1]))
        for path, value in FILES.items()
    }
    attributes["python/.gitattributes"] = CRLF
    attributes["scripts/lines.txt"] = b"one\r\ntwo\n$Id$\r\n"
    attributes["scripts/module"] = ("160000", world.commit)
    world.repository.commit(attributes, "refs/heads/strange")
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
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
        return b"sha256=%s,%d" % (digest, len(data))

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for info, data in members.items():
            archive.writestr(
                info, new if info.filename == "acme/server.py" else data.replace(row(old), row(new))
            )
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    for name in ("build.json", "provenance.intoto.json"):
        text = (out / name).read_text()
        (out / name).write_text(text.replace(build["wheel"]["sha256"], digest))
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
