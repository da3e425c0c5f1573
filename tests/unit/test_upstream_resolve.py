"""What UPSTREAM may say, and the order in which places are asked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upstream_repo import PROJECT, PYPROJECT, Repo, problem, snapshot_of
from upstream_repo import git as plain_git

from builder.errors import BuildError, Mark
from builder.manifest.model import Pin
from builder.tree import GITLINK
from builder.upstream import clone, spec
from builder.upstream.model import Sources, Upstream, snapshot
from builder.upstream.resolve import resolve

MARK = Mark("manifest.yaml", 7, 3)
FILES: dict[str | bytes, bytes | tuple[str, str]] = {
    "python/pyproject.toml": PYPROJECT.encode(),
    "python/thing/__init__.py": b"x = 1\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "origin.git")


@pytest.fixture
def where(tmp_path: Path) -> Sources:
    """Nothing is reachable."""
    return Sources(
        None, tmp_path / "cache", (tmp_path / "no-remote.git").as_uri(), False, {}, project=PROJECT
    )


def content(upstream: Upstream) -> dict[str, bytes]:
    return dict(snapshot(upstream))


# --- what is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    """
    -x|--upload-pack=touch /tmp/x|a b|v1..v2|main~3|HEAD^|a@{1}|a:b|x?|x*|[a]|a//b|a/.b|x.lock|/|.|..|a/-b
    pypi:|pypi:-rX|pypi:1.0 --index-url=x|pypi:../x|@|/tmp@|/tmp@-x|/tmp@a b|origin\\main| |main\t|a\0b|\udce9
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|main\n|
    """.replace("\n    ", "|").split("|"),
)
def test_a_name_that_git_or_pip_could_misread_is_refused_before_either_runs(
    bad: str, where: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")  # neither is found: running git is E003, as for a folder
    assert problem(bad, where).code == ("E003" if bad == "/" else "U002")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", ["pypi:0.5.8", "pypi: 0.5.8", "pypi:v0.5.8"])
def test_a_release_has_one_name_however_its_version_is_written(written: str) -> None:
    assert spec.parse(written, {}).spec == "pypi:0.5.8"


@given(st.text(max_size=30))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        wanted = spec.parse(text, {})
    except BuildError as error:
        assert [p.code for p in error.problems] == ["U002"]
    else:
        assert not wanted.value.startswith("-")
        assert wanted.value.isprintable()
        assert " " not in wanted.value


def test_a_pin_gives_its_commit_and_errors_carry_its_mark(repo: Repo, where: Sources) -> None:
    commit = repo.commit(FILES, "refs/heads/main")
    pins = {"seed": Pin("seed", MARK, commit=commit), "gone": Pin("gone", MARK, commit="1" * 40)}
    here = replace(where, mirror=repo.path, pins=pins)
    assert resolve("seed", here).commit == commit
    assert problem("gone", here).mark == MARK
    assert "'gone'" in problem("gone", here).message


def test_a_misspelt_pin_gets_a_suggestion(repo: Repo, where: Sources) -> None:
    repo.commit(FILES, "refs/heads/main")
    pins = {"release": Pin("release", MARK, sdist="1.0", sha256="0" * 64)}
    found = problem("releese", replace(where, mirror=repo.path, repository=str(repo.path), pins=pins))
    assert found.code == "U002"
    assert "`release`" in (found.hint or "")


# --- a mirror -----------------------------------------------------------------------------------


def test_every_way_to_name_a_commit_gives_the_same_upstream(repo: Repo, where: Sources) -> None:
    commit = repo.commit(
        FILES, "refs/heads/main", "refs/tags/light", "refs/heads/team/feature", time=1_234_567_890
    )
    repo.git("tag", "-a", "v1.0", "-m", "release", commit)
    repo.git("tag", "-a", "of-a-tag", "-m", "nested", "v1.0")
    here = replace(where, mirror=repo.path, offline=True)
    names = [
        commit,
        commit.upper(),
        commit[:7],
        commit[:12],
        "main",
        "light",
        "team/feature",
        "v1.0",
        "of-a-tag",
    ]
    names += ["refs/heads/main", "refs/tags/v1.0", "HEAD", repo.git("rev-parse", "v1.0")]
    names += [f"{repo.path}@main", f"{repo.path}@{commit[:8]}", str(repo.path)]
    found = [resolve(name, here) for name in names]
    assert {u.commit for u in found} == {commit}
    assert {u.tree.id for u in found} == {repo.git("rev-parse", f"{commit}^{{tree}}")}
    assert {u.time for u in found} == {1_234_567_890}
    assert all(commit in u.origin for u in found)
    assert content(found[0]) == FILES


def test_a_snapshot_holds_the_paths_that_are_asked_for(repo: Repo, where: Sources) -> None:
    repo.commit(FILES | {"sub": (GITLINK, "2" * 40), "link": ("120000", repo.blob(b"x"))}, "refs/heads/main")
    upstream = resolve("main", replace(where, mirror=repo.path))
    assert dict(snapshot(upstream, ["link", "sub"])) == {"link": b"x", "sub": b""}
    with pytest.raises(KeyError):
        snapshot(upstream, ["absent"])


def test_a_mirror_may_be_a_work_tree(repo: Repo, where: Sources, tmp_path: Path) -> None:
    commit = repo.commit(FILES, "refs/heads/main")
    plain_git("clone", "-q", str(repo.path), str(tmp_path / "work tree"))
    assert resolve("main", replace(where, mirror=tmp_path / "work tree")).commit == commit
    assert resolve(f"{tmp_path}/work tree@origin/main", where).commit == commit


def test_a_clone_knows_the_branches_of_its_remote(repo: Repo, where: Sources, tmp_path: Path) -> None:
    repo.commit(FILES, "refs/heads/main")
    commit = repo.commit({"a": b"a"}, "refs/heads/other")
    plain_git("clone", "-q", str(repo.path), str(tmp_path / "work"))
    assert resolve("other", replace(where, mirror=tmp_path / "work")).commit == commit


def test_a_blob_or_a_tree_is_not_a_commit(repo: Repo, where: Sources) -> None:
    repo.commit(FILES, "refs/heads/main")
    blob, tree = repo.blob(b"x = 1\n"), repo.git("rev-parse", "main^{tree}")
    repo.git("tag", "a-blob", blob)
    here = replace(where, mirror=repo.path)
    for name, kind in ((blob, "blob"), (tree, "tree"), (blob[:9], "blob"), (tree[:9], "tree")):
        found = problem(name, here)
        assert found.code == "U002"
        assert kind in found.message
    assert problem("a-blob", here).code == "U002"


def test_an_abbreviation_that_is_too_short_is_told_how_long_it_must_be(repo: Repo, where: Sources) -> None:
    with pytest.raises(BuildError) as caught:
        resolve("01c00", replace(where, offline=True))
    assert "a short commit has at least 7 digits" in str(caught.value.problems[0].hint)
    with pytest.raises(BuildError) as caught:
        resolve("v99.0", replace(where, offline=True))
    assert "digits" not in str(caught.value.problems[0].hint)


def test_an_abbreviation_of_two_commits_is_ambiguous_and_both_are_listed(repo: Repo, where: Sources) -> None:
    # two commits with the same first 7 digits, found once by trial
    ids: dict[str, str] = {}
    tree = repo.git("mktree", stdin=b"")
    prefix = ""
    import hashlib

    for number in range(200_000):
        stamp = f"A <a@example.org> {number} +0000"
        body = f"tree {tree}\nauthor {stamp}\ncommitter {stamp}\n\nm\n".encode()
        oid = hashlib.sha1(b"commit %d\0" % len(body) + body).hexdigest()
        if oid[:7] in ids:
            prefix = oid[:7]
            pair = [ids[prefix], body.decode()]
            break
        ids[oid[:7]] = body.decode()
    assert prefix
    written = [repo.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=b.encode()) for b in pair]
    found = problem(prefix, replace(where, mirror=repo.path))
    assert found.code == "U002"
    assert all(oid in found.message for oid in written)
    assert resolve(written[0], replace(where, mirror=repo.path)).commit == written[0]


def test_a_commit_wins_over_blobs_with_the_same_first_digits(repo: Repo, where: Sources) -> None:
    commit = repo.commit(FILES, "refs/heads/main")
    repo.git("update-ref", f"refs/heads/{'deadbeef'}", commit)
    assert resolve("deadbeef", replace(where, mirror=repo.path)).commit == commit


def test_a_tag_and_a_branch_of_one_name_must_agree(repo: Repo, where: Sources) -> None:
    one = repo.commit(FILES, "refs/heads/same", "refs/tags/same", "refs/heads/x")
    two = repo.commit({"a": b"a"}, "refs/tags/x")
    here = replace(where, mirror=repo.path)
    assert resolve("same", here).commit == one
    found = problem("x", here)
    assert found.code == "U002"
    assert "refs/tags/x" in found.message
    assert resolve("refs/tags/x", here).commit == two
    assert problem("x", replace(where, repository=repo.path.as_uri())).code == "U002"


def test_a_mirror_that_is_no_repository_is_an_error_at_once(
    repo: Repo, where: Sources, tmp_path: Path
) -> None:
    repo.commit(FILES, "refs/heads/main")
    here = replace(where, repository=repo.path.as_uri())
    found = problem("main", replace(here, mirror=tmp_path))
    assert found.code == "U001"
    assert "not a git repository" in found.message
    assert problem(f"{tmp_path}/nowhere@main", here).code == "U001"


def test_a_mirror_that_lacks_the_tree_is_passed_over(repo: Repo, where: Sources, tmp_path: Path) -> None:
    commit = repo.commit(FILES, "refs/heads/main")
    broken = tmp_path / "broken.git"
    shutil.copytree(repo.path, broken)
    tree = repo.git("rev-parse", f"{commit}:python/thing")
    (broken / "objects" / tree[:2] / tree[2:]).unlink()
    alone = problem(commit, replace(where, mirror=broken, offline=True))
    assert alone.code == "U001"
    assert str(broken) in alone.message
    upstream = resolve(commit, replace(where, mirror=broken, repository=repo.path.as_uri()))
    assert "remote" in upstream.origin


# --- versions -----------------------------------------------------------------------------------


def test_the_version_is_what_the_commit_says_whatever_tags_there_are(repo: Repo, where: Sources) -> None:
    here = replace(where, mirror=repo.path)
    static = {"python/pyproject.toml": b'[project]\nversion = "3.2.1"\n'}
    side = repo.commit({"a": b"a"}, "refs/tags/v0.9", time=1_600_002_000)
    child = repo.commit(FILES | {"c": b"c"}, parent=side, time=1_600_004_000)
    assert resolve(repo.commit(static), here).version == "3.2.1"
    assert resolve(child, here).version == "0.0.0.dev0"
    assert resolve(repo.commit({"a": b"x"}, time=1_600_001_000), here).version is None


@pytest.mark.parametrize(
    ("table", "path", "text", "version"),
    [
        ('[tool.poetry]\nversion = "2.0"', "none", "", "2.0"),
        (
            '[tool.hatch.version]\npath = "x/v.py"',
            "x/v.py",
            "import os\n__version__ = '2.0.post1'\n",
            "2.0.post1",
        ),
        ('[tool.pdm.version]\npath = "x/v.py"', "x/v.py", '__version__: str = "2.0"\n', "2.0"),
        ('[tool.setuptools.dynamic]\nversion = {file = "VERSION"}', "VERSION", "v2.0\n", "2.0"),
        ('[tool.setuptools.dynamic]\nversion = {file = ["A", "B"]}', "B", "2.0", "2.0"),
        ('[tool.setuptools.dynamic]\nversion = {attr = "x.v.VERSION"}', "x/v.py", 'VERSION = "2.0"\n', "2.0"),
        (
            '[tool.setuptools.dynamic]\nversion = {attr = "x.V"}',
            "src/x/__init__.py",
            'version = "2.0"',
            "2.0",
        ),
        ('[tool.hatch.version]\npath = "x/v.py"', "x/v.py", "__version__ = made(2)\n", "0.1"),
        ('[tool.hatch.version]\npath = "x/v.py"', "x/v.py", "__version__ = '2.0-nightly'\n", "0.1"),
    ],
)
def test_a_version_that_a_named_file_states_counts_before_the_fallback(
    repo: Repo, where: Sources, table: str, path: str, text: str, version: str
) -> None:
    project = f'[tool.setuptools_scm]\nfallback_version = "0.1"\n\n{table}\n'
    commit = repo.commit({"python/pyproject.toml": project.encode(), f"python/{path}": text.encode()})
    upstream = resolve(commit, replace(where, mirror=repo.path))
    assert upstream.version == version
    fallback = (
        "the fallback_version, as python/pyproject.toml states none; the `version` of a pin would count"
    )
    assert (upstream.version_origin == fallback) is (version == "0.1")


@pytest.mark.parametrize(
    "data", [b"[", b"\xff", b"project = 1\n", b"[project]\nversion = 3\n", b"[[tool]]\n"]
)
def test_a_strange_pyproject_gives_no_version_and_no_traceback(
    repo: Repo, where: Sources, data: bytes
) -> None:
    commit = repo.commit({"python/pyproject.toml": data})
    assert resolve(commit, replace(where, mirror=repo.path)).version is None


# --- the remote and the cached clone ------------------------------------------------------------


def test_one_commit_is_fetched_and_then_works_offline(repo: Repo, where: Sources) -> None:
    parent = repo.commit({"old": b"history"}, "refs/heads/main")
    commit = repo.commit(FILES, "refs/heads/main", "refs/tags/v2", parent=parent)
    here = replace(where, repository=repo.path.as_uri())
    first = resolve(commit, here)
    assert content(first) == FILES
    assert "remote" in first.origin

    shutil.rmtree(repo.path)
    offline = replace(here, offline=True)
    again = resolve(commit, offline)
    assert "cached clone" in again.origin
    assert (again.commit, again.tree, again.time) == (first.commit, first.tree, first.time)
    assert content(again) == FILES
    assert resolve(commit[:8], offline).commit == commit
    assert problem(parent, offline).code == "U001"  # only that one commit was fetched


def test_a_commit_that_no_branch_has_as_its_tip_is_fetched(repo: Repo, where: Sources) -> None:
    middle = repo.commit(FILES, "refs/heads/main")
    repo.commit({"a": b"a"}, "refs/heads/main", parent=middle)
    assert resolve(middle, replace(where, repository=repo.path.as_uri())).commit == middle


def test_tags_branches_and_tips_are_found_at_the_remote(repo: Repo, where: Sources) -> None:
    commit = repo.commit(FILES, "refs/heads/main", "refs/heads/team/x", "refs/pull/1/head")
    repo.git("tag", "-a", "v1", "-m", "one", commit)
    for number, name in enumerate(["v1", "main", "team/x", "HEAD", "refs/pull/1/head", commit[:9]]):
        here = replace(where, repository=repo.path.as_uri(), cache=where.cache / str(number))
        assert resolve(name, here).commit == commit, name


def test_a_branch_that_moved_is_asked_for_again_but_not_offline(repo: Repo, where: Sources) -> None:
    here = replace(where, repository=repo.path.as_uri())
    old = repo.commit(FILES, "refs/heads/main")
    assert resolve("main", here).commit == old
    new = repo.commit({"a": b"new"}, "refs/heads/main", parent=old)
    assert resolve("main", here).commit == new
    repo.commit({"a": b"newest"}, "refs/heads/main", parent=new)
    assert resolve("main", replace(here, offline=True)).commit == new


def test_a_name_that_the_remote_does_not_have_gets_a_suggestion(repo: Repo, where: Sources) -> None:
    repo.commit(FILES, "refs/heads/main", "refs/tags/v0.5.8")
    found = problem("v0.5.9", replace(where, repository=repo.path.as_uri()))
    assert found.code == "U002"
    assert "`v0.5.8`" in (found.hint or "")


def test_a_commit_that_the_remote_does_not_have_is_not_called_unreachable(repo: Repo, where: Sources) -> None:
    repo.commit(FILES, "refs/heads/main")
    here = replace(where, repository=repo.path.as_uri())
    assert problem("9" * 40, here).code == "U002"
    assert problem("9" * 9, here).code == "U002"


def test_a_blob_at_the_remote_is_not_a_commit(repo: Repo, where: Sources) -> None:
    repo.commit(FILES, "refs/heads/main")
    here = replace(where, repository=repo.path.as_uri())
    assert problem(repo.blob(b"x = 1\n"), here).code == "U002"
    assert problem(repo.blob(b"x = 1\n"), here).code == "U002"


def test_an_unreachable_upstream_names_every_place_and_what_works_offline(repo: Repo, where: Sources) -> None:
    repo.commit({"a": b"a"}, "refs/heads/main")
    pins = {"release": Pin("release", MARK, sdist="1.0", sha256="0" * 64)}
    found = problem("1" * 40, replace(where, mirror=repo.path, pins=pins))
    assert found.code == "U001"
    assert found.exit_status == 6
    for place in (str(repo.path), str(where.cache), where.repository):
        assert place in found.message
    assert "`dist release`" in (found.hint or "")
    alone = problem("1" * 40, replace(where, offline=True))
    assert "skipped (offline)" in alone.message
    assert "`dist --mirror " in (alone.hint or "")


def test_offline_and_unknown_writes_nothing(where: Sources, tmp_path: Path) -> None:
    assert problem("1" * 40, replace(where, offline=True)).code == "U001"
    assert problem("pypi:1.0", replace(where, offline=True)).code == "U001"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "address", ["ext::sh -c 'touch witness'", "--upload-pack=touch witness", "fd::3", ""]
)
def test_an_address_that_would_run_a_command_is_refused(
    where: Sources, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for wanted in ("main", "1" * 40):
        assert problem(wanted, replace(where, repository=address)).code == "U001"
    assert not (tmp_path / "witness").exists()


# --- damage, kills and read-only caches ---------------------------------------------------------


def _fetched(repo: Repo, where: Sources) -> tuple[str, Sources]:
    # more than 100 objects, so that git keeps the pack
    files: dict[str | bytes, bytes | tuple[str, str]] = {f"f{i}": f"{i}\n".encode() * 20 for i in range(120)}
    commit = repo.commit(files, "refs/heads/main")
    here = replace(where, repository=repo.path.as_uri())
    resolve(commit, here)
    return commit, here


def test_a_damaged_clone_is_fetched_again(repo: Repo, where: Sources) -> None:
    commit, here = _fetched(repo, where)
    (pack,) = clone.location(here.cache).glob("objects/pack/*.pack")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:200])
    offline = problem(commit, replace(here, offline=True))
    assert offline.code == "U001"
    assert content(resolve(commit, here))["f7"] == b"7\n" * 20


def test_a_blob_that_is_damaged_after_resolving_is_fetched_again(repo: Repo, where: Sources) -> None:
    commit, here = _fetched(repo, where)
    online, offline = resolve(commit, here), resolve(commit, replace(here, offline=True))
    for pack in clone.location(here.cache).glob("objects/pack/*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(pack.read_bytes()[:200])
    with pytest.raises(BuildError) as error:
        content(offline)
    assert error.value.problems[0].code == "U001"
    assert len(content(online)) == 120


def test_objects_without_the_mark_of_a_whole_commit_do_not_count(repo: Repo, where: Sources) -> None:
    commit, here = _fetched(repo, where)
    plain_git(f"--git-dir={clone.location(here.cache)}", "update-ref", "-d", f"refs/builder/{commit}")
    assert problem(commit, replace(here, offline=True)).code == "U001"
    assert resolve(commit, here).commit == commit


def test_what_a_killed_git_left_behind_does_not_stop_the_next(repo: Repo, where: Sources) -> None:
    commit, here = _fetched(repo, where)
    git_dir = clone.location(here.cache)
    for left_over in ("shallow.lock", "packed-refs.lock", "config.lock", "objects/pack/tmp_pack_XYZ"):
        (git_dir / left_over).write_bytes(b"")
    (here.cache / "tmp" / "abc").mkdir(parents=True)
    other = repo.commit({"b": b"b"}, "refs/heads/other")
    assert resolve(other, here).commit == other
    assert resolve(commit, here).commit == commit
    assert not list(git_dir.rglob("*.lock"))
    assert not list(git_dir.rglob("tmp_pack*"))
    assert not list(here.cache.glob("tmp/*"))


@pytest.mark.parametrize("delay", [0.05, 0.12, 0.2, 0.3])
def test_a_builder_killed_while_it_fetches_leaves_a_usable_cache(
    repo: Repo, where: Sources, delay: float
) -> None:
    files: dict[str | bytes, bytes | tuple[str, str]] = {f"f{i}": os.urandom(3000) for i in range(150)}
    commit = repo.commit(files, "refs/heads/main")
    code = (
        "import sys; from pathlib import Path; from builder.upstream.resolve import resolve; "
        "from builder.upstream.model import Sources; "
        "resolve(sys.argv[1], Sources(None, Path(sys.argv[2]), sys.argv[3], False, {}))"
    )
    args = [sys.executable, "-c", code, commit, str(where.cache), repo.path.as_uri()]
    process = subprocess.Popen(args, start_new_session=True, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert len(content(resolve(commit, replace(where, repository=repo.path.as_uri())))) == 150


def test_two_builders_fetch_at_once(repo: Repo, where: Sources) -> None:
    commits = [repo.commit({f"f{n}": os.urandom(50_000)}, f"refs/heads/b{n}") for n in range(4)]
    code = (
        "import sys; from pathlib import Path; from builder.upstream.resolve import resolve; "
        "from builder.upstream.model import Sources, snapshot; "
        "u = resolve(sys.argv[1], Sources(None, Path(sys.argv[2]), sys.argv[3], False, {})); "
        "print(u.commit, len(snapshot(u)))"
    )
    wanted = [*commits, commits[0]]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, c, str(where.cache), repo.path.as_uri()],
            stdout=subprocess.PIPE,
            text=True,
        )
        for c in wanted
    ]
    assert [p.communicate()[0].split() for p in started] == [[c, "1"] for c in wanted]


def test_a_read_only_cache_is_read_and_what_it_lacks_is_kept_elsewhere(
    repo: Repo, where: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, here = _fetched(repo, where)
    before = snapshot_of(here.cache)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # permissions do not bind root, so the refusal is made here
    monkeypatch.setattr("builder.upstream.cache.tempfile.TemporaryFile", refuse)
    other = repo.commit({"b": b"b"}, "refs/heads/other")
    assert resolve(commit, here).commit == commit
    assert content(resolve(other, here)) == {"b": b"b"}
    assert snapshot_of(here.cache) == before


def test_a_cache_that_is_a_file_is_an_error_with_advice(repo: Repo, where: Sources, tmp_path: Path) -> None:
    commit = repo.commit(FILES, "refs/heads/main")
    (tmp_path / "file").write_text("mine")
    found = problem(commit, replace(where, repository=repo.path.as_uri(), cache=tmp_path / "file"))
    assert (found.code, found.exit_status) == ("E002", 7)
    assert "--cache" in (found.hint or "")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_cache_and_a_mirror_may_be_named_relative_to_where_one_is(
    repo: Repo, where: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit(FILES, "refs/heads/main")
    monkeypatch.chdir(tmp_path)
    here = replace(where, cache=Path("here"), repository=repo.path.as_uri())
    fetched, mirrored = resolve("main", here), resolve("main", replace(here, mirror=Path(repo.path.name)))
    again = resolve(commit, replace(here, offline=True))
    monkeypatch.chdir("/")
    assert content(fetched) == content(again) == content(mirrored) == FILES


def test_a_release_tag_that_cannot_be_had_points_to_the_package_index(where: Sources) -> None:
    assert "`dist pypi:0.5.8`" in (problem("v0.5.8", where).hint or "")


def test_the_clone_has_no_hooks_and_no_reference_to_the_remote(repo: Repo, where: Sources) -> None:
    _, here = _fetched(repo, where)
    git_dir = clone.location(here.cache)
    assert not (git_dir / "hooks").exists()
    assert "remote" not in (git_dir / "config").read_text()
