"""What the importers of a new module say about whether it stays, and to which batch it belongs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from builder.graph.names import is_test as is_package_test
from builder.graph.names import module_of
from builder.graph.reach import graph
from builder.lift.trial import Trial
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.pipeline.starts import edges_of
from builder.select.suggest import few


@dataclass(frozen=True, slots=True)
class Standing:
    """What importers say about a module. `open`: a person has to decide; `sure`: a root reaches it."""

    verdict: str
    batch: str
    open: bool
    sure: bool
    evidence: str


class Importers:
    """The importers of every module of a new upstream, and what the roots reach in its output."""

    def __init__(self, manifest: Manifest, trial: Trial) -> None:
        self._manifest = manifest
        self._cut = trial.cut
        self._removed: Mapping[str, Rule] = trial.cut.decided.removed if trial.cut else {}
        self._prunes = {b.id for b in manifest.batches for r in b.rules if r.verdict == "prune"}
        self._reached: Mapping[str, object] = {}
        self._by: dict[str, list[str]] = {}
        if trial.cut is not None and trial.after is not None:
            after = trial.after.index
            self._reached = trial.cut.decided.starts.reach(edges_of(after, manifest), rules=False)
            for source, edges in graph(trial.cut.before.index).items():
                for edge in edges:
                    if edge.kind != "parent":
                        self._by.setdefault(edge.target, []).append(source)

    def standing(self, path: str) -> Standing | None:
        """What the importers of a path say; None if it is not a module, or is empty."""
        module = module_of(path, self._manifest.packages)
        if module is None or self._cut is None or not self._reached or not self._cut.upstream[path].strip():
            return None
        if module in self._reached:
            return self._pruned_alike(path, module) or Standing(
                "keep", BASE, False, True, "a root reaches it"
            )
        leaving, staying = self._users(module)
        code = [p for p in leaving if not is_test(p)] or leaving
        if staying:
            return Standing("keep", BASE, True, False, "nothing that a root reaches imports it")
        if not code:
            return Standing("keep", BASE, True, False, "nothing imports it")
        batches = Counter(self._removed[p].batch for p in code)
        batch = min(batches, key=lambda name: (-batches[name], name))
        evidence = f"only what batch {batch} removes uses it: {few(code)}"
        if batch in self._prunes:
            return Standing("prune", batch, True, False, evidence)
        return Standing("keep", BASE, True, False, evidence)

    def _users(self, module: str) -> tuple[list[str], list[str]]:
        """The removed paths that import a module, over modules that no root reaches, and those that stay."""
        assert self._cut is not None
        modules = self._cut.before.index.modules
        leaving: dict[str, None] = {}
        staying: dict[str, None] = {}
        seen, todo = {module}, [module]
        while todo:
            for source in sorted(set(self._by.get(todo.pop(), ()))):
                if source in seen or source not in modules:
                    continue
                seen.add(source)
                path = modules[source].path
                if path in self._removed:
                    leaving[path] = None
                elif source in self._reached:
                    staying[path] = None
                else:
                    todo.append(source)
        return list(leaving), list(staying)

    def _pruned_alike(self, path: str, module: str) -> Standing | None:
        """A module that is reached only over modules that list its neighbours: a package's `__init__`, a
        registry. Its neighbours were pruned, as no kept model imports them, and none imports this one."""
        assert self._cut is not None
        folder, modules = path.rpartition("/")[0], self._cut.before.index.modules
        pruned = {
            module_of(p, self._manifest.packages): rule
            for p, rule in self._removed.items()
            if rule.verdict == "prune" and p.rpartition("/")[0] == folder
        }
        lists = Counter(s for m in pruned if m for s in set(self._by.get(m, ())))
        batches = Counter(rule.batch for rule in pruned.values())
        stay = [
            s
            for s in dict.fromkeys(self._by.get(module, ()))
            if s in modules and modules[s].path not in self._removed and s != module
        ]
        if not batches or not stay or any(lists[s] < 2 for s in stay):
            return None
        batch = min(batches, key=lambda name: (-batches[name], name))
        who = few([modules[s].path for s in stay])
        evidence = f"nothing that stays imports it but what imports its pruned neighbours too: {who}"
        return Standing("prune", batch, True, False, evidence)


def is_test(path: str) -> bool:
    """Whether a path of the repository is a test, in a package or in the folder `test` beside them.

    Tests use everything: that they use something says little.
    """
    return path.startswith("test/") or is_package_test(path)
