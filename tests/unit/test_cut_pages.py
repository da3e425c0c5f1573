"""The pages of `cuts/` show files of a package upstream, what the manifest says, and what is left of them.

A case has files `before`, besides those `around` all cases of its page; `changes` replace parts of them.
Its keys of the `manifest` stand beside those of the page, or in their place; `models` are kept too, and
`without` are batches that are off. It tells of the output: the whole text of a file `after` (null: it
left), texts that a file `says` and `lacks`, the files that `left` (of the package), the batch that
`removed` one and `why`; the batches to which a file is `laid`, by which rules (`laid_by`), and the `first`
of them; flags and variables that are `lost` with their batches; the `ids` of the batches in force, and
those `withdrawn` with the model that needs it. Or it has `problems`: for each its code, and texts of its
message, hint and place, none of which are `unsaid`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from gate_worlds import package, snapshot
from manifest_text import HEAD, manifest, schema
from test_gate_pages import path_of
from yaml_cases import cases, changed, lacking

from builder.emit.ledger import rows
from builder.errors import BuildError
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.switches import choose, without
from builder.pipeline.attribution import attribute
from builder.pipeline.cut import cut
from builder.pipeline.graph_answers import graph_answers, uncertain_json
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.pipeline.verify import again, verify
from builder.report import as_dict, render
from builder.tree import Snapshot

PAGES = [f"cuts/{page.name}" for page in sorted((Path(__file__).parent / "cuts").glob("*.yaml"))]
BASE = yaml.load(HEAD, yaml.CSafeLoader)


def upstream(case: Mapping[str, Any]) -> Snapshot:
    texts = {**case["page"]["around"], **case.get("before", {})}
    files = {path_of(path): text for path, text in texts.items() if text is not None}
    changes = {path_of(path): text for path, text in case.get("changes", {}).items()}
    return snapshot({**files, **{path: changed(files.get(path), text) for path, text in changes.items()}})


def stated(case: Mapping[str, Any]) -> Manifest:
    whole = {**BASE, **case["page"]["manifest"], **case.get("manifest", {})}
    whole["roots"] = {**BASE["roots"], **whole["roots"]}
    models = whole["roots"]["models"]
    whole["roots"]["models"] = {**models, "keep": [*models["keep"], *case.get("models", [])]}
    overlays = {path: text.encode() for path, text in case.get("overlays", {}).items()}
    text = yaml.dump(whole, Dumper=yaml.CSafeDumper, sort_keys=False)
    found = parse(text.encode(), "manifest.yaml", overlays, schema())
    if "with" in case:
        return choose(found, "default", case["with"])
    return without(found, case.get("without", ()))


@pytest.mark.parametrize("case", list(cases(*PAGES)))
def test_a_cut_leaves_what_its_page_shows(case: Mapping[str, Any]) -> None:
    files, asked = upstream(case), stated(case)
    if "problems" in case:
        with pytest.raises(BuildError) as caught:
            cut(files, asked)
        found = caught.value.problems
        assert [p.code for p in found] == [code for code, *_ in case["problems"]], found
        said = [f"{p.message} {p.hint} {p.upstream}" for p in found]
        assert lacking(said, [texts for _, *texts in case["problems"]]) == [], said
        assert [text for text in case.get("unsaid", []) if text in "".join(said)] == [], said
        assert all(p.mark for p in found)
        return
    done = cut(files, asked)
    if "verified" in case:
        verify(done)
    expect(case, done)


def expect_texts(case: Mapping[str, Any], output: Mapping[str, str]) -> None:
    """The files of an output are what the case tells."""
    for path, text in case.get("after", {}).items():
        assert output.get(path_of(path)) == text, path
    for path, texts in case.get("says", {}).items():
        assert [text for text in texts if text not in output[path_of(path)]] == [], output[path_of(path)]
    for path, texts in case.get("lacks", {}).items():
        assert [text for text in texts if text in output[path_of(path)]] == [], output[path_of(path)]


def expect(case: Mapping[str, Any], done: Cut) -> None:
    output = {path: data.decode("utf-8", "surrogateescape") for path, data in done.output.items()}
    expect_texts(case, output)
    gone = done.upstream.tree.keys() - output.keys()
    if "left" in case:
        assert sorted(path.removeprefix("python/pkg/") for path in gone) == case["left"]
    for path, batch in case.get("removed", {}).items():
        assert path_of(path) in gone and done.decided.removed[path_of(path)].batch == batch
    for path, reason in case.get("why", {}).items():
        first = reasons(done)[path_of(path)][0]
        assert [first.batch, first.rule] == reason
    attributed = attribute(done).files if {"laid", "first"} & case.keys() else {}
    laid = {path: [reason.batch for reason in some] for path, some in attributed.items()}
    for path, batches in case.get("laid", {}).items():
        assert sorted(set(laid[path_of(path)])) == batches
        assert reasons(done)[path_of(path)][0].batch in batches
    for path, rules in case.get("laid_by", {}).items():
        found = attributed[path_of(path)]
        assert sorted({reason.rule for reason in found}) == rules and all(reason.mark for reason in found)
    for path, batch in case.get("first", {}).items():
        assert laid[path_of(path)][0] == batch
    if "lost" in case:
        causes = {one.key.name: one.causes for one in done.surfaces.differences}
        assert {name: [cause.batch for cause in some] for name, some in causes.items()} == case["lost"]
        assert all(cause.mark for some in causes.values() for cause in some)
    if "again" in case:
        assert done.output.tree == again(done).tree
        table = rows(done.upstream.tree, done.output.tree, reasons(done), {}, {})
        assert {row.batch for row in table if row.verdict == "removed"} == set(case["causes"])
    if "uncertain" in case:
        graphs = graph_answers(done, done.manifest)
        listed = json.loads(uncertain_json(done, graphs))["modules"]
        assert sorted(row["module"] for row in listed) == case["uncertain"]
    if "ids" in case:
        assert [batch.id for batch in done.manifest.batches] == case["ids"]
    if "withdrawn" in case:
        assert done.withdrawn.keys() == case["withdrawn"].keys()
        assert all(done.withdrawn[batch] == model for batch, model in case["withdrawn"].items() if model)


_ONE = "class One:\n    pass\n\n\nEntryClass = One\n"
_BATCH = "batches:\n  - id: notebook\n    why: nobody reads one\n    remove: [python/pkg/notebook.py]\n"


def test_every_place_of_a_cause_is_told_in_one_run() -> None:
    uses = "".join(f"print(Mixin, {number})\n" for number in range(40))
    files = {
        "models/one.py": _ONE,
        "notebook.py": "class Mixin:\n    pass\n",
        "text.py": f"from pkg.notebook import Mixin\n\n{uses}",
        "main.py": "import pkg.text\nfrom pkg.models.one import One\n\nprint(One)\n",
    }
    with pytest.raises(BuildError) as caught:
        cut(package(files), manifest(f"prune_symbols: [python/pkg/**]\n{_BATCH}"))
    (problem,) = caught.value.problems
    places = [problem, *problem.also]
    assert sorted(one.upstream.line for one in places if one.upstream) == list(range(3, 43))
    assert len(as_dict(problem)["also"]) == 39 and "and 15 more" in render(problem, {})
    assert problem.hint is not None and problem.hint.count("drop_statement: 'print(Mixin, ") == 40
    assert "python/pkg/text.py is used, but batch notebook removes pkg.notebook" in problem.message
