"""Proposals put into a manifest's text: where they land, and that all else stays byte for byte."""

from __future__ import annotations

import difflib

import pytest
from manifest_text import HEAD, manifest

from builder.errors import Mark
from builder.lift.insert import Proposal, apply, scalar
from builder.lift.statements import batch_of, statements, words
from builder.manifest.model import Root
from builder.manifest.nodes import Findings, read
from builder.manifest.statements import Span

BETWEEN = Span(since="1.3.0.dev0", until="1.2.0")
BODY = """\
# a comment
keep:
  - python/a/   # why not
  - {path: python/b/, optional: some lack it}

batches:
  - id: one
    why: an example
    remove: [python/c.py, "python/d.py"]  # two
    drop:
      - pkg.m.f
      - {name: pkg.m.g, why: "it's here"}
    edits:
      # the first
      - drop_statement: |
          if a:
              b()

        in: pkg.m.h

      - {replace: x == "y", by: "False", in: pkg.m.i}
      - in: pkg.m.j
        replace: |-
          1 + 1
        by: |-
          2
    facts:
      predicates:
        pkg.m.is_a: false
        pkg.m.is_b: {value: false}
      options:
        - {names: [kind], absent: [z]}
  - id: two
    why: another
    anchored:
      - {file: k/CMakeLists.txt, block: X}
    facts:
      predicates: {pkg.m.is_c: false}
"""


def proposed(*proposals: Proposal) -> str:
    return apply(HEAD + BODY, proposals, BETWEEN)


def added(text: str) -> list[str]:
    rows = list(difflib.ndiff((HEAD + BODY).splitlines(), text.splitlines()))
    return [row[2:] for row in rows if row.startswith("+ ")]


def mark(text: str, inside: str | None = None) -> Mark:
    start = (HEAD + BODY).index(inside or text) + (inside or text).index(text)
    before = (HEAD + BODY)[:start]
    return Mark("manifest.yaml", before.count("\n") + 1, start - before.rfind("\n"))


def test_every_statement_can_say_how_long_it_matches_and_nothing_else_changes() -> None:
    found = manifest(BODY)
    wanted = [s for s in statements(found) if not s.optional and not isinstance(s, Root)]
    text = apply(HEAD + BODY, [Proposal("until", batch_of(s), s.mark) for s in wanted], BETWEEN)
    again = manifest(text.removeprefix(HEAD))
    spans = [s.span for s in statements(again) if s.optional != "some lack it" and not isinstance(s, Root)]
    assert spans == [Span(until="1.2.0")] * len(wanted)
    assert list(map(words, statements(again))) == list(map(words, statements(found)))
    assert "# a comment" in text and "# why not" in text and "# two" in text and "# the first" in text


@pytest.mark.parametrize(
    ("place", "row"),
    [
        (mark("python/a/"), "  - {path: python/a/, until: 1.2.0}   # why not"),
        (mark("python/c.py"), '    remove: [{path: python/c.py, until: 1.2.0}, "python/d.py"]  # two'),
        (mark('"python/d.py"'), '    remove: [python/c.py, {path: "python/d.py", until: 1.2.0}]  # two'),
        (mark("pkg.m.f"), "      - {name: pkg.m.f, until: 1.2.0}"),
        (mark("pkg.m.g"), '      - {name: pkg.m.g, why: "it\'s here", until: 1.2.0}'),
        (mark("drop_statement"), "        until: 1.2.0"),
        (mark("in: pkg.m.j"), "        until: 1.2.0"),
        (mark("pkg.m.is_a"), "        pkg.m.is_a: {value: false, until: 1.2.0}"),
        (mark("pkg.m.is_b"), "        pkg.m.is_b: {value: false, until: 1.2.0}"),
        (mark("pkg.m.is_c"), "      predicates: {pkg.m.is_c: {value: false, until: 1.2.0}}"),
    ],
)
def test_the_last_version_goes_where_the_item_is_written(place: Mark, row: str) -> None:
    assert added(proposed(Proposal("until", "one", place))) == [row]


@pytest.mark.parametrize(
    ("proposal", "before", "rows"),
    [
        (
            Proposal("rule", "base", key="keep", text="python/aa/"),
            "  - python/a/   # why not",
            ["  - {path: python/aa/, since: 1.3.0.dev0}"],
        ),
        (
            Proposal("rule", "one", key="remove", text="python/cc.py"),
            "    why: an example",
            ['    remove: [python/c.py, {path: python/cc.py, since: 1.3.0.dev0}, "python/d.py"]  # two'],
        ),
        (
            Proposal("rule", "two", key="remove", text="k/x.cu"),
            "    why: another",
            ["    remove:", "      - {path: k/x.cu, since: 1.3.0.dev0}"],
        ),
        (
            Proposal("pin", "base", key="release-1.3", text='{wheel: "1.3", sha256: abc}'),
            "    seed: {commit: 0123456789abcdef0123456789abcdef01234567}",
            ['    release-1.3: {wheel: "1.3", sha256: abc}'],
        ),
    ],
    ids=["beside the rule most like it", "in a list on one line", "behind the reason of its batch", "pin"],
)
def test_what_is_new_stands_where_its_like_does(proposal: Proposal, before: str, rows: list[str]) -> None:
    text = proposed(proposal)
    assert added(text) == rows
    assert "\n".join(["", before, *rows, ""]) in text


def test_two_rules_for_a_list_that_is_not_there_share_a_new_one() -> None:
    rules = [Proposal("rule", "two", key="remove", text=f"k/{name}.cu") for name in "xy"]
    facts = [Proposal("fact", "three", key="predicates", text=f"pkg.m.is_{name}") for name in "xy"]
    text = apply(HEAD + BODY + "  - id: three\n    why: a third\n", [*rules, *facts], BETWEEN)
    found = manifest(text.removeprefix(HEAD))
    assert [r.pattern for r in found.batches[2].rules] == ["k/x.cu", "k/y.cu"]
    assert [f.name for f in found.batches[3].facts] == ["pkg.m.is_x", "pkg.m.is_y"]


def test_a_fact_is_an_entry_of_its_batch() -> None:
    for batch in ("one", "two"):
        text = proposed(Proposal("fact", batch, key="predicates", text="pkg.m.is_z"))
        found = manifest(text.removeprefix(HEAD))
        (fact,) = [f for b in found.batches for f in b.facts if f.name == "pkg.m.is_z"]
        assert (fact.batch, fact.value, fact.span.since) == (batch, False, "1.3.0.dev0")


def test_a_moved_edit_is_a_copy_for_the_new_place_and_the_old_one_has_an_end() -> None:
    place = mark("drop_statement")
    text = proposed(
        Proposal("until", "one", place),
        Proposal("moved", "one", place, text="pkg.n.h"),
    )
    edits = [e for e in manifest(text.removeprefix(HEAD)).batches[1].edits if e.kind == "drop-statement"]
    assert [(e.target, e.span) for e in edits] == [
        ("pkg.m.h", Span(until="1.2.0")),
        ("pkg.n.h", Span(since="1.3.0.dev0")),
    ]
    assert edits[0].match == edits[1].match


def test_a_proposal_without_a_place_changes_nothing() -> None:
    nowhere = Proposal("until", "one", Mark("manifest.yaml", 1, 2))
    unknown = Proposal("rule", "three", key="remove", text="x")
    assert proposed(nowhere, unknown) == HEAD + BODY


def test_equal_proposals_are_one() -> None:
    one = Proposal("rule", "base", key="keep", text="python/z/")
    assert proposed(one, one) == proposed(one)


@pytest.mark.parametrize(
    "text",
    ["plain", "gone since 1a2b3c4d5 (#17)", "a: b", "a #b", "# a", "true", "No", "12", "", " a", "a ", "a,b",
     "[a]", "{a}", "it's", 'say "so"', "*", "&a", "!a", "%a", "@a", "`a`", "a\nb", "ä", "0123e4567", "~",
     "-a", "a:", "1e3", "docs/*.py", "/x"],
)  # fmt: skip
def test_any_text_is_read_back_as_it_was_in_both_layouts(text: str) -> None:
    for layout in (f"a: {scalar(text)}\n", f"{{a: {scalar(text)}, b: c}}\n", f"- [{scalar(text)}]\n"):
        found = read(layout.encode(), "x", Findings())
        assert not found.findings.problems
        value = found.data["a"] if isinstance(found.data, dict) else found.data[0][0]
        assert value == text


def test_a_version_that_other_readers_take_for_a_number_is_quoted() -> None:
    text = apply(HEAD + BODY, [Proposal("until", "one", mark("python/a/"))], Span("1.3", "1.2"))
    assert added(text) == ['  - {path: python/a/, until: "1.2"}   # why not']
