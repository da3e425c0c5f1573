"""manifest.lock: a locked pin comes out the same, or the build says which digest moved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from builder.emit.lock import Edited, Lock, Proof, drift, edited, figures_of, from_bytes, to_bytes
from builder.errors import BuildError, Problem

ROOT = Path(__file__).parents[2]

PROOF = Proof(
    commit="1" * 40,
    upstream_tree="2" * 40,
    manifest="3" * 64,
    verdicts={"kept": 10, "edited": 2, "removed": 30, "added": 1},
    output_tree="4" * 40,
    wheel_content_sha256="5" * 64,
    families={"npu": "forward_npu, forward_xpu_npu"},
    tools={"ruff": "0.17.5"},
)
LOCK = {"seed": PROOF, "release": replace(PROOF, commit=None, wheel_content_sha256=None)}
#: Of the default scope, and of a named one.
LOCKS = {"default": LOCK, "large": {"seed": replace(PROOF, output_tree="6" * 40)}}


def test_a_lock_reads_what_it_writes() -> None:
    assert from_bytes(to_bytes(LOCKS)) == LOCKS
    assert to_bytes({"default": dict(reversed(LOCK.items()))}) == to_bytes({"default": LOCK})


def test_a_lock_fits_its_schema() -> None:
    schema = json.loads((ROOT / "schema/lock.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    for locks in (LOCKS, {"default": large_lock()}):
        jsonschema.Draft7Validator(schema).validate(json.loads(to_bytes(locks)))


def large_lock() -> dict[str, Proof]:
    """As many pins, batches and figures as a lock will have for long."""
    sides = {"before": 100, "after": 50}
    kinds = ("environment", "flag", "registry", "route", "script")
    unit = {"own": 9, "fetched": 9, "libraries": 9, "patterns": 9}
    figures = {
        "lines": sides,
        "batches": {
            f"batch-{n}": {"removed": n, "edited": 1, "added": 0, "lines": n * 100} for n in range(35)
        },
        "wheel": {"bytes": 9, "files": 9},
        "surface": {kind: {**sides, "lost": 50, "added": 0} for kind in kinds},
        "units": {"before": unit, "after": unit},
    }
    families = {f"batch-{n}": f"{n} names: a.b.c, a.b.d" for n in range(35)}
    return {f"pin-{n}": replace(PROOF, figures=figures, families=families) for n in range(8)}


def test_eight_pins_of_thirty_five_batches_stay_below_1200_lines() -> None:
    data = to_bytes({"default": large_lock()})
    assert len(data.splitlines()) < 1200
    assert from_bytes(data) == {"default": large_lock()}


def test_a_group_of_figures_and_a_family_have_a_line_each_and_all_keys_are_sorted() -> None:
    text = to_bytes({"default": large_lock()}).decode()
    assert '          "batch-7": {"added": 0, "edited": 1, "lines": 700, "removed": 7},\n' in text
    assert '        "batch-7": "7 names: a.b.c, a.b.d",\n' in text
    sorted_too = json.dumps(json.loads(text), sort_keys=True)
    assert json.dumps(json.loads(text)) == sorted_too


def test_the_lock_of_the_repository_is_as_it_would_be_written() -> None:
    data = (ROOT / "manifest.lock").read_bytes()
    locks = from_bytes(data)
    assert to_bytes(locks) == data
    # no more lines for each proof than when there were eighteen in 1,200
    assert len(data.splitlines()) < 66 * sum(map(len, locks.values()))
    assert b"manifest.yaml:" not in data


def test_moving_one_digest_moves_one_line() -> None:
    before = to_bytes({"default": LOCK}).splitlines()
    after = to_bytes({"default": {**LOCK, "seed": replace(PROOF, output_tree="9" * 40)}}).splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def problems(now: Proof, lock: Lock = LOCK) -> tuple[Problem, ...]:
    """What is wrong with a build of the seed that its lock should give."""
    with pytest.raises(BuildError) as raised:
        drift(lock, "seed", now)
    return raised.value.problems


def test_the_same_build_is_no_finding() -> None:
    assert drift(LOCK, "seed", PROOF) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"commit": "9" * 40}, "the upstream commit came out as 9999"),
        ({"upstream_tree": "9" * 40}, "the upstream tree came out as 9999"),
        ({"output_tree": "9" * 40}, "the output tree came out as 9999"),
        ({"wheel_content_sha256": "9" * 64}, "the wheel's content digest came out as 9999"),
        ({"verdicts": {"kept": 11}}, "the verdict counts came out as 11 kept, not 1 added"),
    ],
)
def test_a_digest_that_differs_is_named(change: dict, words: str) -> None:
    (found,) = problems(replace(PROOF, **change))
    assert found.code == "G012" and found.message.startswith("'seed' is locked") and words in found.message


def test_what_patterns_matched_is_compared_batch_by_batch() -> None:
    now = replace(PROOF, families={"npu": "forward_npu", "xpu": "forward_xpu"})
    assert [p.message for p in problems(now)] == [
        "'seed' is locked, and what the patterns of the batch `npu` match came out as forward_npu, "
        "not forward_npu, forward_xpu_npu.",
        "'seed' is locked, and what the patterns of the batch `xpu` match came out as forward_xpu, "
        "not nothing.",
    ]
    assert drift(LOCK, "seed", replace(PROOF, families={}, manifest="9" * 64)) == (
        "'seed' was locked with another manifest: what the patterns of the batch `npu` match moved."
    )


def test_all_digests_that_differ_are_named_at_once_with_the_tools() -> None:
    now = replace(
        PROOF, output_tree="9" * 40, wheel_content_sha256="9" * 64, tools={"ruff": "1", "zlib": "2"}
    )
    found = problems(now)
    assert len(found) == 2
    assert found[0].hint == "the tools differ: ruff 0.17.5 then, 1 now; zlib none then, 2 now"


def test_a_build_without_a_wheel_is_compared_by_its_tree() -> None:
    assert drift(LOCK, "seed", replace(PROOF, wheel_content_sha256=None)) is None
    assert problems(replace(PROOF, wheel_content_sha256=None, output_tree="9" * 40))


def test_another_manifest_is_drift_and_says_what_moved() -> None:
    found = drift(LOCK, "seed", replace(PROOF, manifest="9" * 64, output_tree="9" * 40))
    assert found == "'seed' was locked with another manifest: the output tree moved."
    found = drift(LOCK, "seed", replace(PROOF, manifest="9" * 64))
    assert found == "'seed' was locked with another manifest: the output is the same."


def test_a_manifest_is_edited_where_it_is_not_the_proven_one_of_the_pin_or_of_any_pin() -> None:
    locks = {**LOCKS, "default": {**LOCK, "old": replace(PROOF, manifest="9" * 64)}}
    assert edited(locks, "default", "seed", "3" * 64) is None
    assert edited(locks, "default", "main", "3" * 64) is None  # not locked: another pin has these statements
    assert edited(locks, "default", "old", "3" * 64) == Edited(locks["default"]["old"])
    assert edited(locks, "default", "seed", "8" * 64) == Edited(PROOF)
    assert edited(locks, "default", "main", "8" * 64) == Edited(None)
    assert edited(locks, "new", "seed", "3" * 64) == Edited(None)  # a scope that was never proven
    assert edited({"default": {}}, "default", "seed", "8" * 64) is None


def test_a_pin_that_is_not_locked_and_batches_that_are_off_are_drift() -> None:
    assert "not in manifest.lock" in str(drift(LOCK, "other", PROOF))
    found = drift(LOCK, "seed", replace(PROOF, output_tree="9" * 40), switched="without awq")
    assert "this is a build without awq: no proof" in str(found)


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"\xff", b'{"schema_version": 1, "pins": {}}', b'{"schema_version": 2, "pins": {"a": {}}}',
     b'{"schema_version": 2, "pins": {"a": []}}', b'{"schema_version": 2}', b'{"schema_version": "1"}',
     to_bytes({"default": LOCK}).replace(b'"tools": {', b'"tools": [], "no": {'), b"[" * 100_000],
)  # fmt: skip
def test_a_lock_that_cannot_be_read_is_a_coded_error(data: bytes) -> None:
    with pytest.raises(BuildError, match=r"M008 The lock 'manifest\.lock' cannot be read"):
        from_bytes(data)


def test_what_a_pin_of_the_lock_lacks_is_named() -> None:
    data = to_bytes({"default": LOCK}).replace(b'"verdicts"', b'"words"')
    with pytest.raises(BuildError, match="a pin has no verdicts"):
        from_bytes(data)


def test_the_figures_of_a_lock_are_those_of_build_json_and_decide_nothing() -> None:
    record = {
        "lines": {"py": {"before": 9, "after": 4}, "code": {"before": 10, "after": 4}},
        "batches": [
            {
                "id": "awq",
                "files": {"removed": 2, "edited": 1, "added": 0},
                "lines": {"removed": 5, "edited_away": 2, "added": 1},
            }
        ],
        "wheel": {"name": "x.whl", "bytes": 99, "files": 3},
        "surface": {"flag": {"before": 3, "after": 2}},
        "units": None,
    }
    found = figures_of(record)
    assert found["lines"] == {"before": 10, "after": 4}
    assert found["batches"] == {"awq": {"removed": 2, "edited": 1, "added": 0, "lines": 6}}
    assert found["wheel"] == {"bytes": 99, "files": 3}
    lock = {"seed": replace(PROOF, figures=found)}
    assert from_bytes(to_bytes({"default": lock})) == {"default": lock}
    assert drift(lock, "seed", PROOF) is None
