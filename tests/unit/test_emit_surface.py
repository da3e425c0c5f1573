"""surface.json: valid, complete, and the same for the same surfaces."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
from gate_worlds import manifest, package, rule

from builder.analysis.removals import index_removals
from builder.analysis.surface_diff import Surfaces, compare
from builder.emit.surface_json import as_counts, lost_names, surface_json
from builder.errors import Mark
from builder.manifest.statements import Batch, Option
from builder.surface.extract import surface

SCHEMA = Path(__file__).parents[2] / "schema/surface.schema.json"


def surfaces() -> Surfaces:
    before = package(
        {
            "args.py": "parser.add_argument('--mode', choices=['a', 'b'], type=int, default=f())\n",
            "gone.py": "import os\nos.getenv('A')\n@app.get('/x')\ndef x(): ...\n",
            "kept.py": "import os\nos.getenv('B')\ndef f(): os.getenv('B')\n",
        }
    )
    after = before.replace(
        {
            "python/pkg/args.py": b"parser.add_argument('--mode', choices=['a'], type=int, default=f())\n",
            "python/pkg/gone.py": None,
        }
    )
    here = Mark("manifest.yaml", 3, 5)
    stated = manifest(
        batches=(Batch("b", "because", here, options=(Option(("mode",), ("b",), "b", mark=here),)),)
    )
    removals = index_removals(stated, {"python/pkg/gone.py": rule("gone.py")}, {})
    return compare(before, surface(before, stated.packages), after, stated, removals, lambda _: None)


def test_the_file_fits_its_schema() -> None:
    jsonschema.Draft7Validator.check_schema(json.loads(SCHEMA.read_text()))
    jsonschema.validate(json.loads(surface_json(surfaces())), json.loads(SCHEMA.read_text()))


def test_every_difference_names_its_batch_and_place() -> None:
    record = json.loads(surface_json(surfaces()))
    rows = [(d["change"], d["kind"], d["name"], d["place"]) for d in record["differences"]]
    assert rows == [
        ("lost", "environment", "A", "python/pkg/gone.py:2"),
        ("changed", "flag", "--mode", "python/pkg/args.py:1"),
        ("lost", "route", "GET /x", "python/pkg/gone.py:3"),
    ]
    causes = [d["causes"] for d in record["differences"]]
    assert causes[0] == [{"batch": "models", "what": "gone.py is removed", "mark": "manifest.yaml:42:7"}]
    assert causes[1] == [{"batch": "b", "what": "the value 'b' does not occur", "mark": "manifest.yaml:3:5"}]


def test_details_and_places_are_those_of_the_item() -> None:
    record = json.loads(surface_json(surfaces()))
    by_name = {item["name"]: item for item in record["after"]}
    assert by_name["--mode"]["details"] == {
        "choices": ["a"], "default": {"expression": "f()"}, "type": {"expression": "int"},
    }  # fmt: skip
    assert by_name["B"]["places"] == 2


def test_the_counts_are_of_things() -> None:
    counts = as_counts(surfaces())
    assert counts["flag"] == {
        "before": 1, "after": 1, "lost": 0, "added": 0, "changed": 1, "unexplained": 0,
    }  # fmt: skip
    assert counts["environment"]["before"] == 2
    assert counts["environment"]["lost"] == 1
    assert sum(c["unexplained"] for c in counts.values()) == 0


def test_what_a_batch_takes_from_users_is_named_by_sort() -> None:
    found = lost_names(surfaces(), "pkg.args", ["b"])
    assert found == {"models": [("HTTP routes", ["GET /x"]), ("Environment variables", ["A"])]}


def test_a_flag_that_another_tool_still_has_is_not_lost() -> None:
    flag = "parser.add_argument('--mode')\n"
    before = package({"one.py": flag, "two.py": flag, "three.py": "parser.add_argument('--own')\n"})
    removed = {f"python/pkg/{name}.py": rule(f"{name}.py") for name in ("one", "three")}
    after = before.replace(dict.fromkeys(removed))
    stated = manifest()
    found = compare(
        before,
        surface(before, stated.packages),
        after,
        stated,
        index_removals(stated, removed, {}),
        lambda _: None,
    )
    assert lost_names(found, "pkg.server", []) == {"models": [("Flags of tools", ["--own"])]}
    assert lost_names(found, "pkg.one", []) == {
        "models": [("Server flags", ["--mode"]), ("Flags of tools", ["--own"])]
    }


def test_the_same_surfaces_give_the_same_bytes() -> None:
    assert surface_json(surfaces()) == surface_json(surfaces())


def test_nothing_at_all_is_a_valid_file_too() -> None:
    empty = json.loads(surface_json(Surfaces({}, {}, ())))
    jsonschema.validate(empty, json.loads(SCHEMA.read_text()))
