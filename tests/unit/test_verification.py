"""The harness's own pieces that need neither torch nor a tree of SGLang."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from builder.tree import EXECUTABLE, FILE, SYMLINK, Entry, Tree, blob_id
from verification import corpus, declared, environment, matrix, subjects
from verification.checks import arguments, forward, imports, launch
from verification.corpus import Command
from verification.evidence import statement
from verification.models.formats import FORMATS
from verification.probe_runner import Answer, ProbeRunner
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check, passed
from verification.subjects import Output, Subject

THEIRS, OURS = (Subject(role, Path(), digit * 40) for role, digit in (("upstream", "a"), ("ours", "b")))
V3 = Command("v3", ("--model-path", "deepseek-ai/DeepSeek-V3", "--tp", "8"))


def declarations(**more: object) -> declared.Declared:
    said: dict[str, object] = {"upstream_gets": [], "fields": [], "lost_tests": {}, "lost_with": {}}
    return declared.parse(json.dumps({**said, **more}))


def surface(
    lost: Sequence[str] = (), choices: Mapping[str, Sequence[str]] | None = None,
    defaults: Mapping[str, object] | None = None,
) -> dict[str, object]:  # fmt: skip
    """What surface.json says of the parser."""
    here = {"kind": "flag", "group": "sglang.srt.server_args"}
    gone = [{**here, "name": name, "details": {"dest": f"{name.lstrip('-')}_field"}} for name in lost]
    changed = [
        {**here, "change": "changed", "name": name, "detail": "choices", "before": value}
        for name, values in (choices or {}).items()
        for value in values
    ]
    set_otherwise = [
        {**here, "change": "changed", "name": name, "detail": "default", "before": 1, "after": value}
        for name, value in (defaults or {}).items()
    ]
    elsewhere = {"change": "lost", "kind": "flag", "group": "sglang.bench", "name": "--other"}
    differences = [*({**each, "change": "lost"} for each in gone), *changed, *set_otherwise, elsewhere]
    return {"after": [], "before": gone, "differences": differences}


def flag(**more: object) -> dict[str, object]:
    said = {"dest": "x", "kind": "_StoreAction", "type": "str", "nargs": None, "required": False}
    return {**said, "default": None, "choices": None, "help": None, **more}


def parsed(**fields: object) -> dict[str, object]:
    return {"arguments": fields, "environment": {}, "attention": ["triton", "triton"]}


def ran(*events: str, tokens: int = 1) -> Answer:
    values = {
        "events": [["op", name] for name in events],
        "sites": [f"python/sglang/a.py:{line}" for line in range(len(events))],
        "started": 1,
        "digest": "d",
        "attention": ["triton"],
        "unmodelled": {},
        "unknown": [],
        "outcome": {"passes": [{"tokens": tokens, "finite": True}]},
    }
    return Answer(values)


class TestCommands:
    def test_words_go_over_several_lines_and_are_split_as_a_shell_does(self) -> None:
        (command,) = corpus.parse("[one]\n--model-path a/b\n--x '{\"y\": 1}' # no comment inside\n")
        assert command.words[:4] == ("--model-path", "a/b", "--x", '{"y": 1}')

    def test_machines_and_refusals_belong_to_the_command_before_them(self) -> None:
        one, two = corpus.parse("[one]\nmachine: sm100\n--model m\n[two]\nrefused: X\n--model n\n")
        assert (one.machines, one.refused, one.model) == (("sm100",), "", "m")
        assert (two.machines, two.refused) == (("sm90", "sm100"), "X")

    @pytest.mark.parametrize(
        ("text", "line"),
        [("--tp 8\n", 1), ("[a]\n--x\n\n[a]\n", 4), ("[a]\nmachine: sm80\n", 2)],
    )
    def test_what_is_no_command_is_named_by_its_line(self, text: str, line: int) -> None:
        with pytest.raises(ValueError, match=f"line {line}:"):
            corpus.parse(text)

    def test_the_corpus_is_large_enough_and_names_known_models(self) -> None:
        commands = corpus.read()
        assert len([command for command in commands if not command.refused]) >= 25
        kinds = {corpus.model(command.model)["architecture"] for command in commands}
        assert {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"} <= kinds

    def test_a_flag_is_found_in_both_its_spellings(self) -> None:
        assert Command("c", ("--tp=8",)).gives("--tp")
        assert not Command("c", ("--tp-size", "8")).gives("--tp")


class TestDeclared:
    def test_upstream_gets_a_flag_only_where_the_command_lacks_it(self) -> None:
        gets = {"flags": ["--b", "x"], "machines": ["sm90"], "unless": ["--b"], "models": "V3", "why": "w"}
        said = declarations(upstream_gets=[gets])
        assert said.for_upstream(V3, "sm90") == (*V3.words, "--b", "x")
        assert said.for_upstream(V3, "sm100") == V3.words
        given = Command("v3", (*V3.words, "--b", "y"))
        assert said.for_upstream(given, "sm90") == given.words

    def test_a_declaration_needs_a_reason(self) -> None:
        with pytest.raises(KeyError):
            declarations(fields=[{"field": "f", "ours": 1}])

    def test_the_declarations_of_this_repository_can_be_read(self) -> None:
        assert declared.read().upstream_gets

    def test_flags_choices_and_defaults_come_from_the_outputs_surface(self) -> None:
        said = declarations().of(surface(lost=["--gone"], choices={"--a": ["x"]}, defaults={"--b": 2}))
        assert said.lost_flags == {"--gone": "gone_field"}
        assert said.lost_choices == {"--a": {"x"}}
        assert said.allowed(V3, "sm90") == {"gone_field": None, "b": 2}
        given = Command("v3", (*V3.words, "--b", "1"))
        assert said.allowed(given, "sm90") == {"gone_field": None}

    def test_only_a_batch_that_is_declared_so_takes_flags_and_paths_from_servers(self) -> None:
        stated = replace(declarations(), lost_with={"lora": ("asked",)})
        said = surface(lost=["--gone", "--lora"])
        for each in said["differences"]:
            each["causes"] = [{"batch": "lora" if each["name"] == "--lora" else "awq"}]
        route = {"kind": "route", "group": "g", "name": "POST /load", "change": "lost"}
        said["differences"] += [{**route, "causes": [{"batch": "lora"}]}, {**route, "name": "GET /other"}]
        found = stated.of(said)
        assert set(found.lost_flags) == {"--gone", "--lora"}
        assert (found.optional_flags, found.optional_paths) == ({"--lora"}, {"/load"})
        said["after"] = [{"kind": "route", "group": "server", "name": "POST /load"}]
        assert stated.of(said).optional_paths == frozenset()

    def test_a_declaration_may_depend_on_a_default_that_changed(self) -> None:
        differs = {"field": "f", "ours": 1, "changed": "--b", "why": "w"}
        stated = declarations(fields=[differs])
        assert stated.of(surface()).allowed(V3, "sm90") == {}
        assert stated.of(surface(defaults={"--b": 2})).allowed(V3, "sm90") == {"b": 2, "f": 1}

    def test_flags_go_by_the_names_that_upstream_has_for_them(self) -> None:
        gets = {"flags": ["--nsa-x", "t"], "unless": ["--nsa-x"], "why": "w"}
        differs = {"field": "nsa_x", "ours": "t", "changed": "--nsa-x", "why": "w"}
        stated = declarations(upstream_gets=[gets], fields=[differs])
        before = [{"kind": "flag", "group": "sglang.srt.server_args", "name": "--dsa-x"}]
        later = stated.of({**surface(defaults={"--dsa-x": "t"}), "before": before})
        assert later.for_upstream(V3, "sm90") == (*V3.words, "--dsa-x", "t")
        assert later.allowed(V3, "sm90") == {"dsa_x": "t"}
        given = Command("v3", (*V3.words, "--nsa-x", "y"))
        assert later.spelled(given).words == (*V3.words, "--dsa-x", "y")
        assert stated.spelled(given) == given


class TestArguments:
    def test_equal_arguments_pass_and_another_value_fails(self) -> None:
        assert arguments.compare(V3, "sm90", parsed(a=1), parsed(a=1), {}).verdict == PASSED
        case = arguments.compare(V3, "sm90", parsed(a=1), parsed(a=2), {})
        assert (case.verdict, case.lines) == (FAILED, ("a: upstream 1, ours 2",))

    def test_a_declared_field_may_differ_but_only_to_the_declared_value(self) -> None:
        assert arguments.compare(V3, "sm90", parsed(a=1), parsed(a=2), {"a": 2}).verdict == PASSED
        assert arguments.compare(V3, "sm90", parsed(a=1), parsed(a=3), {"a": 2}).verdict == FAILED

    def test_a_variable_that_nothing_here_reads_need_not_be_set(self) -> None:
        theirs, mine = {**parsed(), "environment": {"GONE": "1"}}, {**parsed(), "environment": {}}
        assert arguments.compare(V3, "sm90", theirs, mine, {}).verdict == FAILED
        assert arguments.compare(V3, "sm90", theirs, mine, {}, frozenset({"GONE"})).verdict == PASSED
        other = {**mine, "environment": {"GONE": "2"}}
        assert arguments.compare(V3, "sm90", theirs, other, {}, frozenset({"GONE"})).verdict == FAILED

    def test_a_field_that_is_gone_is_no_field_that_is_none(self) -> None:
        assert arguments.compare(V3, "sm90", parsed(a=None), parsed(), {}).verdict == FAILED

    def test_a_field_that_no_flag_fills_may_be_gone(self) -> None:
        def verdict(mine: dict[str, object]) -> str:
            return arguments.compare(V3, "sm90", parsed(a=1), mine, {}, filled=frozenset({"b"})).verdict

        assert (verdict(parsed()), verdict(parsed(a=2))) == (PASSED, FAILED)
        filled = arguments.compare(V3, "sm90", parsed(a=1), parsed(), {}, filled=frozenset({"a"}))
        assert filled.verdict == FAILED

    def test_what_only_ours_refuses_fails_and_what_both_refuse_alike_has_not_run(self) -> None:
        error = {"error": "ValueError: no", "place": "x.py:1"}
        elsewhere = {"error": "ValueError: no", "place": "x.py:2"}
        assert arguments.compare(V3, "sm90", parsed(), error, {}).verdict == FAILED
        assert arguments.compare(V3, "sm90", error, elsewhere, {}).verdict == NOT_RUN

    def test_a_removed_feature_must_be_refused(self) -> None:
        gone = Command("gone", V3.words, refused="FA3")
        assert arguments.compare(gone, "sm90", parsed(), {"refused": "2"}, {}).verdict == PASSED
        assert arguments.compare(gone, "sm90", parsed(), parsed(), {}).verdict == FAILED

    def test_flags_may_only_lose_what_is_declared(self) -> None:
        said = declarations().of(surface(lost=["--gone"], choices={"--a": ["x"]}))
        theirs = {"--a": flag(choices=["x", "y"]), "--gone": flag(), "--b": flag(default=1)}
        mine = {"--a": flag(choices=["y"]), "--b": flag(default=1)}
        assert {case.verdict for case in arguments.flags(theirs, mine, said)} == {PASSED}
        worse = {"--a": flag(choices=[]), "--b": flag(default=2)}
        assert [case.verdict for case in arguments.flags(theirs, worse, said)] == [FAILED, FAILED, PASSED]

    def test_a_lost_flag_is_lost_under_its_other_names_too(self) -> None:
        said = declarations().of(surface(lost=["--gone"]))
        assert {case.verdict for case in arguments.flags({"--gone --also": flag()}, {}, said)} == {PASSED}
        assert {case.verdict for case in arguments.flags({"--also --other": flag()}, {}, said)} == {FAILED}


class TestEnvironment:
    @pytest.mark.parametrize(
        ("asked", "file"),
        [("transformers==4.57.1", "requirements.txt"),
         ("transformers==5.12.1", "requirements-transformers-5.txt"),
         ("torch==2.9.1", "requirements.txt"), ("transformers==99.0", "requirements.txt")],
    )  # fmt: skip
    def test_the_pins_follow_the_trees_transformers(self, asked: str, file: str, tmp_path: Path) -> None:
        (tmp_path / "python").mkdir()
        (tmp_path / "python/pyproject.toml").write_text(f'dependencies = ["{asked}"]')
        assert environment.requirements(tmp_path).name == file
        assert environment.requirements(tmp_path).exists()

    def test_a_tree_without_a_project_file_has_the_first_pins(self, tmp_path: Path) -> None:
        assert environment.requirements(tmp_path) == environment.REQUIREMENTS


class TestForward:
    def test_equal_events_and_outcomes_pass(self) -> None:
        assert forward.compare("c", ran("a", "b"), ran("a", "b")).verdict == PASSED

    def test_the_first_event_that_differs_is_shown_with_both_lines(self) -> None:
        case = forward.compare("c", ran("a", "b", "c"), ran("a", "x", "c"))
        assert case.verdict == FAILED
        assert "event 1" in case.lines[0]
        assert "a.py:1" in case.lines[1] and '"x"' in case.lines[2]

    def test_events_that_are_missing_at_the_end_are_a_difference(self) -> None:
        case = forward.compare("c", ran("a", "b", "c"), ran("a", "b"))
        assert "upstream goes on after 2 events, for 1 more" in case.lines

    def test_other_results_of_the_same_events_are_a_difference(self) -> None:
        assert forward.compare("c", ran("a", "b"), ran("a", "b", tokens=2)).verdict == FAILED

    def test_nothing_recorded_proves_nothing(self) -> None:
        assert forward.compare("c", ran("a"), ran("a")).verdict == FAILED

    def test_a_crash_of_ours_fails_and_one_of_upstream_is_told(self) -> None:
        crash = Answer(None, ("Traceback", "ValueError"))
        assert forward.compare("c", ran("a", "b"), crash).verdict == FAILED
        assert forward.compare("c", crash, ran("a", "b")).verdict == NOT_RUN


class TestImportsAndPrograms:
    def test_a_module_may_not_import_worse_than_upstream(self) -> None:
        absent = ["fail", "ModuleNotFoundError: x", "a.py:1"]
        assert imports.case("m", ["ok", "", ""], ["ok", "", ""]).verdict == PASSED
        assert imports.case("m", ["ok", "", ""], absent).verdict == FAILED
        assert imports.case("m", absent, absent).verdict == NOT_RUN
        assert imports.case("m", absent, ["fail", "NameError: y", "a.py:2"]).verdict == FAILED
        assert imports.case("m", None, absent).verdict == FAILED

    def test_a_program_that_fails_in_both_trees_proves_nothing(self) -> None:
        fine, broken = {"status": 0, "lines": 9}, {"status": "TypeError", "lines": 0}
        assert launch.case("p", broken, fine).verdict == PASSED
        assert launch.case("p", broken, broken).verdict == NOT_RUN
        assert launch.case("p", fine, broken).verdict == FAILED


class TestSubjects:
    def test_the_tree_of_a_folder_has_gits_id(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a/x.py").write_text("1\n")
        (tmp_path / "a/run").write_text("2\n")
        (tmp_path / "a/run").chmod(0o755)
        (tmp_path / "l").symlink_to("a/x.py")
        wanted = Tree(
            {
                "a/x.py": Entry(FILE, blob_id(b"1\n")),
                "a/run": Entry(EXECUTABLE, blob_id(b"2\n")),
                "l": Entry(SYMLINK, blob_id(b"a/x.py")),
            }
        )
        assert subjects.tree_of(tmp_path).id == wanted.id

    def test_of_upstream_only_what_runs_is_written_and_only_once(self, tmp_path: Path) -> None:
        blobs = {blob_id(data): data for data in (b"x", b"y")}
        tree = Tree({"python/sglang/a.py": Entry(FILE, blob_id(b"x")), "docs/b": Entry(FILE, blob_id(b"y"))})
        asked: list[set[str]] = []

        def read(ids: object) -> dict[str, bytes]:
            asked.append(set(ids))  # type: ignore[call-overload]
            return blobs

        for _ in range(2):
            found = subjects.upstream(tree, read, tmp_path)
        assert found.modules() == ["sglang.a"]
        assert asked == [{blob_id(b"x")}]
        assert not (found.folder / "docs").exists()

    def test_modules_are_named_as_they_are_imported(self, tmp_path: Path) -> None:
        for name in ("__init__.py", "srt/a.py", "cli/__init__.py", "cli/__main__.py"):
            path = tmp_path / "python/sglang" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        assert Subject("ours", tmp_path, "").modules() == ["sglang", "sglang.cli", "sglang.srt.a"]


class TestAsking:
    @pytest.fixture
    def asker(self, tmp_path: Path) -> ProbeRunner:
        """A Python that answers any probe with the number of times that it was asked."""
        count, program = tmp_path / "count", tmp_path / "python"
        program.write_text(
            f'#!/bin/sh\necho x >> {count}\nwhile [ "$1" != --out ]; do shift; done\n'
            f'[ -e {tmp_path}/broken ] && {{ echo "Boom in $PWD/x"; exit 3; }}\n'
            f"""echo "{{\\"count\\": $(wc -l < {count})}}" > "$2"\n"""
        )
        program.chmod(0o755)
        return ProbeRunner(program, tmp_path / "work", tmp_path / "kept", "h")

    def test_upstreams_answers_are_kept_and_ours_are_not(self, asker: ProbeRunner) -> None:
        for subject, counts in ((THEIRS, [1, 1]), (OURS, [2, 3])):
            found = [asker.ask("p", subject, "n", {"q": 1}).values for _ in range(2)]
            assert found == [{"count": count} for count in counts]

    def test_an_answer_that_a_busy_machine_decided_is_not_kept(
        self, asker: ProbeRunner, tmp_path: Path
    ) -> None:
        program = tmp_path / "python"
        program.write_text(program.read_text().replace("count", "unsettled"))
        assert not any(asker.ask("p", THEIRS, "n", {"q": 1}).kept for _ in range(2))

    def test_another_question_is_asked_anew(self, asker: ProbeRunner) -> None:
        found = [asker.ask("p", THEIRS, "n", {"q": number}).values for number in (1, 2)]
        assert found == [{"count": 1}, {"count": 2}]

    def test_the_end_of_the_log_tells_why_there_is_no_answer(
        self, asker: ProbeRunner, tmp_path: Path
    ) -> None:
        (tmp_path / "broken").touch()
        answer = asker.ask("p", THEIRS, "n", {})
        assert (answer.values, answer.lines) == (None, ("Boom in <harness>/x",))
        (tmp_path / "broken").unlink()
        assert asker.ask("p", THEIRS, "n", {}).values == {"count": 2}  # a failure is not kept


class TestEvidence:
    def test_it_holds_no_folder_of_the_machine(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        lines = (f"{tmp_path}/cache/x.so", f"{Path(__file__).parents[2]}/verification/run.py")
        check = Check("c", (Case("none", NOT_RUN, lines),))
        said = Output("f" * 40, "a" * 40, "b" * 40, "", "")
        whole = json.loads(statement(said, THEIRS, OURS, [check], {}, {"digest": "", "requirements": ""}))
        told = whole["predicate"]["checks"][0]["cases"][0]["lines"]
        assert told == ["~/cache/x.so", "<project>/verification/run.py"]

    def test_it_names_what_was_tested_and_what_did_not_run(self) -> None:
        check = Check(
            "c", (Case("good", PASSED), Case("bad", FAILED, ("why",)), Case("none", NOT_RUN, ("w",)))
        )
        said = Output("f" * 40, "a" * 40, "b" * 40, "w.whl", "e" * 64)
        harness = {"digest": "1" * 64, "requirements": "2" * 64, "python": "3.11"}
        whole = json.loads(statement(said, THEIRS, OURS, [check], {"slow": "by name"}, harness))
        assert whole["subject"][0]["digest"]["gitTree"] == "b" * 40
        predicate = whole["predicate"]
        assert predicate["result"] == "FAILED"
        assert (predicate["passedTests"], predicate["failedTests"]) == (["c/good"], ["c/bad"])
        assert predicate["warnedTests"] == ["c/none"]
        assert predicate["leftOut"] == {"slow": "by name"}
        assert predicate["checks"][0]["counts"] == {"passed": 1, "failed": 1, "not run": 1}

    def test_all_that_was_asked_for_passing_with_something_left_out_is_a_warning(self) -> None:
        said = Output("", "", "", "", "")
        harness = {"digest": "", "requirements": ""}
        good = Check("c", (Case("good", PASSED),))
        for left_out, result in (({}, "PASSED"), ({"x": "y"}, "WARNED")):
            whole = json.loads(statement(said, THEIRS, OURS, [good], left_out, harness))
            assert whole["predicate"]["result"] == result

    def test_a_check_in_which_nothing_ran_has_not_passed(self) -> None:
        check = Check("c", (Case("none", NOT_RUN),))
        assert check.verdict == NOT_RUN
        assert not passed([check])
        assert Check("c", (Case("good", PASSED),), ("broke off",)).verdict == FAILED


class TestMatrix:
    def test_names_are_unique_and_chosen_by_their_start(self) -> None:
        names = [each.name for each in matrix.CONFIGURATIONS]
        assert len(set(names)) == len(names)
        assert {each.name for each in matrix.chosen(("v32-",))} == {n for n in names if n.startswith("v32-")}
        assert matrix.chosen(("v9",)) == ()

    def test_upstream_alone_gets_the_flags_for_it(self) -> None:
        one = matrix.Configuration("n", arguments={"a": 1}, upstream={"b": 2})
        assert one.question(True)["arguments"] == {"tp_size": 8, "a": 1, "b": 2}
        assert one.question(False)["arguments"] == {"tp_size": 8, "a": 1}

    def test_every_format_of_weights_is_one_that_a_configuration_of_a_model_can_have(self) -> None:
        asked = {each.quantization for each in matrix.CONFIGURATIONS} - {""}
        assert asked == set(FORMATS)

    def test_the_small_set_has_both_kinds_of_runs(self) -> None:
        assert {each.mode for each in matrix.chosen(quick=True)} == {matrix.SHAPES, matrix.NUMBERS}
