"""Named scopes: what the manifest may state of them, what choosing one changes, and how they are locked."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from manifest_text import HEAD, manifest, problems, schema
from test_emit_lock import PROOF

from builder.emit.lock import Edited, drift, from_bytes, known, record
from builder.emit.scope_page import scope_page
from builder.errors import BuildError
from builder.manifest.load import load, parse
from builder.manifest.model import Manifest
from builder.manifest.switches import choose, options
from builder.pipeline.build import Build
from builder.pipeline.ranges import UNKNOWN, excused

ROOT = Path(__file__).parents[2]

REST = """\
batches:
  - {id: fancy, why: not served, remove: [python/pkg/fancy/]}
  - {id: plain, why: not served, remove: [python/pkg/plain/]}
scopes:
  large:
    why: all of it
    without: [fancy]
    models: [two]
    pins: [seed]
  small-wheel:
    why: one architecture
    architectures: [sm90]
    pins: [seed]
kernel:
  distributions: [sgl-kernel]
  architectures: {keep: [sm90, sm100]}
  remove: [{path: fancy.so, batch: fancy}, {path: plain.so, batch: plain}]
"""


def ids(stated: Manifest) -> list[str]:
    return [batch.id for batch in stated.batches]


def test_the_default_scope_is_the_manifest_as_it_stands() -> None:
    stated = manifest(REST)
    assert choose(stated, "default") is stated
    assert stated.named_scope is None and ids(stated) == ["base", "fancy", "plain"]


def test_a_scope_switches_batches_off_and_keeps_models_beside_those_of_the_roots() -> None:
    large = choose(manifest(REST), "large")
    assert ids(large) == ["base", "plain"]
    assert large.roots.models == ("one", "two")
    assert large.kernel is not None
    assert [rule.pattern for rule in large.kernel.remove] == ["plain.so"]
    assert [a.name for a in large.kernel.architectures] == ["sm90", "sm100"]


def test_a_model_and_a_name_may_be_kept_only_without_a_batch() -> None:
    head = HEAD.replace("keep: [one]", "keep: [one, {name: two, without: fancy}]")
    rest = REST.replace("models: [two]", "models: [three]")
    rest += "guarantees: {present: [pkg.a, {name: pkg.b, without: fancy}]}\n"
    stated = parse((head + rest).encode(), "manifest.yaml", {}, schema())
    here, large = excused(stated, UNKNOWN, ()), excused(choose(stated, "large"), UNKNOWN, ())
    assert here.roots.models == ("one",) and large.roots.models == ("one", "two", "three")
    assert [name.name for name in here.guarantees.present] == ["pkg.a"]
    assert [name.name for name in large.guarantees.present] == ["pkg.a", "pkg.b"]
    assert large.model_mark("two") == stated.mark("roots", "models", "keep", 1, "name")
    assert large.model_mark("three") == stated.mark("scopes", "large", "models", 0)


SMALL = REST.replace("scopes:\n", "scopes:\n  small: {why: less of it, with: [plain], pins: [seed]}\n")


def test_a_batch_that_a_scope_adds_is_off_in_every_other_one() -> None:
    stated = manifest(SMALL)
    assert ids(choose(stated, "default")) == ["base", "fancy"]
    assert ids(choose(stated, "large")) == ["base"]
    assert ids(choose(stated, "small")) == ["base", "fancy", "plain"]
    assert stated.scopes["small"].changes_distribution


def test_a_batch_that_is_off_in_a_scope_is_switched_on() -> None:
    stated = manifest(SMALL)
    default, large = choose(stated, "default", ["plain"]), choose(stated, "large", ["plain"])
    assert (ids(default), ids(large)) == (["base", "fancy", "plain"], ["base", "plain"])
    assert default.switched_on == large.switched_on == ("plain",)
    # what a scope switches off is switched on as well
    assert ids(choose(stated, "large", ["fancy"])) == ["base", "fancy"]


def test_the_options_of_a_build_repeat_what_is_switched_on() -> None:
    more = REST.replace("scopes:\n", "scopes:\n  small: {why: less, with: [plain, fancy], pins: [seed]}\n")
    both = choose(manifest(more), "default", ["plain", "fancy"])
    assert both.switched_on == ("fancy", "plain")
    assert options(both, ["plain"]) == "--with fancy"
    assert options(both, ["plain", "fancy"]) == "--scope default"
    one = choose(manifest(SMALL), "large", ["plain"])
    assert options(one, ["plain"]) == "--scope large"
    assert options(choose(manifest(SMALL), "default", ["plain"]), ["fancy"]) == "--without fancy --with plain"


@pytest.mark.parametrize(
    ("on", "code", "message", "hint"),
    [
        ("plane", "M006", "There is no batch `plane`.", "did you mean `plain`?"),
        ("plain,fancy", "M006", "no batch `plain,fancy`", "repeat the option: `--with plain --with fancy`"),
        ("base", "M006", "cannot be switched", None),
        ("fancy", "C001", "The batch `fancy` is on in the scope `default` already.", "remove `--with fancy`"),
        ("last", "C002", "`last` can be on only where `plain` is on too.", "add `--with plain`"),
        ("tail", "C002", "`tail` can be on only where `needy` is on too.", "add `--with needy`"),
    ],
)
def test_what_cannot_be_switched_on_is_told(on: str, code: str, message: str, hint: str | None) -> None:
    text = SMALL.replace("scopes:", "  - {id: last, why: so, follows: [plain]}\nscopes:", 1)
    text = text.replace(
        "scopes:", "  - {id: needy, why: so, needs: [tail]}\n  - {id: tail, why: so}\nscopes:", 1
    )
    stated = manifest(text.replace("with: [plain]", "with: [plain, last, needy, tail]"))
    with pytest.raises(BuildError) as caught:
        choose(stated, "default", [on])
    (problem,) = caught.value.problems
    assert (problem.code, problem.hint) == (code, hint) and message in problem.message
    assert problem.mark is not None


def test_a_batch_is_not_on_and_off_in_one_scope() -> None:
    both = SMALL.replace("with: [plain]", "with: [plain], without: [plain]")
    assert [problem.message for problem in problems(HEAD + both)] == [
        "The batch `plain` is on and off in the scope `small`."
    ]


def test_a_scope_may_narrow_the_kernel_wheel_alone() -> None:
    stated = manifest(REST)
    small = choose(stated, "small-wheel")
    assert small.kernel is not None and [a.name for a in small.kernel.architectures] == ["sm90"]
    assert (small.batches, small.roots) == (stated.batches, stated.roots)


def test_a_model_of_a_scope_is_marked_where_it_stands() -> None:
    large = choose(manifest(REST), "large")
    lines = (HEAD + REST).splitlines()
    assert "models: [two]" in lines[large.model_mark("two").line - 1]
    assert "keep: [one]" in lines[large.model_mark("one").line - 1]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("larg", "did you mean `large`?"), ("defult", "did you mean `default`?"), ("zzz", "there is default")],
)
def test_an_unknown_scope_is_an_error_that_names_the_likely_one(name: str, hint: str) -> None:
    with pytest.raises(BuildError) as caught:
        choose(manifest(REST), name)
    (problem,) = caught.value.problems
    assert problem.code == "M015" and problem.hint is not None and problem.hint.startswith(hint)
    assert problem.mark is not None


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("without: [fancy]", "without: [fance]", "M006", "There is no batch `fance`."),
        ("models: [two]\n    pins: [seed]", "models: [two]\n    pins: [sed]", "M010", "The pin `sed`"),
        ("models: [two]", "models: [one]", "M015", "`one` is kept in every scope"),
        ("architectures: [sm90]\n", "architectures: [sm91]\n", "M015", "does not keep `sm91`"),
        ("    architectures: [sm90]\n", "", "M015", "`small-wheel` changes nothing"),
        ("  large:", "  default:", "M015", "cannot be stated"),
        ("  large:", "  Large!:", "M004", "Large!"),
        ("    why: all of it\n", "", "M004", "why"),
        ("without: [fancy]", "witout: [fancy]", "M005", "`witout` is not known"),
    ],
)
def test_what_is_wrong_in_a_scope_is_told_with_its_place(old: str, new: str, code: str, words: str) -> None:
    text = HEAD + REST
    assert old in text
    found = problems(text.replace(old, new, 1))
    assert any(p.code == code and words in p.message and p.mark for p in found), found


def test_the_label_names_what_is_switched_on() -> None:
    class Of:
        kind = "release"
        commit = None

    on = choose(manifest(SMALL), "large", ["plain"])
    assert Build(Of(), on).label == "deepseek.large.with.plain"  # type: ignore[arg-type]
    assert Build(Of(), on, ["awq"]).label == "deepseek.large.with.plain.without.awq"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "kind", "label"),
    [
        ("default", "git", "deepseek.g111111111"),
        ("large", "git", "deepseek.large.g111111111"),
        ("large", "release", "deepseek.large"),
        ("small-wheel", "git", "deepseek.g111111111"),  # the distribution is the default one
    ],
)
def test_the_label_names_a_scope_that_changes_the_distribution(name: str, kind: str, label: str) -> None:
    class Of:
        commit = "1" * 40

    of = Of()
    of.kind = kind  # type: ignore[attr-defined]
    chosen = choose(manifest(REST), name)
    assert Build(of, chosen).label == label  # type: ignore[arg-type]
    # what is off and an edited manifest stand between the scope and the commit
    base, commit, _ = label.partition(".g")
    end = commit and label[len(base) :]
    off, edited = "without.awq.fa3fa4", f"m{chosen.statements[:8]}"
    assert Build(of, chosen, ["fa3-fa4", "awq"]).label == f"{base}.{off}{end}"  # type: ignore[arg-type]
    other = Build(of, chosen, ["fa3-fa4", "awq"], Edited(None))  # type: ignore[arg-type]
    assert other.label == f"{base}.{off}.{edited}{end}"
    long = Build(of, chosen, [f"batch-{number}" for number in range(9)]).label  # type: ignore[arg-type]
    assert re.fullmatch(rf"{base}\.without\.x[0-9a-f]{{8}}{end}", long)


def test_the_lock_holds_a_proof_for_each_scope_and_pin(tmp_path: Path) -> None:
    other = replace(PROOF, output_tree="9" * 40)
    assert record(tmp_path, "seed", PROOF, "") == "manifest.lock records 'seed'."
    said = record(tmp_path, "seed", other, "", "large")
    assert said == "manifest.lock records 'seed' in the scope large."
    assert known(tmp_path)["seed"] == PROOF and known(tmp_path, "large")["seed"] == other
    assert drift(known(tmp_path, "large"), "seed", other) is None
    with pytest.raises(BuildError, match="G012"):
        drift(known(tmp_path, "large"), "seed", PROOF)
    assert "not in manifest.lock" in str(drift(known(tmp_path, "small-wheel"), "seed", PROOF))


def test_the_lock_says_whether_a_pin_has_another_output_now(tmp_path: Path) -> None:
    record(tmp_path, "seed", PROOF, "")
    again = record(tmp_path, "seed", replace(PROOF, manifest="9" * 64), "")
    assert again == "manifest.lock records 'seed', with the same output tree."
    moved = record(tmp_path, "seed", replace(PROOF, output_tree="9" * 40), "")
    was = PROOF.output_tree[:12]
    assert moved == f"manifest.lock records 'seed': the output tree was {was} and is 999999999999."


def test_the_proof_of_a_named_scope_has_no_figures_of_batches(tmp_path: Path) -> None:
    proof = replace(PROOF, figures={"lines": {"before": 9, "after": 1}, "batches": {"fancy": {"lines": 8}}})
    record(tmp_path, "seed", proof, "")
    record(tmp_path, "seed", proof, "", "large")
    assert known(tmp_path)["seed"] == proof
    assert known(tmp_path, "large")["seed"].figures == {"lines": {"before": 9, "after": 1}}


def test_a_lock_without_named_scopes_has_no_section_for_them(tmp_path: Path) -> None:
    record(tmp_path, "seed", PROOF, "")
    assert sorted(json.loads((tmp_path / "manifest.lock").read_bytes())) == ["pins", "schema_version"]
    assert from_bytes((tmp_path / "manifest.lock").read_bytes()) == {"default": {"seed": PROOF}}


def test_the_page_of_the_scope_says_what_a_named_one_changes_and_where_it_is_proven() -> None:
    proof = replace(PROOF, figures={"lines": {"before": 9, "after": 1234}})
    page = scope_page(manifest(REST), {"large": {"seed": proof}})
    (row,) = [line for line in page.splitlines() if line.startswith("| **large**")]
    assert "without [fancy](#batch-fancy)" in row and "models/two.py" in row
    assert "seed: 1,234 lines of code, tree 444444444" in row
    assert "seed is not proven" in next(li for li in page.splitlines() if "| **small-wheel**" in li)
    assert "Named scopes" not in scope_page(manifest(), {})


def test_the_scopes_of_the_repository_are_stated() -> None:
    stated = load(ROOT / "manifest.yaml")
    assert list(stated.scopes) == ["v4", "hopper", "kernels-only-sm90", "minimal", "slim"]
    hopper = choose(stated, "hopper")
    assert hopper.kernel is not None
    assert not {"fa3-fa4", "flashmla"} & {rule.batch for rule in hopper.kernel.remove}
    assert {"fa3-fa4", "flashmla"}.isdisjoint(ids(hopper))
