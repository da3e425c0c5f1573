"""Upstream trees as an attacker or an accident would make them: refused, or byte for byte in the output."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from small_files import FILES
from small_world import World, codes, folder_bytes, small_world
from upstream_repo import Files, Repo, git

from builder.upstream.git import GitError, list_tree

BIG = 24_000_000

#: what a tree may hold: it comes through as it is
STRANGE: dict[str, Files] = {
    "links out of the tree": {
        "scripts/out": ("120000", b"../../../../etc/passwd"),
        "scripts/absolute": ("120000", b"/etc/passwd"),
        "scripts/loop": ("120000", b"loop"),
        "scripts/parent": ("120000", b".."),
        "scripts/long": ("120000", b"x" * 3000),
    },
    "names that differ by case or by form": {
        "scripts/Name": b"1\n",
        "scripts/name": b"2\n",
        "scripts/\u00e9": b"composed\n",
        "scripts/e\u0301": b"decomposed\n",
        "scripts/\u212a": b"Kelvin\n",
        "scripts/K": b"K\n",
    },
    "names that shells and tools misread": {
        "scripts/a\nb": b"newline\n",
        "scripts/-rf": b"option\n",
        "scripts/$(touch x)": b"command\n",
        "scripts/ ": b"space\n",
        "scripts/\ttab": b"tab\n",
        'scripts/"quoted"': b"quotes\n",
        "scripts/back\\slash": b"backslash\n",
        "scripts/\x1b[31mred": b"escape\n",
        b"scripts/\xff\xfe": b"raw\n",
        "scripts/" + "n" * 255: b"long\n",
        "scripts/CON": b"device\n",
        "scripts/" + "/".join("deep" for _ in range(60)): b"deep\n",
    },
    "attributes and pointers": {
        "scripts/.gitattributes": b"* text=auto eol=crlf ident filter=lfs export-subst export-ignore\n",
        "scripts/crlf.txt": b"one\r\ntwo\n",
        "scripts/id.txt": b"$Id$ $Format:%H$\n",
        "scripts/pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "scripts/.gitmodules": b"[submodule]\n\tpath = ..\n\turl = ext::false\n",
    },
    "bytes of every kind": {
        "scripts/empty": b"",
        "scripts/zeros": bytes(70_000),
        "scripts/all": bytes(range(256)) * 20,
        "scripts/big": b"\x00\xff" * (BIG // 2),
        "scripts/run": ("100755", b"#!/bin/sh\n"),
        "scripts/conflict": b"<<<<<<< a\n=======\n>>>>>>> b\n",
        "scripts/patch.diff": b"--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-x\n+y\n",
    },
    "what is not Python though named so": {
        "scripts/binary.py": bytes(range(256)),
        "scripts/utf16.py": "x = 1\n".encode("utf-16"),
        "scripts/nul.py": b"x = 1\0\n",
        "scripts/unclosed.py": b"def f(:\n",
        "scripts/deep.py": b"(" * 3000 + b")" * 3000,
        "scripts/codec.py": b"# coding: rot13\nk = 1\n",
        "scripts/none.py": b"# coding: no-such-codec\n",
        "scripts/folder.py/inside": b"",
        "scripts/two.py": b"print 'two'\n",
        "scripts/huge.py": b"x = '" + b"a" * 1_000_000 + b"'\n",
    },
    "modules that do not parse or are written in another way": {
        "python/acme/broken.py": b"def f(:\n",
        "python/acme/deep.py": b"x = " + b"(" * 3000 + b"1" + b")" * 3000 + b"\n",
        "python/acme/nul.py": b"x = 1\0\n",
        "python/acme/latin.py": b"# -*- coding: latin-1 -*-\nx = '\xe4'\n",
        "python/acme/crlf.py": b"x = 1\r\nif x:\r\n    y = 2\r\n",
        "python/acme/empty.py": b"",
        "python/acme/ctrl.py": b"x = 1\x0c\n",
        "docs/guide.md": b"\xef\xbb\xbfA guide\r\n",
    },
}


def commit(world: World, more: Files) -> str:
    """A commit of upstream's files and more."""
    return world.repository.commit({**FILES, **more}, "refs/heads/strange")


@pytest.mark.parametrize("kind", STRANGE)
def test_what_a_tree_may_hold_comes_through_byte_for_byte(tmp_path: Path, kind: str) -> None:
    world = small_world(tmp_path)
    # a folder of a submodule is part of real trees too
    made = commit(world, {**STRANGE[kind], "scripts/module": ("160000", world.commit)})
    world.change("  - python/pyproject.toml\n", "  - python/pyproject.toml\n  - python/acme/*.py\n")
    world.good("dist", "strange")
    tree = os.fsencode(world.home / "dist/tree")
    for path, value in STRANGE[kind].items():
        at = os.path.join(tree, path if isinstance(path, bytes) else path.encode())
        if isinstance(value, bytes):
            with open(at, "rb") as file:
                assert file.read() == value, path
        elif value[0] == "120000":
            assert os.readlink(at) == value[1], path
    assert sorted(p.name for p in world.home.iterdir()) == ["dist", "manifest.yaml", "overlays"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "home", "upstream.git"]
    work = str(tmp_path / "work")
    git("clone", "-q", "--no-checkout", str(world.repository.path), work)
    git("-C", work, "read-tree", made)
    git("-C", work, "apply", "--cached", str(world.home / "dist/upstream.diff"))
    described = json.loads((world.home / "dist/build.json").read_bytes())
    assert git("-C", work, "write-tree") == described["output"]["tree"]
    world.good("dist", "strange", "--paranoid", "--out", "../again")


#: names that git or a file system reads as .git, and names that leave the folder
SPELLINGS = (
    b".git", b".GIT", b".gIt", b"git~1", b"GIT~2", b".git.", b".git ", b".git. .", b".git::$INDEX_ALLOCATION",
    ".g\u200cit".encode(), "\ufeff.git".encode(), b".", b"..",
)  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("as_folder", [True, False], ids=["folder", "file"])
def test_a_name_that_is_read_as_git_is_refused(tmp_path: Path, name: bytes, as_folder: bool) -> None:
    repository = Repo(tmp_path / "x.git")
    inner = repository.tree({b"hooks": b"x"}) if as_folder else repository.blob(b"evil")
    row = b"%s %s\0" % (b"40000" if as_folder else b"100644", name) + bytes.fromhex(inner)
    tree = repository.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=row)
    with pytest.raises(GitError, match="not a plain path"):
        list_tree(repository.path, tree)


@pytest.mark.parametrize(
    "name", ["agitate", "git", "git~", ".github", ".gitignore", "x.git", "digit~1", ".gitx"]
)
def test_a_name_that_only_resembles_it_is_not(tmp_path: Path, name: str) -> None:
    repository = Repo(tmp_path / "x.git")
    assert list(list_tree(repository.path, repository.tree({f"{name}/a": b"x"}))) == [f"{name}/a"]


def test_a_link_in_the_place_of_a_folder_of_the_old_output_is_not_followed(tmp_path: Path) -> None:
    """The old output's folder becomes a link out in the new one, and the other way round."""
    world = small_world(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    for turn, more in enumerate(
        (
            {"scripts/place/file": b"1\n"},
            {"scripts/place": ("120000", str(outside).encode())},
            {"scripts/place/file": b"2\n"},
        )
    ):
        commit(world, more)
        world.good("dist", "strange")
        assert list(outside.iterdir()) == [], turn
    assert (world.home / "dist/tree/scripts/place/file").read_bytes() == b"2\n"


def test_an_output_with_a_planted_link_is_refused_and_not_written_through(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    world.good("dist")
    outside = tmp_path / "outside"
    shutil.copytree(world.home / "dist/tree/python", outside)
    shutil.rmtree(world.home / "dist/tree/python")
    (world.home / "dist/tree/python").symlink_to(outside)
    before = folder_bytes(outside)
    done = world.run("dist", "--without", "awk")
    assert codes(done.stderr) == ["E001"], done.stderr
    assert folder_bytes(outside) == before
