"""Runs the specs of this folder: every section is one test."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

import pytest
from pages import Section, sections
from small_package import facts_of, module_of

from builder.specialize.fixpoint import specialize
from builder.specialize.program import Policy, Program
from builder.specialize.results import Specialized

HERE = Path(__file__).parent
BASE = "facts: {quiet_imports: [plat, torch, other]}\n"


def specialized(section: Section, files: Mapping[str, bytes]) -> Specialized:
    program = Program(
        files=files,
        upstream={**section.before, **section.upstream},
        names={path: module_of(path) for path in section.before},
    )
    facts = facts_of(section.facts, BASE)
    return specialize(program, Policy(facts, prune_symbols=lambda path: section.prune))


@pytest.mark.parametrize("section", sections(HERE), ids=str)
def test_a_spec_holds(section: Section) -> None:
    result = specialized(section, section.before)
    after = {**section.before, **result.files}
    assert _texts(after) == _texts(section.after)
    assert [f"{m.path}: {m.sentence}" for m in result.mismatches] == []  # text and tree agree
    assert tuple(f"{item.line}: {item.name}" for item in result.leftovers) == section.leftovers
    for path, data in after.items():
        _untouched(section.before[path], data)

    again = specialized(section, after)
    assert again.files == {}, "a second run finds nothing to do"

    backwards = specialized(section, dict(reversed(section.before.items())))
    assert backwards.files == result.files, "the order of files does not matter"


def _texts(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: data.decode("utf-8", "surrogateescape") for path, data in files.items()}


def _untouched(before: bytes, after: bytes) -> None:
    """Lines that only moved keep every byte but their indentation."""
    assert before[:3] == after[:3] or not before.startswith(b"\xef\xbb\xbf") or not after
    old, new = before.splitlines(True), after.splitlines(True)
    matcher = difflib.SequenceMatcher(
        None, [o.strip() for o in old], [n.strip() for n in new], autojunk=False
    )
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for left, right in zip(old[a:b], new[c:d], strict=True):
                assert left.lstrip(b" \t") == right.lstrip(b" \t")
    endings = {line[len(line.rstrip(b"\r\n")) :] for line in old}
    assert {line[len(line.rstrip(b"\r\n")) :] for line in new} <= endings
