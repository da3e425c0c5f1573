"""The wheel: what it carries, what it says, and that nothing of the machine is in it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from email.parser import Parser
from pathlib import Path

import pytest
from gate_worlds import snapshot

from builder.emit.archive import deflate, join
from builder.emit.members import wheel_members
from builder.emit.metadata import About, distribution_version, version_module
from builder.emit.wheel import Wheel, build_wheel, content_digest
from builder.errors import BuildError
from builder.manifest.model import Project
from builder.tree import EXECUTABLE, SYMLINK, Snapshot

COMMIT = "0123456789abcdef0123456789abcdef01234567"

PROJECT = Project("sample-dist", "python")
PYPROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "sample-dist"
dynamic = ["version"]
description = "A sample."
readme = "README.md"
requires-python = ">=3.10"
license = { file = "LICENSE" }
dependencies = ["numpy>=1 ; sys_platform == 'linux'", "requests"]

[project.optional-dependencies]
extra = ["tqdm"]

[project.scripts]
zeta = "sample.cli:main"
alpha = "sample.cli:other"

[project.entry-points."sample.plugins"]
one = "sample.cli"

[project.urls]
Homepage = "https://example.org"

[tool.setuptools.package-data]
"sample" = ["data/*.json", "deep/*/*.json", "native/**/*.h", "native/**", ".hidden", "no/*.such"]
"sample.namespace" = ["*.cu"]
"*" = ["every.txt", "literal.txt"]

[tool.setuptools.exclude-package-data]
"sample" = ["data/secret*", "native/*.skip"]

[tool.setuptools.packages.find]
exclude = ["assets*", "tests*", "sample.left_out*"]

[tool.setuptools_scm]
root = ".."
version_file = "sample/_version.py"
"""

FILES: dict[str, bytes | tuple[str, bytes]] = {
    "README.md": "# Sämple\n".encode(),
    "LICENSE": b"Apache License\n",
    "NOTICE": b"notices\n",
    "other/module.py": b"x = 1\n",
    "python/pyproject.toml": PYPROJECT.encode(),
    "python/sample/__init__.py": b"from sample._version import __version__\n",
    "python/sample/cli.py": b"def main(): ...\ndef other(): ...\n",
    "python/sample/tool.py": (EXECUTABLE, b"#!/usr/bin/env python3\n"),
    "python/sample/py.typed": b"",
    "python/sample/stub.pyi": b"x: int\n",
    "python/sample/.hidden": b"hidden\n",
    "python/sample/data/.own/d.json": b"{}\n",
    "python/sample/native/.in/d.h": b"\n",
    "python/sample/literal.txt": b"literal\n",
    "python/sample/every.txt": b"every\n",
    "python/sample/unlisted.txt": b"not data\n",
    "python/sample/data/a.json": b"{}\n",
    "python/sample/data/secret.json": b"{}\n",
    "python/sample/data/.b.json": b"{}\n",
    "python/sample/data/deeper/c.json": b"{}\n",
    "python/sample/deep/x/a.json": b"{}\n",
    "python/sample/deep/x/y/b.json": b"{}\n",
    "python/sample/deep/z.d/c.json": b"{}\n",
    "python/sample/native/top.h": b"\n",
    "python/sample/native/a/b/low.h": b"\n",
    "python/sample/native/a/b/low.skip": b"\n",
    "python/sample/native/a/script.py": b"pass\n",
    "python/sample/namespace/mod.py": b"pass\n",
    "python/sample/namespace/kernel.cu": b"\n",
    "python/sample/namespace/inner/mod.py": b"pass\n",
    "python/sample/namespace/inner/kernel.cu": b"\n",
    "python/sample/namespace/every.txt": b"\n",
    "python/sample/odd-name/mod.py": b"pass\n",
    "python/sample/dot.ted/mod.py": b"pass\n",
    "python/sample/left_out/mod.py": b"pass\n",
    "python/sample/left_out/in/mod.py": b"pass\n",
    "python/sample/__pycache__/mod.py": b"pass\n",
    "python/another/mod.py": b"pass\n",
    "python/assets/mod.py": b"pass\n",
    "python/tests/mod.py": b"pass\n",
    "python/assets_more/in/mod.py": b"pass\n",
    "python/loose.py": b"pass\n",
}


def sample(**changes: bytes | tuple[str, bytes] | None) -> Snapshot:
    files = {**FILES, **{path.replace("__", "/"): value for path, value in changes.items()}}
    return snapshot({path: value for path, value in files.items() if value is not None})


def edited(path: str, old: str, new: str) -> Snapshot:
    data = FILES[path]
    assert isinstance(data, bytes) and old.encode() in data
    return snapshot({**FILES, path: data.replace(old.encode(), new.encode())})


def make(snap: Snapshot | None = None) -> Wheel:
    return build_wheel(snap or sample(), "1.2.3+label", COMMIT, project=PROJECT)


def opened(wheel: Wheel) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(wheel.data))


def test_the_file_set_is_that_of_a_setuptools_build(tmp_path: Path) -> None:
    # setuptools needs the version in the table, and the texts beside it, as upstream's release job does
    tree = dict(FILES)
    tree["python/README.md"], tree["python/LICENSE"] = FILES["README.md"], FILES["LICENSE"]
    static = PYPROJECT.replace('dynamic = ["version"]', 'version = "1.2.3+label"')
    tree["python/pyproject.toml"] = static[: static.index("[tool.setuptools_scm]")].encode()
    tree["python/sample/_version.py"] = version_module("1.2.3+label", COMMIT)
    for path, value in tree.items():
        target = tmp_path / "fresh" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(value[1] if isinstance(value, tuple) else value)
        target.chmod(0o755 if isinstance(value, tuple) else 0o644)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "out")]
    done = subprocess.run([*command, str(tmp_path / "fresh/python")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (tmp_path / "out").glob("*.whl")
    wheel = make()
    assert built.name == wheel.name
    with zipfile.ZipFile(built) as theirs, opened(wheel) as ours:
        names = set(theirs.namelist())
        info = "sample_dist-1.2.3+label.dist-info"
        ignored = {f"{info}/top_level.txt"}  # a relic that only setuptools writes
        beside = {f"{info}/licenses/NOTICE"}  # the repository's, which setuptools cannot see from python/
        assert set(ours.namelist()) == names - ignored | beside
        for name in names - ignored - {f"{info}/{n}" for n in ("METADATA", "WHEEL", "RECORD")}:
            mine, other = ours.read(name), theirs.read(name)
            if name.endswith("entry_points.txt"):  # setuptools keeps the order of the table
                mine, other = b"".join(sorted(mine.split())), b"".join(sorted(other.split()))
            assert mine == other, name
        fields = ("Name:", "Version:", "Requires-Dist:", "Requires-Python:", "Provides-Extra:", "Summary:")
        keys = [
            sorted(
                line.replace('"', "'").replace(" ", "").lower()
                for line in archive.read(f"{info}/METADATA").decode().splitlines()
                if line.startswith(fields)
            )
            for archive in (ours, theirs)
        ]
        assert keys[0] == keys[1]


def test_members_say_where_each_file_of_the_wheel_comes_from() -> None:
    members = wheel_members(sample(), PROJECT)
    assert list(members) == sorted(members)
    assert all(source == "python/" + path for path, source in members.items())
    assert "sample/native/a/b/low.h" in members
    assert "sample/unlisted.txt" not in members


def test_a_symlink_becomes_the_file_it_leads_to() -> None:
    snap = snapshot({**FILES, "python/sample/data/link.json": (SYMLINK, b"../deep/x/a.json")})
    assert wheel_members(snap, PROJECT)["sample/data/link.json"] == "python/sample/deep/x/a.json"


@pytest.mark.parametrize("target", [b"nowhere.json", b"link.json", b"../../../../outside"])
def test_a_symlink_that_leads_to_no_file_is_an_error(target: bytes) -> None:
    snap = snapshot({**FILES, "python/sample/data/link.json": (SYMLINK, target)})
    with pytest.raises(BuildError, match=r"G008 'python/sample/data/link\.json'"):
        wheel_members(snap, PROJECT)


def test_record_lists_every_member_with_its_digest() -> None:
    with opened(make()) as archive:
        assert archive.testzip() is None
        rows = list(
            csv.reader(io.StringIO(archive.read("sample_dist-1.2.3+label.dist-info/RECORD").decode()))
        )
        assert [row[0] for row in rows] == archive.namelist()
        for path, digest, size in rows[:-1]:
            data = archive.read(path)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == ("sha256=" + want, len(data))
        assert rows[-1] == ["sample_dist-1.2.3+label.dist-info/RECORD", "", ""]


def test_members_have_one_date_and_two_modes() -> None:
    with opened(make()) as archive:
        infos = archive.infolist()
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    modes = {info.filename: info.external_attr >> 16 for info in infos}
    assert modes.pop("sample/tool.py") == stat.S_IFREG | 0o755
    assert set(modes.values()) == {stat.S_IFREG | 0o644}


def test_the_content_digest_sees_paths_modes_and_bytes_but_no_compression() -> None:
    base = [deflate("a", b"x"), deflate("b", b"y")]
    assert content_digest(base) == content_digest(reversed(base))
    others = [
        [deflate("a", b"x"), deflate("c", b"y")],
        [deflate("a", b"x"), deflate("b", b"z")],
        [deflate("a", b"x"), deflate("b", b"y", executable=True)],
    ]
    assert len({content_digest(m) for m in [base, *others]}) == 4
    # the formula in words: anyone can compute it from the unpacked wheel
    wheel = make()
    with opened(wheel) as archive:
        lines = sorted(
            f"{i.filename}\t{i.external_attr >> 16:o}\t{hashlib.sha256(archive.read(i)).hexdigest()}\n"
            for i in archive.infolist()
        )
    assert wheel.content_sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_names_outside_ascii_survive() -> None:
    data = b"".join(join([deflate("ä/ö.txt", b"x"), deflate("a", b"")]))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["ä/ö.txt", "a"]
        assert archive.read("ä/ö.txt") == b"x"


def test_pip_installs_it_and_it_imports(tmp_path: Path) -> None:
    wheel = make()
    (tmp_path / wheel.name).write_bytes(wheel.data)
    target = tmp_path / "target"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "--target", str(target), str(tmp_path / wheel.name)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    code = "import sample, sample._version as v; print(sample.__version__, v.version_tuple, v.commit_id)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(target)}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "1.2.3+label (1, 2, 3, 'label') g012345678", done.stderr
    assert (target / "bin" / "alpha").exists()


SCRIPT = """
import os, sys
sys.path.insert(0, sys.argv[1])
os.umask(int(sys.argv[2], 8))
from test_emit_wheel import make
wheel = make()
print(wheel.sha256, wheel.content_sha256)
"""


def test_nothing_of_the_machine_is_in_it(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    root = str(Path(__file__).parents[2])
    seen = set()
    for number, (umask, extra) in enumerate(
        [
            ("022", {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "0"}),
            ("077", {"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}),
            ("000", {"TZ": "America/St_Johns", "LC_ALL": "POSIX", "PYTHONHASHSEED": "4242"}),
            ("027", {"SOURCE_DATE_EPOCH": "1", "PYTHONUTF8": "0", "PYTHONHASHSEED": "random"}),
        ]
    ):
        folder = tmp_path / f"place {number}"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, here, umask],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": root, **extra},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert seen == {f"{make().sha256} {make().content_sha256}\n"}


def test_metadata_carries_the_readme_and_names_the_licences() -> None:
    with opened(make()) as archive:
        text = archive.read("sample_dist-1.2.3+label.dist-info/METADATA").decode()
        assert archive.read("sample_dist-1.2.3+label.dist-info/licenses/LICENSE") == FILES["LICENSE"]
    assert "License-File: LICENSE\n" in text and "License-File: NOTICE\n" in text
    assert "Description-Content-Type: text/markdown" in text
    assert text.endswith("# Sämple\n")


def test_a_project_s_own_readme_and_licence_win() -> None:
    snap = snapshot({**FILES, "python/README.md": b"own readme\n", "python/LICENSE": b"own licence\n"})
    with opened(make(snap)) as archive:
        assert archive.read("sample_dist-1.2.3+label.dist-info/licenses/LICENSE") == b"own licence\n"
        assert archive.read("sample_dist-1.2.3+label.dist-info/METADATA").endswith(b"own readme\n")


def test_entry_points_are_sorted() -> None:
    with opened(make()) as archive:
        text = archive.read("sample_dist-1.2.3+label.dist-info/entry_points.txt").decode()
    assert text == (
        "[console_scripts]\nalpha = sample.cli:other\nzeta = sample.cli:main\n\n"
        "[sample.plugins]\none = sample.cli\n"
    )


def test_an_sbom_travels_in_dist_info() -> None:
    bill = {"sample.cdx.json": b"{}\n"}
    with opened(build_wheel(sample(), "1.0", None, project=PROJECT, sboms=bill)) as archive:
        assert archive.read("sample_dist-1.0.dist-info/sboms/sample.cdx.json") == b"{}\n"


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("0.5.8+deepseek", "(0, 5, 8, 'deepseek')"),
        ("0.5.10rc1.post2.dev3+a.b", "(0, 5, 10, 'rc1', 'post2', 'dev3', 'a.b')"),
        ("1!2.0", "('1!', 2, 0)"),
    ],
)
def test_the_version_module_is_what_the_package_imports(version: str, parts: str) -> None:
    scope: dict[str, object] = {}
    exec(version_module(version, None), scope)
    assert scope["__version__"] == scope["version"] == version
    assert repr(scope["__version_tuple__"]) == parts
    assert scope["commit_id"] is None


def test_the_version_is_upstream_s_with_a_label() -> None:
    assert distribution_version("0.5.8", "deepseek") == "0.5.8+deepseek"
    assert distribution_version("0.5.8.dev3+gabc", "deepseek") == "0.5.8.dev3+gabc.deepseek"
    with pytest.raises(BuildError, match=r"M004 'no/label'"):
        distribution_version("0.5.8", "no/label")


@pytest.mark.parametrize(
    ("snap", "says"),
    [
        (sample(**{"python__pyproject.toml": None}), "no python/pyproject.toml"),
        (sample(**{"python__pyproject.toml": b"[project\n"}), "cannot be read"),
        (sample(**{"python__pyproject.toml": b"\xff"}), "cannot be read"),
        (sample(**{"python__pyproject.toml": b"[tool.x]\n"}), "does not describe a project"),
        (sample(**{"README.md": None}), "readme 'README.md'"),
        (edited("python/pyproject.toml", '"requests"', '"no requirement!!"'), "does not describe a project"),
        (edited("python/pyproject.toml", "packages.find]", 'packages.find]\nwhere = ["src"]'), "where"),
        (edited("python/pyproject.toml", "[tool.setuptools_scm]",
         "[tool.setuptools]\npackage-dir.x = 'y'"), "package-dir"),
    ],
)  # fmt: skip
def test_a_pyproject_that_cannot_be_followed_is_a_coded_error(snap: Snapshot, says: str) -> None:
    with pytest.raises(BuildError, match=says) as caught:
        make(snap)
    assert caught.value.problems[0].code == "G008"


ABOUT = About(
    {
        "name": "pkg-cut", "repository": "https://example.org/pkg.git", "version": "1.2.3+label",
        "commit": COMMIT, "upstream_tree": "2" * 40, "tree": "3" * 40, "scope": "default, without grpc",
    },
    left_out=(("awq", "AWQ\n  leaves."),), listing="pkg.removed_features",
)  # fmt: skip


def test_a_wheel_says_what_it_is_and_keeps_its_name() -> None:
    plain, own = make(), build_wheel(sample(), "1.2.3+label", COMMIT, project=PROJECT, about=ABOUT)
    texts = {}
    for one in (plain, own):
        with zipfile.ZipFile(io.BytesIO(one.data)) as archive:
            name = next(n for n in archive.namelist() if n.endswith("/METADATA"))
            texts[one.content_sha256] = Parser().parsestr(archive.read(name).decode())
    before, after = texts[plain.content_sha256], texts[own.content_sha256]
    assert (
        own.name == plain.name and after["Name"] == before["Name"] and after["Version"] == before["Version"]
    )
    assert after.get_all("Requires-Dist") == before.get_all("Requires-Dist")
    assert after["Summary"].startswith("pkg-cut, a distribution with a part of upstream (tree 333333333333)")
    assert "\n" not in after["Summary"] and after["Description-Content-Type"] == "text/markdown"
    text = after.get_payload()
    assert f"| tree of this distribution | `{'3' * 40}` |" in text and COMMIT in text
    assert "| scope | `default, without grpc` |" in text
    assert "- **awq**: AWQ leaves." in text and "python -m pkg.removed_features" in text


def test_a_wheel_of_a_project_without_a_summary_has_one() -> None:
    assert ABOUT.summary("") == "pkg-cut, a distribution with a part of upstream (tree 333333333333)"
    assert "python -m" not in replace(ABOUT, listing=None).readme("pkg")
