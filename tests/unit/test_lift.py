"""lift: from a proven pin to a newer upstream, on a small world."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from small_files import FILES, PARSER
from small_world import commit_files, small_world

from builder.tree import blob_id

Files = Mapping[str, bytes | tuple[str, bytes]]
SERVER = "python/acme/server.py"
PLATFORM = "python/acme/platform.py"
AWK, QUILL = "python/acme/layers/awk.py", "python/acme/layers/quill.py"


def edited(files: Files, path: str, *changes: tuple[str, str]) -> dict[str, bytes | tuple[str, bytes]]:
    """The files with texts replaced that occur exactly once in one of them."""
    data = files[path]
    assert isinstance(data, bytes)
    text = data.decode()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return {**files, path: text.encode()}


def renamed(files: Files, old: str, new: str) -> dict[str, bytes | tuple[str, bytes]]:
    return {(new if path == old else path): data for path, data in files.items()}


def with_martians(files: Files) -> Files:
    """The files with a predicate of a platform that no fact knows, and a use of it."""
    files = edited(
        files, PLATFORM,
        ("def on_alien", "def is_martian():\n    return torch.mars.is_available()\n\n\ndef on_alien"),
        ("\n\nGALAXY", "\n\nimport torch\n\nGALAXY"),
    )  # fmt: skip
    return edited(
        files, SERVER,
        ("import is_alien, on_alien", "import is_alien, is_martian, on_alien"),
        ("        if _is_alien:", "        if is_martian() or _is_alien:"),
    )  # fmt: skip


def with_requirement(files: Files, text: str) -> Files:
    last = '  "packaging>=20",'
    return edited(files, "python/pyproject.toml", (last, f'{last}\n  "{text}",'))


def with_attrs(files: Files) -> Files:
    """The files with a requirement more, which is imported."""
    files = with_requirement(files, "attrs")
    return edited(files, "python/acme/launch.py", ("import sys\n", "import sys\n\nimport attr\n"))


def with_colours(files: Files, *names: str) -> Files:
    """The files with configurations that the launcher alone imports."""
    hub = "".join(f"from acme.configs.{name} import X as {name}\n" for name in names)
    files = edited(files, "python/acme/launch.py", ("import sys\n", f"import sys\n\n{hub}"))
    return {**files, **{f"python/acme/configs/{name}.py": b"X = 1\n" for name in names}}


#: A rule of the manifest that prunes configurations, and one that prunes these two of `with_colours`.
PRUNED = "prune: [{path: python/acme/configs/*.py, defines: width}]"
PRUNED_COLOURS = (
    "prune: [python/acme/configs/other.py, python/acme/configs/red.py, python/acme/configs/blue.py]"
)


def with_awk_as_quill(files: Files) -> Files:
    """The files with a module renamed that a rule removes."""
    files = renamed(files, AWK, QUILL)
    return edited(files, "python/acme/layers/quant.py", ("acme.layers.awk", "acme.layers.quill"))


class Later:
    """A small world whose upstream goes on."""

    def __init__(self, folder: Path) -> None:
        self.world = small_world(folder)
        self.tip = self.world.commit
        self.files: Files = FILES

    def then(self, subject: str, files: Files) -> str:
        self.files = files
        self.tip = commit_files(
            self.world.repository, files, "refs/heads/main", parent=self.tip, subject=subject
        )
        return self.tip

    def lift(self, *words: str) -> tuple[int, dict]:
        done = self.world.run("lift", *(words or (self.tip,)), "--format", "json")
        return done.returncode, json.loads(done.stdout) if done.stdout else {}

    #: Of the old upstream and the new one: both say the same, and the new one comes later.
    versions = ("1.2.3", "1.2.3.post1.dev0")

    @property
    def folder(self) -> Path:
        return self.world.home / "lift" / self.tip

    @property
    def manifest(self) -> str:
        return self.world.manifest.read_text("utf-8")


@pytest.fixture
def later(tmp_path: Path) -> Later:
    return Later(tmp_path)


def ids(found: dict) -> list[str]:
    return [question["id"] for question in found["questions"]]


def codes(problems: list[dict]) -> list[str]:
    return sorted({problem["code"] for problem in problems})


def test_an_upstream_that_changes_nothing_of_ours_is_lifted_to_at_once(later: Later) -> None:
    later.then("Say more (#1)", edited(later.files, "README.md", ("Serves models.", "Serves all models.")))
    before = later.manifest
    status, found = later.lift()
    assert (status, found["questions"], found["lost"], found["problems"]) == (0, [], [], [])
    assert found["commits"] == 1 and found["from"]["spec"] == "seed"
    assert later.manifest == before
    assert (later.folder / "proposal.patch").read_bytes() == b""
    for name in ("report.md", "page.md"):
        assert "The build passes every gate." in (later.folder / name).read_text("utf-8")


def test_a_page_has_the_statements_that_gave_way_with_the_commit(later: Later) -> None:
    later.then("Begin (#2)", edited(later.files, SERVER, ('print("starting")', 'print("begin")')))
    status, found = later.lift()
    assert (status, len(found["lost"])) == (5, 1)
    text = (later.folder / "page.md").read_text("utf-8")
    assert found["lost"][0]["statement"] in text
    assert "(#2) Begin`" in text


def test_a_lift_to_the_pin_itself_has_nothing_to_say(later: Later) -> None:
    status, found = later.lift(later.world.commit, "--from", "seed")
    assert (status, found["commits"], found["questions"], found["lost"], found["surface"]) == (
        0,
        0,
        [],
        [],
        [],
    )


def test_a_renamed_removed_file_does_not_escape_and_the_proposal_removes_it_again(later: Later) -> None:
    commit = later.then("Rename awk (#7)", with_awk_as_quill(later.files))
    status, found = later.lift()
    assert status == 5
    (rule,) = [item for item in found["lost"] if item["statement"] == f"remove: {AWK}"]
    assert (rule["commit"]["commit"], rule["commit"]["number"], rule["moved"]) == (commit, 7, [QUILL])
    assert ids(found) == [f"path:{QUILL}"]
    assert f"moved from {AWK}, which batch awk removes" in found["questions"][0]["message"]

    later.lift("--accept")
    old_version, new_version = later.versions
    assert f"{{path: {QUILL}, since: {new_version}}}" in later.manifest
    assert f"{{path: {AWK}, until: {old_version}}}" in later.manifest
    (pin,) = [row for row in later.manifest.splitlines() if row.startswith(f"    at-{commit[:9]}: ")]
    assert commit in pin and f"version: {new_version}}}" in pin


def test_an_edit_follows_a_module_that_was_renamed(later: Later) -> None:
    files = renamed(later.files, "python/acme/layers/attention.py", "python/acme/layers/attending.py")
    files = edited(files, SERVER, ("acme.layers.attention", "acme.layers.attending"))
    commit = later.then("Attending (#6)", files)
    _, found = later.lift()
    stub = next(item for item in found["lost"] if item["statement"].startswith("stub "))
    assert stub["commit"]["commit"] == commit
    assert stub["moved"] == ["acme.layers.attending.Plain.forward_fancy"]
    later.lift("--accept")
    assert f"acme.layers.attending.Plain.forward_fancy, since: {later.versions[1]}" in later.manifest


def test_a_method_follows_its_class_that_was_renamed_with_its_module(later: Later) -> None:
    old, new = "python/acme/layers/attention.py", "python/acme/layers/sparse.py"
    files = edited(renamed(later.files, old, new), new, ("class Plain:", "class Sparse:"))
    files = edited(
        files, new, ("class Wide(Plain)", "class Wide(Sparse)"), ('"plain": Plain', '"plain": Sparse')
    )
    files = edited(files, SERVER, ("acme.layers.attention", "acme.layers.sparse"))
    later.then("Sparse (#8)", files)
    _, found = later.lift()
    stub = next(item for item in found["lost"] if item["statement"].startswith("stub "))
    assert stub["moved"] == ["acme.layers.sparse.Sparse.forward_fancy"]


def test_an_expression_that_moved_is_found_and_edited_where_it_is_now(later: Later) -> None:
    files = edited(
        later.files, SERVER,
        ('"large": 1 << 20}', '"large": large()}'),
        ("def report(", "def large():\n    return 1 << 20\n\n\ndef report("),
    )  # fmt: skip
    commit = later.then("Give large a method (#8)", files)
    status, found = later.lift()
    (lost,) = found["lost"]
    assert status == 5
    assert lost["problem"]["code"] == "R004"
    assert (lost["commit"]["commit"], lost["moved"]) == (commit, ["acme.server.large"])
    assert found["left"] == []
    status, found = later.lift("--accept")
    assert (status, found["problems"]) == (0, [])
    assert later.world.run("dist", later.tip).returncode == 0
    assert later.world.run("dist", "seed", "--out", "old").returncode == 0  # one manifest builds both


def test_a_predicate_of_another_platform_stops_the_lift_and_is_proposed_as_a_fact(later: Later) -> None:
    commit = later.then("Mars (#9)", with_martians(later.files))
    status, found = later.lift()
    assert (status, ids(found)) == (3, ["predicate:acme.platform.is_martian"])
    (fact,) = found["facts"]
    assert (fact["open"], fact["commit"]["commit"]) == (True, commit)
    status, found = later.lift("--accept")
    assert (status, ids(found)) == (0, [])
    later.world.good("dist", later.tip)
    assert b"is_martian" not in (later.world.home / "dist/tree" / SERVER).read_bytes()


def test_a_question_that_a_person_decides_stays_decided_with_its_reason(later: Later) -> None:
    lonely = {**later.files, "python/acme/layers/lonely.py": b"LONELY = 1\n"}
    later.then("Add attrs (#2)", with_attrs(lonely))
    status, found = later.lift()
    assert (status, ids(found)) == (3, ["dependency:attrs"])
    status, found = later.lift("--decide", "dependency:*", "--because", "it is small")
    assert (status, found["decided"]) == (0, [{"id": "dependency:attrs", "why": "it is small"}])
    assert later.lift("--continue")[0] == 0
    assert "it is small" in (later.folder / "report.md").read_text("utf-8")
    assert "| `dependency:attrs` | it is small |" in (later.folder / "page.md").read_text("utf-8")


def test_a_module_that_no_root_reaches_leaves_unasked(later: Later) -> None:
    later.then("Alone (#3)", {**later.files, "python/acme/alone.py": b"ALONE = 1\n"})
    status, found = later.lift()
    assert (status, ids(found)) == (0, [])
    assert found["arrivals"]["covered"] == {"base": 1}


def test_a_file_that_nothing_reached_is_asked_about_where_a_root_reaches_it(later: Later) -> None:
    """No rule at the top removes anything, so that none is proposed there."""
    alone = {**later.files, "python/acme/alone.py": b"ALONE = 1\n"}
    later.then("Alone (#3)", alone)
    later.world.change(f'"{later.world.commit}"', later.tip)
    files = edited(alone, "python/acme/launch.py", ("import sys\n", "import sys\n\nimport acme.used\n"))
    later.then("Used (#4)", renamed(files, "python/acme/alone.py", "python/acme/used.py"))
    status, found = later.lift()
    assert (status, ids(found)) == (3, ["path:python/acme/used.py"])
    assert "moved from python/acme/alone.py, which nothing reached" in found["questions"][0]["message"]
    assert (later.folder / "proposal.patch").read_bytes() == b""


def test_a_root_that_left_is_no_problem_of_the_build_and_the_proposal_ends_it(later: Later) -> None:
    without = later.files
    later.then("Alone (#3)", {**later.files, "python/acme/old/alone.py": b"ALONE = 1\n"})
    later.world.change(f'"{later.world.commit}"', later.tip)
    later.world.change("modules: [acme.launch", "modules: [acme.old.*, acme.launch")
    later.then("No longer alone (#5)", without)
    _, found = later.lift()
    (root,) = [item for item in found["lost"] if item["statement"] == "root acme.old.*"]
    assert root["batch"] == "base"
    assert [(p["code"], p["answered"]) for p in found["problems"]] == [("R009", True)]
    later.lift("--accept")
    assert f"{{name: acme.old.*, until: {later.versions[0]}}}" in later.manifest


def test_a_module_that_a_root_reaches_stays_unasked_in_whatever_new_folder(later: Later) -> None:
    files = edited(
        later.files, "python/acme/launch.py", ("import sys\n", "import sys\n\nimport acme.new.deep\n")
    )
    later.then("New (#3)", {**files, "python/acme/new/deep.py": b"DEEP = 1\n"})
    status, found = later.lift()
    assert (status, ids(found), found["problems"]) == (0, [], [])


def test_what_only_removed_models_import_goes_with_them(later: Later) -> None:
    other = later.files["python/acme/models/other.py"]
    assert isinstance(other, bytes)
    files = {
        **later.files,
        "python/acme/tools.py": b"TOOL = 1\n",
        "python/acme/models/other.py": b"from acme.tools import TOOL\n" + other,
    }
    later.then("Tools (#4)", files)
    status, found = later.lift()
    assert (status, found["arrivals"]["open"], found["arrivals"]["covered"]) == (0, [], {"models": 1})
    later.world.good("dist", later.tip)
    assert not (later.world.home / "dist/tree/python/acme/tools.py").exists()


def test_a_configuration_that_only_the_list_of_them_imports_is_one_of_a_removed_model(later: Later) -> None:
    before = later.then("Colours (#1)", with_colours(later.files, "red", "blue"))
    later.world.change(f'"{later.world.commit}"', before)
    later.world.change(PRUNED, PRUNED_COLOURS)
    later.then("Green (#2)", with_colours(later.files, "green"))
    _, found = later.lift()
    (group,) = found["arrivals"]["open"]
    assert (group["verdict"], group["batch"], group["pattern"]) == (
        "prune",
        "models",
        "python/acme/configs/green.py",
    )


def test_a_path_that_no_rule_knows_is_proposed_beside_its_like(later: Later) -> None:
    later.then("News (#5)", {**later.files, "NEWS.md": b"none\n"})
    status, found = later.lift()
    assert (status, codes(found["problems"])) == (5, ["R003"])
    status, found = later.lift("--accept")
    assert (status, found["problems"]) == (0, [])
    assert "  - {path: /NEWS.md, since: " in later.manifest


def test_an_overlay_over_changed_code_is_merged_and_conflicts_are_shown(later: Later) -> None:
    files = edited(
        later.files, "python/acme/parser.py", ("polish(text.strip())", "polish(text.strip().lower())")
    )
    later.then("Lower (#6)", files)
    status, found = later.lift()
    assert (status, codes(found["problems"])) == (5, ["R006"])
    (changed,) = found["overlays"]
    assert changed["conflicts"] == 1
    assert "+    return polish(text.strip().lower())" in changed["diff"]
    report = (later.folder / "report.md").read_text("utf-8")
    assert "<<<<<<< the overlay" in report and ">>>>>>> upstream now" in report


def test_a_change_beside_the_overlay_is_merged_into_it(later: Later) -> None:
    ours = b'"""Parses replies."""\n\nimport re\n\n\ndef parse(text):\n    return re.sub("x", "", text)\n'
    upstream = b'"""Parses replies."""\n\nimport re\n\n\ndef parse(text):\n    return text\n'
    world = later.world
    files = {**later.files, "python/acme/parser.py": upstream}
    later.then("Simpler (#1)", files)
    world.change(f'["{blob_id(FILES["python/acme/parser.py"])}"]', f"[{blob_id(upstream)}]")  # type: ignore[arg-type]
    world.change(f'"{world.commit}"', later.tip)
    (world.home / "overlays/parser/parser.py").write_bytes(ours)
    assert world.run("plan").returncode == 3
    later.then("Docs (#2)", {**files, "python/acme/parser.py": upstream.replace(b"Parses", b"Reads")})
    status, found = later.lift()
    (changed,) = found["overlays"]
    assert (status, changed["conflicts"], changed["merged"]) == (5, 0, True)
    assert later.lift("--accept")[0] == 0
    assert b"Reads replies" in (world.home / "overlays/parser/parser.py").read_bytes()


def test_an_overlay_for_earlier_versions_is_merged_with_nothing(later: Later) -> None:
    """Upstream's file took its place, and changes as upstream likes."""
    world = later.world
    upstream = b'"""Parses replies."""\n\n\ndef parse(text):\n    return text\n'
    files = {**later.files, "python/acme/parser.py": upstream}
    later.then("Simpler (#1)", files)
    world.change(f'["{blob_id(PARSER)}"]', f'["{"0" * 40}"], until: 1.0.0')
    world.change(f'"{world.commit}"', later.tip)
    assert world.run("plan").returncode == 3
    later.then("Docs (#2)", {**files, "python/acme/parser.py": upstream.replace(b"Parses", b"Reads")})
    status, found = later.lift()
    assert (status, found["overlays"], found["problems"]) == (0, [], [])
    assert (later.folder / "proposal.patch").read_bytes() == b""


def test_all_stages_are_told_in_one_run(later: Later) -> None:
    files = edited(later.files, SERVER, ('print("starting")', 'print("begin")'))
    files = {**renamed(files, "docs/guide.md", "docs/manual.md"), "NEWS.md": b"none\n"}
    later.then("Much (#4)", files)
    _, found = later.lift()
    assert {"R001", "R003", "R004"} <= set(codes(found["problems"]))


def test_the_manifest_is_never_changed_but_by_accept_and_not_when_it_was_edited_since(later: Later) -> None:
    later.then("News (#5)", {**later.files, "NEWS.md": b"none\n"})
    before = later.manifest
    later.lift()
    assert later.manifest == before
    later.world.manifest.write_text(before + "# mine\n", "utf-8")
    done = later.world.run("lift", "--accept")
    assert done.returncode == 2
    assert "error[L005]" in done.stderr
    assert later.manifest == before + "# mine\n"
    assert later.lift("--continue")[0] == 5
    assert later.lift("--accept")[0] == 0
    assert later.manifest.endswith("# mine\n")


def test_a_changed_body_that_is_ours_is_asked_about_and_a_decision_on_nothing_asked_is_refused(
    later: Later,
) -> None:
    later.then("Slower (#3)", edited(later.files, SERVER, ("range(3)", "range(4)")))
    status, found = later.lift()
    known = f"body:overlays/fancy/slow_path.pybody:{SERVER}"
    assert (status, ids(found)) == (3, [known])
    done = later.world.run("lift", "--decide", known[:-4], "--because", "ours needs no change")
    assert done.returncode == 2
    assert "No question of this lift has the id" in done.stderr and f"did you mean `{known}`?" in done.stderr
    assert not (later.folder / "decisions.json").exists()
    assert later.lift("--decide", known, "--because", "ours needs no change")[0] == 0


def test_a_statement_that_matches_before_its_range_has_it_widened(later: Later) -> None:
    later.then("Benchmarks (#8)", {**later.files, "benchmark/run.py": b"RUN = 1\n"})
    _, found = later.lift()
    assert [(p["code"], p["answered"]) for p in found["problems"]] == [("R011", True)]
    assert later.lift("--accept")[0] == 0
    assert f"{{path: benchmark/, since: {later.versions[1]}}}" in later.manifest


def test_abort_leaves_nothing_and_no_lift_can_go_on_then(later: Later) -> None:
    later.then("News (#5)", {**later.files, "NEWS.md": b"none\n"})
    later.lift()
    assert later.world.run("lift", "--abort").returncode == 0
    assert not (later.world.home / "lift").exists()
    done = later.world.run("lift", "--continue")
    assert (done.returncode, "error[L005]" in done.stderr) == (2, True)


def test_a_damaged_state_is_said_not_raised(later: Later) -> None:
    later.then("News (#5)", {**later.files, "NEWS.md": b"none\n"})
    later.lift()
    for text in ("", "{", "[]", '{"from": 1}', "[" * 100_000):
        (later.folder / "report.json").write_text(text)
        assert later.world.run("lift", "--continue").returncode == 2
    (later.folder / "decisions.json").write_text("[1]")
    assert later.world.run("lift", later.tip).returncode == 2


@pytest.mark.parametrize(
    "words",
    [["--accept", "--abort"], ["main", "--decide", "x"], ["main", "--because", "x"], []],
)
def test_words_that_do_not_go_together_are_usage(later: Later, words: list[str]) -> None:
    assert later.world.run("lift", *words).returncode == 2


def test_an_upstream_without_common_history_is_compared_without_naming_commits(later: Later) -> None:
    later.tip = commit_files(
        later.world.repository, {**later.files, "NEWS.md": b"none\n"}, "refs/heads/other"
    )
    status, found = later.lift(later.tip, "--from", "seed")
    assert (status, found["history"], found["commits"]) == (5, False, 0)
    assert codes(found["problems"]) == ["R003"]


def test_a_subject_cannot_call_people_or_hide_the_rest_of_a_pull_request(later: Later) -> None:
    subject = "Say <!-- `@everybody` (#5)"
    later.then(subject, edited(later.files, SERVER, ('print("starting")', 'print("begin")')))
    later.lift()
    report = (later.folder / "report.md").read_text("utf-8")
    assert f"since `{later.tip[:9]} (#5) Say <!-- '@everybody'`" in report
    outside = re.sub(r"`[^`\n]*`", "", report.split("## Surface")[0])
    assert not re.search(r"@everybody|<!--|#5", outside)


def test_a_file_that_moved_is_known_by_its_bytes_without_a_history(later: Later) -> None:
    later.tip = commit_files(later.world.repository, with_awk_as_quill(later.files), "refs/heads/other")
    _, found = later.lift(later.tip, "--from", "seed")
    assert not found["history"]
    assert f"moved from {AWK}, which batch awk removes" in found["questions"][0]["message"]
    later.lift("--accept")
    assert f"{{path: {AWK}, until: {later.versions[0]}}}" in later.manifest


def test_a_new_folder_takes_its_licence_along_and_not_its_kernels(later: Later) -> None:
    inside = {"__init__.py": b"", "core.py": b"CORE = 1\n", "LICENSE": b"Permission.\n"}
    files = {**later.files, **{f"python/acme/wide/{name}": data for name, data in inside.items()}}
    rule = "  - {path: python/acme/wide/, optional: an example}\n"
    later.world.change("  - python/pyproject.toml\n", "  - python/pyproject.toml\n" + rule)
    later.then("Wide (#1)", files)
    assert ids(later.lift()[1]) == ["path:python/acme/wide/"]
    later.then("Kernels (#2)", {**files, "python/acme/wide/core.cu": b"void core() {}\n"})
    assert ids(later.lift(later.tip, "--from", "seed")[1]) == ["path:python/acme/wide/core.py"]


def test_the_report_says_the_same_twice(later: Later) -> None:
    later.then("News (#5)", {**later.files, "NEWS.md": b"none\n"})
    one = later.world.run("lift", later.tip).stdout
    report = (later.folder / "report.md").read_text("utf-8")
    assert one == later.world.run("lift", "--continue").stdout
    assert report == (later.folder / "report.md").read_text("utf-8")


def test_the_terminal_shows_a_page_however_much_there_is(later: Later) -> None:
    news = {f"NEWS-{number}/{name}.md": b"none\n" for number in range(30) for name in "ab"}
    later.then("News (#5)", {**later.files, **news})
    done = later.world.run("lift", later.tip)
    assert "R003 (30): " in done.stdout
    assert "... and 27 more" in done.stdout
    assert len(done.stdout.splitlines()) < 25
    assert "report.md" in done.stderr
    assert (later.folder / "report.md").read_text("utf-8").count("NEWS-") > 29


def test_a_pin_is_said_to_be_one_at_once(later: Later) -> None:
    done = later.world.good("lift", "seed")
    assert done.stderr.endswith("'seed' is a pin of the manifest already: there is nothing to lift.\n")
    assert not (later.world.home / "lift").exists()


# -- what left before, and stays now

ATTENTION = "python/acme/layers/attention.py"
USED_AGAIN = (
    ("    return BY_NAME[name]\n", "    return score(BY_NAME[name])\n"),
    ("    return Fancy(fancy.x)\n", "    return fancy\n"),
)


def test_what_left_at_the_old_upstream_and_stays_at_the_new_one_is_told(later: Later) -> None:
    later.world.good("dist")
    later.then("Score (#3)", edited(later.files, ATTENTION, *USED_AGAIN))
    status, found = later.lift()
    (name, place), *others = found["returned"].items()
    assert (status, name, others) == (0, "acme.layers.attention.score", [])
    assert place.startswith(f"{ATTENTION}:")
    assert "1 definition left at seed and would stay now." in found["summary"]
    assert f"- `{name}` ({place})" in (later.folder / "report.md").read_text("utf-8")


def test_a_lift_from_an_upstream_that_nobody_built_says_that_this_is_not_known(later: Later) -> None:
    later.then("Score (#3)", edited(later.files, ATTENTION, *USED_AGAIN))
    _, found = later.lift()
    assert found["returned"] is None
    assert any(line.startswith("What left at seed and stays now is not known") for line in found["summary"])


def test_lock_warns_of_what_left_at_the_version_before(later: Later) -> None:
    tip = later.then("Score (#3)", edited(later.files, ATTENTION, *USED_AGAIN))
    gone = later.manifest.partition("    gone: ")[2].partition("\n")[0]
    pins = f'    next: {{commit: "{tip}", version: 1.2.4}}\n    gone: {gone}'
    later.world.change(f"    gone: {gone}", pins)
    assert "back    1 definition that left at seed: score" in later.world.run("lock").stderr
    later.world.change("version: 1.2.4}", "version: 1.2.2}")
    assert "back " not in later.world.run("lock").stderr
