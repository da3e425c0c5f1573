"""Which functions of the output no check executes: the harness must try them, or the output may lose them."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

NAME = "coverage.json"
PACKAGE = "sglang/srt"
#: Definitions of up to so many lines are counted and not listed.
SMALL = 20
REASONS = Path(__file__).with_name("unexecuted.yaml")
_PLACES = 3  # of those that refer to a definition, shown
_LONGEST = 25  # of the definitions with one reason, shown


@dataclass(frozen=True, slots=True)
class Reason:
    """Why no check executes some definitions: `path`, `name` and `decorator` are patterns."""

    path: str
    name: str
    why: str
    decorator: str = ""  # without one, whatever decorates a definition

    def covers(self, one: Definition) -> bool:
        decorated = not self.decorator or any(fnmatchcase(each, self.decorator) for each in one.decorators)
        return decorated and fnmatchcase(one.path, self.path) and fnmatchcase(one.name, self.name)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or method. `lines`: from its first line to its last."""

    path: str
    name: str
    line: int
    lines: int
    executed: bool
    decorators: tuple[str, ...] = ()  # as they are written, without their arguments

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def reasons(file: Path = REASONS) -> tuple[Reason, ...]:
    """The reasons that are stated; of several that hold the first counts."""
    return tuple(
        Reason(path, name, one["why"], one.get("decorator", ""))
        for one in yaml.safe_load(file.read_text())
        for path in _patterns(one.get("path", "*"))
        for name in _patterns(one.get("name", "*"))
    )


def _patterns(stated: str | list[str]) -> list[str]:
    return [stated] if isinstance(stated, str) else stated


def statement(
    answer: Mapping[str, Any], sources: Mapping[str, str], stated: Sequence[Reason] = ()
) -> dict[str, Any]:
    """What is known, for a file: lines by folder, and the definitions that were not executed.

    `answer`: of the probe `lines`; `sources`: the text of each of its files.
    """
    found = [one for path, text in sources.items() for one in definitions(path, text, answer["files"][path])]
    large = [one for one in found if not one.executed and one.lines > SMALL]
    users = _users(sources)
    return {
        "processes": answer["processes"],
        "folders": dict(sorted(_folders(answer["files"]).items())),
        "definitions": {
            "all": len(found),
            "executed": sum(one.executed for one in found),
            "small": sum(not one.executed and one.lines <= SMALL for one in found),
        },
        "unexecuted": [_row(one, users, stated) for one in sorted(large, key=lambda d: (d.path, d.line))],
    }


def definitions(path: str, text: str, lines: Mapping[str, Sequence[int]]) -> Iterator[Definition]:
    """The functions of a module, without those within one that was not executed."""
    executed = set(lines["executed"])

    def within(node: ast.AST, owner: str) -> Iterator[Definition]:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{owner}{inner.name}"
                if isinstance(inner, ast.ClassDef):
                    yield from within(inner, f"{name}.")
                    continue
                first, last = inner.body[0].lineno, inner.end_lineno or inner.lineno
                ran = not executed.isdisjoint(range(first, last + 1))
                yield Definition(path, name, inner.lineno, last - inner.lineno + 1, ran, _decorators(inner))
                if ran:
                    yield from within(inner, f"{name}.")
            else:
                yield from within(inner, owner)

    return within(ast.parse(text), "")


def lost(
    answer: Mapping[str, Any], upstream: Mapping[str, str], output: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The functions of upstream's that its own run executes and the output does not define.

    `answer`: of the probe `lines` about upstream; `upstream`, `output`: the texts of their files.
    """
    stays = {
        (path, one.name)
        for path, text in output.items()
        for one in definitions(path, text, {"executed": range(1, len(text.splitlines()) + 1)})
    }
    return [
        {"place": one.place, "name": one.name, "lines": one.lines}
        for path, text in sorted(upstream.items())
        for one in definitions(path, text, answer["files"][path])
        if one.executed and (path, one.name) not in stays
    ]


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    calls = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return tuple(ast.unparse(each) for each in calls)


def _row(one: Definition, users: Mapping[str, Sequence[str]], stated: Iterable[Reason]) -> dict[str, Any]:
    # a class is named where it is made
    called = one.name.removesuffix(".__init__").rpartition(".")[2]
    named = [place for place in users.get(called, ()) if place != f"{one.path} {one.name}"]
    why = next((reason.why for reason in stated if reason.covers(one)), "")
    return {
        "place": one.place, "name": one.name, "lines": one.lines, "why": why,
        "users": named[:_PLACES], "more": max(0, len(named) - _PLACES),
    }  # fmt: skip


def _users(sources: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """name -> the functions and modules whose code names it, as `PATH QUALIFIED_NAME`."""
    found: dict[str, dict[str, None]] = defaultdict(dict)

    def walk(node: ast.AST, path: str, owner: str) -> None:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                walk(inner, path, f"{owner}.{inner.name}" if owner else inner.name)
                continue
            name = getattr(inner, "id", None) or getattr(inner, "attr", None)
            if name:
                found[name][f"{path} {owner}".rstrip()] = None
            walk(inner, path, owner)

    for path, text in sources.items():
        walk(ast.parse(text), path, "")
    return {name: list(places) for name, places in found.items()}


def _folders(files: Mapping[str, Mapping[str, Sequence[int]]]) -> Mapping[str, dict[str, int]]:
    """folder below the package -> its statements, and how many of them were executed."""
    prefix = f"python/{PACKAGE}/"
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path, lines in files.items():
        below = path.removeprefix(prefix)
        folder = below.partition("/")[0] if "/" in below else "."
        counts[folder].update(
            statements=len(lines["executed"]) + len(lines["missing"]), executed=len(lines["executed"])
        )
    return {folder: dict(count) for folder, count in counts.items()}


def page(known: Mapping[str, Any]) -> str:
    """The statement for people: the share of lines by folder, and the definitions by the reason."""
    rows = [(folder, count["statements"], count["executed"]) for folder, count in known["folders"].items()]
    rows.append(("**all**", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    counted, left = known["definitions"], known["unexecuted"]
    large = sum(one["lines"] for one in left)
    parts = [
        f"# What the checks execute of {known['upstream']}\n",
        "<!-- Made by `verify --coverage`: run it again, do not edit. -->\n",
        f"Tree {known['tree']}. Statements of `{PACKAGE}` that at least one of {known['processes']:,} "
        f"processes of the checks executed. Of {counted['all']:,} functions {counted['executed']:,} ran; of "
        f"those that did not, {counted['small']:,} have at most {SMALL} lines, and {len(left):,} have more, "
        f"{large:,} lines together. Of these the longest of each reason are listed below; {NAME} has all.\n",
        "| folder | statements | executed | share |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {name} | {all_:,} | {ran:,} | {ran / max(all_, 1):.0%} |" for name, all_, ran in rows),
        "",
    ]
    by_reason: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in left:
        by_reason[one["why"]].append(one)
    for why, ones in sorted(by_reason.items(), key=lambda item: (item[0] == "", item[0])):
        lines = sum(one["lines"] for one in ones)
        parts += [
            f"## {why or 'No reason is stated'}\n",
            f"Functions: {len(ones):,}; lines: {lines:,}.\n",
            "| function | lines | named in |",
            "| --- | ---: | --- |",
            *map(_listed, sorted(ones, key=lambda one: -one["lines"])[:_LONGEST]),
            "",
        ]
    if lost := known.get("lost"):
        parts += [
            "## Executed in upstream's tree, and not in the output\n",
            "For each of them a fact must state what it tells, or nothing may read it.\n",
            "| function | lines |",
            "| --- | ---: |",
            *(f"| `{one['name']}` ({one['place']}) | {one['lines']:,} |" for one in lost),
            "",
        ]
    return "\n".join(parts)


def _listed(one: Mapping[str, Any]) -> str:
    more = f" and {one['more']:,} more" if one["more"] else ""
    users = ", ".join(f"`{place.removeprefix(f'python/{PACKAGE}/')}`" for place in one["users"])
    place = one["place"].removeprefix(f"python/{PACKAGE}/")
    return f"| `{one['name']}` ({place}) | {one['lines']:,} | {users or 'nothing'}{more} |"
