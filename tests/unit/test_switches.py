"""Batches that are switched off: which go together, which cannot be off alone, and what comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifest_text import HEAD, manifest, problems
from test_cut_pages import stated, upstream
from yaml_cases import load

from builder.errors import BuildError
from builder.manifest.model import Manifest
from builder.manifest.switches import choose, off_with, options, switch_off
from builder.pipeline import cut as cutting
from builder.pipeline.cut import cut
from builder.pipeline.verify import BROKEN, verify

THREE = """\
batches:
  - {id: rocm, why: AMD.}
  - {id: quark, why: A format of AMD., needs: [rocm]}
  - {id: petit, why: A kernel for quark., needs: [quark]}
  - {id: notes, why: What is said of quark., kind: housekeeping, follows: [quark, rocm]}
"""


def ids(it: Manifest) -> list[str]:
    return [batch.id for batch in it.batches if batch.id != "base"]


def test_a_batch_that_needs_another_off_cannot_be_off_alone() -> None:
    with pytest.raises(BuildError) as caught:
        switch_off(manifest(THREE), ["petit"])
    (found,) = caught.value.problems
    assert (found.code, found.exit_status) == ("C002", 2)
    assert found.message == "The batch `petit` can be off only where `quark` is off too."
    assert found.mark is not None and found.mark.line == HEAD.count("\n") + 4
    assert found.hint == "add `--with-needs`, or write `--without petit --without rocm --without quark`"


@pytest.mark.parametrize(
    ("names", "hints"),
    [
        (["ROCM"], ["did you mean `rocm`?"]),
        (["quarck", "base"], [None, "did you mean `quark`?"]),  # the top level cannot be switched
        (["rocm,quark"], ["repeat the option: `--without rocm --without quark`"]),
    ],
)
def test_batches_that_cannot_be_found_are_told_with_what_was_probably_meant(
    names: list[str], hints: list[str | None]
) -> None:
    with pytest.raises(BuildError) as caught:
        switch_off(manifest(THREE), names)
    assert [(p.code, p.hint) for p in caught.value.problems] == [("M006", hint) for hint in hints]


def test_what_a_batch_needs_off_is_switched_off_with_it_on_request() -> None:
    assert ids(switch_off(manifest(THREE), ["petit"], with_needs=True)) == []
    assert ids(switch_off(manifest(THREE), ["rocm", "quark", "petit"])) == []
    assert ids(switch_off(manifest(THREE), ["notes"], with_needs=True)) == ["rocm", "quark", "petit"]


def test_the_options_of_a_build_switch_off_what_the_batches_need_off() -> None:
    it = manifest(THREE)
    assert options(it, ["rocm"]) == "--without rocm"
    assert options(it, ["petit"]) == "--without petit --with-needs"
    assert options(it, ["petit", "quark", "rocm"]) == "--without petit --without quark --without rocm"
    for names in (["rocm"], ["quark"], ["petit"], ["notes"]):
        assert switch_off(it, names, with_needs="--with-needs" in options(it, names))


def test_the_options_of_a_build_repeat_what_is_off_already() -> None:
    without_quark = switch_off(
        manifest(THREE.replace("follows: [quark, rocm]", "follows: []")), ["rocm", "quark"]
    )
    assert ids(without_quark) == ["petit", "notes"]
    assert options(without_quark, ["petit"]) == "--without petit --with-needs"


def test_what_the_scope_switches_off_counts_for_what_a_batch_needs_off() -> None:
    scopes = "scopes:\n  amd: {why: AMD., without: [rocm, quark], pins: [seed]}\n"
    whole = manifest(scopes + THREE)
    chosen = choose(switch_off(whole, ["petit"], scope="amd"), "amd")
    assert ids(chosen) == []
    assert options(choose(whole, "amd"), ["petit"]) == "--scope amd --without petit"
    with pytest.raises(BuildError, match="C002"):
        switch_off(whole, ["petit"])


def test_a_batch_goes_off_with_any_of_those_that_it_follows() -> None:
    assert ids(switch_off(manifest(THREE), ["rocm"])) == ["quark", "petit"]
    assert ids(switch_off(manifest(THREE), ["notes"])) == ["rocm", "quark", "petit"]


def test_kinds_are_read_and_a_batch_is_a_feature_unless_it_says_otherwise() -> None:
    assert [b.kind for b in manifest(THREE).batches[1:]] == ["feature", "feature", "feature", "housekeeping"]


def test_batches_that_need_themselves_are_told_once_for_each_circle() -> None:
    text = HEAD + (
        "batches:\n"
        "  - {id: a, why: A., needs: [a]}\n"
        "  - {id: b, why: B., needs: [c]}\n"
        "  - {id: c, why: C., needs: [d]}\n"
        "  - {id: d, why: D., needs: [b]}\n"
        "  - {id: e, why: E., follows: [e]}\n"
    )
    assert [(p.code, p.message) for p in problems(text)] == [
        ("M014", "The batch `a` needs itself."),
        ("M014", "The batch `b` needs itself in a circle: `b` -> `c` -> `d` -> `b`."),
        ("M014", "The batch `e` follows itself."),
    ]


def test_relations_to_batches_that_do_not_exist_are_told_with_the_nearest_name() -> None:
    text = HEAD + (
        "batches:\n"
        "  - {id: rocm, why: AMD.}\n"
        "  - {id: quark, why: Q., needs: [rocn], follows: [rocmm],\n"
        "     remove: [{path: a/, without: rcm}, {path: b/, without: [quark]}]}\n"
    )
    found = problems(text)
    assert [(p.code, p.hint) for p in found] == [
        ("M006", "did you mean `rocm`?"),
        ("M006", "did you mean `rocm`?"),
        ("M006", "did you mean `rocm`?"),
        ("M011", "move it to another batch, or delete it"),
    ]
    assert "`a/`" in found[2].message and "`b/`" in found[3].message


NAMES = [f"b{number}" for number in range(6)]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.booleans()), max_size=12),
       st.lists(st.sampled_from(NAMES), max_size=3))  # fmt: skip
def test_what_is_off_together_is_closed_and_no_larger_than_it_must_be(
    links: list[tuple[str, str, bool]], asked: list[str]
) -> None:
    links = list({(a, b): (a, b, needs) for a, b, needs in links if a > b}.values())  # no circles
    rows = []
    for name in NAMES:
        needs = [b for a, b, n in links if a == name and n]
        follows = [b for a, b, n in links if a == name and not n]
        rows.append(f"  - {{id: {name}, why: A., needs: {needs}, follows: {follows}}}\n")
    it = manifest("batches:\n" + "".join(rows).replace("'", ""))
    off = set(off_with(it, asked, with_needs=True))
    assert off >= set(asked)
    assert all(b in off for a, b, needs in links if needs and a in off)
    assert all(a in off for a, b, needs in links if not needs and b in off)
    for extra in off - set(asked):
        said = [b for a, b, n in links if a == extra and not n] + [a for a, b, n in links if b == extra and n]
        assert off.intersection(said)
    left = ids(switch_off(it, asked, with_needs=True))
    assert left == [name for name in NAMES if name not in off]


def test_a_file_given_back_outside_the_packages_leaves_where_it_uses_what_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = {"page": load("cuts/given_back.yaml"), "without": ["bench"]}
    files, asked = upstream(case), stated(case)
    reason = cut(files, asked).decided.removed["bench/awq.py"].pattern
    assert reason.startswith(f"{BROKEN} (G002 bench/awq.py:1: no module named pkg.awq")
    # without the step that removes it, a gate stops the build
    monkeypatch.setattr(cutting, "broken_files", lambda done: {})
    with pytest.raises(BuildError) as caught:
        verify(cut(files, asked))
    assert {p.code for p in caught.value.problems} == {"G002"}
