"""Opens pieces, and runs what they hold: `python3 open.py PIECES... --to DIR [-- ARGS]`.

ARGS are those of verification.real.run; nothing runs without them. PIECES are the folders p1, p2 and so on,
or one that has them. Python's standard library is enough here, and no network is needed. The Python that runs
this has torch for its GPU: the CUDA libraries beside it are used.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_WINDOW = 28  # zstd looks back so many bytes: 2 to this power


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pieces", nargs="+", type=Path, help="the folders of the pieces")
    parser.add_argument(
        "--to", type=Path, default=Path("/tmp/verification-pieces"), help="where they are opened"
    )
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    given, rest = parser.parse_args(words[:end]), words[end + 1 :]
    to = given.to.resolve()
    try:
        packs = unpacked(files(given.pieces), to)
        variables = environment(to)
    except (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile) as error:
        sys.exit(f"error: {error}")
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    (to / "environment.sh").write_text("\n".join([*lines, f"cd {shlex.quote(str(to / 'harness'))}", ""]))
    print(f"opened in {to}; `. {to}/environment.sh` sets what it needs", flush=True)
    if rest:
        command = [sys.executable, "-m", "verification.real.run", "--pack", str(to / "packs" / packs[0])]
        command += absolute(rest)
        os.chdir(to / "harness")
        os.execve(sys.executable, command, {**os.environ, **variables})


def files(given: Sequence[Path]) -> dict[str, Path]:
    """The files of pieces by name."""
    return {path.name: path for folder in given for path in sorted(folder.rglob("*")) if path.is_file()}


def absolute(words: Sequence[str]) -> list[str]:
    """Words whose folders mean the same from elsewhere."""
    places = ("--out", "--work")
    return [
        str(Path(word).resolve()) if before in places else word
        for before, word in zip(["", *words], words, strict=False)
    ]


def unpacked(found: Mapping[str, Path], to: Path) -> list[str]:
    """Unpack each stream of pieces into a folder, once; the names of the packs.

    Of a stream that is unpacked there no piece is needed. Raises OSError, or ValueError for a piece that was
    changed.
    """
    if "index.json" not in found:
        raise FileNotFoundError("the piece p1, which has index.json, is not there")
    index = json.loads(found["index.json"].read_text())
    for name, stream in index["streams"].items():
        done, text = to / f"opened-{name}.json", json.dumps(stream["pieces"])
        if not done.exists() or done.read_text() != text:
            done.unlink(missing_ok=True)
            _open(stream, found, to)
            done.write_text(text)
    packs: list[str] = index["packs"]
    return packs


def _open(stream: Mapping[str, Any], found: Mapping[str, Path], to: Path) -> None:
    missing = [each["name"] for each in stream["pieces"] if each["name"] not in found]
    if missing:
        raise FileNotFoundError(f"pieces are missing: {', '.join(missing)}")
    for each in stream["pieces"]:
        if hashlib.sha256(found[each["name"]].read_bytes()).hexdigest() != each["sha256"]:
            raise ValueError(f"{found[each['name']]} is another file than index.json says")
    for folder in stream["folders"]:
        shutil.rmtree(to / folder, ignore_errors=True)
    to.mkdir(parents=True, exist_ok=True)
    with (
        _stream([found[each["name"]] for each in stream["pieces"]], found, to) as data,
        tarfile.open(fileobj=data, mode="r|", bufsize=1 << 20) as tar,
    ):
        tar.extractall(to, filter="tar")


@contextlib.contextmanager
def _stream(pieces: Sequence[Path], found: Mapping[str, Path], to: Path) -> Iterator[IO[bytes]]:
    """What the pieces hold together, through the program zstd or the package that lies beside them."""
    if shutil.which("zstd"):
        command = ["zstd", "--quiet", "--decompress", "--stdout", f"--long={_WINDOW}"]
        with (
            subprocess.Popen(["cat", *map(str, pieces)], stdout=subprocess.PIPE) as whole,
            subprocess.Popen(command, stdin=whole.stdout, stdout=subprocess.PIPE) as reader,
        ):
            assert reader.stdout is not None
            yield reader.stdout
        return
    with zipfile.ZipFile(next(path for name, path in found.items() if name.endswith(".whl"))) as wheel:
        wheel.extractall(to / "reader")
    sys.path.append(str(to / "reader"))
    import zstandard

    joined = io.BufferedReader(_Joined(pieces), 1 << 20)
    with zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW).stream_reader(joined) as stream:
        yield stream


class _Joined(io.RawIOBase):
    """Files, one after the other."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._rest = list(paths)
        self._file: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._file or self._rest:
            self._file = self._file or self._rest.pop(0).open("rb")
            data = self._file.read(len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
            self._file.close()
            self._file = None
        return 0


def environment(to: Path) -> dict[str, str]:
    """Link the machine's CUDA libraries beside the packages, and say the variables.

    Raises FileNotFoundError when this Python has none.
    """
    site = to / "site"
    path = [part for part in sys.path if part and Path(part).resolve() != site]
    own = next((Path(part) / "nvidia" for part in path if (Path(part) / "nvidia").is_dir()), None)
    if own is None:
        raise FileNotFoundError(f"{sys.executable} has no torch with the libraries of CUDA beside it")
    (site / "nvidia").mkdir(exist_ok=True)
    for folder in sorted(own.iterdir()):
        link = site / "nvidia" / folder.name
        if not link.exists():
            link.symlink_to(folder)
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return {
        "PYTHONPATH": str(site),
        # the packages were compiled with a later cuDNN, and nothing of DeepSeek uses it
        "PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
        "CUDA_HOME": cuda,
        "PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), f"{cuda}/bin"]),
    }  # fmt: skip


if __name__ == "__main__":
    main()
