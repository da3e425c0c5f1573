"""What the manifest says because a model is not kept: withdrawn as soon as that model stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_worlds import package
from manifest_text import HEAD, kept, manifest, problems

from builder.errors import BuildError
from builder.manifest.model import Manifest
from builder.manifest.switches import without
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.tree import Snapshot

HYBRID = """\
batches:
  - id: others
    why: one model
    facts:
      options:
        - {names: [arch], removed_models: true}
        - {names: [arch], parts: [Two]}
      predicates:
        pkg.config.is_two: {value: false, models: [two*]}
      values:
        "*.two_config": {value: null, models: [two*]}
    absent:
      symbols: [{name: pkg.config.TWO_ARCHS, models: [two]}]
    drop: [{name: pkg.main.of_two, models: [two]}]
  - id: pictures
    why: text only
    models: pkg.config.PICTURES
    remove: [python/pkg/pictures.py]
    facts: {values: {"*.pictures": false}}
"""
FILES = {
    "config.py": """\
TWO_ARCHS = ("TwoForText", "TwoForTextMore")
SEEING = ["ThreeForImages"]
PICTURES = frozenset({"FourForImages"}) | {*SEEING}


def is_two(config):
    return config.kind == "two"
""",
    "main.py": """\
from pkg.config import TWO_ARCHS, is_two


def of_two():
    return 2


def run(arch, runner, config):
    if "Two" in arch:
        print("part of two")
    if arch == "TwoForText":
        print("two")
    if arch in TWO_ARCHS:
        print("listed")
    if is_two(config):
        print("is two")
    if runner.two_config is not None:
        print("configured")
    if runner.pictures:
        print("pictures")
    if "Three" in arch:
        print("three")
""",
    "pictures.py": "SIZE = 3\n",
    "models/__init__.py": "",
    "models/one.py": "class OneForText:\n    pass\n\n\nEntryClass = OneForText\n",
    "models/two.py": (
        "class TwoForText:\n    def forward(self, get_second=False):\n        return get_second\n\n\n"
        "EntryClass = [TwoForText]\n"
    ),
    "models/two_more.py": (
        "from pkg.models.two import TwoForText\n\n\n"
        "class TwoForTextMore(TwoForText):\n    pass\n\n\nEntryClass = TwoForTextMore\n"
    ),
    "models/three.py": (
        "from pkg.pictures import SIZE\n\n\n"
        "class ThreeForImages:\n    size = SIZE\n\n\nEntryClass = ThreeForImages\n"
    ),
}
KEEP = "prune_symbols: [python/pkg/]\n"


def scoped(*models: str, rest: str = HYBRID) -> Manifest:
    stated = manifest(KEEP + rest)
    roots = stated.roots
    return replace(stated, roots=replace(roots, kept=kept("one", *models)))


def upstream(**changes: str) -> Snapshot:
    return package({**FILES, **changes})


def done(*models: str) -> Cut:
    return cut(upstream(), scoped(*models))


def printed(*models: str) -> set[str]:
    """What the program can still print when these models are kept too."""
    text = done(*models).output["python/pkg/main.py"].decode()
    return {line.split('"')[1] for line in text.splitlines() if "print(" in line}


def test_where_the_models_leave_the_statements_hold() -> None:
    assert printed() == {"three"}
    assert b"of_two" not in done().output["python/pkg/main.py"]


LISTS = """\
from pkg.lists import LISTED


def run(arch, archs: list):
    if any(a in archs for a in LISTED):
        print("one of them")
    if any(a in LISTED for a in archs):
        print("each of them")
    if arch in (*LISTED, "TwoForTextMore"):
        print("in them")
    if archs == ["TwoForText"]:
        print("equal")
    if any(a in arch for a in ("TwoForText", "OneForText")):
        print("kept")
"""


def test_architectures_are_asked_for_in_lists() -> None:
    stated = scoped(rest=HYBRID.replace("names: [arch], removed", "names: [arch, archs], removed"))
    files = upstream(**{"main.py": FILES["main.py"] + LISTS, "lists.py": "LISTED = ('TwoForText',)\n"})
    text = cut(files, stated).output["python/pkg/main.py"].decode()
    assert [line for line in text.splitlines() if "print(" in line] == [
        '        print("three")', '        print("kept")'
    ]  # fmt: skip


def test_keeping_a_model_withdraws_what_is_said_because_of_it() -> None:
    assert printed("two") == {"part of two", "two", "listed", "is two", "configured", "three"}
    assert b"def of_two" in done("two").output["python/pkg/main.py"]


@pytest.mark.parametrize(("kept", "stays"), [((), False), (("two",), True)])
def test_a_pattern_of_models_stands_for_no_module_that_they_share(kept: tuple[str, ...], stays: bool) -> None:
    files = {
        "models/one.py": f"from pkg.models import common\n\n\n{FILES['models/one.py']}",
        "models/common.py": "print(1)\n",
    }
    asked = scoped(*kept, rest=HYBRID.replace("models: [two*]", 'models: ["[!o]*"]'))
    found = cut(upstream(**files), asked).output
    assert "python/pkg/models/common.py" in found
    assert (b'print("configured")' in found["python/pkg/main.py"]) is stays


def test_a_model_that_another_one_needs_is_kept_like_it() -> None:
    assert printed("two_more") == printed("two")
    assert "python/pkg/models/two.py" in done("two_more").output


def test_without_the_batch_that_closes_the_set_of_models_their_names_stay_and_not_they() -> None:
    found = cut(upstream(), without(scoped(), ("others",)))
    assert b'print("two")' in found.output["python/pkg/main.py"]
    assert "python/pkg/models/two.py" not in found.output
    assert found.decided.removed["python/pkg/models/two.py"].batch == "base"
    assert cut(upstream(), scoped()).decided.removed["python/pkg/models/two.py"].batch == "others"


def test_an_architecture_in_a_list_of_upstream_switches_the_batch_off() -> None:
    found = done("three")
    assert "python/pkg/pictures.py" in found.output
    assert "pictures" in printed("three")
    assert [b.id for b in found.manifest.batches] == ["base", "others"]
    assert [b.id for b in done("two").manifest.batches] == ["base", "others", "pictures"]


def test_a_batch_that_a_model_switches_off_is_told_with_what_needs_it() -> None:
    assert done("three").withdrawn == {"pictures": "ThreeForImages"}
    assert done("two").withdrawn == {}


def test_a_model_that_needs_what_a_batch_removes_is_told_how_to_build_it() -> None:
    five = (
        "from pkg.kernel import run\n\n\nclass FiveForText:\n    def forward(self):\n        return run()\n"
        "\n\nEntryClass = FiveForText\n"
    )
    files = {**FILES, "kernel.py": "def run():\n    return 5\n", "models/five.py": five}
    kernel = "  - {id: kernel, why: slow, remove: [python/pkg/kernel.py]}\n"
    stated = scoped("five", rest=HYBRID + kernel)
    with pytest.raises(BuildError) as caught:
        cut(upstream(**files), stated)
    (problem,) = caught.value.problems
    assert problem.code == "R008" and "batch kernel removes pkg.kernel" in problem.message
    assert problem.hint is not None and problem.hint.startswith("Build with `--without kernel`.")
    assert "python/pkg/kernel.py" in cut(upstream(**files), without(stated, ("kernel",))).output


def test_an_architecture_that_another_name_contains_is_no_absent_value() -> None:
    # `more` stays and its name contains that of `two`, for which a test may ask with `in`
    files = {
        **FILES,
        "models/two_more.py": "class TwoForTextMore:\n    pass\n\n\nEntryClass = TwoForTextMore\n",
    }
    found = cut(upstream(**files), scoped("two_more"))
    assert "python/pkg/models/two.py" not in found.output
    assert b'print("two")' in found.output["python/pkg/main.py"]


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (
            "models: [two]}",
            "models: [twoo]}",
            "No model of upstream is called `twoo`.",
            "did you mean `two`?",
        ),
        ("models: [two*]", "models: [twenty*]", "No model of upstream is called `twenty*`.", "since"),
        ("parts: [Two]", "parts: [Twenty]", "No architecture of upstream's models has `Twenty`", "since"),
        (".PICTURES", ".IMAGES", "`pkg.config.IMAGES` is no list of architectures", ""),
        (".PICTURES", ".is_two", "`pkg.config.is_two` is no list of architectures", ""),
    ],
)
def test_what_names_no_model_of_upstream_is_an_error(old: str, new: str, message: str, hint: str) -> None:
    with pytest.raises(BuildError) as caught:
        cut(upstream(), scoped(rest=HYBRID.replace(old, new)))
    assert {p.code for p in caught.value.problems} == {"R009"}
    assert any(message in p.message and hint in (p.hint or "") and p.mark for p in caught.value.problems)


def test_what_upstream_may_lack_is_none() -> None:
    text = HYBRID.replace("models: [two]", "models: [two, {name: ten, optional: an example}]")
    text = text.replace("{value: null, models: [two*]}", "{value: null, models: [ten], optional: an example}")
    assert b'print("configured")' not in cut(upstream(), scoped(rest=text)).output["python/pkg/main.py"]


@pytest.mark.parametrize(
    ("models", "code", "words"),
    [
        ("[]", "M004", "holds nothing"),
        ("two", "M004", "not written as it should be"),  # one model is a list too
        ("[two/three]", "M004", "not written as it should be"),
        ("[{nam: two}]", "M005", "`nam` is not known"),
        ("{name: two}", "M004", "must be a list or text"),
    ],
)
def test_models_are_checked_by_the_schema(models: str, code: str, words: str) -> None:
    text = HEAD + f"facts: {{values: {{a.b: {{value: null, models: {models}}}}}}}\nbatches: []\n"
    found = problems(text)
    assert any(p.code == code and words in p.message for p in found), found


def test_a_misspelt_key_is_recognised() -> None:
    (problem,) = problems(HEAD + "facts: {values: {a.b: {value: null, model: [two]}}}\nbatches: []\n")
    assert (problem.code, problem.hint) == ("M005", "did you mean `models`?")


PREDICATE = """\
batches:
  - id: hybrids
    why: one model
    facts: {predicates: {pkg.config.is_hybrid: false}}
"""


def hybrid(*models: str, rest: str = PREDICATE) -> Cut:
    code = FILES["config.py"] + (
        "def is_hybrid(architectures):\n    return any(a in TWO_ARCHS for a in architectures)\n"
    )
    main = (
        "from pkg.config import is_hybrid\n\n\ndef run(names):\n    if is_hybrid(names):\n        print(1)\n"
    )
    return cut(upstream(**{"config.py": code, "main.py": main}), scoped(*models, rest=rest))


def test_a_fact_that_upstream_answers_alike_for_the_models_that_stay_holds() -> None:
    assert b"print(1)" not in hybrid().output["python/pkg/main.py"]


def test_a_fact_that_is_wrong_for_a_model_that_stays_names_the_batch_to_switch_off() -> None:
    with pytest.raises(BuildError) as caught:
        hybrid("two")
    (problem,) = caught.value.problems
    assert problem.code == "R012"
    assert "`pkg.config.is_hybrid` is True for TwoForText, which stays, and not False." in problem.message
    assert "--without hybrids" in (problem.hint or "")


@pytest.mark.parametrize(
    "models",
    [
        "pkg.config.is_hybrid",
        "[{architectures: pkg.config.is_hybrid}]",
        "[{defines: TwoForText}]",
        "[{parameter: get_second}]",
    ],
)
def test_a_batch_leaves_where_upstreams_code_says_that_a_model_needs_it_off(models: str) -> None:
    rest = PREDICATE.replace("    facts:", f"    models: {models}\n    facts:")
    assert hybrid(rest=rest).withdrawn == {}
    done = hybrid("two", rest=rest)
    assert set(done.withdrawn) == {"hybrids"}
    assert b"print(1)" in done.output["python/pkg/main.py"]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("[{architectures: pkg.config.is_mixed}]", "`pkg.config.is_mixed` is no list of architectures"),
        ("[{defines: ThreeForText}]", "No model of upstream defines `ThreeForText`."),
        ("[{parameter: get_third}]", "No model of upstream has a parameter `get_third`."),
    ],
)
def test_what_says_nothing_of_any_model_is_an_error_unless_it_is_optional(models: str, message: str) -> None:
    rest = PREDICATE.replace("    facts:", f"    models: {models}\n    facts:")
    with pytest.raises(BuildError) as caught:
        hybrid(rest=rest)
    assert [p.code for p in caught.value.problems] == ["R009"]
    assert message in caught.value.problems[0].message
    assert hybrid(rest=rest.replace("}]", ", optional: an example}]")).withdrawn == {}


def test_a_function_whose_code_does_not_tell_is_an_error_even_where_it_is_optional() -> None:
    rest = PREDICATE.replace(
        "    facts:", "    models: [{architectures: pkg.config.is_two, optional: x}]\n    facts:"
    )
    with pytest.raises(BuildError) as caught:
        hybrid(rest=rest)
    assert [p.code for p in caught.value.problems] == ["R009"]


@pytest.mark.parametrize("model", ["{name: one, defines: Two}", "{optional: an example}"])
def test_a_model_is_named_in_one_way_only(model: str) -> None:
    (problem,) = problems(HEAD + f"batches:\n  - {{id: a, why: b, models: [{model}]}}\n")
    assert problem.code == "M004"
    keys = "`name`, `architectures`, `defines` or `parameter`"
    assert problem.message.endswith(f"needs exactly one of the keys {keys}.")
