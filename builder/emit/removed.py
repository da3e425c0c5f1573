"""`REMOVED.md`: the cut, decision by decision, every figure computed from the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from builder.emit.figures import CODE, TEXT, BatchFigures, batch_figures, extensions, verdict_counts
from builder.emit.ledger import Row
from builder.templates import ABSENT, filled

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
    batches = [f for f in every if any(f.files.values()) or f.id in lost]
    counts = verdict_counts(rows)
    code, kinds = lines[CODE], extensions(lines)
    shown = (*kinds, CODE, TEXT) if len(kinds) > 1 else (*kinds, TEXT)  # one kind needs no sum
    titles = {CODE: "these seven", TEXT: "all text files"}
    sides = [(titles.get(name, name), lines[name]["before"], lines[name]["after"]) for name in shown]
    page = filled(
        "removed.md",
        {
            "lines": [(name, before, after, before - after) for name, before, after in sides],
            "batches": [(f.id, *f.files.values(), *f.lines.values()) for f in batches],
        },
        title=title,
        files=counts["kept"] + counts["edited"] + counts["removed"],
        **counts,
        kinds=", ".join(kinds),
        before=code["before"],
        after=code["after"],
        share=f" ({100 * code['after'] / code['before']:.1f}% stay)" if code["before"] else "",
    )
    for f in batches:
        page += _section(f, whys.get(f.id, ""), [r for r in rows if r.batch == f.id], lost.get(f.id, ()))
    return page.encode("utf-8", "backslashreplace")


def _section(
    figures: BatchFigures, why: str, rows: Sequence[Row], lost: Sequence[tuple[str, Sequence[str]]]
) -> str:
    removed_lines = {k: v for k, v in figures.by_extension.items() if v and k not in (CODE, TEXT)}
    other = figures.by_extension.get(TEXT, 0) - sum(removed_lines.values())
    counts = [f"{number:,} {kind}" for kind, number in removed_lines.items()]
    counts += [f"{other:,} of other text"] if other else []
    folders = _folders([r for r in rows if r.verdict == "removed"])
    rest = folders[_TOP:]
    files, lines = sum(f for _, f, _ in rest), sum(n for _, _, n in rest)
    edited = sorted((r for r in rows if r.verdict == "edited"), key=lambda r: (-r.lost, r.path))
    names = [f"{title}: {', '.join(f'`{name}`' for name in some)}.\n" for title, some in lost]
    names += _listed("Edited", [f"`{r.path}` ({-r.lost:+,})" for r in edited])
    names += _listed("Added", [f"`{r.path}`" for r in rows if r.verdict == "added"])
    blocks: dict[str, Sequence[Sequence[object]]] = {
        "why": [(why.strip(),)] if why else ABSENT,
        "counts": [(", ".join(counts),)] if counts else ABSENT,
        "folders": [(place, _files(number), n) for place, number, n in folders[:_TOP]],
        "elsewhere": [(_files(files), lines)] if rest else ABSENT,
        "names": [(sentence,) for sentence in names],
    }
    return filled("removed-batch.md", blocks, id=figures.id).rstrip("\n") + "\n"


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
    named = [(single[f] if files[f] == 1 else f, files[f], lines[f]) for f in files]
    by_size = sorted(named, key=lambda item: (-item[2], -item[1], item[0]))
    return [("the top folder" if name == "/" else name, some, lost) for name, some, lost in by_size]


def _listed(title: str, names: Sequence[str]) -> list[str]:
    more = f" and {len(names) - _TOP:,} more" if len(names) > _TOP else ""
    return [f"{title}: {', '.join(names[:_TOP])}{more}.\n"] if names else []


def _files(number: int) -> str:
    return f"{number:,} file" + ("" if number == 1 else "s")
