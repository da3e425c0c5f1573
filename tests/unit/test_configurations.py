"""What configurations lack, by the keys that the manifest states of the kept models."""

from __future__ import annotations

from dataclasses import replace

import pytest
from manifest_text import kept
from test_reached import stated, upstream

from builder.manifest.model import Manifest
from builder.pipeline.cut import cut
from builder.pipeline.expand_configurations import expand_configurations
from builder.pipeline.model import Cut

REST = """\
batches:
  - id: others
    why: one model
    facts:
      configuration:
        of: [one]
        types: [one]
        objects: ["*hf_config", {name: config, in: [python/pkg/models/]}]
        keys: [width]
"""
#: A file of a model that leaves, with the keys of its configuration.
OTHER = "def sizes(config):\n    return config.depth, config.kpool, config.window\n"
ONE = "class OneForText:\n    pass\n\n\nEntryClass = OneForText\n"


def absent(main: str, **modules: str) -> set[str]:
    """What follows for a program with these modules and a model that leaves."""
    texts = {"main": main, **modules}
    staying = upstream({f"{name}.py": text for name, text in texts.items()})
    whole = upstream({**{f"{name}.py": text for name, text in texts.items()}, "models/other.py": OTHER})
    kept = whole.restrict(path for path in staying if path in whole.tree)
    kept = kept.restrict(path for path in kept if not path.endswith("models/other.py"))
    found = expand_configurations(stated(REST), whole, kept)
    return {fact.name for batch in found.batches for fact in batch.facts if fact.kind == "attribute"}


def test_a_key_that_only_a_model_that_leaves_has_is_absent() -> None:
    main = "def run(hf_config):\n    return getattr(hf_config, 'kpool', 1), hasattr(hf_config, 'width')\n"
    assert absent(main) == {"*.hf_config.kpool"}


def test_a_key_that_no_file_that_leaves_has_may_be_new() -> None:
    assert absent("def run(hf_config):\n    return getattr(hf_config, 'latest', 1)\n") == set()


@pytest.mark.parametrize(
    "asked", ["config", "run.config", "text_config", "config()", "hf_configs", "quant_hf_config_of"]
)
def test_another_object_may_have_it(asked: str) -> None:
    assert absent(f"def run(config, run):\n    return getattr({asked}, 'kpool', 1)\n") == set()


def test_a_name_may_hold_a_configuration_in_some_paths_only() -> None:
    model = "def sizes(config):\n    return getattr(config, 'depth', 1), getattr(config, 'window', None)\n"
    other = "def sizes(config):\n    return getattr(config, 'window', None)\n"
    assert absent("", **{"models/more": model}) == {"*.config.depth", "*.config.window"}
    # elsewhere the same key is asked of something else
    assert absent(other, **{"models/more": model}) == {"*.config.depth"}


@pytest.mark.parametrize(
    "given",
    [
        "def give(hf_config):\n    hf_config.kpool = 2\n",
        "def give(run):\n    run.draft_hf_config.kpool += 2\n",
        "def give(hf_config):\n    setattr(hf_config, 'kpool', 2)\n",
        "NAMES = ['kpool']\n\n\ndef give(hf_config):\n    setattr(hf_config, NAMES[0], 2)\n",
        "def give(run):\n    run.text_config.kpool = 2\n",
        "def give(cfg):\n    cfg.update(kpool=2)\n",
        "def give(arguments):\n    arguments.json_model_override_args = '{\"kpool\": 2}'\n",
        "from transformers import PretrainedConfig\nMADE = PretrainedConfig(kpool=2)\n",
        "class Mine(TextConfig):\n    kpool: int = 2\n",
        "class Mine(TextConfig):\n    model_type = 'one'\n    kpool = 2\n",
        "class Mine(TextConfig):\n    def make(self):\n        self.kpool = 2\n",
        "class Mine(TextConfig):\n    pass\n\n\nMADE = Mine(kpool=2)\n",
        "kpool = {% a template %}\n",
    ],
)
def test_what_the_program_gives_is_there(given: str) -> None:
    main = "def run(hf_config):\n    return getattr(hf_config, 'kpool', 1)\n"
    assert absent(main, given=given) == set()


@pytest.mark.parametrize(
    "read",
    [
        "class Mine(TextConfig):\n    model_type = 'two'\n    kpool = 2\n",
        "class Pool:\n    def __init__(self, kpool):\n        self.kpool = kpool\n\n\nPOOL = Pool(kpool=2)\n",
        "SIZES = {'kpool': 2}\n",
        "def read(sizes, hf_config):\n    setattr(hf_config, 'width', 1)\n    return sizes.get('kpool')\n",
    ],
)
def test_what_the_program_only_reads_or_gives_to_something_else_is_not(read: str) -> None:
    main = "def run(hf_config):\n    return getattr(hf_config, 'kpool', 1)\n"
    assert absent(main, read=read) == {"*.hf_config.kpool"}


def scoped(*models: str) -> Manifest:
    found = stated(REST)
    return replace(found, roots=replace(found.roots, kept=kept("one", *models)))


def done(*models: str) -> Cut:
    main = "def run(hf_config):\n    if getattr(hf_config, 'kpool', 1) > 1:\n        print('pooled')\n"
    other = "class Other:\n    kpool = 2\n\n\nEntryClass = Other\n"
    files = {"main.py": main, "models/one.py": ONE, "models/other.py": other, "models/__init__.py": ""}
    return cut(upstream(files), scoped(*models))


def test_nothing_follows_where_another_model_stays() -> None:
    assert b"pooled" not in done().output["python/pkg/main.py"]
    assert b"pooled" in done("other").output["python/pkg/main.py"]
