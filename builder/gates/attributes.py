"""G004: the output uses no attribute of what was removed.

Three readings of `x.name`, from certain to likely: `x` is an import or a class of the file (followed
through modules, classes and enums); `x` is `self` in a class that lost the name; `name` was a member
of a kept class, or the file itself stored it (`app.state.name = ...`), and nothing of the output has it any
more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import NamedTuple

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removal, Removals, because
from builder.errors import Problem
from builder.graph.modules import Summary
from builder.graph.resolve import Origin
from builder.manifest.model import Manifest
from builder.overlay.locate import find
from builder.source.fields import dotted_name, inner_nodes, last_name, nodes
from builder.source.parse import parse
from builder.source.words import file_counts
from builder.spelling import nearest

#: `app.state.x = ...`: what is an attribute of another object holds whatever a program stores in it.
_STORE = re.compile(rb"(?<![\w.])(?!self\.)\w+\.(\w+)\.([A-Za-z_]\w*)[ \t]*=[^=]")
#: What torch.nn.Module gives to a class that no longer defines it itself.
_INHERITED = {"forward", "extra_repr", "train", "eval", "to", "cuda", "cpu", "half", "float", "apply"}
_INHERITED |= {"parameters", "buffers", "modules", "children", "state_dict", "load_state_dict"}
_INHERITED |= {"named_parameters", "named_buffers", "named_modules", "named_children"}
_INHERITED |= {"register_parameter", "register_buffer"}


#: Classes that make a field of each annotation.
_MAKERS = {"NamedTuple", "TypedDict", "Struct", "Protocol", "BaseModel"}


class Use(NamedTuple):
    line: int
    text: str  # as written
    owner: Origin  # the module or class that lost the name
    name: str


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """One problem for each (file, owner, name) that is used and no longer there."""
    losses = Losses(before, after)
    problems: list[Problem] = []
    for path, summary in after.summaries.items():
        if summary.error is None and losses.concern(summary, after.snapshot[path]):
            uses = {(u.owner, u.name): u for u in sorted(_uses(path, summary, losses), reverse=True)}
            problems += [_problem(path, use, losses, removals, manifest) for use in sorted(uses.values())]
    return problems


class Losses:
    """What upstream's modules and classes have and the output's lack."""

    def __init__(self, before: IndexedTree, after: IndexedTree) -> None:
        self.before, self.after = before, after
        self.module, self.inherited = cache(self._module), cache(self._inherited)

    def _module(self, module: str) -> frozenset[str]:
        """The names that a module lost."""
        summary = self.after.index.modules.get(module)
        if summary and summary.error:
            return frozenset()  # of a file that does not parse nothing is known: another gate reports it
        return self.before.index.names(module) - self.after.index.names(module)

    def is_value(self, origin: Origin) -> bool:
        """Return whether this is neither a module nor a class of the output."""
        holder = self.after.index.modules.get(origin.module)
        known = holder.names.get(origin.qualname) if holder else None
        return known is not None and known.kind == "constant"

    @cached_property
    def lost(self) -> dict[Origin, list[str]]:
        """A class still in the output -> the names that it lost, as members or as `self.name`."""
        by_class: dict[Origin, list[str]] = {}
        for path, new in self.after.summaries.items():
            old = self.before.summaries.get(path)
            if old is None or old is new or not new.module or new.error or old.error:
                continue
            for owner in sorted(set(old.bases) & set(new.bases)):
                origin = Origin(new.module, owner)
                if names := self.before.index.own(origin) - self.after.index.own(origin):
                    by_class[origin] = sorted(names)
        return by_class

    @cached_property
    def members(self) -> dict[str, list[Origin]]:
        """name -> the classes still in the output that lost it."""
        by_name: dict[str, list[Origin]] = {}
        for owner, names in self.lost.items():
            for name in names:
                by_name.setdefault(name, []).append(owner)
        return by_name

    def unstored(self, path: str) -> frozenset[tuple[str, str]]:
        """(state, x) where a file stored `app.state.x = ...`, and nothing stores an x now."""
        old, new = self.before.summaries.get(path), self.after.summaries[path]
        names = old.stores - new.stores - self.defined if old and new.module else frozenset[str]()
        if not names:
            return frozenset()
        stored = ((holder.decode(), x.decode()) for holder, x in _STORE.findall(self.before.snapshot[path]))
        return frozenset((holder, x) for holder, x in stored if x in names)

    @cached_property
    def defined(self) -> frozenset[str]:
        """What anything in the output defines or stores."""
        defined: set[str] = set()
        for summary in self.after.summaries.values():
            defined.update(summary.names, summary.stores)
            defined.update(name.rpartition(".")[2] for name in summary.members)
            for names in summary.attributes.values():
                defined.update(names)
        return frozenset(defined)

    @cached_property
    def nowhere(self) -> frozenset[str]:
        """Lost members whose names nothing in the output defines or stores."""
        return frozenset(self.members) - self.defined

    def concern(self, summary: Summary, data: bytes) -> bool:
        """Return whether the text has a name that was removed, so that its tree is worth reading."""
        names: set[str] = {*self.nowhere, *(name for _, name in self.unstored(summary.path))}
        index = self.after.index
        for item in summary.imports:
            if index.has_module(item.target):
                names |= self.module(item.target)
                if item.name and index.has_module(f"{item.target}.{item.name}"):
                    names |= self.module(f"{item.target}.{item.name}")
                elif item.name and self.members:
                    origin = index.origin(item.target, item.name)
                    names |= self.inherited(origin) if origin and origin.qualname else set()
        if self.members and summary.module:
            for owner in summary.bases:
                names |= self.inherited(Origin(summary.module, owner))
        words = file_counts(data) if names else {}
        return any(name.encode() in words for name in names)

    def _inherited(self, owner: Origin) -> frozenset[str]:
        """What a class and its bases inside the packages lost."""
        order, _ = self.after.index.lineage(owner)
        return frozenset(name for base in order for name in self.lost.get(base, ()))

    def is_field(self, owner: Origin, name: str) -> bool:
        """Return whether upstream's class, or a base of it, has a field or constant of this name."""
        modules = self.before.index.modules
        classes = self.before.index.lineage(owner)[0]
        members = (modules[c.module].members.get(f"{c.qualname}.{name}") for c in classes)
        return any(member is not None and member.kind == "constant" for member in members)

    def by_class(self, owner: Origin, name: str) -> bool:
        """Upstream's class had the name, and the output's has it neither itself nor from a base."""
        if self.before.index.has_member(owner, name) is not True:
            return False
        there = self.after.index.has_member(owner, name)
        if there and name in self.inherited(owner):
            return self._is_only_declared(owner, name)
        return there is False or (there is None and name not in _INHERITED)

    def _is_only_declared(self, owner: Origin, name: str) -> bool:
        """Return whether nothing in the output stores a name that a class and its bases annotate without a
        value."""
        order, complete = self.after.index.lineage(owner)
        holders = [one for one in order if name in self.after.index.own(one)]
        return complete and name not in self.stored and all(self._declares(one, name) for one in holders)

    @cached_property
    def stored(self) -> frozenset[str]:
        """x of every `something.x = ...` of the output that is not `self.x`."""
        return frozenset().union(*(summary.stores for summary in self.after.summaries.values()))

    def _declares(self, owner: Origin, name: str) -> bool:
        """Return whether a class annotates a name without giving it a value, and makes no field of it."""
        summary = self.after.index.modules[owner.module]
        tree, path = parse(self.after.snapshot[summary.path], summary.path).tree, owner.qualname.split(".")
        plain = all(
            isinstance(one.statement, ast.ClassDef)
            and not (one.statement.decorator_list or one.statement.keywords)
            and _MAKERS.isdisjoint(last_name(base) for base in one.statement.bases)
            for one in find(tree, path)[0]
        )
        values = (one.statement for one in find(tree, [*path, name])[0])
        bare = all(isinstance(stmt, ast.AnnAssign) and stmt.value is None for stmt in values)
        return plain and bare and name not in summary.attributes.get(owner.qualname, {})


def _uses(path: str, summary: Summary, losses: Losses) -> Iterator[Use]:
    index = losses.after.index
    roots: dict[str, Origin | None] = {}
    for name, definition in summary.names.items() if summary.module else ():
        if definition.kind == "class":
            roots[name] = Origin(summary.module, name)
    for item in summary.imports:
        if not index.internal(item.target):
            roots[item.bound] = None  # external: nothing is known about its attributes
        elif item.name is None:
            roots[item.bound] = Origin(item.target if item.asname else item.bound)
        elif origin := index.origin(item.target, item.name):
            roots[item.bound] = origin
    tree = parse(losses.after.snapshot[path], path).tree
    unstored = losses.unstored(path)
    for node, owner, me in _attributes(tree.body, "", ""):
        if isinstance(node, ast.Call):
            own = Origin(summary.module, owner) if me and owner and summary.module else None
            yield from _call(node, {**roots, me: own} if own else roots, losses)
            continue
        if isinstance(node, ast.For):
            yield from _loop(node, losses)
            continue
        parts = dotted_name(node).split(".")  # one empty part where the chain does not start with a name
        root = parts[0]
        if root and root == me and owner and summary.module:
            origin = Origin(summary.module, owner)
            if losses.by_class(origin, parts[1]) and not _below(origin, parts[1], losses):
                yield Use(node.lineno, ".".join(parts[:2]), origin, parts[1])
                continue
        elif root in roots:
            start = roots[root]
            if start is not None:
                followed = list(_follow(start, parts, node.lineno, losses))
                lost = next((n for n in parts[1:] if n in losses.nowhere), None)
                if not followed and lost and losses.is_value(start):
                    # an object that a module holds: its class may be any that lost the name
                    followed = [Use(node.lineno, ".".join(parts), losses.members[lost][0], lost)]
                yield from followed
                continue
            if len(parts) == 2 or root != me:
                continue
        if isinstance(node.ctx, ast.Load) and node.attr in losses.nowhere:
            text = ast.unparse(node)
            yield Use(node.lineno, text, losses.members[node.attr][0], node.attr)
        elif isinstance(node.ctx, ast.Load) and (getattr(node.value, "attr", ""), node.attr) in unstored:
            yield Use(node.lineno, ast.unparse(node), Origin(summary.module), node.attr)


def _call(node: ast.Call, roots: dict[str, Origin | None], losses: Losses) -> Iterator[Use]:
    """`getattr(x, "name")` without a default, and `Class(field=...)`."""
    if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2:
        name = node.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and name.value in losses.nowhere:
            yield Use(node.lineno, ast.unparse(node), losses.members[name.value][0], name.value)
        return
    owner = roots.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if owner is None or not owner.qualname:
        return
    for keyword in node.keywords:
        if keyword.arg and losses.by_class(owner, keyword.arg) and losses.is_field(owner, keyword.arg):
            text = f"{owner.qualname}({keyword.arg}=...)"
            yield Use(keyword.value.lineno, text, owner, keyword.arg)


def _loop(node: ast.For, losses: Losses) -> Iterator[Use]:
    """`for key in ["name", ...]: getattr(x, key)`, without a default."""
    if not isinstance(node.iter, (ast.List, ast.Tuple, ast.Set)):
        return
    target = ast.dump(node.target).replace("Store()", "Load()")
    for call in (inner for stmt in node.body for inner in nodes(stmt) if isinstance(inner, ast.Call)):
        asked = isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) == 2
        if asked and ast.dump(call.args[1]) == target:
            for item in node.iter.elts:
                name = item.value if isinstance(item, ast.Constant) else None
                if isinstance(name, str) and name in losses.nowhere:
                    yield Use(item.lineno, ast.unparse(call), losses.members[name][0], name)


def _follow(start: Origin, parts: list[str], line: int, losses: Losses) -> Iterator[Use]:
    """Walk `parts` from a module or class and stop at the first name that is lost."""
    before, after = losses.before.index, losses.after.index
    current = start
    for position, name in enumerate(parts[1:], 2):
        written = ".".join(parts[:position])
        if not current.qualname:
            below = f"{current.module}.{name}"
            if after.has_module(below):
                current = Origin(below)
                continue
            if not after.has_module(current.module):
                return  # the import itself is dangling: G002 reports it
            if after.resolves(current.module, name) is False:
                if before.has_module(current.module) and before.resolves(current.module, name) is not False:
                    yield Use(line, written, current, name)
                return
            origin = after.origin(current.module, name)
            if origin is None:
                return
            current = origin
            continue
        holder = after.modules.get(current.module)
        if holder is None or current.qualname not in holder.bases:
            return
        if losses.by_class(current, name):
            yield Use(line, written, current, name)
            return
        current = current.member(name)


def _below(owner: Origin, name: str, losses: Losses) -> bool:
    """A class of the output that has `owner` among its bases defines the name."""
    index = losses.after.index
    classes = (Origin(module, one) for module, summary in index.modules.items() for one in summary.bases)
    return any(name in index.own(one) and owner in index.lineage(one)[0] for one in classes)


def _attributes(
    body: Iterable[ast.AST], owner: str, me: str
) -> Iterator[tuple[ast.Attribute | ast.Call | ast.For, str, str]]:
    """Every outermost attribute chain, call and loop, with the class and receiver it stands in."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            inner = f"{owner}.{node.name}" if owner else node.name
            yield from _attributes(inner_nodes(node), inner, "")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and owner and not me:
            first = node.args.posonlyargs or node.args.args
            static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
            receiver = first[0].arg if first and not static else ""
            yield from _attributes(inner_nodes(node), owner, receiver)
        elif isinstance(node, ast.Attribute):
            yield node, owner, me
            # the parts of a plain chain are read together; below anything else, start again
            inner_node: ast.expr = node
            while isinstance(inner_node, ast.Attribute):
                inner_node = inner_node.value
                if not isinstance(inner_node, (ast.Attribute, ast.Name)):
                    yield from _attributes([inner_node], owner, me)
                elif isinstance(inner_node, ast.Attribute):
                    yield inner_node, owner, me
        else:
            if isinstance(node, (ast.Call, ast.For)):
                yield node, owner, me
            yield from _attributes(inner_nodes(node), owner, me)


def _problem(path: str, use: Use, losses: Losses, removals: Removals, manifest: Manifest) -> Problem:
    before, after, missing = losses.before, losses.after, use.owner.member(use.name)
    if use.owner.qualname:
        reason, known = removals.missing(after, missing), after.index.own(use.owner)
    else:
        reason, known = removals.missing_name(before, after, missing), after.index.names(use.owner.module)
    hint = "edit this use, or keep what it names"
    if reason is None:
        reason = _stated_value(use.name, manifest)
        hint = "drop this use by an edit, or state the value of the condition around it" if reason else hint
        if readers := ", ".join(_readers(path, use, after)):
            hint = f"where nothing needs the functions that read it: `drop: [{readers}]` in the batch"
    why = because(reason)
    message = f"{path}:{use.line}: {use.text} needs {use.name!r}, which {use.owner} no longer has{why}"
    if reason:
        return after.problem("G004", path, use.line, message, reason.mark, hint, f"{use.owner}{why}")
    hint = nearest(use.name, known, cutoff=0.75) or hint
    return after.problem("G004", path, use.line, message, None, hint)


def _readers(path: str, use: Use, after: IndexedTree) -> Iterator[str]:
    """The functions of a module that read what it no longer stores."""
    if use.owner.qualname or use.owner.module != after.summaries[path].module:
        return
    for node in parse(after.snapshot[path], path).tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            isinstance(one, ast.Attribute) and one.attr == use.name for one in ast.walk(node)
        ):
            yield f"{use.owner.module}.{node.name}"


def _stated_value(name: str, manifest: Manifest) -> Removal | None:
    """The fact that states the value of every attribute of this name, so that nothing stores it any more."""
    for fact in (fact for batch in manifest.batches for fact in batch.facts):
        if fact.kind == "value" and fact.name.startswith("*.") and fact.name.rpartition(".")[2] == name:
            clause = f"batch {fact.batch} states that {fact.name} is {fact.value!r}: nothing stores it"
            return Removal("absent", fact.name, clause, clause, fact.batch, fact.mark)
    return None
