"""Which files can see a name of a module, read off the text of the import statements.

A superset: what looks like an import counts as one. A file sees `module.name` when it is that module,
imports the name from there (under whatever alias, through whatever re-export or star), or holds both
the name and the last name of the module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from builder.graph.names import absolute, package_of
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.outline import imports


class ImportIndex:
    """The imports of all kept files. Files only ever lose imports, so that it is built once."""

    def __init__(self, files: Mapping[str, bytes], names: Mapping[str, str], words: IdentifierIndex) -> None:
        """`names`: path -> module; `words`: of the same files, kept up to date by the caller."""
        self._names = names
        self._words = words
        self._modules = {names[path]: path for path in files}
        self._takers: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        self._stars: defaultdict[str, set[str]] = defaultdict(set)
        for path, data in files.items():
            name = names[path]
            package = package_of(path, name)
            for _, written, taken in imports(data):
                module = absolute(written, package)
                for index, one in enumerate(taken):
                    if one == "*":
                        self._stars[module].add(path)
                        continue
                    aliased = taken[index + 1 : index + 2] == ("as",) and index + 2 < len(taken)
                    self._takers[module, one].add((path, taken[index + 2] if aliased else one))

    def takers(self, module: str, name: str) -> set[str]:
        """The files that import a name from a module."""
        return {path for path, _ in self._takers.get((module, name), ())}

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
