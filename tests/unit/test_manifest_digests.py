"""What the manifest says, as a digest: form does not count, statements and overlays do."""

from __future__ import annotations

import pytest
from manifest_text import batch, schema

from builder.manifest.load import parse


def test_the_digest_follows_every_input_and_nothing_else() -> None:
    text = batch("files: [{path: python/x.py, from: overlays/x.py}]").encode()
    one = parse(text, "manifest.yaml", {"overlays/x.py": b"1"}, schema())
    assert one.digest == parse(text, "other.yaml", {"overlays/x.py": b"1"}, schema()).digest
    assert (
        one.digest == parse(text, "m", {"overlays/README.md": b"?", "overlays/x.py": b"1"}, schema()).digest
    )
    assert one.digest != parse(text, "m", {"overlays/x.py": b"2"}, schema()).digest
    assert one.digest != parse(text + b"\n", "m", {"overlays/x.py": b"1"}, schema()).digest
    assert dict(one.overlays) == {"overlays/x.py": b"1"}


SAYS = batch("""\
remove: [python/a/, {path: python/b/, optional: later}]
keep: [python/a/x.py]
facts: {predicates: {a.is_hip: false, a.is_npu: truthy}, values: {a.LIMIT: 0.5}}
files: [{path: python/x.py, from: overlays/x.py}]""")


def statements(text: str, overlay: bytes = b"1") -> str:
    return parse(text.encode(), "manifest.yaml", {"overlays/x.py": overlay}, schema()).statements


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: small\n", "# what it is\n\nname:  small  # in short\n"),
        ("name: small\n", "name: 'small'\n"),
        ("name: small\nlabel: deepseek\n", "label: deepseek\nname: small\n"),
        ("packages: {pkg: python/pkg}", "packages:\n  pkg: python/pkg"),
        ("a.is_hip: false, a.is_npu: truthy", "a.is_npu: truthy, a.is_hip: false"),
        ("[python/a/, {path", "[ python/a/,\n          {path"),
    ],
    ids=["comment", "quotes", "order of keys", "layout", "order of facts", "lines"],
)
def test_what_the_manifest_says_is_the_same_in_another_form(old: str, new: str) -> None:
    assert SAYS.count(old) == 1
    assert statements(SAYS.replace(old, new)) == statements(SAYS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("why: because", "why: because of this"),
        (
            "[python/a/, {path: python/b/, optional: later}]",
            "[{path: python/b/, optional: later}, python/a/]",
        ),
        ("optional: later", "optional: earlier"),
        ("a.is_hip: false", "a.is_hip: true"),
        ("a.is_npu: truthy", "a.is_npu: 'truthy'"),
        ("a.LIMIT: 0.5", "a.LIMIT: '0.5'"),
    ],
    ids=["why", "order of rules", "optional", "value", "quoted truth", "quoted number"],
)
def test_another_statement_is_another_manifest(old: str, new: str) -> None:
    assert SAYS.count(old) == 1
    assert statements(SAYS.replace(old, new)) != statements(SAYS)


def test_an_overlay_is_part_of_what_the_manifest_says() -> None:
    assert statements(SAYS, b"2") != statements(SAYS)


SCOPES = """\
  - {id: two, why: for a scope, remove: [python/two/], facts: {values: {b.LIMIT: 0.5}}}
  - {id: last, why: because, facts: {values: {c.LIMIT: 1.5}}}
scopes:
  small: {why: less of it, with: [two], pins: [seed]}
  large: {why: more of it, without: [one], pins: [seed]}
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("b.LIMIT: 0.5", "b.LIMIT: 0.6", {"small"}),
        ("b.LIMIT: 0.5", "b.LIMIT: '0.5'", {"small"}),
        ("less of it", "less", {"small"}),
        ("more of it", "more", {"large"}),
        ("c.LIMIT: 1.5", "c.LIMIT: '1.5'", {"default", "small", "large"}),
    ],
)
def test_only_what_counts_in_a_scope_makes_another_manifest_of_it(
    old: str, new: str, changed: set[str]
) -> None:
    text = SAYS.rstrip("\n") + "\n" + SCOPES
    assert text.count(old) == 1

    def said(text: str) -> dict[str, str]:
        stated = parse(text.encode(), "manifest.yaml", {"overlays/x.py": b"1"}, schema())
        return {"default": stated.statements, **stated.scope_statements}

    before, after = said(text), said(text.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_scope_more_changes_nothing_in_the_others() -> None:
    text = SAYS.rstrip("\n") + "\n" + SCOPES
    less = text.replace("  large: {why: more of it, without: [one], pins: [seed]}\n", "")
    both = [parse(t.encode(), "m", {"overlays/x.py": b"1"}, schema()) for t in (text, less)]
    assert both[0].statements == both[1].statements
    assert both[0].scope_statements["small"] == both[1].scope_statements["small"]
