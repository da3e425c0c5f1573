"""The examples of `explain` are true: what is called wrong gives the error, in place of what is right."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import subprocess
import tarfile
from collections.abc import Callable, Mapping

import pytest
from filelock import FileLock
from small_files import FILES
from small_kernel_wheel import FILES_OF_SMALL_WORLD, NAME, wheel
from small_world import World, codes, commit_files
from test_lift import (
    PRUNED,
    PRUNED_COLOURS,
    SERVER,
    Files,
    edited,
    with_attrs,
    with_colours,
    with_martians,
    with_requirement,
)

from builder.cli import options
from builder.cli.explain import COMMAND, Example, examples
from builder.errors import CODES, BuildError
from builder.manifest.load import load
from builder.pipeline.cut import cut
from builder.pipeline.ranges import about
from builder.pipeline.verify import verify
from builder.upstream.model import snapshot

EXAMPLES = {code: one for code, one in examples().items() if isinstance(one, Example)}


def test_every_code_has_an_example_or_what_to_do_about_it() -> None:
    assert list(examples()) == list(CODES)


@pytest.mark.parametrize("code", [code for code, one in EXAMPLES.items() if one.file != COMMAND])
def test_the_wrong_line_gives_the_error_that_it_is_an_example_of(world: World, code: str) -> None:
    example = EXAMPLES[code]
    SETUPS.get(code, nothing)(world)
    file = world.home / example.file
    text = file.read_text("utf-8")
    assert text.count(example.right) == 1
    assert told(world, code) == set()
    file.write_text(text.replace(example.right, example.wrong), "utf-8")
    assert code in told(world, code)


@pytest.mark.parametrize("code", [code for code, one in EXAMPLES.items() if one.file == COMMAND])
def test_the_wrong_command_gives_the_error_and_the_right_one_gives_none(world: World, code: str) -> None:
    example = EXAMPLES[code]
    SETUPS.get(code, nothing)(world)
    with busy(world, code):
        wrong, right = (world.run(*shlex.split(one)) for one in (example.wrong, example.right))
    assert (said(wrong), wrong.returncode) == ([code], CODES[code][0])
    assert said(right) == []


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The codes that a command names: those of errors, and those of a lift's questions."""
    return codes(done.stderr) + re.findall(r"(?m)^(L\d{3}) ", done.stdout)


def told(world: World, code: str) -> set[str]:
    """The codes of the problems of a build, or of the command of `RUNS`."""
    if code in RUNS:
        command, more = RUNS[code]
        return set(codes(world.run(*command, **{k: v.format(world.home) for k, v in more.items()}).stderr))
    try:
        manifest = load(world.manifest)
        asked = options.Request(manifest, (), "seed", world.repository.path, world.home / "cache", True)
        upstream = options.resolve(asked, quiet=True)
        verify(cut(snapshot(upstream), manifest, about=about(upstream, manifest)))
    except BuildError as error:
        return {problem.code for problem in error.problems}
    return set()


def busy(world: World, code: str) -> FileLock:
    """Held while the command runs: the lock of another build where the example is of one."""
    return FileLock(str(world.home / f".{'dist' if code == 'E004' else 'other'}.sglang-deepseek.lock"))


# -- what must be so for an example


def nothing(world: World) -> None:
    """The small world as it is."""


def at(world: World, files: Files) -> str:
    """The seed has these files; returns its commit."""
    commit = commit_files(world.repository, files, "refs/heads/main")
    world.change(world.commit, commit)
    return commit


def later(world: World, files: Files, seed: str | None = None) -> None:
    """Upstream goes on to these files after the seed."""
    commit_files(world.repository, files, "refs/heads/main", parent=seed or world.commit)


def scope_page(world: World) -> None:
    page = world.home / "docs/scope.yaml"
    page.parent.mkdir()
    right = EXAMPLES["M012"].right
    page.write_text(f"removed:\n  - {{id: awk, what: AWK, decision: Removed., {right}}}\n", "utf-8")


def predicate_of_models(world: World) -> None:
    config = (
        "from acme.models.shared import WIDTH\n\nSMALL = ['Deep']\n\n\nclass DeepConfig:\n    width = WIDTH\n"
        "\n\ndef is_small(architectures):\n    return any(a in SMALL for a in architectures)\n"
    )
    model = FILES["python/acme/models/deep.py"]
    assert isinstance(model, bytes)
    model = model.replace(b"import DeepConfig", b"import DeepConfig, is_small")
    more = b"    small = is_small(['Deep'])\n\n\nEntryClass = Deep\n"
    at(
        world,
        {**FILES, "python/acme/configs/deep.py": config.encode(), "python/acme/models/deep.py": model + more},
    )
    right = EXAMPLES["R012"].right
    world.change("acme.platform.is_alien: false", f"acme.platform.is_alien: false\n    {right}")


def flag_of_a_field(world: World) -> None:
    arguments = """\
import argparse
import dataclasses


@dataclasses.dataclass
class Args:
    port: int = 1
    odd_port: int = 2

    @staticmethod
    def add_to(parser):
        parser.add_argument("--port", type=int)
        parser.add_argument("--odd-port", type=int)

    @classmethod
    def made_of(cls, found):
        return cls(**{f.name: getattr(found, f.name) for f in dataclasses.fields(cls)})


def read(argv):
    parser = argparse.ArgumentParser()
    Args.add_to(parser)
    return Args.made_of(parser.parse_args(argv))
"""
    files = edited(
        FILES, "python/acme/launch.py",
        ("import sys\n", "import sys\n\nfrom acme.args import read\n"),
        ("    return Server(argv,", "    read(argv)\n    return Server(argv,"),
    )  # fmt: skip
    at(world, {**files, "python/acme/args.py": arguments.encode()})
    world.change(
        '- {names: ["*backend*"], absent: [fancy]}',
        '- {names: ["*backend*"], absent: [fancy]}\n        - {names: [add_argument], absent: [--odd-port]}',
    )
    world.change("symbols: [acme.layers.awk.AwkConfig]", EXAMPLES["G006"].right)


def another_tree_in_the_lock(world: World) -> None:
    world.good("lock", "seed")
    lock = world.home / "manifest.lock"
    text = lock.read_text("utf-8")
    tree = json.loads(text)["pins"]["seed"]["output_tree"]
    lock.write_text(text.replace(tree, "0" * 40), "utf-8")


def number_of_retries(world: World) -> None:
    again = "\n\n    def again(self):\n        return 0 < self.retries\n"
    more = ('        return "odd"\n', '        return "odd"' + again)
    at(world, edited(FILES, SERVER, more))
    world.change(
        "acme.platform.GALAXY: {value: falsy}",
        f"acme.platform.GALAXY: {{value: falsy}}\n    {EXAMPLES['G014'].right}",
    )


def new_file(world: World) -> None:
    first = with_colours(FILES, "red", "blue")
    before = at(world, first)
    world.change(PRUNED, PRUNED_COLOURS)
    later(world, with_colours(first, "green"), before)


def release(world: World) -> None:
    """A release on an index that is a folder, with the bytes that the example has the digest of."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("acme-1.2.3/PKG-INFO")
        text = b"Metadata-Version: 2.1\nName: acme\nVersion: 1.2.3\n"
        for name, data in {
            "PKG-INFO": text,
            **{p.removeprefix("python/"): d for p, d in FILES.items() if p.startswith("python/")},
        }.items():
            assert isinstance(data, bytes)
            info = tarfile.TarInfo(f"acme-1.2.3/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    (world.home / "index").mkdir()
    packed = gzip.compress(out.getvalue(), compresslevel=0, mtime=0)  # stored: the same bytes everywhere
    (world.home / "index/acme-1.2.3.tar.gz").write_bytes(packed)
    world.change("acme.server.Server, LICENSE]", "acme.server.Server]")  # a release has no such file
    pins = "    release: {sdist: 1.2.3, " + EXAMPLES["U003"].right + "}\n    gone:"
    world.change("    gone:", pins)


def kernel_wheels(world: World) -> None:
    world.change(
        "      - {path: python/acme/extra.py, from: overlays/parser/extra.py}",
        "      - {path: python/acme/extra.py, from: overlays/parser/extra.py}\n"
        "      - {path: sgl-kernel/python/sgl_kernel/added.py, from: overlays/parser/extra.py}",
    )
    at(world, with_requirement(FILES, "sgl-kernel==1.2.3"))
    good = wheel(FILES_OF_SMALL_WORLD)
    patched = wheel({**FILES_OF_SMALL_WORLD, "sgl_kernel/added.py": b"PATCHED = 1\n"})
    older = NAME.replace("1.2.3", "1.2.2")
    for name, data in {
        NAME: good, f"damaged/{NAME}": good[:-200], f"older/{older}": good, f"patched/{NAME}": patched
    }.items():  # fmt: skip
        (world.home / name).parent.mkdir(exist_ok=True)
        (world.home / name).write_bytes(data)


SETUPS: Mapping[str, Callable[[World], None]] = {
    "M012": scope_page,
    "R012": predicate_of_models,
    "G006": flag_of_a_field,
    "G012": another_tree_in_the_lock,
    "G014": number_of_retries,
    "L001": new_file,
    "L002": lambda world: later(world, with_martians(FILES)),
    "L003": lambda world: later(world, with_attrs(FILES)),
    "L004": lambda world: later(world, edited(FILES, SERVER, ("range(3)", "range(4)"))),
    "U003": release,
    **{f"K00{number}": kernel_wheels for number in range(1, 6)},
}
#: code -> the command that a line of the manifest is wrong for, and variables of its environment
RUNS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "U003": (
        ("dist", "release"),
        {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "{}/index", "PIP_CONFIG_FILE": os.devnull},
    ),
    "K004": (("kernel-wheel", "--wheel", NAME), {}),
}
