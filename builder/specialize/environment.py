"""What reading an environment variable gives, under the facts.

Only reads that are known to be such count: `os.getenv`, `os.environ.get`, the readers that the manifest
names, and a descriptor that bears the variable's name (`envs.USE_FAST.get()`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from builder.specialize.facts import Facts, Known
from builder.specialize.names import text

#: Readers of the raw text: without the variable they give their default.
_RAW = frozenset(["os.getenv", "os.environ.get", "os.environ.pop"])
#: Defaults by which a reader of a variable that is not set says no.
NO = frozenset([None, False, 0, "", "0", "false", "False", "no", "off"])


def read(facts: Facts, node: ast.Call, called: str) -> Known | None:
    """What a call of the function `called` gives, if it reads a variable that the facts know."""
    known = facts.environment.get(text(node.args[0]) or "") if node.args else None
    if known is None or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if any(keyword.arg != "default" for keyword in node.keywords) or len(node.args) > 2:
        return None
    default = next((k.value for k in node.keywords), node.args[1] if len(node.args) == 2 else None)
    if called in _RAW:
        return _raw(known, default)
    last = called.rpartition(".")[2]
    if not facts.environment_readers.intersection((called, last)):
        return None
    if not known.truth and not _says_no(known, default):
        return None
    return known if "bool" in last.split("_") else Known(known.truth, exact=False)


def _raw(known: Known, default: ast.expr | None) -> Known | None:
    """The text of the variable; one that is stated to be false or null is not set."""
    if isinstance(known.value, str) or not known.exact:
        return known
    if known.truth:
        return Known(True, exact=False)
    if default is None:
        return Known(None)
    return literal(default)


def _says_no(known: Known, default: ast.expr | None) -> bool:
    """Does a reader that converts the text say no where the variable is stated to be false?

    Of one that is stated to be unset nobody knows what the reader gives instead.
    """
    if known.value is None:
        return False
    return default is None or (isinstance(default, ast.Constant) and default.value in NO)


def described(facts: Facts, name: str, truthy_default: Callable[[str], bool]) -> Known | None:
    """What `<owner>.NAME.get()` gives; `truthy_default`: is the variable declared with such a default?"""
    known = facts.environment.get(name)
    if known is None or known.value is None:
        return None
    return None if not known.truth and truthy_default(name) else known


def literal(node: ast.expr) -> Known | None:
    """The value of a literal; only its truth where no fact can state a value of its type."""
    if not isinstance(node, ast.Constant):
        return None
    value = node.value
    if value is None or isinstance(value, (bool, int, str)):
        return Known(value)
    return Known(bool(value), exact=False)
