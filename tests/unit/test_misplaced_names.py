"""A fact says something only where the module that it names is there and holds the name."""

from __future__ import annotations

import pytest
from gate_worlds import snapshot
from manifest_text import manifest

from builder.pipeline.expand import misplaced_names, names_nowhere, unused_facts

# `pkg.deep` and `pkg.deep.down` are packages without an `__init__.py`
FILES = {
    "python/pkg/__init__.py": "deep = 1\n",
    "python/pkg/deep/down/flags.py": "def warm(): ...\n",
    "python/pkg/other/__init__.py": "from pkg.deep.down.flags import warm\n",
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pkg.deep.down.flags.warm", None),
        ("pkg.deep.down.flags.cold", "`pkg.deep.down.flags` has no `cold`."),
        ("pkg.deep.down.gone.warm", "`pkg.deep.down` has no `gone`."),
        ("pkg.deep.gone.warm", "`pkg.deep` has no `gone`."),
        ("pkg.other.warm", None),
    ],
)
def test_a_fact_of_a_module_that_is_not_there_is_told(name: str, said: str | None) -> None:
    facts = f"batches:\n  - id: one\n    why: they are off\n    facts:\n      predicates: {{{name}: false}}\n"
    told = [p.message for p in misplaced_names(snapshot(FILES), manifest(facts), frozenset())]
    assert told == ([f"The predicate `{name}` names nothing: {said}"] if said else [])


def test_every_name_of_a_registry_is_looked_for() -> None:
    stated = (
        "facts:\n  registries:\n    - {row: pkg.deep.down.flags.warm, key: op, target: name,\n"
        "       registered_by: pkg.deep.down.flags.warm, held_by: pkg.deep.down.flags.rows,\n"
        "       asked_by: [pkg.deep.down.flags.warm, pkg.deep.down.flags.cold]}\nbatches: []\n"
    )
    told = [p.message for p in misplaced_names(snapshot(FILES), manifest(stated), frozenset())]
    home = "pkg.deep.down.flags"
    assert told == [
        f"The name of a registry `{home}.{name}` names nothing: `{home}` has no `{name}`."
        for name in ("rows", "cold")
    ]


def test_a_name_that_upstream_has_nowhere_is_told_once_and_another_of_its_statement_still() -> None:
    stated = (
        "batches:\n  - id: one\n    why: they are off\n    absent:\n"
        "      symbols: [{name: [pkg.deep.down.gone.warm, pkg.deep.down.flags.unheard_of]}]\n"
    )
    asked = manifest(stated)
    nowhere = names_nowhere(snapshot(FILES), asked)
    assert nowhere == {"unheard_of"}
    told = [*unused_facts(asked, nowhere), *misplaced_names(snapshot(FILES), asked, nowhere)]
    assert ["unheard_of" in p.message for p in told] == [True, False]
    assert len({p.mark for p in told}) == 1
