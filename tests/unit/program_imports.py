"""Shapes of random programs with modules that record when they run, and that import one another."""

from __future__ import annotations

from random import Random

from program_writer import Shape, Writer

#: The package of these modules, and their names.
PACKAGE = "pkg.later"
_MODULES = ("one", "two", "three", "four", "five", "six")


def modules(random: Random) -> dict[str, str]:
    """Path -> source of the package. Its modules run when they are imported, and may do so in a circle."""
    folder = PACKAGE.replace(".", "/")
    texts = {f"{folder}/{name}.py": _Module(random, name).text() for name in _MODULES}
    return {f"{folder}/__init__.py": _Module(random, "").text(), **texts}


class _Module(Writer):
    """Writes one of the modules; "" is the package itself."""

    def __init__(self, random: Random, name: str) -> None:
        super().__init__(random, 8)
        self.name = name

    def text(self) -> str:
        """What others take stands first, so that a circle of imports ends well."""
        self.write(0, "from pkg.plat import is_hip, is_new, is_npu, none")
        self.put(0, "_is_hip = is_hip()")
        self.put(0, "_is_npu = is_npu()")
        self.put(0, f"def take_{self.name}(): return '{self.name}'")
        if not self.name and self.chance(0.3):
            self.put(0, f"{self.random.choice(_MODULES)} = None")
        if self.chance(0.5):
            self.put(0, f"from effects import record; record('{self.name} begins')")
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            imports(self, 0)
        if self.chance(0.3):
            self.put(0, f"from effects import record; record('{self.name} ends')")
        return "\n".join(self.lines) + "\n"


def imports(p: Writer, depth: int) -> None:
    """An import of a module that records something, with a use of it or of its function that may be dead."""
    name, own = p.random.choice(_MODULES), p.own("later")
    if getattr(p, "name", None) == name:
        return
    statement, use = p.random.choice(
        [
            (f"import {PACKAGE}.{name}", f"pkg.later.{name}.take_{name}()"),
            (f"import {PACKAGE}.{name} as {own}", f"{own}.take_{name}()"),
            (f"from {PACKAGE} import {name} as {own}", f"{own}"),
            (f"from {PACKAGE}.{name} import take_{name} as {own}", f"{own}()"),
            (f"from {PACKAGE}.{name} import take_{name} as {own}", f"{own}()"),
            (f"import {PACKAGE} as {own}", f"{own}.take_()"),
        ]
    )
    if depth == 0 and p.chance(0.1):
        p.put(0, "if is_new():")
        p.put(1, statement)
    else:
        p.put(depth, statement)
    if depth == 0 and p.chance(0.5):
        p.put(0, f"def {p.own('uses')}():")
        p.put(1, f"if {p.dead()}: return {use}")
    elif p.chance(0.7):
        p.put(depth, f"if {p.dead()}: {use}")
    elif p.chance(0.3):
        p.put(depth, f"{p.own('taken')} = {use}")


def taken_from_the_package(p: Writer, depth: int) -> None:
    """A module that is read off its package, where another statement imports it."""
    name, own = p.random.choice(_MODULES), p.own("later")
    p.put(depth, f"import {PACKAGE}")
    p.put(depth, f"from {PACKAGE}.{name} import take_{name} as {own}")
    p.put(depth, f"if {p.dead()}: {own}()")
    p.put(depth, f"{own}_taken = getattr(pkg.later.{name}, '__name__', None)")


TOP: tuple[Shape, ...] = (imports, imports, imports, taken_from_the_package)
INSIDE: tuple[Shape, ...] = (imports, taken_from_the_package)
