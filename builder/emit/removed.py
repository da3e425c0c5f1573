"""`REMOVED.md`: the cut, decision by decision, every figure computed from the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from builder.emit.figures import CODE, TEXT, BatchFigures, batch_figures, extensions, verdict_counts
from builder.emit.ledger import Row

_TOP = 8


def removed_md(
    title: str,
    rows: Sequence[Row],
    whys: Mapping[str, str],
    lines: Mapping[str, Mapping[str, int]],
    lost: Mapping[str, Sequence[tuple[str, Sequence[str]]]] = MappingProxyType({}),
) -> bytes:
    """The page. `whys` maps batch ids to reasons, in the manifest's order; `lines` is `before_after`.

    `lost`: what users select by name and each batch removes, as titles with names (`lost_names`).
    """
    every = batch_figures(rows, list(whys))
    figures = [f for f in every if any(f.files.values()) or f.id in lost]
    counts = verdict_counts(rows)
    code, kinds = lines[CODE], extensions(lines)
    shown = (*kinds, CODE, TEXT) if len(kinds) > 1 else (*kinds, TEXT)  # one kind needs no sum
    share = f" ({100 * code['after'] / code['before']:.1f}% stay)" if code["before"] else ""
    parts = [
        f"# What {title} leaves out\n",
        f"Of upstream's {_n(counts['kept'] + counts['edited'] + counts['removed'])} files, "
        f"{_n(counts['removed'])} are removed and {_n(counts['edited'])} edited; "
        f"{_n(counts['added'])} are added. Lines of {', '.join(kinds)}: "
        f"{_n(code['before'])} before, {_n(code['after'])} after{share}.\n",
        "A line is a newline, plus a last line without one. An edited file counts for the batch that its "
        "ledger row names first.\n",
        _table(
            ("lines", "before", "after", "less"),
            [
                (
                    {CODE: "these seven", TEXT: "all text files"}.get(name, name),
                    *map(_n, (side["before"], side["after"], side["before"] - side["after"])),
                )
                for name in shown
                for side in [lines[name]]
            ],
        ),
        _table(
            ("batch", "files removed", "edited", "added", "lines removed", "edited away", "added"),
            [(f"[{f.id}](#{f.id})", *map(_n, (*f.files.values(), *f.lines.values()))) for f in figures],
        ),
    ]
    parts += [
        _section(f, whys.get(f.id, ""), [r for r in rows if r.batch == f.id], lost.get(f.id, ()))
        for f in figures
    ]
    return "\n".join(parts).encode("utf-8", "backslashreplace")


def _section(
    figures: BatchFigures, why: str, rows: Sequence[Row], lost: Sequence[tuple[str, Sequence[str]]]
) -> str:
    removed_lines = {k: v for k, v in figures.by_extension.items() if v and k not in (CODE, TEXT)}
    out = [f"## {figures.id}\n"]
    if why:
        out.append(why.strip() + "\n")
    other = figures.by_extension.get(TEXT, 0) - sum(removed_lines.values())
    counts = [f"{_n(v)} {k}" for k, v in removed_lines.items()]
    counts += [f"{_n(other)} of other text"] if other else []
    if counts:
        out.append(f"Lines: {', '.join(counts)}.\n")
    folders = _folders([r for r in rows if r.verdict == "removed"])
    if folders:
        out.append("Removed:\n")
        out += [
            f"- {_code(path)}: {_files(files)}, {_n(lines)} lines" for path, files, lines in folders[:_TOP]
        ]
        if len(folders) > _TOP:
            rest = folders[_TOP:]
            files, lines = sum(f for _, f, _ in rest), sum(n for _, _, n in rest)
            out.append(f"- and elsewhere: {_files(files)}, {_n(lines)} lines")
        out.append("")
    out += [f"{title}: {', '.join(map(_code, names))}.\n" for title, names in lost]
    edited = sorted((r for r in rows if r.verdict == "edited"), key=lambda r: (-r.lost, r.path))
    out += _listed("Edited", [f"{_code(r.path)} ({-r.lost:+,})" for r in edited])
    out += _listed("Added", [_code(r.path) for r in rows if r.verdict == "added"])
    return "\n".join(out)


def _listed(title: str, names: Sequence[str]) -> list[str]:
    more = f" and {_n(len(names) - _TOP)} more" if len(names) > _TOP else ""
    return [f"{title}: {', '.join(names[:_TOP])}{more}.\n"] if names else []


def _folders(rows: Sequence[Row]) -> list[tuple[str, int, int]]:
    """(path, files, lines) of the folders with removed files, the largest first; lone files by name."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    single: dict[str, str] = {}
    for row in rows:
        folder = "/".join(row.path.split("/")[:-1][:4]) + "/"
        files[folder] += 1
        lines[folder] += row.lost
        single[folder] = row.path
    folders_with_lines = [(single[f] if files[f] == 1 else f, files[f], lines[f]) for f in files]
    return sorted(folders_with_lines, key=lambda item: (-item[2], -item[1], item[0]))


def _table(heads: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)]) + "\n"


def _code(path: str) -> str:
    return f"`{'the top folder' if path == '/' else path}`"


def _files(number: int) -> str:
    return f"{_n(number)} file" + ("" if number == 1 else "s")


def _n(number: int) -> str:
    return f"{number:,}"
