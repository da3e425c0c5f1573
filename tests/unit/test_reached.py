"""In the packages reach decides: what stays, what leaves, whose doing it is, and what follows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from gate_worlds import snapshot
from manifest_text import HEAD, manifest, problems, schema

from builder.errors import Problem
from builder.graph.modules import summarise
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.switches import without
from builder.pipeline.cut import cut
from builder.pipeline.data_files import followed
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.pipeline.ranges import About
from builder.select.rules import select
from builder.tree import Snapshot

BASIC = {
    "__init__.py": "",
    "main.py": "from pkg.models.registry import load\n\nload('one')\n",
    "models/__init__.py": "",
    "models/registry.py": "import pkgutil\n\n\ndef load(name):\n    return pkgutil.iter_modules(name)\n",
    "models/one.py": "class One:\n    pass\n\n\nEntryClass = One\n",
}
DYNAMIC = HEAD + "  dynamic: [{from: pkg.models.registry, to: pkg.models.*, why: pkgutil}]\n"


def upstream(files: Mapping[str, str]) -> Snapshot:
    return snapshot(
        {f"python/pkg/{path}" if path[0] != "/" else path[1:]: text for path, text in files.items()}
    )


def stated(rest: str = "batches: []\n", head: str = DYNAMIC) -> Manifest:
    return parse((head + rest).encode(), "manifest.yaml", {}, schema())


def done(files: Mapping[str, str], rest: str = "batches: []\n", head: str = DYNAMIC) -> Cut:
    return cut(upstream({**BASIC, **files}), stated(rest, head))


def left(found: Cut) -> set[str]:
    gone = found.upstream.tree.keys() - found.output.tree.keys()
    return {path.removeprefix("python/pkg/") for path in gone}


def why(found: Cut, path: str) -> tuple[str, str]:
    reason = reasons(found)[f"python/pkg/{path}"][0]
    return reason.batch, reason.rule


def test_an_empty_package_file_reads_no_data() -> None:
    empty = summarise(b"", "a/b/__init__.py", "a.b")
    full = summarise(b"X = 1\n", "a/b/__init__.py", "a.b")
    data, modules = ["a/b/table.json"], ["a/b/__init__.py"]
    assert followed(data, modules, [empty]) == {}
    assert followed(data, modules, [full]) == {"a/b/table.json": "a/b/__init__.py"}


def test_outside_of_the_packages_a_path_still_needs_a_rule() -> None:
    found = select(["python/pkg/models/one.py", "python/pkg/a.py", "python/pkg/b.json", "new/x"], manifest())
    assert [p.code for p in found.problems] == ["R003"]
    assert (found.with_verdict("reach"), found.with_verdict("follow")) == (
        ("python/pkg/a.py",),
        ("python/pkg/b.json",),
    )


def test_what_a_batch_removes_is_known_when_the_batch_is_off() -> None:
    rest = "batches: [{id: ci, why: w, remove: [/.github/, python/pkg/ci.py]}]\n"
    paths = [".github/x.yml", "python/pkg/ci.py", "python/pkg/models/one.py"]
    assert select(paths, manifest(rest)).with_verdict("remove") == (".github/x.yml", "python/pkg/ci.py")
    back = select(paths, without(manifest(rest), ("ci",)))
    assert (back.problems, back.with_verdict("keep")) == ((), (".github/x.yml", "python/pkg/models/one.py"))
    assert back.with_verdict("reach") == ("python/pkg/ci.py",)


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ("{name: pkg.gone, until: 1.0.0}", None),
        ("{name: pkg.gone, until: 2.0.0}", "The root `pkg.gone` names no module of upstream."),
        ("{name: pkg.main, until: 1.0.0}", "`pkg.main` says `until: 1.0.0`"),
        ("{name: pkg.models, since: 2.0.0}", None),
    ],
)
def test_a_root_may_have_a_range_of_versions(root: str, said: str | None) -> None:
    head = DYNAMIC.replace("modules: [pkg.main]", f"modules: [pkg.main, {root}]")
    pins = "    old: {commit: 1123456789abcdef0123456789abcdef01234567, version: 1.0.0}\n"
    pins += "    new: {commit: 2123456789abcdef0123456789abcdef01234567, version: 2.0.0}\n"
    found: list[Problem] = []
    cut(
        upstream(BASIC), stated(head=head.replace("packages:", f"{pins}packages:")), found.extend,
        about=About("2.0.0", "new"),
    )  # fmt: skip
    assert len(found) == (said is not None) and all((said or "") in p.message for p in found), found


def test_the_former_ways_to_say_it_are_told_how_to_say_it_now() -> None:
    batch = "batches: [{id: a, why: w, unreached: [python/pkg/a.py]}]\n"
    (problem,) = problems(HEAD + batch)
    assert problem.code == "M005" and "when no root reaches it" in (problem.hint or "")
    assert problem.mark is not None and problem.mark.line == HEAD.count("\n") + 1
    (problem,) = problems(HEAD + "batches: [{id: a, why: w, prune: [python/pkg/models/*.py]}]\n")
    assert problem.code == "M011" and "roots.models" in problem.message and problem.hint
