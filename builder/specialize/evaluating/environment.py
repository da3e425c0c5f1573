"""What reading an environment variable gives, under the facts.

Only reads that are known to be such count: `os.getenv`, `os.environ.get`, the readers that the manifest
names, and a descriptor that bears the variable's name (`envs.USE_FAST.get()`).
"""

from __future__ import annotations

import ast

from builder.specialize.evaluating.facts import Facts, KnownValue
from builder.specialize.evaluating.names import text

#: Readers of the raw text: without the variable they give their default.
_RAW = frozenset(["os.getenv", "os.environ.get", "os.environ.pop"])


def read(facts: Facts, node: ast.Call, called: str) -> KnownValue | None:
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
    if called not in facts.environment_readers and last not in facts.environment_readers:
        return None
    if known.value is None:
        return None  # not set: what the reader gives instead is its own affair
    return known if "bool" in last.split("_") else KnownValue(known.truth, exact=False)


def _raw(known: KnownValue, default: ast.expr | None) -> KnownValue | None:
    """The text of the variable; one that is stated to be false or null is not set."""
    if isinstance(known.value, str) or not known.exact:
        return known
    if known.truth:
        return KnownValue(True, exact=False)
    if default is None:
        return KnownValue(None)
    return literal(default)


def described(facts: Facts, name: str) -> KnownValue | None:
    """What `<owner>.NAME.get()` gives, unless the variable is only stated not to be set."""
    known = facts.environment.get(name)
    return known if known is not None and known.value is not None else None


def literal(node: ast.expr) -> KnownValue | None:
    """The value of a literal; only its truth where no fact can state a value of its type."""
    if isinstance(node, (ast.Dict, ast.List, ast.Tuple)) and ast.unparse(node) in ("()", "[]", "{}"):
        return KnownValue(False, exact=False)
    if not isinstance(node, ast.Constant):
        return None
    value = node.value
    if value is None or isinstance(value, (bool, int, str)):
        return KnownValue(value)
    return KnownValue(bool(value), exact=False)
