"""Which names exist: an index over summaries, with star imports expanded to a fixpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from builder.graph.modules import Import, Summary
from builder.graph.names import packages_around


class Origin(NamedTuple):
    """Where a name comes from: a module, or (with `qualname`) a definition inside it."""

    module: str
    qualname: str = ""

    def __str__(self) -> str:
        return f"{self.module}.{self.qualname}" if self.qualname else self.module

    def member(self, name: str) -> Origin:
        """A name in the module, or in the class."""
        return Origin(self.module, f"{self.qualname}.{name}" if self.qualname else name)


class Index:
    """The modules of one tree and the names in them."""

    def __init__(self, summaries: Mapping[str, Summary], tops: Iterable[str]) -> None:
        """`tops`: the import names of the packages. A module outside them is external, and nothing is known
        about it."""
        self.modules: dict[str, Summary] = {}
        for summary in summaries.values():
            # `x.py` beside `x/__init__.py`: Python takes the package
            if summary.module and (summary.package or summary.module not in self.modules):
                self.modules[summary.module] = summary
        self.folders = {package for module in self.modules for package in packages_around(module)}
        self._below: dict[str, set[str]] = {}
        for module in self.folders | set(self.modules):
            parent, _, last = module.rpartition(".")
            self._below.setdefault(parent, set()).add(last)
        self.tops = frozenset(tops)
        self._stars, self._open = self._expand()
        # caches of what the above determines
        self._bindings: dict[str, dict[str, Import]] = {}
        self._lineages: dict[Origin, tuple[tuple[Origin, ...], bool]] = {}
        self._own: dict[str, dict[str, frozenset[str]]] = {}

    def _expand(self) -> tuple[dict[str, dict[str, str]], set[str]]:
        """module -> names that its star imports bring in (each with the module it came from), and
        the modules that may have more names than can be seen."""
        sources: dict[str, list[str]] = {}
        # nothing is known about the names of a file that does not parse; that is one finding, not many
        opened = {name for name, summary in self.modules.items() if summary.open or summary.error}
        for name, summary in self.modules.items():
            for item in summary.imports:
                if item.star and item.kind != "lazy":
                    if item.target in self.modules:
                        sources.setdefault(name, []).append(item.target)
                    elif not self.internal(item.target):
                        opened.add(name)
        stars: dict[str, dict[str, str]] = {name: {} for name in sources}
        changed = True
        while changed:
            changed = False
            for name in sorted(sources):
                for source in sources[name]:
                    if source in opened and name not in opened:
                        opened.add(name)
                        changed = True
                    for public in self._public(source, stars.get(source, {})):
                        if public not in stars[name]:
                            stars[name][public] = source
                            changed = True
        return stars, opened

    def _public(self, module: str, stars: Mapping[str, str]) -> Iterable[str]:
        summary = self.modules[module]
        if summary.exports is not None:
            return summary.exports
        return sorted(n for n in {*summary.names, *stars} if not n.startswith("_"))

    def internal(self, module: str) -> bool:
        """The module belongs (by its first name) to the packages."""
        return module.partition(".")[0] in self.tops

    def has_module(self, module: str) -> bool:
        """The module is a file or a folder with modules below it."""
        return module in self.modules or module in self.folders

    def names(self, module: str) -> frozenset[str]:
        """All names visible in a module: bound in it, brought in by stars, and its submodules."""
        own = self.modules.get(module)
        below = self._below.get(module, ())
        return frozenset({*(own.names if own else ()), *self._stars.get(module, ()), *below})

    def resolves(self, module: str, name: str) -> bool | None:
        """Whether `from module import name` works; None when it cannot be known."""
        if not self.internal(module):
            return None
        if name == "*":
            return self.has_module(module)
        if self.has_module(f"{module}.{name}") or name in self._stars.get(module, ()):
            return True
        summary = self.modules.get(module)
        if summary is not None and name in summary.names:
            taken = self._binding(summary, name) if summary.names[name].kind == "import" else None
            # a package that takes a submodule from itself does not define it by that
            if taken is None or (taken.target, taken.name) != (module, name):
                return True
        return None if module in self._open else False

    def origin(self, module: str, name: str) -> Origin | None:
        """The definition or module that `module.name` is, through re-exports; None when it is
        external, unknown, or not there."""
        seen: set[tuple[str, str]] = set()
        while (module, name) not in seen:
            seen.add((module, name))
            summary = self.modules.get(module)
            bound = summary.names.get(name) if summary else None
            if summary is not None and bound is not None:
                if bound.kind != "import":
                    return Origin(module, name)
                item = self._binding(summary, name)
                if item is None or not self.internal(item.target):
                    return None
                if item.name is None:
                    return Origin(item.target if item.asname else name)
                module, name = item.target, item.name
                continue
            star = self._stars.get(module, {}).get(name)
            if star is not None:
                module = star
                continue
            below = f"{module}.{name}"
            return Origin(below) if self.has_module(below) else None
        return None

    def locate(self, dotted: str) -> Origin | None:
        """A dotted name as the longest module it starts with, and the rest; None if that rest
        is not there. `a.b.C.m` gives module `a.b` and `C.m`."""
        module, rest = dotted, ""
        while module and not self.has_module(module):
            module, _, last = module.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        if not module or not rest:
            return Origin(module) if module else None
        summary = self.modules.get(module)
        first = rest.partition(".")[0]
        if "." not in rest:
            return Origin(module, rest) if self.resolves(module, rest) is not False else None
        if summary is not None and (rest in summary.members or first in self._stars.get(module, ())):
            return Origin(module, rest)
        origin = self.origin(module, first)
        if origin is None or not origin.qualname:
            return Origin(module, rest) if self.resolves(module, first) is not False else None
        outer, _, last = f"{origin.qualname}.{rest.partition('.')[2]}".rpartition(".")
        holder = self.modules[origin.module]
        known = f"{outer}.{last}" in holder.members or last in holder.attributes.get(outer, ())
        return Origin(origin.module, f"{outer}.{last}") if known else None

    def _binding(self, summary: Summary, name: str) -> Import | None:
        """The import statement that binds a name at module level; the last one wins."""
        bindings = self._bindings.get(summary.module)
        if bindings is None:
            bindings = {i.bound: i for i in summary.imports if i.kind != "lazy"}
            self._bindings[summary.module] = bindings
        return bindings.get(name)

    def lineage(self, origin: Origin) -> tuple[tuple[Origin, ...], bool]:
        """A class and its bases inside the packages, nearest first, and whether all are known
        (`object`, enums, protocols and the like count as known)."""
        lineage = self._lineages.get(origin)
        if lineage is None:
            lineage = self._lineages[origin] = self._lineage(origin)
        return lineage

    def _lineage(self, origin: Origin) -> tuple[tuple[Origin, ...], bool]:
        order: list[Origin] = []
        complete, queue = True, [origin]
        while queue:
            current = queue.pop(0)
            if current in order:
                continue
            order.append(current)
            summary = self.modules.get(current.module)
            for base in summary.bases.get(current.qualname, ()) if summary else ():
                plain = base.partition("[")[0]
                if plain.rpartition(".")[2] in _PLAIN_BASES:
                    continue
                first, _, rest = plain.partition(".")
                base_origin = self.origin(current.module, first)
                for part in filter(None, rest.split(".")):
                    if base_origin is None:
                        break
                    if base_origin.qualname:
                        base_origin = base_origin.member(part)
                    else:
                        base_origin = self.origin(base_origin.module, part)
                holder = (
                    self.modules.get(base_origin.module) if base_origin and base_origin.qualname else None
                )
                if base_origin is not None and holder is not None and base_origin.qualname in holder.bases:
                    queue.append(base_origin)
                else:
                    complete = False
        return tuple(order), complete

    def has_member(self, origin: Origin, name: str) -> bool | None:
        """Whether a class has this attribute, itself or by inheritance; None when a base is external."""
        order, complete = self.lineage(origin)
        if any(name in self.own(item) for item in order):
            return True
        return False if complete else None

    def own(self, origin: Origin) -> frozenset[str]:
        """What a class itself defines: members, and what its methods assign to `self`."""
        classes = self._own.get(origin.module)
        if classes is None:
            classes = self._own[origin.module] = self._owned(origin.module)
        return classes.get(origin.qualname, frozenset())

    def _owned(self, module: str) -> dict[str, frozenset[str]]:
        summary = self.modules.get(module)
        by_class: dict[str, set[str]] = {}
        if summary is not None:
            for qualname in summary.members:
                owner, _, name = qualname.rpartition(".")
                by_class.setdefault(owner, set()).add(name)
            for owner, names in summary.attributes.items():
                by_class.setdefault(owner, set()).update(names)
        return {owner: frozenset(names) for owner, names in by_class.items()}


#: Bases that bring no members of their own that matter here.
_PLAIN_BASES = {"object", "ABC", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
_PLAIN_BASES |= {"Protocol", "Generic", "NamedTuple", "TypedDict", "Struct"}
