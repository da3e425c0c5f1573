"""Judges by its importers whether a new module stays, and to which batch it belongs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from builder.graph.names import is_test as is_package_test
from builder.graph.names import module_of
from builder.graph.reach import graph
from builder.lift.statements import most_common
from builder.lift.trial import Sides
from builder.manifest.statements import BASE, Rule
from builder.pipeline.starts import edges_of
from builder.select.suggest import few


@dataclass(frozen=True, slots=True)
class Standing:
    """The judgement on a module, with its reason. `open`: a person has to decide."""

    evidence: str
    verdict: str = "keep"
    batch: str = BASE
    open: bool = True


class Importers:
    """The importers of every module of a new upstream, and what the roots reach in its output."""

    def __init__(self, sides: Sides) -> None:
        manifest, trial = sides.manifest, sides.done
        self._packages, self._new = manifest.packages, sides.new
        self._removed: Mapping[str, Rule] = trial.cut.decided.removed if trial.cut else {}
        self._prunes = {b.id for b in manifest.batches for r in b.rules if r.verdict == "prune"}
        self._reached: Mapping[str, object] = {}
        self._by: dict[str, dict[str, str]] = {}  # module -> its importers, sorted, with their paths
        if trial.cut is not None:
            edges = edges_of(trial.cut.after.index, manifest)
            self._reached = trial.cut.decided.starts.reach(edges, rules=False)
            modules = trial.cut.before.index.modules
            for source, targets in graph(trial.cut.before.index).items():
                for edge in targets if source in modules else ():
                    if edge.kind != "parent":
                        self._by.setdefault(edge.target, {})[source] = modules[source].path

    def standing(self, path: str) -> Standing | None:
        """Return the judgement on a path; None if it is no module, or is empty."""
        module = module_of(path, self._packages)
        if module is None or not self._reached or not self._new[path].strip():
            return None
        if module in self._reached:
            return self._pruned_alike(path, module) or Standing("a root reaches it", open=False)
        leaving, is_used = self._users(module)
        if is_used or not leaving:
            return Standing(f"nothing {'that a root reaches ' if is_used else ''}imports it")
        batch = most_common(self._removed[p].batch for p in leaving)
        evidence = f"only what batch {batch} removes uses it: {few(leaving)}"
        return Standing(evidence, "prune", batch) if batch in self._prunes else Standing(evidence)

    def _users(self, module: str) -> tuple[list[str], bool]:
        """Return the removed paths that import a module, over modules that no root reaches, without tests if
        there are others; and whether a module that a root reaches imports it."""
        leaving: dict[str, None] = {}
        is_used = False
        seen = [module]
        for name in seen:  # which grows
            for source, path in self._by.get(name, {}).items():
                if path in self._removed:
                    leaving[path] = None
                elif source in self._reached:
                    is_used = True
                elif source not in seen:
                    seen.append(source)
        return [path for path in leaving if not is_test(path)] or list(leaving), is_used

    def _pruned_alike(self, path: str, module: str) -> Standing | None:
        """A module that is reached only over modules that list its neighbours: a package's `__init__`, a
        registry. Its neighbours were pruned, as no kept model imports them, and none imports this one."""
        folder = path.rpartition("/")[0]
        pruned = {
            module_of(p, self._packages): rule
            for p, rule in self._removed.items()
            if rule.verdict == "prune" and p.rpartition("/")[0] == folder
        }
        lists = Counter(source for name in pruned for source in self._by.get(name or "", ()))
        users = {s: p for s, p in self._by.get(module, {}).items() if p not in self._removed and s != module}
        if not pruned or not users or any(lists[source] < 2 for source in users):
            return None
        evidence = "nothing that stays imports it but what imports its pruned neighbours too"
        batch = most_common(rule.batch for rule in pruned.values())
        return Standing(f"{evidence}: {few(list(users.values()))}", "prune", batch)


def is_test(path: str) -> bool:
    """Return whether a path of the repository is a test, in a package or in the folder `test` beside them.

    Tests use everything: that they use something says little.
    """
    return path.startswith("test/") or is_package_test(path)
