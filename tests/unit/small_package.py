"""A few Python files, specialized: what the tests of the specializer start from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from textwrap import dedent, indent
from unittest.mock import patch

from manifest_text import BATCH, manifest

from builder.specialize import final_texts
from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.fixpoint import specialize
from builder.specialize.fold_cache import Recall
from builder.specialize.program import Memo, Policy, Program
from builder.specialize.results import Specialized

#: `pkg.platform` is where the predicates of the tests are defined
PLATFORM = """
    def is_npu():
        return probe("npu")
"""
FACTS = Facts(predicates={"pkg.platform.is_npu": KnownValue(False)})


def sources(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {path: dedent(text).lstrip("\n").encode() for path, text in texts.items()}


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def facts_of(statements: str, base: str = "") -> Facts:
    """The facts of a manifest with one batch, which states these; `base` stands outside of it."""
    return Facts.of(manifest(base + BATCH + indent(statements, "    ")))


def without_layout(kept: Mapping[str, bytes], gone: Mapping[str, bytes], facts: Facts) -> Specialized:
    """Specialize what is kept of a program that upstream has with `gone`. Layout is not meaning: no ruff."""
    upstream = {**kept, **gone}
    names = {path: module_of(path) for path in upstream}
    program = Program(kept, upstream, names, removed=frozenset(map(module_of, gone)))
    with patch.object(final_texts, "format_files", lambda texts: {}):
        return specialize(program, Policy(facts, prune_symbols=lambda path: True))


def run(
    texts: Mapping[str, str],
    *,
    without: Iterable[str] = (),
    upstream: Mapping[str, str] | None = None,
    facts: Facts = FACTS,
    prune_symbols: Callable[[str], bool] = lambda path: True,
    extra: Iterable[bytes] = (),
    frozen: frozenset[str] = frozenset(),
    stays: frozenset[str] = frozenset(),
    recall: Recall | None = None,
) -> Specialized:
    """Specialize files that `upstream` (by default the same texts) has, `without` some of the paths.

    `pkg/platform.py` is always among them.
    """
    gone = set(without)
    before = sources({"pkg/platform.py": PLATFORM, **texts, **(upstream or {})})
    kept = sources({"pkg/platform.py": PLATFORM, **texts})
    program = Program(
        files={p: d if before.get(p) != d else before[p] for p, d in kept.items() if p not in gone},
        upstream=before,
        names={p: module_of(p) for p in {*before, *kept}},
        removed=frozenset(module_of(p) for p in gone),
        extra=extra,
    )
    return specialize(
        program, Policy(facts, prune_symbols, frozen, stays), Memo({} if recall is None else recall)
    )


def output(texts: Mapping[str, str], **options: object) -> dict[str, str]:
    """The text of every kept file afterwards; the specialization must leave nothing open."""
    done = run(texts, **options)  # type: ignore[arg-type]
    assert not done.mismatches
    assert not done.leftovers
    gone = set(options.get("without", ()))  # type: ignore[call-overload]
    kept = {p: d for p, d in sources(texts).items() if p not in gone}
    return {path: data.decode() for path, data in {**kept, **done.files}.items()}
