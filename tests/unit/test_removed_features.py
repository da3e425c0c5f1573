"""The module that tells users what was left out: its sentences, its parser, and how it is filled."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from gate_worlds import manifest

from builder.analysis.surface_diff import Difference, Surfaces
from builder.emit.removed_features import NAMES, filled, missing, tables
from builder.errors import Mark
from builder.manifest.model import Manifest, Roots
from builder.manifest.statements import BASE, Batch, Option, Reason
from builder.surface.model import Item, Key, Place, Value

TEMPLATE = Path(__file__).parents[2] / "overlays/removed-features/removed_features.py"
ROOTS = Roots((), (), "pkg.models", command_line="pkg.args")
HERE = Mark("manifest.yaml", 1)
THERE = Place("x.py", 1)
WHY = {"fa3-fa4": "FA3 is slow here.", "grpc": "HTTP is enough.", "models": 'Only "ours" are served.'}


def lost(kind: str, group: str, name: str, batch: str, place: Place = THERE, **more: object) -> Difference:
    causes = (Reason("facts", "seen first"), Reason(batch, "because", HERE))
    change = "changed" if more else "lost"
    return Difference(change, Key(kind, group, name), place, causes=causes, **more)  # type: ignore[arg-type]


def stated(
    *differences: Difference, options: tuple[Option, ...] = (), **flags: Mapping[str, Value]
) -> tuple[Surfaces, Manifest]:
    batches = [Batch(name, why, HERE) for name, why in WHY.items()]
    batches[0] = replace(batches[0], options=options)
    whole = replace(manifest(batches=tuple(batches)), roots=ROOTS, name="pkg-cut")
    after = {}
    for name, details in flags.items():
        key = Key("flag", "pkg.args", "--" + name.replace("_", "-"))
        after[key] = Item(key, (Place("x.py", 1),), details)
    return Surfaces({}, after, differences), whole


def values(*differences: Difference, **more: Any) -> object:
    return tables(*stated(*differences, **more))


SOME = (
    lost("flag", "pkg.args", "--grpc-mode", "grpc"),
    lost("flag", "pkg.args", "--backend", "fa3-fa4", detail="choices", before="fa3"),
    lost("flag", "pkg.args", "--backend", "fa3-fa4", detail="choices", before="a\"b'"),
    lost("registry", "pkg.models", "LlamaForCausalLM", "models", Place("m.py", 1, "pkg.models.llama")),
    lost("flag", "pkg.bench", "--elsewhere", "grpc"),
    lost("registry", "pkg.other", "entry", "grpc"),
)


def module(text: bytes, tmp_path: Path) -> ModuleType:
    path = tmp_path / "removed_features.py"
    path.write_bytes(text)
    spec = importlib.util.spec_from_file_location("removed_features", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def ours(tmp_path: Path) -> ModuleType:
    return module(filled(TEMPLATE.read_bytes(), values(*SOME)), tmp_path)  # type: ignore[arg-type]


def test_the_tables_hold_what_left_from_the_servers_parser_and_the_models() -> None:
    assert values(*SOME) == {
        "DISTRIBUTION": "pkg-cut",
        "DECISIONS": WHY,
        "FLAGS": {"--grpc-mode": "grpc"},
        "CHOICES": {"--backend": {"a\"b'": "fa3-fa4", "fa3": "fa3-fa4"}},
        "MODELS": {"LlamaForCausalLM": ("llama", "models")},
        "ROUTES": {},
        "VARIABLES": {},
        "UNDO": {name: f"with `--without {name}`" for name in WHY},
    }


def test_values_of_options_that_take_any_text_come_from_the_facts_that_name_the_option() -> None:
    options = (
        Option(("*device*",), ("npu",), "fa3-fa4", mark=HERE),
        Option(("*",), ("ascend",), "fa3-fa4", mark=HERE),
    )
    found = values(
        options=options,
        device={"type": Ellipsis},  # type: ignore[dict-item]
        ib_device={"choices": ("a",)},
        is_device={"action": "store_true"},
        model_path={},
    )
    assert found["CHOICES"] == {"--device": {"npu": "fa3-fa4"}}  # type: ignore[index]


def test_a_filled_module_holds_the_tables_and_the_code_of_the_template() -> None:
    template = TEMPLATE.read_bytes()
    assert missing(template) == []
    new = filled(template, values(*SOME))  # type: ignore[arg-type]
    old_code = [n for n in ast.parse(template).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    new_code = [n for n in ast.parse(new).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    assert [ast.dump(n) for n in new_code] == [ast.dump(n) for n in old_code]
    assert missing(new) == ["DECISIONS", "FLAGS", "CHOICES", "MODELS"]  # a filled one is no template
    assert missing(b"") == list(NAMES)


def test_an_empty_table_stays_a_template(tmp_path: Path) -> None:
    text = filled(TEMPLATE.read_bytes(), values())  # type: ignore[arg-type]
    made = module(text, tmp_path)
    assert made.explain("flag", "--grpc-mode") is None


def test_what_was_left_out_is_named_with_its_decision_and_the_way_back(ours: ModuleType) -> None:
    assert ours.explain("--backend", "fa3") == (
        "The choice `--backend fa3` is not part of pkg-cut: FA3 is slow here. (batch `fa3-fa4` of its "
        "manifest) To bring it back, build with `--without fa3-fa4`."
    )
    assert ours.explain("flag", "--grpc-mode").startswith("The option --grpc-mode is not part of pkg-cut:")
    assert ours.explain("model", "LlamaForCausalLM").endswith(
        "To bring it back, add `llama` to roots.models.keep in the manifest and build again."
    )


def test_the_way_back_switches_off_what_the_decision_needs_off(tmp_path: Path) -> None:
    found, whole = stated(*SOME)
    batches = [replace(b, needs=(("grpc", HERE),)) if b.id == "fa3-fa4" else b for b in whole.batches]
    text = filled(TEMPLATE.read_bytes(), tables(found, replace(whole, batches=tuple(batches))))
    made = module(text, tmp_path)
    assert made.explain("--backend", "fa3").endswith("build with `--without fa3-fa4 --with-needs`.")
    assert "To bring it back, build with `--without fa3-fa4 --with-needs`." in made.listing()
    assert made.explain("flag", "--grpc-mode").endswith("build with `--without grpc`.")


def test_a_batch_that_an_option_switched_on_is_undone_without_it(tmp_path: Path) -> None:
    found, whole = stated(*SOME)
    on = replace(whole, switched_on=("grpc", "fa3-fa4"))
    made = module(filled(TEMPLATE.read_bytes(), tables(found, on)), tmp_path)
    assert made.explain("flag", "--grpc-mode").endswith("To bring it back, build without `--with grpc`.")


def test_what_the_base_of_the_manifest_leaves_out_is_listed_too(tmp_path: Path) -> None:
    found, whole = stated(lost("flag", "pkg.args", "--page", BASE))
    whole = replace(whole, batches=(*whole.batches, Batch(BASE, "Nothing reaches it.", HERE)))
    made = module(filled(TEMPLATE.read_bytes(), tables(found, whole)), tmp_path)
    assert made.explain("flag", "--page").endswith("no option of a build brings it back alone.")
    assert "no option of a build brings it back alone." in made.listing()


def test_what_never_existed_keeps_upstreams_message(ours: ModuleType) -> None:
    for kind, value in (("--backend", "x"), ("--x", "fa3"), ("flag", "--x"), ("model", "X")):
        assert ours.explain(kind, value) is None
        assert ours.explained(kind, value, "upstream's") == "upstream's"
    several = ours.explained("model", ["X", "LlamaForCausalLM"], "upstream's")
    assert several.startswith("upstream's\nThe architecture LlamaForCausalLM")


@pytest.fixture
def fails(ours: ModuleType, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        parser = ours.ArgumentParser(prog="serve")
        parser.add_argument("--backend", "-b", choices=["triton"])
        parser.add_argument("--port", type=int)
        with pytest.raises(SystemExit) as stopped:
            parser.parse_args(list(arguments))
        assert stopped.value.code == 2
        return capsys.readouterr().err.partition("error: ")[2]

    return run


@pytest.mark.parametrize("arguments", [("--backend", "fa3"), ("--backend=fa3",), ("-b", "fa3")])
def test_the_parser_explains_a_removed_choice_however_it_is_written(
    fails: Callable[..., str], arguments: tuple[str, ...]
) -> None:
    first, second = fails(*arguments).splitlines()
    assert "invalid choice: 'fa3'" in first
    assert "`--without fa3-fa4`" in second


@pytest.mark.parametrize("arguments", [("--grpc-mode",), ("--grpc-mode=1",), ("--grpc-mode", "1", "--odd")])
def test_the_parser_explains_a_removed_option(fails: Callable[..., str], arguments: tuple[str, ...]) -> None:
    first, second = fails(*arguments).splitlines()
    assert first.startswith("unrecognized arguments: --grpc-mode")
    assert "`--without grpc`" in second


@pytest.mark.parametrize("arguments", [("--backend", "x"), ("--odd",), ("--port", "x"), ("--backend",)])
def test_the_parser_leaves_other_errors_as_they_are(
    fails: Callable[..., str], arguments: tuple[str, ...]
) -> None:
    assert len(fails(*arguments).splitlines()) == 1


def test_a_removed_value_of_an_option_without_choices_is_refused(
    ours: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    ours.CHOICES["--device"] = {"npu": "grpc"}
    parser = ours.ArgumentParser(prog="serve")
    parser.add_argument("--device")
    parser.add_argument("--name")
    assert parser.parse_args(["--device", "cuda", "--name", "npu"]).device == "cuda"
    with pytest.raises(SystemExit):
        parser.parse_args(["--device", "npu"])
    assert "`--device npu` is not part of pkg-cut" in capsys.readouterr().err


def test_the_listing_names_what_each_decision_left_out_and_the_way_back(tmp_path: Path) -> None:
    more = (
        lost("route", "pkg.app", "GET /x", "grpc"),
        lost("environment", "", "PKG_GRPC", "grpc"),
        lost("environment", "", "PKG_BASE", BASE),
    )
    found = tables(*stated(*SOME, *more))
    text = module(filled(TEMPLATE.read_bytes(), found), tmp_path).listing()
    blocks = dict(block.split(":", 1) for block in text.split("\n\n")[1:])
    assert set(blocks) == {"fa3-fa4", "grpc", "models"}
    assert "options: --grpc-mode" in blocks["grpc"] and "routes: GET /x" in blocks["grpc"]
    assert "environment variables: PKG_GRPC" in blocks["grpc"] and "--without grpc" in blocks["grpc"]
    assert "values: --backend a\"b', --backend fa3" in blocks["fa3-fa4"]
    assert "LlamaForCausalLM" in blocks["models"] and "--without" not in blocks["models"]
    assert "PKG_BASE" not in text


def test_a_template_without_the_further_names_is_filled_as_before() -> None:
    text = TEMPLATE.read_text("utf-8")
    older = re.sub(r"(?m)^(?:ROUTES|VARIABLES|UNDO).*\n", "", text)
    assert missing(older.encode()) == []
    assert b"ROUTES:" not in filled(older.encode(), values(*SOME))  # type: ignore[arg-type]


def test_the_help_says_which_of_the_options_and_choices_that_it_names_were_left_out(ours: ModuleType) -> None:
    parser = ours.ArgumentParser(prog="serve", usage="serve")
    parser.add_argument("--backend", choices=["triton"], help="One of triton and fa3; not with --grpc-mode.")
    parser.add_argument("--name", help="A name, fa3 say.")
    text = " ".join(parser.format_help().split())
    assert "not with --grpc-mode. (Not in pkg-cut: --grpc-mode, fa3.)" in text
    assert text.endswith("A name, fa3 say.")
