"""Work on single files that is remembered gives what doing it again gives, whatever changed beside it."""

from __future__ import annotations

from collections.abc import Mapping

from gate_worlds import PACKAGES, manifest, package, snapshot
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore

from builder import memo
from builder.errors import Mark
from builder.manifest.statements import Batch, Option
from builder.pipeline.expand import names_nowhere
from builder.surface.extract import surface
from builder.surface.model import Surface

#: file -> texts that it may have; the flags of some rest on names of others
TEXTS = {
    "args.py": [
        "from pkg.names import NAMES\n\nparser.add_argument('--mode', choices=NAMES)\n",
        "from pkg.other import NAMES\n\nparser.add_argument('--mode', choices=NAMES)\n",
        "from pkg.names import *\n\nparser.add_argument('--mode', choices=[*NAMES, 'z'])\n",
    ],
    "names.py": ["NAMES = ['a']\n", "NAMES = ['a', 'b']\n", "from pkg.other import NAMES\n", "", "def\n"],
    "other.py": ["NAMES = ['c']\n", "NAMES = make()\n", "from pkg.names import NAMES\n"],
}
TREES = st.fixed_dictionaries(
    {path: st.none() | st.sampled_from(texts) for path, texts in TEXTS.items()}
).map(lambda files: {path: text for path, text in files.items() if text is not None})


@given(st.lists(TREES, min_size=2, max_size=5))
def test_a_surface_rests_on_every_file_that_was_asked_for(trees: list[Mapping[str, str]]) -> None:
    store = MemoryStore()

    def found(files: Mapping[str, str]) -> Surface:
        return surface(package(files), PACKAGES)

    for files in trees:
        with memo.using(store):
            warm = found(files)
        assert warm == found(files)


@given(
    st.frozensets(
        st.sampled_from(
            ["is_npu", "is_hip", "AwkConfig", "x", "nowhere", "Config", "is_npu(", "hip = 1", "1"]
        )
    ),
    st.dictionaries(
        st.sampled_from(["python/pkg/a.py", "python/pkg/sub/b.py", "test/c.py", "docs/d.md"]),
        st.sampled_from(["def is_npu(): x\n", "AwkConfig\n", "is_hip = 1\n", ""]),
    ),
)
def test_names_are_searched_in_all_of_the_python(asked: frozenset[str], files: Mapping[str, str]) -> None:
    tree = snapshot(files)
    text = "\n".join(text for path, text in files.items() if path.endswith(".py"))
    here = Mark("manifest.yaml", 1, 1)
    stated = Batch("b", "because", here, options=(Option(("*",), tuple(asked), "b", mark=here),))
    assert names_nowhere(tree, manifest(batches=(stated,))) == {name for name in asked if name not in text}
