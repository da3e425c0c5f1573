"""The pages of `cuts/` show files of a package upstream, what the manifest says, and what is left of them.

A case has files `before`, besides those `around` all cases of its page; `changes` replace parts of them.
Its keys of the `manifest` stand beside those of the page, or in their place; `models` are kept too, and
`without` are batches that are off. It tells of the output: the whole text of a file `after` (null: it
left), texts that a file `says` and `lacks`, the files that `left` (of the package), the batch that
`removed` one and `why`; the `ids` of the batches in force, and those `withdrawn` with the model that needs
it. Or it has `problems`: for each its code, and texts of its message, hint and place, none of which are
`unsaid`. Of `tries`, each is a case that has the rest in common.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from gate_worlds import snapshot
from manifest_text import HEAD, schema
from test_gate_pages import changed, path_of

from builder.errors import BuildError
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.named_scopes import choose
from builder.manifest.switches import without
from builder.pipeline.cut import cut
from builder.pipeline.graph_answers import graph_answers, uncertain_json
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.tree import Snapshot

HERE = Path(__file__).parent / "cuts"
BASE = yaml.load(HEAD, yaml.CSafeLoader)


def _cases() -> Iterator[Any]:
    for file in sorted(HERE.glob("*.yaml")):
        page = yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)
        for case in page["cases"]:
            for number, each in enumerate(case.get("tries", [{}]), 1):
                whole = {**case, **each}
                whole["before"] = {**page["around"], **whole.get("before", {})}
                whole["manifest"] = {**page["manifest"], **whole.get("manifest", {})}
                title = f"{file.stem}: {case['name']}" + (f" ({number})" if "tries" in case else "")
                yield pytest.param(whole, id=title)


def upstream(case: Mapping[str, Any]) -> Snapshot:
    files = {path_of(path): text for path, text in case["before"].items()}
    changes = {path_of(path): text for path, text in case.get("changes", {}).items()}
    return snapshot({**files, **{path: changed(files.get(path), text) for path, text in changes.items()}})


def stated(case: Mapping[str, Any]) -> Manifest:
    whole = {**BASE, **case["manifest"]}
    whole["roots"] = {**BASE["roots"], **whole["roots"]}
    models = whole["roots"]["models"]
    whole["roots"]["models"] = {**models, "keep": [*models["keep"], *case.get("models", [])]}
    overlays = {path: text.encode() for path, text in case.get("overlays", {}).items()}
    text = yaml.dump(whole, Dumper=yaml.CSafeDumper, sort_keys=False)
    found = parse(text.encode(), "manifest.yaml", overlays, schema())
    if "with" in case:
        return choose(found, "default", case["with"])
    return without(found, case.get("without", ()))


@pytest.mark.parametrize("case", list(_cases()))
def test_a_cut_leaves_what_its_page_shows(case: Mapping[str, Any]) -> None:
    files, manifest = upstream(case), stated(case)
    if "problems" in case:
        with pytest.raises(BuildError) as caught:
            cut(files, manifest)
        found = caught.value.problems
        assert [p.code for p in found] == [code for code, *_ in case["problems"]], found
        for problem, (_, *texts) in zip(found, case["problems"], strict=True):
            said = f"{problem.message} {problem.hint} {problem.upstream}"
            assert [text for text in texts if text not in said] == [], problem
            assert [text for text in case.get("unsaid", []) if text in said] == [], problem
            assert problem.mark is not None
        return
    expect(case, cut(files, manifest))


def expect(case: Mapping[str, Any], done: Cut) -> None:
    output = {path: data.decode("utf-8", "surrogateescape") for path, data in done.output.items()}
    for path, text in case.get("after", {}).items():
        assert output.get(path_of(path)) == text, path
    for path, texts in case.get("says", {}).items():
        assert [text for text in texts if text not in output[path_of(path)]] == [], output[path_of(path)]
    for path, texts in case.get("lacks", {}).items():
        assert [text for text in texts if text in output[path_of(path)]] == [], output[path_of(path)]
    gone = done.upstream.tree.keys() - output.keys()
    if "left" in case:
        assert sorted(path.removeprefix("python/pkg/") for path in gone) == case["left"]
    for path, batch in case.get("removed", {}).items():
        assert path_of(path) in gone and done.decided.removed[path_of(path)].batch == batch
    for path, reason in case.get("why", {}).items():
        first = reasons(done)[path_of(path)][0]
        assert [first.batch, first.rule] == reason
    if "uncertain" in case:
        graphs = graph_answers(done, done.manifest)
        listed = json.loads(uncertain_json(done, graphs))["modules"]
        assert sorted(row["module"] for row in listed) == case["uncertain"]
    if "ids" in case:
        assert [batch.id for batch in done.manifest.batches] == case["ids"]
    if "withdrawn" in case:
        assert done.withdrawn.keys() == case["withdrawn"].keys()
        assert all(done.withdrawn[batch] == model for batch, model in case["withdrawn"].items() if model)
