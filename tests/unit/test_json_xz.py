"""JSON that is compressed with xz, and every such file of docs/."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from builder import json_xz

DOCS = Path(__file__).parents[2] / "docs"


def test_the_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = {"a": [1, "ä"], "b": {"d": None, "c": 2.5}}, {"b": {"c": 2.5, "d": None}, "a": [1, "ä"]}
    assert json_xz.packed(one) == json_xz.packed(other)
    json_xz.write(tmp_path / "x", one)
    assert json_xz.read(tmp_path / "x") == other


@pytest.mark.parametrize("data", [b"", b"{}", lzma.compress(b"{"), lzma.compress(b"{}")[:-4]])
def test_what_holds_no_data_is_an_error_of_values(data: bytes) -> None:
    with pytest.raises(ValueError):
        json_xz.unpacked(data)


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.xz")), ids=lambda path: path.name)
def test_a_file_of_docs_holds_what_the_writer_writes(path: Path) -> None:
    text = lzma.decompress(path.read_bytes()).decode()
    data = json.loads(text)
    assert text == json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def test_evidence_is_compressed_and_small() -> None:
    assert [p.name for p in DOCS.rglob("*.json*") if p.suffix != ".xz"] == []
    assert sum(p.stat().st_size for p in DOCS.rglob("*.xz")) < 3_000_000
