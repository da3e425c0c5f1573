"""Runs the specs of this folder: every section is one test."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent

import pytest
from pages import Section, sections

from builder.manifest.load import parse, read_schema
from builder.specialize.evaluating.facts import Facts
from builder.specialize.program import Policy, Program
from builder.specialize.results import Specialized
from builder.specialize.session import specialize

HERE = Path(__file__).parent
HEAD = """\
name: spec
label: spec
upstream:
  repository: https://example.org/up.git
  default: seed
  pins:
    seed: {commit: 0123456789abcdef0123456789abcdef01234567}
packages: {pkg: pkg}
roots:
  modules: [pkg.main]
  models: {package: pkg.models, keep: [one]}
facts:
  quiet_imports: [plat, torch, other]
batches:
  - id: spec
    why: what the page states
"""


def facts(section: Section) -> Facts:
    text = HEAD + indent(section.facts, "    ")
    return Facts.of(parse(text.encode(), f"{section.page}.md", {}, read_schema(HERE.parents[1])))


def specialized(section: Section, files: Mapping[str, bytes]) -> Specialized:
    program = Program(
        files=files,
        upstream={**section.before, **section.upstream},
        names={path: _module(path) for path in section.before},
    )
    return specialize(program, Policy(facts(section), prune_symbols=lambda path: section.prune))


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


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
