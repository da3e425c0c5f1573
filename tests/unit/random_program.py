"""Random programs about a platform, written from the forms in the pages of `programs/`.

A program is a small package. What its predicates say at run time comes from outside, and so does every
value that the facts do not decide; each call that has an effect is recorded, in order.

A form is a text with marks, and a shape is a mapping of rules: `form`, and what its marks stand for. A rule
is a form, or a list of which one is drawn. <rule> is drawn once in a shape, and <rule*> each time. What no
rule of the shape says comes from expressions.yaml or from a method of `Writer`, and is drawn each time. Of
alternatives that are mappings one is drawn before all else: its rules are rules of the shape. Lines of which
nothing is left leave. `top` and `inside` say how often a shape stands at the top of a module and in a
function, among those of its page; `once` keeps it from coming twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from textwrap import indent
from typing import Any

import yaml

Rules = Mapping[str, Any]

_PAGES = Path(__file__).parent / "programs"
_MARK = re.compile(r"<(\w+)(?::(\w+))?(\*?)>")


def page(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((_PAGES / f"{name}.yaml").read_text("utf-8"), yaml.CSafeLoader)
    return found


_EXPRESSIONS, _STATEMENTS = page("expressions"), page("statements")
_IMPORTS = page("shapes/imports")
_FAMILIES = [page(f"shapes/{path.stem}").values() for path in sorted(_PAGES.glob("shapes/*.yaml"))]


def _by_family(where: str) -> list[list[Rules]]:
    found = ([shape for shape in family for _ in range(shape.get(where, 0))] for family in _FAMILIES)
    return [shapes for shapes in found if shapes]


_TOP, _INSIDE = _by_family("top"), _by_family("inside")
#: The package of the modules that programs import, and their names.
_PACKAGE, _MODULES = "pkg/later", ("one", "two", "three", "four", "five", "six")


class Writer:
    """Writes one module; `size` bounds its statements, and `module` is its name in the package of modules."""

    def __init__(self, random: Random, size: int, module: str | None = None) -> None:
        self.random = random
        self.left = size
        self.module = module
        self.serial = 0
        self.mark = random.randrange(1000)
        self.outside = True  # of every function
        self.loops = self.generator = False  # whether the statement that is written is in one
        self.suites = self.conditions = 0  # around what is written
        self.written: set[int] = set()  # shapes that come once

    def program(self) -> str:
        """A module whose `entry` is what is run."""
        tops = [_STATEMENTS["top"]] * self.random.randint(0, 2)
        families = self.random.choices(_TOP, k=self.random.choice([0, 1, 1, 2]))
        tops += [self.random.choice(family) for family in families]
        texts = [self.fill(_STATEMENTS["header"]), *map(self.shape, tops)]
        self.outside = False
        return "\n".join([*texts, self.fill(_STATEMENTS["entry"])]) + "\n"

    def imported(self) -> str:
        """A module that programs import; "" is the package itself."""
        return self.fill(_STATEMENTS["module"]) + "\n"

    # -- forms --------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choose(self, rule: Any) -> Any:
        """One of a rule's forms. A module does not name itself."""
        while isinstance(rule, list):
            rule = self.random.choice([each for each in rule if each != (self.module or None)])
        return rule

    def shape(self, shape: Rules) -> str:
        if "once" in shape:
            if id(shape) in self.written:
                return ""
            self.written.add(id(shape))
        rules = dict(shape)
        for rule in shape.values():
            if isinstance(rule, list) and isinstance(rule[0], Mapping):
                rules |= self.choose(rule)
        if "computed" in shape:
            rules = getattr(self, f"computed_{shape['computed']}")() | rules
        return self.fill(self.choose(rules["form"]), rules, {})

    def fill(self, form: object, rules: Rules = _STATEMENTS, drawn: dict[str, str] | None = None) -> str:
        lines = []
        for line in str(form).splitlines():
            text = _MARK.sub(partial(self._mark, rules, drawn), line.lstrip())
            lines += indent(text, line[: len(line) - len(line.lstrip())]).splitlines()
        return "\n".join(line for line in lines if line.strip())

    def _mark(self, rules: Rules, drawn: dict[str, str] | None, mark: re.Match[str]) -> str:
        name, argument, again = mark.groups()
        if name in rules:
            if drawn is None or again or name not in drawn:
                text = self.fill(self.choose(rules[name]), rules, drawn)
                if drawn is None:
                    return text
                drawn[name] = text
            return drawn[name]
        if name in _EXPRESSIONS:
            return self.fill(self.expression(name))
        made: str = getattr(self, f"mark_{name}")(*filter(None, [argument]))
        return made

    # -- marks --------------------------------------------------------------------------------

    def expression(self, name: str) -> str:
        more = [] if self.outside else _EXPRESSIONS.get(f"{name} of a function", [])
        return str(self.choose([*_EXPRESSIONS[name], *more]))

    def new(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"

    mark_new = new

    def mark_own(self, prefix: str = "") -> str:
        """A new name that the other programs of a batch hardly have: else they would keep it in use."""
        return f"{prefix}_{self.mark}_{self.new('n')}"

    def mark_program(self) -> str:
        return str(self.mark)

    def mark_digit(self) -> str:
        return str(self.random.randrange(10))

    def mark_tag(self) -> str:
        return f"record({self.new('')})"

    def mark_module_name(self) -> str:
        return str(self.module)

    def mark_unset(self) -> str:
        """A package that has something else under the name of a module."""
        return f"{self.choose([*_MODULES])} = None" if not self.module and self.chance(0.3) else ""

    def mark_imports(self) -> str:
        count = self.random.choice([0, 1, 1, 2, 3])
        return "\n".join(self.shape(_IMPORTS["imports at the top"]) for _ in range(count))

    def mark_c(self, deep: str = "0") -> str:
        """A condition; `deep` is in how many others it counts as."""
        around = self.conditions
        self.conditions = max(around, int(deep)) + 1
        form = self.choose(_EXPRESSIONS["conditions"]) if self.conditions <= 3 else ""
        text = self.fill(form or self.expression("known" if self.chance(0.6) else "open"))
        self.conditions = around
        return text

    def mark_value(self) -> str:
        """An expression whose value matters."""
        around = self.conditions
        self.conditions += 1
        text = self.fill(self.choose(_EXPRESSIONS["values"]) if around < 2 else "<c>")
        self.conditions = around
        return text

    def mark_suite(self, kind: str = "") -> str:
        """One to three statements: in a loop, as the body of a function or of a generator, or as before."""
        around = self.loops, self.generator
        if kind:
            self.loops = kind == "loop"
            self.generator = kind == "generator" or (self.loops and self.generator)
        self.suites += 1
        text = "\n".join(self.statement() for _ in range(self.random.randint(1, 3)))
        self.suites -= 1
        self.loops, self.generator = around
        return text

    def statement(self) -> str:
        self.left -= 1
        if self.left < 0 or self.suites > 5 or self.chance(0.25):
            leaving = _STATEMENTS["leaving"] if self.loops else "pass"
            yielding = _STATEMENTS["yielding"] if self.generator else "pass"
            return self.fill(self.choose([*_STATEMENTS["simple"], leaving, yielding]))
        return self.shape(self.choose(_INSIDE if self.chance(0.25) else _STATEMENTS["compound"]))

    # -- rules that are computed --------------------------------------------------------------

    def _with(self, others: Sequence[str], gone: str) -> tuple[list[str], int]:
        """Some of the others with what is gone among them, and the place of one that is not."""
        members = self.random.sample(others, self.random.randint(1, 3))
        members.insert(self.random.randint(0, len(members)), gone)
        return members, self.random.choice([i for i, member in enumerate(members) if member != gone])

    def absent(self) -> str:
        """A value that the facts call absent; several, so that one which stays leaves the others alone."""
        return f"'fa{self.random.randint(3, 9)}'"

    def computed_values(self) -> dict[str, Any]:
        members, at = self._with(["'triton'", "'other'", "'third'"], self.absent())
        return self._places(members, at, self.mark_own("backend_names"))

    def computed_members(self) -> dict[str, Any]:
        if self.chance(0.5):
            return self.computed_values()
        members, at = self._with(["int", "str", "bool", "float"], "Gone")
        return self._places(members, at, self.mark_own("kinds"))

    def _places(self, members: list[str], at: int, name: str) -> dict[str, Any]:
        """What is said of the member at this place among the others."""
        size = len(members)
        return {
            "n": name, "members": ", ".join(members), "member": members[at], "word": members[at].strip("'"),
            "at": at, "next": at + 1, "back": at - size, "mirrored": size - 1 - at, "size": size,
            "lists": " + ".join(f"[{member},]" for member in members),
            "tuples": " + ".join(f"({member},)" for member in members),
            "rows": ", ".join(f"({member}, {i})" for i, member in enumerate(members)),
            "names": ", ".join(f"m{i}" for i in range(size)),
            "targets": ", ".join(f"{name}_{i}" for i in range(size)),
        }  # fmt: skip

    def computed_texts(self) -> dict[str, Any]:
        """Keys of a table, one of which is absent, and the texts that ask for them."""
        keys, _ = self._with(["'triton'", "'other'", "'third'"], self.absent())
        option = self.choose(["backend_", ""])
        shown = [key for key in keys if "'fa" not in key] if option else keys
        table, entries = self.mark_own(f"{option}table"), list(enumerate(keys))
        made = f"{table}_made"
        return {
            "table": table, "allowed": self.mark_own(f"{option}allowed"), "keys": ", ".join(keys),
            "pairs": ", ".join(f"{key}: {i}" for i, key in entries),
            "tuples": ", ".join(f"({key}, {i})" for i, key in entries),
            "items": "\n".join(f"{table}[{key}] = {i}" for i, key in entries),
            "calls": "\n".join(f"{table}_register({key}, {i})" for i, key in entries),
            "decorated": "\n".join(
                f"@{table}_register({key})\ndef {made}_{i}(): return {i}" for i, key in entries
            ),
            "shown": ", ".join(shown), "words": " ".join(shown).replace("'", ""),
            "ones": ", ".join(f"{text}: 1" for text in shown), "size": len(shown),
        }  # fmt: skip

    def computed_fields(self) -> dict[str, Any]:
        """Fields of a dataclass: some are none, and some are only given to what makes it."""
        lines, given, inputs = [], [], []
        for field in ("first", "second", "third", "fourth")[: self.random.randint(2, 4)]:
            kind = self.random.randrange(8)
            if kind == 0:
                lines.append(f"{field}: <loose> = None")
                continue
            given.append(field)
            if kind == 1:
                inputs.append(field)
            default = "dataclasses.field(default=7)" if kind == 2 else "<c:3>"
            form = "dataclasses.InitVar[<kind*>] = None" if kind == 1 else f"<annotation> = {default}"
            lines.append(f"{field}: {form}")
        after = f"def __post_init__(self, {', '.join(inputs)}): record(({', '.join(inputs)},))"
        return {
            "fields": "\n".join(lines), "kind": ["Gone", "int", "'Gone'"], "after": after if inputs else "",
            "numbers": ", ".join(map(str, range(len(given)))), "given": given, "plain": given,
            "copied": "record(dataclasses.replace(v, <plain>=9) == v)" if given and not inputs else "",
            "made": "record(<n>(<given>=8) is not None)" if given else "",
        }  # fmt: skip


def modules(random: Random) -> dict[str, str]:
    """Path -> source of the package. Its modules run when they are imported, and may do so in a circle."""
    texts = {f"{_PACKAGE}/{name}.py": Writer(random, 8, name).imported() for name in _MODULES}
    return {f"{_PACKAGE}/__init__.py": Writer(random, 8, "").imported(), **texts}
