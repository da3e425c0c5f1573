"""Entries of docs/verification, and a page for people of one.

`python -m verification.page NAME FILE... --title TEXT --says TEXT` keeps statements as an entry, and
`python -m verification.page NAME` prints the page of one. Texts that are not given stay.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from builder import json_xz
from verification.checks.mutants import UNREAD, Survivor, survivors

DOCS = Path(__file__).parents[1] / "docs/verification"
_NOTES = {
    "output": "The folders hold what `build.json` names.",
    "parts": "Routing, quantization, prefix cache, scheduling, batches, sampling, configurations, tokenizer, "
    "thoughts and tool calls, each on its own.",
    "arguments": "Launch commands give the same `ServerArgs`, and the parser has the same flags.",
    "launch": "Programs print their help.",
    "imports": "Every module of the emitted tree is imported in both trees.",
    "imports-fresh": "The same, each module in a process that has imported nothing else of the tree.",
    "forward": "Prefill and decode: the same operations on the same data; the same logits, tokens, KV cache.",
    "servers": "Servers as a user starts them, on the CPU with real numbers: the same requests get the same "
    "replies. Upstream is asked again where a reply differs; what it does not repeat has not run.",
    "suite": "Upstream's own tests, run from the pin against both trees: the same verdict test by test.",
    "mutations": "The emitted tree is broken on purpose; a mutation passes when another check catches it.",
    "mutants": "Lines that the checks execute are edited at random; a mutant passes when a check kills it. "
    "One that survives, or whose code no function has, has not run.",
    "engines": "`sglang.Engine`, real kernels: token ids and log-probabilities of greedy decoding.",
    "server": "A server on loopback answers the same requests with the same replies.",
    "pair": "Prefill on one GPU and decode on another: the decoding server's replies.",
    "gains": "What a start of each tree takes: medians, and the ratio of ours to upstream's. A median passes "
    "that is no worse than upstream's worst.",
    "throughput": "Both servers under the same load: medians, and the ratio of ours to upstream's. A median "
    "passes that is no worse than upstream's worst.",
    "defaults": "What the default backends of attention cost at full width, and others that are kept: "
    "medians, and how many times upstream's default. These are told, not judged. A chunk of sparse attention "
    "passes when it gives what its halves give.",
    "installed": "Both wheels, and their kernel wheels, in environments of their own, without a stand-in for "
    "any package: what they require and lack there, and what their servers reply.",
    "sizes": "What is shipped. One writer makes both wheels; the kernels' are the published one and ours.",
}  # fmt: skip

_APART, _KNOWN = "upstream's own differ by", "ours as in one of upstream's"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="of the entry; it ends with the day")
    parser.add_argument("evidence", nargs="*", type=Path, help="statements, in the order of the runs")
    parser.add_argument("--title")
    parser.add_argument("--says", help="what came of it, in a sentence or a few")
    parser.add_argument("--note", action="append", help="a paragraph before the runs")
    parser.add_argument("--not-run", action="append", help="what no evidence covers")
    given = parser.parse_args()
    path = DOCS / f"{given.name}.json.xz"
    texts = {"title": given.title, "says": given.says, "notes": given.note, "not run": given.not_run}
    said = {"title": given.name, "says": "", "notes": [], "not run": [], "runs": []}
    said |= json_xz.read(path) if path.exists() else {}
    said |= {key: text for key, text in texts.items() if text is not None}
    if given.evidence:
        said["runs"] = [json.loads(file.read_bytes()) for file in given.evidence]
    if given.evidence or (path.exists() and any(text is not None for text in texts.values())):
        json_xz.write(path, said)
    text = page(said["title"], said["runs"], said["not run"], said["notes"])
    sys.stdout.write("\n".join([text, *said.get("coverage", ())]))


def page(
    title: str,
    statements: Sequence[Mapping[str, Any]],
    not_run: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Markdown of what statements say; one run after the other. They may be of different subjects."""
    lines = [f"# {title}", "", "Made from the evidence by `verification/page.py`; not edited by hand.", ""]
    lines += [line for note in notes for line in (note, "")]
    usual = _usual([_named(said) for said in statements]) if len(statements) > 1 else {}
    lines += _table(usual)
    for number, said in enumerate(statements, 1):
        if len(statements) > 1:
            lines += [f"## Run {number}", ""]
        lines += [*_table(_other(_named(said), usual)), *_summary(said)]
        for check in said["predicate"]["checks"]:
            lines += _check(check, 3 if len(statements) > 1 else 2)
    lines += ["## What did not run", ""]
    lines += [f"- {each}" for each in [*_left_out(statements), *not_run]] or ["Everything ran."]
    return "\n".join([*lines, *_wheels(statements)]) + "\n"


def _wheels(statements: Sequence[Mapping[str, Any]]) -> list[str]:
    """The files from which the environments of the runs were made."""
    found = {
        each["name"]: each["digest"]["sha256"]
        for said in statements for each in said["predicate"]["configuration"] if each["name"].endswith(".whl")
    }  # fmt: skip
    rows = [f"| {_cell(name)} | {digest} |" for name, digest in sorted(found.items())]
    return ["", "## Packages", "", "| wheel | SHA-256 |", "| --- | --- |", *rows] if rows else []


def _named(said: Mapping[str, Any]) -> dict[str, str]:
    """What was compared, with what, and where."""
    named = {each["name"]: next(iter(each["digest"].values())) for each in said["subject"]}
    for each in said["predicate"]["configuration"]:
        if not each["name"].endswith(".whl"):  # these have a list of their own
            named[each["name"]] = each["digest"].get("sha256") or next(iter(each["digest"].values()))
        if commit := each["digest"].get("gitCommit"):
            named[f"{each['name']}, commit"] = commit
    named |= dict(said["predicate"]["machine"].items())
    return {key: value for key, value in named.items() if value}


def _usual(named: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What more than half of the runs have alike; a run has a row of its own where it differs."""
    found = {}
    for key in dict.fromkeys(key for each in named for key in each):
        value, count = Counter(each[key] for each in named if key in each).most_common(1)[0]
        if 2 * count > len(named):
            found[key] = value
    return found


def _other(named: Mapping[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    own = {key: value for key, value in named.items() if usual.get(key) != value}
    return own | {key: "none" for key in usual if key not in named}


def _table(named: Mapping[str, str]) -> list[str]:
    rows = [f"| {_cell(key)} | {_cell(value)} |" for key, value in named.items()]
    return ["| | |", "| --- | --- |", *rows, ""] if rows else []


def _summary(said: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {check['name']} | {check['verdict']} | {check['counts']['passed']} | {check['counts']['failed']} "
        f"| {check['counts']['not run']} |"
        for check in said["predicate"]["checks"]
    ]
    return [
        "| check | verdict | passed | failed | not run |", "| --- | --- | --- | --- | --- |", *rows, ""
    ]  # fmt: skip


def _check(check: Mapping[str, Any], depth: int) -> Iterator[str]:
    yield f"{'#' * depth} {check['name']}"
    yield ""
    if note := _NOTES.get(check["name"]):
        yield note
        yield ""
    for line in (*check.get("lines", ()), *(_counted(check["cases"]) if check["name"] == "mutants" else ())):
        yield f"- **{_cell(line)}**"
    rows = [case for case in check["cases"] if case["verdict"] != "passed" or told(check["name"], case)]
    if rows:
        yield "| case | verdict | |"
        yield "| --- | --- | --- |"
        for case in rows:
            said = (
                told(check["name"], case)
                if case["verdict"] == "passed"
                else " / ".join(_explained(check["name"], case))
            )
            yield f"| {_cell(case['name'])} | {case['verdict']} | {_cell(said)[:400]} |"
        yield ""


def _explained(check: str, case: Mapping[str, Any]) -> Sequence[str]:
    """The lines of a case that did not pass; of a mutant that survived, with what was read of it since."""
    lines: Sequence[str] = case.get("lines", ())
    figures = case.get("figures", {})
    if check != "mutants" or "survived" not in figures:
        return lines
    reason = _read_since(case)
    return [line.replace(UNREAD, reason.why) for line in lines] if reason else lines


def _read_since(case: Mapping[str, Any]) -> Survivor | None:
    """What is stated of a mutant that survived."""
    path, figures = case["name"].partition(":")[0], case["figures"]
    stated = (one for one in survivors() if one.told(path, figures["function"], figures["edit"]))
    return next(stated, None)


def _counted(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many mutants are killed of those that something could tell from the tree."""
    same = [
        case
        for case in cases
        if "survived" in case.get("figures", {}) and (reason := _read_since(case)) and reason.equivalent
    ]
    tried = sum(bool(case.get("figures", {}).get("tried")) for case in cases)
    killed = sum(case["verdict"] == "passed" for case in cases)
    if same:
        left = tried - len(same)
        yield f"{len(same)} of those that survive are equivalent: {killed} of {left} others are killed"


def told(check: str, case: Mapping[str, Any]) -> str:
    """What is worth a row of a case that passed."""
    figures = case.get("figures", {})
    if check == "forward" and "events" in figures:
        layers = figures.get("layers")
        of = ", ".join(f"{count} {kind}" for kind, count in layers.items()) if layers else ""
        return f"{figures['events']:,} events, attention {'/'.join(dict.fromkeys(figures['attention']))}" + (
            f", layers: {of}" if of else ""
        )
    if check == "suite":
        return "; ".join(
            f"{side} {', '.join(f'{count} {how}' for how, count in figures[side].items())}"
            for side in ("upstream", "ours")
        )
    if check in ("mutations", "mutants", "defaults"):
        return " / ".join(case.get("lines", ()))
    if check == "engines" and "alone" in figures:
        return f"{figures['prompts']} prompts, digest {figures['digest'][:16]}{_bounded(figures)}"
    if "median upstream" in figures:
        one, two = figures["median upstream"], figures["median ours"]
        return f"upstream {one:g}, ours {two:g}, ratio {figures['ratio']}"
    if check in ("server", "pair") and "status" in figures:
        return f"status {figures['status']}"
    return ""


def _bounded(figures: Mapping[str, Any]) -> str:
    """Of what upstream itself has no one value, and how far ours is from it."""
    counted = [one for one in figures.values() if isinstance(one, Mapping) and "outputs" in one]
    if not all("upstream repeats" in one for one in counted):
        return ""  # evidence of before it was counted
    parts = {
        part: one for part, one in figures.items()
        if isinstance(one, Mapping) and one.get("outputs") != one.get("upstream repeats")
    }  # fmt: skip
    if not parts:
        return ", bit for bit"
    return "; upstream is not repeatable: " + "; ".join(
        f"{part}: {one['upstream repeats']} of {one['outputs']} alike in all its runs, which are "
        f"{_shown(one[_APART])} apart, {_of_ours(one)}"
        for part, one in parts.items()
    )


def _of_ours(one: Mapping[str, Any]) -> str:
    nearest = f"ours {_shown(one['ours by'])} from the nearest"
    if (known := one.get(_KNOWN)) is None:  # evidence of before it was counted
        return nearest
    all_of_them = known == one["outputs"]
    return "every one of ours bit for bit as in one of them" if all_of_them else nearest


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def _left_out(statements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What no run did. Of a case that several left open, the last says why."""
    ran = {check["name"] for said in statements for check in said["predicate"]["checks"]}
    decided, left = set(), {}
    for said in statements:
        for name, why in said["predicate"]["leftOut"].items():
            if name not in ran:
                left[_about(said), name, ""] = f"{name}: {why}"
        for check in said["predicate"]["checks"]:
            for case in check["cases"]:
                key = _about(said), check["name"], case["name"]
                if case["verdict"] != "not run":
                    decided.add(key)
                    continue
                why = " / ".join(_explained(check["name"], case))
                left[key] = f"{check['name']}, {_cell(case['name'])}: {_cell(why)[:400]}"
    yield from (line for key, line in left.items() if key not in decided)


def _about(said: Mapping[str, Any]) -> str:
    """What a statement compares, and where: what one run left open, another of the same may have run."""
    configuration = [c for c in said["predicate"]["configuration"] if c["name"] != "harness"]
    machine = said["predicate"]["machine"]
    where = [str(machine.get(key, "")).partition(";")[0] for key in ("gpu", "kernel wheels")]
    return json.dumps([said["subject"], configuration, where])


def _cell(text: Any) -> str:
    said = str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    return said.replace("](", "]\\(")  # no link


if __name__ == "__main__":
    main()
