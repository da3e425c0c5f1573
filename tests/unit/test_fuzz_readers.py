"""Whatever the bytes, a reader returns a value or raises its coded problem: no other exception, no hang.

Each reader gets spoilt copies of a sound file, and the files of `corpus/`: what the long profile finds goes
there, named after its reader.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_files import MANIFEST, OVERLAYS
from small_kernel_wheel import wheel
from small_world import ROOT
from test_overlay_patch import OLD, run
from test_upstream_sdist import read as read_sdist
from test_upstream_sdist import sdist

from builder.emit import lock
from builder.emit.marker import Index, Marker
from builder.errors import BuildError
from builder.manifest.load import parse, read_schema
from builder.upstream import wheel_archive as wheels
from builder.upstream.archive import ArchiveError
from builder.upstream.commits import project_table

CORPUS = Path(__file__).with_name("corpus")
EXAMPLES = 5_000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 40
SCHEMA = read_schema(ROOT)
PROOF = {
    "commit": "1" * 40, "upstream_tree": "2" * 40, "manifest": "3" * 64, "verdicts": {"kept": 1},
    "output_tree": "4" * 40, "wheel_content_sha256": None, "families": {"npu": "2 paths"},
    "tools": {"ruff": "1"}, "figures": {},
}  # fmt: skip
LOCK = json.dumps({"schema_version": lock.SCHEMA_VERSION, "pins": {"seed": PROOF}}, indent=1).encode()
PATCH = b"--- a/f.txt\n+++ b/f.txt\n@@ -1,3 +1,3 @@\n line 1\n-line 2\n+line two\n line 3\n"
MARKER = Marker("key", {}).to_bytes()
TOML = b'[project]\nname = "x"\nversion = "1"\n[tool.setuptools_scm]\nfallback_version = "0"\n'


def read_manifest(data: bytes) -> None:
    with suppress(BuildError):
        parse(data, "manifest.yaml", OVERLAYS, SCHEMA)


def read_patch(data: bytes) -> None:
    done = run(data)
    assert all(problem.code == "R007" for problem in done.problems)
    if done.problems:
        assert done.files == {}


def read_lock(data: bytes) -> None:
    with suppress(BuildError):
        found = lock.from_bytes(data)
        now = lock.Proof(**PROOF)  # type: ignore[arg-type]
        for proven in found.values():
            for pin in (*proven, "seed"):
                try:
                    lock.drift(proven, pin, now)
                except BuildError as error:
                    assert {problem.code for problem in error.problems} == {"G012"}
        assert lock.from_bytes(lock.to_bytes(found)) == found


def read_wheel(data: bytes) -> None:
    with suppress(BuildError):
        for member in wheels.read(data).members.values():
            member.data()


def read_release(data: bytes) -> None:
    with suppress(ArchiveError):
        read_sdist(data)


def read_tar(data: bytes) -> None:
    read_release(gzip.compress(data, 1))


def read_marker(data: bytes) -> None:
    with suppress(ValueError):
        Marker.from_bytes(data)
    Index.from_bytes(data)


def read_project(data: bytes) -> None:
    assert isinstance(project_table(data), dict)


#: name -> the reader, a sound file, and texts that mean something to it
READERS: dict[str, tuple[Callable[[bytes], None], bytes, tuple[bytes, ...]]] = {
    "manifest": (
        read_manifest,
        MANIFEST.replace("@COMMIT@", "1" * 40).replace("@PARSER@", "2" * 40).encode(),
        (b": ", b"- ", b"&a ", b"*a", b"{", b"]", b"!!python/name:os.system ", b"<<: ", b"\t", b"? ", b"|\n",
         b"\xef\xbb\xbf", b"1e999", b"0o17", b"~", b"..", b"\n---\n", b"# ", b"%YAML 9\n"),
    ),
    "patch": (
        read_patch,
        PATCH,
        (b"@@ -0,0 +1 @@\n", b"@@ -1,999999999 +1 @@\n", b"--- /dev/null\n", b"rename to x\n",
         b"\\ No newline\n",
         b"GIT binary patch\n", b"new mode 120000\n", b"../", b"+++ b/\n", b'"a\\377"', OLD),
    ),
    "lock": (read_lock, LOCK, (b"null", b"1e400", b"NaN", b"[]", b"{}", b'"x"', b"-1", b"true", b"[" * 100)),
    "wheel": (read_wheel, wheel({"a/__init__.py": b"x = 1\n"}),
              (b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04", b"../")),
    "sdist": (read_release, sdist(), (b"\x1f\x8b\x08", b"\0" * 512)),
    "tar": (read_tar, gzip.decompress(sdist()), (b"ustar\x0000", b"../", b"L", b"S", b"g", b"\0" * 512)),
    "marker": (read_marker, MARKER, (b"null", b"[]", b'{"a": 1}', b"1e400", b'"100644 x y"')),
    "project": (read_project, TOML, (b"[[project]]\n", b"project = 1\n", b"= ", b'"""', b"[tool]\n")),
}  # fmt: skip


@st.composite
def spoilt(draw: st.DrawFn, sound: bytes, words: tuple[bytes, ...]) -> bytes:
    """A sound file with a few bytes changed, parts cut, repeated or moved, and words put in."""
    data = sound
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 64)))
        kind = draw(st.sampled_from(("byte", "cut", "repeat", "word", "move", "end")))
        if kind == "byte" and at < len(data):
            data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at] + data[end:]
        elif kind == "repeat":
            data = data[:end] + data[at:end] * draw(st.integers(1, 3)) + data[end:]
        elif kind == "word":
            data = data[:at] + draw(st.sampled_from(words)) + data[at:]
        elif kind == "move":
            data = data[:at] + data[end:] + data[at:end]
        elif kind == "end":
            data = data[:at]
    return data


def _fuzz(name: str) -> None:
    reader, sound, words = READERS[name]

    @settings(max_examples=EXAMPLES)
    @given(spoilt(sound, words))
    def holds(data: bytes) -> None:
        reader(data)

    reader(sound)
    holds()


def test_any_manifest_is_read_or_refused(record_property: Callable[[str, object], None]) -> None:
    record_property("cases", EXAMPLES)
    _fuzz("manifest")


def test_any_patch_is_applied_or_refused(record_property: Callable[[str, object], None]) -> None:
    record_property("cases", EXAMPLES)
    _fuzz("patch")


@pytest.mark.parametrize("name", ["sdist", "tar"])
def test_any_sdist_is_read_or_refused(name: str, record_property: Callable[[str, object], None]) -> None:
    record_property("cases", EXAMPLES)
    _fuzz(name)


def test_any_wheel_is_read_or_refused(record_property: Callable[[str, object], None]) -> None:
    record_property("cases", EXAMPLES)
    _fuzz("wheel")


@pytest.mark.parametrize("name", ["lock", "marker", "project"])
def test_any_record_is_read_or_refused(name: str, record_property: Callable[[str, object], None]) -> None:
    record_property("cases", EXAMPLES)
    _fuzz(name)


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_was_found_once_stays_mended(path: Path) -> None:
    READERS[path.name.partition("-")[0]][0](path.read_bytes())
