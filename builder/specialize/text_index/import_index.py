"""Which files can see a name of a module, read off the text of the import statements.

A superset: what looks like an import counts as one. A file sees `module.name` when it is that module,
imports the name from there (under whatever alias, through whatever re-export or star), or holds both
the name and the last name of the module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from builder.graph.names import absolute, package_of, packages_around
from builder.specialize.text_index.content import Contents, in_a_function
from builder.specialize.text_index.identifier_index import IdentifierIndex


class ImportIndex:
    """The imports of all kept files. Files only ever lose imports, so that it is built once."""

    def __init__(
        self, files: Mapping[str, bytes], names: Mapping[str, str], words: IdentifierIndex, contents: Contents
    ) -> None:
        """`names`: path -> module; `words`: of the same files, kept up to date by the caller."""
        self._names = names
        self._words = words
        self._contents = contents
        self.renew(files)

    def renew(self, files: Mapping[str, bytes]) -> None:
        """From now on these are the files."""
        names = self._names
        self._modules = {names[path]: path for path in files}
        self._takers: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        self._stars: defaultdict[str, set[str]] = defaultdict(set)
        self._importers: defaultdict[str, set[str]] = defaultdict(set)  # of those that run at import
        self._leading: dict[str, frozenset[str]] = {}
        self._binders: defaultdict[str, set[str]] = defaultdict(set)
        for path, data in files.items():
            name = names[path]
            package = package_of(path, name)
            for offset, written, taken in self._contents.of(data).statements:
                module = absolute(written, package)
                if not taken:
                    for bound in (module, *packages_around(module)):
                        self._binders[bound].add(path)
                if not in_a_function(data, offset):
                    for one in ("", *taken):
                        for run in self._run(module, one):
                            self._importers[run].add(name)
                for index, one in enumerate(taken):
                    if one == "*":
                        self._stars[module].add(path)
                        continue
                    aliased = taken[index + 1 : index + 2] == ("as",) and index + 2 < len(taken)
                    self._takers[module, one].add((path, taken[index + 2] if aliased else one))

    def _run(self, module: str, name: str) -> Iterator[str]:
        """Yields the modules that may run for `from module import name`, or for `import module`."""
        whole = f"{module}.{name}" if name else module
        if not name or whole in self._modules:
            yield from (whole, *packages_around(whole))

    def leading_to(self, module: str) -> frozenset[str]:
        """The modules that import a module while they are imported, directly or by others; and itself.

        Imports in functions do not count.
        """
        if module not in self._leading:
            todo, seen = [module], {module}
            while todo:
                at = todo.pop()
                # a module around which a package lies runs later than that package
                fresh = {m for m in self._importers.get(at, ()) if not m.startswith(f"{at}.")} - seen
                seen |= fresh
                todo += fresh
            self._leading[module] = frozenset(seen)
        return self._leading[module]

    def takers(self, module: str, name: str) -> set[str]:
        """The files that import a name from a module."""
        return {path for path, _ in self._takers.get((module, name), ())}

    def binders(self, module: str) -> set[str]:
        """The files that import a module or something below it as such, or take it from its package."""
        package, _, last = module.rpartition(".")
        return self._binders.get(module, set()) | self.takers(package, last)

    def stars(self, module: str) -> set[str]:
        """The files that import everything from a module."""
        return self._stars.get(module, set())

    def seeing(self, qualified: str) -> dict[str, set[str]]:
        """path -> the identifiers by which a file that can see a qualified name may mean it."""
        module, name, member = self._split(qualified)
        found: defaultdict[str, set[str]] = defaultdict(set)
        todo, seen = [(module, name)], {(module, name)}
        while todo:
            place = source, called = todo.pop()
            own = self._modules.get(source)
            last = source.rpartition(".")[2].encode()
            for path in self._words.holding([called.encode()]):
                if path == own or self._words.of(path)[last]:
                    found[path].add(called)
            further = set(self._takers.get(place, ()))
            further.update((path, called) for path in self.stars(source))
            for path, bound in further:
                found[path].add(called)
                following = (self._names[path], bound)
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        if member:
            holders = self._words.holding([member.encode()])
            return {path: {member} for path in found if path in holders}
        return dict(found)

    def _split(self, qualified: str) -> tuple[str, str, str]:
        """(module, name in it, last name when it is a member of that name)."""
        module, _, name = qualified.rpartition(".")
        member = ""
        while module and module not in self._modules:
            member = member or name
            module, _, name = module.rpartition(".")
        if not module:  # nothing that we know as a module: take the last name for its own
            module, _, name = qualified.rpartition(".")
            member = ""
        return module, name, member
