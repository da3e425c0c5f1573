"""What a model that comes back needs: its processors and no others, and no rest of what it cannot use."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_worlds import manifest as gate_manifest
from gate_worlds import package, worlds
from manifest_text import kept, manifest

from builder.analysis.removals import Removals
from builder.errors import BuildError
from builder.gates import names
from builder.manifest.model import DynamicEdge
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.pipeline.verify import verify

WALK = """
    import importlib
    import inspect
    import pkgutil

    from pkg.processors.base import Base

    FOUND = {}


    def load(package):
        for _, name, _ in pkgutil.iter_modules(importlib.import_module(package).__path__, package):
            module = importlib.import_module(name)
            for _, cls in inspect.getmembers(module, inspect.isclass):
                if issubclass(cls, Base):
                    for model in cls.models:
                        FOUND[model] = cls
"""
PROCESSOR = """
    from pkg.models.{0} import {1}
    from pkg.processors.base import Base


    class Process{1}(Base):
        models = [{1}]
"""
FILES = {
    "main.py": "from pkg.registry import load\n\nload('pkg.processors')\n",
    "registry.py": WALK,
    "models/__init__.py": "",
    "models/one.py": "class One:\n    pass\n\n\nEntryClass = One\n",
    "models/two.py": "class Two:\n    pass\n\n\nEntryClass = Two\n",
    "processors/__init__.py": "",
    "processors/base.py": "class Base:\n    models = []\n",
    "processors/one.py": PROCESSOR.format("one", "One"),
    "processors/two.py": PROCESSOR.format("two", "Two"),
}
ONE, TWO = "python/pkg/processors/one.py", "python/pkg/processors/two.py"


def with_models(*models: str, **changes: str) -> Cut:
    stated = manifest(
        "batches: [{id: others, why: one model, facts: {options: [{names: [a], removed_models: true}]}}]\n"
    )
    mark = stated.mark("roots")
    edge = DynamicEdge("pkg.registry", "pkg.processors.*", "it walks", of_kept_models=True, mark=mark)
    roots = replace(stated.roots, kept=kept(*models), dynamic=(edge,))
    return cut(package({**FILES, **changes}), replace(stated, roots=roots))


def test_a_walk_for_the_kept_models_requires_the_modules_that_import_one() -> None:
    assert ONE in with_models("one").output and TWO not in with_models("one").output
    both = with_models("one", "two").output
    assert ONE in both and TWO in both


def test_a_module_that_another_one_imports_stays_without_the_models_that_left() -> None:
    one = FILES["processors/one.py"] + "\n    from pkg.processors.two import ProcessTwo\n"
    done = with_models("one", **{"processors/one.py": one})
    assert b"models = []" in done.output[TWO] and b"import Two\n" not in done.output[TWO]


def test_a_walk_for_models_that_nothing_of_upstream_has_is_an_error() -> None:
    done = with_models("one")
    stated = done.manifest
    edge = replace(stated.roots.dynamic[0], target="pkg.procesors.*")
    wrong = replace(stated, roots=replace(stated.roots, dynamic=(edge,)))
    with pytest.raises(BuildError, match=r"pkg\.procesors\.\* matches no module"):
        verify(replace(done, manifest=wrong))


def test_an_import_that_a_decided_condition_repeats_is_no_second_definition() -> None:
    guarded = "from pkg.b import f\n\nif flag():\n    from pkg.{0} import f\n\nf()\n"
    files = {"b.py": "def f(): ...\n", "c.py": "def f(): ...\n"}
    for module, problems in (("b", 0), ("c", 1)):
        before, after = worlds(
            {**files, "a.py": guarded.format(module)},
            {"a.py": f"from pkg.b import f\nfrom pkg.{module} import f\n\nf()\n"},
        )
        found = names.check(before, after, gate_manifest(), Removals())
        assert len(found) == problems, (module, found)
