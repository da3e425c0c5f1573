"""The published kernel wheel repacked: on small wheels made here."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_kernel_wheel import (
    FILES_OF_WHEEL,
    HERE,
    METADATA,
    NAME,
    STEM,
    digest,
    faults,
    kernel,
    opened,
    run,
    wheel,
)

from builder.emit.archive import join
from builder.errors import BuildError
from builder.kernel import files, names
from builder.kernel.plan import Source
from builder.kernel.repack import KernelWheel
from builder.manifest.model import Kernel
from builder.upstream import wheel_archive

# -- what a repacked wheel is


def test_what_no_rule_names_stays_byte_for_byte() -> None:
    result = run(wheel())
    with opened(result) as new:
        assert new.testzip() is None
        for path, data in FILES_OF_WHEEL.items():
            assert new.read(path) == data
    assert result.summary["removed"] == [] and result.summary["changed"] == []


def test_removed_members_leave_with_their_reason_and_their_size() -> None:
    result = run(wheel(), kernel("sgl_kernel/flash*", "lib/"))
    with opened(result) as new:
        assert {p for p in FILES_OF_WHEEL if p not in new.namelist()} == {
            "sgl_kernel/flash.py", "sgl_kernel/flash_ops.abi3.so", "lib/mscclpp.so",
        }  # fmt: skip
    rows = {row["path"]: row for row in result.summary["removed"]}
    assert rows["lib/mscclpp.so"]["why"] == "no lib/"
    assert rows["sgl_kernel/flash_ops.abi3.so"]["packed_bytes"] > 100
    described = result.summary
    assert described["members"] == {"before": 12, "after": 10}  # MODIFICATIONS.json came
    assert described["unpacked_bytes"]["before"] - described["unpacked_bytes"]["after"] > 70_000


def test_version_metadata_and_dist_info_agree_and_the_rest_of_metadata_stays() -> None:
    result = run(wheel())
    assert result.name == "sgl_kernel-1.2.3+small-cp310-abi3-manylinux2014_x86_64.whl"
    with opened(result) as new:
        info = "sgl_kernel-1.2.3+small.dist-info"
        assert new.read(f"{info}/METADATA") == METADATA.replace(
            b"Version: 1.2.3\n", b"Version: 1.2.3+small\n"
        )
        assert [n for n in new.namelist() if f"{STEM}.dist-info" in n] == []
        assert new.read(f"{info}/licenses/LICENSE") == b"free\n"


def test_wheel_lists_the_tags_of_the_file_name_and_the_build_tag_stays() -> None:
    result = run(wheel(), name=f"{STEM}-1-cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")
    assert result.name.startswith("sgl_kernel-1.2.3+small-1-cp310-")
    with opened(result) as new:
        text = new.read("sgl_kernel-1.2.3+small.dist-info/WHEEL").decode()
    assert text.splitlines()[3:] == [
        "Tag: cp310-abi3-manylinux2014_x86_64", "Tag: cp310-abi3-manylinux_2_17_x86_64", "Build: 1",
    ]  # fmt: skip


def test_record_lists_every_member_with_its_digest_and_is_last() -> None:
    with opened(run(wheel(), kernel("lib/"))) as new:
        own = "sgl_kernel-1.2.3+small.dist-info/RECORD"
        rows = list(csv.reader(io.StringIO(new.read(own).decode())))
        assert [row[0] for row in rows] == new.namelist()
        assert rows[-1] == [own, "", ""]
        for path, sha256, size in rows[:-1]:
            assert (sha256, int(size)) == (digest(new.read(path)), len(new.read(path)))


def test_members_are_sorted_with_one_date_and_two_modes() -> None:
    with opened(run(wheel())) as new:
        infos = new.infolist()
    about = [".dist-info/" in i.filename for i in infos]
    payload = [i.filename for i in infos if ".dist-info/" not in i.filename]
    assert payload == sorted(payload) and about == sorted(about)
    assert {i.date_time for i in infos} == {(1980, 1, 1, 0, 0, 0)}
    modes = {i.filename: i.external_attr >> 16 for i in infos}
    assert {m for p, m in modes.items() if p.endswith(".so")} == {0o100755}
    assert {m for p, m in modes.items() if not p.endswith(".so")} == {0o100644}


def content(result: KernelWheel) -> str:
    return str(result.summary["wheel"]["content_sha256"])


def test_the_same_wheel_packed_otherwise_gives_the_same_content_digest() -> None:
    one, other = wheel(), wheel(dict(reversed(FILES_OF_WHEEL.items())), level=1)
    assert content(run(one)) != content(run(wheel({**FILES_OF_WHEEL, "lib/x": b""})))
    # the digest of the source is part of the notice
    notice = "sgl_kernel-1.2.3+small.dist-info"
    with opened(run(one)) as a, opened(run(other)) as b:
        same = [p for p in a.namelist() if a.read(p) == b.read(p)]
        assert set(a.namelist()) - set(same) == {f"{notice}/MODIFICATIONS.json", f"{notice}/RECORD"}
    assert b"".join(join(run(one).members)) == b"".join(join(run(one).members))


def test_the_notice_says_what_was_done_to_which_wheel() -> None:
    data = wheel()
    sources = {"sgl_kernel/scale.py": Source(FILES_OF_WHEEL["sgl_kernel/scale.py"], b"one = 1\n")}
    with opened(run(data, kernel("lib/"), sources)) as new:
        notice = json.loads(new.read("sgl_kernel-1.2.3+small.dist-info/MODIFICATIONS.json"))
    assert notice["from"] == {"name": NAME, "sha256": hashlib.sha256(data).hexdigest()}
    assert notice["removed"] == [{"path": "lib/mscclpp.so", "why": "no lib/"}]
    assert notice["changed"] == ["sgl_kernel/scale.py"]


def test_folders_for_data_follow_the_version() -> None:
    with opened(run(wheel({**FILES_OF_WHEEL, f"{STEM}.data/scripts/go": b"#!python\n"}))) as new:
        assert "sgl_kernel-1.2.3+small.data/scripts/go" in new.namelist()


def test_signatures_of_record_leave_because_they_cannot_hold() -> None:
    with opened(run(wheel(extra={f"{STEM}.dist-info/RECORD.jws": b"{}"}))) as new:
        assert not [n for n in new.namelist() if n.endswith(".jws")]


def test_pip_installs_the_repacked_wheel(tmp_path: Path) -> None:
    path, sha256, size = files.write(tmp_path, run(wheel(), kernel("lib/")))
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size) == (sha256, size)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        "site",
    ]
    tags = ["--platform=manylinux2014_x86_64", "--only-binary=:all:", "--abi=abi3", "--python-version=3.12"]
    subprocess.run([*command, *tags, str(path)], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
    assert (tmp_path / "site/sgl_kernel/sm90/common_ops.abi3.so").read_bytes() == b"\x7fELF90" * 4000
    assert (tmp_path / "site/sgl_kernel-1.2.3+small.dist-info/METADATA").exists()


# -- architectures


def test_only_the_kept_architectures_stay_and_the_version_names_them() -> None:
    result = run(wheel(), kernel(keep=("sm90",)))
    assert [row["path"] for row in result.summary["removed"]] == ["sgl_kernel/sm100/common_ops.abi3.so"]
    assert result.name.startswith("sgl_kernel-1.2.3+small.sm90-")


def test_all_architectures_of_the_wheel_are_no_part_of_the_version() -> None:
    assert run(wheel(), kernel(keep=("sm90", "sm100"))).name.startswith("sgl_kernel-1.2.3+small-")


def test_the_command_line_narrows_what_the_manifest_keeps() -> None:
    assert len(run(wheel(), kernel(keep=("sm90", "sm100")), only=("sm100",)).summary["removed"]) == 1
    (fault,) = faults(wheel(), rules=kernel(keep=("sm90",)), only=("sm100",))
    assert fault.startswith("K004 The architecture sm100 was asked for")


def test_an_architecture_that_the_wheel_lacks_is_an_error() -> None:
    assert faults(wheel(), rules=kernel(keep=("sm90", "sm120"))) == [
        "K004 The wheel has nothing for the architecture sm120."
    ]


# -- rules and the trees


def test_every_pattern_that_matches_nothing_is_listed_unless_it_is_optional() -> None:
    found = faults(wheel(), rules=kernel("sgl_kernel/flsh*", "lib/", "include/"))
    assert [f.split("`")[1] for f in found] == ["include/", "sgl_kernel/flsh*"]
    assert len(run(wheel(), kernel("include/", optional="later")).summary["removed"]) == 0


def test_dist_info_is_out_of_reach_of_patterns() -> None:
    (fault,) = faults(wheel(), rules=kernel("*/METADATA"))
    assert "matches no member" in fault


def test_python_files_follow_the_tree() -> None:
    scale, load = FILES_OF_WHEEL["sgl_kernel/scale.py"], FILES_OF_WHEEL["sgl_kernel/load.py"]
    sources = {
        "sgl_kernel/scale.py": Source(scale, b"one = 1\n"),
        "sgl_kernel/load.py": Source(load, load),
        "sgl_kernel/flash.py": Source(b"older\n", None, "FlashAttention leaves", "fa3"),
        "sgl_kernel/ours.py": Source(None, b"ours = 1\n"),
        "sgl_kernel/never_packed.py": Source(b"x = 1\n", b"x = 2\n"),
        "sglang_router/launch.py": Source(None, b"x = 1\n"),
    }
    result = run(wheel(), sources=sources)
    with opened(result) as new:
        assert new.read("sgl_kernel/scale.py") == b"one = 1\n"
        assert new.read("sgl_kernel/ours.py") == b"ours = 1\n"
        left = new.namelist()
    assert "sgl_kernel/flash.py" not in left and "sgl_kernel/never_packed.py" not in left
    assert not [path for path in left if path.startswith("sglang_router")]
    assert [(r["path"], r["why"], r["by"]) for r in result.summary["removed"]] == [
        ("sgl_kernel/flash.py", "FlashAttention leaves", "fa3")
    ]


def test_a_file_that_is_not_upstreams_cannot_be_changed_as_the_tree_was() -> None:
    found = faults(wheel(), sources={"sgl_kernel/scale.py": Source(b"one = 0\n", b"one = 1\n")})
    assert found == ["K005 'sgl_kernel/scale.py' of the wheel is not the file that the distribution changes."]
    # upstream's change of a file that we leave alone is the wheel's own affair
    assert (
        run(wheel(), sources={"sgl_kernel/scale.py": Source(b"one = 0\n", b"one = 0\n")}).summary["removed"]
        == []
    )


def test_python_that_imports_what_left_is_an_error() -> None:
    assert faults(wheel(), rules=kernel("sgl_kernel/flash_ops.*")) == [
        "G002 'sgl_kernel/flash.py' of the repacked wheel imports 'flash_ops' from sgl_kernel, which left."
    ]
    (fault,) = faults(wheel(), sources={"sgl_kernel/scale.py": Source(None, None)})
    assert "imports sgl_kernel.scale" in fault


# -- wheels that are refused


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../up.py",
        "sgl_kernel/../../up.py",
        "sgl_kernel\\x.py",
        "C:/x.py",
        "a//b",
        "a/./b",
        "a\nb",
    ],
)
def test_members_that_leave_the_folder_are_refused(path: str) -> None:
    found = faults(wheel({**FILES_OF_WHEEL, path: b"x"}))
    assert [f[:16] for f in found] == ["K002 The member "]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_repeated_members_are_refused() -> None:
    out = io.BytesIO(wheel())
    with zipfile.ZipFile(out, "a") as target:
        target.writestr("sgl_kernel/load.py", "x = 1\n")
    assert faults(out.getvalue()) == ["K002 The member 'sgl_kernel/load.py' of the wheel is there twice."]


def test_members_that_differ_by_case_alone_are_refused() -> None:
    (fault,) = faults(wheel({**FILES_OF_WHEEL, "sgl_kernel/LOAD.py": b""}))
    assert fault.endswith("is 'sgl_kernel/load.py' but for its case.")


def test_links_are_refused() -> None:
    (fault,) = faults(wheel(modes={"lib/mscclpp.so": 0o120777}))
    assert "is a link or a device" in fault


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (lambda t: t.replace(b"lib/mscclpp.so,", b"lib/other.so,"), ["does not list", "no such member"]),
        (
            lambda t: t.replace(digest(b"\x7fELFlib").encode(), digest(b"x").encode()),
            ["not what RECORD says"],
        ),
        (lambda t: t.replace(b",10\n", b",11\n", 1), ["RECORD says 11"]),
        (lambda t: t.replace(digest(b"\x7fELFlib").encode(), b"md5=abc"), ["has no sha256"]),
        (lambda t: t + t.splitlines()[0] + b"\n", ["twice"]),
        (lambda t: b"\xff", ["cannot be read"]),
        (lambda t: b"", ["does not list"] * 11),
    ],
)
def test_members_and_record_must_agree(record: Callable[[bytes], bytes], says: list[str]) -> None:
    files = {**FILES_OF_WHEEL, "lib/ten": b"0123456789"}
    found = faults(wheel(files if b",11" in record(b",10\n") else FILES_OF_WHEEL, record=record))
    assert len(found) == len(says)
    assert all(any(text in f for f in found) for text in says)


def test_a_member_that_no_record_lists_is_refused() -> None:
    assert faults(wheel(extra={"evil.pth": b"import os"})) == [
        "K002 RECORD of the wheel does not list 'evil.pth'."
    ]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_damaged_streams_are_refused(at: int) -> None:
    data = bytearray(wheel())
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        info = source.infolist()[at]
    data[info.header_offset + 30 + len(info.filename) + 4] ^= 0xFF
    assert all(f.startswith("K002 The member ") for f in faults(bytes(data)))


def test_a_member_that_unpacks_to_more_than_it_says_is_refused() -> None:
    data = wheel({**FILES_OF_WHEEL, "lib/bomb": bytes(5_000_000)})
    at = data.rindex(b"lib/bomb") - 46  # of the central directory
    assert data[at : at + 4] == b"PK\x01\x02"
    small = data[: at + 24] + (10).to_bytes(4, "little") + data[at + 28 :]
    assert any("lib/bomb" in f for f in faults(small))


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_wheel_is_refused(data: bytes) -> None:
    assert all(f.startswith("K002") for f in faults(data))


@given(st.data())
def test_a_wheel_with_any_bytes_changed_is_repacked_the_same_or_refused(data: st.DataObject) -> None:
    good = wheel({"sgl_kernel/__init__.py": b"x = 1\n"})
    at = data.draw(st.integers(0, len(good) - 1))
    changed = bytearray(good)
    changed[at] = data.draw(st.integers(0, 255))
    try:
        result = run(bytes(changed))
    except BuildError:
        return
    with opened(result) as new:
        assert new.read("sgl_kernel/__init__.py") == b"x = 1\n"


@given(st.integers(0, 4000))
def test_a_wheel_that_was_cut_off_is_refused(length: int) -> None:
    good = wheel()
    assert faults(good[: length * (len(good) - 1) // 4000])


# -- names


@pytest.mark.parametrize("name", ["sgl_kernel.whl", "x.zip", "a-b-c-d-e-f-g.whl", "../a-1-py3-none-any.whl"])
def test_a_name_that_is_no_wheels_is_refused(name: str) -> None:
    assert [f[:4] for f in faults(wheel(), name=name)] == ["K003"]


def test_a_wheel_under_another_version_or_distribution_is_refused() -> None:
    assert "says that it is sgl-kernel 1.2.3" in faults(wheel(), name=NAME.replace("1.2.3", "1.2.4"))[0]
    assert "K003" in faults(wheel(), name=NAME.replace("sgl_kernel", "sglang_kernel"))[0]


def table(*dependencies: str) -> dict[str, object]:
    return {"project": {"dependencies": list(dependencies)}}


def test_the_requirement_must_name_one_version_of_one_distribution() -> None:
    rules = Kernel(("sgl-kernel", "sglang-kernel"), HERE)
    found = names.required(table("torch==1", "sglang_kernel==0.4.2"), rules, "python/pyproject.toml")
    assert names.exact(found) == "0.4.2"
    names.fits(names.parse("sglang_kernel-0.4.2+cu130-cp310-abi3-linux_x86_64.whl"), found)
    for other in ("sglang_kernel-0.4.3-cp310-abi3-linux_x86_64.whl", NAME):
        with pytest.raises(BuildError, match="K003"):
            names.fits(names.parse(other), found)
    for wrong in ((), ("sgl-kernel>=1",), ("sgl-kernel==1.*",), ("sgl-kernel==1", "sglang-kernel==1")):
        with pytest.raises(BuildError, match="K003"):
            names.required(table(*wrong), rules, "python/pyproject.toml")


# -- the edge


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(wheel())
    (tmp_path / result.name).write_bytes(b"old")

    def full(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(BuildError, match="No space left"):
        files.write(tmp_path, result)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [(result.name, b"old")]


def test_a_wheel_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty.whl").touch()
    for path in (tmp_path / "none.whl", tmp_path, tmp_path / "empty.whl"):
        with pytest.raises(BuildError, match="K001"):
            files.mapped(path)


def test_every_member_is_checked_by_one_worker_as_by_many() -> None:
    one, many = wheel_archive.read(wheel(), 1), wheel_archive.read(wheel(), 4)
    assert {p: m.sha256 for p, m in one.members.items()} == {p: m.sha256 for p, m in many.members.items()}


def test_files_of_the_wheel_that_are_not_upstreams_are_named_by_their_upstream_path() -> None:
    from gate_worlds import manifest, snapshot

    from builder.kernel.plan import differing

    there = wheel_archive.read(wheel())
    packages = {"sgl_kernel": "sgl-kernel/python/sgl_kernel", "other": "python/other"}
    same = {f"sgl-kernel/python/{p}": m.data() for p, m in there.members.items() if p.endswith(".py")}
    upstream = snapshot({p: d.decode() for p, d in same.items()})
    stated = replace(manifest(), packages=packages)
    assert differing(there, upstream, stated) == {}
    path = "sgl-kernel/python/sgl_kernel/scale.py"
    assert differing(there, upstream.replace({path: b"older = 1\n"}), stated) == {path: same[path]}
    assert differing(there, upstream.replace({path: None}), stated) == {}
