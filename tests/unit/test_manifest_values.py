"""The values that a manifest gives: rules, facts, options, edits."""

from __future__ import annotations

import pytest
from manifest_text import BATCH, HEAD, NEXT, batch, manifest, problems, schema

from builder.errors import Mark
from builder.manifest.load import parse
from builder.manifest.model import Project
from builder.manifest.statements import Absent, Edit, Fact, Option, Patch, Rule, TomlEdit, WholeFile
from builder.pipeline.run import digest_of
from builder.specialize.evaluating.facts import Facts, Registry


def test_the_top_level_is_the_batch_base() -> None:
    it = manifest("keep: [python/]\nfacts: {predicates: {pkg.is_x: false}}\nbatches: [{id: a, why: b}]\n")
    assert [b.id for b in it.batches] == ["base", "a"]
    assert it.batches[0].rules == (Rule("python/", "keep", "base", mark=Mark("manifest.yaml", NEXT, 8)),)
    assert it.batches[0].facts[0].batch == "base"


def test_rules_of_a_batch_stand_in_the_order_in_which_they_decide() -> None:
    it = parse(
        batch(
            "keep: [python/a/b]\nprune: [{path: python/c/, optional: later}]\nremove: [python/a/]"
        ).encode(),
        "manifest.yaml",
        {},
        schema(),
    )
    rules = it.batches[1].rules
    assert [(r.verdict, r.pattern) for r in rules] == [
        ("remove", "python/a/"),
        ("prune", "python/c/"),
        ("keep", "python/a/b"),
    ]
    assert rules[1].optional == "later"
    assert rules[1].mark == Mark("manifest.yaml", NEXT + 4, 20)


def test_facts_know_whether_their_value_is_exact() -> None:
    text = """\
facts:
  predicates: {a.b: false, a.c: truthy, a.d: {value: falsy, optional: an example}}
  values: {torch.version.hip: null}
  environment: {USE_X: "0"}
  attributes: [torch.xpu]
  pure: [get_flag]
  environment_readers: [a.b.get_flag, {name: get_number, optional: an example}]
  quiet_imports: [torch, google.protobuf]
  bases: [torch.nn.Module]
  registries: [{row: a.R, key: op, target: at, registered_by: a.add, held_by: a.all, asked_by: [a.get, a.of]}]
  defaults: {torch.compile: {disable: false}}
  options: [{names: ["*backend*"], absent: [fa3, 4, 0.5, "0.5"]}]
batches: []
"""
    facts = manifest(text).batches[0].facts
    assert [(f.kind, f.name, f.value, f.exact) for f in facts] == [
        ("predicate", "a.b", False, True),
        ("predicate", "a.c", True, False),
        ("predicate", "a.d", False, False),
        ("value", "torch.version.hip", None, True),
        ("environment", "USE_X", "0", True),
        ("default", "torch.compile:disable", False, True),
        ("attribute", "torch.xpu", False, True),
        ("pure", "get_flag", True, True),
        ("environment-reader", "a.b.get_flag", True, True),
        ("environment-reader", "get_number", True, True),
        ("quiet-import", "torch", True, True),
        ("quiet-import", "google.protobuf", True, True),
        ("base", "torch.nn.Module", True, True),
        ("registry", "a.R", "op at a.add a.all a.get a.of", True),
    ]
    known = Facts.of(manifest(text))
    assert known.environment_readers == {"a.b.get_flag", "get_number"}
    assert known.quiet_imports == {"torch", "google.protobuf"}
    asked = frozenset(["a.get", "a.of"])
    assert known.registries == (Registry("a.R", "op", "at", "a.add", "a.all", asked),)
    assert facts[2].optional == "an example"
    assert facts[1] == Fact("predicate", "a.c", True, "base", False, mark=Mark("manifest.yaml", NEXT + 1, 28))
    options = manifest(text).batches[0].options
    assert options == (
        Option(("*backend*",), ("fa3", 4, 0.5, "0.5"), "base", mark=Mark("manifest.yaml", NEXT + 11, 13)),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1.0),
        ("0.10", 0.1),
        ("-2.5", -2.5),
        ("+.5", 0.5),
        ("3.", 3.0),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("1", 1),
        ('"1.0"', "1.0"),
        ("{value: 1.0, optional: later}", 1.0),
        ('{value: "1.0"}', "1.0"),
        ("1.2.3", "1.2.3"),
        ("007.5", "007.5"),
        ("1_0.5", "1_0.5"),
        ("|-\n      1.0", "1.0"),
        ('"off"', "off"),
        ('"truthy"', "truthy"),
    ],
)
@pytest.mark.parametrize("kind", ["predicates", "values", "environment"])
def test_a_fact_has_the_number_that_it_states(kind: str, text: str, value: object) -> None:
    (fact,) = manifest(f"facts:\n  {kind}:\n    a: {text}\nbatches: []\n").batches[0].facts
    assert (fact.value, type(fact.value), fact.exact) == (value, type(value), True)


def test_numbers_that_are_not_equal_in_kind_are_different_facts() -> None:
    digests = set()
    for text in ("1", "1.0", "true", '"1.0"', "truthy"):
        digests.add(digest_of(Facts.of(manifest(f"facts: {{predicates: {{a.f: {text}}}}}\nbatches: []\n"))))
    assert len(digests) == 5
    text = "facts: {predicates: {a.f: 1}}\n" + BATCH + "    facts: {predicates: {a.f: 1.0}}\n"
    assert [p.code for p in problems(HEAD + text)] == ["M011"]


def test_an_absent_value_is_of_the_kind_that_is_stated() -> None:
    text = 'facts: {options: [{names: [x], absent: [1, 0.5, "2"]}, {names: [x], among: [a]}]}\nbatches: []\n'
    facts = Facts.of(manifest(text))
    values = (1, 1.0, True, 0.5, "0.5", "2", 2, "a", None)
    assert [v for v in values if facts.option_absent(["x"], v)] == [1, 0.5, "0.5", "2"]
    assert not facts.option_absent(["y"], 1)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", ".NaN", "1e999", "-1.0e400"])
def test_a_number_that_is_not_finite_is_refused(text: str) -> None:
    for line in (
        f"facts: {{predicates: {{a.f: {text}}}}}",
        f"facts: {{defaults: {{a.f: {{key: {{value: {text}}}}}}}}}",
        f"facts: {{options: [{{names: [x], absent: [{text}]}}]}}",
    ):
        (problem,) = problems(HEAD + line + "\nbatches: []\n")
        assert (problem.code, problem.message) == ("M004", f"`{text}` is not a finite number.")
        assert problem.mark == Mark("manifest.yaml", NEXT, line.index(text) + 1)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "ON",
        "off",
        "maybe",
        "none",
        "None",
        "NULl",
        "tRUE",
        "fALSE",
        "Truthy",
        "nul",
        "flase",
        "falsey",
    ],
)
def test_a_word_that_reads_like_another_value_must_be_quoted(text: str) -> None:
    (problem,) = problems(HEAD + f"facts: {{predicates: {{a.f: {text}}}}}\nbatches: []\n")
    assert (problem.code, problem.message) == ("M004", f"`{text}` would be the text `{text}`.")
    assert problem.hint is not None
    assert "truthy" in problem.hint
    assert "quote" in problem.hint
    assert not problems(HEAD + f"facts: {{predicates: {{a.f: '{text}'}}}}\nbatches: []\n")


def test_every_verb_of_an_edit_becomes_its_kind() -> None:
    text = batch("""\
drop: [a.B, {name: a.C, why: w, count: 2, optional: o}]
stub: [a.f]
edits:
  - {set: a.X, to: "[1, 2]"}
  - {drop_import: torch.npu, in: a}
  - {drop_entry: '"npu": f', in: a.T, count: 2}
  - {drop_statement: f(), in: a.g}
  - {replace: x or y, by: x, in: a.g}
  - {body: a.h, from: overlays/h.py}""")
    edits = parse(text.encode(), "m", {"overlays/h.py": b"pass\n"}, schema()).batches[1].edits
    assert [(e.kind, e.target, e.match, e.by, e.count, e.why) for e in edits] == [
        ("drop", "a.B", None, None, 1, "because"),
        ("drop", "a.C", None, None, 2, "w"),
        ("stub", "a.f", None, None, 1, "because"),
        ("set", "a.X", None, "[1, 2]", 1, "because"),
        ("drop-import", "a", "torch.npu", None, 1, "because"),
        ("drop-entry", "a.T", '"npu": f', None, 2, "because"),
        ("drop-statement", "a.g", "f()", None, 1, "because"),
        ("replace", "a.g", "x or y", "x", 1, "because"),
        ("body", "a.h", None, "overlays/h.py", 1, "because"),
    ]
    assert edits[1] == Edit("drop", "a.C", "one", "w", count=2, optional="o", mark=Mark("m", NEXT + 3, 24))


def test_files_patches_and_anchored_edits_are_read() -> None:
    blob = "a" * 40
    text = batch(f"""\
files: [{{path: python/x.py, from: overlays/x.py, preimage: [{blob}]}}]
patches: [{{from: overlays/p.patch, why: no other way}}]
toml: [{{file: python/pyproject.toml, remove: project.dependencies, value: grpcio}}]
anchored: [{{file: k/a.cc, statement: 'm.def("f'}}]
absent: {{modules: [aiter], symbols: [{{name: a.B, optional: o}}]}}""")
    made = parse(text.encode(), "m", {"overlays/x.py": b"", "overlays/p.patch": b""}, schema()).batches[1]
    line = NEXT + 3
    assert made.files == (
        WholeFile("python/x.py", "overlays/x.py", (blob,), "one", "because", mark=Mark("m", line, 13)),
    )
    assert made.patches == (Patch("overlays/p.patch", "no other way", "one", mark=Mark("m", line + 1, 15)),)
    toml = TomlEdit(
        "python/pyproject.toml",
        "remove",
        "project.dependencies",
        "grpcio",
        "one",
        "because",
        mark=Mark("m", line + 2, 12),
    )
    assert made.toml == (toml,)
    assert (made.anchored[0].kind, made.anchored[0].anchor) == ("statement", 'm.def("f')
    assert made.absent == (
        Absent("module", "aiter", "one", mark=Mark("m", line + 4, 24)),
        Absent("symbol", "a.B", "one", mark=Mark("m", line + 4, 49), optional="o"),
    )


def test_marks_of_any_value_can_be_asked_for() -> None:
    it = manifest()
    assert it.mark("roots", "models", "keep", 0) == Mark("manifest.yaml", 11, 40)
    assert it.mark("roots", "nowhere") == it.mark("roots")


@pytest.mark.parametrize(
    ("packages", "more", "project"),
    [
        ("{pkg: python/pkg}", "", Project("pkg", "python")),
        ("{a_b.c: lib/src/a_b/c, other: x/other}", "", Project("a-b", "lib")),
        ("{pkg: src/pkg}", "", Project("pkg", "")),
        ("{pkg: deep/src/pkg}", "", Project("pkg", "deep")),
        ("{pkg: pkg}", "", Project("pkg", "")),
        ("{yaml: lib/yaml}", "  project: PyYAML\n  folder: .\n", Project("PyYAML", "")),
        ("{pkg: a/pkg}", "  folder: b/c/\n", Project("pkg", "b/c")),
    ],
)
def test_the_project_is_that_of_the_first_package_unless_it_is_stated(
    packages: str, more: str, project: Project
) -> None:
    text = HEAD.replace("{pkg: python/pkg}", packages).replace(
        "  default: seed\n", f"  default: seed\n{more}"
    )
    it = parse(f"{text}batches: []\n".encode(), "manifest.yaml", {}, schema())
    assert it.upstream.project == project
