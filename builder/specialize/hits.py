"""Which lines of a file the facts can say anything of: all other statements are skipped unread."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

from builder.specialize.world import Unit

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n;]*)|import[ \t]+([^\n;]*))", re.M
)
_NAME = re.compile(rb"[A-Za-z_][\w.]*")


def imports(data: bytes) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """(offset, module as written, names) of what looks like an import statement; `import a` has no names."""
    for match in _IMPORT.finditer(data):
        if match[1] is not None:
            names = tuple(n.decode("utf-8", "replace") for n in _NAME.findall(match[2]))
            yield match.start(), match[1].decode("utf-8", "replace"), names
        else:
            for name in _NAME.findall(match[3]):
                yield match.start(), name.decode("utf-8", "replace"), ()


def absolute(written: str, package: str) -> str:
    """The absolute module of a relative import from a module of `package`."""
    level = len(written) - len(written.lstrip("."))
    if not level:
        return written
    base = package.split(".")
    base = base[: len(base) - (level - 1)]
    rest = written[level:]
    return ".".join([*base, *([rest] if rest else [])])


def import_hits(data: bytes, package: str, gone: Callable[[str], bool], prefilter: bool = True) -> list[int]:
    """Offsets of the import statements that bring in a module for which `gone` holds."""
    found: list[int] = []
    for offset, written, names in imports(data):
        module = absolute(written, package)
        if gone(module) or any(gone(f"{module}.{name}") for name in names):
            found.append(offset)
    return found


class Hits:
    """The 1-based lines that hold a needle, or a name that a statement with a needle binds."""

    def __init__(self, unit: Unit, needles: Iterable[str], offsets: Iterable[int]) -> None:
        self.unit = unit
        starts = unit.module.starts
        shift = 3 if unit.module.bom else 0
        lines = {bisect_right(starts, max(0, o - shift)) for o in offsets}
        wanted = {n.encode() for n in needles}
        lines |= self.lines_with(wanted)
        bound = bindings(unit)
        done = set(wanted)
        while True:
            order = sorted(lines)
            names = {name for low, high, name in bound if name not in done and _any(order, low, high)}
            if not names:
                break
            done |= names
            lines |= self.lines_with(names)
        self.lines = sorted(lines)

    def lines_with(self, words: set[bytes]) -> set[int]:
        data, starts = self.unit.module.data, self.unit.module.starts
        present = sorted(w for w in words if w in data)
        if not present:
            return set()
        pattern = re.compile(
            rb"(?<![A-Za-z0-9_])(?:" + b"|".join(map(re.escape, present)) + rb")(?![A-Za-z0-9_])"
        )
        return {bisect_right(starts, m.start()) for m in pattern.finditer(data)}

    def touch(self, node: ast.stmt) -> bool:
        low = node.lineno
        for decorator in getattr(node, "decorator_list", ()):
            low = min(low, decorator.lineno)
        return _any(self.lines, low, node.end_lineno or node.lineno)


def _any(lines: list[int], low: int, high: int) -> bool:
    at = bisect_left(lines, low)
    return at < len(lines) and lines[at] <= high


def bindings(unit: Unit) -> list[tuple[int, int, bytes]]:
    """(first line, last line, name) of every assignment and import, in whatever scope."""
    found: list[tuple[int, int, bytes]] | None = unit.cache.get("bindings")  # type: ignore[assignment]
    if found is None:
        found = []
        for scope in unit.scopes.by_node.values():
            for name, places in scope.names.items():
                for binding in places:
                    if binding.kind in ("assign", "import"):
                        node = binding.node
                        found.append((node.lineno, node.end_lineno, name.encode()))  # type: ignore[attr-defined]
        unit.cache["bindings"] = found
    return found
