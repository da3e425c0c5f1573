"""since and until: where matching nothing is a mistake, where matching is one, and what says nothing true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from gate_worlds import snapshot
from manifest_text import HEAD, problems, schema
from manifest_text import manifest as parsed
from small_files import FILES
from small_world import World

from builder.errors import BuildError, Problem
from builder.manifest.load import load, parse, read_overlays
from builder.manifest.model import Manifest
from builder.manifest.statements import Span, stated
from builder.pipeline.cut import cut
from builder.pipeline.ranges import UNKNOWN, About, about, elsewhere, excused, mistakes
from builder.pipeline.verify import verify
from builder.tree import Tree
from builder.upstream.model import MemoryBlobs, Upstream

PINS = """\
    old: {commit: 1123456789abcdef0123456789abcdef01234567, version: 1.0.0}
    mid: {commit: 2123456789abcdef0123456789abcdef01234567, version: 1.1.0.dev0}
    new: {sdist: "1.2.0", sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}
"""
SEED = "    seed: {commit: 0123456789abcdef0123456789abcdef01234567}\n"
VERSIONED = HEAD.replace(SEED, PINS).replace("default: seed", "default: old")


def said(rule: str, head: str = VERSIONED) -> list[tuple[str, str]]:
    found = problems(f"{head}keep: [python/, {rule}]\nbatches: []\n")
    return [(p.code, f"{p.message} {p.hint}") for p in found]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("{path: docs/, since: x1}", "is not written as it should be"),
        ("{path: docs/, since: 1.0.0-what-is-this}", "is not a version"),
        ("{path: docs/, since: 1.1.0, until: 1.0.0}", "is an empty range"),
        ("{path: docs/, since: 1.3.0}", "no pin lies in this range"),
        ("{path: docs/, until: 0.9.0}", "no pin lies in this range"),
        ("{path: docs/, until: 1.2.0}", "every pin lies in this range"),
        ("{path: docs/, since: 0.1.0}", "every pin lies in this range"),
        ("{path: docs/, since: 1.1.0.dev0, optional: an example}", "has both"),
    ],
)
def test_a_range_that_is_none_or_that_no_pin_shows_is_an_error(rule: str, words: str) -> None:
    ((code, message),) = said(rule)
    assert (code, words in message) == ("M004" if "written" in words else "M013", True), message


@pytest.mark.parametrize(
    "keys",
    [
        "since: 1.1.0.dev0",
        "until: 1.0.0",
        "since: 1.0.1, until: 1.1.0",
        "since: 1.2",
        "since: 1.0.1, until: 1.0.2",
    ],
)
def test_a_range_that_parts_the_pins_is_fine(keys: str) -> None:
    assert said(f"{{path: docs/, {keys}}}") == []


def test_a_pin_whose_version_only_its_files_say_may_show_any_range() -> None:
    assert said("{path: docs/, since: 9.0.0}", HEAD) == []


@pytest.mark.parametrize(
    "reason",
    [
        "came after 0.5.9", "until 0.5.7", "the name after 0.5.12", "the sdist holds python/ only",
        "later upstreams lack it", "moved here after the seed", "not in every upstream", "came later",
        "the releases next to the pin", "mended at the release", "renamed after the release pin",
    ],
)  # fmt: skip
def test_a_reason_that_is_a_matter_of_versions_is_an_error_that_says_what_to_write(reason: str) -> None:
    ((code, message),) = said(f"{{path: docs/, optional: {reason}}}")
    assert code == "M013" and "since: VERSION" in message and reason in message


@pytest.mark.parametrize(
    "reason",
    ["its batch may be off", "only models that leave have one", "only commits between two releases have it"],
)
def test_any_other_reason_stays(reason: str) -> None:
    assert said(f"{{path: docs/, optional: {reason}}}") == []


def test_models_have_ranges_too() -> None:
    text = f"{VERSIONED}batches: [{{id: a, why: w, models: [{{name: one, optional: came after 0.5.9}}]}}]\n"
    assert [p.code for p in problems(text)] == ["M013"]
    assert problems(text.replace("optional: came after 0.5.9", "since: 1.2.0")) == ()


# ---------------------------------------------------------------- one upstream

RANGED = """\
keep: [python/, {path: docs/, since: "1.1"}, {path: lib/, until: "1.1"}]
facts: {predicates: {pkg.f: {value: false, since: "1.1"}, pkg.g: false}}
batches: []
"""


def reasons(known: About, within: tuple[str, ...] = (), text: str = RANGED) -> dict[str, str | None]:
    found = excused(parsed(text), known, within)
    return {getattr(s, "pattern", getattr(s, "name", "")): s.optional for s in stated(found)}


def test_inside_of_its_range_a_statement_has_no_excuse_and_outside_it_has() -> None:
    assert {k for k, v in reasons(About("1.2")).items() if v} == {"lib/"}
    assert {k for k, v in reasons(About("1.0")).items() if v} == {"docs/", "pkg.f"}
    assert {k for k, v in reasons(About("1.1")).items() if v} == set()  # both ends belong to a range


def test_where_nobody_knows_the_version_every_range_is_an_excuse() -> None:
    assert {k for k, v in reasons(UNKNOWN).items() if v} == {"docs/", "lib/", "pkg.f"}


def test_only_at_a_pin_a_statement_is_held_to_its_range() -> None:
    for known, beyond in ((About("1.0"), None), (About("1.0", "old"), "old (1.0)")):
        spans = [s.span for s in stated(excused(parsed(RANGED), known, ())) if s.span.since]
        assert spans == [Span("1.1", None, beyond)] * 2


def test_what_a_partial_upstream_does_not_hold_is_not_asked_of_it() -> None:
    text = """\
keep: [python/, docs/]
absent: {symbols: [kernel.f, pkg.f, torch.f]}
batches:
  - id: a
    why: w
    edits: [{drop_statement: x(), in: kernel.m}]
    toml: [{file: kernel/pyproject.toml, remove: a}, {file: python/pyproject.toml, remove: a}]
guarantees: {absent_text: [{pattern: x, in: [python/], except: [{path: kernel/, text: x, why: w}]}]}
"""
    rows = "kept: [{id: k, what: w, decision: d, keeps: [kernel.f, docs/, pkg.f]}]\n"
    asked = replace(
        parsed(text, scope=rows), packages={"pkg": "python/pkg", "kernel": "kernel/python/kernel"}
    )
    found = excused(asked, About(), ("python",))
    away = {(type(s).__name__, s.mark.line) for s in stated(found) if s.optional}
    start = HEAD.count("\n")
    assert {(kind, line - start) for kind, line in away} == {
        ("Rule", 1), ("Absent", 2), ("Edit", 6), ("TomlEdit", 7), ("TextException", 8), ("Kept", 1 - start)
    }  # fmt: skip
    assert [s.name for b in found.batches for s in b.absent if s.optional] == ["kernel.f"]


def test_several_names_are_one_statement_that_holds_as_soon_as_one_of_them_does() -> None:
    stated_as = parsed("""\
absent: {symbols: [{name: [pkg.a, pkg.b]}]}
batches:
  - id: a
    why: w
    drop: [{name: [pkg.a, pkg.b]}]
    stub: [{name: [pkg.c, pkg.d], why: w}]
    edits: [{drop_statement: x(), in: [pkg.a, pkg.b]}]
guarantees: {absent_text: [{pattern: x, in: [python/], except: [{path: [a/, b/], why: w}]}]}
""")
    edits = stated_as.batches[1].edits
    assert [(e.kind, e.target) for e in edits] == [
        ("drop", "pkg.a"), ("drop", "pkg.b"), ("stub", "pkg.c"), ("stub", "pkg.d"),
        ("drop-statement", "pkg.a"), ("drop-statement", "pkg.b"),
    ]  # fmt: skip
    assert len({e.mark for e in edits}) == 3
    names = (*stated_as.batches[0].absent, *edits, *stated_as.guarantees.absent_text[0].exceptions)
    for one in names:
        missed = Problem("R005", f"{one} is not there", one.mark, nothing=True)
        other = Problem("R005", "nor is the other", one.mark, nothing=True)
        wrong = Problem("R004", "it is there twice", one.mark)
        assert mistakes([missed, wrong], stated_as) == [wrong]
        assert mistakes([missed, other], stated_as) == [missed, other]


# ---------------------------------------------------------------- a whole cut

#: What stands before a statement in the small world, the statement, what upstream has of it and what not.
STATEMENTS = {
    "rule": ("keep:\n", "  - {path: %s, RANGE}\n", "python/acme/", "gone/"),
    "quiet": ("  quiet_imports: [", "{name: %s, RANGE}, ", "sys", "nowhere_at_all"),
    "absent": ("absent:\n  modules: [", "{name: %s, RANGE}, ", "fancy", "nowhere_at_all"),
    "edit": (
        "    drop:\n", "      - {name: %s, RANGE}\n",
        "acme.server.helper_of_fancy", "acme.server.nothing",
    ),
    "toml": (
        "    toml:\n", "      - {file: python/pyproject.toml, remove: project.%s, RANGE}\n",
        "description", "nothing",
    ),
    "edge": (
        "  dynamic:\n", "    - {from: %s, to: acme.models.*, why: w, RANGE}\n",
        "acme.models.registry", "acme.nothing",
    ),
}  # fmt: skip
MISSES = {"rule": "R001", "quiet": "R009", "absent": "R009", "edit": "R005", "toml": "R005", "edge": "R009"}


UPSTREAM = snapshot(FILES)


def stating(world: World, kind: str, name: str) -> Manifest:
    """The small world's manifest with one more statement, made since version 1.6."""
    place, statement, *_ = STATEMENTS[kind]
    text = world.manifest.read_text("utf-8")
    assert place in text
    more = (statement % name).replace("RANGE", 'since: "1.6"')
    return parse(text.replace(place, place + more, 1).encode(), "manifest.yaml", *world_files(world))


def world_files(world: World) -> tuple[Mapping[str, bytes], Mapping[str, Any]]:
    return read_overlays(world.home)[0], schema()


def problem_of(manifest: Manifest, known: About) -> tuple[Problem, ...]:
    try:
        verify(cut(UPSTREAM, manifest, about=known))
    except BuildError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("kind", STATEMENTS)
def test_outside_of_its_range_a_statement_may_miss_and_inside_it_must_not(world: World, kind: str) -> None:
    *_, missing = STATEMENTS[kind]
    manifest = stating(world, kind, missing)
    for known in (About("1.1", "seed"), About("1.1"), UNKNOWN):
        assert problem_of(manifest, known) == ()
    for known in (About("1.6", "seed"), About("1.6")):
        assert {p.code for p in problem_of(manifest, known)} == {MISSES[kind]}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_at_an_upstream_that_is_no_pin_a_statement_that_matches_nothing_is_listed(
    world: World, kind: str
) -> None:
    _, _, there, missing = STATEMENTS[kind]
    unproven = About("1.6", unproven=True)
    for name in (there, missing):
        manifest = stating(world, kind, name)
        assert problem_of(manifest, unproven) == ()
        listed = cut(UPSTREAM, manifest, about=unproven).unmatched
        # an edge is compared with the output, by a gate
        assert len(listed) == (name == missing and kind != "edge"), listed


@pytest.mark.parametrize("kind", STATEMENTS)
def test_only_a_pin_outside_of_its_range_must_not_have_what_it_names(world: World, kind: str) -> None:
    _, _, there, _ = STATEMENTS[kind]
    manifest = stating(world, kind, there)
    trees = set()
    for known in (About("1.6", "seed"), About("1.1"), UNKNOWN):
        assert problem_of(manifest, known) == ()
        trees.add(cut(UPSTREAM, manifest, about=known).output.tree.id)
    assert len(trees) == 1  # the output never depends on what upstream calls itself
    (problem,) = problem_of(manifest, About("1.1", "seed"))
    assert problem.code == "R011" and problem.mark is not None
    assert problem.message.endswith("says `since: 1.6`, and it matches at the pin seed (1.1) too.")
    assert problem.hint == "write `since: 1.1`, or remove `since`"


def test_with_a_batch_off_no_range_is_shown_untrue(world: World) -> None:
    manifest = load(world.manifest)
    found = Upstream("seed", "1" * 40, Tree({}), "a mirror", 0, None, MemoryBlobs({}))
    assert about(found, manifest) == About("1.2.3", "seed", "git")
    assert about(found, manifest, ("awk",)) == About("1.2.3", None, "git")


def test_a_release_is_known_by_its_version_and_any_other_commit_is_not(world: World) -> None:
    manifest = load(world.manifest)
    release = Upstream("pypi:1.5", "1" * 40, Tree({}), "acme 1.5", 0, "1.5", MemoryBlobs({}), kind="sdist")
    assert about(release, manifest) == About("1.5", None, "sdist", unproven=True)
    assert about(replace(release, spec="main", kind="git"), manifest) == About(
        None, None, "git", unproven=True
    )


def test_a_wheel_does_not_state_the_tables_of_tools() -> None:
    manifest = parsed("""\
keep: [python/]
batches:
  - id: a
    why: w
    toml:
      - {file: python/pyproject.toml, remove: tool.uv}
      - {file: python/pyproject.toml, remove: project.dependencies, value: a}
""")
    for kind, expected in (("wheel", {"tool.uv"}), ("sdist", set())):
        asked = excused(manifest, About("1.2", "new", kind), ("python/pkg",))  # type: ignore[arg-type]
        tables = [t for b in asked.batches for t in b.toml]
        assert {t.key for t in tables if t.optional} == expected
    marks = elsewhere(manifest, About("1.2", "new", "wheel"), ("python/pkg",))
    assert {t.key for b in manifest.batches for t in b.toml if t.mark in marks} == {"tool.uv"}
